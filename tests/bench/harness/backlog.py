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

from . import backlog_beside, table
from .bench import Bench, Spread, attempt, short, verdict
from .cold import COLD, JOBS, WARM, drop_cache, fill, rates, segments, size
from .journal import recover
from .servers import BODIES_LIMIT, Server

Result = dict[str, Any]

MEMORY = {"memory": (10_000_000, 1_000), "memory-large": (100_000, 64_000)}  # jobs, bytes of a body
JOB_BYTES, BROKER_BYTES = 112, 64 << 20
BUFFERS_SECONDS = 11  # later the broker has given back what it needed for puts
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
BESIDE = {
    "puts-beside": backlog_beside.puts_beside,
    "cycle-beside": backlog_beside.cycle_beside,
    "compaction": backlog_beside.compaction,
}
NAMES = [*MEMORY, "puts", *(drain.name for drain in DRAINS), *BESIDE, "start"]


def run(bench: Bench, chosen: Callable[[str], bool]) -> Result:
    measures: dict[str, Callable[[], list[table.Row]]] = {
        **{name: lambda name=name: _memory(bench, *MEMORY[name]) for name in MEMORY},  # type: ignore[misc]
        "puts": lambda: _puts(bench),
        **{drain.name: lambda drain=drain: _drain(bench, drain) for drain in DRAINS},  # type: ignore[misc]
        **{name: lambda measure=measure: measure(bench) for name, measure in BESIDE.items()},  # type: ignore[misc]
        "start": lambda: _start(bench),
    }
    results = {name: attempt(f"backlog, {name}", measures[name]) for name in NAMES if chosen(name)}
    rows = [row for of in results.values() for row in of or []]
    header = ["measurement", "bodies in the journal", "next to", "its", "ratio", "bound", "met"]
    table.show("A backlog larger than memory", header, rows)
    return results


def _memory(bench: Bench, jobs: int, body: int) -> list[table.Row]:
    jobs = size(bench, jobs)
    with bench.server(COLD) as server:
        fill(bench, server, jobs, f"--body {body}")
        time.sleep(BUFFERS_SECONDS)
        resident = server.resident_bytes()
    bound = BODIES_LIMIT + jobs * JOB_BYTES + BROKER_BYTES
    return [[f"resident MB, {jobs:,} jobs of {body:,} bytes", f"{resident / 2**20:.0f}", "the formula",
             f"{bound / 2**20:.0f}", short(resident / bound), "1", verdict(resident, bound)]]  # fmt: skip


def _puts(bench: Bench) -> list[table.Row]:
    load = "beanstalk store --producers 64 --body 1000"
    cold, warm = ([report["ops_per_second"] for report in reports]
                  for reports in bench.interleaved([(COLD, load), (WARM, load)]))  # fmt: skip
    return [rates("puts a second, 64 producers", cold, WARM, warm, 0.9)]


def _drain(bench: Bench, drain: Drain) -> list[table.Row]:
    jobs = size(bench, JOBS * 1_000 // drain.body)
    found: dict[str, list[float]] = {COLD: [], WARM: [], "the disk": []}
    for _ in range(bench.rounds):
        for name in (COLD, WARM):
            with bench.server(name) as server:
                fill(bench, server, jobs, f"--body {drain.body} {drain.fill}")
                drop_cache(server)
                if name == COLD:
                    found["the disk"].append(_disk(server, drain, jobs))
                    drop_cache(server)
                load = f"beanstalk drain --consumers 8 --depth {drain.depth} --ops {jobs} --filled"
                found[name].append(bench.load.measure(server, load)["ops_per_second"])
    slower = min((WARM, "the disk"), key=lambda name: Spread.of(found[name]).median)
    what = f"jobs a second, {drain.body:,} bytes, {drain.load}"
    return [rates(what, found[COLD], name, found[name], 0.5 if name == slower else None)
            for name in (WARM, "the disk")]  # fmt: skip


def _disk(server: Server, drain: Drain, jobs: int) -> float:
    """Jobs a second whose bytes the disk gives: all files one after the other, or reads of one body by 8 threads."""
    begun = time.monotonic()
    if drain.in_order and drain.depth > 1:
        for path in segments(server):
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
        return jobs / (time.monotonic() - begun)
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb")).fileno() for path in segments(server)]
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
    jobs = size(bench, START_JOBS)
    for body, bound in ((1_000, START_SECONDS), (100, None)):
        with bench.server(COLD) as server:
            fill(bench, server, jobs, f"--body {body}")
            server.kill()
            seconds = []
            for _ in range(bench.rounds):
                drop_cache(server)
                seconds.append(recover(server, jobs)["seconds"])
        spread = Spread.of(seconds)
        limit = None if bench.quick else bound
        rows.append([f"seconds of a start, {jobs:,} jobs of {body:,} bytes, cold", str(spread), "", "", "",
                     short(limit) if limit else "", verdict(spread.median, limit)])  # fmt: skip
    return rows
