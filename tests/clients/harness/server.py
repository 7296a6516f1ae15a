"""Servers under test: the broker itself, or the reference servers of the distribution."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

START_SECONDS = 20
STOP_SECONDS = 10


class ServerError(Exception):
    """The server did not start, or did not end as it should."""


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @staticmethod
    def parse(text: str) -> "Address":
        host, _, port = text.rpartition(":")
        return Address(host, int(port))


class Process:
    """A server process whose standard error is kept for the report."""

    def __init__(self, command: list[str]) -> None:
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._closed = False
        try:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True, errors="replace")
        except FileNotFoundError as error:
            raise ServerError(f"cannot start {command[0]}: {error}") from error
        self.pid = self._popen.pid
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait_for_line(self, start: str) -> str:
        def found() -> str | None:
            return next((line for line in self._lines if line.startswith(start)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._closed, START_SECONDS)
            line = found()
        if line is None:
            raise ServerError(f"no line that starts with '{start}'; log:\n{self.log()}")
        return line

    def running(self) -> bool:
        return self._popen.poll() is None

    def log(self) -> str:
        return "\n".join(self._lines[-60:])

    def stop(self) -> int:
        """Asks the process to end and returns its exit code (negative: a signal)."""
        if self.running():
            self._popen.send_signal(signal.SIGTERM)
        try:
            code = self._popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
            raise ServerError("still running after SIGTERM") from None
        assert self._popen.stderr is not None
        return code


class Broker:
    """The real binary on one free port that speaks both protocols."""

    reference = False

    def __init__(self, binary: str) -> None:
        self.process = Process([binary, "--listen", "127.0.0.1:0"])
        try:
            ready = self.process.wait_for_line("ready")
            match = re.search(r"127\.0\.0\.1:(\d+)", ready)
            if match is None:
                raise ServerError(f"no address in: {ready}")
        except ServerError:
            self.process.stop()
            raise
        self.beanstalk = self.gearman = Address("127.0.0.1", int(match.group(1)))

    def log(self) -> str:
        return self.process.log()

    def stop(self) -> list[str]:
        """Ends the broker; says what was wrong with its life or its end."""
        alive = self.process.running()
        try:
            code = self.process.stop()
        except ServerError as error:
            return [f"broker: {error}"]
        if not alive:
            return [f"broker died during the run, exit code {code}"]
        return [f"broker: exit code {code} after SIGTERM, want 0"] if code != 0 else []


class ReferenceServers:
    """beanstalkd and gearmand as the distribution packages them, on free ports."""

    reference = True

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="reference-")
        self._processes: list[Process] = []
        self.beanstalk = self._start("beanstalkd", "-l", "{host}", "-p", "{port}")
        self.gearman = self._start(
            "gearmand", "-L", "{host}", "-p", "{port}", "-l", "stderr",
            "-P", os.path.join(self._directory, "pid"))

    def _start(self, name: str, *options: str) -> Address:
        program = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
        if program is None:
            raise ServerError(f"{name} is not installed")
        address = Address("127.0.0.1", free_port())
        filled = [option.format(host=address.host, port=address.port) for option in options]
        self._processes.append(Process([program, *filled]))
        wait_for_port(address)
        return address

    def log(self) -> str:
        return "\n".join(process.log() for process in self._processes)

    def stop(self) -> list[str]:
        for process in self._processes:
            process.stop()
        shutil.rmtree(self._directory)
        return []


class RunningServers:
    """Servers that somebody else started."""

    def __init__(self, beanstalk: Address, gearman: Address) -> None:
        self.beanstalk, self.gearman = beanstalk, gearman
        self.reference = beanstalk != gearman

    def log(self) -> str:
        return ""

    def stop(self) -> list[str]:
        return []


Server = Broker | ReferenceServers | RunningServers


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(address: Address) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection((address.host, address.port)).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise ServerError(f"nobody listens on {address}") from None
            time.sleep(0.02)
