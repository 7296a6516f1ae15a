"""Routers: the CPU time of each process for a job, next to a broker that holds the sockets itself."""

import re
import resource
import statistics
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from . import hostile, table
from .attacks import Attack, bodies, handshakes
from .bench import Bench, Spread, attempt, short, verdict
from .load import Report
from .scenarios import CLOSED, Cores
from .servers import Server

Result = dict[str, Any]

G_LOAD = f"gearman cycle --producers 64 --consumers 64 {CLOSED}"

LATENCY_BOUND = 2.0  # p50 and p99 to those without routers
LATENCY_LOADS = {"1": "--producers 1 --consumers 1", "8": ""}
SLEEPERS, SPARE_DESCRIPTORS = 20_000, 1_000
SLEEPER_BOUND = 1024  # bytes of a router
SLEEPER_BROKER_BOUND = 1.05  # bytes of the broker to those without routers
WAKE_UPS_BOUND = 2.0  # a second
DIRECT_BOUND = 1.02  # without routers to the broker named by --before
MOST_ROUTERS = 8  # of `routers: auto`

VICTIMS = [
    # Name, attack, whether the CPU time of the routers counts, bound in ms.
    ("handshakes", Attack("handshakes", handshakes, "ours with TLS, 2 routers"), False, 1.0),
    ("large-bodies", Attack("large-bodies", bodies, "ours with large bodies, 1 router"), True, 10.0),
]

NAMES = ["latency-1", "latency-8", *(name for name, *_ in VICTIMS), "sleepers", "wake-ups", "gearmand"]


def run(bench: Bench, rows: Iterable[Cores], chosen: set[str]) -> Result:
    results: Result = {"rows": [], "latency": [], "victims": []}
    for row in rows:
        if result := attempt(row.name, lambda: _measure(bench, row)):
            results["rows"].append(result)
    _show_rows(results["rows"])
    _show_computed(results["rows"])
    for size, connections in LATENCY_LOADS.items():
        if f"latency-{size}" in chosen:
            load = f"beanstalk cycle {connections}"
            if result := attempt(f"latency-{size}", lambda: _latency(bench, load)):
                results["latency"].append({"name": f"latency-{size}", **result})
    _show_latency(results["latency"])
    for name, attack, with_routers, bound in VICTIMS:
        if name in chosen:
            if result := attempt(name, lambda: hostile.measure(bench, attack, with_routers)):
                results["victims"].append({**result, "with_routers": with_routers, "bound": bound})
    _show_victims(results["victims"])
    for name, measure in (("sleepers", _sleepers), ("wake-ups", _wake_ups), ("gearmand", _gearmand)):
        if name in chosen:
            results[name] = attempt(name, lambda: measure(bench))
    return results


def _measure(bench: Bench, row: Cores) -> Result:
    direct, routed = bench.interleaved([(row.direct, row.load), (row.routed, row.load)])
    return {"name": row.name, "broker_bound": row.broker_bound, "sum_bound": row.sum_bound,
            "direct": direct, "routed": routed}  # fmt: skip


def _ratio(result: Result, of: list[str]) -> Spread:
    """Of what was measured one after the other, so that both had the same machine."""
    return Spread.of([sum(routed[name] for name in of) / direct["cpu_us_per_op"]
                      for direct, routed in zip(result["direct"], result["routed"])])  # fmt: skip


def _cpu(reports: list[Report], name: str = "cpu_us_per_op") -> Spread:
    return Spread.of([report[name] for report in reports])


def _show_rows(results: list[Result]) -> None:
    header = ["scenario", "without, µs", "broker, µs", "routers, µs", "broker to without", "bound", "met"]
    header += ["all to without", "bound", "met"]
    rows = []
    for result in results:
        broker = _ratio(result, ["cpu_us_per_op"])
        everything = _ratio(result, ["cpu_us_per_op", "routers_cpu_us_per_op"])
        rows.append([
            result["name"], str(_cpu(result["direct"])), str(_cpu(result["routed"])),
            str(_cpu(result["routed"], "routers_cpu_us_per_op")),
            str(broker), *_bound(broker.median, result["broker_bound"]),
            str(everything), *_bound(everything.median, result["sum_bound"]),
        ])  # fmt: skip
    table.show("CPU per job with routers", header, rows)


def _show_computed(results: list[Result]) -> None:
    """What so many cores carry if each process has one of them and does there what it did here."""
    cores = [2, 4, 8, 16]
    rows = []
    for result in results:
        if not result["name"].endswith("-64"):
            continue
        without = _cpu(result["direct"]).median
        broker = _cpu(result["routed"]).median
        router = _cpu(result["routed"], "routers_cpu_us_per_op").median
        rows.append([result["name"], f"{1e6 / without:,.0f}",
                     *(f"{1e6 / max(broker, router / min(count - 1, MOST_ROUTERS)):,.0f}"
                       for count in cores)])  # fmt: skip
    header = ["scenario", "without routers", *(f"{count} cores" for count in cores)]
    table.show("Jobs a second, computed", header, rows)


def _latency(bench: Bench, load: str) -> Result:
    direct, routed = bench.interleaved([("ours", load), ("ours, 1 router", load)])
    return {"direct": direct, "routed": routed}


def _show_latency(results: list[Result]) -> None:
    rows = []
    for result in results:
        for quantile in ("p50", "p99"):
            values = [Spread.of([report["cycle_us"][quantile] for report in result[side]])
                      for side in ("direct", "routed")]  # fmt: skip
            ratio = values[1].median / values[0].median
            rows.append([result["name"], quantile, *map(str, values), short(ratio),
                         short(LATENCY_BOUND), verdict(ratio, LATENCY_BOUND)])  # fmt: skip
    header = ["scenario", "", "without, µs", "with a router, µs", "ratio", "bound", "met"]
    table.show("Time of a job with a router", header, rows)


