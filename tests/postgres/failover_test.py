#!/usr/bin/env python3
"""Brokers on PostgreSQL that are killed and cut off, and its servers: failover_test.py BROKER."""

import select
import signal
import sys
import unittest

from servers import PostgresShard, Servers, eventually, setUpModule  # noqa: F401
from cluster import http_get
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

    def test_a_standby_shows_bodies_that_it_does_not_hold(self) -> None:
        with self.shard() as shard:
            shard.flags += ["--limits-bodies", "1"]
            active, standby = shard.pair()
            body = "x" * 1000
            with active.connect() as client:
                client.put(body)
            where = "gearstalkd_bodies", '{where="journal"}'
            for broker in (active, standby):
                eventually("its body left", lambda b=broker: b.metric(*where) == 1)
                self.assertEqual(http_get(broker.admin, "/api/v1/jobs/1/body"), (200, body))
                self.assertEqual(broker.metric("gearstalkd_body_reads_total"), 1)


class Failover(unittest.TestCase):
    """Each test has servers of its own, some of which it ends."""

    def servers(self, standbys: int) -> Servers:
        servers = Servers(standbys)
        self.addCleanup(servers.close)
        return servers

    def jobs_of(self, shard: PostgresShard) -> list[str]:
        def take() -> list[list[str]]:
            """Again, when the broker was suspended and closed its connections."""
            try:
                with shard.wait_active().connect() as client:
                    return [[body for _, body in client.take_all()]]
            except OSError:
                return []
        return eventually("all jobs", take)[0]

    def put_more(self, ledger: Ledger, count: int) -> None:
        before = len(ledger.put)
        eventually("more jobs", lambda: len(ledger.put) > before + count)

    def end_leader(self, shard: PostgresShard, number: signal.Signals) -> int:
        active = shard.wait_active()
        active.signal(number)
        return active.wait()

    def test_kills_and_ended_sessions_lose_nothing(self) -> None:
        ledger = Ledger()
        servers = self.servers(1)
        with PostgresShard(BROKER, servers, "jobs", 4000) as shard:
            shard.pair()
            with Traffic(shard, ledger):
                for how in ("kill", "terminate", "hand over", "cancel", "settings", "crash"):
                    self.put_more(ledger, 30)
                    if how in ("terminate", "cancel"):
                        for _ in range(5):
                            servers.primary.sql(
                                f"select pg_{how}_backend(pid) from pg_stat_activity "
                                "where application_name like 'gearstalkd/%'")
                            self.put_more(ledger, 5)
                    elif how == "settings":
                        for names in ("", "s1", "", "FIRST 1 (s1)"):
                            servers.primary.sql(
                                f"alter system set synchronous_standby_names = '{names}'")
                            servers.primary.sql("select pg_reload_conf()")
                            self.put_more(ledger, 5)
                    elif how == "crash":
                        servers.primary.stop_at_once()
                        servers.primary.start()
                        self.put_more(ledger, 30)
                    elif how == "kill":
                        self.end_leader(shard, signal.SIGKILL)
                    else:
                        self.assertEqual(self.end_leader(shard, signal.SIGUSR2), 3)
                    shard.make_whole()
            # What is reserved is ready again with the next broker.
            self.end_leader(shard, signal.SIGKILL)
            self.assertEqual(ledger.faults(self.jobs_of(shard)), [])
            self.assertGreater(len(ledger.deleted), 0)

    def test_bodies_stay_on_the_server_and_are_those_of_their_jobs(self) -> None:
        ledger = Ledger()
        servers = self.servers(1)
        with PostgresShard(BROKER, servers, "jobs", 4000) as shard:
            # Segments are short, so that jobs are carried forward and parts are dropped.
            shard.flags += ["--limits-bodies", "1", "--replica-max-bytes", str(64 << 20)]
            shard.pair()
            first = servers.primary.sql("select inhrelid::regclass from pg_inherits "
                                        "where inhparent = 'jobs.part'::regclass").split()[0]
            with Traffic(shard, ledger, consumers=3, body_size=1500):
                for how in ("kill", "terminate", "hand over", "crash", "kill"):
                    self.put_more(ledger, 100)
                    if how == "terminate":
                        for _ in range(5):
                            servers.primary.sql(
                                "select pg_terminate_backend(pid) from pg_stat_activity "
                                "where application_name like 'gearstalkd/%'")
                            self.put_more(ledger, 20)
                    elif how == "crash":
                        servers.primary.stop_at_once()
                        servers.primary.start()
                    else:
                        number = signal.SIGKILL if how == "kill" else signal.SIGUSR2
                        self.end_leader(shard, number)
                    shard.make_whole()
                eventually("parts are dropped", lambda: servers.primary.sql(
                    f"select to_regclass('{first}') is null") == "t")
            self.end_leader(shard, signal.SIGKILL)
            active = shard.wait_active()
            left = len(ledger.put - ledger.deleted)
            where = "gearstalkd_bodies", '{where="journal"}'
            self.assertGreater(active.metric(*where), 0)
            self.assertEqual(active.metric("gearstalkd_bodies", '{where="memory"}'), 0)
            self.assertEqual(ledger.faults(self.jobs_of(shard)), [])
            self.assertGreaterEqual(active.metric("gearstalkd_body_reads_total"), min(left, 1))
            self.assertEqual(active.metric("gearstalkd_bodies_damaged_total"), 0)

    def test_a_dump_holds_up_nothing_but_what_is_dropped(self) -> None:
        servers = self.servers(0)
        with PostgresShard(BROKER, servers, "jobs") as shard:
            broker = shard.first("--replica-max-bytes", str(4 << 20))
            partitions = "select string_agg(inhrelid::regclass::text, ' ') from pg_inherits " \
                         "where inhparent = 'jobs.part'::regclass"
            with broker.connect() as client, servers.primary.session() as dump:
                dump("begin isolation level repeatable read; select count(*) from jobs.part")
                first = servers.primary.sql(partitions).split()[0]

                for _ in range(200):
                    client.put("x" * 4000)
                    client.say(f"delete {client.reserve()[0]}")
                self.assertGreater(len(servers.primary.sql(partitions).split()), 2)
                self.assertIn(first, servers.primary.sql(partitions).split())
                dump("commit")
                eventually("the first partition is dropped",
                           lambda: first not in servers.primary.sql(partitions).split())

    def test_a_promotion_is_only_a_pause_and_two_primaries_are_seen(self) -> None:
        ledger = Ledger()
        servers = self.servers(2)
        with PostgresShard(BROKER, servers, "jobs", 20_000) as shard:
            active, standby = shard.pair()
            with Traffic(shard, ledger):
                self.put_more(ledger, 30)
                for server in servers.standbys:
                    server.stop_at_once()
                with active.connect() as client:
                    ledger.note(ledger.asked, "unconfirmed")
                    client.send(b"put 10 0 120 11\r\nunconfirmed\r\n")
                    active.wait_for("no answer from PostgreSQL.*a commit waits for a synchronous standby")
                    self.assertEqual(select.select([client.socket], [], [], 0)[0], [])
                for server in servers.standbys:
                    server.start()
                self.put_more(ledger, 30)
                old = servers.promote()
                self.put_more(ledger, 30)
            self.assertIn("timeline=2", active.said)
            old.start()
            old.wait_up()
            active.signal(signal.SIGTERM)
            self.assertEqual(active.wait(), 0)
            standby.wait_readyz("503 this broker cannot lead: two servers are primary")
            old.stop_at_once()
            self.assertEqual(ledger.faults(self.jobs_of(shard)), [])


if __name__ == "__main__":
    unittest.main()
