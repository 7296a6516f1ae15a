#!/usr/bin/env python3
"""Fills a shard on one server, and measures memory and takeover: backlog.py BROKER [--gigabytes N].

A long run, which no build waits for. Bodies of 1 KB are put pipelined, none of which may stay in
memory beyond --limits-bodies; the standby follows all the time."""

import argparse
import random
import signal
import socket
import time
from collections.abc import Iterator

from servers import PostgresShard, Servers
from cluster import Broker

BODY = 1024
BATCH = 1000  # puts that are sent at once
LEASE_MS = 2000


def body_of(number: int) -> bytes:
    return f"{number} ".encode().ljust(BODY, b"-")


def resident(broker: Broker) -> int:
    with open(f"/proc/{broker.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) << 10


class Client:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def fill(self, first: int, last: int) -> None:
        """Puts the jobs from `first` to before `last`, two batches ahead of the answers."""
        sent = list(range(first, last, BATCH))
        for i, begin in enumerate(sent):
            numbers = range(begin, min(begin + BATCH, last))
            self.socket.sendall(b"".join(b"put 0 0 600 %d\r\n%s\r\n" % (BODY, body_of(number))
                                         for number in numbers))
            if i > 0:
                self.inserted(BATCH)
        self.inserted(last - sent[-1])

    def inserted(self, count: int) -> None:
        for _ in range(count):
            line = self.file.readline()
            if not line.startswith(b"INSERTED "):
                raise AssertionError(line)

    def check(self, number: int) -> None:
        self.socket.sendall(b"peek %d\r\n" % number)
        line = self.file.readline()
        if line.split()[:1] != [b"FOUND"]:
            raise AssertionError((number, line))
        found = self.file.read(BODY + 2)[:BODY]
        if found != body_of(number):
            raise AssertionError((number, found))

    def drain(self, count: int) -> Iterator[int]:
        """Takes jobs in order, 100 at a time."""
        for _ in range(count // 100):
            self.socket.sendall(b"reserve\r\n" * 100)
            ids = []
            for _ in range(100):
                _, job, size = self.file.readline().split()
                if self.file.read(int(size) + 2)[:-2] != body_of(int(job)):
                    raise AssertionError(job)
                ids.append(job)
                yield int(job)
            self.socket.sendall(b"".join(b"delete %s\r\n" % job for job in ids))
            for _ in ids:
                if self.file.readline() != b"DELETED\r\n":
                    raise AssertionError(ids)


def report(broker: Broker, name: str, jobs: int, before: int, limit: int) -> None:
    now = resident(broker)
    inside = broker.metric("gearstalkd_bodies_bytes", '{where="memory"}')
    print(f"{name}: {now / 2**20:.0f} MiB resident, {before / 2**20:.0f} when empty, bodies in memory "
          f"{inside / 2**20:.0f} MiB, {(now - before - limit) / jobs:.1f} bytes a job beside limits.bodies, "
          f"{(now - before - inside) / jobs:.1f} beside the bodies", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("broker")
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--limits-bodies", type=int, default=64 << 20)
    flags = parser.parse_args()
    jobs = int(flags.gigabytes * 1e9 / BODY)
    servers = Servers(max_wal_size="1GB", shared_buffers="128MB", checkpoint_timeout="60s")
    try:
        with PostgresShard(flags.broker, servers, "backlog", LEASE_MS) as shard:
            shard.flags += ["--limits-bodies", str(flags.limits_bodies)]
            active, standby = shard.pair()
            before = resident(active), resident(standby)
            client = Client(int(active.address.rpartition(":")[2]))
            begun = time.monotonic()
            step = 200 * BATCH
            for first in range(1, jobs + 1, step):
                client.fill(first, min(first + step, jobs + 1))
                print(f"{first // step} {time.monotonic() - begun:.0f} s", flush=True)
            took = time.monotonic() - begun
            print(f"{jobs} jobs of {BODY} bytes in {took:.0f} s, {jobs * BODY / took / 1e6:.1f} MB/s")
            while standby.metric("gearstalkd_jobs", '{state="ready"}') < jobs:
                time.sleep(0.1)
            report(active, "active", jobs, before[0], flags.limits_bodies)
            report(standby, "standby", jobs, before[1], flags.limits_bodies)
            print("tables: " + servers.primary.sql("select pg_size_pretty(pg_database_size('postgres'))"))
            active.signal(signal.SIGKILL)
            killed = time.monotonic()
            while standby.refuses():
                time.sleep(0.01)
            client = Client(int(standby.address.rpartition(":")[2]))
            client.check(jobs // 2)
            print(f"takeover: {time.monotonic() - killed:.2f} s after the kill, with a body read")
            begun = time.monotonic()
            lot = random.Random(1)
            for _ in range(1000):
                client.check(lot.randrange(1, jobs + 1))
            print(f"peeks at random: {1000 / (time.monotonic() - begun):.0f} a second, one after the other")
            begun = time.monotonic()
            count = sum(1 for _ in client.drain(min(jobs, 200_000)))
            print(f"drained in order: {count / (time.monotonic() - begun):.0f} jobs a second")
            report(standby, "then", jobs - count, before[1], flags.limits_bodies)
    finally:
        servers.close()


if __name__ == "__main__":
    main()
