#!/usr/bin/env python3
"""That the checker sees what it is there for: each case tells it something that is not so."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

import wire
from broker import Broker
from checker import Checker
from model import BURIED, Job, Model, Put
from wire import Beanstalk, Gearman, id_of

BINARY = str(Path(__file__).parents[2] / "build/gearstalkd")


class CheckerTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = Path(tempfile.mkdtemp(prefix="gearstalk-checker-"))
        self.addCleanup(shutil.rmtree, directory)
        self.broker = Broker(BINARY, directory / "data", directory / "log").wait_ready()
        self.addCleanup(self.broker.kill)
        self.beanstalk = Beanstalk(self.broker.port)
        self.addCleanup(self.beanstalk.close)
        self.model = Model()

    def put(self, body: bytes = b"body", delay: int = 0) -> Job:
        put = self.model.put(Put("default", body, 10, delay=delay, ttr=60))
        self.beanstalk.send(Beanstalk.put(10, delay, 60, body))
        return self.model.created(put, int(self.beanstalk.reply()[1][0]))

    def submit(self, unique: bytes) -> Job:
        put = self.model.put(Put("f", b"body", 65536, unique=unique, by_beanstalk=False))
        gearman = Gearman(self.broker.port)
        self.addCleanup(gearman.close)
        kind, arguments = gearman.ask(wire.SUBMIT_JOB_BG, b"f", unique, put.body)
        self.assertEqual(kind, wire.JOB_CREATED)
        return self.model.created(put, id_of(arguments[0]))

    def bury(self, job: Job) -> None:
        self.assertEqual(self.beanstalk.ask(f"reserve-job {job.id}")[0], "RESERVED")
        self.assertEqual(self.beanstalk.ask(f"bury {job.id} 10")[0], "BURIED")
        self.claim(job, "bury", 10)

    def claim(self, job: Job, kind: str, priority: int = 0, delay: int = 0) -> None:
        self.model.acknowledge(self.model.change(job, kind, priority, delay))

    def errors(self) -> list[str]:
        Checker(self.model, self.broker.port, time.time(), random.Random(1)).run()
        return self.model.errors

    def assert_seen(self, pattern: str) -> None:
        self.assertRegex("\n".join(self.errors()), pattern)

    def test_all_is_well(self) -> None:
        self.put()
        self.put(delay=500)
        self.bury(self.put(b""))
        self.submit(b"key")
        self.submit(b"-")
        self.assertEqual(self.errors(), [])

    def test_lost(self) -> None:
        job = self.put()
        self.beanstalk.ask(f"delete {job.id}")
        self.assert_seen("is not there")

    def test_undone_deletion(self) -> None:
        self.claim(self.put(), "delete")
        self.assert_seen("may be .*gone")

    def test_back_after_a_check(self) -> None:
        job = self.put()
        del self.model.jobs[job.id]
        self.model.ended.add(job.id)
        self.assert_seen(f"job {job.id} is back")

    def test_invented(self) -> None:
        job = self.put()
        del self.model.jobs[job.id]
        self.assert_seen("none that was sent")

    def test_invented_far_away(self) -> None:
        job = self.put()
        del self.model.jobs[job.id]
        self.model.floor = job.id
        self.assert_seen("1 jobs are there, 0 were expected")

    def test_wrong_body(self) -> None:
        self.put().puts[0].body = b"another"
        self.assert_seen("none that was sent")

    def test_wrong_tube(self) -> None:
        self.put().puts[0].tube = "another"
        self.assert_seen("none that was sent")

    def test_wrong_priority(self) -> None:
        self.put().puts[0].priority = 11
        self.assert_seen("priority=11")

    def test_wrong_state(self) -> None:
        self.claim(self.put(), "bury", 10)
        self.assert_seen("buried")

    def test_wrong_due_time(self) -> None:
        self.put(delay=500).puts[0].delay = 510
        self.assert_seen("'delayed'")

    def test_due_too_early(self) -> None:
        self.put().puts[0].delay = 500
        self.assert_seen("'delayed'")

    def test_wrong_counters(self) -> None:
        self.claim(self.put(), "release", 10)
        self.assert_seen("releases=1")

    def test_lost_key(self) -> None:
        self.submit(b"").puts[0].unique = b"key"
        self.assert_seen("gave .*, not job")

    def test_burials_in_another_order(self) -> None:
        self.beanstalk.ask("use bury")
        self.beanstalk.ask("watch bury")
        jobs = [self.put(), self.put()]
        for job in jobs:
            job.puts[0].tube = "bury"
            self.bury(job)
        self.model.burials = jobs[::-1]
        self.assert_seen("the first buried job is")

    def test_id_given_again(self) -> None:
        self.model.ended.add(1)
        self.put()
        self.assertRegex(self.model.errors[0], "given out before")

    def test_unanswered_may_be_there_or_not(self) -> None:
        self.model.put(Put("default", b"never came", 10, ttr=60))
        put = self.model.put(Put("default", b"came", 10, ttr=60))
        self.beanstalk.send(Beanstalk.put(10, 0, 60, put.body))
        self.assertEqual(self.beanstalk.reply()[0], "INSERTED")
        job = self.put()
        self.model.change(job, "bury", 10)
        self.model.change(self.put(), "delete")
        self.assertEqual(self.errors(), [])
        self.assertEqual(len(self.model.jobs), 3)
        self.assertNotIn(BURIED, {state.kind for state in job.settled or ()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=BINARY)
    options, rest = parser.parse_known_args()
    BINARY = options.broker
    unittest.main(argv=[sys.argv[0], *rest])
