#!/usr/bin/env python3
"""Drives each mode of the load tool briefly and compares its count of jobs with the server's."""

import json
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

from harness.load import Load, LoadError, Stepper
from harness.servers import Kind, Server, floor_kind, our_kinds
from launched import PATIENCE, eventually

LOAD: Load
SERVER: Path
SOCKET_FLOOR: Path
DISK_FLOOR: Path


def answered(report: dict) -> bool:
    """Whether each question was, and a burst."""
    return all(each["count"] > 0 for each in report["answers_us"].values()) and report["bursts"] > 0


class LoadTest(unittest.TestCase):
    def kind(self) -> Kind:
        return our_kinds(SERVER)[0]

    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.server = Server(self.kind(), Path(self.scratch.name))
        self.server.__enter__()
        self.addCleanup(self.server.stop)

    def run_load(self, arguments: str, jobs: int, questions: tuple[str, ...] = ()) -> dict:
        report = LOAD.measure(self.server, f"{arguments} --ops {jobs}", questions)
        self.assertEqual(report["ops"], jobs)
        self.assertGreater(report["rss_after"], 0)
        return report

    def measured(self, load: str, holds: Callable[[dict], bool],
                 questions: tuple[str, ...] = ()) -> dict:
        """The report of a measurement for which this holds: on a busy machine it takes longer."""
        seconds = 0.3
        while not holds(report := LOAD.measure(self.server, f"{load} --seconds {seconds}", questions)):
            self.assertLess(seconds, 30, report)
            seconds *= 3
        return report

    def ask(self, question: bytes, end: bytes) -> str:
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE) as asker:
            asker.sendall(question)
            answer = b""
            while not answer.endswith(end):
                received = asker.recv(65536)
                self.assertTrue(received, "the server closed the connection")
                answer += received
        return answer.decode(errors="replace")


class BeanstalkLoadTest(LoadTest):
    def stats(self) -> dict[str, int]:
        lines = self.ask(b"stats\r\n", b"\n\r\n").splitlines()
        pairs = [line.split(": ") for line in lines if ": " in line]
        return {name: int(value) for name, value in pairs if value.isdigit()}

    def assert_jobs(self, total: int, ready: int = 0, delayed: int = 0) -> None:
        stats = self.stats()
        self.assertEqual(stats["total-jobs"], total)
        self.assertEqual(stats["current-jobs-ready"], ready)
        self.assertEqual(stats["current-jobs-delayed"], delayed)
        self.assertEqual(stats["current-jobs-reserved"], 0)

    def test_cycle_one_command_at_a_time(self) -> None:
        report = self.run_load("beanstalk cycle --random-priorities", 500)
        self.assertEqual(report["cycle_us"]["count"], 500)
        self.assert_jobs(500)

    def test_cycle_pipelined(self) -> None:
        self.run_load("beanstalk cycle --producers 2 --consumers 3 --depth 16", 500)
        self.assert_jobs(500)

    def test_cycle_over_tubes_with_large_bodies(self) -> None:
        self.run_load("beanstalk cycle --tubes 5 --body 60000", 100)
        self.assert_jobs(100)

    def test_cycle_with_bodies_too_short_for_a_stamp(self) -> None:
        report = self.run_load("beanstalk cycle --body 3", 100)
        self.assertEqual(report["cycle_us"]["count"], 0)
        self.assert_jobs(100)

    def test_held_jobs_return_when_the_consumer_leaves(self) -> None:
        LOAD.measure(self.server, "beanstalk cycle --consumers 1 --held 50 --seconds 0.1")
        # The end of a connection may be noticed after what a newer one asked.
        ready = eventually("ready jobs", lambda: self.stats()["current-jobs-ready"])
        self.assertEqual(ready, 50)

    def test_cycle_at_a_pace(self) -> None:
        self.run_load("beanstalk cycle --rate 2000", 200)
        self.assert_jobs(200)

    def test_store_and_drain_in_two_runs(self) -> None:
        self.run_load("beanstalk store --depth 8 --tubes 3", 300)
        self.assert_jobs(300, ready=300)
        self.run_load("beanstalk drain --depth 8 --tubes 3 --filled", 300)
        self.assert_jobs(300)

    def test_drain_stores_first(self) -> None:
        report = self.run_load("beanstalk drain", 300)
        self.assertEqual(report["stored"], 300)
        self.assert_jobs(300)

    def test_churn(self) -> None:
        self.run_load("beanstalk churn", 50)
        self.assert_jobs(50, ready=50)
        self.assertGreater(self.stats()["total-connections"], 50)

    def test_idle_connections(self) -> None:
        report = LOAD.measure(self.server, "beanstalk idle --idle 20 --seconds 0.1")
        self.assertEqual(report["ops"], 0)
        self.assertGreaterEqual(self.stats()["total-connections"], 20)

    def test_backlog_and_delayed_jobs(self) -> None:
        beside = "--backlog 100 --backlog-tubes 10 --delayed 60 --delayed-tubes 6"
        report = self.run_load(f"beanstalk cycle {beside}", 100)
        self.assertEqual(report["stored"], 160)
        self.assert_jobs(260, ready=100, delayed=60)

    def test_backlog_in_the_same_tube(self) -> None:
        self.run_load("beanstalk cycle --depth 4 --backlog 100", 300)
        self.assert_jobs(400, ready=100)

    def test_due_jobs_become_ready(self) -> None:
        # They have 8 s to be stored, and are due so much later as the server was busy meanwhile.
        LOAD.measure(self.server, "beanstalk cycle --due 100 --due-in 10 --seconds 2")
        eventually("all are ready", lambda: self.stats()["current-jobs-ready"] == 100)

    def test_questions_and_burst(self) -> None:
        questions = ("stats", "list-tubes")
        load = "beanstalk cycle --burst 1000 --ask-every 1"
        report = self.measured(load, answered, questions)
        self.assertEqual(set(report["answers_us"]), set(questions))

    def test_steps(self) -> None:
        with Stepper(LOAD, self.server, "beanstalk cycle --seconds 0.1") as stepper:
            for step in ("first", "second"):
                eventually(f"jobs of the {step} step", lambda: stepper.measure()["ops"] > 0)
            self.assertEqual(self.stats()["current-jobs-ready"], 0)


