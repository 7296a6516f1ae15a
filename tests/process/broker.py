"""A broker for the time of a test, and what it says."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") \
    else "build/gearstalkd"
PATIENCE = 60.0  # seconds, for events that come at once on an idle machine


def eventually(what: str, holds: Callable[[], object]) -> object:
    """The first true answer of `holds`, which costs little to ask."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := holds():
            return answer
        time.sleep(0.01)
    raise AssertionError(f"never came: {what}")


class Broker:
    """Started with the given flags; `ports` are known when it is ready."""

    def __init__(self, *flags: str, listen: tuple[str, ...] = ("127.0.0.1:0",), program: str = BROKER,
                 **popen: object) -> None:
        self.said = ""
        self.ports: list[int] = []
        line = [program, *flags]
        for address in listen:
            line += ["--listen", address]
        self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, **popen)
        assert self.process.stderr is not None
        self._stderr = self.process.stderr.fileno()

    def __enter__(self) -> "Broker":
        self.wait_for(r"^ready .*\n")
        ready = re.search(r"^ready (.*)\n", self.said, re.M)
        assert ready is not None
        self.ports = [int(port) for port in re.findall(r"\]?:(\d+)(?= |$)", ready[1])]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def read(self, seconds: float) -> bool:
        """Takes in what it says; False at the end of it."""
        if not select.select([self._stderr], [], [], seconds)[0]:
            return True
        got = os.read(self._stderr, 65536)
        self.said += got.decode(errors="replace")
        return got != b""

    def wait_for(self, pattern: str, times: int = 1) -> None:
        end = time.monotonic() + PATIENCE
        while len(re.findall(pattern, self.said, re.M)) < times:
            if time.monotonic() > end or not self.read(1.0):
                raise AssertionError(f"it never said {pattern!r}, but:\n{self.said}")

    def wait(self) -> int:
        """For its end; its exit code."""
        while self.read(PATIENCE):
            pass
        return self.process.wait(PATIENCE)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def connect(self, index: int = 0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.ports[index]), PATIENCE)

    def ask(self, request: bytes) -> bytes:
        with self.connect() as client:
            client.sendall(request)
            return client.recv(4096)


class Directory:
    """A directory with a configuration file."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.path = Path(self._directory.name)
        self.file = self.path / "gearstalkd.yaml"

    def configure(self, text: str) -> None:
        new = self.path / "new.yaml"
        new.write_text(text)
        new.rename(self.file)

    def close(self) -> None:
        self._directory.cleanup()
