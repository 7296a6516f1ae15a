#!/usr/bin/env python3
"""The journal in PostgreSQL in an operator's hands: tools_test.py BROKER."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from servers import (AS_NOBODY, PostgresShard, Process, Servers, eventually, free_port,
                     setUpModule)  # noqa: F401
from cluster import ETCD, Broker, Client, Etcd, Shard, http_get

BROKER = sys.argv.pop(1)
GOLDEN = Path(__file__).resolve().parents[1] / "journal/golden/v2-ended"


class Tools(unittest.TestCase):
    servers: Servers

    @classmethod
    def setUpClass(cls) -> None:
        cls.servers = Servers()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.servers.close()

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def shard(self, conninfo: str = "") -> PostgresShard:
        return PostgresShard(BROKER, self.servers, self.id().rpartition(".")[2], conninfo=conninfo)

    def run_broker(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([BROKER, "--listen", "127.0.0.1:0", *flags], capture_output=True,
                              text=True, timeout=120, check=False)

    def test_what_excludes_each_other_is_refused(self) -> None:
        conninfo = ["--postgres-conninfo", "host=/nowhere"]
        for flags, text in (
                ([*conninfo, "--etcd-endpoints", "127.0.0.1:1"],
                 "postgres.conninfo: excludes etcd.endpoints"),
                ([*conninfo, "--data-dir", str(self.path)], "excludes postgres.conninfo"),
                ([*conninfo, "--postgres-schema", "s" * 64], "must have 1 to 63 bytes"),
                (["--postgres-conninfo", "nonsense"], "postgres.conninfo: "),
                (["--postgres-ca", "/x"], "needs postgres.conninfo"),
                ([*conninfo, "--postgres-password-file", "/x"], "cannot read /x")):
            for check in ([], ["--check-config"]):
                done = self.run_broker(*flags, *check)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(text, done.stderr)
        self.assertEqual(self.run_broker(*conninfo, "--check-config").returncode, 0)

    def test_a_journal_goes_through_all_stores_and_comes_back(self) -> None:
        """From a directory to PostgreSQL, to etcd if it is there, and back."""
        first = self.path / "first"
        shard = self.shard()
        shard.flags = ["--data-dir", str(first)]
        with shard:
            broker = shard.first()
            with broker.connect() as client:
                for i in range(200):
                    client.put(f"job {i}", delay=0 if i % 3 else 3600)
                for _ in range(10):
                    self.assertEqual(client.say(f"bury {client.reserve()[0]} 7"), "BURIED")
            broker.signal(15)
            self.assertEqual(broker.wait(), 0)
        shards = [PostgresShard(BROKER, self.servers, "moved")]
        if ETCD is not None:
            etcd = Etcd(1)
            self.addCleanup(etcd.close)
            shards.append(Shard(BROKER, etcd, "/moved/"))
        shards.append(PostgresShard(BROKER, self.servers, "moved again"))
        directory = first
        for number, store in enumerate(shards):
            done = store.tool("--journal-import", str(directory))
            self.assertEqual(done.returncode, 0, done)
            kind = "postgres" if isinstance(store, PostgresShard) else "etcd"
            done = store.tool("--journal-check", kind)
            self.assertIn("200 live jobs", done.stdout)
            directory = self.path / str(number)
            self.assertEqual(store.tool("--journal-export", str(directory)).returncode, 0)
            again = store.tool("--journal-import", str(directory))
            self.assertNotEqual(again.returncode, 0)
            self.assertIn("this shard has a journal already", again.stderr)
        states = []
        for where in (first, directory):
            shard.flags = ["--data-dir", str(where)]
            with shard:
                with shard.first().connect() as client:
                    states.append([self.job(client, i + 1) for i in range(200)])
        self.assertEqual(states[0], states[1])

    def job(self, client: Client, number: int) -> list[str]:
        """What stays of a job as it is moved."""
        self.assertTrue(client.say(f"stats-job {number}").startswith("OK "))
        lines: list[str] = []
        while not lines or lines[-1]:
            lines.append(client.file.readline().decode().rstrip("\r\n"))
        kept = ("id", "state", "pri", "tube", "buries", "reserves", "delay", "ttr")
        return [line for line in lines if line.split(":")[0] in kept]

    def test_a_check_is_of_the_store_that_it_names(self) -> None:
        for flags, kind, missing in ((["--postgres-conninfo", "host=/nowhere"], "etcd", "etcd.endpoints"),
                                     (["--etcd-endpoints", "127.0.0.1:1"], "postgres", "postgres.conninfo")):
            done = self.run_broker(*flags, "--journal-check", kind)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(f"{missing}: missing; --journal-check {kind} needs it", done.stderr)

    def test_parts_without_the_row_are_found_by_all_tools(self) -> None:
        primary = self.servers.primary
        with self.shard() as shard:
            broker = shard.first()
            with broker.connect() as client:
                self.assertEqual(client.put("one"), "INSERTED 1")
            broker.signal(15)
            self.assertEqual(broker.wait(), 0)
            schema = self.id().rpartition(".")[2]
            row = f"select count(*) from {schema}.shard"
            primary.sql(f"create table {schema}.kept as table {schema}.shard")
            primary.sql(f"delete from {schema}.shard")
            journal = self.path / "journal"
            shutil.copytree(GOLDEN, journal)
            for words in (("--journal-check", "postgres"), ("--journal-export", str(self.path / "out")),
                          ("--journal-import", str(journal))):
                done = shard.tool(*words)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("and j/0000000000000001 is there: keys of this journal were deleted", done.stderr)
                self.assertEqual(primary.sql(row), "0")
            primary.sql(f"insert into {schema}.shard table {schema}.kept")
            with shard.first().connect() as client:
                self.assertEqual(client.reserve()[1], "one")

    def test_a_standby_that_may_only_read_says_so(self) -> None:
        primary = self.servers.primary
        schema = self.id().rpartition(".")[2]
        with self.shard() as shard:
            shard.first()
            primary.sql(f"create role reader login; grant usage on schema {schema} to reader; "
                        f"grant select on all tables in schema {schema} to reader")
            with PostgresShard(BROKER, self.servers, schema,
                               conninfo=self.servers.conninfo + " user=reader") as reading:
                standby = reading.broker("b2")
                standby.wait_readyz("503 this broker cannot lead: PostgreSQL: permission denied",
                                    "?role=standby")
                self.assertEqual(standby.metric("gearstalkd_replica_caught_up"), 0)
                primary.sql(f"grant insert, update on all tables in schema {schema} to reader")
                standby.wait_readyz("200 ", "?role=standby")

    def test_check_of_an_empty_schema_makes_nothing(self) -> None:
        done = self.shard().tool("--journal-check", "postgres")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("there is no journal in this schema", done.stderr)
        self.assertEqual(self.servers.primary.sql(
            f"select count(*) from pg_namespace where nspname = '{self.id().rpartition('.')[2]}'"), "0")

    def test_what_the_server_says_of_itself(self) -> None:
        with self.shard() as shard:
            active = shard.first()
            active.wait_for("no standby of PostgreSQL confirms commits")
            store = json.loads(http_get(active.admin, "/api/v1/server")[1])["replica"]["store"]
            self.assertEqual(store["kind"], "postgresql")
            self.assertEqual(store["primary"], f"127.0.0.1:{self.servers.primary.port}")
            self.assertEqual((store["synchronous_commit"], store["fsync"]), ("on", "on"))
            self.assertEqual(store["synchronous_standbys"], [])
            self.assertEqual(active.metric("gearstalkd_postgres_synchronous_standbys"), 0)
            self.assertEqual(active.metric("gearstalkd_postgres_primaries"), 1)

    def test_a_changed_password_and_taken_rights_are_awaited(self) -> None:
        primary = self.servers.primary
        primary.sql("create role limited login; create schema owned authorization limited")
        with PostgresShard(BROKER, self.servers, "owned",
                           conninfo=self.servers.conninfo + " user=limited") as shard:
            active = shard.first()
            primary.sql("alter table owned.shard owner to test; revoke all on owned.shard from limited")
            active.wait_readyz("503 suspended: |503 .*permission denied|200 ready")
            eventually("trouble", lambda: active.has_said("no answer from PostgreSQL.*permission denied"))
            self.assertTrue(active.running)
            primary.sql("alter table owned.shard owner to limited")
            active.wait_readyz("200 ready")
            with active.connect() as client:
                self.assertEqual(client.put("one"), "INSERTED 1")

    @unittest.skipUnless(shutil.which("pgbouncer"), "there is no pgbouncer")
    def test_a_pooler_gives_each_client_a_session_of_its_own_or_is_refused(self) -> None:
        for mode in ("session", "transaction"):
            port = free_port()
            (self.path / "users").write_text('"test" ""\n')
            config = self.path / f"{mode}.ini"
            config.write_text(
                f"[databases]\npostgres = {self.servers.primary.where}\n[pgbouncer]\n"
                f"listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = trust\n"
                f"auth_file = {self.path}/users\npool_mode = {mode}\nunix_socket_dir =\n"
                "ignore_startup_parameters = extra_float_digits\n")
            self.path.chmod(0o755)
            conninfo = f"host=127.0.0.1 port={port} dbname=postgres user=test"
            with PostgresShard(BROKER, self.servers, mode, conninfo=conninfo) as shard:
                # The pooler, too, may come later.
                broker: Broker = shard.broker("b1")
                broker.wait_for("admin ")
                with Process([*AS_NOBODY, shutil.which("pgbouncer"), str(config)], cwd="/"):
                    if mode == "transaction":
                        self.assertEqual(broker.wait(), 2)
                        self.assertIn("pool_mode = session", broker.said)
                        continue
                    broker.wait_for("^ready ")
                    with broker.connect() as client:
                        self.assertEqual(client.put("one"), "INSERTED 1")


if __name__ == "__main__":
    unittest.main()
