#!/usr/bin/env python3
"""hand-back to a server that does not take everything: hand_back_test.py BROKER CTL."""

import json
import shutil
import signal
import socket
import sys
import time
import unittest
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from fake_beanstalkd import FakeBeanstalkd, Session
from gearman import SUBMIT_BG, Gearmand, Peer, has_gearmand
from tools import PATIENCE, Broker, Folder, ctl, eventually, exported, jobs

FAR = 1 << 33  # a Unix time that is further off than a delay of beanstalkd


def fill(broker: Broker, *functions: str) -> None:
    with Peer(broker.address) as client:
        for function in functions:
            client.ask(SUBMIT_BG, function, "", f"for {function}")


def left(broker: Broker) -> list[str]:
    return sorted(job["tube"] for job in jobs(exported("--from", broker.address)))


def bring(folder: Path, broker: Broker, *lines: dict) -> None:
    """Imports jobs and tubes, given as lines of an export; a job's id is the number of its line."""
    with_ids = [{"job": number, **line} if "state" in line else line
                for number, line in enumerate(lines, 1)]
    count = sum("state" in line for line in lines)
    whole = [{"gearstalk_jobs": 1}, *with_ids, {"end": {"jobs": count, "next_id": len(lines) + 1}}]
    (folder / "jobs").write_text("".join(json.dumps(line) + "\n" for line in whole))
    ctl("import", f"jobs:{folder / 'jobs'}", "--to", broker.address)


class NoBury(FakeBeanstalkd):
    """It takes jobs, and buries none. A job "taken" is with a worker before it can be buried."""

    def session(self, connection: socket.socket) -> "NoBurySession":
        return NoBurySession(self, connection)


