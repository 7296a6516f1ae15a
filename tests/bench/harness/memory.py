"""Resident bytes of a queued job and of an idle connection, and what a drained queue leaves."""

import time
from collections.abc import Iterable
from typing import Any

from . import table
from .bench import Bench, attempt, verdict
from .scenarios import (
    BEANSTALKD,
    BODY_BYTES,
    CONNECTION_BOUND,
    DRAINED_BOUND,
    GEARMAND,
    QUEUED_BOUND,
    Memory,
)
from .servers import Server

Result = dict[str, Any]

JOBS = 1_000_000  # the bounds are for as many
GIVE_BACK_SECONDS = 3


def run_queued(bench: Bench, cases: Iterable[Memory]) -> list[Result]:
    jobs = JOBS // 10 if bench.quick else JOBS
    results = []
    for case in cases:
        for name in ["ours", *case.peers]:
            what = f"memory of {case.name}, {name}"
            if result := attempt(what, lambda: _queued(bench, case, name, jobs)):
                results.append(result)
    header = ["scenario", "server", "bytes a job beside its body", "bound", "met"]
    header += ["before, MB", "full, MB", "drained, MB", "to before", "bound", "met"]
    title = f"Memory of {jobs:,} queued jobs of {BODY_BYTES} bytes"
    table.show(title, header, [_queued_row(result) for result in results])
    return results


def _queued(bench: Bench, case: Memory, name: str, jobs: int) -> Result:
    load = f"--producers 2 --consumers 2 --depth 64 --ops {jobs} --body {BODY_BYTES}"
    with bench.server(name) as server:
        bench.load.measure(server, f"{case.protocol} cycle --seconds 0.3")
        before = server.resident_bytes()
        bench.load.measure(server, f"{case.protocol} store --tubes {case.tubes} {load}")
        full = server.resident_bytes()
        drained = _drained(bench, server, f"{case.protocol} drain --tubes {case.tubes} {load}")
    return {"name": case.name, "server": name, "jobs": jobs, "before": before, "full": full,
            "drained": drained}  # fmt: skip


def _drained(bench: Bench, server: Server, load: str) -> int | None:
    """Resident bytes after the drain; none when the server does not get through with it."""
    if not attempt("its drain", lambda: bench.load.measure(server, f"{load} --filled")):
        return None
    time.sleep(GIVE_BACK_SECONDS)
    return server.resident_bytes()


def _queued_row(result: Result) -> table.Row:
    beside_body = (result["full"] - result["before"]) / result["jobs"] - BODY_BYTES
    bounded = result["server"] == "ours" and result["jobs"] == JOBS
    row = [
        result["name"], result["server"],
        f"{beside_body:.0f}", *_bound(bounded, beside_body, QUEUED_BOUND),
        *(f"{result[when] / 2**20:.1f}" for when in ("before", "full")),
    ]  # fmt: skip
    if result["drained"] is None:
        return [*row, "", "", "", ""]
    left = result["drained"] / result["before"]
    drained = f"{result['drained'] / 2**20:.1f}"
    return [*row, drained, f"{left:.2f}", *_bound(bounded, left, DRAINED_BOUND)]


def run_connections(bench: Bench) -> list[Result]:
    count = 1_000 if bench.quick else 10_000
    results = []
    for protocol, peer in (("beanstalk", BEANSTALKD), ("gearman", GEARMAND)):
        for name in ("ours", peer):
            what = f"memory of idle {protocol} connections, {name}"
            if result := attempt(what, lambda: _connections(bench, protocol, name, count)):
                results.append(result)
    rows = [
        [result["protocol"], result["server"], f"{result['bytes']:.0f}",
         *_bound(result["server"] == "ours", result["bytes"], CONNECTION_BOUND)]
        for result in results
    ]  # fmt: skip
    header = ["protocol", "server", "bytes a connection", "bound", "met"]
    table.show(f"Memory of {count:,} idle connections", header, rows)
    return results


def _connections(bench: Bench, protocol: str, name: str, count: int) -> Result:
    with bench.server(name) as server:
        before = server.resident_bytes()
        idle = f"--idle {count} --idle-protocol {protocol} --seconds 0.5"
        report = bench.load.measure(server, f"{protocol} idle {idle}")
    each = (report["rss_after"] - before) / count
    return {"protocol": protocol, "server": name, "bytes": each}


def _bound(applies: bool, value: float, bound: float) -> list[str]:
    return [f"{bound:g}", verdict(value, bound)] if applies else ["", ""]
