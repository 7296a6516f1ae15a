#!/usr/bin/env python3
"""Brokers on PostgreSQL that are killed and cut off, and its servers: failover_test.py BROKER."""

import signal
import sys
import unittest

from servers import PostgresShard, Servers, eventually, setUpModule  # noqa: F401
from cluster import Broker
from ledger import Ledger, Traffic
from takeover import Takeover

BROKER = sys.argv.pop(1)


class OnOneServer(Takeover, unittest.TestCase):
    servers: Servers

    @classmethod
    def setUpClass(cls) -> None:
        cls.servers = Servers()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.servers.close()

    def shard(self, lease_ms: int = 30_000) -> PostgresShard:
        return PostgresShard(BROKER, self.servers, self.id().rpartition(".")[2], lease_ms)


class Failover(unittest.TestCase):
    """Each test has servers of its own, some of which it ends."""

    def servers(self, standbys: int) -> Servers:
        servers = Servers(standbys)
        self.addCleanup(servers.close)
        return servers

    def jobs_of(self, broker: Broker) -> list[str]:
        with broker.connect() as client:
            return [body for _, body in client.take_all()]

    def put_more(self, ledger: Ledger, count: int) -> None:
        before = len(ledger.put)
        eventually("more jobs", lambda: len(ledger.put) > before + count)

    def test_kills_and_ended_sessions_lose_nothing(self) -> None:
        ledger = Ledger()
        servers = self.servers(1)
        with PostgresShard(BROKER, servers, "jobs", 4000) as shard:
            shard.pair()
            with Traffic(shard, ledger):
                for how in ("kill", "terminate", "hand over", "cancel", "crash"):
                    active = shard.wait_active()
                    self.put_more(ledger, 30)
                    if how in ("terminate", "cancel"):
                        for _ in range(5):
                            servers.primary.sql(
                                f"select pg_{how}_backend(pid) from pg_stat_activity "
                                "where application_name like 'gearstalkd/%'")
                            self.put_more(ledger, 5)
                    elif how == "crash":
                        servers.primary.stop_at_once()
                        servers.primary.start()
                        self.put_more(ledger, 30)
                    else:
                        active.signal(signal.SIGKILL if how == "kill" else signal.SIGUSR2)
                        active.wait()
                        shard.wait_active(but=active)
                        active.start()
                        active.wait_for("^standby$")
            active = shard.wait_active()
            active.signal(signal.SIGKILL)
            active.wait()
            self.assertEqual(ledger.faults(self.jobs_of(shard.wait_active())), [])
            self.assertGreater(len(ledger.deleted), 0)

    def test_a_promotion_is_only_a_pause_and_two_primaries_are_seen(self) -> None:
        ledger = Ledger()
        servers = self.servers(2)
        with PostgresShard(BROKER, servers, "jobs", 6000) as shard:
            active, standby = shard.pair()
            with Traffic(shard, ledger):
                self.put_more(ledger, 30)
                # Nothing is confirmed without a standby.
                for server in servers.standbys:
                    server.stop_at_once()
                active.wait_readyz("503 suspended: ")
                for server in servers.standbys:
                    server.start()
                self.assertIs(shard.wait_active(), active)
                self.put_more(ledger, 30)
                servers.primary.stop_at_once()
                servers.standbys[0].promote()
                self.put_more(ledger, 30)
            self.assertIn("timeline=2", active.said)
            # The other one that was primary before comes back.
            servers.primary.start()
            servers.primary.wait_up()
            active.signal(signal.SIGKILL)
            active.wait()
            standby.wait_readyz("503 this broker cannot lead: two servers are primary")
            servers.primary.stop_at_once()
            self.assertEqual(ledger.faults(self.jobs_of(shard.wait_active())), [])


if __name__ == "__main__":
    unittest.main()
