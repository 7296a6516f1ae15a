#!/usr/bin/env python3
"""Moving between a running beanstalkd and a broker: take_over_test.py BROKER CTL."""

import itertools
import json
import shutil
import socket
import sys
import time
import unittest
from collections import Counter

from beanstalkd import NOTHING, Beanstalkd
from fake_beanstalkd import FakeBeanstalkd, Session
from fake_server import Death
from tools import (PATIENCE, Broker, Folder, Tool, ctl, eventually, exported, jobs,
                   until_moved)


def fill(old: Beanstalkd) -> None:
    """Jobs of every state: 300 ready, one delayed, two buried in another order than put."""
    for number in range(300):
        old.put("mail", f"ready {number}", priority=number % 3)
    old.put("mail", "delayed", delay=100_000)
    first, second = old.put("dead", "first"), old.put("dead", "second")
    bury(old, "dead", [second, first])


def bury(old: Beanstalkd, tube: str, order: list[int]) -> None:
    old.ask(f"watch {tube}")
    for job in order:
        old.client.sendall(f"reserve-job {job}\r\n".encode())
        size = int(old.file.readline().split()[2])
        old.file.read(size + 2)
        old.ask(f"bury {job} 7")


class Walked(FakeBeanstalkd):
    """Writes down which ids are asked for; a job becomes ready when the walk is at `trigger`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[int] = Counter()
        self.trigger = 0
        self.reserved_at = 0  # the highest id asked for when the ready job was reserved

    class Session(Session):
        def stats_job(self, number: str) -> bytes:
            server = self.server
            server.asked[int(number)] += 1
            if int(number) == server.trigger:
                server.add("mail", "ready")
            return super().stats_job(number)

        def reserve_with_timeout(self, seconds: str) -> bytes:
            answer = super().reserve_with_timeout(seconds)
            if answer.startswith(b"RESERVED"):
                self.server.reserved_at = max(self.server.asked)
            return answer

    def session(self, connection: socket.socket) -> Session:
        return self.Session(self, connection)

    def fill(self, first: int, count: int) -> None:
        """Delayed jobs behind a gap of ids."""
        with self.lock:
            self.numbers = itertools.count(first)
            for number in range(count):
                self.add("mail", f"delayed {first + number}", "delayed")


class Walk(unittest.TestCase):
    """The walk over all ids for delayed and buried jobs."""

    def test_ready_jobs_move_meanwhile(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            old = Walked()
            old.fill(8000, 20)
            old.trigger = 1500
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(len(jobs(exported("--from", broker.address))), 21)
            self.assertLess(old.reserved_at, 4000)
            old.close()

    def test_an_id_is_looked_at_once(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            old = Walked()
            old.fill(3000, 20)
            with Tool("take-over", old.url, "--to", broker.address, "--follow") as tool:
                until_moved(broker, 20)
                old.fill(6000, 20)
                until_moved(broker, 40)
                self.assertEqual(tool.stop(), 0)
            self.assertEqual({old.asked[number] for number in range(1, 3000)}, {1})
            old.close()

    def test_jobs_behind_the_walk(self) -> None:
        """A consumer there buries and delays jobs whose ids were looked at."""
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            old = Walked()
            for number in range(100):
                old.add("mail", f"later {number}", "reserved")
            old.fill(200, 20)
            with Tool("take-over", old.url, "--to", broker.address, "--follow") as tool:
                until_moved(broker, 20)
                with old.lock:
                    for number, job in enumerate(list(old.jobs.values())):
                        job.state = "buried" if number % 2 else "delayed"
                until_moved(broker, 120)
                self.assertEqual(tool.stop(), 0)
            old.close()


class Lost(FakeBeanstalkd):
    """It ends for good when it is asked to bury a job."""

    def session(self, connection: socket.socket) -> "LostSession":
        return LostSession(self, connection)


class LostSession(Session):
    def bury(self, _number: str, _priority: str) -> bytes:
        self.server.close()
        raise Death


@unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
class TakeOver(unittest.TestCase):
    def test_everything_moves_once(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(old)
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["left"], found["uncertain"]), (303, 0, 0))
            self.assertEqual(old.counts(), NOTHING)
            moved = jobs(exported("--from", broker.address))
            self.assertEqual(sorted(job["body"] for job in moved if job["state"] == "ready"),
                             sorted(f"ready {number}" for number in range(300)))
            self.assertEqual([job["body"] for job in moved if job["state"] == "delayed"], ["delayed"])
            buried = sorted((job["burial"], job["body"]) for job in moved if job["state"] == "buried")
            self.assertEqual([body for _, body in buried], ["second", "first"])
            self.assertIn("0 held", ctl("transfers", "--to", broker.address))

    def test_many_delayed_and_buried_jobs(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            for number in range(300):
                old.put("later", f"later {number}", delay=100_000 + number)
            buried = [old.put("dead", f"dead {number}") for number in range(300)]
            order = buried[100:] + buried[:100]
            bury(old, "dead", order)
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(old.counts(), NOTHING)
            moved = jobs(exported("--from", broker.address))
            self.assertEqual(sum(job["state"] == "delayed" for job in moved), 300)
            dead = sorted((job for job in moved if job["state"] == "buried"),
                          key=lambda job: job["burial"])
            self.assertEqual([job["body"] for job in dead],
                             [f"dead {buried.index(job)}" for job in order])

    def test_jobs_that_are_nearly_due_come_last(self) -> None:
        """They get the last ids."""
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            old.put("a", "near", delay=50)
            for number in range(3):
                old.put("a", "far", delay=100_000)
            bury(old, "b", [old.put("b", "dead")])
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual([job["body"] for job in jobs(exported("--from", broker.address))][-1],
                             "near")

    def test_a_paused_tube(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            for number in range(20):
                old.put("slow", f"job {number}", priority=number % 2)
            self.assertEqual(old.ask("pause-tube slow 1000"), ["PAUSED"])
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(old.counts(), NOTHING)
            lines = [json.loads(line) for line in exported("--from", broker.address)]
            settings = [line["settings"] for line in lines if "settings" in line]
            self.assertEqual([each["pause_s"] for each in settings], [1000])
            self.assertEqual({job["state"] for job in lines if "job" in job}, {"ready"})
            self.assertEqual(len(jobs(exported("--from", broker.address))), 20)

    def test_a_reserved_job_is_left(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            old.put("default", "mine")
            old.client.sendall(b"reserve\r\n")
            old.file.readline()
            old.file.readline()
            ctl("take-over", old.url, "--to", broker.address, code=3)
            self.assertEqual(jobs(exported("--from", broker.address)), [])

    def test_killed_and_run_again(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(old)
            for delay in (0.02, 0.05, 0.08, 0.12):
                with Tool("take-over", old.url, "--to", broker.address):
                    time.sleep(delay)
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(old.counts(), NOTHING)
            bodies = sorted(job["body"] for job in jobs(exported("--from", broker.address)))
            self.assertEqual(len(bodies), 303)
            self.assertEqual(len(set(bodies)), 303)

    def test_there_and_back(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(old)
            ctl("take-over", old.url, "--to", broker.address)
            ctl("hand-back", old.url, "--from", broker.address)
            self.assertEqual(jobs(exported("--from", broker.address)), [])
            self.assertEqual(old.counts(), {"ready": 300, "reserved": 0, "delayed": 1, "buried": 2})

    def test_a_job_that_somebody_has_stays_here(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            host, port = broker.address.rsplit(":", 1)
            with socket.create_connection((host, int(port)), PATIENCE) as client:
                answers = client.makefile("rb")
                client.sendall(b"put 1 0 600 1\r\na\r\nput 2 0 600 1\r\nb\r\nreserve\r\n")
                for _ in range(4):
                    answers.readline()
                line = ("hand-back", old.url, "--from", broker.address)
                said = ctl(*line, code=3)
                self.assertIn("1 moved", said)
                self.assertIn("1 left", said)
                client.sendall(b"release 1 1 0\r\n")
                answers.readline()
                ctl(*line)
            self.assertEqual(old.counts(), {**NOTHING, "ready": 2})

    def test_old_ids_stay_good(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            first = old.put("mail", "done")
            self.assertEqual(old.ask(f"delete {first}"), ["DELETED"])
            ids = [old.put("mail", "a"), old.put("mail", "b", delay=100_000)]
            line = ("take-over", old.url, "--to", broker.address, "--ids", "keep")
            ctl(*line)
            lines = exported("--from", broker.address)
            self.assertEqual([each["job"] for each in jobs(lines)], ids)
            self.assertGreater(json.loads(lines[-1])["end"]["next_id"], 1 << 32)
            ctl(*line)  # the mark knows that ids are kept
            self.assertIn("given out", ctl(*line, "--source", "another", code=1))

    def test_ids_are_reserved_before_clients_come(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            before = old.put("mail", "before")
            line = ("take-over", old.url, "--to", broker.address)
            keep = (*line, "--ids", "keep")
            ctl(*line, "--prepare", code=2)
            ctl(*keep, "--prepare", "--follow", code=2)
            self.assertIn("0 moved", ctl(*keep, "--prepare"))
            self.assertEqual(old.counts()["ready"], 1)
            host, port = broker.address.rsplit(":", 1)
            with socket.create_connection((host, int(port)), PATIENCE) as client:
                client.sendall(b"use mail\r\nput 1 0 60 3\r\nnew\r\n")
                answers = client.makefile("rb")
                answers.readline()
                self.assertGreater(int(answers.readline().split()[1]), 1 << 32)
                after = old.put("mail", "after")
                ctl(*keep)
                client.sendall(b"delete %d\r\n" % before)
                self.assertEqual(answers.readline(), b"DELETED\r\n")
            found = jobs(exported("--from", broker.address))
            self.assertEqual([job["body"] for job in found], ["after", "new"])
            self.assertEqual(found[0]["job"], after)
            self.assertIn("take-over, finished, old ids, 2 settled",
                          ctl("transfers", "--to", broker.address))

    def test_ids_are_not_changed_on_the_way(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            line = ("take-over", old.url, "--to", broker.address)
            ctl(*line)
            self.assertIn("began with new ids", ctl(*line, "--ids", "keep", code=1))

    def test_what_transfers_says(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(old)
            line = ("take-over", old.url, "--to", broker.address)
            ctl(*line)
            self.assertIn(f"{old.url}: take-over, finished, new ids, 303 settled",
                          ctl("transfers", "--to", broker.address))
            old.put("mail", "with a worker")
            with socket.create_connection(("127.0.0.1", old.port), PATIENCE) as worker:
                worker.sendall(b"watch mail\r\nreserve\r\n")
                answers = worker.makefile("rb")
                self.assertEqual([answers.readline()[:8] for _ in range(2)], [b"WATCHING", b"RESERVED"])
                ctl(*line, code=3)
                self.assertIn("take-over, unfinished, new ids, 303 settled",
                              ctl("transfers", "--to", broker.address))

    def test_it_is_no_producer(self) -> None:
        """Whoever waits for the last producer to leave does not wait for the tool."""
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            for number in range(20):
                old.put("later", str(number), delay=100_000)
            with Tool("take-over", old.url, "--to", broker.address, "--ids", "keep", "--follow") as tool:
                eventually("all have moved", lambda: old.counts() == NOTHING)
                self.assertEqual(old.stats()["current-producers"], "1")  # that is this test
                self.assertEqual(tool.stop(), 0)

    def test_an_old_server_is_lost(self) -> None:
        """A job that was held has its last copy here: --held says what becomes of it."""
        for held, bodies in (("commit", ["moved"]), ("drop", [])):
            with self.subTest(held), Folder() as folder, Broker("--data-dir", folder / "new") as broker:
                old = Lost()
                old.add("mail", "moved")
                ctl("take-over", old.url, "--to", broker.address, code=1)
                self.assertIn(" 1 held", ctl("transfers", "--to", broker.address))
                forget = ("transfers", "--to", broker.address, "--forget", old.url)
                self.assertIn("--held commit makes them jobs", ctl(*forget, code=1))
                ctl(*forget, "--held", held)
                self.assertEqual([job["body"] for job in jobs(exported("--from", broker.address))],
                                 bodies)
                self.assertEqual(ctl("transfers", "--to", broker.address), "")

    def test_rights(self) -> None:
        """A tube that may not be moved is never passed over without a word."""
        for rights, there, back in (("admin,produce", 0, 1), ("admin,consume", 1, 0)):
            with self.subTest(rights), Folder() as folder, Beanstalkd(folder / "old") as old, \
                    Broker("--data-dir", folder / "new", "--rights", f"* {rights}") as broker:
                old.put("mail", "a")
                ctl("take-over", old.url, "--to", broker.address, code=there)
                ctl("hand-back", old.url, "--from", broker.address, code=back)
                self.assertIn(" 0 held", ctl("transfers", "--to", broker.address))

    def test_two_at_a_time(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            with Tool("take-over", old.url, "--to", broker.address, "--follow") as tool:
                old.put("mail", "a")
                until_moved(broker, 1)
                ctl("take-over", old.url, "--to", broker.address, code=1)
                self.assertEqual(tool.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