class VerifyTest(LoadTest):
    """Jobs of which each byte is known, by clients of both protocols."""

    LOAD = "--verify --body 1000"
    JOBS = 300

    def store(self) -> None:
        self.run_load(f"beanstalk store --mixed {self.LOAD} --depth 8", self.JOBS)

    def verified(self, load: str, jobs: int) -> dict[str, int]:
        """The counts, which are those of the message, too, when something is wrong."""
        try:
            return LOAD.measure(self.server, f"{load} {self.LOAD} --ops {jobs}")["verified"]
        except LoadError as error:
            found = re.search(r"of (\d+) jobs (\d+) are wrong, (\d+) came twice, (\d+) out of order, "
                              r"and (\d+) are missing", str(error))  # fmt: skip
            self.assertTrue(found, error)
            names = ("jobs", "wrong", "doubled", "out_of_order", "missing")
            return dict(zip(names, map(int, found.groups())))

    def assert_verified(self, counts: dict[str, int], **wrong: int) -> None:
        """Nothing but this is wrong."""
        self.assertEqual({name: count for name, count in counts.items() if count and name != "jobs"}, wrong)

    def test_jobs_that_come_as_they_were_stored(self) -> None:
        for load in ("beanstalk cycle --mixed", "beanstalk cycle --mixed --depth 8", "gearman foreground",
                     "gearman drain"):  # fmt: skip
            with self.subTest(load=load):
                counts = self.verified(load, self.JOBS)
                self.assertGreaterEqual(counts["jobs"], self.JOBS)
                self.assert_verified(counts)

    def test_jobs_of_an_earlier_run(self) -> None:
        self.store()
        self.assert_verified(self.verified("beanstalk drain --filled --mixed --depth 8", self.JOBS))

    def test_a_job_that_nobody_stored_and_one_that_is_gone(self) -> None:
        self.store()
        self.ask(b"use bench\r\nput 0 0 60 1000\r\n" + b"x" * 1000 + b"\r\ndelete 7\r\n", b"DELETED\r\n")
        self.assert_verified(self.verified("beanstalk drain --filled", self.JOBS), wrong=1, missing=1)

    def test_jobs_that_come_twice(self) -> None:
        self.store()
        self.store()
        counts = self.verified("beanstalk drain --filled", 2 * self.JOBS)
        # The second of each is out of order for whoever gets it, but not looked at any more.
        self.assert_verified(counts, doubled=self.JOBS, missing=self.JOBS)

    def test_a_job_that_comes_too_late(self) -> None:
        self.store()
        self.ask(b"watch bench\r\nreserve-job 1\r\nrelease 1 4000000000 0\r\n", b"RELEASED\r\n")
        self.assert_verified(self.verified("beanstalk drain --filled --consumers 1", self.JOBS), out_of_order=1)

    def test_says_what_it_cannot_verify(self) -> None:
        with self.assertRaisesRegex(LoadError, "--held"):
            LOAD.measure(self.server, "beanstalk cycle --verify --held 1")
        with self.assertRaisesRegex(LoadError, "of Gearman"):
            LOAD.measure(self.server, "gearman foreground --mixed")
        with self.assertRaisesRegex(LoadError, "longer --body"):
            LOAD.measure(self.server, "beanstalk cycle --verify --body 47")


