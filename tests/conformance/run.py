#!/usr/bin/env python3
"""Plays transcripts on the real servers and on gearstalkd and compares their replies."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import differences
import transcript
from differences import Differences
from notation import NotationError
from play import Player
from servers import Server, ServerError, find_real, start_ours, start_real
from transcript import Case, Step

ROOT = Path(__file__).resolve().parent
# Which real server a folder's transcripts are for; our broker alone plays the others.
REAL_SERVERS = {"beanstalk": "beanstalkd", "gearman": "gearmand", "admin": "gearmand"}
RUNNING = "(running)"


@dataclass
class Play:
    """What one server answered, step by step, and how it fared."""
    seen: list[tuple[Step, str]]
    fate: str


@dataclass
class Outcome:
    case: Case
    real: Play | None = None
    ours: Play | None = None
    problems: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)  # new differences, as in differences.txt


def real_server(case: Case) -> str | None:
    return REAL_SERVERS.get(case.file.split("/", 1)[0])


def written_replies(case: Case) -> list[str | None]:
    return [step.text for step in case.steps if step.reply is not None]


def play_on_real(case: Case, expected: list[str | None], clocks: Path) -> Play:
    kind = real_server(case)
    assert kind
    server = start_real(kind, case.real_args, clocks if case.advances else None)
    try:
        seen = Player(server, expected).play(case)
        return Play(seen, server.fate())
    finally:
        server.kill()


def play_on_ours(case: Case, binary: str, expected: list[str | None], clocks: Path) -> Play:
    server = start_ours(binary, case.our_args, case.config, clocks if case.advances else None)
    seen: list[tuple[Step, str]] = []
    try:
        seen = Player(server, expected).play(case)
        fate = server.wait_exit() if case.ends else server.fate()
    finally:
        ended = server.terminate()
    if fate == RUNNING and ended != "(exit 0)":
        fate = f"(at SIGTERM:) {ended}"
    return Play(seen, fate)


def place(case: Case, step: Step) -> str:
    return f"{case.file}:{step.line} '{case.name}' reply {step.reply} ({step.who})"


def describe(what: str, text: str) -> str:
    return f"    {what}: " + text.replace("\n", "\n" + " " * (len(what) + 4) + "| ")


def draft(word: str, text: str) -> str:
    return f"  {word} " + text.replace("\n", "\n   | ")


def compare(outcome: Outcome, listed: Differences, self_check: bool) -> None:
    """Notes every way in which the case went wrong."""
    case = outcome.case
    for step, seen in outcome.real.seen if outcome.real else []:
        want = written_reply(step)
        if want not in (None, seen):
            outcome.problems.append("\n".join([
                f"{place(case, step)}: the real server answers otherwise than written",
                describe("written", want or ""), describe("   real", seen)]))
    check_listed(outcome, listed)
    if outcome.ours:
        compare_ours(outcome, listed, self_check)


def written_reply(step: Step) -> str | None:
    """A fence without a reply lets nothing pass."""
    return "" if step.text is None and step.op == "fence" else step.text


def check_listed(outcome: Outcome, listed: Differences) -> None:
    """Notes where the list of differences tells another reply of the real server."""
    case = outcome.case
    for step, seen in outcome.real.seen if outcome.real else []:
        entry = listed.entries.get((case.key, step.reply or 0))
        if entry:
            entry.seen = True
        if entry and entry.real != seen:
            outcome.problems.append("\n".join([
                f"{place(case, step)}: differences.txt tells another real reply",
                describe("listed", entry.real), describe("  real", seen)]))


def compare_ours(outcome: Outcome, listed: Differences, self_check: bool) -> None:
    case = outcome.case
    assert outcome.ours
    for index, (step, seen) in enumerate(outcome.ours.seen):
        real = outcome.real.seen[index][1] if outcome.real else None
        if real is None:
            want = written_reply(step)
            if want is None:
                outcome.problems.append(f"{place(case, step)}: no reply is written here")
                continue
        else:
            want = real if self_check else listed.ours(case, step.reply or 0, real)
        if seen != want:
            outcome.drafts.append(
                f"== {case.key}\n{draft('reply', str(step.reply))}\n"
                f"{draft('real:', real or '')}\n{draft('ours:', seen)}")
            lines = [f"{place(case, step)}: another reply", describe("want", want),
                     describe("ours", seen)]
            if real is not None and real != want:
                lines.append(describe("real", real))
            outcome.problems.append("\n".join(lines))
    fate = outcome.ours.fate
    if fate != ("(exit 0)" if case.ends else RUNNING) and not self_check:
        outcome.problems.append(f"{case.file}:{case.line} '{case.name}': our broker {fate}")


class Runner:
    def __init__(self, options: argparse.Namespace, listed: Differences) -> None:
        self._options = options
        self._listed = listed

    def run(self, case: Case) -> Outcome:
        outcome = Outcome(case)
        try:
            self._play(outcome)
        except ServerError as error:
            outcome.problems.append(f"{case.file}:{case.line} '{case.name}': {error}")
        return outcome

    def _play(self, outcome: Outcome) -> None:
        case = outcome.case
        written = written_replies(case)
        if real_server(case):
            outcome.real = play_on_real(case, written, self._options.clocks)
        if self._options.self_check:
            if real_server(case):
                outcome.ours = play_on_real(case, written, self._options.clocks)
        elif self._options.broker:
            expected = [self._listed.ours(case, step.reply or 0, seen)
                        for step, seen in outcome.real.seen] if outcome.real else written
            outcome.ours = play_on_ours(case, self._options.broker, expected,
                                        self._options.clocks)
        compare(outcome, self._listed, self._options.self_check)


def collect(paths: list[str], name: str | None) -> list[Case]:
    files: list[Path] = []
    for path in (ROOT / path for path in paths):
        files += sorted(path.glob("*.txt")) if path.is_dir() else [path]
    cases = [case for file in files for case in transcript.read(ROOT, file)]
    return [case for case in cases if name is None or name in case.name]


def show(play: Play, case: Case) -> None:
    print(f"== {case.file}: {case.name}")
    seen = iter(play.seen)
    for step in case.steps:
        text = next(seen)[1] if step.reply is not None else (step.text or "")
        head = f"{step.who} {step.op}" if step.who else step.op
        print(f"  {head} " + text.replace("\n", "\n   | "))
    if play.fate != RUNNING:
        print(f"  the server: {play.fate}")


def record(outcomes: list[Outcome]) -> None:
    """Writes the replies of the real servers into the transcripts."""
    files: dict[str, dict[int, list[tuple[Step, str]]]] = {}
    for outcome in outcomes:
        for step, seen in outcome.real.seen if outcome.real else []:
            files.setdefault(outcome.case.file, {}).setdefault(step.line, []).append((step, seen))
    for file, lines in files.items():
        for line, seen in list(lines.items()):
            if len({reply for _, reply in seen}) > 1:
                del lines[line]
                if any(step.text != reply for step, reply in seen):
                    print(f"{file}:{line}: the replies in this loop differ, write them by hand")
        transcript.record(ROOT / file, {line: seen[0] for line, seen in lines.items()})


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=[*REAL_SERVERS, "ours"],
                        help="folders or files of transcripts, relative to this one")
    parser.add_argument("--broker", help="the gearstalkd binary")
    parser.add_argument("--clocks", type=Path, default=ROOT / "../../build/tests/support/libclocks.so",
                        help="the library that advances a server's clocks")
    parser.add_argument("-k", "--name", help="only cases with this text in their name")
    parser.add_argument("-j", "--jobs", type=int, default=12, help="cases played at a time")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--show", action="store_true", help="print the dialogues")
    mode.add_argument("--record", action="store_true",
                      help="write the real servers' replies into the transcripts")
    mode.add_argument("--draft", action="store_true",
                      help="print new differences in the form of differences.txt")
    mode.add_argument("--self-check", action="store_true",
                      help="compare the real servers with themselves")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    opts = options(arguments)
    try:
        cases = collect(opts.paths, opts.name)
        listed = differences.read(ROOT / "differences.txt")
        for kind in {kind for case in cases if (kind := real_server(case))}:
            find_real(kind)
    except (NotationError, ServerError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    runner = Runner(opts, listed)
    with ThreadPoolExecutor(opts.jobs) as pool:
        outcomes = list(pool.map(runner.run, cases))
    return finish(opts, outcomes, listed)


def finish(opts: argparse.Namespace, outcomes: list[Outcome], listed: Differences) -> int:
    if opts.record:
        record(outcomes)
    if opts.draft:
        print("\n\n".join(text for outcome in outcomes for text in outcome.drafts))
    if opts.show:
        for outcome in outcomes:
            if play := outcome.ours or outcome.real:
                show(play, outcome.case)
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    if opts.broker:
        folders = set() if opts.name else {Path(path).as_posix() for path in opts.paths}
        stale = listed.stale({outcome.case.key for outcome in outcomes}, folders)
        problems += [f"differences.txt, {line}" for line in stale]
    if not opts.record:
        print("\n".join(problems), end="\n" if problems else "")
    played = sum(1 for outcome in outcomes if outcome.real or outcome.ours)
    failed = sum(1 for outcome in outcomes if outcome.problems)
    print(f"{played} cases played, {failed} failed, {len(listed.entries)} differences listed")
    return 1 if problems and not opts.record else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
