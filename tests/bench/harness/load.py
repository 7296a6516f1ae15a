"""The load tool: one measurement, or one process that measures step by step."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .servers import Server, die_with_parent

Report = dict[str, Any]

LIMIT_SECONDS = 240


class LoadError(RuntimeError):
    """The load tool did not get through; the message is its own."""


@dataclass(frozen=True)
class Load:
    """Where the load tool is and how it always runs."""

    binary: Path
    flags: tuple[str, ...]

    def command(self, server: Server, arguments: str, limit: int = LIMIT_SECONDS) -> list[str]:
        routers = [word for pid in server.routers() for word in ("--router", str(pid))]
        return [
            str(self.binary), *arguments.split(), *self.flags,
            "--server", f"127.0.0.1:{server.port}", "--pid", str(server.pid), *routers,
            "--limit", str(limit),
        ]  # fmt: skip

    def measure(self, server: Server, arguments: str, questions: tuple[str, ...] = (),
                limit: int = LIMIT_SECONDS) -> Report:
        command = self.command(server, arguments, limit)
        for question in questions:
            command += ["--ask", question]
        done = subprocess.run(
            command, capture_output=True, text=True, preexec_fn=die_with_parent, check=False
        )
        if done.returncode != 0:
            raise LoadError(f"{server.kind.name}: {done.stderr.strip() or done.returncode}")
        report: Report = json.loads(done.stdout)
        return report


class Stepper:
    """A load process that keeps its connections and backlog and measures whenever it is told to."""

    def __init__(self, load: Load, server: Server, arguments: str) -> None:
        self._name = server.kind.name
        self._process = subprocess.Popen(
            [*load.command(server, arguments), "--steps"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )

    def __enter__(self) -> "Stepper":
        try:
            self._read_line()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self) -> Report:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        report: Report = json.loads(self._read_line())
        return report

    def _read_line(self) -> str:
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            raise LoadError(f"{self._name}: {self._process.stderr.read().strip()}")
        return line
