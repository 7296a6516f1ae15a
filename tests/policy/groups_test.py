#!/usr/bin/env python3
"""The recipes of docs/groups.md: groups_test.py BROKER. Each is run with the lines of configuration that
the page prints, with workers of both protocols that know nothing of groups."""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

from tube import CAN_DO, GRAB_JOB, JOB_ASSIGN, SUBMIT_JOB_BG, Broker, Tube

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"
PAGE = (Path(__file__).resolve().parents[2] / "docs/groups.md").read_text()
WORK_COMPLETE, NO_JOB, ERROR = 13, 10, 19
NORMAL = 65536


class Recipe(unittest.TestCase):
    """One section of the page: its first block is the configuration."""

    heading = tube = ""

    def setUp(self) -> None:
        parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
        section = dict(zip(parts[1::2], parts[2::2], strict=True))[self.heading]
        block = re.search(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]
        data = self.enterContext(tempfile.TemporaryDirectory(prefix="groups-"))
        config = Path(data, "gearstalkd.yaml")
        config.write_text(block)
        self.broker = Broker(BINARY, "--config", str(config), "--data-dir", f"{data}/journal")
        self.addCleanup(self.broker.stop)
        self.all = Tube(self, self.broker, self.tube)
        self.client = self.all.connect()  # it speaks Gearman

    def put(self, **body: object) -> int:
        """With the priority of Gearman's jobs."""
        text = json.dumps(body)
        word, number = self.all.seen.say(f"put {NORMAL} 0 60 {len(text)}\r\n{text}").split()
        self.assertEqual(word, "INSERTED")
        return int(number)

    def submit(self, **body: object) -> None:
        self.client.ask(SUBMIT_JOB_BG, self.tube.encode(), b"", json.dumps(body).encode())

    def beanstalk(self):
        worker = self.all.connect()
        worker.say(f"watch {self.tube}")
        return worker

    def gearman(self):
        worker = self.all.connect()
        worker.packet(CAN_DO, self.tube.encode())
        return worker

    def reserve(self, worker) -> tuple[int, dict]:
        """The id and the body of the job; 0: there is none."""
        worker.send(b"reserve-with-timeout 0\r\n")
        line = worker.line()
        if not line.startswith("RESERVED"):
            self.assertEqual(line, "TIMED_OUT")
            return 0, {}
        return int(line.split()[1]), json.loads(worker.body(int(line.split()[2]) + 2))

    def grab(self, worker) -> tuple[bytes, dict]:
        """The handle and the body of the job; nothing: there is none."""
        kind, parts = worker.ask(GRAB_JOB)
        if kind == NO_JOB:
            return b"", {}
        self.assertEqual(kind, JOB_ASSIGN)
        return parts[0], json.loads(parts[2])

    def groups(self) -> list[list[str]]:
        lines = self.all.connect().admin(f"groups {self.tube}", table=True)
        return [line.split("\t") for line in lines[:-1]]


class Fair(Recipe):
    heading, tube = '"One customer floods the queue"', "thumbs"

    def test_a_quiet_customer_is_next(self) -> None:
        for n in range(200):
            self.put(customer="noisy", n=n)
        self.submit(customer="quiet")
        first, second = self.beanstalk(), self.gearman()
        self.assertEqual(self.reserve(first)[1]["customer"], "noisy")
        self.assertEqual(self.grab(second)[1]["customer"], "quiet")
        self.assertEqual(self.grab(second)[1]["n"], 1)
        self.assertEqual(self.groups()[0][:4], ["noisy", "198", "2", "0"])

    def test_what_statistics_say(self) -> None:
        job = self.put(customer='a "b"')
        self.put(other=1)
        tube = list(self.all.seen.yaml(f"stats-tube {self.tube}").items())
        self.assertEqual(tube[-3:], [("groups", "1"), ("groups-held-back", "0"),
                                     ("jobs-without-group", "1")])
        self.assertEqual(self.all.job(job)["group"], r'"a \"b\""')
        self.assertEqual(sorted(row[0] for row in self.groups()), ["", r"a \"b\""])


