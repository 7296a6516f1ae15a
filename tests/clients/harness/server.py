"""Servers under test: the broker itself, or the reference servers of the distribution."""

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from launched import PATIENCE, Launched, NotReady, Process, free_port  # noqa: E402, F401


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @staticmethod
    def parse(text: str) -> "Address":
        host, _, port = text.rpartition(":")
        return Address(host, int(port))


def last_lines(process: Process) -> str:
    return "\n".join(process.said.splitlines()[-60:])


class Broker:
    """The real binary on one free port that speaks both protocols."""

    reference = False

    def __init__(self, binary: str) -> None:
        self.process = Launched(binary)
        self.process.wait_ready()
        self.beanstalk = self.gearman = Address("127.0.0.1", self.process.ports[0])

    def log(self) -> str:
        return last_lines(self.process)

    def stop(self) -> list[str]:
        """Ends the broker; says what was wrong with its life or its end."""
        alive = self.process.running
        try:
            code = self.process.stop()
        except NotReady as error:
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
            raise NotReady(f"{name} is not installed")
        address = Address("127.0.0.1", free_port())
        filled = [option.format(host=address.host, port=address.port) for option in options]
        self._processes.append(Process([program, *filled]))
        self._processes[-1].wait_for_port(address.port)
        return address

    def log(self) -> str:
        return "\n".join(map(last_lines, self._processes))

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
