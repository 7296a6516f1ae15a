#!/usr/bin/env python3
"""Brokers on three nodes of etcd that are killed, stopped and cut off: failover_test.py BROKER."""

import signal
import socket
import sys
import tempfile
import unittest

from cluster import Client, Shard, eventually, http_get
from ledger import Ledger, Traffic
from on_etcd import OnEtcd, setUpModule  # noqa: F401
from takeover import Takeover

BROKER = sys.argv.pop(1)


class Failover(Takeover, OnEtcd):
    nodes = 3

    def shard(self, lease_ms: int = 30_000) -> Shard:
        return Shard(BROKER, self.etcd, f"/{self.id()}/", lease_ms)

    def test_addresses_of_a_standby_are_bound_and_refuse(self) -> None:
        with tempfile.TemporaryDirectory() as directory, self.shard() as shard:
            active = shard.first()
            path = f"{directory}/socket"
            # The second one is not there until it is moved to this host.
            standby = shard.broker("b2", "--listen", f"unix:{path}", "--listen", "192.0.2.7:4730")
            standby.wait_for("^standby$")
            with socket.socket(socket.AF_UNIX) as probe:
                self.assertRaises(ConnectionRefusedError, probe.connect, path)
            active.signal(signal.SIGUSR2)
            self.assertEqual(active.wait(), 3)
            standby.wait_for(r"^ready 127\.0\.0\.1:\d+ unix:\S+ 192\.0\.2\.7:4730$")
            with Client(0, path=path) as client:
                self.assertEqual(client.put("one"), "INSERTED 1")

    def test_without_its_keys_nobody_goes_on(self) -> None:
        with self.shard() as shard:
            active, standby = shard.pair()
            with active.connect() as client:
                self.etcd.nodes[0].ctl("del", "--prefix", f"/{self.id()}/")
                client.send(b"put 10 0 60 3\r\none\r\n")
                self.assertEqual(client.rest(), b"")
            for broker in (active, standby):
                self.assertEqual(broker.wait(), 1, broker.said)
                self.assertIn("is missing: keys of this journal were deleted", broker.said)

    def test_kill_loses_nothing(self) -> None:
        ledger = Ledger()
        with self.shard(4000) as shard:
            shard.pair()
            shard.broker("b3").wait_for("^standby$")
            with Traffic(shard, ledger):
                for _ in range(5):
                    active = shard.wait_active()
                    before = len(ledger.put)
                    eventually("some jobs", lambda n=before: len(ledger.put) > n + 50)
                    active.signal(signal.SIGKILL)
                    active.wait()
                    shard.make_whole()
            # Once more, so that what is reserved is ready again.
            active = shard.wait_active()
            active.signal(signal.SIGKILL)
            active.wait()
            self.assertEqual(ledger.faults(self.jobs_of(shard.wait_active())), [])
            self.assertGreater(len(ledger.deleted), 0)

    def test_nodes_that_were_stopped_show_nothing_old(self) -> None:
        """A node that goes on is behind the others, and does not know it."""
        ledger = Ledger()
        with self.shard(4000) as shard:
            shard.flags += ["--replica-max-bytes", str(4 << 20)]  # so that parts are trimmed
            shard.pair()
            with Traffic(shard, ledger):
                for node in self.etcd.nodes:
                    node.freeze()
                    before = len(ledger.put)
                    eventually("some jobs", lambda n=before: len(ledger.put) > n + 30)
                    if node is self.etcd.nodes[1]:
                        active = shard.wait_active()
                        active.signal(signal.SIGKILL)
                        node.signal(signal.SIGCONT)
                        active.wait()
                    node.signal(signal.SIGCONT)
                    shard.make_whole()
            active = shard.wait_active()
            active.signal(signal.SIGKILL)
            active.wait()
            self.assertEqual(ledger.faults(self.jobs_of(shard.wait_active())), [])

    def test_the_same_broker_goes_on_when_etcd_is_back(self) -> None:
        with self.shard(6000) as shard:
            active, standby = shard.pair()
            with active.connect() as client:
                self.assertEqual(client.put("one"), "INSERTED 1")
                for node in self.etcd.nodes[:2]:
                    node.kill()
                active.wait_readyz("503 suspended: ")
                standby.wait_readyz("503 no answer from etcd: ")
                standby.wait_readyz("503 no answer from etcd: ", "?role=standby")
                # Clients look elsewhere after another lease.
                self.assertEqual(client.rest(), b"")
            eventually("it refuses", active.refuses)
            self.assertEqual(http_get(active.admin, "/healthz")[0], 200)
            self.assertTrue(active.running)
            self.assertEqual(active.metric("gearstalkd_replica_active"), 0)
            self.assertEqual(active.metric("gearstalkd_replica_suspended_total"), 1)
            for node in self.etcd.nodes[:2]:
                node.start()
            self.etcd.wait()
            serving = shard.wait_active()
            self.assertEqual(self.jobs_of(serving), ["one"])
            self.assertTrue(standby.running)

    def test_a_new_leader_of_etcd_is_only_a_pause(self) -> None:
        ledger = Ledger()
        with self.shard() as shard:
            active, standby = shard.pair()
            with Traffic(shard, ledger):
                for _ in range(2):
                    eventually("some jobs", lambda: len(ledger.put) > 20)
                    leader = self.etcd.leader()
                    leader.kill()
                    before = len(ledger.put)
                    eventually("more jobs", lambda n=before: len(ledger.put) > n + 100)
                    leader.start()
                    self.etcd.wait()
            self.assertTrue(standby.refuses())
            active.signal(signal.SIGTERM)
            self.assertEqual(active.wait(), 0)
            self.assertEqual(ledger.faults(self.jobs_of(shard.wait_active())), [])


if __name__ == "__main__":
    unittest.main()
