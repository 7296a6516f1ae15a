"""What one client can do to another: the server's CPU time before a victim's reply."""

import ctypes
import multiprocessing
import os
import select
import signal
import time
from collections.abc import Iterable
from typing import Any

from . import table
from .attacks import Attack, Peer, attack
from .bench import Bench, Spread, attempt, short, verdict
from .servers import Server, ServerError

HEADER = ["attack", "replies", "CPU before a reply, ms: median", "99 %", "most", "bound", "met"]
BOUND = 10.0  # ms
PATIENCE = 300  # seconds until an attack goes on
QUESTION, ANSWER = b"list-tube-used\r\n", b"USING default\r\n"

Result = dict[str, Any]


def run(bench: Bench, chosen: Iterable[Attack]) -> list[Result]:
    results = []
    for each in chosen:
        if result := attempt(each.name, lambda: _measure(bench, each)):
            results.append(result)
    table.show("Server CPU before a victim's reply", HEADER, [_row(result) for result in results])
    return results


def _measure(bench: Bench, chosen: Attack) -> Result:
    with bench.server(chosen.server) as server:
        goes_on, ready = os.pipe()
        attacker = multiprocessing.get_context("fork").Process(
            target=attack, args=(chosen, server.port, ready), daemon=True)
        attacker.start()
        os.close(ready)
        try:
            if not select.select([goes_on], [], [], PATIENCE)[0] or not os.read(goes_on, 1):
                raise ServerError(f"the attack {chosen.name} did not begin")
            times = _ask(server, 2.0 if bench.quick else 10.0)
            if not attacker.is_alive():
                raise ServerError(f"the attack {chosen.name} ended early")
        finally:
            os.close(goes_on)
            os.kill(attacker.pid or 0, signal.SIGKILL)
            attacker.join()
    return {"name": chosen.name, "cpu_ms": times}


def _ask(server: Server, seconds: float) -> list[float]:
    """Asks again and again; the server's milliseconds of CPU between question and answer."""
    clock = _cpu_clock(server.pid)
    victim = Peer(server.port)
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = time.clock_gettime_ns(clock)
        victim.send(QUESTION)
        victim.until(ANSWER)
        times.append((time.clock_gettime_ns(clock) - before) / 1e6)
        time.sleep(0.001)
    return times


def _cpu_clock(pid: int) -> int:
    """The clock of what all threads of a process have run, exact also while they run."""
    clock = ctypes.c_int()
    if ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)) != 0:
        raise ServerError("the server's CPU clock cannot be read")
    return clock.value


def _row(result: Result) -> table.Row:
    times = sorted(result["cpu_ms"])
    spread = Spread.of(times)
    late = times[len(times) * 99 // 100]
    return [result["name"], str(len(times)), short(spread.median), short(late), short(spread.high),
            short(BOUND), verdict(spread.high, BOUND)]