class GearmanLoadTest(LoadTest):
    def assert_queued(self, total: int) -> None:
        lines = self.ask(b"status\n", b".\n").splitlines()
        totals = [line.split("\t")[1:3] for line in lines if "\t" in line]
        self.assertEqual(sum(int(queued) for queued, _ in totals), total)
        self.assertEqual(sum(int(running) for _, running in totals), 0)

    def test_cycle_one_command_at_a_time(self) -> None:
        report = self.run_load("gearman cycle --random-priorities", 500)
        self.assertEqual(report["cycle_us"]["count"], 500)
        self.assert_queued(0)

    def test_cycle_pipelined_with_keys(self) -> None:
        self.run_load("gearman cycle --producers 2 --consumers 3 --depth 16 --unique-keys", 500)
        self.assert_queued(0)

    def test_cycle_over_functions(self) -> None:
        self.run_load("gearman cycle --tubes 5", 100)
        self.assert_queued(0)

    def test_sleeping_workers(self) -> None:
        self.run_load("gearman cycle --sleep --producers 2 --consumers 20", 300)
        self.assert_queued(0)

    def test_foreground(self) -> None:
        report = self.run_load("gearman foreground", 300)
        self.assertEqual(report["cycle_us"]["count"], 300)
        self.assert_queued(0)

    def test_foreground_pipelined(self) -> None:
        self.run_load("gearman foreground --producers 2 --consumers 2 --depth 16", 300)
        self.assert_queued(0)

    def test_store_and_drain_in_two_runs(self) -> None:
        self.run_load("gearman store --depth 8 --tubes 3 --unique-keys", 300)
        self.assert_queued(300)
        self.run_load("gearman drain --depth 8 --tubes 3 --filled", 300)
        self.assert_queued(0)

    def test_churn(self) -> None:
        self.run_load("gearman churn", 50)
        self.assert_queued(50)

    def test_idle_connections(self) -> None:
        idle = "gearman idle --idle 20 --idle-protocol gearman --seconds 0.1"
        self.assertEqual(LOAD.measure(self.server, idle)["ops"], 0)

    def test_backlog_and_future_jobs(self) -> None:
        beside = "--backlog 100 --backlog-tubes 10 --delayed 60"
        report = self.run_load(f"gearman cycle {beside}", 100)
        self.assertEqual(report["stored"], 160)
        self.assert_queued(160)

    def test_questions_and_burst(self) -> None:
        questions = ("status", "show jobs", "workers", "prioritystatus")
        load = "gearman cycle --sleep --burst 1000 --ask-every 1"
        report = self.measured(load, answered, questions)
        self.assertEqual(set(report["answers_us"]), set(questions))


class SocketFloorTest(LoadTest):
    def kind(self) -> Kind:
        return floor_kind(SOCKET_FLOOR)

    def test_answers_what_it_is_measured_with(self) -> None:
        for protocol in ("beanstalk", "gearman"):
            for load in ("cycle", "cycle --depth 16 --body 8192", "store --depth 8", "churn"):
                with self.subTest(protocol=protocol, load=load):
                    self.run_load(f"{protocol} {load}", 200)


class DiskFloorTest(unittest.TestCase):
    def test_appends_and_counts(self) -> None:
        for flags in ((), ("--written",)):
            with self.subTest(flags=flags), tempfile.TemporaryDirectory() as scratch:
                file = Path(scratch) / "floor"
                done = subprocess.run(
                    [DISK_FLOOR, file, "--connections", "3", "--seconds", "0.1", *flags],
                    capture_output=True, text=True, timeout=PATIENCE, check=True,
                )  # fmt: skip
                report = json.loads(done.stdout)
                self.assertGreater(report["ops"], 0)
                self.assertGreater(report["ops_per_second"], 0)
                self.assertFalse(file.exists())

    def test_says_what_it_cannot_write_to(self) -> None:
        done = subprocess.run([DISK_FLOOR, "/nowhere/floor"], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/floor", done.stderr)


if __name__ == "__main__":
    LOAD = Load(Path(sys.argv.pop(1)).resolve(), ())
    SERVER = Path(sys.argv.pop(1)).resolve()
    SOCKET_FLOOR = Path(sys.argv.pop(1)).resolve()
    DISK_FLOOR = Path(sys.argv.pop(1)).resolve()
    del LoadTest
    unittest.main()
