"""The command line of scripts/bench."""

import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from . import (
    backlog,
    build,
    compare,
    cores,
    groups,
    growth,
    hostile,
    huge,
    journal,
    latency,
    memory,
    moving,
    operators,
    questions,
    replica,
    syscalls,
)
from .attacks import ATTACKS
from .bench import Bench
from .load import Load
from .moving import MOVING
from .scenarios import COMPARED, CORES, DURABLE, GROUPED, GROWING, JOURNAL, LATENCIES, OPERATORS, QUESTIONS, QUEUED, with_floor
from .servers import PEERS, ROOT, Kind, floor_kind, install_packages, our_kinds

BUILD = ROOT / "build"

QUICK_GROWTHS = ["b-tubes", "b-ready", "g-unique", "g-sleepers"]


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


class Choice:
    """Which of the measurements `--only` names; their names have the form section/scenario."""

    def __init__(self, patterns: str | None) -> None:
        self._patterns = patterns.split(",") if patterns else ["*"]

    def __call__(self, section: str, name: str) -> bool:
        full = f"{section}/{name}"
        return any(fnmatch.fnmatch(full, p) or fnmatch.fnmatch(name, p) for p in self._patterns)

    def of(self, section: str, scenarios: Iterable[N]) -> list[N]:
        return [scenario for scenario in scenarios if self(section, scenario.name)]


def main() -> int:
    options = _parse_arguments()
    if options.list:
        _list_names()
        return 0
    # So that a terminated run leaves no servers and no directory, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.only == "build":
        build.run(BUILD)
        return 0
    install_packages()
    ours = options.ours or _build("gearstalkd")
    load = options.load or _build("load")
    sockets = options.sockets or _build("socket_floor")
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="bench-") as scratch:
        results = _run(_bench(options, ours, load, sockets, Path(scratch)), options)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures gearstalkd against beanstalkd and gearmand, in turn.",
    )
    parser.add_argument("--quick", action="store_true", help="less of it, within two minutes")
    parser.add_argument("--only", metavar="PATTERN", help="such as 'b-*', 'growth/*,memory/*'; or build")
    parser.add_argument("--list", action="store_true", help="print the names of the measurements")
    parser.add_argument("--rounds", type=int, help="measurements of each server (5; quick: 2)")
    parser.add_argument("--seconds", type=float, help="length of each (0.8; quick: 0.25)")
    parser.add_argument("--jobs", type=int, help="of backlog/huge, backlog/tubes and backlog/peers (10^6)")
    parser.add_argument("--growth-peers", action="store_true", help="growth of the peers as well")
    parser.add_argument("--syscalls", action="store_true", help="count system calls, too (strace)")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write curves as SVG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measured values")
    parser.add_argument("--ours", type=Path, metavar="BINARY", help="instead of build/gearstalkd")
    parser.add_argument("--before", type=Path, metavar="BINARY",
                        help="an earlier broker, for cores/direct")  # fmt: skip
    parser.add_argument("--load", type=Path, metavar="BINARY", help="instead of build/load")
    parser.add_argument("--floor", type=Path, metavar="BINARY", help="instead of build/floor")
    parser.add_argument("--etcd-floor", type=Path, metavar="BINARY",
                        help="instead of build/etcd_floor")  # fmt: skip
    parser.add_argument("--postgres-floor", type=Path, metavar="BINARY",
                        help="instead of build/postgres_floor")  # fmt: skip
    parser.add_argument("--sockets", type=Path, metavar="BINARY",
                        help="instead of build/socket_floor")  # fmt: skip
    parser.add_argument("--tool", type=Path, metavar="BINARY",
                        help="instead of build/gearstalkctl")  # fmt: skip
    parser.add_argument("--pin", choices=["split", "none"], default="split",
                        help="server and load on a CPU of their own, or anywhere")  # fmt: skip
    return parser.parse_args()


def _list_names() -> None:
    for section, scenarios in _sections().items():
        for name in scenarios:
            print(f"{section}/{name}")


def _sections() -> dict[str, list[str]]:
    return {
        "build": ["build"],
        "compare": [scenario.name for scenario in COMPARED],
        "journal": [JOURNAL.name, *(scenario.name for scenario in DURABLE), "recovery"],
        "growth": [scenario.name for scenario in GROWING],
        "groups": groups.NAMES,
        "backlog": [*backlog.NAMES, *huge.ALONE, "peers"],
        "memory": [*(scenario.name for scenario in QUEUED), "connections"],
        "latency": [*(scenario.name for scenario in LATENCIES), OPERATORS.name, QUESTIONS.name],
        "replica": [case.name for case in replica.REPLICATED],
        "postgres": [case.name for case in replica.REPLICATED],
        "moving": [scenario.name for scenario in MOVING],
        "hostile": [attack.name for attack in ATTACKS],
        "cores": [*(row.name for row in CORES), *cores.NAMES, "direct"],
    }


