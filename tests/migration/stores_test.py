#!/usr/bin/env python3
"""gearmand's stores in real database servers: stores_test.py BROKER CTL.

Each part is skipped where its server is not installed."""

import getpass
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from tools import (FIXTURES, Folder, Process, ctl, eventually, expected, exported, free_port, jobs,
                   without_ids)

POSTGRES = next((path for path in ("/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin",
                                   "/usr/lib/postgresql/17/bin")
                 if os.path.exists(f"{path}/initdb")), "")


def as_nobody() -> dict:
    """PostgreSQL does not start as root."""
    return {"user": "nobody", "group": "nogroup"} if getpass.getuser() == "root" else {}


def succeeds(line: list[object], **how: object) -> bool:
    return subprocess.run([*map(str, line)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False, **how).returncode == 0


class Stores(unittest.TestCase):
    def check(self, name: str, folder: Path, source: str, *words: object) -> None:
        ctl("import", source, "--data-dir", folder / "new", *words,
            code=expected(name).get("exit", 0))
        found = jobs(exported("--data-dir", folder / "new"))
        self.assertEqual(without_ids(found), without_ids(expected(name)["jobs"]))
        self.assertIn("already imported", ctl("import", source, "--data-dir", folder / "new", *words))

    @unittest.skipUnless(shutil.which("redis-server"), "needs redis-server")
    def test_redis(self) -> None:
        with Folder() as folder:
            shutil.copy(FIXTURES / "redis" / "dump.rdb", folder)
            port = free_port()
            line = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", folder]
            with Process(line):
                eventually("it answers", lambda: succeeds(["redis-cli", "-p", port, "ping"]))
                functions = [word for each in expected("redis")["functions"]
                             for word in ("--function", each)]
                self.check("redis", folder, f"redis://127.0.0.1:{port}/0", *functions)
                # Who may only list the keys learns nothing of them.
                self.assertTrue(succeeds(["redis-cli", "-p", port, "acl", "setuser", "lister", "on", ">pw", "~*",
                                          "+scan", "+select"]))
                refused = ctl("import", f"redis://lister:pw@127.0.0.1:{port}/0", "--data-dir", folder / "lister",
                              *functions, code=1)
                self.assertIn("NOPERM", refused)

    @unittest.skipUnless(shutil.which("mariadbd"), "needs mariadbd")
    def test_mariadb(self) -> None:
        with Folder() as folder:
            data, socket, port = folder / "data", folder / "s", free_port()
            user = getpass.getuser()
            self.assertTrue(succeeds(["mariadb-install-db", "--no-defaults", f"--datadir={data}",
                                      f"--user={user}",
                                      "--auth-root-authentication-method=normal",
                                      "--skip-test-db"]))
            line = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--user={user}",
                    f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1"]
            client = ["mariadb", "--no-defaults", f"--socket={socket}", "-u", "root"]
            with Process(line):
                eventually("it has a database", lambda: succeeds(
                    [*client, "-e", "create database if not exists gearman"]))
                dump = (FIXTURES / "mariadb" / "queue.sql").read_bytes()
                subprocess.run([*map(str, client), "gearman"], check=True, input=dump)
                for change in ("create user 'a@b'@'%' identified by 'p/w%:@'",
                               "grant all on gearman.* to 'a@b'@'%'"):
                    subprocess.run([*map(str, client), "-e", change], check=True)
                # A port means TCP, for localhost, too.
                for place in (f"a%40b:p%2Fw%25%3A%40@127.0.0.1:{port}", f"root@localhost:{port}"):
                    ctl("import", f"mysql://{place}/gearman", "--dry-run")
                source = f"mysql://root@127.0.0.1:{port}/gearman"
                self.check("mariadb", folder, source)
                ctl("import", source, "--data-dir", folder / "other", "--retire")
                ctl("import", source, "--data-dir", folder / "third", code=1)
                # gearmand makes its table anew.
                self.assertTrue(succeeds([*client, "gearman", "-e",
                                          "create table gearman_queue like gearman_queue_imported"]))
                ctl("import", source, "--data-dir", folder / "other", "--source", "second", "--retire")
                self.assertTrue(succeeds([*client, "gearman", "-e", "select * from gearman_queue_imported_2"]))

    @unittest.skipUnless(POSTGRES, "needs PostgreSQL")
    def test_postgres(self) -> None:
        with Folder() as folder:
            os.chmod(folder, 0o777)
            data, port, how = folder / "data", free_port(), {**as_nobody(), "cwd": folder}
            self.assertTrue(succeeds([f"{POSTGRES}/initdb", "-D", data, "-U", "gearman", "-A", "trust",
                                      "-E", "UTF8", "--no-locale"], **how))
            line = [f"{POSTGRES}/postgres", "-D", data, "-p", port, "-k", folder]
            with Process(line, **how) as server:
                address = f"host={folder} port={port} user=gearman dbname=postgres"
                eventually("it answers", lambda: succeeds(
                    [f"{POSTGRES}/psql", address, "-c", "select 1"]))
                self.assertTrue(succeeds([f"{POSTGRES}/psql", address, "-f",
                                          FIXTURES / "postgres" / "queue.sql"]))
                for scheme in ("postgres", "postgresql"):
                    ctl("import", f"{scheme}://gearman@127.0.0.1:{port}/postgres", "--dry-run")
                source = f"postgres:{address}"
                self.check("postgres", folder, source)
                ctl("import", source, "--data-dir", folder / "other", "--retire")
                ctl("import", source, "--data-dir", folder / "third", code=1)
                odd = ("create table odd (unique_key text, function_name text, priority text, data bytea, "
                       "when_to_run timestamptz); insert into odd values ('a', 'f', '0', 'x', null), "
                       "('b', 'f', '0', 'x', now()); create table none (priority int); insert into none values (1)")
                self.assertTrue(succeeds([f"{POSTGRES}/psql", address, "-c", odd]))
                self.assertIn("1 imported, 0 already there, 0 joined, 1 refused",
                              ctl("import", source, "--table", "odd", "--data-dir", folder / "odd", code=3))
                self.assertEqual([job["priority"] for job in jobs(exported("--data-dir", folder / "odd"))], [512])
                ctl("import", source, "--table", "none", "--data-dir", folder / "none", code=1)
                server.stop()  # with its processes, which write in the folder


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
