#!/usr/bin/env python3
"""A build with GEARSTALK_ETCD=OFF: without_etcd_test.py BROKER, which is the part of it that differs."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BROKER = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


class WithoutEtcd(unittest.TestCase):
    def test_its_options_are_known_and_refused(self) -> None:
        for more in ([], ["--check-config"], ["--journal-check", "etcd"], ["--journal-export", "d"],
                     ["--journal-import", "d"], ["--journal-upgrade"]):
            with self.subTest(more):
                done = run(BROKER, "--listen", "127.0.0.1:0", "--etcd-endpoints", "127.0.0.1:1", *more)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn("built without etcd", done.stderr)

    def test_no_other_source_needs_the_library(self) -> None:
        self.assertNotIn("grpc", run("ldd", BROKER).stdout)

    def test_the_build_names_no_such_library(self) -> None:
        with tempfile.TemporaryDirectory() as build:
            done = run("cmake", "-S", str(ROOT), "-B", build, "-G", "Ninja", "-DGEARSTALK_ETCD=OFF",
                       "-DGEARSTALK_TESTS=OFF")
            self.assertEqual(done.returncode, 0, done)
            commands = run("ninja", "-C", build, "-t", "commands", "gearstalkd").stdout
        built = [line for line in commands.splitlines() if " -c " in line and "replica_setup.cc" in line]
        self.assertEqual(len(built), 1)
        self.assertIn("-DGEARSTALK_ETCD=0", built[0])
        self.assertNotIn("grpc", commands)
        self.assertNotIn("broker/etcd/", commands)


if __name__ == "__main__":
    unittest.main()
