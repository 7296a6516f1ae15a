"""Runs a program that prints TAP and judges it."""

import re
import subprocess
from dataclasses import dataclass, field

RESULT = re.compile(r"^(not )?ok (\d+)\b(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")


@dataclass
class Outcome:
    checks: int = 0
    skipped: int = 0
    problems: list[str] = field(default_factory=list)
    output: str = ""


def run_program(command: list[str], env: dict[str, str], limit: float) -> Outcome:
    """Runs `command` for at most `limit` seconds."""
    outcome = Outcome()
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=limit, check=False)
        code, raw = done.returncode, done.stdout
        errors = done.stderr
    except subprocess.TimeoutExpired as expired:
        outcome.problems.append(f"no end after {limit:g} s")
        code, raw, errors = 0, expired.stdout or b"", expired.stderr or b""
    text = raw.decode(errors="replace")
    outcome.output = text + errors.decode(errors="replace")
    read_tap(text, outcome)
    if code < 0 or (code != 0 and not outcome.problems):
        outcome.problems.append(f"exit code {code}")
    return outcome


def read_tap(text: str, outcome: Outcome) -> None:
    planned = None
    for line in text.splitlines():
        if plan := PLAN.match(line):
            planned = int(plan.group(1))
        elif result := RESULT.match(line):
            outcome.checks += 1
            if int(result.group(2)) != outcome.checks:
                outcome.problems.append(f"check {outcome.checks} is numbered {result.group(2)}")
            if result.group(1):
                outcome.problems.append(line)
            elif "# skip" in result.group(3).lower():
                outcome.skipped += 1
    if planned is None:
        outcome.problems.append("ended before its plan line")
    elif planned != outcome.checks:
        outcome.problems.append(f"{planned} checks planned, {outcome.checks} made")
    elif planned == 0:
        outcome.problems.append("no checks at all")
