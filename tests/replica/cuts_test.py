#!/usr/bin/env python3
"""Brokers and nodes of etcd that are cut off from each other: cuts_test.py BROKER [--rounds N].

With --rounds, only the active broker and etcd's leader are cut off together, so many times.
"""

import statistics
import sys
import time
import unittest

from cluster import ETCD, Broker, eventually
from islands import Islands, enter
from ledger import Ledger, Traffic

ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 0
BROKER = sys.argv[1]
# Outages are measured with the lease that brokers have; otherwise none runs out on a busy machine.
LEASE = 2000 if ROUNDS else 6000  # ms
WHY_NOT = "there is no etcd" if ETCD is None else enter()


def setUpModule() -> None:  # pylint: disable=invalid-name
    if WHY_NOT:
        raise unittest.SkipTest(WHY_NOT)


class Cuts(unittest.TestCase):
    islands: Islands

    @classmethod
    def setUpClass(cls) -> None:
        cls.islands = Islands(BROKER, LEASE)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.islands.close()

    def setUp(self) -> None:
        self.shard = self.islands.shard
        self.active = self.shard.wait_active()
        self.standby = self.islands.other(self.active)
        self.ledger = Ledger()
        self.addCleanup(self.islands.heal)

    def check(self) -> None:
        """Hands over, so that what is reserved is ready again, and takes everything."""
        last = self.shard.wait_active()
        self.stand_by(self.islands.other(last))
        last.kill()
        serving = self.shard.wait_active(but=last)
        last.start()
        with serving.connect() as client:
            jobs = client.take_all()
            self.assertEqual(self.ledger.faults([body for _, body in jobs]), [])
            for job, _ in jobs:
                self.assertEqual(client.say(f"delete {job}"), "DELETED")
        self.assertGreater(len(self.ledger.deleted), 0)
        self.stand_by(last)

    def stand_by(self, broker: Broker) -> None:
        if not broker.running:
            broker.start()
        broker.wait_readyz("^503 standby of ")

    def some_jobs(self) -> None:
        before = len(self.ledger.put)
        eventually("some jobs", lambda: len(self.ledger.put) > before + 20)

    def takeover(self, cut: object, heal: object) -> float:
        """Seconds until another broker serves. The one that was cut off does nothing more."""
        active = self.shard.wait_active()
        other = self.islands.other(active)
        with active.connect() as before:
            body = f"kept-{time.monotonic_ns()}"
            self.ledger.note(self.ledger.asked, body)
            self.assertRegex(before.put(body), "^INSERTED ")
            self.ledger.note(self.ledger.put, body)
            began = time.monotonic()
            cut(active)
            self.assertIs(self.shard.wait_active(but=active), other)
            outage = time.monotonic() - began
            # It reads this when it may not act any more.
            before.send(b"reserve-with-timeout 0\r\nput 10 0 60 3\r\nbad\r\n")
            self.assertEqual(before.rest(), b"")
        self.some_jobs()
        heal(active)
        self.assertEqual(active.wait(), 3, active.said)
        self.assertIn("another broker leads", active.said)
        self.stand_by(active)
        return outage

    def move(self, *those: object) -> None:
        for each in those:
            self.islands.host(each).move("island")

    def island_of_leaders(self) -> float:
        leader = self.islands.etcd.leader()
        return self.takeover(lambda active: self.move(active, leader),
                             lambda _: self.islands.heal())


class EachCut(Cuts):
    def test_the_active_broker_that_clients_still_reach(self) -> None:
        with Traffic(self.shard, self.ledger):
            self.takeover(self.move, lambda _: self.islands.heal())
        self.check()

    def test_the_active_broker_together_with_the_leader_of_etcd(self) -> None:
        with Traffic(self.shard, self.ledger):
            self.island_of_leaders()
        self.check()

    def test_a_standby(self) -> None:
        with Traffic(self.shard, self.ledger):
            self.move(self.standby)
            self.standby.wait_readyz("^503 no answer from etcd: ")
            self.some_jobs()
            self.islands.heal()
            self.standby.wait_readyz(f"^503 standby of {self.active.name} ")
        self.check()

    def test_the_active_broker_that_hears_no_answers(self) -> None:
        """What it asks for is done, until its connections are given up."""
        nodes = self.islands.nodes
        with Traffic(self.shard, self.ledger):
            self.takeover(lambda active: [node.lose(self.islands.host(active)) for node in nodes],
                          lambda active: [node.find(self.islands.host(active)) for node in nodes])
        self.check()

    def test_the_active_broker_whose_requests_are_lost(self) -> None:
        nodes = self.islands.nodes
        with Traffic(self.shard, self.ledger):
            self.takeover(lambda active: [self.islands.host(active).lose(node) for node in nodes],
                          lambda active: [self.islands.host(active).find(node) for node in nodes])
        self.check()


class Rounds(Cuts):
    def test_rounds(self) -> None:
        outages = []
        with Traffic(self.shard, self.ledger):
            for number in range(ROUNDS):
                outages.append(self.island_of_leaders())
                print(f"round {number + 1}: {outages[-1]:.2f} s, {len(self.ledger.put)} put, "
                      f"{len(self.ledger.deleted)} deleted", flush=True)
        print(f"median {statistics.median(outages):.2f} s, longest {max(outages):.2f} s")
        self.check()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], defaultTest="Rounds" if ROUNDS else "EachCut")
