"""Servers as processes of a test: the one place that starts them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Self

PATIENCE = 120.0  # seconds, for what comes at once on an idle machine


# Begins a program as a service manager does that passes it sockets: descriptors, with a comma between
# two, and the program with its arguments. LISTEN_FDS is the caller's.
PASS_SOCKETS = """
import os, sys
for place, fd in enumerate(map(int, sys.argv[1].split(","))):
    os.dup2(fd, 3 + place, inheritable=True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


class NotReady(AssertionError):
    """A server did not start, answer or end as it should."""


def eventually(what: str, holds: Callable[[], object]) -> object:
    """The first true answer of `holds`, which costs little to ask: for what no event tells."""
    end = time.monotonic() + PATIENCE
    while not (answer := holds()):
        if time.monotonic() > end:
            raise NotReady(f"never came: {what}")
        time.sleep(0.01)
    return answer


def free_port() -> int:
    """A port of this machine for a server that cannot choose one. Nobody listens on it, and the
    kernel gives it to nobody else until this process ends: a socket that does not listen stays
    bound to it, beside which servers with SO_REUSEADDR bind theirs."""
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    port = keeper.getsockname()[1]
    keeper.detach()  # its descriptor stays open
    return port


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


class Process:
    """A server that ends with the test whatever happens to the test. What it says on standard error
    comes from a thread of its own, so that a line may be there a little later: wait_for."""

    def __init__(self, line: Sequence[object], log: Path | None = None, **popen: object) -> None:
        """`log` keeps what it says, behind what is there."""
        self._line = ["setpriv", "--pdeathsig", "KILL", *map(str, line)]
        self._popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **popen}
        # Otherwise in memory: a busy disk would keep the thread that writes it.
        self._log = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT) if log \
            else os.memfd_create("said")
        self.start()

    def start(self) -> None:
        """Begins a process; another one when the last has ended."""
        self._begin = os.fstat(self._log).st_size
        self.stopped = False
        self.process = subprocess.Popen(self._line, **{"stderr": self._log, **self._popen})

    def __del__(self) -> None:
        os.close(self._log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for_port(self, port: int) -> None:
        """Raises NotReady when it ends without listening there."""
        def listens() -> bool:
            if not self.running:
                raise NotReady(f"exit code {self.process.returncode}:\n{self.said}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        eventually(f"{self._line} listens", listens)

    @property
    def said(self) -> str:
        size = os.fstat(self._log).st_size - self._begin
        return os.pread(self._log, size, self._begin).decode(errors="replace")

    def has_said(self, pattern: str, times: int = 1) -> bool:
        return len(re.findall(pattern, self.said, re.M)) >= times

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Raises NotReady when it ends without having said so."""
        end = time.monotonic() + PATIENCE
        while not self.has_said(pattern, times):
            over = self.process.poll() is not None or time.monotonic() > end
            if over and not self.has_said(pattern, times):
                code = self.process.poll()
                raise NotReady(f"it never said {pattern!r} (exit code {code}), but:\n{self.said}")
            time.sleep(0.003)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        if number in (signal.SIGSTOP, signal.SIGCONT):
            self.stopped = number == signal.SIGSTOP

    def sockets(self) -> int:
        """How many it has. Files do not count: a broker opens and closes them at any time."""
        count = 0
        for descriptor in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                count += os.readlink(descriptor).startswith("socket:")
        return count

    def threads(self) -> list[str]:
        """The state of each of its threads, the main one first: proc(5)."""
        states = []
        for thread in sorted(Path(f"/proc/{self.pid}/task").iterdir(), key=lambda at: int(at.name)):
            try:
                states.append((thread / "stat").read_text().rpartition(") ")[2][0])
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
        return states

    def freeze(self) -> None:
        """Every thread stops, or will before it returns from the system call that it is in."""
        self.signal(signal.SIGSTOP)
        eventually("it stands still", lambda: set(self.threads()) <= {"T", "D"})

    def wait(self) -> int:
        """For its end; its exit code, or -N for a signal."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise NotReady(f"it does not end:\n{self.said}") from None

    def stop(self) -> int:
        """Asks it to end; its exit code."""
        if self.running:
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Launched(Process):
    """A broker, on a free port where `listen` says nothing else."""

    def __init__(self, binary: str | Path, *options: object, listen: tuple[str, ...] = ("127.0.0.1:0",),
                 log: Path | None = None, before: tuple[str, ...] = (), **popen: object) -> None:
        """`before` is a command that starts it."""
        self.addresses: list[str] = []
        self.ports: list[int] = []
        line = [*before, binary, *options]
        for address in listen:
            line += ["--listen", address]
        super().__init__(line, log, **popen)

    def __enter__(self) -> Self:
        self.wait_ready()
        return self

    def wait_ready(self) -> None:
        try:
            self.wait_for(r"^ready .*\n")
        except NotReady:
            self.kill()
            raise
        self.addresses = re.search(r"^ready (.*)$", self.said, re.M)[1].split(" ")
        self.ports = [int(each.rpartition(":")[2]) for each in self.addresses
                      if not each.startswith("unix:")]

    @cached_property
    def admin(self) -> str:
        """HOST:PORT of its first page address; it is there before the broker is ready."""
        self.wait_for(r"\badmin \S+:\d+$")
        return re.search(r"\badmin (\S+:\d+)$", self.said, re.M)[1]
