#!/usr/bin/env python3
"""Switchovers and kills of the primary under Patroni, under load; looks for jobs that are lost, back
or doubled, and says how long nobody could put, and how long a bare client could not commit.

patroni_rounds.py BROKER [--rounds N]: N of each; a long run, which no build waits for. Needs the
packages patroni and etcd-server."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from servers import AS_NOBODY, PROGRAMS, NotReady, PostgresShard, Process, eventually, free_port
from cluster import Etcd, http_get
from ledger import Ledger, Traffic

LEASE_MS = 2000
TTL = 20  # seconds; Patroni takes no less


class Member(Process):
    """A server under Patroni, which starts, follows and promotes it."""

    def __init__(self, top: Path, name: str, etcd: str) -> None:
        self.name = name
        self.data = top / name
        self.port, self.rest = free_port(), free_port()
        config = top / f"{name}.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "scope": "jobs", "name": name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{self.rest}"},
            "etcd3": {"hosts": etcd},
            "bootstrap": {
                "dcs": {"ttl": TTL, "loop_wait": 1, "retry_timeout": 3, "synchronous_mode": True,
                        "synchronous_mode_strict": True, "postgresql": {
                            "use_pg_rewind": True, "parameters": {"wal_log_hints": "on"}}},
                "initdb": [{"auth": "trust"}, {"encoding": "UTF8"}, {"locale": "C"}]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.data), "bin_dir": str(PROGRAMS), "pgpass": str(top / f"{name}.pass"),
                "remove_data_directory_on_diverged_timelines": True,
                "remove_data_directory_on_rewind_failure": True,
                "parameters": {"unix_socket_directories": "", "wal_keep_size": "256MB"},
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
                "authentication": {"superuser": {"username": "test", "password": "test"},
                                   "replication": {"username": "copy", "password": "copy"},
                                   "rewind": {"username": "rewind", "password": "rewind"}}}}))
        super().__init__([*AS_NOBODY, "patroni", config], cwd="/", start_new_session=True)

    def destroy(self) -> None:
        """Its machine is gone: Patroni and all processes of the server."""
        self.signal(signal.SIGKILL)
        self.wait()
        with suppress(FileNotFoundError, ProcessLookupError):
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            for process in (postmaster, *map(int, children)):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


class Cluster:
    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="gearstalk-patroni-")
        top = Path(self._directory.name)
        if AS_NOBODY:
            shutil.chown(top, "nobody", "nogroup")
        self.etcd = Etcd(1)
        self.members = [Member(top, f"p{i}", self.etcd.nodes[0].endpoint) for i in range(3)]
        self.wait_whole()

    @property
    def conninfo(self) -> str:
        ports = ",".join(str(member.port) for member in self.members)
        return f"host=127.0.0.1,127.0.0.1,127.0.0.1 port={ports} dbname=postgres user=test"

    def members_in(self, role: str) -> list[str]:
        """Names of those that run, as Patroni knows them."""
        for member in self.members:
            status, text = http_get(member.rest, "/cluster")
            if status == 200:
                return [each["name"] for each in json.loads(text)["members"]
                        if each["role"] == role and each["state"] in ("running", "streaming")]
        return []

    def whole(self) -> bool:
        """Without a synchronous standby Patroni would promote nobody."""
        return [len(self.members_in(role)) for role in ("leader", "sync_standby", "replica")] == [1, 1, 1]

    def wait_whole(self) -> None:
        """A standby that is made anew takes Patroni a while."""
        end = time.monotonic() + 900
        while not self.whole():
            if time.monotonic() > end:
                raise NotReady("\n".join(member.said[-3000:] for member in self.members))
            time.sleep(0.2)

    def primary(self) -> Member:
        eventually("a leader", lambda: self.members_in("leader"))
        leader = self.members_in("leader")[0]
        return next(member for member in self.members if member.name == leader)

    def switch(self) -> None:
        old = self.primary()
        request = urllib.request.Request(
            f"http://127.0.0.1:{old.rest}/switchover", json.dumps({"leader": old.name}).encode(),
            {"Content-Type": "application/json"})

        def accepted() -> bool:
            """Not while no standby is known to be synchronous."""
            try:
                with urllib.request.urlopen(request, timeout=60):
                    return True
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in (412, 503):
                        raise
                    return False
        eventually("a switchover", accepted)

    def close(self) -> None:
        for member in self.members:
            if member.running:
                member.destroy()
        self.etcd.close()
        self._directory.cleanup()


class Pause(threading.Thread):
    """`longest`: seconds in which `count` did not rise."""

    def __init__(self, count: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self._count = count
        self.longest = 0.0
        self.start()

    def run(self) -> None:
        seen, since = 0, time.monotonic()
        while True:
            now, count = time.monotonic(), self._count()
            self.longest = max(self.longest, now - since)
            if count > seen:
                seen, since = count, now
            time.sleep(0.005)


class BareClient(threading.Thread):
    """Commits with psql, each time by a new session with whichever server is primary."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(daemon=True)
        self._words = [*AS_NOBODY, str(PROGRAMS / "psql"), f"{conninfo} target_session_attrs=read-write "
                       "connect_timeout=2 options='-c statement_timeout=1s'", "-qAtXc"]
        self.commits = 0
        while not self._does("create table bare (at timestamptz)"):
            time.sleep(0.1)
        self.start()

    def run(self) -> None:
        while True:
            self.commits += self._does("insert into bare values (now())")
            time.sleep(0.02)

    def _does(self, sql: str) -> bool:
        """A commit whose wait for a standby was cut off is a warning, and does not count."""
        done = subprocess.run([*self._words, sql], capture_output=True, text=True, check=False, cwd="/")
        return done.returncode == 0 and not done.stderr


def run(broker: str, rounds: int) -> list[str]:
    cluster, ledger = Cluster(), Ledger()
    try:
        shard = PostgresShard(broker, cluster, "rounds", LEASE_MS)  # type: ignore[arg-type]
        with shard:
            shard.pair()
            with Traffic(shard, ledger):
                pause = Pause(lambda: len(ledger.put))
                beside = BareClient(cluster.conninfo)
                bare = Pause(lambda: beside.commits)
                for number in range(2 * rounds):
                    switch = number % 2 == 0
                    before = len(ledger.put)
                    eventually("more jobs", lambda n=before: len(ledger.put) > n + 50)
                    primary = cluster.primary()
                    pause.longest = bare.longest = 0.0
                    if switch:
                        cluster.switch()
                    else:
                        primary.destroy()
                        eventually("more jobs", lambda n=len(ledger.put): len(ledger.put) > n + 50)
                        primary.start()
                    cluster.wait_whole()
                    shard.make_whole()
                    print(f"{number + 1} {'switchover' if switch else 'kill'}: {pause.longest:.1f} s "
                          f"without a put, {bare.longest:.1f} s without a bare client's commit; "
                          f"put {len(ledger.put)}", flush=True)
            active = shard.wait_active()
            active.signal(signal.SIGKILL)
            active.wait()
            with shard.wait_active().connect() as client:
                return ledger.faults([body for _, body in client.take_all()])
    finally:
        cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("broker")
    parser.add_argument("--rounds", type=int, default=30)
    flags = parser.parse_args()
    if shutil.which("patroni") is None:
        sys.exit("there is no patroni")
    faults = run(flags.broker, flags.rounds)
    print(f"{flags.rounds} switchovers and kills: {len(faults)} faults")
    for fault in faults[:50]:
        print(fault)
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
