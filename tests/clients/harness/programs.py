"""The single-protocol suites: one TAP program per client library."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from harness import packages
from harness.server import Address, Server
from harness.tap import Outcome, run_program

HERE = packages.HERE
LIMIT_SECONDS = 300


@dataclass(frozen=True)
class Program:
    """A source in one of the client folders; its folder names its language."""

    source: str
    protocol: str

    @property
    def language(self) -> str:
        return self.source.split("/")[0]

    @property
    def name(self) -> str:
        return Path(self.source).stem


SUITES: dict[str, tuple[Program, ...]] = {
    "beaneater": (Program("ruby/beaneater_test.rb", "beanstalk"),),
    "gearman_tools": (Program("tools/gearman_tools_test.py", "gearman"),),
    "libgearman": (Program("c/libgearman_client_test.c", "gearman"),
                   Program("c/libgearman_worker_test.c", "gearman")),
    "perl": (Program("perl/gearman_test.pl", "gearman"),),
    "php": (Program("php/gearman_test.php", "gearman"),
            Program("php/pheanstalk_test.php", "beanstalk")),
    "node": (Program("node/jackd_test.js", "beanstalk"),
             Program("node/fivebeans_test.js", "beanstalk"),
             Program("node/fivebeans_own_test.js", "beanstalk"),
             Program("node/abraxas_test.js", "gearman"),
             Program("node/gearmanode_test.js", "gearman")),
}


@dataclass(frozen=True)
class Workshop:
    """Where npm packages and compiled programs go, and how sources become commands."""

    cache: Path
    work: Path

    def command(self, source: str) -> list[str]:
        path = HERE / source
        language = source.split("/")[0]
        if language == "c":
            return [str(packages.compile_c(path, self.work))]
        packages.require(language)
        runner = {"tools": sys.executable}.get(language, language)
        return [runner, str(path)]

    def environment(self, source: str, reference: bool) -> dict[str, str]:
        env = dict(os.environ)
        env.pop("BEANSTALKD_URL", None)
        env.pop("GEARMAN_SERVERS", None)
        env["GEARSTALK_REFERENCE"] = "1" if reference else "0"
        if source.startswith("node/"):
            env["NODE_PATH"] = str(packages.npm_modules(self.cache))
            env["NODE_NO_WARNINGS"] = "1"
        return env


def run(suite: str, start: Callable[[], Server], workshop: Workshop, only: str,
        verbose: bool) -> bool:
    """Runs each program of the suite against a server of its own."""
    results = [run_one(program, start, workshop, verbose)
               for program in SUITES[suite] if only in program.name]
    return all(results)


def run_one(program: Program, start: Callable[[], Server], workshop: Workshop,
            verbose: bool) -> bool:
    command = workshop.command(program.source)
    server = start()
    try:
        env = workshop.environment(program.source, server.reference)
        address: Address = getattr(server, program.protocol)
        outcome = run_program([*command, address.host, str(address.port)], env, LIMIT_SECONDS)
    finally:
        end = server.stop()
    outcome.problems += end
    report(program.name, outcome, server, verbose)
    return not outcome.problems


def report(name: str, outcome: Outcome, server: Server, verbose: bool) -> None:
    skipped = f", {outcome.skipped} skipped" if outcome.skipped else ""
    print(f"  {name}: {outcome.checks} checks{skipped}")
    if verbose or outcome.problems:
        print(outcome.output)
    for problem in outcome.problems:
        print(f"  {name}: {problem}")
    if outcome.problems and server.log():
        print(f"--- server log\n{server.log()}\n---")
