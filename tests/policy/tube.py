"""A tube with a policy, looked at by raw bytes of both protocols."""

import sys
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "admin"))
from broker import SECONDS, Broker, Client  # noqa: E402

CAN_DO, GRAB_JOB, JOB_ASSIGN, WORK_FAIL, ECHO_REQ, ECHO_RES = 1, 9, 11, 14, 16, 17
SUBMIT_JOB, JOB_CREATED, SUBMIT_JOB_BG, WORK_EXCEPTION = 7, 8, 18, 25


@dataclass
class Event:
    word: str  # in retry_on
    cause: str
    workers: tuple[str, ...]


EVENTS = {
    "timeout": Event("timeout", "timeout", ("beanstalk", "gearman")),
    "lost": Event("lost", "lost", ("beanstalk", "gearman")),
    "fail": Event("fail", "failed", ("gearman",)),
    "exception": Event("fail", "exception", ("gearman",)),
    "release": Event("release", "released", ("beanstalk",)),
    "bury": Event("bury", "buried", ("beanstalk",)),
}
PRODUCERS = ("put", "background", "foreground")


def until(test: unittest.TestCase, done) -> None:
    """Asks again and again; for what no event tells."""
    end = time.monotonic() + SECONDS
    while not done():
        test.assertLess(time.monotonic(), end)
        time.sleep(0.01)


class Tube:
    """A tube of its own, an observer, and a job in it."""

    def __init__(self, test: unittest.TestCase, broker: Broker, name: str, **policy: str) -> None:
        self.test, self.broker, self.name = test, broker, name
        self.seen = self.connect()
        self.set(**policy)
        self.seen.say(f"use {name}")

    def connect(self) -> Client:
        client = Client(self.broker.port)
        self.test.addCleanup(client.close)
        return client

    def set(self, **policy: str) -> None:
        admin = self.connect()
        for key, value in policy.items():
            self.test.assertEqual(admin.admin(f"policy {self.name} {key} {value}"), ["OK"])

    def add(self, producer: str, ttr: int = 3600) -> int:
        self.client = self.connect()
        if producer == "put":
            self.client.say(f"use {self.name}")
            return self.client.put("body", ttr=ttr)
        kind = SUBMIT_JOB if producer == "foreground" else SUBMIT_JOB_BG
        said, parts = self.client.ask(kind, self.name.encode(), b"", b"body")
        self.test.assertEqual(said, JOB_CREATED)
        return int(parts[0].rsplit(b":", 1)[1])

    def take(self, worker: str) -> tuple[Client, bytes]:
        """A worker that has the job, and the job's handle for Gearman's."""
        taker = self.connect()
        if worker == "beanstalk":
            taker.say(f"watch {self.name}")
            self.test.assertRegex(taker.say("reserve-with-timeout 0"), "^RESERVED ")
            return taker, b""
        taker.packet(CAN_DO, self.name.encode())
        said, parts = taker.ask(GRAB_JOB)
        self.test.assertEqual(said, JOB_ASSIGN)
        return taker, parts[0]

    def end(self, event: str, worker: str, job: int, delay: int = 0) -> None:
        taker, handle = self.take(worker)
        if event == "lost":
            taker.close()
        elif event == "release":
            self.test.assertEqual(taker.say(f"release {job} 77 {delay}"), "RELEASED")
        elif event == "bury":
            self.test.assertEqual(taker.say(f"bury {job} 77"), "BURIED")
        elif event == "fail":
            taker.packet(WORK_FAIL, handle)
        elif event == "exception":
            taker.packet(WORK_EXCEPTION, handle, b"what went wrong")
        if event != "timeout":
            self.until_ended(job)

    def until_ended(self, job: int) -> None:
        until(self.test, lambda: self.job(job).get("state") != "reserved")

    def job(self, job: int) -> dict[str, str]:
        """Its statistics; nothing if it is gone."""
        self.seen.send(f"stats-job {job}\r\n".encode())
        line = self.seen.line()
        if line == "NOT_FOUND":
            return {}
        lines = self.seen.body(int(line.split()[1]) + 2).decode().splitlines()
        return dict(each.split(": ", 1) for each in lines if ": " in each)

    def heard(self) -> int:
        """What the client is told first: its WORK_FAIL, or the echo that it asks for now."""
        return self.client.ask(ECHO_REQ, b"x")[0]
