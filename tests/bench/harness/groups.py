"""What groups inside a tube cost, and whom they serve: `groups/*`."""

import heapq
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from . import growth, table
from .bench import Bench, attempt, cpu_of, short, verdict
from .journal import filled, recover
from .scenarios import (
    GROUP_BACKLOG,
    GROUP_BYTES_BOUND,
    GROUPED,
    GROUPED_BODY,
    GROUPED_JOB_BYTES_BOUND,
    HALVES_BOUND,
    HELD_GROUPS_BOUND,
    QUIET_BOUND,
    RECOVERED_JOBS,
    TURNED_OVER,
    TURNOVER_BOUND,
    Growth,
)
from .servers import Server

Result = dict[str, Any]

PLAIN, IN_GROUPS, AT_A_RATE = "ours", "ours in groups", "ours in groups at a rate"
JOURNALS = ("ours --sync always", "ours in groups --sync always")
NAME_BYTES = 8
WORKERS = 8
HELD = 100_000  # groups
QUIET_JOBS = 50
FLOOD = 100_000  # jobs of the other group, where all have to go first


def run(bench: Bench, costs: list[Growth], chosen: Callable[[str], bool]) -> Result:
    results: Result = {"costs": growth.run(bench, costs, False, None)}
    for name, (_, measure) in MEASUREMENTS.items():
        if chosen(name):
            results[name] = attempt(f"groups, {name}", lambda: measure(bench))
    rows = [row for name, (show, _) in MEASUREMENTS.items() if results.get(name) for row in show(results[name])]
    table.show("Groups inside a tube", ["measurement", "value", "bound", "met"], rows)
    return results


def _row(name: str, value: float, bound: float | None) -> table.Row:
    return [name, short(value), short(bound) if bound else "", verdict(value, bound)]


# --- memory

def _memory(bench: Bench) -> Result:
    jobs = GROUP_BACKLOG // 10 if bench.quick else GROUP_BACKLOG
    store = f"beanstalk store --producers 2 --depth 64 --ops {jobs} --body {GROUPED_BODY}"
    sizes = {}
    for name, server, groups in (("plain", PLAIN, 1), ("one group", IN_GROUPS, 1), ("each its own", IN_GROUPS, jobs)):
        with bench.server(server) as running:
            bench.load.measure(running, "beanstalk cycle --seconds 0.3")
            before = running.resident_bytes()
            # Each producer counts from the first group on.
            producers = store.replace("--producers 2", "--producers 1") if groups == jobs else store
            bench.load.measure(running, f"{producers} --groups {groups}")
            sizes[name] = (running.resident_bytes() - before) / jobs
    return {"group": sizes["each its own"] - sizes["one group"] - NAME_BYTES, "job": sizes["one group"] - sizes["plain"]}


def _show_memory(result: Result) -> list[table.Row]:
    return [_row("bytes of a group above its name", result["group"], GROUP_BYTES_BOUND),
            _row("bytes of a job in a group", result["job"], GROUPED_JOB_BYTES_BOUND)]  # fmt: skip


def _turnover(bench: Bench) -> Result:
    """Groups that come with a job and go with it, few at a time, after as many as one tenth of them."""
    groups = TURNED_OVER // 10 if bench.quick else TURNED_OVER
    cycle = f"beanstalk cycle --producers 1 --consumers 1 --depth 64 --body {GROUPED_BODY} --groups {groups}"
    with bench.server(IN_GROUPS) as server:
        bench.load.measure(server, f"{cycle} --ops {groups // 10}")
        before = server.resident_bytes()
        bench.load.measure(server, f"{cycle} --ops {groups}")
        return {"groups": groups, "bytes": server.resident_bytes() - before}


def _show_turnover(result: Result) -> list[table.Row]:
    return [_row(f"bytes that {result['groups']:,} groups which came and went left behind", result["bytes"], TURNOVER_BOUND)]


# --- groups that are held back

def _held(bench: Bench) -> Result:
    """The cycle of jobs without a group, which nothing holds, beside groups that all wait for their rate."""
    size = HELD // 10 if bench.quick else HELD
    cycle = f"beanstalk cycle --body {GROUPED_BODY} --seconds {bench.seconds}"
    reports: dict[str, list[Any]] = {AT_A_RATE: [], PLAIN: []}
    with bench.server(AT_A_RATE) as held, bench.server(PLAIN) as plain:
        bench.load.measure(held, f"beanstalk store --producers 1 --depth 64 --ops {2 * size} --body {GROUPED_BODY} --groups {size}")
        bench.load.measure(held, f"beanstalk drain --ops {size} --filled")
        if (back := _stat(held, "groups-held-back")) != size:
            raise AssertionError(f"{back} of {size} groups are held back")
        for _ in range(bench.rounds):
            for server in (held, plain):
                reports[server.kind.name].append(bench.load.measure(server, cycle))
    return {name: cpu_of(of).median for name, of in reports.items()}


def _stat(server: Server, name: str) -> int:
    with Connection(server) as connection:
        text = connection.ask("stats-tube bench")
        body = connection.read(int(text.split()[1]) + 2).decode()
    return int(body.split(f"{name}: ")[1].split("\n")[0])


def _show_held(result: Result) -> list[table.Row]:
    return [_row("a cycle beside groups that are held back, to one alone", result[AT_A_RATE] / result[PLAIN], HELD_GROUPS_BOUND)]


# --- who waits how long

