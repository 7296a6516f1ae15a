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

LOCAL = "ours --sync always"
OURS = "ours, replicated"
FLOOR = "bare client"
NODES = 3
QUOTA = 8 << 30  # bytes
PART_HEADER = 64  # bytes
WARM_UP = 0.3  # seconds
RATE_BOUND = 0.8  # bytes a second to those of the bare client, at least
CPU_BOUND = 2.0  # microseconds a job to those with the local journal, at most
PUTS = ("b-put-1", "b-put-8", "b-put-64-1k")
PUTS_BOUND = 1.0  # of these jobs a second in PostgreSQL to those in etcd, at least
STORES_BOUND = 1.0  # microseconds a job in PostgreSQL to those in etcd, at most


@dataclass(frozen=True)
class Replicated:
    name: str
    workload: str
    connections: int = 64  # of each kind

    @property
    def load(self) -> str:
        return f"{self.workload} --producers {self.connections} --consumers {self.connections}"


REPLICATED = [
    Replicated("b-put-1", "beanstalk store --body 1000", 1),
    Replicated("b-put-8", "beanstalk store --body 1000", 8),
    Replicated("b-put-64-1k", "beanstalk store --body 1000"),
    Replicated("b-put-64-2k", "beanstalk store --body 2000"),
    Replicated("b-put-64-16k", "beanstalk store --body 16000"),
    Replicated("b-put-64", "beanstalk store"),
    Replicated("b-put-64-8k", "beanstalk store --body 8000"),
    Replicated("b-cycle-64", "beanstalk cycle"),
    Replicated("g-submit-64", "gearman store --unique-keys"),
]


class OnEtcd:
    name, floor = "etcd", "etcd_floor"
    bounded = ("b-put-64", "b-put-64-8k", "b-cycle-64", "g-submit-64")

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
    bounded = ("b-put-64-2k", "b-put-64-16k")  # appends of 64 and 256 KB

    def __init__(self, _: Bench) -> None:
        self.servers = servers.Servers(2, max_wal_size="4GB", shared_buffers="512MB")
        self.close = self.servers.close

    def flags(self, shard: str) -> list[str]:
        return ["--postgres-conninfo", self.servers.conninfo, "--postgres-schema", shard]

    def bare(self, shard: str) -> list[str]:
        primary = f"{self.servers.primary.where} dbname=postgres user=test"
        return [primary, "--table", shard]


Store = OnEtcd | OnPostgres


def run(bench: Bench, cases: list[Replicated], stores: dict[type[Store], Path]) -> list[Result]:
    """`stores`: those to measure, in turn, each with its bare client."""
    results: list[Result] = []
    for store in list(stores):
        if (shutil.which("etcd") if store is OnEtcd else servers.PROGRAMS) is None:
            print(f"replica: no result: there is no {store.name}", flush=True)
            del stores[store]
    for case in cases if stores else []:
        if result := attempt(f"replicated/{case.name}", lambda case=case: _measure(bench, case, stores)):
            results.append(result)
    header = ["scenario", "jobs a second", "bytes an append", "MB/s", "bare client, MB/s", "ratio",
              "bound", "met", "CPU a job, us", "local journal, us", "ratio", "bound", "met"]  # fmt: skip
    for store in stores:
        table.show(f"A journal in {store.name}", header, [_row(result, store) for result in results])
    if len(stores) > 1:
        header = ["scenario", "PostgreSQL, jobs a second", "etcd", "ratio", "bound", "met",
                  "CPU a job, us", "etcd, us", "ratio", "bound", "met"]  # fmt: skip
        table.show("PostgreSQL next to etcd", header, [_beside(result) for result in results])
    return results


