#!/usr/bin/env python3
"""Runs the programs of docs/quickstart against the real broker: run.py BROKER [LANGUAGE...].

Each producer of a page with each worker of it; of a framework's page what puts with what works. A client that is not installed fails the test
and says what to install."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/admin"))
sys.path.insert(0, str(ROOT / "tests/clients"))
from broker import Broker
from harness import packages

PAGES = ROOT / "docs/quickstart"
LANGUAGES = ("php", "ruby", "node", "perl", "python", "c", "go", "rust", "java")
PROGRAMS = {"beanstalk_put", "beanstalk_work", "gearman_submit", "gearman_work"}
FRAMEWORKS = {"laravel": "php", "symfony": "php", "rails": "ruby"}
FRAMEWORK_PROGRAMS = {"dispatch", "work"}
COMPILERS = {"go": (("go", "build"), "golang-go"), "rust": (("rustc", "--edition", "2021"), "rustc")}
SECONDS = 120
PROGRAM = re.compile(r"^`(\w+)\.(\w+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)


def write_programs(language: str, port: int, directory: Path) -> dict[str, list[str]]:
    """The programs of a page with the broker's port in them, as commands."""
    commands = {}
    for name, ending, text in PROGRAM.findall((PAGES / f"{language}.md").read_text()):
        wanted = "11300" if name.startswith("beanstalk") else "4730"
        if text.count(wanted) != 1:
            raise SystemExit(f"{language}: {name} does not name the port {wanted} once")
        source = directory / f"{name}.{ending}"
        source.write_text(text.replace(wanted, str(port)))
        commands[name] = command(language, source)
    if set(commands) != PROGRAMS:
        raise SystemExit(f"{language}: programs are {sorted(commands)}")
    return commands


def write_framework(page: str, port: int, directory: Path) -> dict[str, list[str]]:
    """The files of a framework's page with the broker's port in them, and the commands of those that are started."""
    files = {f"{name}.{ending}": text for name, ending, text in PROGRAM.findall((PAGES / f"{page}.md").read_text())}
    if sum(text.count("11300") for text in files.values()) != 1:
        raise SystemExit(f"{page}: the programs do not name the port 11300 once")
    for name, text in files.items():
        (directory / name).write_text(text.replace("11300", str(port)))
    commands = {Path(name).stem: command(FRAMEWORKS[page], directory / name) for name in files}
    return {name: commands[name] for name in FRAMEWORK_PROGRAMS}


def command(language: str, source: Path) -> list[str]:
    """What runs the program; it is compiled first, if need be."""
    binary = source.with_suffix("")
    if language == "c":
        return [str(packages.compile_c(source, source.parent))]
    if language in COMPILERS:
        compiler, package = COMPILERS[language]
        try:
            subprocess.run([*compiler, "-o", binary, source], check=True, timeout=SECONDS,
                           env={**os.environ, "GOCACHE": str(source.parent / "cache")})
        except FileNotFoundError:
            raise SystemExit(f"{compiler[0]} is missing: apt-get install {package}") from None
        return [str(binary)]
    return [{"python": sys.executable}.get(language, language), str(source)]


def environment(language: str) -> dict[str, str]:
    if language != "node":
        return dict(os.environ)
    return {**os.environ, "NODE_PATH": str(packages.npm_modules(packages.cache_directory())),
            "NODE_NO_WARNINGS": "1"}


class Page:
    def __init__(self, language: str) -> None:
        self.commands: dict[str, list[str]] = {}
        self.env = environment(language)
        self.started: list[subprocess.Popen[str]] = []

    def start(self, program: str) -> subprocess.Popen[str]:
        self.started.append(subprocess.Popen(
            self.commands[program], env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return self.started[-1]

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()

    def finish(self, process: subprocess.Popen[str], program: str) -> str:
        try:
            said, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SystemExit(f"{program} did not end: {process.communicate()}") from None
        if process.returncode != 0:
            raise SystemExit(f"{program} ended with {process.returncode}: {said}{errors}")
        return said

    def play(self, producer: str, worker: str) -> None:
        if producer != "gearman_submit":
            self.finish(self.start(producer), producer)
        working = self.start(worker)
        if producer == "gearman_submit":
            answer = self.finish(self.start(producer), producer)
            if answer.split() != ["HELLO"]:
                raise SystemExit(f"{producer} with {worker} printed: {answer}")
        said = self.finish(working, worker)
        if "HELLO" not in said.split():
            raise SystemExit(f"{worker} after {producer} printed: {said}")


def run(language: str, binary: str) -> None:
    with tempfile.TemporaryDirectory(prefix="quickstart-") as directory:
        if language in packages.PROBES:
            packages.require(language)
        page = Page(language)
        broker = Broker(binary)
        producers, workers = ("beanstalk_put", "gearman_submit"), ("beanstalk_work", "gearman_work")
        try:
            if language in FRAMEWORKS:
                producers, workers = ("dispatch",), ("work",)
                page.commands = write_framework(language, broker.port, Path(directory))
            else:
                page.commands = write_programs(language, broker.port, Path(directory))
            for producer in producers:
                for worker in workers:
                    page.play(producer, worker)
                    print(f"{language}: {producer} -> {worker}")
            jobs = sum(broker.metrics().values["gearstalkd_jobs"].values())
            if jobs != 0:
                raise SystemExit(f"{language}: {jobs} jobs are left")
        finally:
            page.end()
            broker.stop()


def main() -> None:
    binary, *languages = sys.argv[1:]
    for language in languages or (*LANGUAGES, *FRAMEWORKS):
        run(language, binary)


if __name__ == "__main__":
    main()
