#!/usr/bin/env python3
"""What PostgreSQL demands and what it lacks: passwords, certificates, limits, space, slow links:
demands_test.py BROKER."""

import os
import shutil
import signal
import sys
import tempfile
import unittest
from contextlib import suppress
from pathlib import Path

from servers import ROOT, PostgresShard, Servers, setUpModule  # noqa: F401
from certificates import Certificates
from cluster import Broker
from slow_link import SlowLink

sys.path.append(str(ROOT / "powercut"))
from disk import MemoryDisk  # noqa: E402

BROKER = sys.argv.pop(1)


class Demands(unittest.TestCase):
    """The role `broker` owns a schema."""

    servers: Servers

    @classmethod
    def setUpClass(cls) -> None:
        cls.servers = Servers()
        cls.primary = cls.servers.primary
        cls.primary.sql("create role broker login password 'first'")
        cls.hba = cls.primary.data / "pg_hba.conf"
        cls.trusting = cls.hba.read_text()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.servers.close()

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        self.path.chmod(0o755)
        self.schema = self.id().rpartition(".")[2]
        self.primary.sql(f"create schema {self.schema} authorization broker")
        self.addCleanup(self.put_back)

    def put_back(self) -> None:
        self.hba.write_text(self.trusting)
        self.primary.sql("alter role broker reset all")
        for change in ("alter system reset all", "select pg_reload_conf()"):
            self.primary.sql(change)

    def shard(self, more: str = "", conninfo: str = "") -> PostgresShard:
        conninfo = conninfo or self.servers.conninfo
        return PostgresShard(BROKER, self.servers, self.schema, conninfo=f"{conninfo} user=broker {more}")

    def put(self, broker: Broker, body: str) -> str:
        with broker.connect() as client:
            return client.put(body)

    def give(self, name: str) -> None:
        """A file of this test to the server."""
        to = self.primary.data / name
        shutil.copy(self.path / name, to)
        if os.getuid() == 0:
            shutil.chown(to, "nobody", "nogroup")
        to.chmod(0o600)

    def show_certificate(self, name: str) -> None:
        for end in ("pem", "key"):
            self.give(f"{name}.{end}")
        self.primary.sql(f"alter system set ssl_cert_file = '{name}.pem'")
        self.primary.sql(f"alter system set ssl_key_file = '{name}.key'")
        self.primary.sql("alter system set ssl = on")
        self.primary.sql("select pg_reload_conf()")

    def test_tls_and_passwords(self) -> None:
        certificates = Certificates(self.path)
        certificates.authority("ca")
        certificates.sign("server")
        certificates.sign("expired", days=-1)
        password = self.path / "password"
        flags = ("--postgres-ca", f"{self.path}/ca.pem", "--postgres-password-file", str(password))
        password.write_text("wrong\n")
        with self.shard("sslmode=verify-full") as shard:
            plain = shard.broker("b0", *flags)
            self.assertEqual(plain.wait(), 2)
            self.assertIn("does not support SSL", plain.said)
            self.hba.write_text("hostssl all broker 127.0.0.1/32 scram-sha-256\n"
                                "host all test 127.0.0.1/32 trust\n")
            self.show_certificate("server")
            plain.start()
            self.assertEqual(plain.wait(), 2)
            self.assertIn("password authentication failed", plain.said)
            without = shard.broker("b3", *flags[:2])
            self.assertEqual(without.wait(), 2)
            self.assertIn("no password supplied", without.said)
            password.write_text("first\n")
            broker = shard.first(*flags)
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            self.show_certificate("expired")
            self.lose(broker, "certificate verify failed")
            self.show_certificate("server")
            self.assertEqual(self.put(shard.wait_active(), "two"), "INSERTED 2")
            self.primary.sql("alter role broker password 'second'")
            self.lose(broker, "password authentication failed")
            password.write_text("second\n")
            broker.signal(signal.SIGHUP)
            self.assertEqual(self.put(shard.wait_active(), "three"), "INSERTED 3")

    def test_what_an_administrator_changes_is_told_and_ends_nothing(self) -> None:
        with self.shard() as shard:
            broker = shard.first()
            self.primary.sql("alter system set fsync = off")
            self.primary.sql("select pg_reload_conf()")
            broker.wait_for("error .*fsync is off, so that confirmed jobs could be lost")
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            self.primary.sql("alter system reset fsync")
            self.primary.sql("select pg_reload_conf()")
            self.primary.sql("alter role broker connection limit 0")
            self.lose(broker, "too many connections for role")
            self.primary.sql("alter role broker connection limit 16")
            self.assertEqual(self.put(shard.wait_active(), "two"), "INSERTED 2")

    @unittest.skipUnless(os.getuid() == 0, "only root mounts")
    def test_a_full_disk_is_only_a_pause(self) -> None:
        disk = MemoryDisk(self.path, 4)
        self.addCleanup(disk.unmount)
        shutil.chown(disk.path, "nobody", "nogroup")
        ballast = disk.path / "ballast"
        self.primary.sql(f"create tablespace small location '{disk.path}'")
        self.primary.sql("grant create on tablespace small to broker; "
                         "alter role broker set default_tablespace = small")
        with self.shard() as shard:
            broker = shard.first()
            with broker.connect() as client:
                self.assertEqual(client.put("one"), "INSERTED 1")
                with ballast.open("wb") as file, suppress(OSError):
                    while True:
                        os.write(file.fileno(), bytes(1 << 16))
                client.send(8 * (b"put 10 0 120 60000\r\n" + bytes(60_000) + b"\r\n"))
                broker.wait_for("PostgreSQL has no space")
                ballast.unlink()
                broker.wait_for("PostgreSQL has space again")
            self.assertRegex(self.put(broker, "two"), "INSERTED")

    def test_a_connection_may_take_long_to_set_up(self) -> None:
        link = self.enterContext(SlowLink(self.primary.port, delay=0.15))
        with self.shard(conninfo=f"host=127.0.0.1 port={link.port} dbname=postgres") as shard:
            shard.flags += ["--replica-lease", "4000"]
            shard.first()

    def test_one_host_that_refuses_does_not_end_the_start(self) -> None:
        other = Servers()
        self.addCleanup(other.close)
        ports = f"{other.primary.port},{self.primary.port}"
        with self.shard(conninfo=f"host=127.0.0.1,127.0.0.1 port={ports} dbname=postgres") as shard:
            self.assertEqual(self.put(shard.first(), "one"), "INSERTED 1")

    def lose(self, broker: Broker, why: str) -> None:
        """Its sessions end, and it gets no others."""
        self.primary.sql("select pg_terminate_backend(pid) from pg_stat_activity "
                         "where usename = 'broker'")
        broker.wait_for(f"no answer from PostgreSQL.*{why}")


if __name__ == "__main__":
    unittest.main()
