#!/usr/bin/env python3
"""Fills the disk under the broker: what is refused, what goes on, how it comes out of it again, and
that nothing is lost. On a tmpfs and on an ext4 in an image file. Exits with 77 where the machine
does not allow it."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for part in ("crash", "powercut"):
    sys.path.insert(0, str(Path(__file__).parents[1] / part))

import wire  # noqa: E402
from broker import SERVER_NAME, Broker, NotReady  # noqa: E402
from checker import Checker  # noqa: E402
from disk import CannotMount, Disk, MemoryDisk  # noqa: E402
from model import Job, Model, Put  # noqa: E402
from wire import Beanstalk, Gearman, fields, handle_of, id_of  # noqa: E402

SKIPPED = 77
MEGABYTES = 64
BODY = 50_000
LOW = 16 << 20  # bytes, as limits.free_disk
TAKEN_AGAIN_SECONDS = 60.0
TUBES = ("full0", "full1")


class Failed(AssertionError):
    """Something else than what is promised."""


def expect(condition: bool, what: str, got: object) -> None:
    if not condition:
        raise Failed(f"{what}: {str(got)[:300]}")


class FullDisk:
    def __init__(self, binary: str, disk: Disk | MemoryDisk, log: Path,
                 rng: random.Random) -> None:
        self.binary, self.disk, self.log, self.rng = binary, disk, log, rng
        self.model = Model()
        self.free_disk = 0
        self.start()

    def start(self) -> None:
        self.broker = Broker(self.binary, self.disk.path / "data", self.log,
                             args=("--admin", "127.0.0.1:0", "--limits-free-disk",
                                   str(self.free_disk),
                                   "--max-job-size", str(MEGABYTES << 20))).wait_ready()
        self.beanstalk = Beanstalk(self.broker.port)
        self.gearman = Gearman(self.broker.port)
        for tube in TUBES:
            self.beanstalk.ask(f"watch {tube}")
            self.gearman.send(Gearman.request(wire.CAN_DO, tube.encode()))

    def restart_and_compare(self) -> None:
        self.drain_one_by_beanstalk()  # acknowledges what Gearman's workers did before
        self.broker.kill()
        self.start()
        Checker(self.model, self.broker.port, time.time(), self.rng).run()
        expect(not self.model.errors, "after a restart", "\n".join(self.model.errors[:10]))

    def body(self) -> bytes:
        return b"%016x" % self.rng.getrandbits(64) + b"x" * self.rng.randrange(BODY)

    def put(self) -> bool:
        put = self.model.put(Put(TUBES[0], self.body(), 9, ttr=600))
        self.beanstalk.ask(f"use {put.tube}")
        self.beanstalk.send(Beanstalk.put(9, 0, 600, put.body))
        word, arguments, _ = self.beanstalk.reply()
        expect(word in ("INSERTED", "OUT_OF_MEMORY"), "put", word)
        if word == "INSERTED":
            self.model.created(put, int(arguments[0]))
        else:
            self.model.refused(put)
        return word == "INSERTED"

    def put_large(self, size: int) -> None:
        put = self.model.put(Put(TUBES[0], b"large" * (size // 5), 9, ttr=600))
        self.beanstalk.ask(f"use {put.tube}")
        self.beanstalk.send(Beanstalk.put(9, 0, 600, put.body))
        word, arguments, _ = self.beanstalk.reply()
        expect(word in ("INSERTED", "OUT_OF_MEMORY"), f"put of {size} bytes", word)
        if word == "INSERTED":
            self.model.created(put, int(arguments[0]))
        else:
            self.model.refused(put)
        print(f"{size >> 20} MB: {word}", flush=True)

    def submit(self) -> bool:
        unique = b"u%x" % self.rng.getrandbits(48)
        put = self.model.put(Put(TUBES[1], self.body(), 65536, unique=unique, by_beanstalk=False))
        kind, arguments = self.gearman.ask(wire.SUBMIT_JOB_BG, put.tube.encode(), unique, put.body)
        expect(kind in (wire.JOB_CREATED, wire.ERROR), "submit", arguments)
        if kind == wire.JOB_CREATED:
            self.model.created(put, id_of(arguments[0]))
        else:
            expect(arguments[0] == b"QUEUE_ERROR", "submit", arguments)
            self.model.refused(put)
        return kind == wire.JOB_CREATED

    def fill(self) -> None:
        """Until both protocols are refused, one right behind the other, and /readyz says why. What
        the broker drops meanwhile may make room again."""
        status, text = 200, ""
        while status == 200:
            refusals = 0
            while refusals < 2:
                refusals = 0
                refusals += not self.put()
                refusals += not self.submit()
            status, text = self.broker.readiness()
        expect(status == 503 and "No space left" in text, "/readyz of a full disk", (status, text))
        expect(self.broker.logs("No space left"), "the log", self.broker.said[-300:])
        self.submit_foreground()

    def submit_foreground(self) -> None:
        """It needs no disk."""
        kind, arguments = self.gearman.ask(wire.SUBMIT_JOB, b"none", b"", b"foreground")
        expect(kind == wire.JOB_CREATED, "submit of a foreground job", arguments)
        self.model.saw_foreground(id_of(arguments[0]))

    def read(self) -> None:
        for job in self.rng.sample(list(self.model.jobs.values()), 20):
            body = job.origin.body if job.origin else job.puts[0].body
            expect(self.beanstalk.ask(f"peek {job.id}") == ("FOUND", [str(job.id)], body),
                   "peek", job.id)
        stats = fields(self.beanstalk.ask("stats")[2])
        expect(int(stats["current-jobs-ready"]) >= self.model.count(), "stats", stats)

    def change(self) -> None:
        """A job that cannot be released or buried is still held and can be deleted."""
        for line, kind, done in (("release {} 7 0", "release", "RELEASED"),
                                 ("bury {} 7", "bury", "BURIED")):
            _, arguments, data = self.beanstalk.ask("reserve-with-timeout 0")
            job = self.model.saw(int(arguments[0]), data)
            change = self.model.change(job, kind, 7)
            word = self.beanstalk.ask(line.format(job.id))[0]
            expect(word in (done, "OUT_OF_MEMORY"), kind, word)
            if word == done:
                self.model.acknowledge(change)
                continue
            self.model.withdraw(job, change)
            self.delete(job)

    def drain(self, leave: int) -> None:
        """Down to `leave` jobs."""
        while self.model.count() > leave:
            self.rng.choice((self.drain_one_by_beanstalk, self.drain_one_by_gearman))()

    def drain_one_by_beanstalk(self) -> None:
        word, arguments, data = self.beanstalk.ask("reserve-with-timeout 0")
        expect(word == "RESERVED", "reserve", word)
        self.delete(self.model.saw(int(arguments[0]), data))

    def delete(self, job: Job) -> None:
        change = self.model.change(job, "delete")
        word = self.beanstalk.ask(f"delete {job.id}")[0]
        expect(word == "DELETED", "delete", word)
        self.gone(job, change)

    def drain_one_by_gearman(self) -> None:
        kind, arguments = self.gearman.ask(wire.GRAB_JOB_UNIQ)
        expect(kind == wire.JOB_ASSIGN_UNIQ, "grab", (kind, arguments))
        job = self.model.saw(id_of(arguments[0]), arguments[3])
        change = self.model.change(job, "delete")
        self.gearman.send(Gearman.request(wire.WORK_COMPLETE, handle_of(SERVER_NAME, job.id), b""))
        reply = self.gearman.ask(wire.ECHO_REQ, b"done")
        expect(reply == (wire.ECHO_RES, [b"done"]), "complete", reply)
        self.gone(job, change)

    def gone(self, job: Job, change: object) -> None:
        self.model.acknowledge(change)
        del self.model.jobs[job.id]
        self.model.ended.add(job.id)

    def taken_again(self) -> None:
        deadline = time.monotonic() + TAKEN_AGAIN_SECONDS
        while not (self.put() and self.submit() and self.broker.readiness()[0] == 200):
            if time.monotonic() > deadline:
                raise Failed(f"nothing is taken after draining:\n{self.broker.said[-2000:]}")
            time.sleep(0.05)


def fill_and_drain(full: FullDisk) -> None:
    """The disk is full of jobs."""
    full.fill()
    full.read()
    full.change()
    full.drain(full.model.count() * 9 // 10)
    full.fill()
    full.restart_and_compare()
    full.fill()
    full.drain(full.model.count() // 3)
    full.taken_again()
    full.restart_and_compare()
    full.taken_again()
    full.fill()
    full.drain(5)
    full.taken_again()
    full.restart_and_compare()


def filled_by_another(full: FullDisk) -> None:
    """The disk is full of something else, which goes away again."""
    for _ in range(50):
        full.put()
        full.submit()
    ballast = full.disk.path / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(b"\0" * 65536)
            except OSError:
                break
    full.fill()
    full.read()
    full.change()
    full.drain(full.model.count() // 2)
    ballast.unlink()
    full.taken_again()
    full.restart_and_compare()


def low_on_disk(full: FullDisk) -> None:
    """Less is free than limits.free_disk: nothing new is stored, and all else goes on."""
    for _ in range(30):
        full.put()
        full.submit()
    full.free_disk = LOW
    full.restart_and_compare()
    ballast = full.disk.path / "ballast"

    def leave(free: int) -> None:
        """Until the broker has seen it."""
        deadline = time.monotonic() + TAKEN_AGAIN_SECONDS
        while full.broker.number("gearstalkd_journal_free_bytes") != free:
            if time.monotonic() > deadline:
                raise Failed(f"{free} bytes free are not seen")
            info = os.statvfs(full.disk.path)
            with ballast.open("ab") as file:
                size = os.fstat(file.fileno()).st_size + info.f_bavail * info.f_frsize - free
                file.truncate(size)
                os.posix_fallocate(file.fileno(), 0, size)
            time.sleep(0.1)

    leave(LOW + (1 << 20))
    expect(full.put() and full.submit(), "above the limit", full.broker.said[-500:])
    for free in (LOW - (1 << 20), LOW + (1 << 20)):
        leave(free)
        expect(not full.put() and not full.submit(), f"{free} bytes are free", full.broker.said[-500:])
        full.submit_foreground()
        full.read()
    expect(full.broker.logs("reason=disk"), "the log", full.broker.said[-500:])
    _, arguments, data = full.beanstalk.ask("reserve-with-timeout 0")
    job = full.model.saw(int(arguments[0]), data)
    change = full.model.change(job, "release", 7)
    expect(full.beanstalk.ask(f"release {job.id} 7 0")[0] == "RELEASED", "release", job.id)
    full.model.acknowledge(change)
    full.drain(full.model.count() // 2)
    ballast.unlink()
    full.taken_again()
    full.restart_and_compare()


def large_jobs(full: FullDisk) -> None:
    """One of them fits, or is refused; either way everything else goes on."""
    for megabytes in (20, 62, 44, 30, 56):
        full.put_large(megabytes << 20)
        for _ in range(3):
            expect(full.put(), "a put beside a large one", full.broker.said[-500:])
            full.drain_one_by_beanstalk()
        full.drain(0)
        full.taken_again()
        full.drain(0)
    full.put()
    full.restart_and_compare()


def run(options: argparse.Namespace, make: type, scenario: object) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="gearstalk-diskfull-") as name:
        disk = make(Path(name), MEGABYTES)
        full = None
        started = time.monotonic()
        try:
            full = FullDisk(options.broker, disk, Path(name, "log"), random.Random(options.seed))
            scenario(full)
        except (Failed, NotReady, wire.Silent, wire.Gone) as error:
            log = full.broker.said[-1500:] if full else ""
            return [f"{make.__name__}, {scenario.__name__}: {error!r}\n{log}"]
        finally:
            if full:
                full.broker.kill()
            disk.unmount()
        print(f"{make.__name__}, {scenario.__name__}: {full.model.acknowledged} acknowledged "
              f"changes, nothing lost, {time.monotonic() - started:.0f} s", flush=True)
        return full.model.errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=str(Path(__file__).parents[2] / "build/gearstalkd"))
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    errors = []
    try:
        for make in (MemoryDisk, Disk):
            for scenario in (fill_and_drain, filled_by_another, low_on_disk, large_jobs):
                errors += run(options, make, scenario)
    except (CannotMount, subprocess.CalledProcessError) as reason:
        print(f"skipped: {reason}")
        return 1 if errors else SKIPPED
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
