#!/usr/bin/env python3
"""What works on the replicated journal beside a broker, and how a broker starts:
tools_test.py BROKER."""

import json
import os
import signal
import socket
import subprocess
import sys
import unittest
from contextlib import suppress
from functools import partial
from pathlib import Path

from cluster import PATIENCE, Broker, Client, Etcd, Shard
from launched import Launched, Process
from on_etcd import OnEtcd, setUpModule  # noqa: F401

BROKER = sys.argv.pop(1)


class OnePrefix(OnEtcd):
    def shard(self, name: str = "") -> Shard:
        # Nobody takes over here; on a busy machine a short lease would run out.
        return Shard(BROKER, self.etcd, f"/{self.id()}{name}/", 60_000)


class Tools(OnePrefix):
    def fill(self, shard: Shard) -> Broker:
        broker = shard.first()
        with broker.connect() as client:
            for body in ("one", "two", "three"):
                client.put(body)
            client.say("delete 2")
        return broker

    def take(self, port: int) -> list[tuple[int, str]]:
        client = Client(port)
        self.addCleanup(client.close)
        return client.take_all()

    def test_check_lists_what_is_there_while_it_is_in_use(self) -> None:
        with self.shard() as shard:
            self.fill(shard)
            done = shard.tool("--journal-check", "etcd")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertRegex(done.stdout, r"(?m)^reign: epoch 1, b1 at 127\.0\.0\.1:\d+, lease 60000 ms$")
            self.assertRegex(done.stdout, r"(?m)^segment \d+ from j/0{15}1: \d+ batches, ")
            self.assertIn("2 live jobs", done.stdout)

    def test_check_names_what_is_damaged(self) -> None:
        with self.shard() as shard:
            self.fill(shard).kill()
            self.etcd.nodes[0].ctl("put", f"/{self.id()}/j/0000000000000002", "no part")
            done = shard.tool("--journal-check", "etcd")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("j/0000000000000002", done.stdout)
            broker = shard.broker("b2")
            self.assertEqual(broker.wait(), 1)
            self.assertIn("j/0000000000000002", broker.said)

    def test_a_newer_format_is_refused(self) -> None:
        node = self.etcd.nodes[0]
        with self.shard() as shard:
            broker = self.fill(shard)
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
            meta = json.loads(node.ctl("get", "--print-value-only", f"/{self.id()}/meta"))
            node.ctl("put", f"/{self.id()}/meta", json.dumps({**meta, "format": 2}))
            broker.start()
            self.assertEqual(broker.wait(), 1)
            self.assertIn("has format 2; this gearstalkd knows formats up to 1", broker.said)
            for words in (("--journal-check", "etcd"), ("--journal-export", str(self.path / "out")),
                          ("--journal-upgrade",)):
                done = shard.tool(*words)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("format 2", done.stderr)
            self.assertFalse((self.path / "out").exists())
            node.ctl("put", f"/{self.id()}/meta", json.dumps(meta))
            broker.start()
            broker.wait_for("^ready ")

    def test_a_hole_is_damage(self) -> None:
        with self.shard() as shard:
            broker = self.fill(shard)
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
            self.etcd.nodes[0].ctl("del", f"/{self.id()}/j/0000000000000003")
            for _ in range(2):  # it changes nothing
                done = shard.tool("--journal-check", "etcd")
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("damaged: j/0000000000000003", done.stdout)
            broker.start()
            self.assertEqual(broker.wait(), 1)
            self.assertIn("j/0000000000000003: is missing", broker.said)

    def test_a_tail_that_hides_acknowledged_jobs_is_damage(self) -> None:
        node = self.etcd.nodes[0]
        tail = f"/{self.id()}/tail"
        with self.shard() as shard:
            broker = self.fill(shard)
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
            for value, says in (('{"seq":2,"oldest":1}', "j/0000000000000003: lies behind the end"),
                                ('{"seq":4,"oldest":3}', "tail: the journal begins with"),
                                ("", "j/0000000000000001: lies behind the end")):
                node.ctl(*(("put", tail, value) if value else ("del", tail)))
                done = shard.tool("--journal-check", "etcd")
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(f"damaged: {says}", done.stdout)
                done = shard.tool("--journal-export", str(self.path / "out"))
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(says, done.stderr)
                broker.start()
                self.assertEqual(broker.wait(), 1)
                self.assertIn(says, broker.said)
            self.assertFalse((self.path / "out").exists())

    def test_a_key_that_is_no_part_is_not_read(self) -> None:
        with self.shard() as shard:
            self.fill(shard)
            self.etcd.nodes[0].ctl("put", f"/{self.id()}/j/notes", "of somebody else")
            done = shard.tool("--journal-check", "etcd")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertIn("2 live jobs", done.stdout)

    def test_a_foreign_writer_ends_it(self) -> None:
        node = self.etcd.nodes[0]
        with self.shard() as shard:
            broker = self.fill(shard)
            node.ctl("put", f"/{self.id()}/tail", '{"seq":99,"oldest":1}')
            with broker.connect() as client:
                client.send(b"put 1 0 60 1\r\nx\r\n")
                self.assertEqual(client.rest(), b"")
            self.assertEqual(broker.wait(), 1)
            self.assertIn(f"/{self.id()}/tail", broker.said)

    def test_deleted_keys_are_named(self) -> None:
        node = self.etcd.nodes[0]
        for key, in_use in (("leader", True), ("tail", True), ("meta", False)):
            with self.subTest(key), self.shard(f".{key}") as shard:
                active, standby = self.fill(shard), shard.broker("b2")
                standby.wait_for("^standby$")
                node.ctl("del", f"/{self.id()}.{key}/{key}")
                for broker in (standby, active)[:2 if in_use else 1]:
                    if broker is active:
                        with suppress(OSError), broker.connect() as client:
                            client.put("x")
                    self.assertEqual(broker.wait(), 1, broker.said)
                    self.assertIn(f"{key} is missing: ", broker.said)

    def test_nobody_founds_a_shard_over_what_is_left_of_a_journal(self) -> None:
        node = self.etcd.nodes[0]
        with self.shard() as shard:
            broker = self.fill(shard)
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
            for key in ("meta", "leader", "beat", "tail"):
                node.ctl("del", f"/{self.id()}/{key}")
            broker.start()
            self.assertEqual(broker.wait(), 1)
            self.assertIn("meta, leader and tail are missing, and j/0000000000000001 is there", broker.said)

    def test_a_broker_whose_fence_is_gone_ends_with_3(self) -> None:
        node = self.etcd.nodes[0]
        with self.shard() as shard:
            broker = self.fill(shard)
            leader = json.loads(node.ctl("get", "--print-value-only", f"/{self.id()}/leader"))
            with broker.connect() as client:
                node.ctl("put", f"/{self.id()}/leader",
                         json.dumps({**leader, "broker": "other", "epoch": 2}))
                client.send(b"put 1 0 60 1\r\nx\r\n")
                self.assertEqual(client.rest(), b"")
            self.assertEqual(broker.wait(), 3)
            broker.start()
            broker.wait_readyz("^503 standby of other at ")

    def test_check_of_an_unused_prefix(self) -> None:
        done = self.shard().tool("--journal-check", "etcd")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("there is no journal below this prefix", done.stderr)

    def test_out_into_a_directory_and_back_into_another_shard(self) -> None:
        out = self.path / "out"
        with self.shard() as shard:
            self.fill(shard)
            done = shard.tool("--journal-export", f"{out}/")
            self.assertEqual(done.returncode, 0, done)
            again = shard.tool("--journal-export", str(out))
            self.assertEqual(again.returncode, 1, "the directory must not exist")
            refused = shard.tool("--journal-import", str(out))
            self.assertEqual(refused.returncode, 1, refused)
            self.assertIn("this shard has a journal already", refused.stderr)
        other = self.shard(".other")
        with Launched(BROKER, "--data-dir", out) as local:
            self.assertEqual(self.take(local.ports[0]), [(1, "one"), (3, "three")])
            locked = other.tool("--journal-import", str(out))
            self.assertEqual(locked.returncode, 1, "the directory is in use")
            local.stop()
        done = other.tool("--journal-import", str(out))
        self.assertEqual(done.returncode, 0, done)
        value = partial(self.etcd.nodes[0].ctl, "get", "--print-value-only")
        leader = json.loads(value(f"/{self.id()}.other/leader"))
        self.assertRegex(leader["id"], "^[0-9a-f]{32}$")
        self.assertTrue(leader["vacant"])
        meta = json.loads(value(f"/{self.id()}.other/meta"))
        self.assertRegex(meta["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        with other:
            broker = other.first()
            with broker.connect() as client:
                self.assertEqual(client.take_all(), [(1, "one"), (3, "three")])
                self.assertEqual(client.put("four"), "INSERTED 4")

    def directory(self, bodies: list[str]) -> Path:
        """A journal directory of jobs that were put, and of which the first one was deleted."""
        with Launched(BROKER, "--data-dir", self.path / "in") as local:
            with Client(local.ports[0]) as client:
                for body in bodies:
                    self.assertRegex(client.put(body), "^INSERTED ")
                self.assertEqual(client.say("delete 1"), "DELETED")
            self.assertEqual(local.stop(), 0)
        return self.path / "in"

    def test_ids_that_were_given_out_are_not_given_again(self) -> None:
        done = self.shard().tool("--journal-import", str(self.directory(["one"])))
        self.assertEqual(done.returncode, 0, done)
        out = self.path / "out"
        with self.shard() as shard:
            broker = shard.first()
            with broker.connect() as client:
                self.assertEqual((client.put("two"), client.say("delete 2")), ("INSERTED 2", "DELETED"))
            done = shard.tool("--journal-export", str(out))
            self.assertEqual(done.returncode, 0, done)
        with Launched(BROKER, "--data-dir", out) as local, Client(local.ports[0]) as client:
            self.assertEqual(client.put("three"), "INSERTED 3")

    def test_what_leaves_no_room_is_not_imported(self) -> None:
        directory = self.directory(["x" * 60_000] * 20)
        shard = self.shard()
        done = shard.tool("--journal-import", str(directory), "--replica-max-bytes", "1200000")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertRegex(done.stderr, r"the live jobs have 114\d{4} bytes; .* replica\.max_bytes 1200000")
        self.assertEqual(self.etcd.nodes[0].ctl("get", "--prefix", f"/{self.id()}/"), "")
        done = shard.tool("--journal-import", str(directory), "--replica-max-bytes", "1500000")
        self.assertEqual(done.returncode, 0, done)

    def test_nobody_starts_from_an_import_that_was_interrupted(self) -> None:
        directory = self.directory(["one", "two"])
        node = self.etcd.nodes[0]
        with self.shard() as shard:
            self.assertEqual(shard.tool("--journal-import", str(directory)).returncode, 0)
            # It writes `meta` last, and before its first part it leads.
            for keys in (("meta",), ("--prefix", "j/"), ("tail",)):
                node.ctl("del", *keys[:-1], f"/{self.id()}/{keys[-1]}")
                for words in (("--journal-import", str(directory)), ("--journal-check", "etcd"),
                              ("--listen", "127.0.0.1:0")):
                    done = shard.tool(*words)
                    self.assertEqual(done.returncode, 1, done)
                    self.assertIn("the import of this journal was not finished", done.stderr)
            node.ctl("del", "--prefix", f"/{self.id()}/")
            self.assertEqual(shard.tool("--journal-import", str(directory)).returncode, 0)

    def test_nothing_is_imported_into_a_shard_that_a_broker_founded(self) -> None:
        directory = self.directory(["one", "two"])
        node = self.etcd.nodes[0]
        with self.shard() as shard:
            broker = shard.first()
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
            # It was killed before its first batch.
            node.ctl("del", f"/{self.id()}/tail")
            node.ctl("del", "--prefix", f"/{self.id()}/j/")
            done = shard.tool("--journal-import", str(directory))
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("delete all keys below the prefix", done.stderr)
            node.ctl("del", "--prefix", f"/{self.id()}/")
            self.assertEqual(shard.tool("--journal-import", str(directory)).returncode, 0)

    def test_an_export_that_fails_leaves_nothing(self) -> None:
        out = self.path / "out"
        with self.shard() as shard:
            self.fill(shard)
            self.etcd.nodes[0].ctl("put", f"/{self.id()}/j/0000000000000004", "no part")
            done = shard.tool("--journal-export", str(out))
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("j/0000000000000004: ", done.stderr)
        self.assertEqual([*self.path.iterdir()], [])

    def test_without_a_place_they_are_used_wrongly(self) -> None:
        for words in (("--journal-check", "etcd"), ("--journal-export", str(self.path / "out")),
                      ("--journal-import", str(self.path)), ("--journal-upgrade",)):
            for more, why in (((), "etcd.endpoints: missing"),
                              (("--etcd-endpoints", "nowhere"), "etcd.endpoints: 'nowhere'")):
                with self.subTest(words + more):
                    done = subprocess.run([BROKER, *words, *more], capture_output=True, text=True,
                                          timeout=PATIENCE, check=False)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                    self.assertIn(why, done.stderr)

    def test_upgrade_of_the_format_there_is(self) -> None:
        with self.shard() as shard:
            self.fill(shard)
            done = shard.tool("--journal-upgrade")
            self.assertEqual((done.returncode, done.stdout),
                             (0, "the journal has format 1 already\n"), done)


class Starting(OnePrefix):
    def refused(self, shard: Shard, *flags: str) -> str:
        done = shard.tool("--listen", "127.0.0.1:0", *flags)
        self.assertEqual(done.returncode, 2, done)
        return done.stderr

    def test_what_a_configuration_may_not_say(self) -> None:
        shard = self.shard()
        wrong = {
            ("--data-dir", str(self.path)): "excludes etcd.endpoints",
            ("--etcd-endpoints", "nowhere"): "etcd.endpoints: 'nowhere'",
            ("--etcd-endpoints", "https://127.0.0.1:1"): "either all begin with https://",
            ("--etcd-prefix", "/no-slash"): "etcd.prefix: '/no-slash'",
            ("--etcd-user", "u", "--etcd-password-file", str(self.path / "none")):
                "etcd.password_file",
        }
        for flags, words in wrong.items():
            with self.subTest(flags):
                self.assertIn(words, self.refused(shard, *flags))
                self.assertIn(words, self.refused(shard, *flags, "--check-config"))

    def test_sync_has_no_meaning(self) -> None:
        for value in ("always", "50ms"):
            done = self.shard().tool("--listen", "127.0.0.1:0", "--sync", value, "--check-config")
            self.assertEqual(done.returncode, 0, done)
            self.assertIn("sync has no meaning with etcd.endpoints", done.stderr)
        self.assertEqual(self.shard().tool("--listen", "127.0.0.1:0", "--check-config").stderr, "")

    def test_without_etcd_there_are_no_threads_of_grpc(self) -> None:
        def threads(broker: Process) -> list[str]:
            names = []
            for path in Path(f"/proc/{broker.pid}/task").glob("*/comm"):
                with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                    names.append(path.read_text().strip())
            return names
        with self.shard() as shard:
            broker = shard.first()
            named = [name for name in threads(broker) if name.startswith("grpc")]
            self.assertNotEqual(named, [])
        with Launched(BROKER) as plain:
            alone = threads(plain)
        self.assertEqual([name for name in alone if name.startswith("grpc")], [])
        self.assertLessEqual(len(alone), 2)

    def test_a_socket_of_the_service_manager_is_refused(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            def inherit() -> None:
                os.dup2(listening.fileno(), 3)
                os.environ["LISTEN_PID"] = str(os.getpid())
            line = ["/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', "sh", BROKER,
                    *self.shard().flags]
            done = subprocess.run(line, preexec_fn=inherit, pass_fds=(3,), capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("socket", done.stderr)

    def test_the_service_manager_is_told_who_it_is(self) -> None:
        etcd = Etcd(1)
        self.addCleanup(etcd.close)
        manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        manager.settimeout(PATIENCE)
        manager.bind(f"{self.path}/notify")

        def hear(what: str) -> None:
            while what not in manager.recv(4096).decode():
                pass
        with Shard(BROKER, etcd, "/told/", 3000) as shard:
            active = shard.first()
            broker = shard.broker("b2", within=["env", f"NOTIFY_SOCKET={self.path}/notify"])
            hear(f"READY=1\nSTATUS=standby of b1 at {active.address}")
            active.signal(signal.SIGKILL)
            hear(f"READY=1\nSTATUS=serving on {broker.address}")
            etcd.nodes[0].kill()
            hear("STATUS=suspended: no answer from etcd")
            hear("STATUS=isolated from etcd")
            etcd.nodes[0].start()
            hear(f"STATUS=serving on {broker.address}")
            broker.signal(signal.SIGUSR2)
            hear("STOPPING=1")
            self.assertEqual(broker.wait(), 3)

    def test_all_brokers_of_a_shard_have_one_server_name(self) -> None:
        with self.shard() as shard:
            shard.broker("b1").wait_for("^ready ")
            other = shard.broker("b2", "--server-name", "other")
            self.assertEqual(other.wait(), 2)
            self.assertIn("server_name: this shard belongs to 'gearstalkd', not to 'other'",
                          other.said)

    def test_endpoints_of_two_clusters_are_refused(self) -> None:
        other = Etcd(1)
        self.addCleanup(other.close)
        with self.shard() as shard:
            broker = shard.broker("b1", "--etcd-endpoints", other.nodes[0].endpoint)
            self.assertEqual(broker.wait(), 2)
            self.assertIn("belong to different clusters", broker.said)

    def test_an_endpoint_of_another_cluster_that_comes_later_is_not_used(self) -> None:
        other = Etcd(1)
        self.addCleanup(other.close)
        other.nodes[0].kill()
        with self.shard() as shard:
            broker = shard.first("--etcd-endpoints", other.nodes[0].endpoint)
            other.nodes[0].start()
            broker.wait_for("an endpoint belongs to another cluster and is not used")
            with broker.connect() as client:
                self.assertEqual(client.put("one"), "INSERTED 1")
            self.assertEqual(other.nodes[0].ctl("get", "--prefix", "--keys-only", "/"), "")
            self.assertEqual(broker.readyz(), (200, "ready"))

    def test_it_waits_for_an_etcd_that_is_not_there(self) -> None:
        etcd = Etcd(1)
        self.addCleanup(etcd.close)
        etcd.nodes[0].kill()
        with Shard(BROKER, etcd, "/late/", 60_000) as shard:
            broker = shard.broker("b1")
            broker.wait_readyz("503 no answer from etcd: ")
            self.assertTrue(broker.refuses())
            etcd.nodes[0].start()
            broker.wait_for("^ready ")
            self.assertEqual(broker.readyz(), (200, "ready"))
            with broker.connect() as client:
                self.assertEqual(client.put("one"), "INSERTED 1")

    def test_a_large_file_of_etcd_is_told(self) -> None:
        node = self.etcd.nodes[0]
        for key in ("x", "y"):
            node.ctl("put", f"/{self.id()}-{key}", text="x" * (1 << 20))
        with self.shard() as shard:
            broker = shard.broker("b1", "--replica-max-bytes", str(1 << 20))
            broker.wait_for(r"the file of etcd is larger than replica\.max_bytes: .*" + node.endpoint)
            broker.wait_for("^ready ")
            self.assertGreater(
                broker.metric("gearstalkd_etcd_db_bytes", f'{{endpoint="{node.endpoint}"}}'), 1 << 20)

    def test_json_on_standard_error_stays_json(self) -> None:
        with self.shard() as shard:
            broker = shard.broker("b1", "--log-format", "json", "--log-level", "error")
            broker.wait_for('"ready"')
            lines = [json.loads(line) for line in broker.said.splitlines()]
            self.assertEqual([line["event"] for line in lines], ["standby", "ready"])

    def test_a_standby_ends_in_order_while_etcd_is_away(self) -> None:
        etcd = Etcd(1)
        self.addCleanup(etcd.close)
        with Shard(BROKER, etcd, "/away/", 60_000) as shard:
            shard.broker("b1").wait_for("^ready ")
            standby = shard.broker("b2")
            standby.wait_for("^standby$")
            etcd.nodes[0].kill()
            standby.signal(signal.SIGTERM)
            self.assertEqual(standby.wait(), 0)

    def test_an_active_broker_ends_in_order_while_etcd_is_away(self) -> None:
        for number, code in ((signal.SIGTERM, 0), (signal.SIGUSR2, 3)):
            etcd = Etcd(1)
            self.addCleanup(etcd.close)
            with self.subTest(number.name), Shard(BROKER, etcd, "/away/", 1000) as shard:
                # It waits for an answer until it is isolated, and longer.
                broker = shard.first("--limits-stop-timeout", "3")
                etcd.nodes[0].kill()
                broker.wait_readyz("503 suspended: ")
                broker.signal(number)
                self.assertEqual(broker.wait(), code, broker.said)

    def test_a_taken_port_is_found_at_the_start(self) -> None:
        with self.shard() as shard, socket.create_server(("127.0.0.1", 0)) as taken:
            shard.broker("b1").wait_for("^ready ")
            port = taken.getsockname()[1]
            done = shard.tool("--listen", f"127.0.0.1:{port}", "--admin", "127.0.0.1:0")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(f"127.0.0.1:{port}", done.stderr)


if __name__ == "__main__":
    unittest.main()
