"""Transcript files: what is sent, where a reply is awaited, and which reply that should be."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from notation import NotationError

# Operations whose outcome is an observation, compared between servers.
_OBSERVING = ("<", "silent", "fence", "connect")

_STEP = re.compile(
    r"(?P<who>[a-z][\w$]*)(?P<op>>\?|>1|>|<\.|<\*|<\[[^\]]*\]|<| silent| fence| connect| half-close| close| reset)"
    r"(?: (?P<text>.*))?")
_CONTINUATION = re.compile(r"\s*\|(?: (.*))?")
_LOOP = re.compile(r"for (\w+) (\d+)\.\.(\d+)")


@dataclass
class Step:
    op: str
    who: str = ""
    text: str | None = None
    reply: int | None = None  # which observation of its case this is, from 1
    line: int = 0             # the line of the file it starts on
    last_line: int = 0


@dataclass
class Case:
    file: str
    name: str
    line: int
    real_args: list[str] = field(default_factory=list)
    our_args: list[str] = field(default_factory=list)
    config: list[tuple[str, str]] = field(default_factory=list)
    ends: bool = False  # our broker is to exit by itself
    steps: list[Step] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def advances(self) -> bool:
        return any(step.op == "advance" for step in self.steps)


class _Parser:
    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self.at = 0
        self.cases: list[Case] = []
        self.replies = 0

    def fail(self, what: str) -> NotationError:
        return NotationError(f"{self.file}:{self.at}: {what}")

    def next_line(self) -> str | None:
        """The next line that holds something, without indentation."""
        while self.at < len(self.lines):
            line = self.lines[self.at].strip()
            self.at += 1
            if line and not line.startswith("#"):
                return line
        return None

    def parse(self) -> list[Case]:
        while (line := self.next_line()) is not None:
            if line.startswith("== "):
                self.start_case(line[3:].strip())
            elif not self.cases:
                raise self.fail("text before the first case")
            elif line.startswith("-- "):
                self.option(line[3:])
            else:
                self.cases[-1].steps += self.step(line)
        return self.cases

    def start_case(self, name: str) -> None:
        if any(case.name == name for case in self.cases):
            raise self.fail(f"two cases are named '{name}'")
        self.cases.append(Case(self.file, name, self.at))
        self.replies = 0

    def option(self, text: str) -> None:
        case = self.cases[-1]
        kind, _, rest = text.partition(" ")
        if kind == "real":
            case.real_args += rest.split()
        elif kind == "ours":
            case.our_args += rest.split()
        elif kind == "ends":
            case.ends = True
        elif kind == "config":
            key, _, value = rest.partition(" ")
            case.config.append((key, value))
        else:
            raise self.fail(f"unknown option '{kind}'")

    def step(self, line: str) -> list[Step]:
        start = self.at
        if loop := _LOOP.fullmatch(line):
            return self.loop(loop)
        for word in ("advance", "signal"):
            if line.startswith(word + " "):
                return [Step(word, text=line[len(word) + 1:], line=start, last_line=start)]
        match = _STEP.fullmatch(line)
        if not match:
            raise self.fail(f"cannot read '{line}'")
        # A trailing blank belongs to nothing: replies end in \s where it matters.
        step = Step(match["op"].strip(), match["who"], match["text"], line=start)
        self.continue_text(step)
        step.last_line = self.at
        if step.op.startswith(_OBSERVING):
            self.replies += 1
            step.reply = self.replies
        return [step]

    def continue_text(self, step: Step) -> None:
        while self.at < len(self.lines):
            more = _CONTINUATION.fullmatch(self.lines[self.at].rstrip("\n"))
            if not more:
                return
            step.text = (step.text or "") + "\n" + (more[1] or "").rstrip(" ")
            self.at += 1

    def loop(self, loop: re.Match[str]) -> list[Step]:
        body: list[Step] = []
        while (line := self.next_line()) != "end":
            if line is None:
                raise self.fail("a loop without end")
            body += self.step(line)
        name, first, last = loop[1], int(loop[2]), int(loop[3])
        return [_with_value(step, name, value) for value in range(first, last + 1)
                for step in body]


def _with_value(step: Step, name: str, value: int) -> Step:
    text = step.text.replace(f"${name}", str(value)) if step.text is not None else None
    who = step.who.replace(f"${name}", str(value))
    return Step(step.op, who, text, step.reply, step.line, step.last_line)


def read(root: Path, path: Path) -> list[Case]:
    file = path.relative_to(root).as_posix()
    return _Parser(file, path.read_text(encoding="ascii").splitlines()).parse()


def record(path: Path, observed: dict[int, tuple[Step, str]]) -> None:
    """Writes observed replies into a transcript; `observed` maps first lines to their steps."""
    lines = path.read_text(encoding="ascii").splitlines()
    for number in sorted(observed, reverse=True):
        step, reply = observed[number]
        first = lines[number - 1]
        indent = first[:len(first) - len(first.lstrip())]
        head, *rest = reply.split("\n")
        glue = "" if step.op.startswith("<") else " "
        written = [f"{indent}{step.who}{glue}{step.op} {head}".rstrip()]
        written += [f"{indent} | {line}".rstrip() for line in rest]
        lines[number - 1:step.last_line] = written
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
