"""What a server did over time, as SVG: panels above each other, all with the same seconds across."""

import math
from dataclasses import dataclass
from pathlib import Path

from .plot import LEFT, RIGHT, TOP, WIDTH, Curve, line, polyline, text, upright, write_svg

PANEL, GAP, BOTTOM = 120, 22, 50
COLOURS = ["#0b7285", "#e8590c", "#868e96"]


@dataclass(frozen=True)
class Panel:
    label: str
    curves: list[Curve]


def write_timeline(path: Path, panels: list[Panel], phases: dict[str, float]) -> None:
    """`phases`: when each began, in seconds."""
    end = max(x for panel in panels for curve in panel.curves for x, _ in curve.points)
    height = TOP + len(panels) * (PANEL + GAP) + BOTTOM
    floor = height - BOTTOM - GAP
    parts = []
    for index, panel in enumerate(panels):
        parts += _panel(panel, TOP + GAP + index * (PANEL + GAP), end)
    for seconds in _ticks(end):
        parts.append(text(_across(seconds, end), floor + 40, f"{seconds:,.0f}", "middle"))
    for index, (name, seconds) in enumerate(phases.items()):
        x = _across(seconds, end)
        parts += [line(x, TOP, x, floor + GAP, "#adb5bd"), text(x + 4, TOP + 12 * (index % 2), name, "start")]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, height - 8, "seconds", "middle"))
    write_svg(path, height, parts)


def _panel(panel: Panel, top: float, end: float) -> list[str]:
    most = max(y for curve in panel.curves for _, y in curve.points) or 1.0
    ticks = _ticks(most)
    most = max(most, ticks[-1])

    def up(value: float) -> float:
        return top + PANEL * (1 - value / most)

    parts = [upright(top + PANEL / 2, panel.label)]
    for value in ticks:
        parts.append(line(LEFT, up(value), WIDTH - RIGHT, up(value), "#dee2e6"))
        parts.append(text(LEFT - 8, up(value) + 4, f"{value:,g}", "end"))
    for index, curve in enumerate(panel.curves):
        parts.append(polyline([(_across(x, end), up(y)) for x, y in curve.points], COLOURS[index]))
        y = top + 12 + 18 * index
        parts.append(line(WIDTH - RIGHT + 12, y - 4, WIDTH - RIGHT + 32, y - 4, COLOURS[index], 2))
        parts.append(text(WIDTH - RIGHT + 38, y, curve.name, "start"))
    return parts


def _across(seconds: float, end: float) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * seconds / end


def _ticks(most: float) -> list[float]:
    """Round numbers from 0, three to six of them."""
    step = 10.0 ** math.floor(math.log10(most))
    step *= next(share for share in (0.2, 0.5, 1.0, 2.0) if most / (step * share) <= 5)
    return [step * place for place in range(int(most / step) + 1)]
