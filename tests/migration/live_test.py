#!/usr/bin/env python3
"""A take-over between a beanstalkd and a broker that both have producers and consumers, while the
tool, the broker and the old server are killed in turn: live_test.py BROKER CTL [ROUNDS].

Every job that was put runs, and none runs twice but those whose consumer lost its connection before
it heard of the delete, or that the report calls uncertain."""

import json
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

from beanstalkd import NOTHING, Beanstalkd
from kill_test import Broker
from tools import CTL, PATIENCE, Folder

ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 6
MOST = 0.5  # seconds until the kill


class Client:
    """A connection that is made again whenever it is lost."""

    def __init__(self, port: int, stop: threading.Event) -> None:
        self.port, self.stop = port, stop
        self.file = None

    def open(self, *lines: str) -> None:
        while self.file is None and not self.stop.is_set():
            try:
                connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
                self.file = connection.makefile("rwb")
                connection.close()  # the file keeps it
                for line in lines:
                    self.ask(line)
            except OSError:
                self.file = None
                time.sleep(0.02)

    def ask(self, line: str) -> list[str]:
        """The words of the answer; OSError if none came."""
        self.file.write(line.encode() + b"\r\n")
        self.file.flush()
        answer = self.file.readline()
        if not answer.endswith(b"\r\n"):
            raise OSError("the connection is over")
        return answer.decode().split()

    def lose(self) -> None:
        try:
            if self.file is not None:
                self.file.close()
        except OSError:
            pass
        self.file = None


class Traffic:
    """Producers and consumers of both servers, and what they saw."""

    def __init__(self, ports: list[int]) -> None:
        self.no_more_puts, self.over = threading.Event(), threading.Event()
        self.put: set[str] = set()  # acknowledged
        self.tried: set[str] = set()
        self.ran: Counter[str] = Counter()
        self.doubtful: set[str] = set()  # run, and nobody knows whether the delete was done
        self.threads = [threading.Thread(target=work, args=(port,))
                        for port in ports for work in (self.produce, self.consume)]
        for thread in self.threads:
            thread.start()

    def produce(self, port: int) -> None:
        client = Client(port, self.no_more_puts)
        number = 0
        while not self.no_more_puts.is_set():
            client.open("use work")
            body = f"{port}-{number}"
            number += 1
            try:
                self.tried.add(body)
                delay = 1 if number % 10 == 0 else 0
                if client.ask(f"put 9 {delay} 300 {len(body)}\r\n{body}")[0] == "INSERTED":
                    self.put.add(body)
                time.sleep(0.002)
            except (OSError, AttributeError):
                client.lose()

    def consume(self, port: int) -> None:
        client = Client(port, self.over)
        while not self.over.is_set():
            client.open("watch work")
            body = None
            try:
                answer = client.ask("reserve-with-timeout 1")
                if answer[0] != "RESERVED":
                    continue
                body = client.file.readline().decode().strip()
                self.ran[body] += 1
                if client.ask(f"delete {answer[1]}") != ["DELETED"]:
                    self.doubtful.add(body)
                time.sleep(0.002)
            except (OSError, AttributeError):
                if body is not None:
                    self.doubtful.add(body)
                client.lose()


@unittest.skipUnless(shutil.which("beanstalkd"), "needs beanstalkd")
class Live(unittest.TestCase):
    def rounds(self, line: list[object], victims: list[object], patience: random.Random) -> None:
        tool = None
        for number in range(ROUNDS):
            victim = victims[number % len(victims)]
            if tool is None or tool.poll() is not None:
                tool = subprocess.Popen([CTL, *map(str, line), "--follow"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(patience.random() * MOST)
            if victim is None:
                tool.kill()
                tool.wait(PATIENCE)
            else:
                victim.kill()
                victim.start()
        if victim is not None:
            tool.terminate()
            self.assertEqual(tool.wait(PATIENCE), 0)

    def finish(self, line: list[object], folder: Path, old: Beanstalkd) -> dict:
        """Until nothing is left there."""
        end = time.monotonic() + PATIENCE
        while True:
            report = folder / "report.json"
            done = subprocess.run([CTL, *map(str, line), "--wait", "5", "--report", report],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            if old.counts() == NOTHING:
                return json.loads(report.read_text())
            self.assertLess(time.monotonic(), end)

    def test_all_clients_work_meanwhile(self) -> None:
        with Folder() as folder, Beanstalkd(folder / "old") as old, \
                Broker(folder / "new") as broker:
            for number in range(2000):
                old.put("work", f"old-{number}", ttr=300)
            traffic = Traffic([old.port, int(broker.address.split(":")[1])])
            line = ["take-over", old.url, "--to", broker.address]
            try:
                self.rounds(line, [None, broker, old], random.Random(self.id()))
                traffic.no_more_puts.set()
                report = self.finish(line, folder, old)
                want = traffic.put | {f"old-{number}" for number in range(2000)}
                left, end = len(want), time.monotonic() + PATIENCE
                while left > 0 and time.monotonic() < end:
                    time.sleep(0.1)
                    before, left = left, len(want - traffic.ran.keys())
                    if left < before:
                        end = time.monotonic() + PATIENCE
            finally:
                traffic.no_more_puts.set()
                traffic.over.set()
                for thread in traffic.threads:
                    thread.join()
            self.assertEqual(want - traffic.ran.keys(), set())
            twice = {body for body, times in traffic.ran.items() if times > 1} - traffic.doubtful
            self.assertLessEqual(len(twice), report["uncertain"], twice)
            self.assertLessEqual(traffic.ran.keys() - want, traffic.tried)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
