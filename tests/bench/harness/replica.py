"""Durable jobs a second with a journal in etcd or PostgreSQL, next to a bare client that appends the
same bytes."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import table
from .bench import Bench, Spread, attempt, short, verdict
from .load import LIMIT_SECONDS, LoadError
from .servers import ADMIN_PORT, Kind, Server, ServerError, die_with_parent

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("replica", "postgres")]
import servers  # noqa: E402
from cluster import Etcd  # noqa: E402

Result = dict[str, Any]

CONNECTIONS = 64
LOCAL = "ours --sync always"
OURS = "ours, replicated"
FLOOR = "bare client"
NODES = 3
QUOTA = 8 << 30  # bytes
PART_HEADER = 64  # bytes
WARM_UP = 0.3  # seconds
RATE_BOUND = 0.8  # bytes a second to those of the bare client, at least
CPU_BOUND = 2.0  # microseconds a job to those with the local journal, at most


@dataclass(frozen=True)
class Replicated:
    name: str
    workload: str

    @property
    def load(self) -> str:
        return f"{self.workload} --producers {CONNECTIONS} --consumers {CONNECTIONS}"


REPLICATED = [
    Replicated("b-put-64", "beanstalk store"),
    Replicated("b-put-64-8k", "beanstalk store --body 8000"),
    Replicated("b-cycle-64", "beanstalk cycle"),
    Replicated("g-submit-64", "gearman store --unique-keys"),
]


class OnEtcd:
    name, floor = "etcd", "etcd_floor"

    def __init__(self, bench: Bench) -> None:
        self.etcd = Etcd(NODES, f"--quota-backend-bytes={QUOTA}", place=bench.scratch)
        self.close = self.etcd.close

    def flags(self, shard: str) -> list[str]:
        words = ["--etcd-prefix", f"/{shard}/", "--replica-max-bytes", str(1 << 32)]
        for node in self.etcd.nodes:
            words += ["--etcd-endpoints", node.endpoint]
        return words

    def bare(self, shard: str) -> list[str]:
        return [*(node.endpoint for node in self.etcd.nodes), "--prefix", f"/{shard}/"]


class OnPostgres:
    """A primary and two standbys, one of which confirms."""

    name, floor = "PostgreSQL", "postgres_floor"

    def __init__(self, _: Bench) -> None:
        self.servers = servers.Servers(2, max_wal_size="4GB", shared_buffers="512MB")
        self.close = self.servers.close

    def flags(self, shard: str) -> list[str]:
        return ["--postgres-conninfo", self.servers.conninfo, "--postgres-schema", shard]

    def bare(self, shard: str) -> list[str]:
        primary = f"{self.servers.primary.where} dbname=postgres user=test"
        return [primary, "--table", shard]


Store = OnEtcd | OnPostgres


def run(bench: Bench, floor: Path, cases: list[Replicated], store: type[Store]) -> list[Result]:
    results: list[Result] = []
    if (shutil.which("etcd") if store is OnEtcd else servers.PROGRAMS) is None:
        print(f"replica: no result: there is no {store.name}", flush=True)
        return results
    for case in cases:
        def measure(case: Replicated = case) -> Result:
            with ExitStack() as stack:
                place = store(bench)
                stack.callback(place.close)
                return _measure(bench, floor, case, place)
        if result := attempt(f"{store.name}/{case.name}", measure):
            results.append(result)
    header = ["scenario", "jobs a second", "bytes an append", "MB/s", "bare client, MB/s", "ratio",
              "bound", "met", "CPU a job, us", "local journal, us", "ratio", "bound", "met"]  # fmt: skip
    table.show(f"A journal in {store.name}", header, [_row(result) for result in results])
    return results


def _measure(bench: Bench, floor: Path, case: Replicated, store: Store) -> Result:
    result: Result = {"name": case.name, "rates": [], "cpu": [], "local_cpu": [], "append_bytes": [],
                      "bytes": [], "floor_bytes": []}  # fmt: skip
    arguments = f"{case.load} --seconds {bench.seconds} --warm-up {WARM_UP}"
    shard = case.name.replace("-", "_")
    plain = bench.kinds["ours"]

    def command(port: int, directory: Path) -> list[str]:
        return [*plain.command(port, directory), "--admin", f"127.0.0.1:{ADMIN_PORT}",
                *store.flags(f"{shard}_{port}")]  # fmt: skip

    # Nodes and brokers share all CPUs.
    bench = replace(bench, kinds={**bench.kinds, OURS: Kind(OURS, command)},
                    load=replace(bench.load, flags=()))  # fmt: skip
    for turn in range(bench.rounds):
        with bench.server(LOCAL) as local:
            result["local_cpu"].append(bench.load.measure(local, arguments)["cpu_us_per_op"])
        with bench.server(OURS) as ours, ThreadPoolExecutor(1) as thread:
            report = thread.submit(bench.load.measure, ours, arguments)
            time.sleep(WARM_UP + bench.seconds / 5)
            before = _appended(ours)
            time.sleep(bench.seconds / 2)
            after = _appended(ours)
            result["rates"].append(report.result()["ops_per_second"])
            result["cpu"].append(report.result()["cpu_us_per_op"])
        seconds, appends, data = (late - early for late, early in zip(after, before))
        size = data / max(appends, 1) + PART_HEADER
        result["append_bytes"].append(size)
        result["bytes"].append(size * appends / seconds)
        result["floor_bytes"].append(_floor(bench, floor, store.bare(f"floor_{shard}_{turn}"), round(size)))
    return result


def _appended(server: Server) -> tuple[float, float, float]:
    """When it was asked, and how many appends and bytes of records there were until then."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}/metrics") as answer:
        text = answer.read().decode()
    numbers = [re.search(rf"^gearstalkd_journal_{name} (\S+)$", text, re.M)
               for name in ("sync_seconds_count", "appended_bytes_total")]  # fmt: skip
    if None in numbers:
        raise ServerError("the metrics of the journal are not there")
    return (time.monotonic(), *(float(number[1]) for number in numbers if number))


def _floor(bench: Bench, floor: Path, where: list[str], size: int) -> float:
    done = subprocess.run(
        [str(floor), *where, "--record", str(size), "--seconds", str(bench.seconds)],
        capture_output=True, text=True, preexec_fn=die_with_parent, timeout=LIMIT_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise LoadError(f"{floor.name}: {done.stderr.strip()}")
    rate: float = json.loads(done.stdout)["bytes_per_second"]
    return rate


def _row(result: Result) -> table.Row:
    rates, cpu, local = (Spread.of(result[name]) for name in ("rates", "cpu", "local_cpu"))
    ours = Spread.of([value / 2**20 for value in result["bytes"]])
    bare = Spread.of([value / 2**20 for value in result["floor_bytes"]])
    rate, cost = ours.median / bare.median, cpu.median / local.median
    return [result["name"], str(rates), short(Spread.of(result["append_bytes"]).median), str(ours),
            str(bare), short(rate), f">= {short(RATE_BOUND)}", verdict(-rate, -RATE_BOUND), str(cpu),
            str(local), short(cost), short(CPU_BOUND), verdict(cost, CPU_BOUND)]  # fmt: skip
