#!/usr/bin/env python3
"""What the commands say: reports, last lines, exit codes: report_test.py BROKER CTL."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest
from contextlib import suppress
from pathlib import Path

from beanstalkd import Beanstalkd
from tools import (CTL, PATIENCE, Broker, Folder, copy, ctl, eventually, exported, jobs,
                   until_moved)


def table(path: Path, rows: list[tuple]) -> str:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE gearman_queue (unique_key TEXT, function_name TEXT, priority INTEGER, "
                   "data BLOB, when_to_run INTEGER, PRIMARY KEY (unique_key, function_name))")
        db.executemany("INSERT INTO gearman_queue VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?)",
                       rows)
    return f"sqlite:{path}"


class Reports(unittest.TestCase):
    def run_with_report(self, folder: Path, *words: object, code: int = 0) -> dict:
        ctl(*words, "--report", folder / "report.json", code=code)
        report = json.loads((folder / "report.json").read_text())
        self.assertEqual(report["exit"], code)
        return report

    def check_sum(self, report: dict) -> None:
        self.assertEqual(sum(report[name] for name in ("imported", "already", "joined", "refused")),
                         report["found"]["jobs"])

    def test_rows_of_every_outcome(self) -> None:
        rows = [(b"a", b"f", 1, b"one", 0), (b"b", None, 1, b"no function", 0),
                (b"\xff", b"\xfe", 7, b"bytes", None), (b"x" * 63, b"f", 0, b"63", 0),
                (b"x" * 63 + b"\0", b"f", 0, b"64", 0), (b"c", b"g", 2, None, 4_000_000_000),
                (b"k\0y", b"f", 1, b"", 0), (b"t", b"f", 1, b"", b"soon")]
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            source = table(folder / "queue.db", rows)
            line = ("import", source, "--to", broker.address)
            report = self.run_with_report(folder, *line, code=3)
            self.check_sum(report)
            self.assertEqual((report["imported"], report["refused"], report["altered"]), (5, 3, 1))
            self.assertEqual(report["found"]["jobs"], 8)
            self.assertEqual([(note["kind"], note["where"]) for note in report["notes"]],
                             [("guess", "base64:/w==")])
            outcomes = [(job["key"], job["outcome"]) for job in report["jobs"]]
            self.assertEqual(outcomes, [("b", "refused"), ("x" * 63 + "\0", "altered"), ("k\0y", "refused"), ("t", "refused")])
            # Of a later run, the jobs are those of the whole transfer, and it is done.
            again = self.run_with_report(folder, *line)
            self.check_sum(again)
            self.assertEqual((again["already"], again["resumed"]), (8, True))
            self.assertEqual([(job["key"], job["outcome"]) for job in again["jobs"]], outcomes)

    def test_an_option_that_does_nothing_is_refused(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            bare = ("transfers", "--to", broker.address)
            for option in (("--json",), ("--server", "unix:/x"), ("--timeout", 3), ("--tls-ca", "ca.pem"),
                           ("--held", "drop")):
                with self.subTest(option):
                    ctl(*bare, *option, code=2)
            ctl(*bare, "--yes", "--quiet")
            ctl("transfers", "--data-dir", folder, "--tls", code=2)
            ctl("bridge", "--from", "gearman://127.0.0.1:1", "--to", "gearman://127.0.0.1:2", "--function",
                "f", "--tls-ca", "ca.pem", code=2)
            old = "beanstalk://127.0.0.1:1"
            ctl("take-over", old, "--follow", "--wait", 3, code=2)
            ctl("take-over", old, "--follow", "--settle-only", code=2)

    def test_long_names(self) -> None:
        """A function may be longer than a tube of beanstalk; what no job can have is refused singly."""
        with Folder() as folder:
            source = table(folder / "queue.db", [(b"a", b"f" * 250, 1, b"long", 0),
                                                 (b"k" * 80, b"f", 1, b"key", 0),
                                                 (b"b", b"f", 1, b"plain", 0)])
            report = self.run_with_report(folder, "import", source, "--data-dir", folder / "new", code=3)
            self.check_sum(report)
            self.assertIn("plain", [job["body"] for job in jobs(exported("--data-dir", folder / "new"))])

    def test_joined(self) -> None:
        with Folder() as folder:
            source = table(folder / "queue.db", [(b"a", b"f", 1, b"one", 0)])
            ctl("import", source, "--data-dir", folder / "new")
            report = self.run_with_report(folder, "import", source, "--data-dir", folder / "new",
                                          "--source", "again", code=3)
            self.check_sum(report)
            self.assertEqual((report["imported"], report["joined"]), (0, 1))
            self.assertEqual([job["outcome"] for job in report["jobs"]], ["joined"])

    def test_a_retired_table_is_imported_already(self) -> None:
        with Folder() as folder:
            source = table(folder / "queue.db", [(b"a", b"f", 1, b"one", 0)])
            line = ("import", source, "--data-dir", folder / "new", "--retire")
            ctl(*line)
            self.assertIn("already imported", ctl(*line))
            ctl("import", source, "--data-dir", folder / "other", code=1)

    def test_damage(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v7-cut", folder / "log")
            line = ("import", f"binlog:{log}", "--data-dir", folder / "new")
            report = self.run_with_report(folder, *line, code=4)
            self.assertEqual(report["imported"], 0)
            self.assertIn("damage", {note["kind"] for note in report["notes"]})
            self.check_sum(self.run_with_report(folder, *line, "--accept-damage", code=3))

    def test_a_source_that_changes_while_it_is_read(self) -> None:
        def lines(last: str) -> str:
            bodies = ["x"] * 4999 + [last]
            made = [{"job": number, "tube": "t", "state": "ready", "body": body}
                    for number, body in enumerate(bodies, 1)]
            return "".join(json.dumps(line) + "\n" for line in (
                {"gearstalk_jobs": 1}, *made, {"end": {"jobs": 5000, "next_id": 5001}}))

        def connects(tool: subprocess.Popen) -> bool:
            with suppress(FileNotFoundError):
                return any(os.readlink(file).startswith("socket:")
                           for file in Path(f"/proc/{tool.pid}/fd").iterdir())
            return False

        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            (folder / "jobs").write_text(lines("x"))
            broker.signal(signal.SIGSTOP)
            tool = subprocess.Popen([CTL, "import", f"jobs:{folder / 'jobs'}", "--to", broker.address,
                                     "--report", folder / "report.json"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            eventually("it has read the source once", lambda: connects(tool))
            (folder / "jobs").write_text(lines("y"))
            broker.signal(signal.SIGCONT)
            self.assertEqual(tool.wait(PATIENCE), 5)
            report = json.loads((folder / "report.json").read_text())
            self.assertGreater(report["imported"], 0)
            self.assertEqual(report["imported"], len(jobs(exported("--from", broker.address))))

    def test_numbers_out_of_range_are_damage(self) -> None:
        for field, value in (("priority", 1 << 32), ("ttr_s", -1), ("job", -5), ("burial", 1 << 64)):
            with self.subTest(field), Folder() as folder:
                job = {"job": 1, "tube": "t", "state": "ready", field: value}
                (folder / "jobs").write_text("\n".join(map(json.dumps, (
                    {"gearstalk_jobs": 1, "made_ns": 1}, job, {"end": {"jobs": 1, "next_id": 2}}))) + "\n")
                ctl("import", f"jobs:{folder / 'jobs'}", "--data-dir", folder / "new", code=4)

    def test_dry_run(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            report = self.run_with_report(folder, "import", f"binlog:{log}", "--dry-run")
            self.assertTrue(report["dry_run"])
            self.assertEqual((report["imported"], report["ids"]), (0, "keep"))
            self.assertGreater(report["found"]["jobs"], 0)


@unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
class Follow(unittest.TestCase):
    def follow(self, *words: object) -> subprocess.Popen:
        return subprocess.Popen([CTL, "take-over", *map(str, words), "--follow"], stderr=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True)

    def end(self, tool: subprocess.Popen) -> str:
        tool.terminate()
        said = tool.communicate(timeout=PATIENCE)[0]
        self.assertEqual(tool.returncode, 0, said)
        return said

    def test_a_refusal_ends_it(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, Broker() as volatile, \
                Broker("--data-dir", folder / "new") as broker:
            ctl("take-over", old.url, "--to", volatile.address, "--follow", code=1)
            old.put("mail", "a")
            first = self.follow(old.url, "--to", broker.address)
            until_moved(broker, 1)
            ctl("take-over", old.url, "--to", broker.address, "--follow", code=1)
            ctl("take-over", old.url, "--to", broker.address, code=1)
            self.assertIn("1 moved", self.end(first))

    def test_rights_that_do_not_suffice_end_it(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new", "--rights", "* admin,observe") as broker:
            old.put("mail", "a")
            ctl("take-over", old.url, "--to", broker.address, "--follow", code=1)

    def test_a_signal_while_one_side_is_away(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old:
            with Broker("--data-dir", folder / "new") as broker:
                old.put("mail", "a")
                tool = self.follow(old.url, "--to", broker.address, "--report", folder / "report.json")
                until_moved(broker, 1)
            self.end(tool)
            self.assertEqual(json.loads((folder / "report.json").read_text())["exit"], 0)

    def test_what_it_leaves_is_counted(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            old.put("default", "reserved", ttr=3600)
            old.client.sendall(b"reserve\r\n")
            old.file.readline()
            old.file.readline()
            old.put("mail", "a")
            tool = self.follow(old.url, "--to", broker.address, "--report", folder / "report.json")
            until_moved(broker, 1)
            self.assertRegex(self.end(tool), r"1 moved, .* 1 left\n")
            report = json.loads((folder / "report.json").read_text())
            self.assertEqual((report["left"], report["exit"]), (1, 0))
            self.assertEqual([job["outcome"] for job in report["jobs"]], ["left"])

    def test_what_it_leaves_is_no_failure(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            old.put("mail", "a")
            old.put("kept", "b")
            tool = self.follow(old.url, "--to", broker.address, "--tube", "mail", "--report",
                               folder / "report.json")
            until_moved(broker, 1)
            self.end(tool)
            self.assertEqual(json.loads((folder / "report.json").read_text())["exit"], 0)
            self.assertEqual(old.counts()["ready"], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
