#!/usr/bin/env python3
"""kill -9 of the tool, the broker and the old server in turn: kill_test.py BROKER CTL [ROUNDS].

Each round kills one of them while a command moves jobs, starts it again, and repeats the command
until it succeeds. Every job is then there once; hand-back may double those it calls uncertain."""

import json
import random
import shutil
import subprocess
import sys
import time
import unittest
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from gearman import CREATED, SUBMIT_BG, Gearmand, Peer, has_gearmand
from tools import (BROKER, CTL, PATIENCE, Folder, Launched, ctl, eventually, exported, free_port,
                   jobs)

ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
MOST = 0.4  # seconds until the kill
JOBS = 4000


class Broker(Launched):
    """A broker that starts again on its port."""

    def __init__(self, directory: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        super().__init__(BROKER, "--data-dir", directory, "--sync", "always", listen=(self.address,))

    def start(self) -> None:
        super().start()
        self.wait_ready()


class Kills(unittest.TestCase):
    def setUp(self) -> None:
        self.random = random.Random(self.id())

    def rounds(self, line: list[object], victims: list[object],
               ended: Callable[[], bool] = lambda: True) -> None:
        """Runs the command and kills one victim after the other; None is the tool. `ended`: the old
        server has seen the tool's end."""
        for number in range(ROUNDS):
            victim = victims[number % len(victims)]
            tool = subprocess.Popen([CTL, *map(str, line)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            time.sleep(self.random.random() * MOST)
            if victim is None:
                tool.kill()
            else:
                victim.kill()
                victim.start()
            self.assertIn(tool.wait(PATIENCE), (0, 1, 3, -9))
            eventually("the old server sees its end", ended)

    def finish(self, line: list[object], folder: Path) -> dict:
        report = folder / "report.json"
        done = subprocess.run([CTL, *map(str, line), "--report", report], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(report.read_text())

    def bodies(self, broker: Broker) -> list[str]:
        return sorted(job["body"] for job in jobs(exported("--from", broker.address)))

    def want(self) -> list[str]:
        return sorted(f"job {number}" for number in range(JOBS))

    def fill(self, old: Beanstalkd) -> None:
        old.ask("use work")
        text = "".join(f"put {number % 7} 0 60 {len(f'job {number}')}\r\njob {number}\r\n"
                       for number in range(JOBS))
        old.client.sendall(text.encode())
        for _ in range(JOBS):
            self.assertTrue(old.file.readline().startswith(b"INSERTED"))

    def test_import(self) -> None:
        with Folder() as folder, Broker(folder / "new") as broker:
            file = folder / "jobs"
            with file.open("w") as out:
                print('{"gearstalk_jobs":1,"made_ns":1}', file=out)
                for number in range(JOBS):
                    print(json.dumps({"job": number + 1, "tube": "work", "state": "ready",
                                      "body": f"job {number}"}), file=out)
                print(json.dumps({"end": {"jobs": JOBS, "next_id": JOBS + 1}}), file=out)
            line = ["import", f"jobs:{file}", "--to", broker.address]
            self.rounds(line, [None, broker])
            ctl(*line)
            self.assertEqual(self.bodies(broker), self.want())

    @unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
    def test_take_over_from_beanstalkd(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker(folder / "new") as broker:
            self.fill(old)
            line = ["take-over", old.url, "--to", broker.address]
            self.rounds(line, [None, broker, old])
            report = self.finish(line, folder)
            self.assertEqual((report["uncertain"], report["left"]), (0, 0))
            self.assertEqual(old.counts(), NOTHING)
            found = jobs(exported("--from", broker.address))
            self.assertEqual({job["state"] for job in found}, {"ready"})
            self.assertEqual(sorted(job["body"] for job in found), self.want())

    @unittest.skipUnless(has_gearmand(), "needs gearmand")
    def test_take_over_from_gearmand(self) -> None:
        """Without a store the old server cannot be killed: it would lose what it has."""
        with Folder() as folder, Gearmand() as old, Broker(folder / "new") as broker:
            with Peer(old.address) as client:
                for number in range(JOBS):
                    kind, _ = client.ask(SUBMIT_BG, "work", f"u{number}", f"job {number}")
                    self.assertEqual(kind, CREATED)
            line = ["take-over", old.url, "--to", broker.address]
            self.rounds(line, [None, broker], old.is_alone)
            report = self.finish(line, folder)
            self.assertEqual((report["uncertain"], report["altered"], report["left"]), (0, 0, 0))
            self.assertEqual(old.waiting(), 0)
            self.assertEqual(self.bodies(broker), self.want())

    @unittest.skipUnless(has_gearmand(), "needs gearmand")
    def test_take_over_from_a_gearmand_with_a_store(self) -> None:
        with Folder() as folder, \
                Gearmand("-q", "libsqlite3", f"--libsqlite3-db={folder / 'q.db'}") as old, \
                Broker(folder / "new") as broker:
            with Peer(old.address) as client:
                for number in range(300):
                    client.ask(SUBMIT_BG, "work", f"u{number}", f"job {number}")
            line = ["take-over", old.url, "--to", broker.address]
            self.rounds(line, [None, broker, old], old.is_alone)
            report = self.finish(line, folder)
            found = jobs(exported("--from", broker.address))
            bodies = [job["body"] for job in found]
            self.assertEqual(set(bodies), {f"job {number}" for number in range(300)})
            uncertain = {job["job"] for job in report["jobs"] if job["outcome"] == "uncertain"}
            doubtful = {job["body"] for job in found if job["job"] in uncertain}
            self.assertLessEqual({body for body in bodies if bodies.count(body) > 1}, doubtful)

    @unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
    def test_hand_back(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker(folder / "new") as broker:
            self.fill(old)
            ctl("take-over", old.url, "--to", broker.address)
            body = {job["job"]: job["body"] for job in jobs(exported("--from", broker.address))}
            line = ["hand-back", old.url, "--from", broker.address]
            self.rounds(line, [None, broker, old])
            report = self.finish(line, folder)
            self.assertEqual(self.bodies(broker), [])
            bodies = Counter(old.take_all("work"))
            self.assertEqual(sorted(bodies), self.want())
            # A job that was under way at two kills may be there three times.
            uncertain = {body[job["job"]] for job in report["jobs"] if job["outcome"] == "uncertain"}
            self.assertLessEqual({each for each, count in bodies.items() if count > 1}, uncertain)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
