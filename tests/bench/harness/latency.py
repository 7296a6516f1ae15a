"""How long a job takes through a server that is half busy, also while others ask for much."""

from collections.abc import Iterable
from typing import Any

from . import table
from .bench import Bench, Spread, attempt, short, verdict
from .load import Report
from .scenarios import Latency

HEADER = ["scenario", "server", "jobs a second", "p50, ms", "p99, ms", "max, ms"]
HEADER += ["p99 to the peer's", "bound", "met", "CPU, µs a job", "longest answers, ms"]

# One command pipelined too many, or one list too long, shows in the mean of a few rounds.
ROUNDS = 3

Result = dict[str, Any]


def run(bench: Bench, cases: Iterable[Latency]) -> list[Result]:
    results = []
    rates: dict[tuple[str, str], float] = {}
    for case in cases:
        pair = (case.peer, case.load)
        rate = rates.get(pair) or attempt("full load", lambda: _half_of_slower(bench, case))
        if rate is None:
            continue
        rates[pair] = rate
        if result := attempt(case.name, lambda: _measure(bench, case, rate)):
            results.append(result)
    rows = [row for result in results for row in _rows(result)]
    table.show("Time of a job at half load", HEADER, rows)
    return results


def _half_of_slower(bench: Bench, case: Latency) -> float:
    reports = bench.interleaved([(case.ours, case.load), (case.peer, case.load)])
    fastest = [max(report["ops_per_second"] for report in side) for side in reports]
    return min(fastest) / 2


def _measure(bench: Bench, case: Latency, rate: float) -> Result:
    reports: dict[str, list[Report]] = {case.ours: [], case.peer: []}
    for _ in range(1 if bench.quick else ROUNDS):
        for name in reports:
            reports[name].append(_measure_once(bench, case, name, rate))
    return {"name": case.name, "peer": case.peer, "rate": rate, "reports": reports}


def _measure_once(bench: Bench, case: Latency, name: str, rate: float) -> Report:
    beside = case.beside
    if name == case.peer and case.beside_peer is not None:
        beside = case.beside_peer
    seconds = "" if "--seconds" in beside else "--seconds 2"
    load = f"{case.load} --rate {rate:.0f} {seconds} {beside} --fill-limit 30"
    with bench.server(name) as server:
        return bench.load.measure(server, load, case.questions)


def _rows(result: Result) -> list[table.Row]:
    peer_p99 = _spread(result["reports"][result["peer"]], "p99").median
    rows = []
    for name, reports in result["reports"].items():
        p99 = _spread(reports, "p99")
        ratio = p99.median / peer_p99
        bound = None if name == result["peer"] else 1.0
        cpu = Spread.of([report["cpu_us_per_op"] for report in reports])
        rows.append([
            result["name"], name, short(result["rate"]), short(_spread(reports, "p50").median),
            str(p99), str(_spread(reports, "max")), short(ratio), short(bound) if bound else "",
            verdict(ratio, bound), str(cpu), _answers(reports),
        ])  # fmt: skip
    return rows


def _spread(reports: list[Report], quantile: str) -> Spread:
    return Spread.of([report["cycle_us"][quantile] / 1000 for report in reports])


def _answers(reports: list[Report]) -> str:
    questions = reports[0].get("answers_us", {})
    longest = {
        question: max(report["answers_us"][question]["max"] for report in reports) / 1000
        for question in questions
    }
    return ", ".join(f"{question}: {short(ms)}" for question, ms in longest.items())