def _show_victims(results: list[Result]) -> None:
    rows = []
    for result in results:
        times = sorted(result["cpu_ms"])
        spread = Spread.of(times)
        late = times[len(times) * 99 // 100]
        whose = "broker and router" if result["with_routers"] else "broker"
        rows.append([result["name"], whose, str(len(times)), short(spread.median), short(late),
                     short(spread.high), short(result["bound"]), verdict(spread.high, result["bound"])])
    header = ["scenario", "CPU of", "replies", "median, ms", "99 %", "most", "bound", "met"]
    table.show("CPU before a victim's reply, with routers", header, rows)


def _sleepers(bench: Bench) -> Result:
    count = min(SLEEPERS, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - SPARE_DESCRIPTORS)
    if bench.quick:
        count //= 10
    load = f"gearman idle --idle {count} --idle-protocol gearman --seconds 0.5"
    reports = {}
    for name in ("ours", "ours, 1 router"):
        with bench.server(name) as server:
            reports[name] = bench.load.measure(server, load)
    broker = {name: (report["rss_after"] - report["rss_at_first"]) / count
              for name, report in reports.items()}  # fmt: skip
    routed = reports["ours, 1 router"]
    router = (routed["routers_rss_after"] - routed["routers_rss_at_first"]) / count
    ratio = broker["ours, 1 router"] / broker["ours"]
    table.show(f"Memory of {count:,} idle connections with a router",
               ["router, bytes each", "bound", "met", "broker, bytes each", "without", "ratio", "bound", "met"],
               [[f"{router:.0f}", *_bound(router, SLEEPER_BOUND), f"{broker['ours, 1 router']:.0f}",
                 f"{broker['ours']:.0f}", short(ratio), *_bound(ratio, SLEEPER_BROKER_BOUND)]])  # fmt: skip
    return {"count": count, "reports": reports}


def _wake_ups(bench: Bench) -> Result:
    seconds = 5 if bench.quick else 20
    with bench.server("ours, 4 routers") as server:
        time.sleep(2)  # what its start began has ended
        processes = [server.pid, *server.routers()]
        before = [_voluntary_switches(pid) for pid in processes]
        time.sleep(seconds)
        each = [(_voluntary_switches(pid) - was) / seconds for pid, was in zip(processes, before)]
    most = max(each)
    table.show("Wake-ups a second of an idle broker with four routers",
               ["broker", "routers", "bound", "met"],
               [[short(each[0]), ", ".join(map(short, each[1:])), *_bound(most, WAKE_UPS_BOUND)]])
    return {"each": each}


def _voluntary_switches(pid: int) -> int:
    """Of all its threads."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)[1])
               for status in Path(f"/proc/{pid}/task").glob("*/status"))  # fmt: skip


def _gearmand(bench: Bench) -> Result:
    """gearmand with four threads for its clients, and the thread of it that works most."""
    names = ["ours", "ours, 4 routers", "gearmand -t 4", "gearmand tuned"]
    reports: dict[str, list[Report]] = {name: [] for name in names}
    busiest: dict[str, list[float]] = {name: [] for name in names}
    with ExitStack() as stack:
        sides = [(name, f"{G_LOAD}") for name in names]
        servers: list[Server] = []
        steppers = bench.steppers(stack, sides, servers)
        for _ in range(bench.rounds):
            for name, server, stepper in zip(names, servers, steppers):
                before = _threads(server)
                reports[name].append(stepper.measure())
                used = {thread: ns - before.get(thread, 0) for thread, ns in _threads(server).items()}
                report = reports[name][-1]
                whole = report["cpu_us_per_op"] + report["routers_cpu_us_per_op"]
                busiest[name].append(max(used.values()) / sum(used.values()) * whole)
    rows = []
    for name in names:
        whole = Spread.of([report["cpu_us_per_op"] + report["routers_cpu_us_per_op"]
                           for report in reports[name]])  # fmt: skip
        rows.append([name, str(whole), str(_cpu(reports[name], "ops_per_second")),
                     short(statistics.median(busiest[name]))])
    table.show("64 and 64 Gearman connections, several threads",
               ["server", "CPU, µs a job", "jobs a second here", "of it its busiest thread, µs"], rows)
    return {"reports": reports, "busiest": busiest}


def _threads(server: Server) -> dict[str, int]:
    """What each thread of its processes has run, in ns."""
    return {str(path.parent): int(path.read_text().split()[0])
            for pid in (server.pid, *server.routers())
            for path in Path(f"/proc/{pid}/task").glob("*/schedstat")}  # fmt: skip


def run_direct(bench: Bench, scenarios: Iterable[Any]) -> list[Result]:
    """Every row of `compare` without routers, next to an earlier broker."""
    results = []
    for scenario in scenarios:
        what = f"direct {scenario.name}"
        if sides := attempt(what, lambda: bench.sides(scenario, ["ours", "before"])):
            results.append({"name": scenario.name, "sides": sides})
    rows = []
    for result in results:
        now, before = result["sides"]["ours"], result["sides"]["before"]
        ratio = Spread.of([ours["cpu_us_per_op"] / theirs["cpu_us_per_op"]
                           for ours, theirs in zip(now, before)])  # fmt: skip
        rows.append([result["name"], str(_cpu(now)), str(_cpu(before)), str(ratio),
                     *_bound(ratio.median, DIRECT_BOUND)])
    table.show("CPU per job without routers, next to an earlier broker",
               ["scenario", "now, µs", "before, µs", "ratio", "bound", "met"], rows)
    return results


def _bound(value: float, bound: float | None) -> list[str]:
    return [short(bound) if bound else "", verdict(value, bound)]