class Connection:
    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def ask(self, line: str) -> str:
        self._socket.sendall(line.encode() + b"\r\n")
        return self._file.readline().decode()

    def read(self, size: int) -> bytes:
        return self._file.read(size)

    def put(self, customer: str) -> int:
        body = f'{{"customer":"{customer}"}}'
        return int(self.ask(f"put 1024 0 3600 {len(body)}\r\n{body}").split()[1])

    def reserve(self) -> tuple[int, str]:
        """A job and its customer; the first is 0 if there is none."""
        word, *numbers = self.ask("reserve-with-timeout 0").split()
        if word != "RESERVED":
            return 0, ""
        body = self.read(int(numbers[1]) + 2).decode()
        return int(numbers[0]), body.split('"')[3]


@contextmanager
def _crew(server: Server) -> Iterator[list[Connection]]:
    with ExitStack() as stack:
        crew = [stack.enter_context(Connection(server)) for _ in range(WORKERS)]
        for worker in crew:
            worker.ask("watch bench")
            worker.ask("ignore default")
        yield crew


def _quiet_wait(bench: Bench, name: str, flood: int, service: float, jobs: int) -> float:
    """How long a job of a quiet customer waits, in service times of the workers, beside the flood of another one; the median."""
    waits = []
    with bench.server(name) as server, Connection(server) as producer:
        producer.ask("use bench")
        bench.load.measure(server, f"beanstalk store --producers 1 --depth 64 --ops {flood} --body {GROUPED_BODY} --groups 1")
        with _crew(server) as crew:
            ends: list[tuple[float, int, int]] = []  # of what each worker does: when, who, its job
            put: dict[int, float] = {}
            begun = time.monotonic()

            def take(worker: int) -> None:
                job, _ = crew[worker].reserve()
                if job in put:
                    waits.append((time.monotonic() - put.pop(job)) / service)
                # So that their ends do not fall together.
                heapq.heappush(ends, (time.monotonic() + service * (1 if ends or waits else 0.5), worker, job))

            for worker in range(WORKERS):
                take(worker)
                time.sleep(service / WORKERS)
            while len(waits) < jobs:
                if not put and time.monotonic() - begun > service:
                    put[producer.put("quiet")] = time.monotonic()
                at, worker, job = heapq.heappop(ends)
                time.sleep(max(0.0, at - time.monotonic()))
                if job:
                    crew[worker].ask(f"delete {job}")
                take(worker)
    return statistics.median(waits)


def _quiet(bench: Bench) -> Result:
    flood = GROUP_BACKLOG // 10 if bench.quick else GROUP_BACKLOG
    return {"flood": flood, "wait": _quiet_wait(bench, IN_GROUPS, flood, 0.02, QUIET_JOBS),
            "with": _quiet_wait(bench, IN_GROUPS, FLOOD, 0.001, QUIET_JOBS), "without": _quiet_wait(bench, PLAIN, FLOOD, 0.001, 1)}  # fmt: skip


def _show_quiet(result: Result) -> list[table.Row]:
    return [_row(f"wait beside {result['flood']:,} jobs of one other, service times", result["wait"], QUIET_BOUND),
            _row(f"wait beside {FLOOD:,} jobs of one other, jobs of 1 ms, service times", result["with"], QUIET_BOUND),
            _row("the same without groups", result["without"], None)]  # fmt: skip


def _halves(bench: Bench) -> Result:
    """Two groups with backlogs, one's jobs 600 times as long: how many workers each has, on the mean."""
    seconds = {"slow": 6.0, "fast": 0.01}
    busy = {"slow": 0.0, "fast": 0.0}
    with bench.server(IN_GROUPS) as server, Connection(server) as producer, _crew(server) as crew:
        producer.ask("use bench")
        for _ in range(8_000):
            for customer in seconds:
                producer.put(customer)
        now = begun = time.monotonic()
        ends: list[tuple[float, int, int]] = []

        def take(worker: int) -> None:
            job, customer = crew[worker].reserve()
            end = now + seconds[customer]
            busy[customer] += min(end, begun + 10) - now
            heapq.heappush(ends, (end, worker, job))

        for worker in range(WORKERS):
            take(worker)
        while ends[0][0] < begun + 10:
            now, worker, job = heapq.heappop(ends)
            time.sleep(max(0.0, now - time.monotonic()))
            crew[worker].ask(f"delete {job}")
            take(worker)
    return {customer: time_busy / 10 / WORKERS for customer, time_busy in busy.items()}


def _show_halves(result: Result) -> list[table.Row]:
    return [_row(f"workers of the group with {name} jobs, off the half", abs(result[name] - 0.5), HALVES_BOUND / 2) for name in ("slow", "fast")]


# --- start

def _start(bench: Bench) -> Result:
    starts: dict[str, list[float]] = {name: [] for name in JOURNALS}
    with ExitStack() as stack:
        servers = [filled(bench, stack, name, f"--body {GROUPED_BODY} --groups {RECOVERED_JOBS // 10}") for name in JOURNALS]
        for _ in range(bench.rounds):
            for server in servers:
                starts[server.kind.name].append(recover(server)["seconds"])
    return {name: statistics.median(of) for name, of in starts.items()}


def _show_start(result: Result) -> list[table.Row]:
    plain, grouped = (result[name] for name in JOURNALS)
    return [_row(f"start with {RECOVERED_JOBS:,} jobs in {RECOVERED_JOBS // 10:,} groups, to one without", grouped / plain, 1.25)]


MEASUREMENTS: dict[str, tuple[Callable[[Result], list[table.Row]], Callable[[Bench], Result]]] = {
    "memory": (_show_memory, _memory),
    "turnover": (_show_turnover, _turnover),
    "held": (_show_held, _held),
    "quiet": (_show_quiet, _quiet),
    "halves": (_show_halves, _halves),
    "start": (_show_start, _start),
}
NAMES = [*(row.name for row in GROUPED), *MEASUREMENTS]
