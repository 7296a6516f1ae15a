#!/usr/bin/env python3
"""The configuration read again while the broker runs: reload_test.py BROKER."""

import os
import signal
import socket
import threading
import unittest

from broker import PATIENCE, Broker, Directory


class Reload(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Directory()
        self.addCleanup(self.directory.close)

    def broker(self, text: str, *flags: str, **popen: object) -> Broker:
        self.directory.configure(text)
        return Broker("--config", str(self.directory.file), *flags, **popen)

    def reload(self, broker: Broker, text: str) -> str:
        """What it says about the new text."""
        self.directory.configure(text)
        before = len(broker.said)
        times = broker.said.count("reloaded")
        broker.signal(signal.SIGHUP)
        broker.wait_for("reloaded", times + 1)
        # One more, with nothing new: what comes before its line belongs to the first.
        broker.signal(signal.SIGHUP)
        broker.wait_for("reloaded", times + 2)
        return broker.said[before:]

    def test_log_level(self) -> None:
        with self.broker("log_level: info\n") as broker:
            said = self.reload(broker, "log_level: debug\n")
            self.assertIn("changed=log_level\n", said)
            self.assertEqual(broker.ask(b"verbose\r\n"), b"OK DEBUG\n")

    def test_log_format(self) -> None:
        with self.broker("") as broker:
            said = self.reload(broker, "log_format: json\n")
            self.assertIn('"event":"the configuration was reloaded","changed":"log_format"}', said)

    def test_max_job_size(self) -> None:
        put = b"put 0 0 60 5\r\nhello\r\n"
        with self.broker("max_job_size: 5\n") as broker, broker.connect() as client:
            client.sendall(put)
            self.assertEqual(client.recv(100), b"INSERTED 1\r\n")
            self.assertIn("changed=max_job_size\n", self.reload(broker, "max_job_size: 4\n"))
            client.sendall(put)
            self.assertEqual(client.recv(100), b"JOB_TOO_BIG\r\n")
            self.assertIn("changed=max_job_size\n", self.reload(broker, ""))
            client.sendall(put)
            self.assertEqual(client.recv(100), b"INSERTED 2\r\n")

    def test_free_disk(self) -> None:
        put = b"put 0 0 60 2\r\nhi\r\n"
        limits = "limits:\n  free_disk: "
        arguments = ("--data-dir", str(self.directory.path / "jobs"))
        with self.broker(limits + "0\n", *arguments) as broker, broker.connect() as client:
            client.sendall(put)
            self.assertEqual(client.recv(100), b"INSERTED 1\r\n")
            said = self.reload(broker, f"{limits}{1 << 50}\n")
            self.assertIn("changed=limits.free_disk\n", said)
            client.sendall(put)
            self.assertEqual(client.recv(100), b"OUT_OF_MEMORY\r\n")
            broker.wait_for("no new jobs are stored.*limits.free_disk=1125899906842624")
            broker.wait_for("jobs refused.*reason=disk jobs=1")
            client.sendall(b"reserve\r\ndelete 1\r\n")
            self.reload(broker, limits + "0\n")
            client.sendall(put)
            with client.makefile("rb") as replies:
                self.assertEqual([replies.readline() for _ in range(4)],
                                 [b"RESERVED 1 2\r\n", b"hi\r\n", b"DELETED\r\n", b"INSERTED 2\r\n"])

    def test_maxqueue(self) -> None:
        put = b"put 0 0 60 2\r\nhi\r\n"
        with self.broker("") as broker, broker.connect() as client:
            said = self.reload(broker, "limits:\n  maxqueue:\n    - default 1\n")
            self.assertIn("changed=limits.maxqueue\n", said)
            for answer in (b"INSERTED 1\r\n", b"OUT_OF_MEMORY\r\n"):
                client.sendall(put)
                self.assertEqual(client.recv(100), answer)
            self.reload(broker, "")
            client.sendall(put)
            self.assertEqual(client.recv(100)[:8], b"INSERTED")

    def test_time_to_run_of_gearman_jobs(self) -> None:
        submit = b"f\0\0body"
        with self.broker("") as broker, broker.connect() as client:
            self.assertIn("changed=gearman.default_ttr",
                          self.reload(broker, "gearman.default_ttr: 7\n"))
            client.sendall(b"\0REQ" + (18).to_bytes(4, "big") + len(submit).to_bytes(4, "big")
                           + submit)
            self.assertEqual(client.recv(100)[:8], b"\0RES\0\0\0\x08")
            with broker.connect() as consumer:
                consumer.sendall(b"watch f\r\nreserve\r\nstats-job 1\r\n")
                got = b""
                while b"ttr:" not in got or not got.endswith(b"\r\n"):
                    got += consumer.recv(4096)
            self.assertIn(b"\nttr: 7\n", got)

    def test_what_needs_a_restart_is_named_and_goes_on(self) -> None:
        with self.broker("") as broker:
            port = broker.ports[0]
            said = self.reload(broker, "data_dir: /elsewhere\nserver_name: other\nlog_level: debug\n")
            self.assertIn("changed=log_level\n", said)
            # Named at each reload as long as it differs.
            self.assertEqual(
                said.count("some changes need a restart options=data_dir,server_name\n"), 2)
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
                client.sendall(b"version\r\n")
                self.assertEqual(client.recv(100)[:3], b"OK ")
            said = self.reload(broker, "")
            self.assertNotIn("need a restart", said)

    def test_a_bad_file_changes_nothing(self) -> None:
        with self.broker("log_level: warn\n") as broker:
            self.directory.configure("log_level: debug\nmax_job_sise: 4\n")
            broker.signal(signal.SIGHUP)
            broker.wait_for("nothing changed")
            self.assertIn(f"error the configuration was not reloaded, nothing changed error=\"{self.directory.file}"
                          ":2: unknown key 'max_job_sise'; did you mean 'max_job_size'?\"\n",
                          broker.said)
            self.assertEqual(broker.ask(b"verbose\r\n"), b"OK WARNING\n")

    def test_a_file_that_is_gone_changes_nothing(self) -> None:
        with self.broker("log_level: warn\n") as broker:
            self.directory.file.unlink()
            broker.signal(signal.SIGHUP)
            broker.wait_for("nothing changed")
            self.assertEqual(broker.ask(b"verbose\r\n"), b"OK WARNING\n")

    def test_a_log_that_cannot_be_opened_changes_nothing(self) -> None:
        with self.broker("max_job_size: 5\n") as broker, broker.connect() as client:
            self.directory.configure(f"max_job_size: 4\nlog_to: file:{self.directory.path}\n")
            broker.signal(signal.SIGHUP)
            broker.wait_for("nothing changed")
            client.sendall(b"put 0 0 60 5\r\nhello\r\n")
            self.assertEqual(client.recv(100), b"INSERTED 1\r\n")

    def test_flags_and_variables_keep_their_weight(self) -> None:
        environment = dict(os.environ, GEARSTALKD_MAX_JOB_SIZE="5")
        with self.broker("", "--log-level", "info", env=environment) as broker, \
                broker.connect() as client:
            said = self.reload(broker, "log_level: off\nmax_job_size: 1\n")
            self.assertIn('changed=""\n', said)
            client.sendall(b"put 0 0 60 5\r\nhello\r\n")
            self.assertEqual(client.recv(100), b"INSERTED 1\r\n")


class UnderLoad(unittest.TestCase):
    """Clients work while the configuration is read again and again, and nobody is cut off."""

    CLIENTS = 8
    RELOADS = 20

    def work(self, port: int, until: threading.Event, failures: list[str]) -> None:
        try:
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
                file = client.makefile("rb")
                rounds = 0
                while not until.is_set() or rounds == 0:
                    rounds += 1
                    client.sendall(b"put 0 0 60 5\r\nhello\r\nreserve\r\n")
                    put, reserved, body = file.readline(), file.readline(), file.readline()
                    word, number, _ = reserved.split()
                    client.sendall(b"delete %s\r\n" % number)
                    deleted = file.readline()
                    if (put[:9], word, body, deleted) != (b"INSERTED ", b"RESERVED", b"hello\r\n",
                                                          b"DELETED\r\n"):
                        failures.append(f"{put!r} {reserved!r} {body!r} {deleted!r}")
                        return
        except (OSError, ValueError) as error:
            failures.append(repr(error))

    def test_no_connection_is_dropped(self) -> None:
        directory = Directory()
        self.addCleanup(directory.close)
        directory.configure("log_level: info\n")
        until = threading.Event()
        failures: list[str] = []
        with Broker("--config", str(directory.file)) as broker:
            clients = [threading.Thread(target=self.work, args=(broker.ports[0], until, failures))
                       for _ in range(self.CLIENTS)]
            for client in clients:
                client.start()
            try:
                for turn in range(1, self.RELOADS + 1):
                    directory.configure(f"log_level: info\nmax_job_size: {1000 + turn}\n"
                                        f"limits:\n  output: {100000 + turn}\n")
                    broker.signal(signal.SIGHUP)
                    broker.wait_for("reloaded changed=max_job_size,limits.output", turn)
            finally:
                until.set()
                for client in clients:
                    client.join()
            self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
