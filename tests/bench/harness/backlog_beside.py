"""What others notice while cold bodies are read: the rest of `backlog/*`."""

import http.client
import math
import re
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from . import table
from .attacks import Peer
from .bench import Bench, short, verdict
from .cold import COLD, JOBS, WARM, drop_cache, fill, rates
from .cpu_time import CpuTime
from .hostile import BOUND as CPU_BOUND
from .hostile import urgent
from .servers import Server, ServerError, die_with_parent

DRAINING = "beanstalk drain --consumers 8 --filled"
PUTS = "beanstalk store --producers 64 --body 1000"
LATER_MS = 2.0
LAG_MS = 5.0
COMPACTED, COMPACTED_QUICK = 400_000, 100_000  # jobs: some segments
DELETES_A_SECOND = 25_000

_LAG = re.compile(r'gearstalkd_loop_lag_seconds_bucket\{le="(.*)"\}')


@contextmanager
def _consumers(bench: Bench, server: Server, jobs: int) -> Iterator[None]:
    """Eight that take the backlog, which must not end meanwhile."""
    command = bench.load.command(server, f"{DRAINING} --ops {jobs}")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=die_with_parent)  # fmt: skip
    try:
        time.sleep(bench.seconds / 4)
        yield
        if process.poll() is not None:
            raise ServerError("the consumers ended early: the backlog is too short")
    finally:
        process.kill()
        process.wait()


def puts_beside(bench: Bench) -> list[table.Row]:
    jobs = JOBS if bench.quick else 4 * JOBS
    found: dict[str, list[float]] = {COLD: [], WARM: []}
    for _ in range(bench.rounds):
        for name in found:
            with bench.server(name) as server:
                fill(bench, server, jobs, "--body 1000")
                drop_cache(server)
                with _consumers(bench, server, jobs):
                    report = bench.load.measure(server, f"{PUTS} --seconds {bench.seconds}")
                found[name].append(report["ops_per_second"])
    return [rates("puts a second beside 8 consumers", found[COLD], WARM, found[WARM], 0.5)]


def cycle_beside(bench: Bench) -> list[table.Row]:
    """Put, reserve and delete in a tube of its own, beside eight consumers and without them."""
    jobs = JOBS if bench.quick else 4 * JOBS
    beside: dict[str, list[float]] = {COLD: [], WARM: []}
    idle: list[float] = []
    cpu: list[float] = []
    for _ in range(bench.rounds):
        for name, times in beside.items():
            with bench.server(name) as server:
                fill(bench, server, jobs, "--body 1000")
                drop_cache(server)
                idle += _cycles(server, bench.seconds)[0]
                with _consumers(bench, server, jobs):
                    cycles, used = _cycles(server, bench.seconds)
                times += cycles
                cpu += used if name == COLD else []
    late, late_idle = _late(beside[COLD]), _late(idle)
    most = max(cpu)
    return [
        ["CPU ms before a reply to another client, most", short(most), "", "", "", short(CPU_BOUND),
         verdict(most, CPU_BOUND)],
        ["ms of its cycle beside 8 consumers, 99 %", short(late), WARM, short(_late(beside[WARM])), "", "", ""],
        ["the same", short(late), "an idle broker", short(late_idle), "",
         f"{short(LATER_MS)} more", verdict(late - late_idle, LATER_MS)],
    ]  # fmt: skip


def _cycles(server: Server, seconds: float) -> tuple[list[float], list[float]]:
    """The milliseconds of cycles, and those that the broker's loop ran before each reply."""
    client = Peer(server.port)
    client.send(b"use short\r\nwatch short\r\nignore default\r\n")
    client.until(b"WATCHING 1\r\n")
    cycles: list[float] = []
    used: list[float] = []
    end = time.monotonic() + seconds
    try:
        with urgent(), CpuTime(server.pid) as clock:

            def ask(command: bytes) -> bytes:
                before = clock.read()
                client.send(command)
                answer = client.until(b"\r\n")
                used.append((clock.read() - before) / 1e6)
                return answer

            while time.monotonic() < end:
                begun = time.monotonic()
                number = ask(b"put 0 0 60 5\r\nshort\r\n").split()[1]
                if not ask(b"reserve\r\n").endswith(b"short\r\n"):
                    client.until(b"short\r\n")
                ask(b"delete " + number + b"\r\n")
                cycles.append((time.monotonic() - begun) * 1000)
    except PermissionError as error:
        raise ServerError(f"only root measures this: {error}") from error
    return cycles, used


class _Deletes:
    """A client that deletes nine of ten jobs, at a steady rate."""

    def __init__(self, server: Server, jobs: int) -> None:
        self._server, self._jobs = server, jobs
        self._thread = threading.Thread(target=self._run)
        self.failed = False

    def __enter__(self) -> "_Deletes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        client = Peer(self._server.port)
        begun = time.monotonic()
        step = DELETES_A_SECOND // 1000  # more at once would take the server's CPU from it
        ids = [number for number in range(1, self._jobs + 1) if number % 10]
        for at in range(0, len(ids), step):
            time.sleep(max(0.0, begun + at / DELETES_A_SECOND - time.monotonic()))
            some = ids[at : at + step]
            client.send(b"".join(b"delete %d\r\n" % number for number in some) + b"use end\r\n")
            if b"NOT_FOUND" in client.until(b"USING end\r\n"):
                self.failed = True


def compaction(bench: Bench) -> list[table.Row]:
    """Puts while nine of ten jobs of a backlog are deleted, so that every tenth is carried forward."""
    jobs = COMPACTED_QUICK if bench.quick else COMPACTED
    load = f"{PUTS} --seconds {bench.seconds}"
    puts: dict[str, list[float]] = {COLD: [], WARM: [], "undisturbed": []}
    lags: dict[str, Counter[float]] = {COLD: Counter(), WARM: Counter()}
    for _ in range(bench.rounds):
        for name, late in lags.items():
            with bench.server(name) as server:
                fill(bench, server, jobs, "--body 1000")
                drop_cache(server)
                if name == COLD:
                    puts["undisturbed"].append(bench.load.measure(server, load)["ops_per_second"])
                before = lags_of(server)
                with _Deletes(server, jobs) as deletes:
                    while deletes.running():
                        puts[name].append(bench.load.measure(server, load)["ops_per_second"])
                after = lags_of(server)
                late.update({bound: after[bound] - before[bound] for bound in after})
                carried = _metrics(server)["gearstalkd_journal_compacted_records_total"]
                if deletes.failed or carried < jobs / 40:
                    raise ServerError(f"{carried:.0f} jobs of {jobs} were carried forward")
    rows = [rates("puts a second while every tenth job is carried forward", puts[COLD], name, puts[name], bound)
            for name, bound in ((WARM, None), ("undisturbed", 0.5))]  # fmt: skip
    mine, its = late_by(lags[COLD]), late_by(lags[WARM])
    return [*rows, ["ms that the loop was late meanwhile, 99 %", short(mine), WARM, short(its), "",
                    short(LAG_MS), verdict(mine, LAG_MS)]]  # fmt: skip


def _metrics(server: Server) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def lags_of(server: Server) -> dict[float, float]:
    """How many times the loop was late by so many seconds at most."""
    found = ((_LAG.fullmatch(name), value) for name, value in _metrics(server).items())
    return {float(bound[1]): value for bound, value in found if bound}


def late_by(lags: Counter[float]) -> float:
    """The milliseconds within which 99 % were."""
    return min(bound for bound, count in lags.items() if count >= 0.99 * lags[math.inf]) * 1000


def _late(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]
