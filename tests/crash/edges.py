#!/usr/bin/env python3
"""Restarts on files that a crash or a disk has changed, and restarts at the edges."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import wire
from broker import MAX_JOB_SIZE, Broker
from wire import Beanstalk, Gearman, fields, id_of

BINARY = str(Path(__file__).parents[2] / "build/gearstalkd")
CUTS = 24
FLIPS = 16


class Edges(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="gearstalk-edges-"))
        self.data = self.directory / "data"
        self.addCleanup(shutil.rmtree, self.directory)

    def start(self, data: Path | None = None) -> Broker:
        broker = Broker(BINARY, data or self.data, self.directory / "log")
        self.addCleanup(broker.kill)
        return broker

    def ready(self, data: Path | None = None) -> tuple[Broker, Beanstalk]:
        broker = self.start(data).wait_ready()
        return broker, self.connect(broker)

    def connect(self, broker: Broker) -> Beanstalk:
        connection = Beanstalk(broker.port)
        self.addCleanup(connection.close)
        return connection

    def put(self, connection: Beanstalk, body: bytes) -> int:
        connection.send(Beanstalk.put(9, 0, 60, body))
        word, arguments, _ = connection.reply()
        self.assertEqual(word, "INSERTED")
        return int(arguments[0])

    def log_of_puts(self, count: int) -> tuple[Path, int]:
        """Segment file with a batch for each put, and how many bytes of it are used."""
        broker, connection = self.ready()
        for number in range(1, count + 1):
            self.assertEqual(self.put(connection, body_of(number)), number)
        broker.kill()
        segments = [path for path in sorted(self.data.glob("*.wal"))
                    if body_of(1) in path.read_bytes()]
        self.assertEqual(len(segments), 1)
        used = segments[0].read_bytes().rfind(body_of(count)) + len(body_of(count))
        return segments[0], used

    def copy(self) -> Path:
        copy = self.directory / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.data, copy)
        return copy

    def test_torn_tail_is_cut_off_and_reported(self) -> None:
        count = 60
        segment, used = self.log_of_puts(count)
        content = segment.read_bytes()
        first = content.find(body_of(1))
        for cut in range(first, used, (used - first) // CUTS):
            data = self.copy()
            (data / segment.name).write_bytes(content[:cut])
            whole = sum(content.find(body_of(number)) + len(body_of(number)) <= cut
                        for number in range(1, count + 1))
            broker, connection = self.ready(data)
            there = [number for number in range(1, count + 1)
                     if connection.ask(f"peek {number}") == ("FOUND", [str(number)],
                                                             body_of(number))]
            self.assertEqual(there, list(range(1, whole + 1)), f"cut at {cut}")
            report = re.search(r"(\S+): cut off at offset (\d+)", broker.said)
            if report:
                self.assertEqual(Path(report[1]).name, segment.name)
                self.assertLessEqual(int(report[2]), cut)
            else:
                self.assertTrue(looks_like_an_end(content, cut, count), f"cut at {cut}")
            broker.kill()

    def test_damage_in_the_middle_refuses_to_start(self) -> None:
        segment, used = self.log_of_puts(60)
        content = segment.read_bytes()
        for at in range(64, used // 2, used // 2 // FLIPS):
            data = self.copy()
            damaged = bytearray(content)
            damaged[at] ^= 0x10
            (data / segment.name).write_bytes(damaged)
            broker = self.start(data)
            self.assertEqual(broker.wait(), 1, f"byte {at}")
            self.assertRegex(broker.said, re.escape(segment.name) + r".* offset \d+")
            self.assertEqual((data / segment.name).read_bytes(), damaged, "it was changed")

    def test_salvage_of_a_damaged_journal(self) -> None:
        count, victim = 60, 30
        segment, _ = self.log_of_puts(count)
        damaged = bytearray(segment.read_bytes())
        damaged[damaged.find(body_of(victim))] ^= 1
        segment.write_bytes(damaged)
        self.assertEqual(self.tool("--journal-check")[0], 1)
        code, report = self.tool("--journal-salvage")
        self.assertEqual(code, 0)
        self.assertRegex(report, re.escape(segment.name) + r".* offset \d+")
        self.assertEqual(self.tool("--journal-check")[0], 0)
        _, connection = self.ready()
        there = [number for number in range(1, count + 1)
                 if connection.ask(f"peek {number}")[2] == body_of(number)]
        self.assertEqual(there, [n for n in range(1, count + 1) if n != victim])
        self.assertGreater(self.put(connection, b"new"), count)

    def tool(self, option: str) -> tuple[int, str]:
        done = subprocess.run([BINARY, option, str(self.data)], capture_output=True, text=True,
                              timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_two_brokers_cannot_open_one_directory(self) -> None:
        _, connection = self.ready()
        second = self.start()
        self.assertEqual(second.wait(), 1)
        self.assertIn("in use", second.said)
        self.put(connection, b"the first goes on")

    def test_an_id_is_never_given_again(self) -> None:
        last = 0
        for end in ("kill", "stop", "kill", "kill", "stop"):
            broker, connection = self.ready()
            first = self.put(connection, b"x")
            self.assertGreater(first, last)
            self.assertEqual(connection.ask(f"delete {first}")[0], "DELETED")
            waiting = Gearman(broker.port)
            self.addCleanup(waiting.close)
            handle = waiting.ask(wire.SUBMIT_JOB, b"f", b"", b"foreground")[1][0]
            last = id_of(handle)
            self.assertGreater(last, first)
            getattr(broker, end)()
            empty, connection = self.ready()
            self.assertEqual(fields(connection.ask("stats")[2])["current-jobs-ready"], "0")
            getattr(empty, end)()

    def test_bodies_of_the_size_limit(self) -> None:
        full = bytes(range(256)) * (MAX_JOB_SIZE // 256 + 1)
        broker, connection = self.ready()
        number = self.put(connection, full[:MAX_JOB_SIZE])
        connection.send(Beanstalk.put(9, 0, 60, full[:MAX_JOB_SIZE + 1]))
        self.assertEqual(connection.reply()[0], "JOB_TOO_BIG")
        gearman = Gearman(broker.port)
        self.addCleanup(gearman.close)
        submitted = gearman.ask(wire.SUBMIT_JOB_BG, b"f", b"", full[1:MAX_JOB_SIZE + 1])
        empty = self.put(connection, b"")
        broker.kill()
        _, connection = self.ready()
        self.assertEqual(connection.ask(f"peek {number}")[2], full[:MAX_JOB_SIZE])
        self.assertEqual(connection.ask(f"peek {id_of(submitted[1][0])}")[2],
                         full[1:MAX_JOB_SIZE + 1])
        self.assertEqual(connection.ask(f"peek {empty}"), ("FOUND", [str(empty)], b""))

    def test_settings_of_tubes(self) -> None:
        broker, connection = self.ready()
        text = self.connect(broker)
        for line in ("create function made", "create function bounded", "maxqueue bounded 1"):
            self.assertEqual(text.ask(line)[0], "OK")
        connection.ask("use paused")
        self.put(connection, b"waits")
        self.assertEqual(connection.ask("pause-tube paused 5000")[0], "PAUSED")
        for _ in range(2):
            broker.kill()
            broker, connection = self.ready()
        stats = fields(connection.ask("stats-tube paused")[2])
        self.assertEqual(stats["pause"], "5000")
        self.assertGreater(int(stats["pause-time-left"]), 4000)
        self.assertEqual(connection.ask("stats-tube made")[0], "OK")
        gearman = Gearman(broker.port)
        self.addCleanup(gearman.close)
        kinds = [gearman.ask(wire.SUBMIT_JOB_BG, b"bounded", b"", b"")[0] for _ in range(2)]
        self.assertEqual(kinds, [wire.JOB_CREATED, wire.ERROR])

    def test_many_jobs(self) -> None:
        count, piece = 200_000, 2_000
        broker, connection = self.ready()
        for start in range(1, count, piece):
            numbers = range(start, start + piece)
            connection.send(b"".join(Beanstalk.put(number % 5, 0, 60, body_of(number))
                                     for number in numbers))
            got = [connection.reply() for _ in numbers]
            self.assertEqual(got, [("INSERTED", [str(number)], b"") for number in numbers])
        broker.kill()
        _, connection = self.ready()
        self.assertEqual(fields(connection.ask("stats")[2])["current-jobs-ready"], str(count))
        for number in range(1, count + 1, 997):
            self.assertEqual(connection.ask(f"peek {number}")[2], body_of(number))
        order = [int(connection.ask("reserve")[1][0]) for _ in range(1000)]
        self.assertEqual(order, list(range(5, 5001, 5)))


def body_of(number: int) -> bytes:
    return b"<body %06d\r\n\0>" % number + b"." * (number % 90) + b"#"


def looks_like_an_end(content: bytes, cut: int, count: int) -> bool:
    """Right behind a record, or behind the mark of 32 bytes that follows it, and before as many
    bytes as an end has."""
    ends = [content.find(body_of(number)) + len(body_of(number)) for number in range(count + 1)]
    return any(end <= cut < end + 16 or end + 32 <= cut < end + 48 for end in ends)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=BINARY)
    options, rest = parser.parse_known_args()
    BINARY = options.broker
    unittest.main(argv=[sys.argv[0], *rest])