class NoBurySession(Session):
    def put(self, *_: str) -> bytes:
        body, self.bytes = self.bytes.split(b"\r\n", 1)
        self.server.add(self.used, body.decode(), "delayed")
        return b"INSERTED %d\r\n" % max(self.server.jobs)

    def reserve_job(self, number: str) -> bytes:
        job = self.server.jobs.get(int(number))
        if job is not None and job.body == b"taken":
            job.state, job.holder = "reserved", self.server
            return b"NOT_FOUND\r\n"
        return self.found(b"RESERVED", job)

    def bury(self, _number: str, _priority: str) -> bytes:
        return b"INTERNAL_ERROR\r\n"


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
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, {"tube": "late", "state": "delayed", "due_ns": FAR * 10**9},
                  {"tube": "soon", "state": "ready"})
            self.hand_back(folder, broker, old.url, 3)
            self.assertEqual(left(broker), ["late"])
            self.assertEqual(old.counts(), {**NOTHING, "ready": 1})

    def test_a_consumer_there_gets_no_buried_job(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, {"tube": "t", "state": "buried", "body": "poison"})
            with socket.create_connection(("127.0.0.1", old.port), PATIENCE) as consumer:
                consumer.sendall(b"watch t\r\nreserve\r\n")
                with consumer.makefile("rb") as answers:
                    self.assertEqual(answers.readline(), b"WATCHING 2\r\n")
                    self.hand_back(folder, broker, old.url, 0)
                    old.put("t", "good")
                    self.assertRegex(answers.readline(), b"^RESERVED ")
                    self.assertEqual(answers.readline(), b"good\r\n")
            self.assertEqual(old.counts()["buried"], 1)

    def test_a_pause_goes_along(self) -> None:
        pause = {"pause_until_ns": time.time_ns() + 10**12, "pause_s": 2000}
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, {"tube": "paused", "settings": pause},
                  {"tube": "paused", "state": "ready", "body": "waits"},
                  {"tube": "open", "state": "ready", "body": "runs"})
            with socket.create_connection(("127.0.0.1", old.port), PATIENCE) as consumer:
                consumer.sendall(b"watch paused\r\nwatch open\r\nreserve\r\n")
                with consumer.makefile("rb") as answers:
                    answers.readline()
                    answers.readline()
                    self.hand_back(folder, broker, old.url, 0)
                    self.assertRegex(answers.readline(), b"^RESERVED ")
                    self.assertEqual(answers.readline(), b"runs\r\n")
            seconds = int(old.stats("stats-tube paused")["pause-time-left"])
            self.assertGreater(seconds, 0)
            self.assertLessEqual(seconds, 1001)

    def test_buried_jobs_keep_their_order(self) -> None:
        many = 600  # more than go at a time
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, *[{"tube": f"t{number % 2}", "state": "buried", "body": str(number),
                                     "burial": many - number} for number in range(many)],
                  {"tube": "t0", "state": "ready", "body": "ready"})
            report = self.hand_back(folder, broker, old.url, 0)
            self.assertEqual(report["moved"], many + 1)
            for tube in (0, 1):
                self.assertEqual(old.take_buried(f"t{tube}"),
                                 [str(number) for number in reversed(range(tube, many, 2))])

    def test_buried_jobs_that_stay_keep_their_order(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            large = "x" * 70_000  # beanstalkd takes 65535
            bring(folder, broker, {"tube": "t", "state": "buried", "body": "second", "burial": 2},
                  {"tube": "t", "state": "buried", "body": large, "burial": 1},
                  {"tube": "t", "state": "buried", "body": "third", "burial": 3})
            self.hand_back(folder, broker, old.url, 3)
            self.assertEqual([job["body"] for job in jobs(exported("--from", broker.address))], [large])
            self.assertEqual(old.take_buried("t"), ["second", "third"])

    def test_a_server_that_does_not_bury(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, {"tube": "t", "state": "buried", "body": "mine"},
                  {"tube": "t", "state": "buried", "body": "taken"})
            old = NoBury()
            report = self.hand_back(folder, broker, old.url, 3)
            self.assertEqual((report["moved"], report["left"], report["altered"]), (1, 1, 1))
            self.assertEqual({job["outcome"]: job["text"] for job in report["jobs"]},
                             {"left": "the old server answers bury with INTERNAL_ERROR",
                              "altered": "the old server answers bury with INTERNAL_ERROR"})
            self.assertEqual([job["body"] for job in jobs(exported("--from", broker.address))], ["mine"])
            self.assertEqual([job.body for job in old.jobs.values()], [b"taken"])
            old.close()

    def test_except(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, *[{"tube": tube, "state": state, "body": "b"}
                                    for tube in ("go", "stay") for state in ("ready", "buried")])
            self.assertIn("2 moved", ctl("hand-back", old.url, "--from", broker.address,
                                         "--except", "stay"))
            self.assertEqual(left(broker), ["stay", "stay"])
            self.assertIn("hand-back, finished, new ids, 2 settled",
                          ctl("transfers", "--to", broker.address))

    def test_jobs_of_the_other_protocol_are_named(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, {"tube": "mail", "state": "ready", "keep_on_failure": True})
            fill(broker, "resize", "scale")
            line = ("hand-back", old.url, "--from", broker.address)
            self.assertNotIn("Gearman", ctl(*line, "--tube", "scale"))
            said = ctl(*line)
            self.assertIn("hint at resize: jobs of Gearman clients go to beanstalkd", said)
            self.assertIn("1 notes", said)

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

    def test_no_gearmand(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            fill(broker, "a")
            self.hand_back(folder, broker, f"gearman://127.0.0.1:{old.port}", 2)
            self.assertEqual(left(broker), ["a"])

    @unittest.skipUnless(has_gearmand(), "needs gearmand")
    def test_no_beanstalkd(self) -> None:
        with Folder() as folder, Gearmand() as other, \
                Broker("--data-dir", folder / "new") as broker:
            fill(broker, "a", "b")
            url = f"beanstalk://{other.address}"
            self.hand_back(folder, broker, url, 2)
            self.assertEqual(left(broker), ["a", "b"])
            ctl("take-over", url, "--to", broker.address, code=2)

    @unittest.skipUnless(has_gearmand(), "needs gearmand")
    def test_what_gearmand_has_no_word_for(self) -> None:
        pause = {"pause_until_ns": time.time_ns() + 10**12, "pause_s": 2000}
        with Folder() as folder, Gearmand() as other, \
                Broker("--data-dir", folder / "new") as broker:
            bring(folder, broker, {"tube": "paused", "settings": pause},
                  {"tube": "paused", "state": "ready"}, {"tube": "buried", "state": "buried"},
                  {"tube": "mail", "state": "ready", "keep_on_failure": True})
            report = self.hand_back(folder, broker, other.url, 3)
            self.assertEqual(sorted(job["text"] for job in report["jobs"]),
                             ["gearmand has no buried jobs",
                              "its tube is paused, and gearmand has no pause"])
            self.assertEqual([note["where"] for note in report["notes"]], ["mail"])
            self.assertEqual(left(broker), ["buried", "paused"])
            self.assertEqual(other.functions(), {"mail": (1, 0)})

    def test_the_broker_itself(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            fill(broker, "a")
            for scheme in ("beanstalk", "gearman"):
                for host in ("127.0.0.1", "localhost"):
                    ctl("hand-back", f"{scheme}://{host}:{broker.ports[0]}", "--from", broker.address,
                        code=2)
            ctl("take-over", f"gearman://{broker.address}", "--to", broker.address, code=2)
            ctl("bridge", "--from", f"gearman://{broker.address}", "--to",
                f"gearman://{broker.address}", "--function", "a", code=2)
            self.assertEqual(left(broker), ["a"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
