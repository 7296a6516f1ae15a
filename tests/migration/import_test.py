#!/usr/bin/env python3
"""Logs and stores of old servers, imported and exported: import_test.py BROKER CTL."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from tools import (CTL, DAMAGED, FIXTURES, LOGS, Broker, Folder, Process, copy, ctl, eventually,
                   expected, exported, jobs, without_ids)

GOLDEN = Path(__file__).resolve().parents[1] / "journal/golden/v1"

# Begins a transaction that is too large for its memory, and is killed.
HALF_A_TRANSACTION = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN")
for number in range(200):
    db.execute("INSERT INTO gearman_queue VALUES (?, 'half', 1, ?, 0)", (str(number), "x" * 2000))
os.kill(os.getpid(), signal.SIGKILL)
"""


def plain(many: list[dict]) -> list[dict]:
    """As expected.json has them: with the fields that it always names."""
    return [{"delay_s": 0, "priority": 0, **({} if "body_base64" in job else {"body": ""}), **job}
            for job in many]


class Logs(unittest.TestCase):
    def check(self, name: str, *target: object) -> None:
        want = expected(name)
        with Folder() as folder:
            log = copy(name, folder / "log")
            report = folder / "report.json"
            ctl("import", f"binlog:{log}", *target, "--report", report)
            found = json.loads(report.read_text())
            self.assertEqual(found["imported"], len(want["jobs"]))
            self.assertEqual(found["ids"], "keep")
            lines = exported(*(("--from", target[1]) if target[0] == "--to" else target))
            self.assertEqual(plain(jobs(lines)), want["jobs"])
            self.assertGreaterEqual(json.loads(lines[-1])["end"]["next_id"], want["next_id_at_least"])
            self.assertIn("already imported", ctl("import", f"binlog:{log}", *target))

    def test_into_a_directory(self) -> None:
        for name in LOGS:
            with self.subTest(name), Folder() as folder:
                self.check(name, "--data-dir", folder / "new")

    def test_into_a_broker(self) -> None:
        for name in LOGS:
            with self.subTest(name), Folder() as folder, Broker("--data-dir", folder) as broker:
                self.check(name, "--to", broker.address)

    def test_damaged(self) -> None:
        for name in DAMAGED:
            with self.subTest(name), Folder() as folder:
                log = copy(name, folder / "log")
                new, report = folder / "new", folder / "report.json"
                said = ctl("import", f"binlog:{log}", "--data-dir", new, "--report", report, code=4)
                note = expected(name)["notes"][0]
                self.assertIn(f"{note['file']}:{note['offset']}", said)
                self.assertIn(f"{note['file']}:{note['offset']}",
                              [each["where"] for each in json.loads(report.read_text())["notes"]])
                self.assertFalse(new.exists())
                ctl("import", f"binlog:{log}", "--data-dir", new, "--accept-damage", code=3)
                self.assertEqual(plain(jobs(exported("--data-dir", new))), expected(name)["jobs"])

    def test_round_trip(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v7-states", folder / "log")
            ctl("import", f"binlog:{log}", "--data-dir", folder / "one")
            ctl("export", "--data-dir", folder / "one", "--out", folder / "jobs")
            ctl("import", f"jobs:{folder / 'jobs'}", "--data-dir", folder / "two")
            first = (folder / "jobs").read_text().splitlines()
            self.assertEqual(exported("--data-dir", folder / "two")[1:], first[1:])

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_files_are_of_the_owner_of_the_directory(self) -> None:
        nobody = pwd.getpwnam("nobody")
        with Folder() as folder, Folder() as old:
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            ctl("import", f"binlog:{copy(LOGS[0], old / 'log')}", "--data-dir", folder)
            owners = {file.name: file.stat().st_uid for file in folder.iterdir()}
            self.assertIn("state", owners)
            self.assertEqual(set(owners.values()), {nobody.pw_uid}, owners)

    def test_retire(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new", "--retire")
            self.assertTrue((log / "imported-binlog" / "binlog.1").exists())
            again = ctl("import", f"binlog:{log}", "--data-dir", folder / "new", "--retire")
            self.assertIn("already imported", again)

    def test_a_kill_while_the_files_are_moved(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v7-files", folder / "log")
            line = ("import", f"binlog:{log}", "--data-dir", folder / "new", "--tube",
                    expected("binlog-v7-files")["jobs"][0]["tube"])
            ctl(*line)
            (log / "imported-binlog").mkdir()
            shutil.move(log / "binlog.11", log / "imported-binlog")
            self.assertIn("already imported", ctl(*line, "--retire"))
            self.assertEqual([*log.glob("binlog.*")], [])
            self.assertIn("already imported", ctl(*line, "--retire"))
            shutil.move(log / "imported-binlog" / "binlog.12", log)
            (log / "imported-binlog" / "binlog.13").unlink()
            ctl(*line, code=5)

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_what_root_leaves_in_the_directory_of_a_log(self) -> None:
        """The old server's user must be able to go on."""
        nobody = pwd.getpwnam("nobody")
        with Folder() as folder:
            log = copy(LOGS[0], folder / "log")
            os.chown(log, nobody.pw_uid, nobody.pw_gid)
            ctl("import", f"binlog:{log}", "--dry-run")
            self.assertEqual((log / "lock").stat().st_uid, nobody.pw_uid)
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new", "--retire")
            self.assertEqual((log / "imported-binlog").stat().st_uid, nobody.pw_uid)

    def test_another_content_is_another_source(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new")
            copy("binlog-v7-states", log)
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new", code=5)

    def test_a_content_that_is_known_by_another_name(self) -> None:
        with Folder() as folder:
            log, copied = (copy("binlog-v7-limit", folder / name) for name in ("log", "copied"))
            line = ("--data-dir", folder / "new")
            ctl("import", f"binlog:{log}", *line)
            want = jobs(exported(*line))
            said = ctl("import", f"binlog:{copied}", *line, code=5)
            self.assertIn(f"--source binlog:{log}", said)
            self.assertEqual(jobs(exported(*line)), want)
            self.assertIn("already imported",
                          ctl("import", f"binlog:{copied}", *line, "--source", f"binlog:{log}"))
            # Another name or another selection is meant.
            ctl("import", f"binlog:{copied}", *line, "--tube", want[0]["tube"])
            ctl("import", f"binlog:{copied}", *line, "--source", "twice")
            self.assertGreater(len(jobs(exported(*line))), 2 * len(want))

    def test_empty_logs_are_alike(self) -> None:
        with Folder() as folder:
            for name in ("one", "two"):
                (folder / name).mkdir()
                (folder / name / "binlog.1").write_bytes(b"\x07\0\0\0" + bytes(4096))
                ctl("import", f"binlog:{folder / name}", "--data-dir", folder / "new")

    def test_bodies_stay_on_the_disk(self) -> None:
        """Of the jobs that go into a directory only the records are in memory."""
        bodies, size = 4000, 60_000
        with Folder() as folder:
            with (folder / "jobs").open("w") as out:
                print('{"gearstalk_jobs":1,"made_ns":1}', file=out)
                for number in range(1, bodies + 1):
                    print(json.dumps({"job": number, "tube": "t", "state": "ready",
                                      "body": f"{number}".ljust(size, "x")}), file=out)
                print(json.dumps({"end": {"jobs": bodies, "next_id": bodies + 1}}), file=out)
            tool = subprocess.Popen([CTL, "import", f"jobs:{folder / 'jobs'}", "--data-dir",
                                     folder / "new"], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(tool.pid, 0)
            tool.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(tool.returncode, 0)
            sanitized = any(name in Path(CTL).read_bytes() for name in (b"__asan_init", b"__tsan_init"))
            self.assertTrue(sanitized or usage.ru_maxrss << 10 < bodies * size // 2, usage.ru_maxrss)
            # A second import into it reads them no more than the first one.
            ctl("import", f"binlog:{copy('binlog-v5', folder / 'log')}", "--data-dir", folder / "new")
            found = [job["body"] for job in jobs(exported("--data-dir", folder / "new"))
                     if job["tube"] == "t"]
            self.assertEqual(found, [f"{number}".ljust(size, "x") for number in range(1, bodies + 1)])

    def test_who_holds_a_log_is_named(self) -> None:
        """The tool itself may read it, as a source."""
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            os.mkfifo(folder / "map")  # nobody reads it: the tool waits to open it, and holds the log
            with Process([CTL, "import", f"binlog:{log}", "--data-dir", folder / "new", "--id-map",
                          folder / "map"]) as holder:
                eventually("it has made the journal", lambda: (folder / "new" / "state").exists())
                said = ctl("import", f"binlog:{log}", "--dry-run", code=5)
                self.assertIn(f"gearstalkctl, pid {holder.process.pid}, uses {log}", said)
                said = ctl("export", "--data-dir", folder / "new", code=1)
                self.assertIn(f"gearstalkctl, pid {holder.process.pid}, uses {folder / 'new'}", said)

    def test_ids_that_are_taken(self) -> None:
        with Folder() as folder:
            log, other = copy("binlog-v5", folder / "a"), copy("binlog-v7-limit", folder / "b")
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new")
            ctl("import", f"binlog:{other}", "--data-dir", folder / "new", "--ids", "keep", code=1)
            ctl("import", f"binlog:{other}", "--data-dir", folder / "new", "--id-map", folder / "map")
            self.assertEqual(len((folder / "map").read_text().splitlines()), 11)

    def test_without_a_data_directory(self) -> None:
        with Folder() as folder, Broker() as broker:
            log = copy("binlog-v5", folder / "log")
            said = ctl("import", f"binlog:{log}", "--to", broker.address, code=1)
            self.assertIn("--volatile", said)
            ctl("import", f"binlog:{log}", "--to", broker.address, "--volatile")

    def test_dry_run_and_wrong_calls(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            said = ctl("import", f"binlog:{log}", "--dry-run")
            self.assertRegex(said, r"import: found [1-9]\d* jobs \(.* ready, .* delayed, .* buried\)\nimport: 0 imported")
            self.assertNotIn("found", ctl("import", f"jobs:{folder}", "--dry-run", code=1))
            self.assertNotIn("found", ctl("import", f"binlog:{folder}", "--dry-run", code=1))
        for source in ("nonsense:x", "binlog:", "sqlite:", "jobs:", "redis://127.0.0.1/x",
                       "mysql://u@h:x/db", "redis://:%@127.0.0.1/0", "postgresql://%"):
            ctl("import", source, code=2)
        for address in ("127.0.0.1:0", "127.0.0.1:65536", "unix:here", "127.0.0.1"):
            ctl("export", "--from", address, code=2)
        ctl("import", code=2)
        ctl("bridge", "--from", "gearman://nowhere", "--to", "gearman://127.0.0.1:1", "--function", "f",
            code=2)

    def test_no_export_of_nothing(self) -> None:
        with Folder() as folder:
            self.assertIn("no such directory", ctl("export", "--data-dir", folder / "x", code=1))
            ctl("transfers", "--data-dir", folder / "x", code=1)
            self.assertFalse((folder / "x").exists())

    def test_an_export_changes_nothing(self) -> None:
        with Folder() as folder:
            old = folder / "old"
            shutil.copytree(GOLDEN, old)
            before = {file.name: file.read_bytes() for file in old.iterdir()}
            self.assertTrue(jobs(exported("--data-dir", old)))
            ctl("transfers", "--data-dir", old)
            self.assertEqual(before, {file.name: file.read_bytes() for file in old.iterdir()})
            (folder / "none").mkdir()
            self.assertIn("no journal here", ctl("export", "--data-dir", folder / "none", code=1))

    def test_no_export_of_a_directory_in_which_a_broker_runs(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new"):
            for command in ("export", "transfers"):
                self.assertIn("in use", ctl(command, "--data-dir", folder / "new", code=1))

    def test_tubes_and_names(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new", "--tube", "shop-mail",
                "--rename", "shop-mail=letters")
            self.assertEqual({job["tube"] for job in jobs(exported("--data-dir", folder / "new"))},
                             {"letters"})

    def test_a_pause_comes_along(self) -> None:
        lines = ['{"gearstalk_jobs":1,"made_ns":1}',
                 '{"tube":"slow","settings":{"pause_until_ns":4102444800000000000,"pause_s":9}}',
                 '{"job":1,"tube":"slow","state":"ready","created_ns":7,"body":"x"}',
                 '{"end":{"jobs":1,"next_id":2}}']
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            file = folder / "jobs"
            file.write_text("\n".join(lines) + "\n")
            ctl("import", f"jobs:{file}", "--to", broker.address)
            self.assertEqual([json.loads(line) for line in exported("--from", broker.address)][1],
                             json.loads(lines[1]))

    def test_an_address_of_one_protocol(self) -> None:
        for protocol in ("beanstalk", "gearman"):
            with self.subTest(protocol), Folder() as folder:
                log = copy("binlog-v5", folder / "log")
                address = f"127.0.0.1:0,protocols={protocol}"
                with Broker("--data-dir", folder / "new", "--listen", address) as broker:
                    alone = broker.addresses[0]
                    ctl("import", f"binlog:{log}", "--to", alone)
                    self.assertEqual(len(jobs(exported("--from", alone))), len(expected("binlog-v5")["jobs"]))

    def test_transfers(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "log")
            ctl("import", f"binlog:{log}", "--data-dir", folder / "new", "--source", "mine")
            self.assertIn("mine: import, finished", ctl("transfers", "--data-dir", folder / "new"))
            ctl("transfers", "--data-dir", folder / "new", "--forget", "mine")
            self.assertEqual("", ctl("transfers", "--data-dir", folder / "new"))


class Outputs(unittest.TestCase):
    """What --out and --report name may be there already."""

    def export(self, folder: Path, out: Path | str, code: int = 0) -> str:
        return ctl("export", "--data-dir", folder / "d", "--out", out, code=code)

    def test_a_pipe_is_written_to(self) -> None:
        with Folder() as folder:
            shutil.copytree(GOLDEN, folder / "d")
            pipe = folder / "pipe"
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.export(folder, pipe)
            self.assertIn(b'{"end"', os.read(reader, 65536))
            ctl("import", f"binlog:{copy(LOGS[0], folder / 'log')}", "--dry-run", "--report", pipe)
            self.assertIn(b'"command": "import"', os.read(reader, 65536))
            os.close(reader)
            self.assertTrue(pipe.is_fifo())

    def test_a_file_keeps_its_mode_and_a_link_its_file(self) -> None:
        with Folder() as folder:
            shutil.copytree(GOLDEN, folder / "d")
            (folder / "file").touch(0o600)
            (folder / "link").symlink_to("file")
            self.export(folder, folder / "link")
            self.assertTrue((folder / "link").is_symlink())
            self.assertIn('{"end"', (folder / "file").read_text())
            self.assertEqual((folder / "file").stat().st_mode & 0o777, 0o600)

    def test_standard_output(self) -> None:
        with Folder() as folder:
            shutil.copytree(GOLDEN, folder / "d")
            self.assertIn('{"end"', self.export(folder, "-"))

    def test_nothing_is_left_of_what_failed(self) -> None:
        lines = ('{"gearstalk_jobs":1}\n', '{"job":1,"tube":"a","state":"ready"}\n',
                 '{"end":{"jobs":1,"next_id":2}}\n')
        with Folder() as folder, \
                Broker("--data-dir", folder / "new", "--rights", "* admin,produce") as broker:
            (folder / "jobs").write_text("".join(lines))
            ctl("import", f"jobs:{folder / 'jobs'}", "--to", broker.address)
            ctl("export", "--from", broker.address, "--out", folder / "out", code=1)
            self.assertEqual(sorted(each.name for each in folder.iterdir()), ["jobs", "new"])


class Stores(unittest.TestCase):
    def test_a_killed_gearmand_left_half_a_transaction(self) -> None:
        """The hot journal beside the file is rolled back, as gearmand would do."""
        with Folder() as folder:
            queue = folder / "queue.db"
            shutil.copy(FIXTURES / "sqlite" / "queue.db", queue)
            subprocess.run([sys.executable, "-c", HALF_A_TRANSACTION, queue], check=False)
            self.assertTrue((folder / "queue.db-journal").exists())
            ctl("import", f"sqlite:{queue}", "--data-dir", folder / "new")
            found = jobs(exported("--data-dir", folder / "new"))
            self.assertEqual(without_ids(found), without_ids(expected("sqlite")["jobs"]))

    def test_sqlite(self) -> None:
        for name in ("sqlite", "sqlite-old"):
            with self.subTest(name), Folder() as folder:
                queue = folder / "queue.db"
                shutil.copy(FIXTURES / name / "queue.db", queue)
                ctl("import", f"sqlite:{queue}", "--data-dir", folder / "new", "--retire")
                found = jobs(exported("--data-dir", folder / "new"))
                self.assertEqual(without_ids(found), without_ids(expected(name)["jobs"]))
                self.assertIn("already imported",
                              ctl("import", f"sqlite:{queue}", "--data-dir", folder / "new"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
