#!/usr/bin/env python3
"""Moving between a running beanstalkd and a broker: take_over_test.py BROKER CTL."""

import json
import shutil
import socket
import subprocess
import sys
import time
import unittest

from beanstalkd import NOTHING, Beanstalkd
from tools import CTL, PATIENCE, Broker, Folder, ctl, exported, jobs


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
                tool = subprocess.Popen([CTL, "take-over", old.url, "--to", broker.address],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(delay)
                tool.kill()
                tool.wait(PATIENCE)
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
            tool = subprocess.Popen([CTL, "take-over", old.url, "--to", broker.address, "--follow"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            old.put("mail", "a")
            end = time.monotonic() + PATIENCE
            while not jobs(exported("--from", broker.address)):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
            ctl("take-over", old.url, "--to", broker.address, code=1)
            tool.terminate()
            self.assertEqual(tool.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
