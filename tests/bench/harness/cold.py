"""A server whose bodies left memory, and one that has all of them there."""

import os
from pathlib import Path

from . import table
from .bench import Bench, Spread, short, verdict
from .servers import Server

COLD, WARM = "bodies in the journal", "bodies in memory"
JOBS = 250_000


def size(bench: Bench, jobs: int) -> int:
    return jobs // 20 if bench.quick else jobs


def fill(bench: Bench, server: Server, jobs: int, flags: str) -> None:
    bench.load.measure(server, f"beanstalk store --producers 2 --depth 256 --ops {jobs} {flags}")


def segments(server: Server) -> list[Path]:
    return sorted(server.directory.glob("*.wal"))


def drop_cache(server: Server) -> None:
    """Of all its files, also of those that nobody has synced."""
    for path in filter(Path.is_file, server.directory.iterdir()):
        with path.open("rb") as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def rates(what: str, ours: list[float], name: str, theirs: list[float], bound: float | None) -> table.Row:
    mine, its = Spread.of(ours), Spread.of(theirs)
    ratio = mine.median / its.median
    return [what, str(mine), name, str(its), short(ratio), f">= {short(bound)}" if bound else "",
            verdict(-ratio, -bound if bound else None)]  # fmt: skip
