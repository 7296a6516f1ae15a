#!/usr/bin/env python3
"""Recipes of docs/migration.md with a real beanstalkd: recipes_test.py BROKER CTL."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from tools import BROKER, CTL, PATIENCE, Broker, Folder

from launched import PASS_SOCKETS, Process, eventually


class Client:
    """Speaks beanstalk; an answer is a line, and the body of a job."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.file = self.socket.makefile("rb")

    def send(self, text: str) -> None:
        self.socket.sendall(text.encode())

    def hear(self) -> str:
        return self.file.readline().decode().strip()

    def put(self, body: str) -> str:
        self.send(f"put 9 0 60 {len(body)}\r\n{body}\r\n")
        return self.hear()

    def take(self) -> str:
        """The body of the next job, which is deleted."""
        self.send("reserve\r\n")
        job = self.hear().split()[1]
        body = self.hear()
        self.send(f"delete {job}\r\n")
        assert self.hear() == "DELETED"
        return body

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
class Recipes(unittest.TestCase):
    def client(self, port: int) -> Client:
        client = Client(port)
        self.addCleanup(client.close)
        return client

    def test_no_stop(self) -> None:
        """Consumers first, then producers, then the move."""
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            consumer, producer = self.client(broker.ports[0]), self.client(broker.ports[0])
            for number in range(300):
                old.put("default", f"old-{number}")
            self.assertRegex(producer.put("new"), r"^INSERTED \d+$")
            tool = subprocess.Popen([CTL, "take-over", old.url, "--to", broker.address, "--follow"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(tool.wait, PATIENCE)
            self.addCleanup(tool.kill)
            late = [f"late-{number}" for number in range(20)]
            for body in late:  # of a producer that has not been pointed here yet
                old.put("default", body)
            ran = sorted(consumer.take() for _ in range(321))
            self.assertEqual(ran, sorted([f"old-{n}" for n in range(300)] + late + ["new"]))
            eventually("nothing is left there", lambda: old.counts() == NOTHING)
            tool.send_signal(signal.SIGTERM)
            self.assertEqual(tool.wait(PATIENCE), 0)

    def test_same_port(self) -> None:
        """A service manager keeps the socket; who connects meanwhile is served by the next."""
        with Folder() as folder, socket.socket() as kept:
            kept.bind(("127.0.0.1", 0))
            kept.listen(16)
            port = kept.getsockname()[1]
            log = folder / "log"
            log.mkdir()
            link = folder / "beanstalkd"
            os.symlink(Path(BROKER).resolve(), link)
            old = self.serve(kept, shutil.which("beanstalkd"), log, port)
            self.assertEqual(self.client(port).put("kept"), "INSERTED 1")
            self.assertEqual(old.stop(), -signal.SIGTERM)
            waiting = self.client(port)
            waiting.send("reserve\r\n")
            ours = self.serve(kept, link, log, port)
            self.assertEqual([waiting.hear(), waiting.hear()], ["RESERVED 1 4", "kept"])
            self.assertIn("imported 1 jobs of beanstalkd", ours.said)
            self.assertEqual(ours.stop(), 0)

    def serve(self, kept: socket.socket, program: str | Path, log: Path, port: int) -> Process:
        high = os.dup2(kept.fileno(), 100)  # out of the way of the place where it goes
        process = Process([sys.executable, "-c", PASS_SOCKETS, high, program, "-b", log, "-l",
                           "127.0.0.1", "-p", port],
                          env=dict(os.environ, LISTEN_FDS="1"), pass_fds=[high])
        os.close(high)
        self.addCleanup(process.kill)
        return process


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
