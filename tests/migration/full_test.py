#!/usr/bin/env python3
"""Disks that are full or read-only, under the broker and under the tool: full_test.py BROKER CTL.

Each command says so, ends with 1, and goes on when there is room again. Exits with 77 where nothing
can be mounted."""

import json
import shutil
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "powercut"))

from beanstalkd import NOTHING, Beanstalkd  # noqa: E402
from disk import CannotMount, MemoryDisk  # noqa: E402
from tools import CTL, Broker, Folder, ctl, exported, jobs  # noqa: E402

MEGABYTES = 300
BALLAST = 150  # leaves the journal room to begin, and not for all
COUNT = 3000
BODY = "x" * 60_000
PATIENCE = 600  # seconds; the tool waits for a minute


def body(number: int) -> str:
    return f"{number}-{BODY}"


def jobs_file(path: Path) -> str:
    with path.open("w") as out:
        print('{"gearstalk_jobs":1,"made_ns":1}', file=out)
        for number in range(COUNT):
            print(json.dumps({"job": number + 1, "tube": "t", "state": "ready", "body": body(number)}),
                  file=out)
        print(json.dumps({"end": {"jobs": COUNT, "next_id": COUNT + 1}}), file=out)
    return f"jobs:{path}"


def run(*words: object) -> tuple[int, str]:
    done = subprocess.run([CTL, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    return done.returncode, done.stdout + done.stderr


class Full(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Folder()
        self.path = self.folder.__enter__()
        self.addCleanup(self.folder.__exit__)
        self.disk = MemoryDisk(self.path, MEGABYTES)
        self.addCleanup(self.disk.unmount)
        self.data = self.disk.path / "data"
        self.ballast = self.disk.path / "ballast"
        self.ballast.write_bytes(b"\0" * (BALLAST << 20))

    def fails(self, *words: object) -> str:
        code, said = run(*words)
        self.assertEqual(code, 1, said)
        return said

    def check_all(self, *target: object) -> None:
        self.assertEqual(sorted(job["body"] for job in jobs(exported(*target))),
                         sorted(map(body, range(COUNT))))

    def test_import_into_a_broker(self) -> None:
        source = jobs_file(self.path / "jobs")
        with Broker("--data-dir", self.data, "--limits-free-disk", "0") as broker:
            line = ("import", source, "--to", broker.address, "--report", self.path / "report",
                    "--progress", 1)
            said = self.fails(*line)
            self.assertIn("No space left", said)
            # While it waits for room it says so.
            self.assertRegex(said, r"import: \d+ of \d+ jobs, .*; waits: .*No space left")
            some = json.loads((self.path / "report").read_text())
            self.assertEqual(some["exit"], 1)
            self.assertEqual(some["imported"], len(jobs(exported("--from", broker.address))))
            self.assertLess(some["imported"], COUNT)
            self.ballast.unlink()
            ctl(*line)
            self.check_all("--from", broker.address)
            rest = json.loads((self.path / "report").read_text())
            self.assertEqual(rest["already"] + rest["imported"], COUNT)
            self.assertTrue(rest["resumed"])

    def test_it_waits_for_room(self) -> None:
        source = jobs_file(self.path / "jobs")
        with Broker("--data-dir", self.data, "--limits-free-disk", "0") as broker:
            room = threading.Timer(5, self.ballast.unlink)
            room.start()
            self.addCleanup(room.join)
            code, said = run("import", source, "--to", broker.address)
            self.assertEqual(code, 0, said)
            self.check_all("--from", broker.address)

    @unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
    def test_take_over(self) -> None:
        with Beanstalkd(self.path / "old") as old, \
                Broker("--data-dir", self.data, "--limits-free-disk", "0") as broker:
            for number in range(COUNT):
                old.put("t", body(number), ttr=600)
            line = ("take-over", old.url, "--to", broker.address)
            self.assertIn("No space left", self.fails(*line))
            self.ballast.unlink()
            end = time.monotonic() + PATIENCE
            while old.counts() != NOTHING:
                self.assertLess(time.monotonic(), end)
                code, said = run(*line)
                self.assertIn(code, (0, 1), said)
            self.check_all("--from", broker.address)
            self.assertIn(" 0 uncertain, 0 held", ctl("transfers", "--to", broker.address))

    def test_import_into_a_directory(self) -> None:
        line = ("import", jobs_file(self.path / "jobs"), "--data-dir", self.data, "--report",
                self.path / "report")
        self.assertIn("No space left", self.fails(*line))
        some = json.loads((self.path / "report").read_text())["imported"]
        self.assertGreater(some, 0)
        self.assertEqual(some, len(jobs(exported("--data-dir", self.data))))
        self.ballast.unlink()
        ctl(*line)
        self.check_all("--data-dir", self.data)
        rest = json.loads((self.path / "report").read_text())
        self.assertEqual((rest["already"], rest["imported"]), (some, COUNT - some))

    def test_files_of_the_tool(self) -> None:
        source = jobs_file(self.path / "jobs")
        self.ballast.write_bytes(b"\0" * (MEGABYTES << 20 >> 1))
        with (self.disk.path / "rest").open("wb", buffering=0) as rest:
            try:
                while rest.write(b"\0" * 4096) > 0:
                    pass
            except OSError:
                pass
        new = self.path / "new"
        line = ("import", source, "--data-dir", new)
        said = self.fails(*line, "--report", self.disk.path / "report")
        self.assertIn("--report", said)
        self.assertIn(f"{COUNT} imported", said)
        self.check_all("--data-dir", new)
        self.fails("export", "--data-dir", new, "--out", self.disk.path / "jobs")
        self.assertFalse((self.disk.path / "jobs").exists())
        self.assertIn("--id-map", self.fails(*line, "--source", "more", "--ids", "new", "--id-map",
                                             self.disk.path / "map"))

    def test_read_only(self) -> None:
        line = ("import", jobs_file(self.path / "jobs"), "--data-dir", self.data)
        subprocess.run(["mount", "-o", "remount,ro", self.disk.path], check=True)
        self.assertIn("Read-only", self.fails(*line))
        subprocess.run(["mount", "-o", "remount,rw", self.disk.path], check=True)
        self.ballast.unlink()
        ctl(*line)
        subprocess.run(["mount", "-o", "remount,ro", self.disk.path], check=True)
        self.assertIn("Read-only", self.fails(*line))


if __name__ == "__main__":
    try:
        with Folder() as trial:
            MemoryDisk(trial, 1).unmount()
    except CannotMount as problem:
        print(problem)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
