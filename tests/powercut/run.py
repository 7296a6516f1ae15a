#!/usr/bin/env python3
"""Cuts the power of the disk under a busy broker. With --sync always nothing that was acknowledged
may be missing afterwards; with the other modes the broker must start and have invented nothing.
Exits with 77 where the machine does not allow it."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))

from broker import Broker, NotReady  # noqa: E402
from checker import Checker, describe  # noqa: E402
from disk import CannotMount, Disk  # noqa: E402
from model import Model  # noqa: E402
from traffic import Traffic  # noqa: E402
from wire import ERROR, SUBMIT_JOB_BG, Beanstalk, Gearman, Gone, Silent  # noqa: E402

SKIPPED = 77
MEGABYTES = 256
FAILED_SECONDS = 60.0
MODES = ("data=ordered", "data=writeback")


class Bench:
    """One disk and what the broker promised of it."""

    def __init__(self, binary: str, rng: random.Random, bodies: str | None) -> None:
        self.binary, self.rng, self.bodies = binary, rng, bodies
        self._temporary = tempfile.TemporaryDirectory(prefix="gearstalk-powercut-")
        self.directory = Path(self._temporary.name)
        self.disk = Disk(self.directory, MEGABYTES, rng.choice(MODES))
        self.model = Model()
        self.torn = 0
        self.cut_at = 0.0

    def remove(self) -> None:
        self.disk.unmount()
        self._temporary.cleanup()

    def start(self, sync: str) -> Broker:
        limit = ("--limits-bodies", self.bodies) if self.bodies else ()
        return Broker(self.binary, self.disk.path / "data", self.directory / "log", sync,
                      args=("--admin", "127.0.0.1:0", *limit)).wait_ready()

    def cut(self, sync: str) -> tuple[Broker, float]:
        """Traffic, the cut, and the broker that starts on what is left."""
        broker = self.start(sync)
        traffic = Traffic(self.model, broker.port, self.rng)
        traffic.start()
        time.sleep(self.rng.uniform(0.05, 1.0))
        self.cut_at = time.time()
        try:
            self.disk.cut_power()
            # May the broker not go on acknowledging.
            if self.rng.random() < 0.5:
                self.look_at_failed(broker)
        finally:
            broker.kill()
        ended = time.time()
        traffic.join()
        self.disk.unmount()
        self.disk.mount(self.rng.choice(MODES))
        broker = self.start(sync)
        self.torn += "cut off" in broker.said
        return broker, ended

    def look_at_failed(self, broker: Broker) -> None:
        """It refuses changes, by whoever, says why, answers questions, and keeps nobody waiting."""
        deadline = time.monotonic() + FAILED_SECONDS
        word = "nothing"
        while word != "OUT_OF_MEMORY" and time.monotonic() < deadline:
            connection = Beanstalk(broker.port)
            try:
                connection.send(Beanstalk.put(1, 0, 60, b"after the cut"))
                word = connection.reply()[0]
            except Gone:
                word = "the end"  # sent before the broker knew: what became of it nobody knows
            except Silent:
                word = "silence"
                break
            finally:
                connection.close()
            if word == "INSERTED":
                break
        if word != "OUT_OF_MEMORY":
            self.model.fail(f"a put after the cut is answered by {word}")
        gearman = Gearman(broker.port)
        kind, arguments = gearman.ask(SUBMIT_JOB_BG, b"after", b"", b"the cut")
        if kind != ERROR:
            self.model.fail(f"a job submitted after the cut is answered by {kind} {arguments}")
        gearman.close()
        connection = Beanstalk(broker.port)
        if connection.ask("stats")[0] != "OK":
            self.model.fail("no statistics after the cut")
        # What the broker still shows is on disk, or its reply would never come. A body that is there
        # alone does not come either, as the disk gives nothing.
        for word, _, _ in connection.ask_all([] if self.bodies else ["peek-ready", "reserve-with-timeout 0"]):
            if word not in ("FOUND", "NOT_FOUND", "RESERVED", "TIMED_OUT"):
                self.model.fail(f"a look at a job after the cut is answered by {word}")
        if not broker.logs("takes no new jobs"):
            self.model.fail(f"the log does not say why: {broker.said[-500:]}")
        connection.close()
        status, text = broker.readiness()
        if status != 503 or str(self.disk.path) not in text:
            self.model.fail(f"/readyz after the cut: {status} {text}")

    def cut_and_compare(self) -> None:
        broker, ended = self.cut("always")
        Checker(self.model, broker.port, ended, self.rng).run()
        broker.kill()

    def cut_and_look(self, sync: str) -> None:
        """Once only: what is missing now is not known afterwards."""
        broker, ended = self.cut(sync)
        checker = Checker(self.model, broker.port, ended, self.rng)
        found = checker.find(list(range(1, self.model.top + len(self.model.unanswered) + 50)))
        checker.count(len(found))
        for number, job in found.items():
            known = self.model.jobs.get(number)
            puts = (known.puts if known else []) + list(self.model.unanswered)
            if not any((put.tube, put.body) == (job.tube, job.body) for put in puts):
                self.model.fail(f"job {number} {describe(job)} is none that was sent")
        broker.kill()
        kept = [job for job in self.model.jobs.values()
                if job.puts and not any(change.kind != "take" for change in job.changes)]
        lost = [self.cut_at - job.puts[0].answered for job in kept if job.id not in found]
        print(f"--sync {sync}: lost {len(lost)} of {len(kept)} acknowledged jobs, the oldest "
              f"{1000 * max(lost, default=0):.0f} ms before the cut, "
              f"{len(self.model.errors)} errors", flush=True)


def run(options: argparse.Namespace) -> list[str]:
    bench = Bench(options.broker, random.Random(options.seed), options.bodies)
    try:
        for _ in range(options.cuts):
            if not bench.model.errors:
                bench.cut_and_compare()
        print(f"--sync always: {options.cuts} cuts, {bench.model.acknowledged} acknowledged "
              f"changes, {bench.torn} torn tails, {len(bench.model.errors)} errors", flush=True)
    except NotReady as error:
        bench.model.fail(str(error))
    finally:
        bench.remove()
    errors = bench.model.errors
    for sync in ("20ms", "never"):
        errors += look(options, sync)
    return errors


def look(options: argparse.Namespace, sync: str) -> list[str]:
    bench = Bench(options.broker, random.Random(f"{options.seed}/{sync}"), options.bodies)
    try:
        bench.cut_and_look(sync)
    except NotReady as error:
        bench.model.fail(str(error))
    finally:
        bench.remove()
    return bench.model.errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=str(Path(__file__).parents[2] / "build/gearstalkd"))
    parser.add_argument("--cuts", type=int, default=5)
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    parser.add_argument("--bodies", metavar="BYTES", help="limits.bodies of the broker: 1 has nearly every body read back")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    try:
        errors = run(options)
    except CannotMount as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    for error in errors[:20]:
        print(f"  {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
