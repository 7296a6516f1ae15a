"""Tests that share an etcd."""

import tempfile
import unittest
from pathlib import Path

from cluster import ETCD, Etcd


def setUpModule() -> None:  # pylint: disable=invalid-name
    """For each module of tests that need etcd."""
    if ETCD is None:
        raise unittest.SkipTest("there is no etcd")


class OnEtcd(unittest.TestCase):
    """`path` is a directory for the time of a test."""

    nodes = 1  # of etcd
    etcd: Etcd

    @classmethod
    def setUpClass(cls) -> None:
        cls.etcd = Etcd(cls.nodes)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.etcd.close()

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
