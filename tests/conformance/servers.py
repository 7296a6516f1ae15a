"""Servers under test: each case starts its own, on a free loopback port, and ends it."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from clocks import Clocks  # noqa: E402
from launched import PATIENCE, NotReady, Process, eventually  # noqa: E402

SERVER_NAME = "conf"
HANDLE_PREFIX = f"H:{SERVER_NAME}"

# Below the range that the kernel gives to outgoing connections.
_PORTS = range(20000, 32000)
_ports_lock = threading.Lock()
_next_port = random.SystemRandom().choice(_PORTS)


class ServerError(RuntimeError):
    """A server that cannot be started or does not end as it should."""


def _some_port() -> int:
    global _next_port
    with _ports_lock:
        port = _next_port
        _next_port = port + 1 if port + 1 in _PORTS else _PORTS[0]
    return port


def find_real(name: str) -> str:
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        package = {"gearmand": "gearman-job-server"}.get(name, name)
        raise ServerError(f"{name} is not installed (Debian package {package})")
    return path


class Server(Process):
    """A running server process, in a directory of its own."""

    def __init__(self, command: list[str], clocks: Path | None) -> None:
        """`clocks`: the library with which `advance` works, and nothing else moves its clocks."""
        self.directory = tempfile.TemporaryDirectory(prefix="conformance-")
        self._advanced = 0.0
        self._clocks = Clocks(clocks, Path(self.directory.name) / "clocks") if clocks else None
        if self._clocks:
            self._clocks.set(percent=-100)
        before = self._clocks.before if self._clocks else []
        super().__init__([*before, *command], cwd=self.directory.name)
        self.port = 0

    def advance(self, seconds: float) -> None:
        """Moves its clocks forward. A running server has done what is due when this returns."""
        assert self._clocks
        was_stopped = self.stopped
        self.freeze()
        self._advanced += seconds
        self._clocks.set(self._advanced, self._advanced, self._advanced, percent=-100)
        if was_stopped:
            return
        self.signal(signal.SIGCONT)  # which ends its wait for the next event or time
        eventually("it waits again", lambda: self.threads()[0] == "S")

    def fate(self) -> str:
        """How the process fares at the end of a case."""
        code = self.process.poll()
        if code is None:
            return "(running)"
        return f"(exit {code})" if code >= 0 else f"(killed by {signal.Signals(-code).name})"

    def wait_exit(self) -> str:
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        return self.fate()

    def listens_on(self, port: int) -> bool:
        """Whether this very process, not another on the same port, has begun to listen."""
        directory = f"/proc/{self.pid}/fd"
        try:
            links = {os.readlink(f"{directory}/{fd}") for fd in os.listdir(directory)}
        except OSError:
            return False
        sockets = {link for link in links if link.startswith("socket:")}
        return bool(sockets) and not sockets.isdisjoint(_listening_inodes(port))

    def kill(self) -> None:
        super().kill()
        self.directory.cleanup()

    def terminate(self) -> str:
        """Asks the process to stop and tells how it did."""
        if self.running:
            self.process.terminate()
        fate = self.wait_exit()
        log = self.said
        self.kill()
        return fate if fate == "(exit 0)" else f"{fate}\n{log[-2000:]}"


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        suffix = f":{port:04X}"
        for fields in (row.split() for row in rows if suffix in row):
            if fields[3] == "0A" and fields[1].endswith(suffix):
                found.add(f"socket:[{fields[9]}]")
    return found


def start_real(kind: str, args: list[str], clocks: Path | None) -> Server:
    """Starts Debian's beanstalkd or gearmand; a port that is taken is tried no further."""
    binary = find_real(kind)
    for _ in range(20):
        port = _some_port()
        if kind == "beanstalkd":
            command = [binary, "-l", "127.0.0.1", "-p", str(port), *args]
        else:
            command = [binary, "-L", "127.0.0.1", "-p", str(port), "--job-handle-prefix",
                       HANDLE_PREFIX, "-l", "none", "-P", "gearmand.pid", *args]
        server = Server(command, clocks)
        deadline = time.monotonic() + PATIENCE
        while server.running and time.monotonic() < deadline:
            if server.listens_on(port):
                server.port = port
                return server
            time.sleep(0.002)
        log = server.said
        server.kill()
    raise ServerError(f"{kind} does not start: {log}")


def start_ours(binary: str, args: list[str], config: list[tuple[str, str]],
               clocks: Path | None) -> Server:
    command = [binary, "--listen", "127.0.0.1:0", "--server-name", SERVER_NAME, *args]
    config_file: Path | None = None
    if config:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
            file.write(_yaml(config))
        config_file = Path(file.name)
        command += ["--config", file.name]
    try:
        return _await_ready(Server(command, clocks))
    finally:
        if config_file:
            config_file.unlink()


def _await_ready(server: Server) -> Server:
    try:
        server.wait_for(r"^ready\b.*127\.0\.0\.1:\d+")
    except NotReady as error:
        server.kill()
        raise ServerError(str(error)) from None
    server.port = int(re.search(r"^ready\b.*127\.0\.0\.1:(\d+)", server.said, re.MULTILINE)[1])
    return server


def _yaml(config: list[tuple[str, str]]) -> str:
    """Dotted keys as nested YAML maps."""
    tree: dict = {}
    for key, value in config:
        *path, last = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value

    def lines(node: dict, depth: int) -> list[str]:
        out = []
        for name, value in node.items():
            if isinstance(value, dict):
                out += [f"{'  ' * depth}{name}:"] + lines(value, depth + 1)
            else:
                out.append(f"{'  ' * depth}{name}: {value}")
        return out

    return "\n".join(lines(tree, 0)) + "\n"
