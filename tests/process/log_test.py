#!/usr/bin/env python3
"""What the broker logs, and where: log_test.py BROKER."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
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
        self.assertRegex(lines[0], rf"^{TIME} info  starting version=")
        self.assertRegex(lines[1], rf"^{TIME} warn  no --data-dir: ")
        self.assertRegex(lines[2], r"^ready 127\.0\.0\.1:\d+$")
        self.assertRegex(lines[3], rf"^{TIME} info  stopping asked_by=SIGTERM$")
        self.assertRegex(lines[4], rf"^{TIME} info  stopped$")

    def test_json(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory, "log")
            self.assertRegex(stopped("--log-format", "json", "--log-to", f"file:{log}"), r"^ready ")
            objects = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([each["level"] for each in objects], ["info", "warn", "info", "info"])
        self.assertEqual(objects[2]["event"], "stopping")
        self.assertEqual(objects[2]["asked_by"], "SIGTERM")
        self.assertRegex(objects[2]["time"], f"^{TIME}$")

    def test_json_on_standard_error_has_no_other_line(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        directory.configure("log_format: json\n")
        broker = Broker("--config", str(directory.file))
        self.addCleanup(broker.kill)
        broker.wait_for('"ready"')
        broker.signal(signal.SIGTERM)
        self.assertEqual(broker.wait(), 0)
        objects = [json.loads(line) for line in broker.said.splitlines()]
        self.assertEqual([each["event"] for each in objects if each["level"] == "info"],
                         ["starting", "ready", "stopping", "stopped"])
        self.assertEqual((objects[0]["config"], objects[0]["listen"]),
                         (str(directory.file), "127.0.0.1:0"))
        self.assertRegex(objects[2]["addresses"], r"^127\.0\.0\.1:\d+$")

    def test_journald(self) -> None:
        lines = stopped("--log-to", "journald").splitlines()
        self.assertRegex(lines[1], r"^<4>no --data-dir: ")
        self.assertEqual(lines[3:], ["<6>stopping asked_by=SIGTERM", "<6>stopped"])

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
        self.assertEqual(len(self.log.read_text().splitlines()), 4)

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
            eventually("the last line of the old one", lambda: "unknown key" in old.read_text())
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
        self.assertIn("unknown key 'nonsense'", old.read_text())
        self.assertIn("stopped", self.log.read_text())

    def test_no_directory_is_made_for_it(self) -> None:
        directory = self.directory.path / "none"
        broker = Broker("--log-to", f"file:{directory}/log")
        self.addCleanup(broker.kill)
        self.assertNotEqual(broker.wait(), 0)
        self.assertIn(f"log_to: 'file:{directory}/log': cannot write", broker.said)
        self.assertFalse(directory.exists())

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
            lines: list[str] = []
            while len(lines) < 4:
                line = system.recv(4096).decode()
                if "gearstalkd" in line:  # other programs of the machine may have something to say
                    lines.append(line)
        # The facility daemon is 3: 8 * 3 and the severity.
        for line, severity, text in zip(lines, (6, 4, 6, 6),
                                        ("starting version=", "no --data-dir", "stopping asked_by=SIGTERM", "stopped")):
            self.assertRegex(line, rf"^<{24 + severity}>.* gearstalkd\[\d+\]: {text}")


class OfClients(unittest.TestCase):
    def test_every_line_names_the_connection(self) -> None:
        with Broker("--log-level", "debug") as broker:
            self.assertEqual(broker.ask(b"getpid\r\n"), b"OK %d\n" % broker.process.pid)
            broker.wait_for("disconnected")
        told = re.findall(r"debug (\w+) client=127\.0\.0\.1:\d+ connection=(\d+)", broker.said)
        self.assertEqual(told, [("connected", "1"), ("disconnected", "1")])

    def test_a_trace_has_every_command(self) -> None:
        with Broker("--log-level", "trace") as broker, broker.connect() as client:
            client.sendall(b"use mail\r\nput 0 0 60 2\r\nhi\r\nworkers\r\n")
            broker.wait_for("command=workers")
            name = re.escape(f"127.0.0.1:{client.getsockname()[1]}")
        told = re.findall(rf"trace command client={name} connection=1 command=(\S+) about=(.*)",
                          broker.said)
        self.assertEqual(told, [("use", '"use mail"'), ("put", '"put 0 0 60 2"'), ("workers", '""')])

    def test_workers_and_the_log_have_one_number(self) -> None:
        with Broker("--log-level", "debug") as broker, broker.connect() as first, \
                broker.connect() as second:
            first.sendall(b"workers\r\n")
            self.assertIn(b"1 127.0.0.1 - :\n", first.recv(4096))
            second.sendall(b"workers\r\n")
            self.assertIn(b"2 127.0.0.1 - :\n", second.recv(4096))
            broker.wait_for(rf"connected client=127\.0\.0\.1:{second.getsockname()[1]} connection=2")

    def test_refused_jobs_name_tube_and_client(self) -> None:
        with Broker("--limits-maxqueue", "mail 1") as broker, broker.connect() as client:
            client.sendall(b"use mail\r\n" + b"put 0 0 60 2\r\nhi\r\n" * 2)
            name = re.escape(f"127.0.0.1:{client.getsockname()[1]}")
            broker.wait_for(rf"job refused reason=maxqueue tube=mail client={name} connection=1\n")

    def test_refusals_by_rights_name_what_was_refused(self) -> None:
        with Broker("--rights", "* produce mail") as broker, broker.connect() as client:
            client.sendall(b"use spam\r\n")
            self.assertEqual(client.recv(100), b"UNKNOWN_COMMAND\r\n")
            broker.wait_for(r"refused reason=rights error=- command=use tube=spam certificate=- "
                            r"client=127\.0\.0\.1:\d+ connection=1\n")
            client.sendall(b"cancel job H:x:1\r\nmaxqueue spam 1\r\n")
            broker.wait_for(r"refused reason=rights error=- command=maxqueue tube=\"spam 1\"")

    def test_what_operators_do_is_a_line(self) -> None:
        with Broker() as broker, broker.connect() as client:
            client.sendall(b"create function mail\r\nmaxqueue mail 5\r\ndrop function mail\r\n"
                           b"pause-tube default 0\r\nkick 5\r\n")
            for action, tube, count in (("tube.create", "mail", "-"), ("tube.maxqueue", "mail", "-"),
                                        ("tube.drop", "mail", "-"), ("tube.resume", "default", "-"),
                                        ("tube.kick", "default", "0")):
                broker.wait_for(rf"info  operator act user=- role=admin address=127\.0\.0\.1 "
                                rf"action={action} tube={tube} job=- filter=- count={count} "
                                r"result=ok request=connection-1\n")

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
                written = len(re.findall(r" refused reason=connections .*client=127\.0\.0\.1:\d+ "
                                         r"connection=\d+\n", broker.said))
                suppressed = re.findall(
                    r'more suppressed lines=(\d+) of="refused connections"\n', broker.said)
                return bool(suppressed) and written + sum(map(int, suppressed)) == lines \
                    and written >= burst

            eventually("all lines, written or counted", told)


class Unread(unittest.TestCase):
    def test_a_reader_that_stops_stops_nobody(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        path = str(directory.path / "socket")
        broker = Broker("--log-level", "debug", listen=(f"unix:{path}",), stderr=subprocess.PIPE,
                        pipesize=4096)
        self.addCleanup(broker.process.stderr.close)
        self.addCleanup(broker.kill)
        for _ in range(100):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                eventually("it listens", lambda: client.connect_ex(path) == 0)
                client.sendall(b"list-tube-used\r\n")
                self.assertEqual(client.recv(100), b"USING default\r\n")
        broker.signal(signal.SIGTERM)
        self.assertEqual(broker.wait(), 0)

    def test_lines_that_it_missed_are_counted(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        path, admin = str(directory.path / "socket"), str(directory.path / "admin")
        broker = Broker("--log-level", "trace", "--admin", f"unix:{admin}",
                        listen=(f"unix:{path}",), stderr=subprocess.PIPE, pipesize=4096)
        self.addCleanup(broker.process.stderr.close)
        self.addCleanup(broker.kill)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            eventually("it listens", lambda: client.connect_ex(path) == 0)
            question, answer = b"use %s\r\n" % (b"t" * 200), b"USING %s\r\n" % (b"t" * 200)

            def ask(times: int) -> None:
                client.sendall(question * times)
                left = len(answer) * times
                while left > 0:
                    left -= len(client.recv(left))

            # A trace is not limited: more than the queue of lines takes.
            for _ in range(200):
                ask(100)
            with socket.socket(socket.AF_UNIX) as operator:
                operator.settimeout(PATIENCE)
                operator.connect(admin)
                operator.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                page = b"".join(iter(lambda: operator.recv(65536), b"")).decode()
            lines = int(re.search(r"^gearstalkd_log_lines_dropped_total (\d+)$", page, re.M)[1])
            self.assertGreater(lines, 0)
            told = 0
            for _ in range(50_000):
                if told >= lines:
                    break
                ask(1)
                line = broker.process.stderr.readline()
                if lost := re.search(rb" lines dropped: .* lines=(\d+)$", line):
                    told += int(lost[1])
            self.assertGreaterEqual(told, lines)


class Mode(unittest.TestCase):
    def test_a_new_file_is_not_for_all(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        log = directory.path / "log"
        stopped("--log-to", f"file:{log}")
        self.assertEqual(log.stat().st_mode & 0o007, 0)


class Verbose(unittest.TestCase):
    def test_answers_gearmands_word(self) -> None:
        for level, word in (("trace", b"DEBUG"), ("debug", b"DEBUG"), ("info", b"INFO"),
                            ("warn", b"WARNING"), ("error", b"ERROR"), ("critical", b"FATAL"),
                            ("off", b"FATAL")):
            with self.subTest(level), Broker("--log-level", level) as broker:
                self.assertEqual(broker.ask(b"verbose\r\n"), b"OK " + word + b"\n")


if __name__ == "__main__":
    unittest.main()
