"""The list of cases."""

from dataclasses import dataclass
from typing import Any, Callable, Iterable

from bridge.world import World


@dataclass(frozen=True)
class Case:
    name: str
    run: Callable[[World], None]
    one_protocol: bool
    alone: bool
    last: bool


CASES: list[Case] = []


def case(name: str, alone: bool = False,
         last: bool = False) -> Callable[[Callable[[World], None]], Callable[[World], None]]:
    """Registers a case. `alone`: it looks at counters that other cases change; `last`: the broker
    takes no more jobs afterwards."""
    def register(function: Callable[[World], None]) -> Callable[[World], None]:
        CASES.append(Case(name, function, False, alone, last))
        return function
    return register


def each(name: str, *choices: Iterable[Any], one_protocol: bool = False,
         alone: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a case once for each combination of the choices. `one_protocol`: it also holds
    for the reference servers."""
    def combinations(rest: tuple[Iterable[Any], ...]) -> list[tuple[Any, ...]]:
        if not rest:
            return [()]
        return [(first, *others) for first in rest[0] for others in combinations(rest[1:])]

    def register(function: Callable[..., None]) -> Callable[..., None]:
        for values in combinations(choices):
            full = f"{name}, {' and '.join(map(str, values))}"
            CASES.append(Case(full, lambda world, values=values: function(world, *values),
                              one_protocol, alone, False))
        return function
    return register
