#!/usr/bin/env python3
"""The broker in the place of another server: name_test.py BROKER."""

import os
import signal
import subprocess
import unittest

from broker import BROKER, PATIENCE, Broker, Directory


class Names(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Directory()
        self.addCleanup(self.directory.close)

    def link(self, name: str) -> str:
        path = self.directory.path / name
        path.symlink_to(os.path.abspath(BROKER))
        return str(path)

    def run_as(self, name: str, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.link(name), *flags], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def test_beanstalkd(self) -> None:
        with Broker("-l", "127.0.0.1", "-p0", "-z", "4", "-s", "4096", listen=(),
                    program=self.link("beanstalkd")) as broker:
            self.assertIn("beanstalkd: '-s' has no counterpart in gearstalkd and no effect\n",
                          broker.said)
            self.assertEqual(broker.ask(b"put 0 0 60 5\r\nhello\r\n"), b"JOB_TOO_BIG\r\n")
            # SIGHUP reads the same options again.
            broker.signal(signal.SIGHUP)
            broker.wait_for("reloaded")
            self.assertEqual(broker.ask(b"put 0 0 60 5\r\nhello\r\n"), b"JOB_TOO_BIG\r\n")

    def test_gearmand(self) -> None:
        with Broker("-L", "127.0.0.1", "--port=0", "--verbose", "INFO", "-b", "4", listen=(),
                    program=self.link("gearmand")) as broker:
            self.assertIn("gearmand: '--backlog' has no counterpart in gearstalkd and no effect\n",
                          broker.said)
            self.assertEqual(broker.ask(b"verbose\r\n"), b"OK INFO\n")

    def test_unknown_options_are_refused(self) -> None:
        for name, flag, code in (("beanstalkd", "-q", 2), ("gearmand", "--no-such", 1)):
            done = self.run_as(name, flag)
            self.assertEqual((done.returncode, done.stderr),
                             (code, f"{name}: unknown option '{flag}'\n"))

    def test_errors_name_the_option_that_was_given(self) -> None:
        done = self.run_as("beanstalkd", "-z", "1G")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "beanstalkd: -z: '1G': expected a number from 1 to 1073741824\n"))
        missing = str(self.directory.path / "none.pem")
        done = self.run_as("gearmand", "--ssl", "--ssl-certificate", missing)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"gearmand: --ssl-certificate: '{missing}': "
                             "No such file or directory\n"))

    def test_a_store_of_gearmand_is_refused(self) -> None:
        done = self.run_as("gearmand", "-q", "libsqlite3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--queue-type: 'libsqlite3': gearstalkd does not read", done.stderr)

    def test_clients_are_told_the_version_that_is_followed(self) -> None:
        with Broker("-L", "127.0.0.1", "--port=0", listen=(),
                    program=self.link("gearmand")) as broker:
            self.assertEqual(broker.ask(b"version\r\n"), b"OK 1.1.20\n")
            self.assertIn(b'version: "1.13"\n', broker.ask(b"stats\r\n"))
        with Broker("--gearman-version", "2.0", "--beanstalk-version", "9") as broker:
            self.assertEqual(broker.ask(b"version\r\n"), b"OK 2.0\n")
            self.assertIn(b'version: "9"\n', broker.ask(b"stats\r\n"))

    def test_help_and_version(self) -> None:
        self.assertIn("-b VALUE", self.run_as("beanstalkd", "-h").stdout)
        self.assertIn("--job-retries VALUE", self.run_as("gearmand", "-h").stdout)

    def test_version(self) -> None:
        lines = subprocess.run([BROKER, "--version"], capture_output=True, text=True,
                               timeout=PATIENCE, check=True).stdout.splitlines()
        self.assertRegex(lines[0], r"^gearstalkd \d+\.\d+\.\d+$")
        self.assertRegex(lines[1], r"^commit ([0-9a-f]{12}|unknown)$")
        libraries = {line.split()[0]: line.split()[1] for line in lines[2:]}
        for library in ("libevent", "protobuf", "yaml-cpp", "CLI11", "fmt", "spdlog"):
            self.assertRegex(libraries[library], r"^\d")


if __name__ == "__main__":
    unittest.main()