def _build(target: str) -> Path:
    """Builds the server the usual way, and the load tool in the same directory."""
    subprocess.run([ROOT / "scripts" / "build"], check=True)
    if target != "gearstalkd":
        subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DGEARSTALK_BENCH=ON"], check=True)
        subprocess.run(["cmake", "--build", BUILD, "--target", target], check=True)
    return BUILD / target


def _bench(
    options: argparse.Namespace, ours: Path, load: Path, sockets: Path, scratch: Path
) -> Bench:
    pinned = options.pin == "split" and len(os.sched_getaffinity(0)) > 1
    flags = ["--pin-apart"] if pinned else []
    kinds = [*our_kinds(ours.resolve()), *PEERS, floor_kind(sockets.resolve())]
    if options.before:
        kinds.append(Kind("before", our_kinds(options.before.resolve())[0].command))
    return Bench(
        kinds={kind.name: kind for kind in kinds},
        load=Load(load.resolve(), tuple(flags)),
        scratch=scratch,
        rounds=options.rounds or (2 if options.quick else 5),
        seconds=options.seconds or (0.25 if options.quick else 0.8),
        quick=options.quick,
    )


def _run(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    chosen = Choice(options.only)
    results: dict[str, Any] = {}
    compared = chosen.of("compare", COMPARED)
    if not options.quick:
        compared = [with_floor(scenario) for scenario in compared]
    elif not options.only:
        compared = [scenario for scenario in compared if any(scenario.bounds.values())]
    results["compare"] = compare.run(bench, compared)
    if chosen("journal", JOURNAL.name):
        results["journal"] = compare.run_journal(bench)
    if durable := chosen.of("journal", DURABLE):
        floor = options.floor or _build("floor")
        results["durable"] = journal.run_durable(bench, floor, durable)
    if chosen("journal", "recovery"):
        results["recovery"] = journal.run_recovery(bench)
    if options.syscalls:
        results["syscalls"] = syscalls.run(bench, compared)
    growths = chosen.of("growth", GROWING)
    if options.quick and not options.only:
        growths = [scenario for scenario in growths if scenario.name in QUICK_GROWTHS]
    results["growth"] = growth.run(bench, growths, options.growth_peers, options.plots)
    if not (options.quick and not options.only):
        costs = chosen.of("groups", GROUPED)
        results["groups"] = groups.run(bench, costs, lambda name: chosen("groups", name))
        results["backlog"] = backlog.run(bench, lambda name: chosen("backlog", name))
        for name in filter(lambda name: chosen("backlog", name), huge.ALONE):
            results[name] = huge.run_alone(bench, name, options.jobs, options.plots)
        if chosen("backlog", "peers"):
            results["peers"] = huge.run_peers(bench, options.jobs)
    results["memory"] = memory.run_queued(bench, chosen.of("memory", QUEUED))
    if chosen("memory", "connections"):
        results["connections"] = memory.run_connections(bench)
    if not (options.quick and not options.only):
        results["latency"] = latency.run(bench, chosen.of("latency", LATENCIES))
    if chosen("latency", OPERATORS.name):
        results["operators"] = operators.run(bench)
    if chosen("latency", QUESTIONS.name) and not (options.quick and not options.only):
        results["questions"] = questions.run(bench, options.tool or _build("gearstalkctl"))
    if not (options.quick and not options.only):
        floors = {replica.OnEtcd: options.etcd_floor, replica.OnPostgres: options.postgres_floor}
        stores, replicated = {}, []
        for section, store in (("replica", replica.OnEtcd), ("postgres", replica.OnPostgres)):
            if some := chosen.of(section, replica.REPLICATED):
                stores[store] = floors[store] or _build(store.floor)
                replicated += [case for case in some if case not in replicated]
        results["replica"] = replica.run(bench, replicated, stores)
    cases = chosen.of("moving", MOVING)
    if cases and not (options.quick and not options.only):
        results["moving"] = moving.run(bench, options.tool or _build("gearstalkctl"), cases)
    if not (options.quick and not options.only):
        results["hostile"] = hostile.run(bench, chosen.of("hostile", ATTACKS))
        names = {name for name in cores.NAMES if chosen("cores", name)}
        results["cores"] = cores.run(bench, chosen.of("cores", CORES), names)
    if options.before and chosen("cores", "direct"):
        results["direct"] = cores.run_direct(bench, COMPARED)
    return results
