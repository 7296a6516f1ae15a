"""Bodies that left memory, next to the same work with all of them there: `backlog/*`."""

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import table
from .bench import Bench, Spread, attempt, short, verdict
from .journal import recover
from .servers import BODIES_LIMIT, Server

Result = dict[str, Any]

COLD, WARM = "bodies in the journal", "bodies in memory"
JOBS = 1_000_000
MEMORY = {"memory": (10_000_000, 1_000), "memory-large": (100_000, 64_000)}  # jobs, bytes of a body
JOB_BYTES, BROKER_BYTES = 112, 64 << 20
READERS = 8
READS = 100_000
START_JOBS, START_SECONDS = 10_000_000, 6.0


@dataclass(frozen=True)
class Drain:
    """Jobs that are taken while their bodies are in the journal alone."""

    name: str
    body: int
    load: str
    fill: str = ""
    depth: int = 1

    @property
    def in_order(self) -> bool:
        return not self.fill


DRAINS = [
    Drain("order", 1_000, "8 consumers, closed loop"),
    Drain("pipelined", 8_000, "8 consumers, pipelined", depth=16),
    Drain("random", 1_000, "8 consumers, random priorities", fill="--random-priorities"),
    Drain("random-pipelined", 1_000, "8 consumers, random priorities, 16 in flight", fill="--random-priorities", depth=16),
]
NAMES = [*MEMORY, "puts", *(drain.name for drain in DRAINS), "start"]


def run(bench: Bench, chosen: Callable[[str], bool]) -> Result:
    measures: dict[str, Callable[[], list[table.Row]]] = {
        **{name: lambda name=name: _memory(bench, *MEMORY[name]) for name in MEMORY},  # type: ignore[misc]
        "puts": lambda: _puts(bench),
        **{drain.name: lambda drain=drain: _drain(bench, drain) for drain in DRAINS},  # type: ignore[misc]
        "start": lambda: _start(bench),
    }
    results = {name: attempt(f"backlog, {name}", measures[name]) for name in NAMES if chosen(name)}
    rows = [row for of in results.values() for row in of or []]
    header = ["measurement", "bodies in the journal", "next to", "its", "ratio", "bound", "met"]
    table.show("A backlog larger than memory", header, rows)
    return results


def _size(bench: Bench, jobs: int) -> int:
    return jobs // 20 if bench.quick else jobs


def _fill(bench: Bench, server: Server, jobs: int, flags: str) -> None:
    bench.load.measure(server, f"beanstalk store --producers 2 --depth 256 --ops {jobs} {flags}")


def _memory(bench: Bench, jobs: int, body: int) -> list[table.Row]:
    jobs = _size(bench, jobs)
    with bench.server(COLD) as server:
        _fill(bench, server, jobs, f"--body {body}")
        resident = server.resident_bytes()
    bound = BODIES_LIMIT + jobs * JOB_BYTES + BROKER_BYTES
    return [[f"resident MB, {jobs:,} jobs of {body:,} bytes", f"{resident / 2**20:.0f}", "the formula",
             f"{bound / 2**20:.0f}", short(resident / bound), "1", verdict(resident, bound)]]  # fmt: skip


def _puts(bench: Bench) -> list[table.Row]:
    load = "beanstalk store --producers 64 --body 1000"
    cold, warm = ([report["ops_per_second"] for report in reports]
                  for reports in bench.interleaved([(COLD, load), (WARM, load)]))  # fmt: skip
    return [_rates("puts a second, 64 producers", cold, WARM, warm, 0.9)]


def _drain(bench: Bench, drain: Drain) -> list[table.Row]:
    jobs = _size(bench, JOBS * 1_000 // drain.body)
    rates: dict[str, list[float]] = {COLD: [], WARM: [], "the disk": []}
    for _ in range(bench.rounds):
        for name in (COLD, WARM):
            with bench.server(name) as server:
                _fill(bench, server, jobs, f"--body {drain.body} {drain.fill}")
                _drop_cache(server)
                if name == COLD:
                    rates["the disk"].append(_disk(server, drain, jobs))
                    _drop_cache(server)
                load = f"beanstalk drain --consumers 8 --depth {drain.depth} --ops {jobs} --filled"
                rates[name].append(bench.load.measure(server, load)["ops_per_second"])
    slower = min((WARM, "the disk"), key=lambda name: Spread.of(rates[name]).median)
    what = f"jobs a second, {drain.body:,} bytes, {drain.load}"
    return [_rates(what, rates[COLD], name, rates[name], 0.5 if name == slower else None)
            for name in (WARM, "the disk")]  # fmt: skip


def _segments(server: Server) -> list[Path]:
    return sorted(server.directory.glob("*.wal"))


def _drop_cache(server: Server) -> None:
    for path in _segments(server):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _disk(server: Server, drain: Drain, jobs: int) -> float:
    """Jobs a second whose bytes the disk gives: all files one after the other, or reads of one body by 8 threads."""
    begun = time.monotonic()
    if drain.in_order and drain.depth > 1:
        for path in _segments(server):
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
        return jobs / (time.monotonic() - begun)
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb")).fileno() for path in _segments(server)]
        places = [(file, at) for file in files for at in range(0, os.fstat(file).st_size, drain.body)]
        if not drain.in_order:
            random.Random(1).shuffle(places)
        places = places[:READS]

        def read(first: int) -> None:
            for file, at in places[first::READERS]:
                os.pread(file, drain.body, at)

        threads = [threading.Thread(target=read, args=(first,)) for first in range(READERS)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(places) / (time.monotonic() - begun)


def _start(bench: Bench) -> list[table.Row]:
    rows = []
    jobs = _size(bench, START_JOBS)
    for body, bound in ((1_000, START_SECONDS), (100, None)):
        with bench.server(COLD) as server:
            _fill(bench, server, jobs, f"--body {body}")
            server.kill()
            seconds = []
            for _ in range(bench.rounds):
                _drop_cache(server)
                seconds.append(recover(server, jobs)["seconds"])
        spread = Spread.of(seconds)
        limit = None if bench.quick else bound
        rows.append([f"seconds of a start, {jobs:,} jobs of {body:,} bytes, cold", str(spread), "", "", "",
                     short(limit) if limit else "", verdict(spread.median, limit)])  # fmt: skip
    return rows


def _rates(what: str, ours: list[float], name: str, theirs: list[float], bound: float | None) -> table.Row:
    mine, its = Spread.of(ours), Spread.of(theirs)
    ratio = mine.median / its.median
    return [what, str(mine), name, str(its), short(ratio), f">= {short(bound)}" if bound else "",
            verdict(-ratio, -bound if bound else None)]  # fmt: skip