class Fifo(Recipe):
    heading, tube = '"Updates of one order, one after the other"', "orders"

    def test_one_at_a_time_in_the_order_of_ids(self) -> None:
        jobs = [self.put(order=order, n=n) for n in range(3) for order in ("x", "y")]
        first, second = self.beanstalk(), self.gearman()
        job, body = self.reserve(first)
        self.assertEqual((job, body["n"]), (jobs[0], 0))
        handle, body = self.grab(second)
        self.assertEqual((body["order"], body["n"]), ("y", 0))
        self.assertEqual(self.reserve(first)[0], 0)
        self.assertEqual(first.say(f"reserve-job {jobs[2]}"), "NOT_FOUND")
        self.assertEqual(first.say(f"release {job} 0 3600"), "RELEASED")
        self.assertEqual(self.reserve(first)[0], 0, "the order waits for its delayed update")
        second.packet(WORK_COMPLETE, handle, b"")
        self.assertEqual(self.grab(second)[1], {"order": "y", "n": 1})
        self.assertEqual([row[6] for row in self.groups() if row[0] == "x"], ["fifo"])

    def test_a_failed_update_holds_its_order(self) -> None:
        job = self.put(order=1)
        self.put(order=1)
        worker = self.beanstalk()
        for _ in range(5):
            self.all.seen.say(f"kick-job {job}")
            self.assertEqual(self.reserve(worker)[0], job)
            self.assertEqual(worker.say(f"release {job} 0 0"), "RELEASED")
        self.assertEqual(self.all.job(job)["tube"], "orders.dead")
        self.assertEqual(self.reserve(worker)[0], 0)
        self.assertEqual([row[6] for row in self.groups()], ["failed"])
        self.assertEqual(self.all.seen.say(f"kick-job {job}"), "KICKED")
        self.assertEqual(self.reserve(worker)[0], job, "it is in front again")


class Limits(Recipe):
    heading = '"The API behind takes three calls at once and ten a minute of each account"'
    tube = "calls"

    def test_three_at_once_and_ten_a_minute(self) -> None:
        for n in range(20):
            self.put(account=17, n=n)
        self.submit(account=18)
        first, second = self.beanstalk(), self.gearman()
        jobs = [self.reserve(first)[0]]
        self.assertEqual(self.grab(second)[1]["account"], 18)
        jobs += [self.reserve(first)[0] for _ in range(2)]
        self.assertEqual((self.reserve(first)[0], self.grab(second)), (0, (b"", {})))
        self.assertEqual([row[6] for row in self.groups() if row[0] == "17"], ["running"])
        for _ in range(7):
            self.assertEqual(first.say(f"delete {jobs.pop()}"), "DELETED")
            jobs.append(self.reserve(first)[0])
        self.assertEqual(first.say(f"delete {jobs.pop()}"), "DELETED")
        self.assertEqual(self.reserve(first)[0], 0)
        self.assertEqual([row[6] for row in self.groups() if row[0] == "17"], ["rate"])

    def test_refusals(self) -> None:
        admin = self.all.connect()
        for line in ("group_max_jobs 1", "group_missing refuse"):
            self.assertEqual(admin.admin(f"policy {self.tube} {line}"), ["OK"])
        self.put(account=1)
        seen = self.all.seen
        for body in (b'{"account": 1}', b'{"other": 1}'):
            seen.send(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))
            self.assertEqual(seen.line(), "OUT_OF_MEMORY")
            kind, parts = self.client.ask(SUBMIT_JOB_BG, self.tube.encode(), b"", body)
            self.assertEqual((kind, parts[0]), (ERROR, b"QUEUE_ERROR"))
        self.assertTrue(admin.admin("groups nothing")[0].startswith("ERR "))


if __name__ == "__main__":
    unittest.main()
