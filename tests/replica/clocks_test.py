#!/usr/bin/env python3
"""Brokers whose clocks are wrong, run at different speeds, and step: clocks_test.py BROKER CLOCKS."""

import re
import signal
import sys
import time
import unittest
from pathlib import Path

from cluster import PATIENCE, Broker, Client, Clocks, Etcd, Shard, eventually
from gearman import ASSIGNED, CAN_DO, CREATED, GRAB, NO_JOB, SUBMIT_EPOCH, Gearman
from on_etcd import OnEtcd, setUpModule  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from api_client import Api  # noqa: E402  # pylint: disable=wrong-import-position

BROKER, CLOCKS = sys.argv.pop(1), sys.argv.pop(1)
HOUR = 3600


class WrongClocks(OnEtcd):
    def setUp(self) -> None:
        super().setUp()
        self.clocks: dict[str, Clocks] = {}

    def shard(self, lease_ms: int) -> Shard:
        return self.enterContext(Shard(BROKER, self.etcd, f"/{self.id()}/", lease_ms))

    def broker(self, shard: Shard, name: str, **moved: int) -> Broker:
        self.clocks[name] = Clocks(CLOCKS, self.path / name)
        self.clocks[name].set(**moved)
        return shard.broker(name, within=self.clocks[name].before)

    def client(self, broker: Broker) -> Client:
        client = broker.connect()
        self.addCleanup(client.close)
        return client

    def gearman(self, broker: Broker) -> Gearman:
        client = Gearman(broker)
        self.addCleanup(client.close)
        return client

    def test_brokers_whose_clocks_differ_take_over_from_each_other(self) -> None:
        shard = self.shard(6000)
        fast = self.broker(shard, "b1", wall=HOUR, boot=2 * HOUR, percent=1)
        fast.wait_for("^ready ")
        slow = self.broker(shard, "b2", wall=-HOUR, percent=-1)  # a machine may be up for minutes
        slow.wait_for("^standby$")
        client = self.client(fast)
        self.assertEqual([client.put("one"), client.put("two"), client.put("late", 1)],
                         ["INSERTED 1", "INSERTED 2", "INSERTED 3"])
        self.assertEqual(client.say("delete 1"), "DELETED")
        slow.wait_for("the clock of the active broker differs")
        self.assertAlmostEqual(slow.metric("gearstalkd_replica_clock_skew_seconds"), 2 * HOUR,
                               delta=PATIENCE)
        fast.signal(signal.SIGKILL)
        fast.wait()
        self.assertIs(shard.wait_active(), slow)
        client = self.client(slow)
        # What the fast clock had delayed comes when the slow one is there, too.
        self.assertEqual(client.take_all(), [(2, "two")])
        self.assertEqual(client.say("delete 2"), "DELETED")
        new = client.put("new").split()[1]
        fast.start()
        fast.wait_for("^standby$")
        slow.signal(signal.SIGKILL)
        slow.wait()
        self.assertIs(shard.wait_active(), fast)
        self.assertEqual(self.client(fast).take_all(), [(3, "late"), (int(new), "new")])

    def test_a_step_down_without_a_standby_wants_to_be_forced(self) -> None:
        shard = self.shard(6000)
        broker = self.broker(shard, "b1")
        broker.wait_for("^ready ")
        self.clocks["b1"].set(boot=60)
        eventually("it notices", lambda: broker.metric("gearstalkd_replica_suspended_total") >= 1)
        broker.wait_readyz("200 ready")
        api = Api(f"127.0.0.1:{broker.admin}")
        # If it had to acquire the shard anew meanwhile, a standby has 30 s to show itself.
        eventually("it misses a standby", lambda: "standby" in [
            item["kind"] for item in api.get("/attention")["items"]])
        answer = api.ask("POST", "/server/step-down", {})
        self.assertEqual((answer.status, answer.code), (409, "no-standby"))
        self.assertEqual(api.ask("POST", "/server/step-down", {"force": True}).status, 202)
        self.assertEqual(broker.wait(), 3)
        self.assertIn("although no standby has caught up", broker.said)

    def test_a_small_step_of_the_wall_clock_is_followed(self) -> None:
        broker = self.broker(self.shard(30_000), "b1")
        broker.wait_for("^ready ")
        self.clocks["b1"].set(wall=HOUR)
        # With what it was off from the start, if it had lost its CPU there.
        broker.wait_for(r'the wall clock was set milliseconds="?3\d{6}')
        self.clocks["b1"].set(wall=HOUR + 0.02)
        broker.wait_for('the wall clock was set milliseconds="?(19|20|21)"?$')

    def test_a_broker_that_loses_its_cpu_sees_no_step(self) -> None:
        broker = self.broker(self.shard(30_000), "b1")
        broker.wait_for("^ready ")
        self.clocks["b1"].set(delay=0.02)
        client = self.client(broker)
        self.assertEqual(client.put("later", 3), "INSERTED 1")  # the broker compares clocks each second
        self.assertEqual(client.reserve(int(PATIENCE)), (1, "later"))
        self.clocks["b1"].set(wall=HOUR)
        broker.wait_for('the wall clock was set milliseconds="?3[56]')
        self.assertEqual(len(re.findall("the wall clock was set", broker.said)), 1)

    def test_a_step_of_the_wall_clock_moves_no_deadline(self) -> None:
        shard = self.shard(30_000)
        active = self.broker(shard, "b1")
        active.wait_for("^ready ")
        standby = self.broker(shard, "b2")
        standby.wait_for("^standby$")
        client = self.client(active)
        self.assertEqual(client.put("reserved"), "INSERTED 1")
        self.assertEqual(client.reserve(), (1, "reserved"))
        self.assertEqual(client.put("delayed", HOUR // 2), "INSERTED 2")
        for hours in (1, -2, 2):
            self.clocks["b1"].set(wall=hours * HOUR)
            self.assertRegex(self.client(active).put("more", 2), "^INSERTED ")
            self.assertEqual(client.reserve(int(PATIENCE))[1], "more")
            self.assertEqual(active.metric("gearstalkd_jobs", '{state="delayed"}'), 1)
        self.assertEqual(active.metric("gearstalkd_replica_suspended_total"), 0)
        self.assertEqual(standby.readyz(), (503, f"standby of b1 at {active.address}"))

    def test_a_broker_whose_wall_clock_was_set_back_connects_again(self) -> None:
        etcd = Etcd(1)
        self.addCleanup(etcd.close)
        shard = self.enterContext(Shard(BROKER, etcd, "/back/", 6000))
        broker = self.broker(shard, "b1")
        broker.wait_for("^ready ")
        self.clocks["b1"].set(wall=-HOUR)
        time.sleep(11)  # until gRPC's next timer, of its keepalive, should have come
        etcd.nodes[0].kill()
        broker.wait_readyz("503 suspended: ")
        etcd.nodes[0].start()
        etcd.wait()
        broker.wait_readyz("200 ready")
        self.assertRegex(self.client(broker).put("one"), "^INSERTED ")

    def test_a_job_for_a_time_waits_for_the_wall_clock(self) -> None:
        shard = self.shard(30_000)
        active = self.broker(shard, "b1")
        active.wait_for("^ready ")
        worker = self.gearman(active)
        worker.send(CAN_DO, "f")
        # Not so soon that it comes before the clock is set.
        due = str(int(time.time()) + 10)
        self.assertEqual(self.gearman(active).ask(SUBMIT_EPOCH, "f", "", due, "x")[0], CREATED)
        self.clocks["b1"].set(wall=-HOUR)
        # As much time has passed, when this one comes.
        client = self.client(active)
        self.assertRegex(client.put("later", 11), "^INSERTED ")
        self.assertEqual(client.reserve(int(PATIENCE))[1], "later")
        self.assertEqual(worker.ask(GRAB)[0], NO_JOB)
        self.clocks["b1"].set()
        eventually("its time", lambda: worker.ask(GRAB)[0] == ASSIGNED)


if __name__ == "__main__":
    unittest.main()
