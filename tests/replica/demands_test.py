#!/usr/bin/env python3
"""What etcd demands and what it lacks, passwords, certificates and space: demands_test.py BROKER."""

import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cluster import ETCD, Broker, Etcd, Shard, eventually
from certificates import Certificates
from gearman import ERROR, SUBMIT_BG, Gearman
from slow_link import SlowLink

BROKER = sys.argv.pop(1)


def setUpModule() -> None:  # pylint: disable=invalid-name
    if ETCD is None:
        raise unittest.SkipTest("there is no etcd")


class Demands(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def etcd(self, *flags: str, wait: bool = True) -> Etcd:
        etcd = Etcd(1, *flags, wait=wait)
        self.addCleanup(etcd.close)
        return etcd

    def put(self, broker: Broker, body: str) -> str:
        with broker.connect() as client:
            return client.put(body)


class Password(Demands):
    def setUp(self) -> None:
        super().setUp()
        self.one = self.etcd()
        node = self.one.nodes[0]
        node.ctl("user", "add", "root:secret")
        node.ctl("user", "grant-role", "root", "root")
        node.ctl("role", "add", "jobs")
        node.ctl("role", "grant-permission", "jobs", "readwrite", "--prefix=true", "/jobs/")
        node.ctl("user", "add", "broker:first")
        node.ctl("user", "grant-role", "broker", "jobs")
        self.enable(True)
        self.password = self.path / "password"

    def enable(self, on: bool) -> None:
        self.one.nodes[0].ctl(*([] if on else ["--user=root:secret"]), "auth", "enable" if on else "disable")

    def shard(self, password: str, prefix: str = "/jobs/") -> Shard:
        self.password.write_text(f"{password}\nnot this line\n")
        shard = Shard(BROKER, self.one, prefix, 30_000)
        shard.flags += ["--etcd-user", "broker", "--etcd-password-file", str(self.password)]
        return shard

    def test_rights_to_the_prefix_are_enough(self) -> None:
        with self.shard("first") as shard:
            broker, _ = shard.pair()
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            # A node that comes back has forgotten all tokens.
            self.one.nodes[0].kill()
            self.one.nodes[0].start()
            self.assertRegex(self.put(shard.wait_active(), "two"), "^INSERTED ")
            done = shard.tool("--journal-check", "etcd")
            self.assertEqual(done.returncode, 0, done)

    def test_what_is_refused_at_the_start_is_the_configuration(self) -> None:
        for password, prefix in (("wrong", "/jobs/"), ("first", "/others/")):
            with self.subTest(password), self.shard(password, prefix) as shard:
                broker = shard.broker("b1")
                self.assertEqual(broker.wait(), 2)
                self.assertIn("etcd refuses", broker.said)

    def test_it_may_be_asked_for_and_not_while_brokers_run(self) -> None:
        with self.shard("first") as shard:
            broker, standby = shard.pair()
            for number, on in enumerate((False, True, False, True)):
                self.enable(on)
                self.assertEqual(self.put(broker, "x"), f"INSERTED {number + 1}")
                eventually("its copy", lambda n=number: standby.metric(
                    "gearstalkd_jobs", '{state="ready"}') == n + 1)

    def test_without_a_user_it_does_not_start(self) -> None:
        with Shard(BROKER, self.one, "/jobs/", 30_000) as shard:
            broker = shard.broker("b1")
            self.assertEqual(broker.wait(), 2)
            self.assertIn("etcd refuses: ", broker.said)

    def test_rights_that_are_taken_and_given_back_are_a_pause(self) -> None:
        node = self.one.nodes[0]
        right = ("jobs", "--prefix=true", "/jobs/")
        with self.shard("first") as shard:
            shard.flags[shard.flags.index("--replica-lease") + 1] = "6000"
            broker = shard.first()
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            node.ctl("--user=root:secret", "role", "revoke-permission", *right)
            broker.wait_readyz("503 suspended: no answer from etcd: .*permission denied")
            broker.wait_for("etcd refuses a request; it is repeated each second")
            node.ctl("--user=root:secret", "role", "grant-permission", right[0], "readwrite", *right[1:])
            broker.wait_readyz("200 ready")
            self.assertEqual(self.put(broker, "two"), "INSERTED 2")

    def test_a_broker_that_may_beat_and_not_append_is_not_ready(self) -> None:
        node = self.one.nodes[0]
        with self.shard("first") as shard:
            broker = shard.first()
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")

            def role(*words: str) -> None:
                node.ctl("--user=root:secret", "role", *words)

            role("grant-permission", "jobs", "readwrite", "/jobs/beat")
            role("revoke-permission", "jobs", "--prefix=true", "/jobs/")
            role("grant-permission", "jobs", "read", "--prefix=true", "/jobs/")
            with broker.connect() as client:
                client.send(b"put 0 0 10 3\r\ntwo\r\n")
                broker.wait_readyz("503 no answer from etcd: .*permission denied")
                role("grant-permission", "jobs", "readwrite", "--prefix=true", "/jobs/")
                self.assertEqual(client.line(), "INSERTED 2")
            broker.wait_readyz("200 ready")

    def test_a_reload_that_fails_changes_no_password(self) -> None:
        log = self.path / "log"
        log.mkdir()
        with self.shard("first") as shard:
            broker = shard.broker("b1", "--log-to", f"file:{log}/broker.log")
            broker.wait_readyz("200 ready")
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            with (log / "broker.log").open() as told:
                (log / "broker.log").unlink()
                log.rmdir()
                self.password.write_text("wrong\n")
                broker.signal(signal.SIGHUP)
                eventually("it is refused", lambda: "was not reloaded" in told.read())
            self.assertEqual(self.put(broker, "two"), "INSERTED 2")

    def test_a_new_password_is_read_at_a_reload(self) -> None:
        with self.shard("first") as shard:
            broker = shard.first()
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            self.one.nodes[0].ctl("--user=root:secret", "user", "passwd", "broker",
                                  "--interactive=false", text="second")
            self.password.write_text("second\n")
            broker.signal(signal.SIGHUP)
            broker.wait_for("reloaded|configuration")
            self.assertEqual(self.put(shard.wait_active(), "two"), "INSERTED 2")
            self.assertTrue(broker.running)


class Tls(Demands):
    def setUp(self) -> None:
        super().setUp()
        self.certificates = Certificates(self.path)
        self.certificates.authority("ca")

    def test_both_sides_show_one(self) -> None:
        self.certificates.authority("other")
        for name in ("node", "broker"):
            self.certificates.sign(name)
        etcd = self.etcd(f"--cert-file={self.path}/node.pem", f"--key-file={self.path}/node.key",
                         "--client-cert-auth", f"--trusted-ca-file={self.path}/ca.pem", wait=False)
        with Shard(BROKER, etcd, "/tls/", 30_000) as shard:
            shard.flags += ["--etcd-certificate", f"{self.path}/broker.pem",
                            "--etcd-key", f"{self.path}/broker.key"]
            broker = shard.first("--etcd-ca", f"{self.path}/ca.pem")
            self.assertEqual(self.put(broker, "one"), "INSERTED 1")
            stranger = shard.broker("b2", "--etcd-ca", f"{self.path}/other.pem")
            stranger.wait_readyz("503 no answer from etcd: ")
            # What it trusts now is read at a reload.
            (self.path / "trusted.pem").write_bytes((self.path / "other.pem").read_bytes())
            learner = shard.broker("b3", "--etcd-ca", f"{self.path}/trusted.pem")
            learner.wait_readyz("503 no answer from etcd: ")
            (self.path / "trusted.pem").write_bytes((self.path / "ca.pem").read_bytes())
            learner.signal(signal.SIGHUP)
            learner.wait_readyz("503 standby of b1 ")

    def test_a_node_that_does_not_speak_tls_is_told_from_one_that_is_away(self) -> None:
        etcd = self.etcd()
        with Shard(BROKER, etcd, "/tls/", 30_000) as shard:
            shard.flags[shard.flags.index(etcd.nodes[0].url)] = f"https://{etcd.nodes[0].endpoint}"
            broker = shard.broker("b1", "--etcd-ca", f"{self.path}/ca.pem")
            broker.wait_readyz("503 no answer from etcd: .* without https://")


class Links(Demands):
    def beside(self, port: int, name: str) -> Broker:
        """A broker whose etcd is at that port."""
        shard = self.enterContext(Shard(BROKER, self.one, "/jobs/", 10_000))
        shard.flags[shard.flags.index(self.one.nodes[0].url)] = f"127.0.0.1:{port}"
        return shard.broker(name)

    def setUp(self) -> None:
        super().setUp()
        self.one = self.etcd()

    def test_a_connection_may_take_long_to_set_up(self) -> None:
        link = self.enterContext(SlowLink(self.one.nodes[0].port, delay=0.5))
        self.beside(link.port, "b1").wait_for("^ready ")

    def test_a_slow_link_does_not_carry_the_journal_many_times(self) -> None:
        with Shard(BROKER, self.one, "/jobs/", 10_000) as shard:
            active = shard.first()
            for _ in range(20):
                self.assertRegex(self.put(active, "x" * 60_000), "^INSERTED ")
            link = self.enterContext(SlowLink(self.one.nodes[0].port, rate=200_000))
            self.beside(link.port, "b2").wait_for("^standby$")


class Space(Demands):
    def test_without_space_a_broker_says_that_it_cannot_lead(self) -> None:
        etcd = self.etcd("--quota-backend-bytes=4000000")
        node = etcd.nodes[0]
        with Shard(BROKER, etcd, "/jobs/", 1000) as shard:
            broker = shard.first()
            full = False
            while not full:
                try:
                    node.ctl("put", "/filler", text="x" * 1_000_000)
                except AssertionError as error:
                    full = "space exceeded" in str(error)
                    self.assertTrue(full, error)
            broker.kill()
            for _ in range(2):  # of a shard that was there, and of one that is to be founded
                broker.start()
                broker.wait_readyz("503 this broker cannot lead: etcd has no space: ")
                self.assertTrue(broker.running)
                broker.kill()
                node.ctl("del", "--prefix", "/jobs/")

    def test_without_space_nothing_is_lost_and_it_comes_back(self) -> None:
        etcd = self.etcd("--quota-backend-bytes=20000000")
        node = etcd.nodes[0]
        with Shard(BROKER, etcd, "/jobs/", 6000) as shard:
            active, standby = shard.pair()
            # What is deleted later makes the room. It is more than the megabytes by which jobs exceed
            # the quota before etcd notices.
            for key in range(9):
                if node.status()["dbSize"] < 12_000_000:  # values may take their space twice
                    node.ctl("put", f"/filler/{key}", text="x" * 1_400_000)
            acknowledged = self.fill(active)
            active.wait_readyz("503 etcd has no space")
            # It holds on: another one does not lead, and jobs are given out.
            standby.wait_for("etcd has no space for a new leader")
            with active.connect() as client:
                self.assertEqual(client.put("more"), "OUT_OF_MEMORY")
                job = client.reserve()
                self.assertIsNotNone(job)
                self.assertEqual(active.metric("gearstalkd_replica_active"), 1)
            eventually("no beat", lambda: node.ctl("get", "/jobs/beat") == "")
            # Between the space and the first beat it could take over.
            standby.freeze()
            node.ctl("del", "--prefix", "/filler/")
            node.ctl("compact", "--physical", str(node.status()["header"]["revision"]))
            node.ctl("defrag")
            node.ctl("alarm", "disarm")
            active.wait_readyz("200 ready")
            self.assertRegex(self.put(active, "after"), "^INSERTED ")
            standby.signal(signal.SIGCONT)
            active.signal(signal.SIGKILL)
            active.wait()
            with shard.wait_active().connect() as client:
                bodies = {body[:8] for _, body in client.take_all()}
            self.assertEqual(acknowledged - bodies, set())
            self.assertIn("after", bodies)

    def test_above_its_limit_only_deletions_are_taken(self) -> None:
        with Shard(BROKER, self.etcd(), "/jobs/", 30_000) as shard:
            broker = shard.first("--replica-max-bytes", "2000000")
            there = len(self.fill(broker))
            self.assertEqual(broker.readyz(), (503, "replica.max_bytes is reached"))
            self.assertEqual(broker.readyz("?role=standby")[0], 503)
            self.assertLess(broker.metric("gearstalkd_replica_log_bytes"), 2_000_000)
            self.assertEqual(broker.metric("gearstalkd_replica_max_bytes"), 2_000_000)
            client = Gearman(broker)
            self.addCleanup(client.close)
            self.assertEqual(client.ask(SUBMIT_BG, "f", "", "x")[0], ERROR)
            with broker.connect() as client:
                self.assertEqual(client.put("x"), "OUT_OF_MEMORY")
                for job in range(1, there + 1):
                    self.assertEqual(client.say(f"delete {job}"), "DELETED")
                broker.wait_readyz("200 ready")
                self.assertRegex(client.put("x"), "^INSERTED ")

    def fill(self, broker: Broker) -> set[str]:
        """Jobs until there is no space; those that were acknowledged."""
        acknowledged = set()
        for number in range(1000):
            body = f"{number:08}" + "x" * 60_000
            try:
                with broker.connect() as client:
                    answer = client.put(body)
            except OSError:
                return acknowledged  # it waited for the space
            if answer == "OUT_OF_MEMORY":
                return acknowledged
            self.assertRegex(answer, "^INSERTED ")
            acknowledged.add(body[:8])
        raise AssertionError("it never fills")


if __name__ == "__main__":
    unittest.main()
