"""One broker and the actors around it; what every case works with."""

import socket
import subprocess
import time
from typing import Callable

from bridge.actor import Actor
from bridge.roles import Beanstalk, GearmanClient, GearmanWorker
from harness import packages
from harness.programs import Workshop
from harness.server import PATIENCE, Server

BEANSTALK = {"beaneater": "ruby/beaneater_actor.rb", "jackd": "node/jackd_actor.js",
             "fivebeans": "node/fivebeans_actor.js"}
GEARMAN = {"perl": "perl/actor.pl", "php": "php/actor.php", "libgearman": "c/libgearman_actor.c",
           "gearmanode": "node/gearmanode_actor.js"}


class Failed(Exception):
    """A check of a case did not hold."""


class World:
    """The actors of one case. Tube names start with the case's own name."""

    def __init__(self, server: Server, commands: "Commands", case: str) -> None:
        self.server = server
        self._commands = commands
        self._actors: list[Actor] = []
        self._case = case.replace(" ", "-").replace("/", "-")

    def tube(self, suffix: str = "") -> str:
        return f"{self._case}{suffix}"

    def beanstalk(self, library: str = "beaneater") -> Beanstalk:
        return Beanstalk(self._actor(library, BEANSTALK[library]))

    def client(self, library: str) -> GearmanClient:
        return GearmanClient(self._actor(library, GEARMAN[library]))

    def worker(self, library: str) -> GearmanWorker:
        return GearmanWorker(self._actor(library, GEARMAN[library]))

    def _actor(self, library: str, source: str) -> Actor:
        command, env = self._commands.of(source)
        address = self.server.beanstalk if library in BEANSTALK else self.server.gearman
        actor = Actor(library, command, env, address)
        self._actors.append(actor)
        return actor

    def close(self) -> None:
        for actor in self._actors:
            actor.kill()

    def gearadmin(self, *options: str) -> str:
        address = self.server.gearman
        done = subprocess.run(
            ["gearadmin", "-h", address.host, "-p", str(address.port), *options], text=True,
            capture_output=True, timeout=PATIENCE, check=False)
        return done.stdout + done.stderr

    def status(self, function: str) -> list[int] | None:
        """Total, running and workers of a function, as gearadmin shows them."""
        return self._row("--status", function)

    def priority_status(self, function: str) -> list[int] | None:
        return self._row("--priority-status", function)

    def _row(self, option: str, function: str) -> list[int] | None:
        for line in self.gearadmin(option).splitlines():
            name, *numbers = line.split("\t")
            if name == function:
                return [int(number) for number in numbers]
        return None

    def admin_line(self, line: str) -> str:
        """A line of Gearman's text protocol that no tool can send."""
        address = self.server.gearman
        with socket.create_connection((address.host, address.port), PATIENCE) as link:
            link.sendall(line.encode() + b"\r\n")
            return link.makefile().readline().strip()

    def wait_asleep(self, bean: Beanstalk, tube: str, count: int = 1) -> None:
        """Until so many consumers of either protocol wait at the tube."""
        self.wait(f"{count} waiting at {tube}",
                  lambda: tube in bean.tubes() and bean.tube(tube)["current-waiting"] == str(count))

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise Failed(f"never came: {what}")
            time.sleep(0.02)


class Commands:
    """How to start each actor; compiled and looked up once for all cases."""

    def __init__(self, workshop: Workshop) -> None:
        self._known = {source: (workshop.command(source), workshop.environment(source, False))
                       for source in (*BEANSTALK.values(), *GEARMAN.values())}
        packages.require("tools")

    def of(self, source: str) -> tuple[list[str], dict[str, str]]:
        return self._known[source]


def equal(what: str, got: object, want: object) -> None:
    if got != want:
        raise Failed(f"{what}:\n  got  {got!r}\n  want {want!r}")


def check(what: str, passed: object) -> None:
    if not passed:
        raise Failed(what)
