"""What all measurements share: the servers, the load tool, how often and how long."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .load import Load, LoadError, Report, Stepper
from .scenarios import Scenario
from .servers import Kind, NotReady, Server

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    kinds: dict[str, Kind]
    load: Load
    scratch: Path  # on a disk, for the data directories
    rounds: int
    seconds: float
    quick: bool

    def server(self, name: str) -> Server:
        return Server(self.kinds[name], self.scratch)

    def steppers(
        self, stack: ExitStack, sides: list[tuple[str, str]], servers: list[Server] | None = None
    ) -> list[Stepper]:
        """For each (server, load): a server of its own, filled and ready to be measured."""
        steppers = []
        for name, load in sides:
            server = stack.enter_context(self.server(name))
            if servers is not None:
                servers.append(server)
            arguments = f"{load} --seconds {self.seconds}"
            steppers.append(stack.enter_context(Stepper(self.load, server, arguments)))
        return steppers

    def interleaved(self, sides: list[tuple[str, str]]) -> list[list[Report]]:
        """Measures the sides in turn, round after round; the reports of each side."""
        reports: list[list[Report]] = [[] for _ in sides]
        with ExitStack() as stack:
            steppers = self.steppers(stack, sides)
            for _ in range(self.rounds):
                for side, stepper in enumerate(steppers):
                    reports[side].append(stepper.measure())
        return reports


    def sides(self, scenario: Scenario, names: list[str]) -> dict[str, list[Report]]:
        """The load of a scenario on each of these servers, in turn."""
        if not scenario.fresh:
            sides = [(name, scenario.load) for name in names]
            return dict(zip(names, self.interleaved(sides)))
        ops = scenario.quick_ops if self.quick else scenario.ops
        extent = f"--ops {ops}" if ops else f"--seconds {self.seconds}"
        reports: dict[str, list[Report]] = {name: [] for name in names}
        for _ in range(self.rounds):
            for name in names:
                with self.server(name) as server:
                    reports[name].append(self.load.measure(server, f"{scenario.load} {extent}"))
        return reports


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, and between which values they lay."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: list[float]) -> "Spread":
        return Spread(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.low)}-{short(self.high)})"


def attempt(what: str, measure: Callable[[], T]) -> T | None:
    """Says what is measured now, and why there is no result when it fails."""
    print(f"{what} ...", flush=True)
    try:
        return measure()
    except (LoadError, NotReady) as error:
        print(f"{what}: no result: {error}", flush=True)
        return None


def cpu_of(reports: list[Report]) -> Spread:
    return Spread.of([report["cpu_us_per_op"] for report in reports])


def short(number: float) -> str:
    """Three digits, or all of those before the point."""
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def verdict(value: float, bound: float | None) -> str:
    if bound is None:
        return ""
    return "yes" if value <= bound else "NO"
