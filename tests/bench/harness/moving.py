"""How fast jobs move in and out, next to clients that do only what has to be done."""

import sqlite3
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import table
from .bare import Beanstalk, Gearman
from .bench import Bench, attempt, short, verdict
from .load import LoadError
from .servers import Server, die_with_parent

Result = dict[str, Any]

OURS = "ours --sync always"
LIMIT_SECONDS = 600
BODY = 100
LONGEST_PUT = 0.020  # seconds, the 99th percentile while jobs move


@dataclass(frozen=True)
class Moving:
    """`bound`: jobs a second, or with a peer a share of its."""

    name: str
    measure: Callable[["Moves"], Result]
    bound: float
    peer: str = ""


class Moves:
    """What the measurements share."""

    def __init__(self, bench: Bench, tool: Path, stack: ExitStack) -> None:
        self.bench, self._tool, self._stack = bench, tool, stack
        self.jobs = 300_000 if bench.quick else 1_000_000
        self._log: Path | None = None

    def server(self, name: str) -> Server:
        return self._stack.enter_context(self.bench.server(name))

    def tool(self, *words: object) -> float:
        """The seconds of a command."""
        began = time.monotonic()
        done = subprocess.run(
            [self._tool, *map(str, words)], capture_output=True, text=True,
            preexec_fn=die_with_parent, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise LoadError(f"{words[0]}: exit {done.returncode}: {done.stderr.strip()}")
        return time.monotonic() - began

    def log(self) -> Path:
        """The log of a beanstalkd that has ended."""
        if self._log is None:
            old = self.server("beanstalkd -b")
            Beanstalk(old.port).fill(self.jobs, BODY)
            old.kill()
            self._log = old.directory
        return self._log

    def folder(self, name: str) -> Path:
        return self.bench.scratch / name


def _puts_during(port: int, work: Callable[[], float]) -> Result:
    """The seconds of `work`, and those of the puts of a client meanwhile and before."""
    alone = _puts(port, lambda: time.sleep(1))[1]
    seconds, puts = _puts(port, work)
    return {"seconds": seconds, "puts": puts, "alone": alone}


def _puts(port: int, work: Callable[[], Any]) -> tuple[Any, list[float]]:
    stop, times = threading.Event(), list[float]()
    client = threading.Thread(target=Beanstalk(port).put_for, args=(stop, times))
    client.start()
    try:
        return work(), times
    finally:
        stop.set()
        client.join()


def _import_to_broker(moves: Moves) -> Result:
    log, broker, bare = moves.log(), moves.server(OURS), moves.server(OURS)
    line = ("import", f"binlog:{log}", "--to", f"127.0.0.1:{broker.port}", "--ids", "new")
    moved = _puts_during(broker.port, lambda: moves.tool(*line))
    began = time.monotonic()
    Beanstalk(bare.port).fill(moves.jobs, BODY)
    return {**moved, "jobs": moves.jobs, "bare": moves.jobs / (time.monotonic() - began)}


def _import_to_directory(moves: Moves) -> Result:
    line = ("import", f"binlog:{moves.log()}", "--data-dir", moves.folder("imported"))
    return {"seconds": moves.tool(*line), "jobs": moves.jobs}


def _import_sqlite(moves: Moves) -> Result:
    broker, store = moves.server(OURS), moves.folder("store.db")
    with sqlite3.connect(store) as database:
        database.execute(
            "CREATE TABLE gearman_queue (unique_key TEXT, function_name TEXT, priority INTEGER,"
            " data BLOB, when_to_run INTEGER, PRIMARY KEY (unique_key, function_name))"
        )
        rows = ((f"u{number}", "work", 1, b"x" * BODY, 0) for number in range(moves.jobs))
        database.executemany("INSERT INTO gearman_queue VALUES (?, ?, ?, ?, ?)", rows)
    database.close()
    line = ("import", f"sqlite:{store}", "--to", f"127.0.0.1:{broker.port}")
    return {**_puts_during(broker.port, lambda: moves.tool(*line)), "jobs": moves.jobs}


def _export(moves: Moves) -> Result:
    broker = moves.server(OURS)
    Beanstalk(broker.port).fill(moves.jobs, BODY)
    line = ("export", "--from", f"127.0.0.1:{broker.port}", "--out", moves.folder("exported"))
    return {**_puts_during(broker.port, lambda: moves.tool(*line)), "jobs": moves.jobs}


def _take_over(moves: Moves, kind: str, scheme: str, client: type[Beanstalk | Gearman],
               jobs: int) -> Result:  # fmt: skip
    old, bare, broker = moves.server(kind), moves.server(kind), moves.server(OURS)
    for port in (old.port, bare.port):
        client(port).fill(jobs, BODY)
    began = time.monotonic()
    if client(bare.port).drain() != jobs:
        raise LoadError("the bare client did not get all jobs")
    alone = time.monotonic() - began
    line = ("take-over", f"{scheme}://127.0.0.1:{old.port}", "--to", f"127.0.0.1:{broker.port}")
    moved = _puts_during(broker.port, lambda: moves.tool(*line))
    return {**moved, "jobs": jobs, "bare": jobs / alone}


def _take_over_beanstalkd(moves: Moves) -> Result:
    return _take_over(moves, "beanstalkd -b", "beanstalk", Beanstalk, moves.jobs // 3)


def _take_over_gearmand(moves: Moves) -> Result:
    return _take_over(moves, "gearmand", "gearman", Gearman, moves.jobs // 3)


MOVING = [
    Moving("import-broker", _import_to_broker, 100_000),
    Moving("import-directory", _import_to_directory, 250_000),
    Moving("import-sqlite", _import_sqlite, 80_000),
    Moving("export", _export, 200_000),
    Moving("take-over-beanstalkd", _take_over_beanstalkd, 0.6, "reserve, stats-job, bury, delete"),
    Moving("take-over-gearmand", _take_over_gearmand, 0.5, "grab, complete"),
]


def run(bench: Bench, tool: Path, cases: list[Moving]) -> list[Result]:
    results = []
    for case in cases:
        with ExitStack() as stack:
            moves = Moves(bench, tool, stack)
            if result := attempt(case.name, lambda: case.measure(moves)):
                results.append({"name": case.name, "bound": case.bound, **result})
    rows = [_row(case, result) for result in results for case in cases if case.name == result["name"]]
    header = ["command", "jobs a second", "bare client", "ratio", "bound", "met", "p99 of a put, ms",
              "bound", "met", "alone"]  # fmt: skip
    table.show(f"Moving jobs of {BODY} bytes", header, rows)
    return results


def _row(case: Moving, result: Result) -> table.Row:
    bare = result.get("bare")
    rate = result["jobs"] / result["seconds"]
    ratio = rate / bare if bare else 0.0
    value = ratio if case.peer else rate
    row = [case.name, short(rate), short(bare) if bare else "", short(ratio) if bare else "",
           f">= {short(case.bound)}", verdict(-value, -case.bound)]  # fmt: skip
    if len(result.get("puts", ())) < 100:
        return [*row, "", "", "", ""]
    late = _late(result["puts"])
    return [*row, short(late * 1000), short(LONGEST_PUT * 1000), verdict(late, LONGEST_PUT),
            short(_late(result["alone"]) * 1000)]  # fmt: skip


def _late(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98] if len(times) > 1 else 0.0
