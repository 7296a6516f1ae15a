"""Backlogs from their first put to their last deletion, with a kill between: `backlog/huge`, `tubes` and `peers`.

Bodies are verified: each has to come whole, once and in its turn.
"""

import os
import shutil
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import table
from .backlog_beside import lags_of, late_by
from .bench import Bench, attempt, short, verdict
from .cold import drop_cache, segments
from .journal import answer_to, ready_jobs
from .plot import Curve
from .servers import HUGE_BODIES_LIMIT, Server, ServerError
from .timeline import Panel, write_timeline

Result = dict[str, Any]

OURS = "ours, 256 MiB of bodies"
JOB_BYTES, TUBE_BYTES, BROKER_BYTES = 112, 512, 64 << 20  # of the formula, beside the bodies
RECORD_BYTES = 160  # on the disk at most, beside the body: record and index
LIMIT_SECONDS = 7200
SAMPLE_SECONDS = 1.0
PLOTTED = 400  # samples
DISK_BYTES = 2 << 30


@dataclass(frozen=True)
class Backlog:
    """Jobs that one server is to keep, and clients that put and take them as fast as it lets them."""

    server: str
    clients: str  # what they speak
    jobs: int
    body: int
    of_a_tube: int = 0  # jobs; 0: there is one tube
    measured: int = 0  # only so many are put and taken; the others come in without a sync for each. 0: all

    @property
    def tubes(self) -> int:
        return max(self.jobs // self.of_a_tube, 1) if self.of_a_tube else 1

    def load(self, workload: str, connections: str) -> str:
        protocol, *flags = self.clients.split()
        jobs = f"--tubes {self.tubes} --body {self.body} --ops {self.measured or self.jobs} --verify"
        return " ".join([protocol, workload, *flags, connections, jobs])

    @property
    def put(self) -> str:
        return self.load("store", "--producers 8 --depth 256")

    @property
    def take(self) -> str:
        return self.load("drain", "--consumers 8 --depth 64 --filled")


ALONE = {
    "huge": Backlog(OURS, "beanstalk --mixed", 1_000_000, 1_000),
    "tubes": Backlog(OURS, "beanstalk --mixed", 1_000_000, 400, of_a_tube=100),
}
PEERS = [
    Backlog(OURS, "beanstalk", 1_000_000, 4_000),
    Backlog("beanstalkd -f0", "beanstalk", 1_000_000, 4_000, measured=20_000),
    Backlog(OURS, "gearman --unique-keys", 1_000_000, 4_000),
    # Without keys its table keeps one job of a function.
    Backlog("gearmand sqlite", "gearman --unique-keys", 1_000_000, 4_000, measured=20_000),
]


class Samples:
    """What a server has and does, once a second, also while it starts; a context manager."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._begun = time.monotonic()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.taken: list[Result] = []
        self.phases: dict[str, float] = {}

    def __enter__(self) -> "Samples":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def begin(self, phase: str) -> None:
        self.phases[phase] = self._now()

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _run(self) -> None:
        while not self._ends.wait(SAMPLE_SECONDS):
            with suppress(OSError):
                resident = self._server.resident_bytes()
                read, written = _disk_use(self._server)
                jobs = ready_jobs(self._server.port)
                self.taken.append({"seconds": self._now(), "pid": self._server.pid, "jobs": jobs, "resident": resident,
                                   "read": read, "written": written})  # fmt: skip


def run_alone(bench: Bench, name: str, jobs: int | None, plots: Path | None) -> Result | None:
    backlog = _sized(ALONE[name], jobs)
    result = attempt(f"backlog, {name}, {backlog.jobs:,} jobs", lambda: _alone(bench, backlog))
    if result is None:
        return None
    bound = HUGE_BODIES_LIMIT + backlog.jobs * JOB_BYTES + backlog.tubes * TUBE_BYTES + BROKER_BYTES
    table.show(
        f"{backlog.jobs:,} jobs of {backlog.body:,} bytes in {backlog.tubes:,} tubes, "
        f"{result['disk'] / 1e9:.1f} GB on the disk",
        ["what", "seconds", "jobs a second", "CPU, µs a job", "MB/s of the disk", "the disk's own",
         "resident MB then", "bound", "met", "most", "ms that the loop was late, 99 %"],
        [_phase_row(result, phase, bound if phase != "take" else None) for phase in ("put", "start", "take")],
    )  # fmt: skip
    if plots:
        write_timeline(plots / f"backlog-{name}.svg", _panels(result["samples"]), result["began"])
    return result


def _sized(backlog: Backlog, jobs: int | None) -> Backlog:
    return replace(backlog, jobs=jobs) if jobs else backlog


def _alone(bench: Bench, backlog: Backlog) -> Result:
    needed, free = backlog.jobs * (backlog.body + RECORD_BYTES), shutil.disk_usage(bench.scratch).free
    if needed > free * 3 // 4:
        raise ServerError(f"it needs {needed / 1e9:.0f} GB of the disk, where {free / 1e9:.0f} are free")
    writes = _disk_writes(bench.scratch / "disk")
    with bench.server(backlog.server) as server, Samples(server) as samples:
        return {**_live(bench, backlog, server, samples), "disk_writes": writes, "samples": samples.taken,
                "began": samples.phases}  # fmt: skip


def run_peers(bench: Bench, jobs: int | None) -> list[Result]:
    results = []
    for backlog in (_sized(peer, jobs) for peer in PEERS):
        def live(backlog: Backlog = backlog) -> Result:
            with bench.server(backlog.server) as server:
                return _live(bench, backlog, server)

        if result := attempt(f"backlog, {backlog.server}", live):
            results.append({"server": backlog.server, "protocol": backlog.clients.split()[0],
                            "measured": backlog.measured, **result})  # fmt: skip
    header = ["server", "protocol", "put a second", "resident MB then", "MB on the disk", "seconds of a start",
              "resident MB then", "taken a second", "most MB"]  # fmt: skip
    title = f"The same backlog: {_sized(PEERS[0], jobs).jobs:,} jobs of {PEERS[0].body:,} bytes"
    table.show(title, header, [_peer_row(result) for result in results])
    return results


def _live(bench: Bench, backlog: Backlog, server: Server, samples: Samples | None = None) -> Result:
    """All jobs are put, the server is killed, starts with nothing in the page cache, and gives them out."""
    def begin(phase: str) -> None:
        if samples:
            samples.begin(phase)

    def phase(load: str) -> Result:
        (read, written), late = _disk_use(server), _late(server)
        report = bench.load.measure(server, load, limit=LIMIT_SECONDS)
        (read_then, written_then), late_then = _disk_use(server), _late(server)
        return {"seconds": report["seconds"], "rate": report["ops_per_second"],
                "cpu": report["cpu_us_per_op"], "read": read_then - read,
                "written": written_then - written, "resident": server.resident_bytes(),
                "peak": server.peak_bytes(),
                "late": late_by(late_then - late) if late_then else None}  # fmt: skip

    begin("put")
    put = phase(backlog.put)
    disk = sum(file.stat().st_blocks * 512 for file in server.directory.iterdir())
    server.kill()
    if backlog.measured:
        _fill(bench, server, backlog)
    drop_cache(server)
    reads = _disk_reads(segments(server)) if samples else 0.0
    drop_cache(server)
    begin("start")
    start = _start(server, backlog)
    begin("take")
    return {"put": put, "disk": disk, "disk_reads": reads, "start": start, "take": phase(backlog.take)}


def _fill(bench: Bench, server: Server, backlog: Backlog) -> None:
    """Brings what a peer that has ended keeps to all jobs, behind those that are there."""
    if backlog.server == "beanstalkd -f0":
        with Server(bench.kinds["beanstalkd -F"], bench.scratch, server.directory) as hasty:
            rest = replace(backlog, jobs=backlog.jobs - backlog.measured, measured=0)
            bench.load.measure(hasty, rest.put, limit=LIMIT_SECONDS)
        return
    with closing(sqlite3.connect(server.directory / "queue")) as connection, connection:
        (body,) = connection.execute("SELECT max(data) FROM gearman_queue").fetchone()
        rows = ((f"more-{number}", "bench", 1, body, 0) for number in range(backlog.measured, backlog.jobs))
        connection.executemany("INSERT INTO gearman_queue VALUES (?, ?, ?, ?, ?)", rows)


def _start(server: Server, backlog: Backlog) -> Result:
    waiting = ready_jobs if backlog.clients.startswith("beanstalk") else _queued_jobs
    begun = time.monotonic()
    server.start()
    while waiting(server.port) < backlog.jobs:
        if time.monotonic() > begun + LIMIT_SECONDS or not server.running:
            raise ServerError(f"{server.kind.name} has not all its jobs back: {server.said}")
    seconds = time.monotonic() - begun
    read, _ = _disk_use(server)
    cpu = _cpu_seconds(server) / backlog.jobs * 1e6
    return {"seconds": seconds, "rate": backlog.jobs / seconds, "cpu": cpu, "read": read, "written": 0,
            "resident": server.resident_bytes(), "peak": server.peak_bytes(), "late": None}  # fmt: skip


def _late(server: Server) -> Counter[float]:
    """How many times the loop of ours was late by so many seconds at most."""
    return Counter(lags_of(server)) if server.kind.name == OURS else Counter()


def _queued_jobs(port: int) -> int:
    """Of all functions of Gearman; 0 while nobody listens."""
    lines = answer_to(port, b"status\n", b".\n", LIMIT_SECONDS).splitlines()[:-1]
    return sum(int(line.split(b"\t")[1]) for line in lines)


def _cpu_seconds(server: Server) -> float:
    """What all its threads have used."""
    counts = Path(f"/proc/{server.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(counts[11]) + int(counts[12])) / os.sysconf("SC_CLK_TCK")


def _disk_use(server: Server) -> tuple[int, int]:
    """Bytes that a process read from the disk and wrote to it."""
    counts = dict(line.split(": ") for line in Path(f"/proc/{server.pid}/io").read_text().splitlines())
    return int(counts["read_bytes"]), int(counts["write_bytes"])


def _disk_writes(path: Path) -> float:
    """Bytes a second of appending MiBs, each of them synced."""
    part = os.urandom(1 << 20)
    begun = time.monotonic()
    with path.open("wb", buffering=0) as file:
        for _ in range(DISK_BYTES >> 20):
            file.write(part)
            os.fdatasync(file.fileno())
    seconds = time.monotonic() - begun
    path.unlink()
    return DISK_BYTES / seconds


def _disk_reads(files: list[Path]) -> float:
    """Bytes a second of reading files one after the other, as many as hold enough."""
    read = 0
    begun = time.monotonic()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while part := file.read(1 << 20):
                read += len(part)
        if read >= DISK_BYTES:
            break
    return read / (time.monotonic() - begun)


def _phase_row(result: Result, phase: str, bound: int | None) -> table.Row:
    found = result[phase]
    moved, own = (found["written"], result["disk_writes"]) if phase == "put" else (found["read"], result["disk_reads"])
    return [phase, short(found["seconds"]), short(found["rate"]), short(found["cpu"]),
            short(moved / found["seconds"] / 1e6), short(own / 1e6),
            f"{found['resident'] / 2**20:,.0f}", f"{bound / 2**20:,.0f}" if bound else "",
            verdict(found["resident"], bound), f"{found['peak'] / 2**20:,.0f}",
            short(found["late"]) if found["late"] is not None else ""]  # fmt: skip


def _peer_row(result: Result) -> table.Row:
    put, start, take = result["put"], result["start"], result["take"]
    kept = ["", ""] if result["measured"] else [f"{put['resident'] / 2**20:,.0f}", f"{result['disk'] / 1e6:,.0f}"]
    return [result["server"], result["protocol"], short(put["rate"]), *kept,
            short(start["seconds"]), f"{start['resident'] / 2**20:,.0f}",
            short(take["rate"]), f"{take['peak'] / 2**20:,.0f}"]  # fmt: skip


def _panels(samples: list[Result]) -> list[Panel]:
    samples = samples[:: len(samples) // PLOTTED + 1]

    def curve(name: str, key: str, unit: float) -> Curve:
        return Curve(name, [(each["seconds"], each[key] / unit) for each in samples])

    def rate(name: str, key: str, unit: float) -> Curve:
        """Not where a new process counts anew, and has no jobs as long as it starts."""
        pairs = [(before, now) for before, now in zip(samples, samples[1:]) if before["pid"] == now["pid"]
                 and before["jobs"] and now["jobs"]]  # fmt: skip
        return Curve(name, [(now["seconds"], abs(now[key] - before[key]) / (now["seconds"] - before["seconds"]) / unit)
                            for before, now in pairs])  # fmt: skip

    return [
        Panel("jobs, millions", [curve("ready", "jobs", 1e6)]),
        Panel("thousand jobs a second", [rate("put or taken", "jobs", 1e3)]),
        Panel("resident, MiB", [curve("resident", "resident", 2**20)]),
        Panel("disk, MB/s", [rate("written", "written", 1e6), rate("read", "read", 1e6)]),
    ]
