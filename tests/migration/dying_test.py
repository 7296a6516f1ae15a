#!/usr/bin/env python3
"""Old servers that die at every point of a take-over: dying_test.py BROKER CTL [every].

A fake server dies when it has sent so many bytes: before, within and behind each reply, or with
`every` at each byte. Then the command runs again."""

import json
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

from fake_beanstalkd import FakeBeanstalkd, Session
from fake_gearmand import FakeGearmand
from fake_server import FakeServer
from tools import CTL, PATIENCE, Broker, Folder, exported, jobs

EVERY = sys.argv[3:] == ["every"]
AT_ONCE = 4


def take_over(old: FakeServer, broker: Broker, name: str, report: Path, *words: str) -> int:
    done = subprocess.run([CTL, "take-over", old.url, "--to", broker.address, "--source", name,
                           "--report", report, *words], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    return done.returncode


class Round:
    """One death: what the reports of the two runs say, and the jobs that may be there twice."""

    def __init__(self, make: type, fill: object, death: str, budget: int | None) -> None:
        self.make, self.fill, self.death, self.budget = make, fill, death, budget
        self.name = f"{make.__name__}-{death}-{budget}"
        self.problem = ""
        self.uncertain: list[int] = []
        self.deleted: list[str] = []  # buried jobs, before the death

    def run(self, broker: Broker, folder: Path) -> FakeServer:
        old = self.make()
        self.fill(old, self.name)
        old.death, old.budget = self.death, self.budget
        report = folder / self.name
        moved = []
        for life in range(2):
            code = take_over(old, broker, self.name, report)
            old.live()
            found = json.loads(report.read_text())
            moved.append(found["moved"])
            self.uncertain = [job["job"] for job in found["jobs"] if job["outcome"] == "uncertain"]
            if code not in ((0, 1, 3) if life == 0 else (0, 3)) or found["exit"] != code:
                self.problem += f"exit {code} of run {life}, report {found['exit']}; "
            if code == 3 and not self.uncertain:
                self.problem += "exit 3 without uncertain jobs; "
            if life == 0:
                self.deleted = list(getattr(old, "deleted", []))
        if old.jobs:
            self.problem += f"{len(old.jobs)} jobs left there; "
        if sum(moved) != self.moved(broker):
            self.problem += f"reports say {moved}; "
        old.close()
        return old

    def moved(self, broker: Broker) -> int:
        return len(jobs(exported("--from", broker.address, "--tube", self.name)))


def fill_beanstalkd(old: FakeBeanstalkd, tube: str) -> None:
    for body, state in JOBS.items():
        old.add(tube, body, state)


def fill_beanstalkd_with_many(old: FakeBeanstalkd, tube: str) -> None:
    for body, state in MANY.items():
        old.add(tube, body, state)


def fill_gearmand(old: FakeGearmand, function: str) -> None:
    for number, body in enumerate(JOBS):
        old.add(function, body, number % 3)


JOBS = {"a": "ready", "b": "ready", "c": "delayed", "d": "buried", "e": "ready", "f": "buried"}
# Windows that overlap, and a walk over all ids.
MANY = {name: state for state, names in {"ready": "abcdefg", "delayed": "hi", "buried": "jklm"}.items()
        for name in names}


class Dying(unittest.TestCase):
    def rounds(self, make: type, fill: object, death: str,
               within: bool = True) -> tuple[dict[str, list[dict]], list]:
        """All jobs at the broker by tube, and the rounds. It dies behind each reply, and `within`."""
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            whole = Round(make, fill, death, None).run(broker, folder)
            ends = range(whole.sent) if EVERY else sorted(
                {mark - back for mark in whole.marks for back in range(1 + within)})
            rounds = [Round(make, fill, death, budget) for budget in ends]
            waiting = list(rounds)

            def work() -> None:
                while waiting:
                    waiting.pop().run(broker, folder)

            threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            tubes: dict[str, list[dict]] = {}
            for job in jobs(exported("--from", broker.address)):
                tubes.setdefault(job["tube"], []).append(job)
            return tubes, rounds

    def check_beanstalkd(self, death: str, want: dict[str, str], fill: object,
                         within: bool = True) -> None:
        tubes, rounds = self.rounds(FakeBeanstalkd, fill, death, within)
        for each in rounds:
            self.assertEqual(each.problem, "", each.name)
            self.assertEqual(each.uncertain, [], each.name)
            here = tubes[each.name]
            self.assertEqual(sorted((job["body"], job["state"]) for job in here),
                             sorted(want.items()), each.name)
            self.check_order(each, [body for body, state in want.items() if state == "buried"],
                             [job["body"] for job in sorted(here, key=lambda job: job.get("burial", 0))
                              if job["state"] == "buried"])

    def check_order(self, each: Round, put: list[str], here: list[str]) -> None:
        """Buried jobs keep their order; of those that were gone at the death, nobody knows it."""
        order = put[::-1]
        gone = [body for body in put if body in each.deleted]
        self.assertIn(here, [order, gone + [body for body in order if body not in gone]], each.name)

    def test_a_beanstalkd_dies(self) -> None:
        self.check_beanstalkd("server", JOBS, fill_beanstalkd)
        self.check_beanstalkd("server", MANY, fill_beanstalkd_with_many, within=False)

    def test_a_connection_to_a_beanstalkd_dies(self) -> None:
        self.check_beanstalkd("connection", JOBS, fill_beanstalkd)
        self.check_beanstalkd("connection", MANY, fill_beanstalkd_with_many, within=False)

    def check_gearmand(self, death: str) -> int:
        tubes, rounds = self.rounds(FakeGearmand, fill_gearmand, death)
        uncertain = 0
        for each in rounds:
            self.assertEqual(each.problem, "", each.name)
            bodies = sorted(job["body"] for job in tubes[each.name])
            self.assertEqual(sorted(set(bodies)), sorted(JOBS), each.name)
            twice = {body for body in bodies if bodies.count(body) > 1}
            doubtful = {job["body"] for job in tubes[each.name] if job["job"] in each.uncertain}
            self.assertLessEqual(twice, doubtful, each.name)
            uncertain += len(each.uncertain)
        return uncertain

    def test_a_gearmand_dies(self) -> None:
        self.assertGreater(self.check_gearmand("server"), 0)

    def test_a_connection_to_a_gearmand_dies(self) -> None:
        self.assertEqual(self.check_gearmand("connection"), 0)


class DueSession(Session):
    """A delayed job is due within the second, and runs there before it is deleted."""

    def stats_job(self, number: str) -> bytes:
        text = super().stats_job(number).split(b"\r\n", 1)[1][4:-2].decode()
        return self.yaml(text.replace("time-left: 9000", "time-left: 0"))

    def delete(self, number: str) -> bytes:
        job = self.server.jobs.get(int(number))
        ran = job is not None and job.body != b"" and job.state == "delayed"
        answer = super().delete(number)
        return b"NOT_FOUND\r\n" if ran else answer


class DueBeanstalkd(FakeBeanstalkd):
    def session(self, connection: socket.socket) -> DueSession:
        return DueSession(self, connection)


class Due(unittest.TestCase):
    def test_a_job_that_ran_there_is_uncertain(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            old = DueBeanstalkd()
            old.add("mail", "a", "delayed")
            self.assertEqual(take_over(old, broker, "due", folder / "report"), 3)
            report = json.loads((folder / "report").read_text())
            self.assertEqual((report["moved"], report["uncertain"]), (1, 1))
            old.close()


class Hanging(unittest.TestCase):
    """A server that says nothing counts as dead."""

    def test_all(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            rounds = [Round(make, fill, "hang", budget)
                      for make, fill in ((FakeBeanstalkd, fill_beanstalkd),
                                         (FakeGearmand, fill_gearmand)) for budget in (0, 300)]
            threads = [threading.Thread(target=each.run, args=(broker, folder)) for each in rounds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for each in rounds:
                self.assertEqual(each.problem, "", each.name)
                self.assertEqual(each.uncertain, [], each.name)
                here = jobs(exported("--from", broker.address, "--tube", each.name))
                self.assertEqual(sorted(job["body"] for job in here), sorted(JOBS), each.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
