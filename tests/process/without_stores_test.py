#!/usr/bin/env python3
"""A broker without the modules of its stores: without_stores_test.py BROKER."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BROKER = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
STORES = {"etcd": ["--etcd-endpoints", "127.0.0.1:1"],
          "postgres": ["--postgres-conninfo", "host=127.0.0.1 port=1"]}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


class WithoutStores(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def test_their_options_are_known_and_the_package_is_named(self) -> None:
        alone = shutil.copy(BROKER, self.directory)
        for store, options in STORES.items():
            for more in ([], ["--check-config"], ["--journal-check", store], ["--journal-export", "d"],
                         ["--journal-import", "d"], ["--journal-upgrade"]):
                with self.subTest(store=store, more=more):
                    done = run(alone, "--listen", "127.0.0.1:0", *options, *more)
                    self.assertEqual(done.returncode, 2, done)
                    self.assertIn(f"store_{store}.so is missing: install the package gearstalkd-{store}",
                                  done.stderr)

    def test_a_module_that_is_none_is_refused(self) -> None:
        alone = shutil.copy(BROKER, self.directory)
        for store, options in STORES.items():
            (self.directory / f"store_{store}.so").write_text("no module")
            done = run(alone, "--listen", "127.0.0.1:0", *options)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(f"store_{store}.so", done.stderr)

    def test_the_broker_needs_no_library_of_theirs(self) -> None:
        needed = run("ldd", BROKER).stdout
        self.assertIn("libevent", needed)
        self.assertNotIn("grpc", needed)
        self.assertNotIn("libpq", needed)

    def test_a_build_without_them_names_no_such_library(self) -> None:
        done = run("cmake", "-S", str(ROOT), "-B", str(self.directory), "-G", "Ninja",
                   "-DGEARSTALK_ETCD=OFF", "-DGEARSTALK_POSTGRES=OFF", "-DGEARSTALK_TESTS=OFF")
        self.assertEqual(done.returncode, 0, done)
        commands = run("ninja", "-C", str(self.directory), "-t", "commands", "gearstalkd").stdout
        self.assertIn("replica_setup.cc", commands)
        for word in ("grpc", "libpq", "broker/etcd/", "broker/postgres/"):
            self.assertNotIn(word, commands)


if __name__ == "__main__":
    unittest.main()
