#!/usr/bin/env python3
"""How the broker begins and ends: life_test.py BROKER."""

import os
import pwd
import signal
import socket
import subprocess
import unittest
from pathlib import Path

from broker import BROKER, PATIENCE, Broker, Directory, Process, eventually


BODY = b"x" * 60000
PEEKS = 400  # more than the system's buffers take
NO_LIMIT = ("--limits-output", str(1 << 30))


def full_pipe(broker: Broker) -> socket.socket:
    """A connection with more to be sent than a peer that does not read takes."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", broker.ports[0]))
    client.sendall(b"put 0 0 60 %d\r\n%s\r\n" % (len(BODY), BODY))
    assert client.recv(100) == b"INSERTED 1\r\n"
    client.sendall(b"peek 1\r\n" * PEEKS)
    eventually("all answers", lambda: b"cmd-peek: %d\n" % PEEKS in broker.ask(b"stats\r\n"))
    return client


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Stopping(unittest.TestCase):
    def test_terminated(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name), Broker() as broker:
                broker.signal(number)
                self.assertEqual(broker.wait(), 0)
                self.assertIn(f"stopping asked_by={number.name}", broker.said)
                self.assertIn("stopped\n", broker.said)

    def test_terminated_while_it_starts(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        certificate = directory.path / "certificate"
        os.mkfifo(certificate)
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                broker = Broker("--tls-certificate", str(certificate))
                self.addCleanup(broker.kill)
                # Opened by both, the pipe keeps it reading.
                with certificate.open("w"):
                    broker.signal(number)
                    self.assertEqual(broker.wait(), 0)

    def test_what_waits_is_sent(self) -> None:
        with Broker(*NO_LIMIT, "--limits-stop-timeout", "600") as broker, full_pipe(broker) as client:
            broker.signal(signal.SIGTERM)
            broker.wait_for("stopping")
            got = 0
            while part := client.recv(65536):
                got += len(part)
            self.assertEqual(got, PEEKS * len(b"FOUND 1 60000\r\n" + BODY + b"\r\n"))
            self.assertEqual(broker.wait(), 0)

    def test_nobody_is_accepted_while_it_stops(self) -> None:
        with Broker(*NO_LIMIT, "--limits-stop-timeout", "600") as broker, full_pipe(broker):
            broker.signal(signal.SIGTERM)

            def refused() -> bool:
                try:
                    broker.connect().close()
                except (ConnectionRefusedError, ConnectionResetError):  # reset: its handshake met the close
                    return True
                return False

            eventually("refused", refused)
            self.assertIsNone(broker.process.poll())

    def test_asked_twice_it_stops_at_once(self) -> None:
        with Broker(*NO_LIMIT, "--limits-stop-timeout", "600") as broker, full_pipe(broker):
            broker.signal(signal.SIGTERM)
            broker.wait_for("stopping asked_by")
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
            self.assertIn("stopping at once", broker.said)

    def test_the_time_for_sending_is_limited(self) -> None:
        with Broker(*NO_LIMIT, "--limits-stop-timeout", "0") as broker, full_pipe(broker):
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)

    def test_shutdown(self) -> None:
        with Broker() as broker:
            self.assertEqual(broker.ask(b"shutdown\r\n"), b"OK\r\n")
            self.assertEqual(broker.wait(), 0)
            self.assertRegex(broker.said, r"shutdown client=127\.0\.0\.1:\d+ connection=1\n"
                                          r".* stopping asked_by=shutdown\n")


class StandardError(unittest.TestCase):
    """What nobody can read does not keep the broker from serving."""

    def setUp(self) -> None:
        self.directory = Directory()
        self.addCleanup(self.directory.close)

    def serves(self, redirection: str) -> None:
        path = self.directory.path / "socket"
        data = self.directory.path / "data"
        line = (f'exec "$0" --listen unix:{path} --data-dir {data} --log-level debug {redirection}')
        process = Process(["/bin/bash", "-c", line, BROKER], close_fds=False)
        self.addCleanup(process.kill)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            eventually("it listens", lambda: client.connect_ex(str(path)) == 0)
            client.sendall(b"put 0 0 60 1\r\nx\r\n")
            self.assertEqual(client.recv(100), b"INSERTED 1\r\n")
        self.assertEqual(process.stop(), 0)
        for segment in data.glob("*.wal"):
            self.assertNotIn(b"disconnected", segment.read_bytes())

    def test_closed(self) -> None:
        self.serves("<&- >&- 2>&-")

    def test_full(self) -> None:
        self.serves("2>/dev/full")

    def test_a_reader_that_has_gone(self) -> None:
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        os.close(reading)
        self.addCleanup(os.close, writing)
        self.serves(f"2>&{writing}")


class Draining(unittest.TestCase):
    def test_no_new_jobs_and_work_goes_on(self) -> None:
        for ask in ("signal", "shutdown graceful"):
            with self.subTest(ask), Broker() as broker, broker.connect() as client:
                client.sendall(b"put 0 0 60 2\r\nhi\r\n")
                self.assertEqual(client.recv(100), b"INSERTED 1\r\n")
                if ask == "signal":
                    broker.signal(signal.SIGUSR1)
                    broker.wait_for("draining.*SIGUSR1")
                else:
                    self.assertEqual(broker.ask(b"shutdown graceful\r\n"), b"OK\r\n")
                client.sendall(b"put 0 0 60 2\r\nhi\r\n")
                self.assertEqual(client.recv(100), b"DRAINING\r\n")
                client.sendall(b"reserve\r\ndelete 1\r\n")
                got = b""
                while not got.endswith(b"DELETED\r\n"):
                    got += client.recv(100)
                self.assertEqual(got, b"RESERVED 1 2\r\nhi\r\nDELETED\r\n")
                if ask == "signal":
                    self.assertIsNone(broker.process.poll())
                else:
                    self.assertEqual(broker.wait(), 0)

    def test_a_second_signal_ends_the_drain_and_none_ends_the_broker(self) -> None:
        with Broker() as broker:
            for job in (1, 2, 3):
                broker.signal(signal.SIGUSR1)
                broker.wait_for("draining.*SIGUSR1", job)
                self.assertEqual(broker.ask(b"put 0 0 60 2\r\nhi\r\n"), b"DRAINING\r\n")
                broker.signal(signal.SIGUSR1)
                broker.wait_for("new jobs are taken again asked_by=SIGUSR1", job)
                self.assertEqual(broker.ask(b"put 0 0 60 2\r\nhi\r\n"),
                                 b"INSERTED %d\r\n" % job)
            self.assertIsNone(broker.process.poll())

    def test_a_signal_amid_a_graceful_shutdown_ends_neither_jobs_nor_the_broker(self) -> None:
        with Broker() as broker:
            self.assertEqual(broker.ask(b"put 0 0 60 2\r\nhi\r\n"), b"INSERTED 1\r\n")
            self.assertEqual(broker.ask(b"shutdown graceful\r\n"), b"OK\r\n")
            broker.wait_for("draining.*shutdown graceful")
            broker.signal(signal.SIGUSR1)
            broker.wait_for("new jobs are taken again asked_by=SIGUSR1")
            self.assertEqual(broker.ask(b"delete 1\r\n"), b"DELETED\r\n")
            self.assertEqual(broker.ask(b"put 0 0 60 2\r\nhi\r\n"), b"INSERTED 2\r\n")
            self.assertIsNone(broker.process.poll())


class GracefulShutdown(unittest.TestCase):
    def test_an_idle_broker_ends_at_once(self) -> None:
        with Broker() as broker:
            self.assertEqual(broker.ask(b"shutdown graceful\r\n"), b"OK\r\n")
            self.assertEqual(broker.wait(), 0)
            self.assertIn("stopping asked_by=\"shutdown graceful\"", broker.said)

    def test_without_a_journal_queued_jobs_run_first(self) -> None:
        with Broker() as broker, broker.connect() as worker:
            self.assertEqual(broker.ask(b"put 0 0 60 2\r\nhi\r\n"), b"INSERTED 1\r\n")
            self.assertEqual(broker.ask(b"shutdown graceful\r\n"), b"OK\r\n")
            worker.sendall(b"reserve\r\n")
            self.assertEqual(worker.recv(100), b"RESERVED 1 2\r\nhi\r\n")
            self.assertIsNone(broker.process.poll())
            worker.sendall(b"delete 1\r\n")
            self.assertEqual(worker.recv(100), b"DELETED\r\n")
            self.assertEqual(broker.wait(), 0)

    def test_with_a_journal_running_jobs_end_and_queued_ones_stay(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        data = ("--data-dir", str(directory.path / "journal"))
        with Broker(*data) as broker, broker.connect() as worker:
            worker.sendall(b"put 0 0 60 2\r\nhi\r\nput 9 0 60 2\r\nho\r\nreserve\r\n")
            expected = b"INSERTED 1\r\nINSERTED 2\r\nRESERVED 1 2\r\nhi\r\n"
            got = b""
            while len(got) < len(expected):
                got += worker.recv(100)
            self.assertEqual(got, expected)
            self.assertEqual(broker.ask(b"shutdown graceful\r\n"), b"OK\r\n")
            broker.wait_for("draining")
            self.assertIsNone(broker.process.poll())
            worker.sendall(b"delete 1\r\n")
            self.assertEqual(worker.recv(100), b"DELETED\r\n")
            self.assertEqual(broker.wait(), 0)
        with Broker(*data) as broker:
            self.assertEqual(broker.ask(b"peek 2\r\n"), b"FOUND 2 2\r\nho\r\n")


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Directory()
        self.addCleanup(self.directory.close)
        self.pid_file = self.directory.path / "pid"

    def test_pid_file(self) -> None:
        with Broker("--pid-file", str(self.pid_file)) as broker:
            self.assertEqual(self.pid_file.read_text(), f"{broker.process.pid}\n")
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
        self.assertFalse(self.pid_file.exists())

    def test_pid_file_of_another_broker_stays(self) -> None:
        with Broker("--pid-file", str(self.pid_file)) as first:
            with Broker("--pid-file", str(self.directory.path / "other")) as other:
                other.signal(signal.SIGKILL)
                other.wait()
            second = Broker("--pid-file", str(self.pid_file))
            self.addCleanup(second.__exit__, None, None, None)
            self.assertEqual(second.wait(), 1)
            self.assertIn(f"pid_file: '{self.pid_file}' belongs to a process that still runs",
                          second.said)
            self.assertEqual(self.pid_file.read_text(), f"{first.process.pid}\n")
        with Broker("--pid-file", str(self.directory.path / "other")) as other:
            self.assertEqual((self.directory.path / "other").read_text(), f"{other.process.pid}\n")

    def test_pid_file_that_cannot_be(self) -> None:
        broker = Broker("--pid-file", "/no/such/directory/pid")
        self.addCleanup(broker.__exit__, None, None, None)
        self.assertEqual(broker.wait(), 1)
        self.assertIn("pid_file: cannot write '/no/such/directory/pid': No such file or directory",
                      broker.said)
        self.assertNotIn("ready", broker.said)

    def start_daemon(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BROKER, "--daemon", "true", "--pid-file", str(self.pid_file),
             "--log-to", f"file:{self.directory.path}/log", *flags],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_daemon_returns_when_it_is_ready(self) -> None:
        done = self.start_daemon("--listen", "127.0.0.1:0")
        pid = int(self.pid_file.read_text())
        try:
            self.assertEqual(done.returncode, 0, done.stderr)
            port = int(done.stderr.removeprefix("ready 127.0.0.1:"))
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
                client.sendall(b"getpid\r\n")
                self.assertEqual(client.recv(100), b"OK %d\n" % pid)
            self.assertNotEqual(os.getsid(pid), os.getsid(0))
            for fd in range(3):
                self.assertEqual(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
        finally:
            os.kill(pid, signal.SIGTERM)
        eventually("its end", lambda: not runs(pid))
        self.assertFalse(self.pid_file.exists())

    def test_daemon_that_cannot_start_says_so(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.start_daemon("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Address already in use", done.stderr)


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class User(unittest.TestCase):
    def test_becomes_the_user(self) -> None:
        nobody = pwd.getpwnam("nobody")
        with Broker("--user", "nobody") as broker:
            status = Path(f"/proc/{broker.process.pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        self.assertEqual(fields["Uid"].split(), [str(nobody.pw_uid)] * 4)
        self.assertEqual(fields["Gid"].split(), [str(nobody.pw_gid)] * 4)
        self.assertNotIn("0", fields["Groups"].split())
        self.assertEqual(int(fields["CapEff"], 16), 0)

    def test_the_journal_is_the_users(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        os.chmod(directory.path, 0o777)
        with Broker("--user", "nobody", "--data-dir", str(directory.path / "jobs")):
            owner = (directory.path / "jobs").stat().st_uid
        self.assertEqual(owner, pwd.getpwnam("nobody").pw_uid)

    def test_unknown_user(self) -> None:
        broker = Broker("--user", "no-such-user")
        self.addCleanup(broker.__exit__, None, None, None)
        self.assertEqual(broker.wait(), 1)
        self.assertIn("user: cannot become 'no-such-user': there is no such user", broker.said)


if __name__ == "__main__":
    unittest.main()
