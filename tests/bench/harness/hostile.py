"""What one client can do to another: the server's CPU time before a victim's reply."""

import multiprocessing
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from . import table
from .attacks import Attack, Peer, attack
from .bench import Bench, Spread, attempt, short, verdict
from .cpu_time import CpuTime
from .servers import ServerError

HEADER = ["attack", "replies", "CPU before a reply, ms: median", "99 %", "most", "bound", "met"]
BOUND = 10.0  # ms
PATIENCE = 300  # seconds until an attack goes on
QUESTION, ANSWER = b"list-tube-used\r\n", b"USING default\r\n"

Result = dict[str, Any]


def run(bench: Bench, chosen: Iterable[Attack]) -> list[Result]:
    results = []
    for each in chosen:
        if result := attempt(each.name, lambda: measure(bench, each)):
            results.append(result)
    table.show("Server CPU before a victim's reply", HEADER, [_row(result) for result in results])
    return results


def measure(bench: Bench, chosen: Attack, with_routers: bool = False) -> Result:
    """The CPU time of the server's loop, or of its routers, too, before each of a victim's replies."""
    with bench.server(chosen.server) as server:
        goes_on, ready = os.pipe()
        attacker = multiprocessing.get_context("fork").Process(
            target=attack, args=(chosen, server.port, ready), daemon=True)
        attacker.start()
        os.close(ready)
        try:
            if not select.select([goes_on], [], [], PATIENCE)[0] or not os.read(goes_on, 1):
                raise ServerError(f"the attack {chosen.name} did not begin")
            processes = [server.pid, *(server.routers() if with_routers else [])]
            times = _ask(server.port, processes, 2.0 if bench.quick else 10.0)
            if not attacker.is_alive():
                raise ServerError(f"the attack {chosen.name} ended early")
        finally:
            os.close(goes_on)
            os.kill(attacker.pid or 0, signal.SIGKILL)
            attacker.join()
    return {"name": chosen.name, "cpu_ms": times}


def _ask(port: int, processes: list[int], seconds: float) -> list[float]:
    """Asks again and again; the milliseconds that their first threads run from question to answer."""
    victim = Peer(port)
    times = []
    end = time.monotonic() + seconds
    try:
        with urgent(), ExitStack() as stack:
            clocks = [stack.enter_context(CpuTime(pid)) for pid in processes]
            while time.monotonic() < end:
                before = sum(clock.read() for clock in clocks)
                victim.send(QUESTION)
                victim.until(ANSWER)
                times.append((sum(clock.read() for clock in clocks) - before) / 1e6)
                time.sleep(0.001)
    except PermissionError as error:
        raise ServerError(f"only root measures this: {error}") from error
    return times


@contextmanager
def urgent() -> Iterator[None]:
    """Whoever asks must not wait for a CPU to see that the answer is there."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _row(result: Result) -> table.Row:
    times = sorted(result["cpu_ms"])
    spread = Spread.of(times)
    late = times[len(times) * 99 // 100]
    return [result["name"], str(len(times)), short(spread.median), short(late), short(spread.high),
            short(BOUND), verdict(spread.high, BOUND)]
