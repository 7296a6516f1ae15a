"""Growth curves as SVG: both axes logarithmic, one line for each server. Other plots draw with the same lines."""

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 20, 50

COLOURS = {
    "ours": "#0b7285",
    "beanstalkd": "#e8590c",
    "gearmand": "#862e9c",
    "gearmand tuned": "#c2255c",
}


@dataclass(frozen=True)
class Curve:
    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Scale:
    """Maps the logarithm of a range of values to a range of pixels."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        return [10.0**exponent for exponent in range(first, last + 1)]


def write_plot(path: Path, axis: str, curves: list[Curve]) -> None:
    points = [point for curve in curves for point in curve.points]
    if not points:
        return
    across = _scale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _scale([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [*_frame(axis, across, up), *_lines(curves, across, up)]
    write_svg(path, HEIGHT, parts)


def write_svg(path: Path, height: int, parts: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _scale(values: list[float], start: float, end: float) -> Scale:
    """From the power of ten below the values to the one above."""
    low = 10.0 ** math.floor(math.log10(min(values)) + 1e-9)
    high = 10.0 ** math.ceil(math.log10(max(values)) - 1e-9)
    return Scale(low, max(high, low * 10), start, end)


def _frame(axis: str, across: Scale, up: Scale) -> list[str]:
    parts = []
    for value in across.ticks():
        x = across.place(value)
        parts.append(line(x, HEIGHT - BOTTOM, x, TOP, "#dee2e6"))
        parts.append(text(x, HEIGHT - BOTTOM + 18, f"{value:,.0f}", "middle"))
    for value in up.ticks():
        y = up.place(value)
        parts.append(line(LEFT, y, WIDTH - RIGHT, y, "#dee2e6"))
        parts.append(text(LEFT - 8, y + 4, f"{value:,g}", "end"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, axis, "middle"))
    parts.append(upright((TOP + HEIGHT - BOTTOM) / 2, "server CPU, µs a job"))
    return parts


def _lines(curves: list[Curve], across: Scale, up: Scale) -> list[str]:
    parts = []
    for index, curve in enumerate(curves):
        colour = COLOURS.get(curve.name, "#495057")
        places = [(across.place(x), up.place(y)) for x, y in curve.points]
        parts.append(polyline(places, colour))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = TOP + 16 + 20 * index
        parts.append(line(WIDTH - RIGHT + 12, y - 4, WIDTH - RIGHT + 32, y - 4, colour, 2))
        parts.append(text(WIDTH - RIGHT + 38, y, curve.name, "start"))
    return parts


def polyline(places: list[tuple[float, float]], colour: str) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def upright(middle: float, label: str) -> str:
    """What stands beside an axis that points up."""
    return (
        f'<text x="16" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 16 {middle:.1f})">{escape(label)}</text>'
    )
