#!/usr/bin/env python3
"""What a journal in PostgreSQL costs when something happens: figures.py BROKER [--rounds N].

A long run, which no build waits for: the outage after a crash of the active broker, with etcd next
to it; appends and beats beside a snapshot that a dump holds; tables of a log that turned over."""

import argparse
import signal
import statistics
import time
from collections.abc import Callable

from servers import PostgresShard, Servers
from cluster import Client, Etcd, Shard

LEASE_MS = 2000
APPENDS = 100_000
TURNS = 50
MAX_BYTES = 64 << 20
BODY = "x" * 1000


def outages(name: str, shard: Shard, rounds: int) -> None:
    """From a kill until a client's put is answered again."""
    seconds = []
    with shard:
        active, standby = shard.pair()
        for number in range(rounds):
            with active.connect() as client:
                client.put(f"before {number}")
            active.signal(signal.SIGKILL)
            killed = time.monotonic()
            while standby.refuses():
                time.sleep(0.005)
            with standby.connect() as client:
                client.put(f"after {number}")
            seconds.append(time.monotonic() - killed)
            shard.make_whole()
            active, standby = standby, active
    print(f"outage after a crash, lease {LEASE_MS / 1000} s, {name}: median "
          f"{statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s of {rounds}", flush=True)


def put_and_delete(client: Client, count: int) -> float:
    """Puts and deletions a second, one at a time: each is an append."""
    begun = time.monotonic()
    for _ in range(count // 2):
        client.say(f"delete {taken(client.put(BODY))}")
    return count / (time.monotonic() - begun)


def beat_ms(servers: Servers, during: Callable[[], float]) -> tuple[float, float]:
    """Appends a second, and how long the server took for a beat meanwhile."""
    servers.primary.sql("select pg_stat_statements_reset()")
    rate = during()
    beats = servers.primary.sql("select sum(calls), sum(total_exec_time) / sum(calls) from pg_stat_statements "
                                "where query like '%beat = beat + %'")
    count, each = beats.split("|")
    print(f"  {count} beats of {float(each):.3f} ms, {rate:.0f} appends a second", flush=True)
    return rate, float(each)


def beside_a_dump(broker: str) -> None:
    servers = Servers(0, shared_preload_libraries="pg_stat_statements")
    try:
        servers.primary.sql("create extension pg_stat_statements")
        with PostgresShard(broker, servers, "dump", LEASE_MS) as shard, \
                shard.first().connect() as client:
            put_and_delete(client, 2000)
            without = beat_ms(servers, lambda: put_and_delete(client, APPENDS // 4))
            with servers.primary.session() as dump:
                dump("begin isolation level repeatable read; select count(*) from dump.part")
                put_and_delete(client, APPENDS)
                beside = beat_ms(servers, lambda: put_and_delete(client, APPENDS // 4))
                dump("commit")
        print(f"beside a snapshot held for {APPENDS} appends: appends {beside[0] / without[0]:.2f}, "
              f"beats {without[1] / beside[1]:.2f} of without", flush=True)
    finally:
        servers.close()


def taken(answer: str) -> str:
    if not answer.startswith("INSERTED "):
        raise AssertionError(answer)
    return answer.split()[1]


def turned_over(broker: str) -> None:
    servers = Servers()
    try:
        with PostgresShard(broker, servers, "turns", LEASE_MS) as shard:
            active = shard.first("--replica-max-bytes", str(MAX_BYTES))
            with active.connect() as client:
                for _ in range(1000):
                    client.put(BODY)
                written = "gearstalkd_journal_appended_bytes_total"
                begin = active.metric(written)
                while active.metric(written) - begin < TURNS * MAX_BYTES:
                    for _ in range(20):
                        client.say(f"delete {taken(client.put('y' * 60_000))}")
            live = active.metric("gearstalkd_journal_live_bytes")
            sizes = servers.primary.sql(
                "select string_agg(pg_total_relation_size(inhrelid)::text, ' ') from pg_inherits "
                "where inhparent = 'turns.part'::regclass").split()
            tables = sum(map(int, sizes))
            bound = 3 * live + 2 * max(map(int, sizes))
            print(f"a log of {MAX_BYTES >> 20} MiB at most that turned over {TURNS} times: {live / 2**20:.1f} MiB live, "
                  f"tables {tables / 2**20:.1f} MiB in {len(sizes)} partitions, bound {bound / 2**20:.1f}", flush=True)
    finally:
        servers.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("broker")
    parser.add_argument("--rounds", type=int, default=10)
    flags = parser.parse_args()
    etcd, servers = Etcd(), Servers(2)
    try:
        outages("etcd", Shard(flags.broker, etcd, "/figures/", LEASE_MS), flags.rounds)
        outages("PostgreSQL", PostgresShard(flags.broker, servers, "figures", LEASE_MS), flags.rounds)
    finally:
        etcd.close()
        servers.close()
    beside_a_dump(flags.broker)
    turned_over(flags.broker)


if __name__ == "__main__":
    main()
