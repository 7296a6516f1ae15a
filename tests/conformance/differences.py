"""The list of intended differences from the real servers, and whether each still occurs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from notation import NotationError
from transcript import Case


@dataclass
class Difference:
    """One reply of one case that is meant to differ."""
    case_key: str
    reply: int
    line: int
    real: str = ""
    ours: str = ""
    why: str = ""
    seen: bool = False


@dataclass
class Rule:
    """A way in which replies of a kind are meant to differ, applied line by line."""
    name: str
    line: int
    folder: str = ""
    pattern: str = ""
    ours: str = ""
    why: str = ""
    uses: int = 0

    def apply(self, file: str, reply: str) -> str:
        if not file.startswith(self.folder):
            return reply
        changed, count = re.subn(self.pattern, self.ours, reply, flags=re.MULTILINE)
        self.uses += count
        return changed


@dataclass
class Differences:
    entries: dict[tuple[str, int], Difference] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)

    def ours(self, case: Case, reply: int, real: str) -> str:
        """What our broker should answer where the real server answered `real`."""
        entry = self.entries.get((case.key, reply))
        if entry:
            entry.seen = True
            return entry.ours if real == entry.real else f"(listed as a difference from:)\n{entry.real}"
        for rule in self.rules:
            real = rule.apply(case.file, real)
        return real

    def stale(self, played: set[str], folders: set[str]) -> list[str]:
        """Listed differences that did not occur, among what was played in whole."""
        out = [f"line {entry.line}: {entry.case_key}, reply {entry.reply} was not found"
               for entry in self.entries.values()
               if not entry.seen and (entry.case_key in played or _folder(entry.case_key) in folders)]
        out += [f"line {rule.line}: rule '{rule.name}' had no effect" for rule in self.rules
                if not rule.uses and _folder(rule.folder) in folders]
        return out


def _folder(key: str) -> str:
    return key.split("/", 1)[0]


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.out = Differences()
        self.case_key = ""
        self.why = ""
        self.current: Difference | Rule | None = None
        self.attribute = ""

    def fail(self, number: int, what: str) -> NotationError:
        return NotationError(f"{self.path.name}:{number}: {what}")

    def read(self) -> Differences:
        for number, raw in enumerate(self.path.read_text(encoding="ascii").splitlines(), 1):
            line = raw.strip()
            if line and not line.startswith("#"):
                self.line(number, line, raw)
        for entry in self.out.entries.values():
            if entry.real == entry.ours or not entry.why:
                raise self.fail(entry.line, "no difference, or no reason for it")
        return self.out

    def line(self, number: int, line: str, raw: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "==":
            self.case_key, self.current, self.why = rest, None, ""
        elif word == "rule":
            self.current = Rule(rest, number)
            self.out.rules.append(self.current)
        elif word == "reply":
            self.current = Difference(self.case_key, int(rest), number, why=self.why)
            self.out.entries[(self.case_key, int(rest))] = self.current
        elif word == "why:" and not isinstance(self.current, Rule):
            self.why = rest
            if self.current:
                self.current.why = rest
        elif word in ("in:", "real:", "ours:", "why:"):
            self.attribute = {"in:": "folder"}.get(word, word[:-1])
            if isinstance(self.current, Rule) and self.attribute == "real":
                self.attribute = "pattern"
            setattr(self.current, self.attribute, rest)
        elif word == "|":
            setattr(self.current, self.attribute,
                    getattr(self.current, self.attribute) + "\n" + raw.strip()[2:])
        else:
            raise self.fail(number, f"cannot read '{line}'")


def read(path: Path) -> Differences:
    return _Reader(path).read()
