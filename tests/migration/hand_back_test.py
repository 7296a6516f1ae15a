#!/usr/bin/env python3
"""hand-back to a server that does not take everything: hand_back_test.py BROKER CTL."""

import json
import shutil
import signal
import socket
import sys
import unittest
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from gearman import SUBMIT_BG, Gearmand, Peer, has_gearmand
from tools import PATIENCE, Broker, Folder, ctl, eventually, exported, jobs

FAR = 1 << 33  # a Unix time that is further off than a delay of beanstalkd


def fill(broker: Broker, *functions: str) -> None:
    with Peer(broker.address) as client:
        for function in functions:
            client.ask(SUBMIT_BG, function, "", f"for {function}")


def left(broker: Broker) -> list[str]:
    return sorted(job["tube"] for job in jobs(exported("--from", broker.address)))


@unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
class HandBack(unittest.TestCase):
    def hand_back(self, folder: Path, broker: Broker, url: str, code: int) -> dict:
        report = folder / "report.json"
        ctl("hand-back", url, "--from", broker.address, "--report", report, code=code)
        self.assertIn(" 0 held", ctl("transfers", "--to", broker.address))
        return json.loads(report.read_text())

    def test_what_beanstalkd_cannot_say_stays_here(self) -> None:
        names = ["-dash", "n" * 201, "two words"]
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(broker, "first", *names, "last")
            report = self.hand_back(folder, broker, old.url, 3)
            self.assertEqual((report["moved"], report["left"]), (2, 3))
            self.assertEqual(sorted(job["tube"] for job in report["jobs"]), names)
            self.assertEqual(left(broker), names)
            for tube in ("first", "last"):
                self.assertEqual(old.ask(f"use {tube}", "kick 1"), [f"USING {tube}", "KICKED 0"])
                old.client.sendall(b"peek-ready\r\n")
                size = int(old.file.readline().split()[2])
                self.assertEqual(old.file.read(size + 2), f"for {tube}\r\n".encode())

    def test_a_delay_that_beanstalkd_does_not_know(self) -> None:
        lines = [{"gearstalk_jobs": 1},
                 {"job": 1, "tube": "late", "state": "delayed", "due_ns": FAR * 10**9},
                 {"job": 2, "tube": "soon", "state": "ready"},
                 {"end": {"jobs": 2, "next_id": 3}}]
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            (folder / "jobs").write_text("".join(json.dumps(line) + "\n" for line in lines))
            ctl("import", f"jobs:{folder / 'jobs'}", "--to", broker.address)
            self.hand_back(folder, broker, old.url, 3)
            self.assertEqual(left(broker), ["late"])
            self.assertEqual(old.counts(), {**NOTHING, "ready": 1})

    def test_a_consumer_there_gets_no_buried_job(self) -> None:
        lines = [{"gearstalk_jobs": 1},
                 {"job": 1, "tube": "t", "state": "buried", "body": "poison"},
                 {"end": {"jobs": 1, "next_id": 2}}]
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            (folder / "jobs").write_text("".join(json.dumps(line) + "\n" for line in lines))
            ctl("import", f"jobs:{folder / 'jobs'}", "--to", broker.address)
            with socket.create_connection(("127.0.0.1", old.port), PATIENCE) as consumer:
                consumer.sendall(b"watch t\r\nreserve\r\n")
                with consumer.makefile("rb") as answers:
                    self.assertEqual(answers.readline(), b"WATCHING 2\r\n")
                    self.hand_back(folder, broker, old.url, 0)
                    old.put("t", "good")
                    self.assertRegex(answers.readline(), b"^RESERVED ")
                    self.assertEqual(answers.readline(), b"good\r\n")
            self.assertEqual(old.counts()["buried"], 1)

    def test_a_server_that_takes_none(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(broker, "a", "b")
            old.process.send_signal(signal.SIGUSR1)
            eventually("it drains", lambda: self.drains(old))
            self.hand_back(folder, broker, old.url, 1)
            self.assertEqual(left(broker), ["a", "b"])

    def drains(self, old: Beanstalkd) -> bool:
        old.client.sendall(b"put 0 0 1 0\r\n\r\n")
        return old.file.readline() == b"DRAINING\r\n"

    @unittest.skipUnless(has_gearmand(), "needs gearmand")
    def test_no_beanstalkd(self) -> None:
        with Folder() as folder, Gearmand() as other, \
                Broker("--data-dir", folder / "new") as broker:
            fill(broker, "a", "b")
            url = f"beanstalk://{other.address}"
            self.hand_back(folder, broker, url, 1)
            self.assertEqual(left(broker), ["a", "b"])
            ctl("take-over", url, "--to", broker.address, code=1)

    def test_the_broker_itself(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            fill(broker, "a")
            ctl("hand-back", f"beanstalk://{broker.address}", "--from", broker.address, code=2)
            ctl("take-over", f"gearman://{broker.address}", "--to", broker.address, code=2)
            ctl("bridge", "--from", f"gearman://{broker.address}", "--to",
                f"gearman://{broker.address}", "--function", "a", code=2)
            self.assertEqual(left(broker), ["a"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
