#!/usr/bin/env python3
"""Ends the broker by SIGKILL at random moments, starts it again on what is left, and compares that
with what it had acknowledged. The same seed makes the same clients; when they are interrupted is
up to the machine."""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from broker import Broker, NotReady
from checker import Checker
from model import Model
from traffic import Traffic
from wire import Beanstalk, fields

SYNC = ("always", "20ms", "never")
ROUNDS_A_DIRECTORY = 25


class Life:
    """One data directory through its rounds."""

    def __init__(self, binary: str, directory: Path, seed: str, args: tuple[str, ...]) -> None:
        self.binary = binary
        self.args = args
        self.directory = directory
        self.data = directory / "data"
        self.log = directory / "log"
        self.rng = random.Random(seed)
        self.model = Model()
        self.seen: Counter[str] = Counter()

    def start(self) -> Broker:
        """Sometimes killed before it is ready, once or more."""
        while True:
            broker = Broker(self.binary, self.data, self.log, self.rng.choice(SYNC), self.args)
            if self.rng.random() < 0.6:
                return broker.wait_ready()
            time.sleep(self.rng.uniform(0.0, 0.15))
            self.seen["killed before it was ready" if not broker.has_said(r"^ready .*\n") else
                      "killed just when ready"] += 1
            broker.kill()

    def round(self) -> None:
        broker = self.start()
        traffic = Traffic(self.model, broker.port, self.rng)
        traffic.start()
        if self.rng.random() < 0.4:
            self.await_compaction(broker)
        else:
            time.sleep(self.rng.uniform(0.02, 0.7))
        broker.kill()
        ended = time.time()
        traffic.join()
        if self.rng.random() < 0.2:
            self.check_journal()
        broker = self.start()
        checker = Checker(self.model, broker.port, ended, self.rng)
        self.note(broker, checker.beanstalk)
        checker.run()
        self.seen["jobs compared"] += checker.checked
        if self.rng.random() < 0.2:
            if (code := broker.stop()) != 0:
                self.model.fail(f"asked to stop, the broker exits with {code}")
        else:
            broker.kill()

    def check_journal(self) -> None:
        """A crash leaves no damage."""
        check = subprocess.run([self.binary, "--journal-check", str(self.data)],
                               capture_output=True, text=True, timeout=120, check=False)
        self.seen["journals listed"] += 1
        if check.returncode != 0:
            self.model.fail(f"--journal-check: {check.stdout[-2000:]}{check.stderr}")

    def await_compaction(self, broker: Broker) -> None:
        """Until records are being carried forward, or for a while."""
        connection = Beanstalk(broker.port)
        deadline = time.monotonic() + 0.7
        first = self.rng.choice((None, "0"))  # "0": what started with the broker counts, too
        while time.monotonic() < deadline:
            carried = fields(connection.ask("stats")[2])["binlog-records-migrated"]
            first = first or carried
            if carried != first:
                self.seen["killed during compaction"] += 1
                time.sleep(self.rng.choice((0, 0, 0.001, 0.005)))
                break
            time.sleep(0.001)
        connection.close()

    def note(self, broker: Broker, connection: Beanstalk) -> None:
        stats = fields(connection.ask("stats")[2])
        self.seen["torn tails"] += "cut off" in broker.said
        segments = int(stats["binlog-current-index"]) - int(stats["binlog-oldest-index"]) + 1
        self.seen["most segments"] = max(self.seen["most segments"], segments)
        self.seen["oldest segment"] = int(stats["binlog-oldest-index"])


def live(binary: str, seed: str, rounds: int, seen: Counter[str], args: tuple[str, ...]) -> bool:
    directory = Path(tempfile.mkdtemp(prefix="gearstalk-crash-"))
    life = Life(binary, directory, seed, args)
    done = 0
    while done < rounds and not life.model.errors:
        try:
            life.round()
        except NotReady as error:
            life.model.fail(str(error))
        done += 1
    seen["rounds"] += done
    seen["acknowledged changes"] += life.model.acknowledged
    seen["segments written and left"] += life.seen.pop("oldest segment", 0)
    seen["most segments"] = max(seen["most segments"], life.seen.pop("most segments", 0))
    seen.update(life.seen)
    if life.model.errors:
        print(f"seed {seed}, round {done}, kept in {directory}:")
        for error in life.model.errors[:20]:
            print(f"  {error}")
        return False
    shutil.rmtree(directory)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=str(Path(__file__).parents[2] / "build/gearstalkd"))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    parser.add_argument("--bodies", metavar="BYTES", help="limits.bodies of the broker: 1 has nearly every body read back")
    options = parser.parse_args()
    args = ("--limits-bodies", options.bodies) if options.bodies else ()
    print(f"seed {options.seed}", flush=True)
    seen: Counter[str] = Counter()
    lives = [min(ROUNDS_A_DIRECTORY, options.rounds - start)
             for start in range(0, options.rounds, ROUNDS_A_DIRECTORY)]
    good = True
    for number, rounds in enumerate(lives):
        if not live(options.broker, f"{options.seed}/{number}", rounds, seen, args):
            good = False
            break
        print(f"{seen['rounds']} rounds, {seen['acknowledged changes']} acknowledged changes, "
              f"{seen['jobs compared']} jobs compared", flush=True)
    for name, value in sorted(seen.items()):
        print(f"{value:>10} {name}")
    print("nothing lost, nothing undone, nothing invented" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
