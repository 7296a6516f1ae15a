#!/usr/bin/env python3
"""Breaks something under load, round after round, and looks for jobs that are lost, back or doubled.

rounds.py BROKER [--rounds N] [--seed N]: a long run, which no build waits for."""

import argparse
import random
import shutil
import signal
import subprocess
import time

from servers import PostgresShard, Servers, eventually, run
from ledger import Ledger, Traffic

LEASE_MS = 3000


class Rounds:
    def __init__(self, broker: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.ledger = Ledger()
        self.servers = Servers(2, everywhere=True, synchronous_standby_names="ANY 1 (p, s1, s2)")
        self.shard = PostgresShard(broker, self.servers, "rounds", LEASE_MS)

    def more(self, count: int) -> None:
        before = len(self.ledger.put)
        eventually("more jobs", lambda: len(self.ledger.put) > before + count)

    def kill(self) -> None:
        active = self.shard.wait_active()
        active.signal(signal.SIGKILL)
        active.wait()

    def step_down(self) -> None:
        active = self.shard.wait_active()
        active.signal(signal.SIGUSR2)
        active.wait()

    def freeze(self) -> None:
        active = self.shard.wait_active()
        active.signal(signal.SIGSTOP)
        self.shard.wait_active(but=active)
        active.signal(signal.SIGCONT)
        active.wait()

    def end_sessions(self) -> None:
        how = self.random.choice(("terminate", "cancel"))
        for _ in range(self.random.randrange(1, 20)):
            self.servers.primary.sql(f"select pg_{how}_backend(pid) from pg_stat_activity "
                                     "where application_name like 'gearstalkd/%'")
            time.sleep(self.random.uniform(0, 0.05))

    def crash_server(self) -> None:
        self.servers.primary.stop_at_once()
        self.servers.primary.start()
        self.servers.primary.wait_up()

    def freeze_backends(self) -> None:
        pids = self.servers.primary.sql("select string_agg(pid::text, ' ') from pg_stat_activity "
                                        "where application_name like 'gearstalkd/%'").split()
        for number in ("-STOP", "-CONT"):
            run_kill(number, pids)
            time.sleep(self.random.uniform(0.1, 2))

    def stop_standbys(self) -> None:
        others = [server for server in self.servers.all if server is not self.servers.primary]
        for server in others:
            server.stop_at_once()
        time.sleep(self.random.uniform(0, 2))
        # A session that is ended now leaves a row that is visible and on no standby.
        self.end_sessions()
        for server in others:
            server.start()
            server.wait_up()

    def promote(self, lost: bool = False) -> None:
        """Another server becomes primary; with `lost`, what is on no standby is there before."""
        if lost:
            self.end_sessions()
        old = self.servers.promote()
        new = self.servers.primary
        other, = (server for server in self.servers.all if server not in (old, new))
        other.stop_at_once()
        for server in (other, old):
            shutil.rmtree(server.data)
            run("pg_basebackup", "-D", server.data, "-d", f"{new.where} user=test", "-c", "fast")
            server.follow(new)
            server.start()
            server.wait_up()

    def run(self, rounds: int) -> list[str]:
        acts = [self.kill, self.step_down, self.freeze, self.end_sessions, self.crash_server,
                self.freeze_backends, self.stop_standbys, self.promote,
                lambda: self.promote(lost=True)]
        begun = time.monotonic()
        try:
            with self.shard as shard:
                shard.pair()
                with Traffic(shard, self.ledger):
                    for number in range(rounds):
                        self.more(self.random.randrange(5, 60))
                        act = self.random.choice(acts)
                        act()
                        shard.make_whole()
                        self.more(5)
                        print(f"{number + 1} {getattr(act, '__name__', 'promote')} "
                              f"put {len(self.ledger.put)} deleted {len(self.ledger.deleted)} "
                              f"{time.monotonic() - begun:.0f} s", flush=True)
                active = shard.wait_active()
                active.signal(signal.SIGKILL)
                active.wait()
                with shard.wait_active().connect() as client:
                    return self.ledger.faults([body for _, body in client.take_all()])
        finally:
            self.servers.close()


def run_kill(number: str, pids: list[str]) -> None:
    subprocess.run(["kill", number, *pids], check=False, stderr=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("broker")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    faults = Rounds(flags.broker, flags.seed).run(flags.rounds)
    print(f"{flags.rounds} rounds: {len(faults)} faults")
    for fault in faults[:50]:
        print(fault)
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
