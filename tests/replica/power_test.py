#!/usr/bin/env python3
"""The power of etcd's disks is cut under busy brokers: power_test.py BROKER."""

import sys
import tempfile
import unittest
from pathlib import Path

from cluster import ETCD, Etcd, Shard, eventually
from ledger import Ledger, Traffic

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "powercut"))
from disk import CannotMount, Disk  # noqa: E402  # pylint: disable=wrong-import-position

BROKER = sys.argv.pop(1)
MEGABYTES = 512  # of an image that takes what is written


def setUpModule() -> None:  # pylint: disable=invalid-name
    if ETCD is None:
        raise unittest.SkipTest("there is no etcd")


class Power(unittest.TestCase):
    """Three nodes of etcd, each with a disk of its own, and two brokers."""

    def setUp(self) -> None:
        self.disks: list[Disk] = []
        for _ in range(3):
            directory = tempfile.TemporaryDirectory(prefix="gearstalk-power-")
            self.addCleanup(directory.cleanup)
            try:
                self.disks.append(Disk(Path(directory.name), MEGABYTES))
            except CannotMount as reason:
                self.skipTest(str(reason))
            self.addCleanup(self.disks[-1].unmount)
        self.etcd = Etcd(directories=[disk.path for disk in self.disks])
        self.addCleanup(self.etcd.close)
        self.shard = self.enterContext(Shard(BROKER, self.etcd, "/power/", 6000))
        for name in ("b1", "b2"):
            self.shard.broker(name)
        self.shard.wait_active()
        self.ledger = Ledger()

    def some_jobs(self) -> None:
        before = len(self.ledger.put)
        eventually("some jobs", lambda: len(self.ledger.put) > before + 200)

    def cut_power(self, *numbers: int) -> None:
        """Cuts the power of machines. Their nodes stop first: while ext4 is shut down, a sync can
        report success although its bytes are lost, and no node may act on that."""
        for number in numbers:
            self.etcd.nodes[number].freeze()
        for number in numbers:
            self.disks[number].cut_power()

    def restore(self, number: int, options: str) -> None:
        """A node whose disk lost its power: what was not on the disk is gone."""
        self.etcd.nodes[number].kill()
        self.disks[number].unmount()
        self.disks[number].mount(options)
        self.etcd.nodes[number].start()

    def check(self) -> None:
        """By a broker that knows only what is in etcd."""
        for broker in self.shard.brokers:
            broker.kill()
        for broker in self.shard.brokers:
            broker.start()
        with self.shard.wait_active().connect() as client:
            jobs = client.take_all()
            self.assertEqual(self.ledger.faults([body for _, body in jobs]), [])
            self.assertGreater(len(self.ledger.deleted), 0)
            for job, _ in jobs:
                self.assertEqual(client.say(f"delete {job}"), "DELETED")
        self.ledger = Ledger()

    def test_of_all_machines_at_once(self) -> None:
        for options in ("data=ordered", "data=writeback"):
            with Traffic(self.shard, self.ledger):
                self.some_jobs()
                self.cut_power(0, 1, 2)
                for broker in self.shard.brokers:
                    broker.kill()
            for number in range(3):
                self.restore(number, options)
            self.etcd.wait()
            self.check()

    def test_of_one_machine_after_the_other(self) -> None:
        with Traffic(self.shard, self.ledger):
            for number in range(3):
                self.some_jobs()
                self.cut_power(number)
                self.some_jobs()
                self.restore(number, "data=ordered")
                self.etcd.wait()
        self.check()


if __name__ == "__main__":
    unittest.main()