def _measure(bench: Bench, case: Replicated, stores: dict[type[Store], Path]) -> Result:
    result: Result = {"name": case.name, "local_cpu": []}
    with ExitStack() as stack:
        places = []
        for store in stores:
            places.append(store(bench))
            stack.callback(places[-1].close)
            result[store.name] = {"rates": [], "cpu": [], "append_bytes": [], "bytes": [], "floor_bytes": []}
        for turn in range(bench.rounds):
            with bench.server(LOCAL) as local:
                report = bench.load.measure(local, _arguments(bench, case))
                result["local_cpu"].append(report["cpu_us_per_op"])
            for place in places:
                _measure_store(bench, case, place, turn, result[place.name])
                floor = [str(stores[type(place)]), *place.bare(f"floor_{_shard(case)}_{turn}")]
                size = round(result[place.name]["append_bytes"][-1])
                result[place.name]["floor_bytes"].append(_floor(bench, floor, size))
    return result


def _arguments(bench: Bench, case: Replicated) -> str:
    return f"{case.load} --seconds {bench.seconds} --warm-up {WARM_UP}"


def _shard(case: Replicated) -> str:
    return case.name.replace("-", "_")


def _measure_store(bench: Bench, case: Replicated, store: Store, turn: int, result: Result) -> None:
    plain = bench.kinds["ours"]

    def command(port: int, directory: Path) -> list[str]:
        return [*plain.command(port, directory), "--admin", f"127.0.0.1:{ADMIN_PORT}",
                *store.flags(f"{_shard(case)}_{turn}")]  # fmt: skip

    # Nodes and brokers share all CPUs.
    bench = replace(bench, kinds={**bench.kinds, OURS: Kind(OURS, command)},
                    load=replace(bench.load, flags=()))  # fmt: skip
    with bench.server(OURS) as ours, ThreadPoolExecutor(1) as thread:
        report = thread.submit(bench.load.measure, ours, _arguments(bench, case))
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


def _appended(server: Server) -> tuple[float, float, float]:
    """When it was asked, and how many appends and bytes of records there were until then."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}/metrics") as answer:
        text = answer.read().decode()
    numbers = [re.search(rf"^gearstalkd_journal_{name} (\S+)$", text, re.M)
               for name in ("sync_seconds_count", "appended_bytes_total")]  # fmt: skip
    if None in numbers:
        raise ServerError("the metrics of the journal are not there")
    return (time.monotonic(), *(float(number[1]) for number in numbers if number))


def _floor(bench: Bench, command: list[str], size: int) -> float:
    done = subprocess.run(
        [*command, "--record", str(size), "--seconds", str(bench.seconds)],
        capture_output=True, text=True, preexec_fn=die_with_parent, timeout=LIMIT_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise LoadError(f"{command[0]}: {done.stderr.strip()}")
    rate: float = json.loads(done.stdout)["bytes_per_second"]
    return rate


def _row(result: Result, store: type[Store]) -> table.Row:
    here = result[store.name]
    rates, cpu, local = (Spread.of(each) for each in (here["rates"], here["cpu"], result["local_cpu"]))
    ours = Spread.of([value / 2**20 for value in here["bytes"]])
    bare = Spread.of([value / 2**20 for value in here["floor_bytes"]])
    bounds = (RATE_BOUND, CPU_BOUND) if result["name"] in store.bounded else (None, None)
    return [result["name"], str(rates), short(Spread.of(here["append_bytes"]).median), str(ours),
            str(bare), *_ratio(ours, bare, -1, bounds[0]), str(cpu), str(local),
            *_ratio(cpu, local, 1, bounds[1])]  # fmt: skip


def _ratio(mine: Spread, its: Spread, sign: int, bound: float | None) -> table.Row:
    """`sign`: 1 if it is to be at most the bound, -1: at least."""
    ratio = mine.median / its.median
    if bound is None:
        return [short(ratio), "", ""]
    return [short(ratio), f"{'>=' if sign < 0 else '<='} {short(bound)}", verdict(sign * ratio, sign * bound)]


def _beside(result: Result) -> table.Row:
    postgres, etcd = result[OnPostgres.name], result[OnEtcd.name]
    row = [result["name"]]
    for what, sign, bound in (("rates", -1, PUTS_BOUND if result["name"] in PUTS else None),
                              ("cpu", 1, STORES_BOUND)):
        mine, its = Spread.of(postgres[what]), Spread.of(etcd[what])
        row += [str(mine), str(its), *_ratio(mine, its, sign, bound)]
    return row
