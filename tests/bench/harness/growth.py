"""CPU time per job beside more and more of something, against the same server without it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import table
from .bench import Bench, Spread, attempt, cpu_of, short, verdict
from .plot import Curve, write_plot
from .scenarios import Growth

HEADER = ["scenario", "server", "size", "beside it, µs", "alone, µs", "ratio", "bound", "met"]

# A peer that slows down with its backlog is measured with what it holds after this time.
FILL_LIMIT = "--fill-limit 30"

Point = dict[str, Any]


def run(bench: Bench, growths: Iterable[Growth], with_peers: bool, plots: Path | None) -> list[Any]:
    results = []
    for growth in growths:
        points: list[Point] = []
        for name in [growth.server, *(growth.peers if with_peers else [])]:
            points += _measure(bench, growth, name)
        results.append({"name": growth.name, "points": points})
        title = f"{growth.name}: {growth.axis}"
        table.show(title, HEADER, [_row(growth, point) for point in points])
        if plots:
            write_plot(plots / f"{growth.name}.svg", growth.axis, _curves(points))
    return results


def _measure(bench: Bench, growth: Growth, name: str) -> list[Point]:
    sizes = growth.sizes[:-1][-1:] if bench.quick else growth.sizes
    points = []
    for size in sizes:
        sides = [(name, _load(growth, growth.base)), (name, _load(growth, size))]
        if growth.against:
            sides = [(growth.against, _load(growth, size)), (name, _load(growth, size))]
        what = f"{growth.name}, {name}, {size:,}"
        reports = attempt(what, lambda: bench.interleaved(sides))
        if reports is None:
            break
        alone, beside = reports
        points.append({"server": name, "size": size, "alone": alone, "beside": beside})
    return points


def _load(growth: Growth, size: int) -> str:
    return f"{growth.load} {growth.beside.format(n=size)} {FILL_LIMIT}"


def _row(growth: Growth, point: Point) -> table.Row:
    beside, alone = cpu_of(point["beside"]), cpu_of(point["alone"])
    ratio = beside.median / alone.median
    bound = growth.bound if point["server"] == growth.server else None
    if bound:
        bound += growth.besides / alone.median
    return [
        growth.name, point["server"], _size(growth, point), str(beside), str(alone), short(ratio),
        short(bound) if bound else "", verdict(ratio, bound),
    ]  # fmt: skip


def _size(growth: Growth, point: Point) -> str:
    """The size, and how many jobs were really there when the server did not take all of them."""
    text = f"{point['size']:,}"
    stored = point["beside"][0]["stored"]
    wanted = "backlog {n}" in growth.beside or "delayed {n}" in growth.beside
    return f"{text} ({stored:,} stored)" if wanted and stored < point["size"] else text


def _curves(points: list[Point]) -> list[Curve]:
    curves: dict[str, Curve] = {}
    for point in points:
        curve = curves.setdefault(point["server"], Curve(point["server"], []))
        cpu: Spread = cpu_of(point["beside"])
        curve.points.append((point["size"], cpu.median))
    return list(curves.values())
