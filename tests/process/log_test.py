#!/usr/bin/env python3
"""What the broker logs, and where: log_test.py BROKER."""

import json
import os
import re
import signal
import socket
import unittest
from pathlib import Path

from broker import PATIENCE, Broker, Directory, eventually

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"


def stopped(*flags: str) -> str:
    """All that a broker with these flags says on standard error."""
    with Broker(*flags) as broker:
        broker.signal(signal.SIGTERM)
        broker.wait()
        return broker.said


class Lines(unittest.TestCase):
    def test_text(self) -> None:
        lines = stopped().splitlines()
        self.assertRegex(lines[0], rf"^{TIME} warn  no --data-dir: ")
        self.assertRegex(lines[1], r"^ready 127\.0\.0\.1:\d+$")
        self.assertRegex(lines[2], rf"^{TIME} info  stopping asked_by=SIGTERM$")
        self.assertRegex(lines[3], rf"^{TIME} info  stopped$")

    def test_json(self) -> None:
        lines = stopped("--log-format", "json").splitlines()
        self.assertRegex(lines[1], r"^ready 127\.0\.0\.1:\d+$")
        objects = [json.loads(line) for line in lines if not line.startswith("ready")]
        self.assertEqual([each["level"] for each in objects], ["warn", "info", "info"])
        self.assertEqual(objects[1]["event"], "stopping")
        self.assertEqual(objects[1]["asked_by"], "SIGTERM")
        self.assertRegex(objects[1]["time"], f"^{TIME}$")

    def test_journald(self) -> None:
        lines = stopped("--log-to", "journald").splitlines()
        self.assertRegex(lines[0], r"^<4>no --data-dir: ")
        self.assertEqual(lines[2:], ["<6>stopping asked_by=SIGTERM", "<6>stopped"])

    def test_levels(self) -> None:
        self.assertRegex(stopped("--log-level", "warn"), rf"^{TIME} warn  [^\n]*\nready [^\n]*\n$")
        for level in ("error", "critical", "off"):
            self.assertRegex(stopped("--log-level", level), r"^ready [^\n]*\n$")


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Directory()
        self.addCleanup(self.directory.close)
        self.log = self.directory.path / "log"

    def test_file(self) -> None:
        self.assertRegex(stopped("--log-to", f"file:{self.log}"), r"^ready [^\n]*\n$")
        self.assertEqual(len(self.log.read_text().splitlines()), 3)

    def test_opened_anew_at_sighup(self) -> None:
        old = self.directory.path / "old"
        with Broker("--log-to", f"file:{self.log}") as broker:
            self.log.rename(old)
            broker.signal(signal.SIGHUP)
            eventually("a new file", lambda: self.log.exists() and "reloaded" in self.log.read_text())
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
        self.assertNotIn("stopped", old.read_text())
        self.assertIn("stopped", self.log.read_text())

    def test_opened_anew_although_the_configuration_is_bad(self) -> None:
        self.directory.configure(f"log_to: file:{self.log}\n")
        old = self.directory.path / "old"
        with Broker("--config", str(self.directory.file)) as broker:
            self.log.rename(old)
            self.directory.configure("nonsense: 1\n")
            broker.signal(signal.SIGHUP)
            eventually("a new file", self.log.exists)
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
        self.assertIn("unknown key 'nonsense'", old.read_text())
        self.assertIn("stopped", self.log.read_text())

    def test_that_cannot_be_written(self) -> None:
        broker = Broker("--log-to", f"file:{self.directory.path}")
        self.addCleanup(broker.__exit__, None, None, None)
        self.assertEqual(broker.wait(), 1)
        self.assertTrue(re.search(r"critical log_to: 'file:.*Is a directory", broker.said),
                        broker.said)


SYSLOG = Path("/dev/log")


@unittest.skipUnless(os.geteuid() == 0 and not SYSLOG.exists(), "/dev/log is not for the taking")
class Syslog(unittest.TestCase):
    def test_lines(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
            system.settimeout(PATIENCE)
            system.bind(str(SYSLOG))
            self.addCleanup(SYSLOG.unlink)
            self.assertRegex(stopped("--log-to", "syslog"), r"^ready [^\n]*\n$")
            lines = [system.recv(4096).decode() for _ in range(3)]
        # The facility daemon is 3: 8 * 3 and the severity.
        for line, severity, text in zip(lines, (4, 6, 6),
                                        ("no --data-dir", "stopping asked_by=SIGTERM", "stopped")):
            self.assertRegex(line, rf"^<{24 + severity}>.* gearstalkd\[\d+\]: {text}")


class OfClients(unittest.TestCase):
    def test_every_line_names_the_connection(self) -> None:
        with Broker("--log-level", "debug", "--log-format", "json") as broker:
            self.assertEqual(broker.ask(b"getpid\r\n"), b"OK %d\n" % broker.process.pid)
            broker.wait_for('"disconnected"')
        lines = [json.loads(line) for line in broker.said.splitlines() if '"connection"' in line]
        self.assertEqual([(each["event"], each["client"], each["connection"]) for each in lines],
                         [("connected", "127.0.0.1", 1), ("disconnected", "127.0.0.1", 1)])

    def test_too_many_of_a_kind_are_counted(self) -> None:
        lines, burst = 60, 20
        with Broker("--limits-connections", "1") as broker, broker.connect() as first:
            first.sendall(b"list-tube-used\r\n")
            self.assertEqual(first.recv(100), b"USING default\r\n")
            for _ in range(lines):
                with broker.connect() as refused:
                    while refused.recv(100):
                        pass

            def told() -> bool:
                broker.read(0.1)
                written = len(re.findall(r" refused reason=connections .*client=127\.0\.0\.1 "
                                         r"connection=\d+\n", broker.said))
                suppressed = re.findall(
                    r'more suppressed lines=(\d+) of="refused connections"\n', broker.said)
                return bool(suppressed) and written + sum(map(int, suppressed)) == lines \
                    and written >= burst

            eventually("all lines, written or counted", told)


class Verbose(unittest.TestCase):
    def test_answers_gearmands_word(self) -> None:
        for level, word in (("trace", b"DEBUG"), ("debug", b"DEBUG"), ("info", b"INFO"),
                            ("warn", b"WARNING"), ("error", b"ERROR"), ("critical", b"FATAL"),
                            ("off", b"FATAL")):
            with self.subTest(level), Broker("--log-level", level) as broker:
                self.assertEqual(broker.ask(b"verbose\r\n"), b"OK " + word + b"\n")


if __name__ == "__main__":
    unittest.main()
