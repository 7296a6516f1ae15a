"""CPU time per job, ours against the peers'."""

from collections.abc import Iterable
from typing import Any

from . import table
from .bench import Bench, Spread, attempt, cpu_of, short, verdict
from .scenarios import JOURNAL, JOURNAL_BOUND, Scenario

HEADER = ["scenario", "ours, µs", "peer", "peer, µs", "ratio", "bound", "met"]

Result = dict[str, Any]


def run(bench: Bench, scenarios: Iterable[Scenario]) -> list[Result]:
    results = []
    for scenario in scenarios:
        if result := attempt(scenario.name, lambda: _measure(bench, scenario)):
            results.append(result)
    rows = [row for result in results for row in _rows(result)]
    table.show("Server CPU per job", HEADER, rows)
    return results


def run_journal(bench: Bench) -> Result | None:
    result = attempt(JOURNAL.name, lambda: _measure(bench, JOURNAL))
    if result is None:
        return None
    cpu = {name: cpu_of(reports) for name, reports in result["reports"].items()}
    rate = {
        name: Spread.of([report["ops_per_second"] for report in reports])
        for name, reports in result["reports"].items()
    }
    rows = []
    for name in cpu:
        bound = JOURNAL_BOUND if name == "ours --sync always" else None
        ratio = cpu[name].median / cpu["ours"].median
        rows.append(
            [JOURNAL.name, name, str(cpu[name]), str(rate[name]), short(ratio),
             short(bound) if bound else "", verdict(ratio, bound)]
        )  # fmt: skip
    header = ["scenario", "server", "CPU, µs a job", "jobs a second", "CPU to ours without journal"]
    table.show("With a journal", [*header, "bound", "met"], rows)
    return result


def _measure(bench: Bench, scenario: Scenario) -> Result:
    names = ["ours", *scenario.bounds]
    reports = bench.sides(scenario, names)
    bounds = scenario.bounds
    if bench.quick and scenario.quick_ops:  # the bounds are for as many jobs as it should have
        bounds = dict.fromkeys(bounds)
    return {"name": scenario.name, "bounds": bounds, "reports": reports}


def _rows(result: Result) -> list[table.Row]:
    ours = cpu_of(result["reports"]["ours"])
    rows = []
    for peer, bound in result["bounds"].items():
        theirs = cpu_of(result["reports"][peer])
        ratio = ours.median / theirs.median
        rows.append(
            [result["name"], str(ours), peer, str(theirs), short(ratio),
             short(bound) if bound else "", verdict(ratio, bound)]
        )  # fmt: skip
    return rows
