#!/usr/bin/env python3
"""gearstalkctl backup and restore: backup_test.py GEARSTALKD GEARSTALKCTL."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from broker import Broker, Client

BROKER, TOOL = sys.argv[1:3]
del sys.argv[1:3]
SECONDS = 120
GOLDEN = Path(__file__).resolve().parents[1] / "journal/golden"
LARGE = 1 << 20  # a segment has room for some of them


class Backup(unittest.TestCase):
    def setUp(self) -> None:
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="backup-")))
        self.data, self.copy = self.top / "data", self.top / "copy"
        self.data.mkdir()

    def start(self, data: Path) -> Broker:
        broker = Broker(BROKER, "--data-dir", str(data), "--max-job-size", str(LARGE))
        self.addCleanup(broker.kill)
        return broker

    def tool(self, *words: str | Path, code: int = 0) -> str:
        done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def backup(self, code: int = 0) -> str:
        return self.tool("backup", self.copy, "--data-dir", self.data, code=code)

    def restore(self, to: Path, code: int = 0) -> str:
        return self.tool("restore", self.copy, "--data-dir", to, code=code)

    def bodies(self, data: Path) -> list[str]:
        broker = self.start(data)
        client = Client(broker.port)
        found = []
        while True:
            client.send(b"reserve-with-timeout 0\r\n")
            word, *rest = client.line().split()
            if word != "RESERVED":
                break
            found.append(client.body(int(rest[1]) + 2).decode().rstrip())
            client.say(f"delete {rest[0]}")
        client.close()
        broker.stop()
        return found

    def test_what_was_acknowledged_before_is_in_it_while_segments_come_and_go(self) -> None:
        broker = self.start(self.data)
        client = Client(broker.port)
        for number in range(50):
            client.put(f"kept-{number:04}")
        stop = threading.Event()

        def churn() -> None:
            busy = Client(broker.port)
            busy.say("use churn")
            while not stop.is_set():
                busy.say(f"delete {busy.put('x' * LARGE)}")
            busy.close()

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            self.assertIn("verified", self.backup())
        finally:
            stop.set()
            thread.join()
        client.close()
        broker.stop()
        restored = self.top / "restored"
        self.restore(restored)
        self.assertEqual(self.bodies(restored), [f"kept-{number:04}" for number in range(50)])

    def test_neither_overwrites(self) -> None:
        self.start(self.data).stop()
        self.backup()
        self.assertIn("exists", self.backup(code=2))
        self.assertEqual([file.name for file in self.top.glob("*.part*")], [])
        self.assertIn("has a journal", self.restore(self.data, code=2))

    def test_a_running_broker_keeps_its_directory(self) -> None:
        broker = self.start(self.data)
        self.backup()
        self.assertIn("in use", self.restore(self.data, code=5))
        broker.stop()

    def test_a_damaged_backup_is_refused(self) -> None:
        broker = self.start(self.data)
        client = Client(broker.port)
        for _ in range(3):
            client.put("x" * 100)
        client.close()
        broker.stop()
        self.backup()
        segment = next(self.copy.glob("*.wal"))
        content = bytearray(segment.read_bytes())
        content[200] ^= 1
        segment.write_bytes(content)
        self.restore(self.top / "restored", code=4)
        self.assertFalse((self.top / "restored").exists())

    def test_what_is_no_journal_is_refused(self) -> None:
        self.assertIn("no journal", self.backup(code=2))
        self.assertFalse(self.copy.exists())

    def test_an_unknown_format_is_no_wrong_call(self) -> None:
        header = struct.pack("<8sQQ32xQ", b"GSTKWAL\n", 99, 1, 0x1d1b4c748b0a9fa3)
        self.copy.mkdir()
        for directory in (self.data, self.copy):
            (directory / "0000000001.wal").write_bytes(header)
        self.assertIn("format", self.restore(self.top / "restored", code=1))
        shutil.rmtree(self.copy)
        self.assertIn("format", self.backup(code=1))
        self.assertFalse(self.copy.exists())

    def exported(self, data: Path) -> list[str]:
        return self.tool("export", "--data-dir", data).splitlines()[1:]  # behind the time of the export

    def test_an_older_versions_directory_can_be_kept_for_the_way_back(self) -> None:
        """0.1.0 wrote version 1 of the format, which 0.2.0 reads and leaves behind."""
        self.data.rmdir()
        shutil.copytree(GOLDEN / "v1", self.data)
        self.backup()
        self.assertEqual({path.name: path.read_bytes() for path in self.copy.iterdir()},
                         {path.name: path.read_bytes() for path in (GOLDEN / "v1").iterdir()})
        shutil.copytree(GOLDEN / "v2-ended", self.top / "newer")
        jobs = self.exported(self.data)
        self.assertEqual(len(jobs), 18)
        self.assertEqual(jobs, self.exported(self.top / "newer"))
        self.start(self.data).stop()
        newest = max(self.data.glob("*.wal"))
        self.assertEqual(newest.read_bytes()[8:12], b"\x02\0\0\0")
        self.assertEqual(len(self.exported(self.data)), 18)

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_restored_files_belong_to_the_owner_of_the_directory(self) -> None:
        self.start(self.data).stop()
        self.backup()
        shutil.rmtree(self.data)
        self.data.mkdir()
        os.chown(self.data, 65534, 65534)
        self.restore(self.data)
        self.assertEqual({path.stat().st_uid for path in self.data.iterdir()}, {65534})


if __name__ == "__main__":
    unittest.main()
