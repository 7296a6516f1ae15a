"""What brokers do on whichever store keeps their journal."""

import signal

from cluster import Broker, Shard, eventually, http_get
from ledger import Ledger, Traffic


class Takeover:
    """Tests of a unittest.TestCase that has `shard`."""

    # Where a test waits for the end of a lease it is short, otherwise so long that no broker is
    # suspended on a machine that has other things to do.
    def shard(self, lease_ms: int = 30_000) -> Shard:
        raise NotImplementedError

    def jobs_of(self, broker: Broker) -> list[str]:
        with broker.connect() as client:
            return [body for _, body in client.take_all()]

    def test_what_others_see_of_a_standby(self) -> None:
        with self.shard() as shard:
            active, standby = shard.pair()
            self.assertEqual(active.readyz(), (200, "ready"))
            self.assertEqual(active.readyz("?role=standby"), (200, "ready"))
            self.assertEqual(standby.readyz(), (503, f"standby of b1 at {active.address}"))
            self.assertEqual(standby.readyz("?role=standby"), (200, "ready"))
            self.assertTrue(standby.refuses())
            for broker in (active, standby):
                self.assertEqual(http_get(broker.admin, "/healthz")[0], 200)
            for broker, values in ((active, (1, 0, 0)), (standby, (0, 1, 0))):
                names = ("active", "caught_up", "suspended_total")
                self.assertEqual(tuple(broker.metric(f"gearstalkd_replica_{name}") for name in names),
                                 values)
                self.assertEqual(broker.metric("gearstalkd_replica_epoch"), 1)
                self.assertGreater(broker.metric("gearstalkd_replica_log_bytes"), 0)
            self.assertGreater(active.metric("gearstalkd_replica_lease_left_seconds"), 0)
            with active.connect() as client:
                client.put("one")
            eventually("its copy", lambda: standby.metric("gearstalkd_jobs", '{state="ready"}') == 1)
            standby.signal(signal.SIGUSR2)
            standby.wait_for("not stepping down")
            self.assertEqual(standby.readyz()[0], 503)
            standby.signal(signal.SIGTERM)
            self.assertEqual(standby.wait(), 0)
            self.assertEqual(active.readyz(), (200, "ready"))

    def test_hand_over(self) -> None:
        ledger = Ledger()
        with self.shard() as shard:
            shard.pair()
            with Traffic(shard, ledger):
                for number, code in ((signal.SIGUSR2, 3), (signal.SIGTERM, 0), (signal.SIGUSR2, 3)):
                    active = shard.wait_active()
                    before = len(ledger.put)
                    eventually("some jobs", lambda n=before: len(ledger.put) > n + 20)
                    active.signal(number)
                    self.assertEqual(active.wait(), code, active.said)
                    self.assertNotIn(" error ", active.said)
                    shard.wait_active()
                    active.start()
                    active.wait_for("^standby$")
            last = shard.wait_active()
            last.signal(signal.SIGTERM)
            self.assertEqual(last.wait(), 0)
            self.assertEqual(ledger.faults(self.jobs_of(shard.wait_active())), [])

    def test_a_frozen_broker_gives_nothing_out(self) -> None:
        with self.shard(6000) as shard:
            frozen, standby = shard.pair()
            with frozen.connect() as producer, frozen.connect() as worker:
                self.assertEqual(producer.put("one"), "INSERTED 1")
                frozen.signal(signal.SIGSTOP)
                # It finds these when it goes on.
                worker.send(b"reserve\r\n")
                producer.send(b"put 10 0 60 3\r\ntwo\r\n")
                standby.wait_for("^ready ")
                self.assertEqual(self.jobs_of(standby), ["one"])
                frozen.signal(signal.SIGCONT)
                self.assertEqual(frozen.wait(), 3)
                self.assertEqual([producer.rest(), worker.rest()], [b"", b""])
            self.assertIn("another broker leads", frozen.said)
            frozen.start()
            frozen.wait_readyz(f"503 standby of b2 at {standby.address}")

    def test_a_short_stop_is_only_a_pause(self) -> None:
        with self.shard(60_000) as shard:
            active, standby = shard.pair()
            with active.connect() as client:
                active.signal(signal.SIGSTOP)
                client.send(b"put 10 0 60 3\r\none\r\n")
                active.signal(signal.SIGCONT)
                self.assertEqual(client.line(), "INSERTED 1")
            self.assertEqual(standby.readyz()[0], 503)
