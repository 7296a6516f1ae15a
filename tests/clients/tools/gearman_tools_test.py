#!/usr/bin/env python3
"""Drives the command line tools gearman and gearadmin. Arguments: HOST PORT."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import Tap, eventually

HOST, PORT = sys.argv[1], sys.argv[2]
LIMIT = 120
TAP = Tap()
WORKERS: list[subprocess.Popen[bytes]] = []


def gearman(*options: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["gearman", "-h", HOST, "-p", PORT, *options], input=data,
                          capture_output=True, timeout=LIMIT, check=False)


def gearadmin(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["gearadmin", "-h", HOST, "-p", PORT, *options], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
                          check=False)


def start_worker(*options: str) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(
        ["timeout", "300", "gearman", "-h", HOST, "-p", PORT, "-w", *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True)
    WORKERS.append(worker)
    return worker


def stop_worker(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    try:
        worker.communicate(timeout=10)
    except subprocess.TimeoutExpired:  # a command of it may live on
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
    WORKERS.remove(worker)


def table(option: str) -> dict[str, list[int]]:
    """A table of gearadmin: function => its numbers."""
    lines = gearadmin(option).stdout.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    return {row[0]: [int(column) for column in row[1:]] for row in rows}


def workers_of(function: str) -> int:
    return table("--status").get(function, [0, 0, 0])[2]


def handles() -> list[str]:
    lines = gearadmin("--show-jobs").stdout.splitlines()
    return [line.split("\t")[0] for line in lines if "\t" in line]


def check_jobs() -> None:
    start_worker("-f", "upper", "--", "tr", "a-z", "A-Z")
    start_worker("-f", "echo", "--", "cat")
    TAP.ok("workers register",
           eventually(lambda: workers_of("upper") == 1 and workers_of("echo") == 1))
    done = gearman("-f", "upper", data=b"from standard input")
    TAP.equal("workload from standard input", done.stdout, b"FROM STANDARD INPUT")
    TAP.equal("exit code", done.returncode, 0)
    TAP.equal("workload as an argument", gearman("-f", "upper", "argument").stdout, b"ARGUMENT")
    for option, name in (("-I", "high"), ("-L", "low")):
        TAP.equal(f"{name} priority", gearman("-f", "upper", option, name).stdout,
                  name.upper().encode())
    every = bytes(range(256)) * 40
    TAP.equal("every byte", gearman("-f", "echo", data=every).stdout, every)
    TAP.equal("one job per line", gearman("-f", "upper", "-n", data=b"one\ntwo\n").stdout,
              b"ONE\nTWO\n")
    TAP.equal("one job per line without its end",
              gearman("-f", "upper", "-N", data=b"one\ntwo\n").stdout, b"ONETWO")
    both = gearman("-f", "upper", "-f", "echo", "-P", "-u", "key", "both").stdout
    TAP.ok("two functions, in the order of their ends",
           both in (b"upper: BOTHecho: both", b"echo: bothupper: BOTH"), repr(both))
    TAP.equal("no workload", gearman("-f", "echo", "-s").returncode, 0)


def check_endings() -> None:
    start_worker("-f", "broken", "--", "false")
    failed = gearman("-f", "broken", "x")
    TAP.ok("a failing command fails the job",
           failed.returncode != 0 or b"fail" in (failed.stdout + failed.stderr).lower(),
           repr(failed))
    late = gearman("-t", "300", "-f", "nobody does this", "x")
    TAP.equal("a job without a worker ends at the time limit", late.stdout, b"")
    lines = start_worker("-f", "lines", "-n", "--", "cat")
    TAP.equal("a worker that sends data for each line; the tool repeats what it had before",
              gearman("-f", "lines", data=b"first\nsecond\n").stdout, b"first\nfirst\nsecond\n")
    stop_worker(lines)
    two = start_worker("-f", "count", "-c", "2", "--", "cat")
    for word in ("one", "two"):
        TAP.equal(f"a worker for two jobs, {word}", gearman("-f", "count", word).stdout,
                  word.encode())
    two.communicate(timeout=LIMIT)
    WORKERS.remove(two)
    TAP.equal("which then ends", two.returncode, 0)
    TAP.ok("and is forgotten", eventually(lambda: workers_of("count") == 0))


def check_background() -> None:
    for option in ((), ("-I",), ("-L",)):
        TAP.equal(f"background {''.join(option)}", gearman("-b", *option, "-f", "later", "-u",
                  f"key{''.join(option)}", "x").returncode, 0)
    TAP.equal("status counts what waits", table("--status").get("later"), [3, 0, 0])
    TAP.equal("prioritystatus counts by priority", table("--priority-status").get("later"),
              [1, 1, 1, 0])
    keys = gearadmin("--show-unique-jobs").stdout.splitlines()
    TAP.ok("show unique jobs names the keys", {"key", "key-I", "key-L"} <= set(keys), repr(keys))
    rows = [line.split("\t") for line in gearadmin("--show-jobs").stdout.splitlines()]
    waiting = [row for row in rows if len(row) == 4]
    TAP.ok("show jobs has four columns", len(waiting) >= 3, repr(rows))
    TAP.ok("numbers after the handle",
           all(column.isdigit() for row in waiting for column in row[1:]), repr(waiting))
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder) / "seen"
        start_worker("-f", "later", "-c", "3", "--", "tee", "-a", str(seen))
        TAP.ok("a worker does them all",
               eventually(lambda: table("--status").get("later", [0])[0] == 0))
        TAP.ok("with their workloads", eventually(lambda: seen.exists()
               and seen.read_bytes() == b"xxx"))


def check_cancel() -> None:
    gearman("-b", "-f", "cancelled", "-u", "cancel-key", "x")
    handle = handles()[0]
    TAP.equal("cancel job", gearadmin("--cancel-job", handle).stdout.strip(), "OK")
    unknown = gearadmin("--cancel-job", "H:nowhere:1")
    TAP.ok("cancel of an unknown job", "UNKNOWN_JOB" in unknown.stdout + unknown.stderr,
           repr(unknown))

    def gone() -> None:
        TAP.ok("a cancelled job is gone from every list",
               handle not in handles()
               and table("--status").get("cancelled", [0])[0] == 0)

    TAP.ours_only("a cancelled job is gone", "gearmand keeps it until a worker asks", gone)


def check_functions() -> None:
    TAP.equal("create function", gearadmin("--create-function", "made").stdout.strip(), "OK")
    TAP.equal("status shows it", table("--status").get("made"), [0, 0, 0])
    TAP.equal("drop function", gearadmin("--drop-function", "made").stdout.strip(), "OK")
    TAP.ok("status shows it no more", "made" not in table("--status"))
    again = gearadmin("--drop-function", "made")
    TAP.ok("drop of an unknown function", "function not found" in again.stdout + again.stderr,
           repr(again))
    busy = gearadmin("--drop-function", "echo")
    TAP.ok("drop of a function with workers", "still connected" in busy.stdout + busy.stderr,
           repr(busy))

    def with_jobs() -> None:
        gearman("-b", "-f", "filled", "x")
        refused = gearadmin("--drop-function", "filled")
        TAP.ok("drop of a function with jobs is refused",
               "still connected" in refused.stdout + refused.stderr, repr(refused))
        TAP.equal("and they are kept", table("--status").get("filled"), [1, 0, 0])

    TAP.ours_only("drop of a function with jobs", "gearmand drops it and loses the jobs",
                  with_jobs)


def check_server() -> None:
    TAP.ok("version", re.fullmatch(r"\S+", gearadmin("--server-version").stdout.strip()))
    TAP.ok("verbose", re.fullmatch(r"[A-Z]+", gearadmin("--server-verbose").stdout.strip()))
    pid = gearadmin("--getpid").stdout.strip()
    TAP.ok("getpid names a process",
           re.fullmatch(r"\d+", pid) and Path(f"/proc/{pid}").exists(), pid)
    lines = gearadmin("--workers").stdout.splitlines()
    rows = [line for line in lines if line != "."]
    form = re.compile(r"^\d+ 127\.0\.0\.1 \S+ :( .*)?$")
    TAP.ok("workers: fd, address, id, functions", rows and all(map(form.match, rows)), repr(rows))
    TAP.ok("workers lists a worker's function",
           any(row.split(" : ")[-1].strip() == "echo" for row in rows), repr(rows))
    TAP.equal("a table ends with a dot", lines[-1:], ["."])


def main() -> None:
    try:
        check_jobs()
        check_endings()
        check_background()
        check_cancel()
        check_functions()
        check_server()
    finally:
        for worker in list(WORKERS):
            stop_worker(worker)
    TAP.finish()


main()
