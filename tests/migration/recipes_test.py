#!/usr/bin/env python3
"""Recipes of docs/migration.md with a real beanstalkd and gearmand: recipes_test.py BROKER CTL."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from gearman import CREATED, SUBMIT_BG, SUBMIT_EPOCH, Gearmand, Peer, has_gearmand
from tools import BROKER, CTL, PATIENCE, Broker, Folder, Tool, ctl, exported, jobs

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
            for number in range(300):
                old.put("default", f"old-{number}")
            ctl("take-over", old.url, "--to", broker.address, "--ids", "keep", "--prepare")
            consumer, producer = self.client(broker.ports[0]), self.client(broker.ports[0])
            self.assertRegex(producer.put("new"), r"^INSERTED \d{10,}$")
            late = [f"late-{number}" for number in range(20)]
            with Tool("take-over", old.url, "--to", broker.address, "--follow") as tool:
                for body in late:  # of a producer that has not been pointed here yet
                    old.put("default", body)
                ran = sorted(consumer.take() for _ in range(321))
                self.assertEqual(ran, sorted([f"old-{n}" for n in range(300)] + late + ["new"]))
                eventually("nothing is left there", lambda: old.counts() == NOTHING)
                self.assertEqual(tool.stop(), 0)
            self.assertIn(", 0 left", ctl("take-over", old.url, "--to", broker.address, "--wait", 600))

    def test_back_under_load(self) -> None:
        """Each job runs once, here or there, while all of them work."""
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker("--data-dir", folder / "new") as broker:
            here, there = self.client(broker.ports[0]), self.client(old.port)
            for number in range(1000):
                here.put(f"before-{number}")
            ran: list[str] = []
            consumers = [threading.Thread(target=self.consume, args=(port, ran))
                         for port in (broker.ports[0], old.port)]
            for consumer in consumers:
                consumer.start()
            late = threading.Thread(target=lambda: [here.put(f"late-{n}") for n in range(200)])
            late.start()  # of a producer that has not been pointed there yet
            while not re.search(", 0 left$", self.hand_back(old, broker), re.M) or late.is_alive():
                there.put(f"after-{len(ran)}-{time.monotonic_ns()}")
            late.join(PATIENCE)
            eventually("nothing is left here", lambda: ", 0 left" in self.hand_back(old, broker))
            eventually("nothing is left there", lambda: old.counts() == NOTHING)
            for client in (here, there):
                client.put("stop")
            for consumer in consumers:
                consumer.join(PATIENCE)
            before = [body for body in ran if not body.startswith("after-")]
            self.assertEqual(sorted(before), sorted([f"before-{n}" for n in range(1000)] +
                                                    [f"late-{n}" for n in range(200)]))
            self.assertEqual(len(set(ran)), len(ran))

    def consume(self, port: int, ran: list[str]) -> None:
        client = Client(port)
        while (body := client.take()) != "stop":
            ran.append(body)
        client.close()

    def hand_back(self, old: Beanstalkd, broker: Broker) -> str:
        done = subprocess.run([CTL, "hand-back", old.url, "--from", broker.address], text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return done.stdout

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


@unittest.skipUnless(has_gearmand(), "needs gearmand")
class GearmanRecipes(unittest.TestCase):
    def test_gearmand_with_a_store(self) -> None:
        """The store has one row for all jobs without a key: first what gearmand gives out."""
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            store = folder / "queue.db"
            with Gearmand("-q", "libsqlite3", f"--libsqlite3-db={store}") as old, \
                    Peer(old.address) as client:
                due = str(int(time.time()) + 100_000)
                for number in range(50):
                    self.assertEqual(client.ask(SUBMIT_BG, "f", "", f"job {number}")[0], CREATED)
                client.ask(SUBMIT_EPOCH, "f", "later", due, "later")
                ctl("take-over", old.url, "--to", broker.address, code=3)
                self.assertEqual(old.waiting(), 1)
            self.assertIn("1 imported", ctl("import", f"sqlite:{store}", "--to", broker.address))
            moved = {job["body"]: job["state"] for job in jobs(exported("--from", broker.address))}
            self.assertEqual(moved, {**{f"job {number}": "ready" for number in range(50)},
                                     "later": "delayed"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
