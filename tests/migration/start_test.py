#!/usr/bin/env python3
"""The broker in the directory of a beanstalkd: start_test.py BROKER CTL."""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from tools import (BROKER, DAMAGED, LOGS, PATIENCE, Broker, Folder, Launched, copy, ctl, expected,
                   exported, jobs)

HOLDER = ("import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX); "
          "print('held', flush=True); time.sleep(600)")


class Start(unittest.TestCase):
    def as_beanstalkd(self, folder: Path, log: Path, port: int) -> Launched:
        """The broker by another name, with the flags of that."""
        link = folder / "beanstalkd"
        os.symlink(BROKER, link)
        return Launched(link, "-b", log, "-l", "127.0.0.1", "-p", port, listen=())

    def test_refuses_by_default(self) -> None:
        with Folder() as folder, Broker("--data-dir", copy("binlog-v5", folder / "d")) as broker:
            self.assertEqual(broker.code, 1)
            self.assertIn("--import-binlog yes", broker.said)
            self.assertIn("--import-binlog no", broker.said)

    def test_leaves_it_alone(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "d")
            with Broker("--data-dir", log, "--import-binlog", "no") as broker:
                self.assertEqual(jobs(exported("--from", broker.address)), [])
            self.assertTrue((log / "binlog.1").exists())

    def test_imports(self) -> None:
        for name in LOGS:
            with self.subTest(name), Folder() as folder:
                log, want = copy(name, folder / "d"), expected(name)["jobs"]
                options = ("--data-dir", log, "--import-binlog", "yes")
                with Broker(*options) as broker:
                    self.assertIn(f"imported {len(want)} jobs of beanstalkd from {log} (", broker.said)
                    self.assertEqual([job["job"] for job in jobs(exported("--from", broker.address))],
                                     [job["job"] for job in want])
                self.assertEqual([*log.glob("binlog.*")], [])
                with Broker(*options) as broker:
                    self.assertEqual(len(jobs(exported("--from", broker.address))), len(want))
                    self.assertNotIn("imported", broker.said)

    def test_a_content_that_is_known_by_another_name(self) -> None:
        with Folder() as folder:
            other, log = copy("binlog-v5", folder / "other"), copy("binlog-v5", folder / "d")
            ctl("import", f"binlog:{other}", "--data-dir", log)
            with Broker("--data-dir", log, "--import-binlog", "yes") as broker:
                self.assertEqual(broker.code, 1)
                self.assertIn(f"has the content of binlog:{other}", broker.said)
            with Broker("--data-dir", log, "--import-binlog", "no") as broker:
                self.assertEqual(len(jobs(exported("--from", broker.address))),
                                 len(expected("binlog-v5")["jobs"]))

    def test_a_kill_while_the_files_are_moved(self) -> None:
        """Each of them may be the last one that was moved: no job comes twice."""
        with Folder() as folder:
            log = copy("binlog-v7-files", folder / "d")
            files = sorted(file.name for file in log.glob("binlog.*"))
            want = len(expected("binlog-v7-files")["jobs"])
            for kept in range(1, len(files)):
                with self.subTest(kept=kept):
                    with Broker("--data-dir", log, "--import-binlog", "yes") as broker:
                        self.assertEqual(len(jobs(exported("--from", broker.address))), want)
                    moved = sorted(file.name for file in (log / "imported-binlog").iterdir())
                    self.assertEqual(moved, files)
                    for name in files[kept:]:
                        shutil.move(log / "imported-binlog" / name, log)

    def test_files_of_an_earlier_log_are_kept(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v5", folder / "d")
            for number in ("", ".1"):
                (log / f"imported-binlog{number}").mkdir()
                (log / f"imported-binlog{number}" / "binlog.1").write_text(f"earlier{number}")
            with Broker("--data-dir", log, "--import-binlog", "yes"):
                pass
            self.assertEqual((log / "imported-binlog.1" / "binlog.1").read_text(), "earlier.1")
            self.assertEqual((log / "imported-binlog.2" / "binlog.1").read_text(), "earlier")
            self.assertGreater((log / "imported-binlog" / "binlog.1").stat().st_size, 100)

    def test_what_is_no_file_is_not_waited_for(self) -> None:
        with Folder() as folder:
            os.mkfifo(folder / "binlog.1")
            with Broker("--data-dir", folder, "--import-binlog", "yes") as broker:
                self.assertEqual(broker.code, 1)
                self.assertIn("binlog.1 is no file", broker.said)

    def test_a_damaged_log_stops_the_start(self) -> None:
        for name in DAMAGED:
            with self.subTest(name), Folder() as folder:
                log = copy(name, folder / "d")
                with Broker("--data-dir", log, "--import-binlog", "yes") as broker:
                    self.assertEqual(broker.code, 1)
                    self.assertIn("--accept-damage", broker.said)
                self.assertNotEqual([*log.glob("binlog.*")], [])

    def test_as_beanstalkd(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v7-states", folder / "d")
            with self.as_beanstalkd(folder, log, 0) as broker:
                self.assertIn("imported 49 jobs of beanstalkd", broker.said)

    @unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
    def test_one_restart_on_the_same_port_and_back(self) -> None:
        """The first recipe of docs/migration.md, with the real old server."""
        with Folder() as folder, Beanstalkd(folder / "log") as old:
            wanted = [(old.put("mail", body, delay=delay), body)
                      for body, delay in (("a", 0), ("b", 100_000), ("c", 0))]
            old.kill()
            with self.as_beanstalkd(folder, folder / "log", old.port) as ours:
                self.assertIn("imported 3 jobs of beanstalkd", ours.said)
                found = jobs(exported("--from", f"127.0.0.1:{old.port}"))
                self.assertEqual([(job["job"], job["body"]) for job in found], wanted)
                ours.stop()
            for file in (folder / "log" / "imported-binlog").iterdir():
                shutil.move(file, folder / "log")
            old.start()
            self.assertEqual(old.counts(), {**NOTHING, "ready": 2, "delayed": 1})

    @unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
    def test_forward_back_and_forward_again(self) -> None:
        """The journal of the first move has the jobs that are in the log again."""
        with Folder() as folder, Beanstalkd(folder / "log") as old:
            log = folder / "log"
            again = ("--data-dir", log, "--import-binlog", "yes")
            for body in ("a", "b"):
                old.put("mail", body)
            old.kill()
            with Broker(*again):
                pass
            for file in (log / "imported-binlog").iterdir():
                shutil.move(file, log)
            old.start()
            old.put("mail", "c")
            old.kill()
            for forget in (False, True):
                with self.subTest(forget=forget):
                    if forget:
                        ctl("transfers", "--data-dir", log, "--forget", f"binlog:{log}")
                    with Broker(*again) as broker:
                        self.assertEqual(broker.code, 1)
                        self.assertIn(f"move the journal ({log}/*.wal and {log}/state)", broker.said)
            (folder / "journal").mkdir()
            for file in [*log.glob("*.wal"), log / "state"]:
                shutil.move(file, folder / "journal")
            with Broker(*again) as broker:
                found = jobs(exported("--from", broker.address))
                self.assertEqual([job["body"] for job in found], ["a", "b", "c"])

    def test_a_log_that_went_on_without_the_jobs_of_the_journal(self) -> None:
        with Folder() as folder:
            log = copy("binlog-v7-states", folder / "d")
            with Broker("--data-dir", log, "--import-binlog", "yes") as broker:
                host, port = broker.address.rsplit(":", 1)
                with socket.create_connection((host, int(port)), PATIENCE) as client:
                    answers = client.makefile("rb")
                    for job in jobs(exported("--from", broker.address)):
                        client.sendall(b"delete %d\r\n" % job["job"])
                        self.assertEqual(answers.readline(), b"DELETED\r\n")
            copy("binlog-v7-files", log)
            with Broker("--data-dir", log, "--import-binlog", "yes") as broker:
                self.assertEqual(broker.code, 1)
                self.assertIn(f"--data-dir {log} --forget binlog:{log}", broker.said)
            ctl("transfers", "--data-dir", log, "--forget", f"binlog:{log}")
            with Broker("--data-dir", log, "--import-binlog", "yes") as broker:
                self.assertEqual(len(jobs(exported("--from", broker.address))),
                                 len(expected("binlog-v7-files")["jobs"]))

    def test_keeps_out_of_a_running_beanstalkd(self) -> None:
        with Folder() as folder:
            holder = subprocess.Popen([sys.executable, "-c", HOLDER, folder / "lock"],
                                      stdout=subprocess.PIPE)
            holder.stdout.readline()
            with Broker("--data-dir", folder) as broker:
                self.assertEqual(broker.code, 1)
                self.assertIn(f"beanstalkd, pid {holder.pid}, uses {folder}", broker.said)
            holder.kill()
            holder.wait(PATIENCE)
            holder.stdout.close()

    def test_beanstalkd_keeps_out_of_ours(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder):
            with open(folder / "lock", "w") as file, self.assertRaises(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
