#!/usr/bin/env python3
"""Damage after a clean stop, and the tools for it, as an operator meets them."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from broker import Broker
from wire import Beanstalk, fields

BINARY = str(Path(__file__).parents[2] / "build/gearstalkd")
COUNT = 3000
OF_NOBODY = 65534


class Rescue(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="gearstalk-rescue-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.whole = self.directory / "whole"
        self.data = self.directory / "data"

    def start(self, data: Path) -> Broker:
        broker = Broker(BINARY, data, self.directory / "log")
        self.addCleanup(broker.kill)
        return broker

    def put(self, broker: Broker, count: int) -> int:
        """Many with one write; the last id."""
        connection = Beanstalk(broker.port)
        self.addCleanup(connection.close)
        connection.send(b"".join(Beanstalk.put(9, 0, 60, b"%060d" % number)
                                 for number in range(count)))
        replies = [connection.reply() for _ in range(count)]
        self.assertEqual({word for word, _, _ in replies}, {"INSERTED"})
        return int(replies[-1][1][0])

    def stopped(self, starts: int = 1, count: int = COUNT) -> int:
        """A journal that was ended in order in `whole`; the last id."""
        last = 0
        for _ in range(starts):
            broker = self.start(self.whole).wait_ready()
            last = self.put(broker, count)
            self.assertEqual(broker.stop(), 0)
        return last

    def copy(self) -> Path:
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.whole, self.data)
        return self.data

    def tool(self, option: str, data: Path | None = None, **how: object) -> tuple[int, str]:
        done = subprocess.run([BINARY, option, str(data or self.data)], capture_output=True,
                              text=True, timeout=120, check=False, **how)
        return done.returncode, done.stdout + done.stderr

    def newest(self, data: Path) -> Path:
        """The segment with jobs that has the highest number."""
        return max(path for path in data.glob("*.wal") if b"%060d" % 0 in path.read_bytes())

    def expect_rescue(self, last: int, at_least: int) -> None:
        broker = self.start(self.data)
        self.assertEqual(broker.wait(), 1)
        self.assertRegex(broker.said, r"at offset \d+")
        self.assertIn(f"--journal-salvage {self.data}", broker.said)
        code, report = self.tool("--journal-check")
        self.assertEqual(code, 1)
        self.assertIn("damaged: ", report)
        code, report = self.tool("--journal-salvage")
        self.assertEqual(code, 0, report)
        self.assertRegex(report, r"(?m)^(at least )?\d+ records? (was|were) lost$")
        self.assertEqual(self.tool("--journal-check")[0], 0)
        broker = self.start(self.data).wait_ready()
        connection = Beanstalk(broker.port)
        self.addCleanup(connection.close)
        ready = int(fields(connection.ask("stats")[2])["current-jobs-ready"])
        self.assertGreaterEqual(ready, at_least)
        self.assertGreater(self.put(broker, 1), last)
        broker.kill()

    def test_the_end_is_lost_after_a_clean_stop(self) -> None:
        last = self.stopped()
        content = self.newest(self.whole).read_bytes()
        # Behind a record's body nothing tells of a cut but what is kept.
        record = content.find(b"%060d" % 99) + 60
        used = content.rfind(b"%060d" % (COUNT - 1)) + 60
        for cut, at_least in ((65536, 300), (record, 100), (64, 0), (0, 0)):
            with self.subTest(cut=cut):
                self.newest(self.copy()).write_bytes(content[:cut])
                self.expect_rescue(last, at_least)
        for name, damaged in (("zeroed", content[:used // 512 * 512] + b"\0" * 4096),
                              ("inserted", content[:record] + b"x" + content[record:]),
                              ("deleted", content[:record] + content[record + 1:])):
            with self.subTest(name):
                self.newest(self.copy()).write_bytes(damaged)
                self.expect_rescue(last, 100)

    def test_segments_are_missing_after_a_clean_stop(self) -> None:
        last = self.stopped(starts=2, count=300)
        newest = self.newest(self.whole).name
        for name, removed in (("newest", newest), ("all", "*.wal")):
            with self.subTest(name):
                for path in self.copy().glob(removed):
                    path.unlink()
                self.expect_rescue(last, 300 if name == "newest" else 0)

    def test_the_oldest_segment_has_no_readable_mark(self) -> None:
        last = self.stopped(starts=3, count=100)
        oldest = min(self.copy().glob("*.wal"))
        os.truncate(oldest, 64)
        code, report = self.tool("--journal-check")
        self.assertEqual(code, 1)
        self.assertRegex(report, re.escape(str(oldest)) + r".*first mark.*records 1 to 10\d are")
        self.expect_rescue(last, 200)

    def test_one_bit_of_a_size_is_one_record(self) -> None:
        last = self.stopped(count=2000)
        path = self.newest(self.copy())
        content = bytearray(path.read_bytes())
        body = content.find(b"%060d" % 700)
        # The size of the body, before the record.
        at = content.rfind((60).to_bytes(4, "little"), body - 80, body)
        self.assertGreater(at, 0)
        content[at] ^= 1
        path.write_bytes(content)
        code, report = self.tool("--journal-salvage")
        self.assertEqual(code, 0)
        self.assertIn("\n1 record was lost\n", report)
        self.copy()
        self.newest(self.data).write_bytes(content)
        self.expect_rescue(last, 1999)

    def test_directories_without_a_journal_are_not_touched(self) -> None:
        self.data.mkdir()
        (self.data / "hosts").write_text("127.0.0.1")
        for option in ("--journal-check", "--journal-salvage"):
            code, report = self.tool(option)
            self.assertEqual(code, 1)
            self.assertIn("no journal here", report)
            self.assertEqual([path.name for path in self.data.iterdir()], ["hosts"])

    def test_a_check_writes_nothing(self) -> None:
        self.stopped(count=10)
        (self.copy() / "lock").unlink()
        before = {path.name: path.stat().st_mtime_ns for path in self.data.iterdir()}
        directory = self.data.stat().st_mtime_ns
        how = {}
        if os.geteuid() == 0:  # as somebody who may only read
            self.directory.chmod(0o755)
            self.data.chmod(0o755)
            for path in self.data.iterdir():
                path.chmod(0o644)
            how = {"user": OF_NOBODY, "group": OF_NOBODY, "extra_groups": []}
        else:
            self.data.chmod(0o555)
        code, report = self.tool("--journal-check", **how)
        self.data.chmod(0o755)
        self.assertEqual((code, "10 live jobs" in report), (0, True), report)
        self.assertEqual({path.name: path.stat().st_mtime_ns for path in self.data.iterdir()},
                         before)
        self.assertEqual(self.data.stat().st_mtime_ns, directory)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_salvaged_files_belong_to_the_owner_of_the_directory(self) -> None:
        self.stopped(count=10)
        os.truncate(self.newest(self.copy()), 300)
        (self.data / "lock").unlink()
        for path in (self.data, *self.data.iterdir()):
            os.chown(path, OF_NOBODY, OF_NOBODY)
        self.assertEqual(self.tool("--journal-salvage")[0], 0)
        owners = {path.name: (path.stat().st_uid, path.stat().st_gid)
                  for path in self.data.iterdir()}
        self.assertEqual(set(owners.values()), {(OF_NOBODY, OF_NOBODY)}, owners)
        self.assertIn("state", owners)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=BINARY)
    options, rest = parser.parse_known_args()
    BINARY = options.broker
    unittest.main(argv=[sys.argv[0], *rest])
