"""Durable operations a second next to the peers' and to the floor of the disk, and recovery."""

import json
import math
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from . import table
from .bench import Bench, Spread, attempt, short, verdict
from .load import LIMIT_SECONDS, LoadError
from .scenarios import (
    BODY_BYTES,
    FLOOR_BOUND,
    RECORD_BYTES,
    RECOVERED_JOBS,
    RECOVERY_MEMORY_BOUND,
    RECOVERY_TIME_BOUND,
    Durable,
)
from .servers import Server, ServerError, die_with_parent

Result = dict[str, Any]

OURS = "ours --sync always"
FLOORS = {"floor": "", "floor, written blocks": "--written"}


def run_durable(bench: Bench, floor: Path, cases: list[Durable]) -> list[Result]:
    results = []
    for case in cases:
        if result := attempt(case.name, lambda: _durable(bench, floor, case)):
            results.append(result)
    header = ["scenario", "ours, jobs a second", "next to", "its", "ratio", "bound", "met"]
    rows = [row for result in results for row in _durable_rows(result)]
    table.show("Durable jobs a second", header, rows)
    return results


def _durable(bench: Bench, floor: Path, case: Durable) -> Result:
    sides = [OURS, case.peer]
    floors = FLOORS if case.stores_only else {}
    rates: dict[str, list[float]] = {name: [] for name in [*sides, *floors]}
    with ExitStack() as stack:
        steppers = bench.steppers(stack, [(side, case.load) for side in sides])
        for _ in range(bench.rounds):
            for side, stepper in zip(sides, steppers):
                rates[side].append(stepper.measure()["ops_per_second"])
            for name, flag in floors.items():
                rates[name].append(_floor(bench, floor, case, flag))
    return {"name": case.name, "peer": case.peer, "bound": case.bound,
            "connections": case.connections, "rates": rates}  # fmt: skip


def _floor(bench: Bench, floor: Path, case: Durable, flag: str) -> float:
    command = [
        str(floor), str(bench.scratch / "floor"), "--connections", str(case.connections),
        "--record", str(RECORD_BYTES), "--seconds", str(bench.seconds), *flag.split(),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=die_with_parent,
        timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise LoadError(f"floor: {done.stderr.strip()}")
    rate: float = json.loads(done.stdout)["ops_per_second"]
    return rate


def _durable_rows(result: Result) -> list[table.Row]:
    rates = {name: Spread.of(values) for name, values in result["rates"].items()}
    ours = rates[OURS]
    rows = []
    for name, theirs in rates.items():
        if name == OURS:
            continue
        bound = result["bound"] if name == result["peer"] else None
        if name == "floor" and result["bound"]:
            bound = FLOOR_BOUND
        ratio = ours.median / theirs.median if theirs.median > 0 else math.inf
        rows.append(
            [result["name"], str(ours), name, str(theirs), short(ratio),
             f">= {short(bound)}" if bound else "", verdict(-ratio, -bound if bound else None)]
        )  # fmt: skip
    return rows


def run_recovery(bench: Bench) -> list[Result]:
    results: list[Result] = []
    with ExitStack() as stack:
        for name in (OURS, "beanstalkd -b"):
            what = f"journal of {RECOVERED_JOBS:,} jobs, {name}"
            if server := attempt(what, lambda: _filled(bench, stack, name)):
                results.append({"server": server, "jobs": RECOVERED_JOBS, "starts": []})
        for _ in range(bench.rounds):
            for result in results:
                if start := attempt("recovery", lambda: recover(result["server"])):
                    result["starts"].append(start)
    for result in results:
        result["server"] = result["server"].kind.name
    _show_recovery([result for result in results if result["starts"]])
    return results


def _filled(bench: Bench, stack: ExitStack, name: str) -> Server:
    return filled(bench, stack, name, f"--body {BODY_BYTES}")


def filled(bench: Bench, stack: ExitStack, name: str, jobs: str) -> Server:
    """A server that was killed with so many jobs in its journal."""
    server = stack.enter_context(bench.server(name))
    bench.load.measure(server, f"beanstalk store --producers 2 --depth 256 --ops {RECOVERED_JOBS} {jobs}")
    server.kill()
    return server


def recover(server: Server, jobs: int = RECOVERED_JOBS) -> Result:
    """Starts it, and kills it when it has its jobs."""
    started = time.monotonic()
    server.start()
    while ready_jobs(server.port) < jobs:
        if time.monotonic() > started + LIMIT_SECONDS:
            raise ServerError(f"{server.kind.name} has not all its jobs back")
    seconds = time.monotonic() - started
    resident, peak = server.resident_bytes(), server.peak_bytes()
    server.kill()
    return {"seconds": seconds, "resident": resident, "peak": peak}


def answer_to(port: int, question: bytes, end: bytes, limit: float = LIMIT_SECONDS) -> bytes:
    """What a server says up to `end`; empty while nobody listens."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=limit) as connection:
            connection.sendall(question)
            answer = b""
            while end not in answer:
                part = connection.recv(65536)
                if not part:
                    return b""
                answer += part
    except OSError:
        time.sleep(0.002)
        return b""
    return answer


def ready_jobs(port: int) -> int:
    """Waits for an answer; 0 while nobody listens."""
    answer = answer_to(port, b"stats\r\n", b"current-jobs-reserved:")
    return int(answer.split(b"current-jobs-ready: ")[1].split(b"\n")[0]) if answer else 0


def _show_recovery(results: list[Result]) -> None:
    spreads = [Spread.of([start["seconds"] for start in result["starts"]]) for result in results]
    rows = []
    for result, seconds in zip(results, spreads):
        ours = result["server"] == OURS
        ratio = seconds.median / spreads[-1].median
        memory = Spread.of([start["peak"] / start["resident"] for start in result["starts"]])
        resident = Spread.of([start["resident"] / 2**20 for start in result["starts"]])
        rows.append(
            [result["server"],
             str(seconds), short(ratio), *_bound(ours, ratio, RECOVERY_TIME_BOUND),
             str(resident), short(memory.high), *_bound(ours, memory.high, RECOVERY_MEMORY_BOUND)]
        )  # fmt: skip
    header = ["server", "seconds", "to the peer's", "bound", "met", "then resident, MB"]
    header += ["peak to that", "bound", "met"]
    title = f"Start with {RECOVERED_JOBS:,} jobs of {BODY_BYTES} bytes in the journal"
    table.show(title, header, rows)


def _bound(ours: bool, value: float, bound: float) -> table.Row:
    return [short(bound), verdict(value, bound)] if ours else ["", ""]
