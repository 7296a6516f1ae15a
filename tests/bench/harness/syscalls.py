"""System calls per job, counted by strace in runs of their own."""

import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import table
from .bench import Bench, attempt
from .scenarios import Scenario
from .servers import Server

OPS = 20_000
HEADER = ["scenario", "server", "calls a job", "which"]

Result = dict[str, Any]


def run(bench: Bench, scenarios: Iterable[Scenario]) -> list[Result]:
    results = []
    for scenario in scenarios:
        for name in ["ours", *scenario.bounds]:
            what = f"system calls of {scenario.name}, {name}"
            calls = attempt(what, lambda: _count(bench, scenario, name))
            if calls is None:
                continue
            results.append({"name": scenario.name, "server": name, "calls": calls})
    table.show("System calls per job", HEADER, [_row(result) for result in results])
    return results


def _count(bench: Bench, scenario: Scenario, name: str) -> dict[str, float]:
    with bench.server(name) as server:
        if "drain" in scenario.load.split():
            store = scenario.load.replace(" drain ", " store ")
            bench.load.measure(server, f"{store} --ops {OPS}")
        filled = "--filled" if "drain" in scenario.load.split() else ""
        counts = bench.scratch / "strace"
        tracer = _attach(server, counts)
        try:
            bench.load.measure(server, f"{scenario.load} --ops {OPS} {filled}")
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait(timeout=20)
    return {call: count / OPS for call, count in _parse(counts.read_text()).items()}


def _attach(server: Server, counts: Path) -> subprocess.Popen[bytes]:
    tracer = subprocess.Popen(
        ["strace", "-c", "-f", "-p", str(server.pid), "-o", str(counts)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    status = Path(f"/proc/{server.pid}/status")
    while "TracerPid:\t0\n" in status.read_text():
        if tracer.poll() is not None:
            raise RuntimeError("strace cannot attach to the server")
        time.sleep(0.01)
    return tracer


def _parse(summary: str) -> dict[str, int]:
    """Calls by name from the table of `strace -c`."""
    calls = {}
    for line in summary.splitlines():
        words = line.split()
        if len(words) >= 5 and words[0][0].isdigit() and words[-1] != "total":
            calls[words[-1]] = int(words[3])
    return calls


def _row(result: Result) -> table.Row:
    calls = sorted(result["calls"].items(), key=lambda item: -item[1])
    most = ", ".join(f"{name} {count:.2g}" for name, count in calls[:6] if count >= 0.005)
    return [result["name"], result["server"], f"{sum(result['calls'].values()):.3g}", most]
