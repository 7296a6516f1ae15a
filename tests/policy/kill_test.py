#!/usr/bin/env python3
"""Policies over kill -9: kill_test.py BROKER [ROUNDS] [SEED].

Each round works on a broker that syncs always until it is killed at some moment. At the end every
acknowledged job is where its last acknowledged event left it or further along the way of its
policy, no job is in two places, and no planned time of a schedule was run twice."""

import collections
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "admin"))
from broker import Broker, Client  # noqa: E402

BINARY = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 12
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1

CONFIG = """
tubes:
  - match: retries
    attempts: 3
    backoff: 1s
    on_failure: move
  - match: expires
    expire_after: 2s
    on_expiry: move
  - match: unique
    unique: body
    unique_for: 1h
schedules:
  - name: ticks
    every: 1s
    tube: ticks
    body: "{epoch}"
    overlap: allow
    catch_up: 1h
"""


class Gone(Exception):
    """The broker does not answer any more."""


class Work:
    """What was acknowledged."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kept: dict[int, str] = {}  # job: the tube it was put into
        self.maybe_gone: set[int] = set()  # a delete was sent
        self.deleted: set[int] = set()
        self.keys: dict[str, int] = {}  # body in `unique`: job
        self.number = 0

    def say(self, client: Client, command: str) -> str:
        try:
            line = client.say(command)
        except (OSError, IndexError) as error:
            raise Gone from error
        if not line:
            raise Gone
        return line

    def run(self, client: Client) -> None:
        for tube in ("retries", "expires", "unique"):
            self.say(client, f"watch {tube}")
        while True:
            self.random.choice((self.put, self.put, self.put_twice, self.take, self.kick))(client)

    def put(self, client: Client) -> None:
        tube = self.random.choice(("retries", "expires"))
        self.say(client, f"use {tube}")
        word, job = self.say(client, "put 0 0 60 1\r\nx").split()
        assert word == "INSERTED", word
        self.add(int(job), tube)

    def add(self, job: int, tube: str) -> None:
        assert job not in self.kept and job not in self.deleted, f"id {job} was given out twice"
        self.kept[job] = tube

    def put_twice(self, client: Client) -> None:
        """A body whose key stays taken, also when its job is finished."""
        self.number += 1
        body = f"{self.number // 2:08}"
        self.say(client, "use unique")
        word, job = self.say(client, f"put 0 0 60 8\r\n{body}").split()
        assert word == "INSERTED", word
        if body in self.keys:
            assert self.keys[body] == int(job), f"{body}: {job} instead of {self.keys[body]}"
        else:
            self.keys[body] = int(job)
            self.add(int(job), "unique")

    def take(self, client: Client) -> None:
        line = self.say(client, "reserve-with-timeout 0")
        if not line.startswith("RESERVED"):
            return
        job = int(line.split()[1])
        assert job not in self.deleted, f"job {job} is back"
        if self.random.random() < 0.6:
            assert self.say(client, f"release {job} 0 0") in ("RELEASED", "BURIED")
            return
        self.maybe_gone.add(job)
        assert self.say(client, f"delete {job}") == "DELETED"
        self.deleted.add(job)

    def kick(self, client: Client) -> None:
        self.say(client, f"use {self.random.choice(('retries.dead', 'expires.dead', 'retries'))}")
        assert self.say(client, "kick 3").startswith("KICKED")

    def wait_for_expiries(self, client: Client) -> None:
        """A job that moves while the others are counted would count twice or not at all."""
        states = ("ready", "delayed")
        while True:
            client.send(b"stats-tube expires\r\n")
            line = client.line()
            if line == "NOT_FOUND":
                return
            text = client.body(int(line.split()[1]) + 2).decode()
            if all(f"current-jobs-{state}: 0\n" in text for state in states):
                return
            time.sleep(0.05)

    def check(self, client: Client) -> None:
        self.wait_for_expiries(client)
        tubes = collections.Counter()
        for job, tube in self.kept.items():
            client.send(f"stats-job {job}\r\n".encode())
            line = client.line()
            if line == "NOT_FOUND":
                assert job in self.maybe_gone, f"job {job} of {tube} is lost"
                continue
            assert job not in self.deleted, f"job {job} of {tube} is back"
            lines = client.body(int(line.split()[1]) + 2).decode().splitlines()
            fields = dict(each.split(": ", 1) for each in lines if ": " in each)
            at = fields["tube"].strip('"')
            assert at in (tube, f"{tube}.dead"), f"job {job} of {tube} is in {at}"
            tubes[at] += 1
        for tube, count in tubes.items():
            fields = client.yaml(f"stats-tube {tube}")
            there = sum(int(fields[f"current-jobs-{state}"])
                        for state in ("ready", "delayed", "reserved", "buried"))
            # A put that was not acknowledged may be there.
            assert there >= count, f"{tube} has {there} jobs of {count}"
            assert there <= count + ROUNDS, f"{tube} has {there} jobs for {count}"

    def check_ticks(self, client: Client) -> None:
        self.say(client, "watch ticks")
        for tube in ("default", "retries", "expires", "unique"):
            self.say(client, f"ignore {tube}")
        seen = collections.Counter()
        while True:
            client.send(b"reserve-with-timeout 0\r\n")
            line = client.line()
            if not line.startswith("RESERVED"):
                break
            seen[client.body(int(line.split()[2]) + 2).strip().decode()] += 1
        twice = [planned for planned, count in seen.items() if count > 1]
        assert not twice, f"run twice: {twice}"
        assert seen, "the schedule never ran"


def main() -> None:
    work = Work(SEED)
    with tempfile.TemporaryDirectory(prefix="policies-") as data:
        Path(data, "config.yaml").write_text(CONFIG)
        options = ("--config", f"{data}/config.yaml", "--data-dir", f"{data}/journal",
                   "--sync", "always")
        for _ in range(ROUNDS):
            broker = Broker(BINARY, *options)
            client = Client(broker.port)
            killer = threading.Timer(work.random.uniform(0.2, 1.2), broker.process.kill)
            killer.start()
            try:
                work.run(client)
            except Gone:
                pass
            killer.join()
            client.close()
            broker.process.wait()
        broker = Broker(BINARY, *options)
        client = Client(broker.port)
        work.check(client)
        work.check_ticks(client)
        client.close()
        assert broker.stop() == 0
    print(f"seed {SEED}: {ROUNDS} rounds, {len(work.kept)} jobs, {len(work.deleted)} deleted")


if __name__ == "__main__":
    main()
