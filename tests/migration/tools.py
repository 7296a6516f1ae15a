"""A broker, the tool, and the fixtures."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import (PATIENCE, Launched, NotReady, Process, eventually,  # noqa: E402, F401
                      free_port)

BROKER, CTL = sys.argv[1:3]
FIXTURES = Path(__file__).resolve().parent / "fixtures"
LOGS = ("binlog-v5", "binlog-v5-v7", "binlog-v7-states", "binlog-v7-files", "binlog-v7-restarts",
        "binlog-v7-limit", "binlog-v7-torn-1", "binlog-v7-torn-3")
DAMAGED = ("binlog-v7-damaged", "binlog-v7-cut")


class Folder:
    """A directory of its own."""

    def __enter__(self) -> Path:
        self.path = tempfile.mkdtemp(prefix="migration-")
        return Path(self.path)

    def __exit__(self, *unused: object) -> None:
        shutil.rmtree(self.path)


class Broker(Launched):
    """A broker at `address`, or one that has ended with `code`."""

    def __init__(self, *options: object) -> None:
        super().__init__(BROKER, *options)
        try:
            self.wait_ready()
            self.address = self.addresses[0]
        except NotReady:
            self.code = self.wait()

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()


def ctl(*words: object, code: int = 0) -> str:
    done = subprocess.run([CTL, *map(str, words)], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == code, f"exit {done.returncode}: {words}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Tool(Process):
    """A command that runs on until it is stopped, or the test is over."""

    def __init__(self, *words: object) -> None:
        super().__init__([CTL, *words])


def copy(name: str, to: Path) -> Path:
    """The log of a fixture in a directory that may change."""
    to.mkdir(exist_ok=True)
    for file in (FIXTURES / name).glob("binlog.*"):
        shutil.copy(file, to)
    return to


def expected(name: str) -> dict:
    return json.loads((FIXTURES / name / "expected.json").read_text())


def exported(*target: object) -> list[str]:
    return ctl("export", *target).splitlines()


def jobs(lines: list[str]) -> list[dict]:
    return [each for each in map(json.loads, lines) if "job" in each]


def until_moved(broker: Broker, count: int) -> None:
    eventually(f"{count} jobs moved", lambda: len(jobs(exported("--from", broker.address))) == count)


def without_ids(many: list[dict]) -> list[dict]:
    """What an import of a store has to bring, in any order."""
    names = ("tube", "unique", "unique_is_body", "body", "body_base64", "priority", "state", "due_ns")
    plain = [{name: job[name] for name in names if name in job and job[name] != ""}
             for job in many]
    return sorted(plain, key=lambda job: json.dumps(job, sort_keys=True))
