#!/usr/bin/env python3
"""The runner of the transcripts notices what it is for."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import differences
import notation
import transcript
from normal import JobNumbers, Normaliser
from run import RUNNING, Outcome, Play, compare
from transcript import Case


def parse(text: str) -> list[Case]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "file.txt")
        path.write_text(text)
        return transcript.read(Path(directory), path)


def read_differences(text: str) -> differences.Differences:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "differences.txt")
        path.write_text(text)
        return differences.read(path)


def play(case: Case, *replies: str) -> Play:
    steps = [step for step in case.steps if step.reply is not None]
    return Play(list(zip(steps, replies, strict=True)), RUNNING)


class Notation(unittest.TestCase):
    def test_every_byte_comes_back(self) -> None:
        data = bytes(range(256)) + b"#1 {x} \\" + b"y" * 50 + b" "
        self.assertEqual(notation.unescape(notation.escape(data))[0], data)

    def test_a_line_ends_in_crlf_unless_it_says_otherwise(self) -> None:
        self.assertEqual(notation.message_bytes("a\nb\\n\nc\\c"), b"a\r\nb\nc")
        for text in ("a\r\nb\nc", "\r\n", "\n", "OK\\n\r\n"):
            data = text.encode()
            self.assertEqual(notation.message_bytes(notation.render_text(data)), data)

    def test_packets(self) -> None:
        self.assertEqual(notation.message_bytes("{ECHO_REQ a\\0b}"),
                         b"\0REQ\0\0\0\x10\0\0\0\x03a\0b")
        self.assertEqual(notation.message_bytes("{!0x80000000:4294967295 a}"),
                         b"\0RES\x80\0\0\0\xff\xff\xff\xffa")
        self.assertEqual(notation.render_packet(b"\0RES", 17, b"a\0"), "{ECHO_RES a\\0}")

    def test_repetitions(self) -> None:
        self.assertEqual(notation.message_bytes("\\(ab\\r\\n*3)\\c"), b"ab\r\nab\r\nab\r\n")

    def test_unknown_escapes_are_refused(self) -> None:
        with self.assertRaises(notation.NotationError):
            notation.message_bytes("\\q")


class Transcripts(unittest.TestCase):
    def test_steps_and_replies_are_numbered(self) -> None:
        case = parse("== one\n a> x\n  | y\n a<\n b silent\n advance 1\n a<[k] k 1\n")[0]
        self.assertEqual([step.op for step in case.steps], [">", "<", "silent", "advance", "<[k]"])
        self.assertEqual([step.reply for step in case.steps], [None, 1, 2, None, 3])
        self.assertEqual(case.steps[0].text, "x\ny")

    def test_loops(self) -> None:
        case = parse("== one\n for I 1..3\n a$I> x $I\n a$I< $I\n end\n")[0]
        self.assertEqual([(step.who, step.text) for step in case.steps if step.op == ">"],
                         [("a1", "x 1"), ("a2", "x 2"), ("a3", "x 3")])
        self.assertEqual({step.reply for step in case.steps if step.op == "<"}, {1})

    def test_what_cannot_be_read_is_refused(self) -> None:
        for text in ("a> x\n", "== one\n a ~ b\n", "== one\n== one\n", "== a\n for I 1..2\n"):
            with self.assertRaises(notation.NotationError):
                parse(text)

    def test_recording_writes_replies(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "file.txt")
            path.write_text("== one\n  a> x\n  a<\n  a> y\n  a< old\n   | text\n  a close\n")
            steps = transcript.read(Path(directory), path)[0].steps
            transcript.record(path, {3: (steps[1], "first\nsecond"), 5: (steps[3], "new")})
            self.assertEqual(path.read_text(), "== one\n  a> x\n  a< first\n   | second\n"
                                               "  a> y\n  a< new\n  a close\n")


class Normalising(unittest.TestCase):
    def setUp(self) -> None:
        self.jobs = JobNumbers()
        self.normal = Normaliser(self.jobs, 4711)

    def test_jobs_are_numbered_as_they_appear(self) -> None:
        self.assertEqual(self.normal.reply("INSERTED 70"), "INSERTED #1")
        self.assertEqual(self.normal.reply("{JOB_CREATED H:conf:9}"), "{JOB_CREATED H#2}")
        self.assertEqual(self.normal.reply("FOUND 70 1\nx"), "FOUND #1 1\nx")
        self.assertEqual(self.jobs.resolve(2, True), b"H:conf:9")
        self.assertEqual(self.jobs.resolve(1, False), b"70")

    def test_what_runs_with_the_clock_is_held_to_its_limit(self) -> None:
        text = "OK 99\n---\\n\nstate: reserved\\n\nttr: 60\\n\ntime-left: {}\\n\n"
        self.assertIn("time-left: <up to ttr>", self.normal.reply(text.format(59)))
        self.assertIn("time-left: 61", self.normal.reply(text.format(61)))
        self.assertIn("time-left: 3", self.normal.reply(text.format(3)))

    def test_a_pid_is_the_pid_of_the_server(self) -> None:
        self.assertEqual(self.normal.reply("OK 4711\\n"), "OK <pid>\\n")
        self.assertEqual(self.normal.reply("OK 4712\\n"), "OK 4712\\n")

    def test_tables_have_no_order_but_an_end(self) -> None:
        self.assertEqual(self.normal.table("b\\n\na\\n\n.\\n"), "a\\n\nb\\n\n.\\n")
        self.assertEqual(self.normal.table("b\\n\n.\\n\na\\n"), ".\\n\nb\\n\na\\n")


class Comparing(unittest.TestCase):
    def setUp(self) -> None:
        self.case = parse("== one\n a> x\n a< A\n a<\n")[0]

    def problems(self, real: tuple[str, str], ours: tuple[str, str], listed: str = "") -> list[str]:
        outcome = Outcome(self.case, play(self.case, *real), play(self.case, *ours))
        self.listed = read_differences(listed)
        compare(outcome, self.listed, self_check=False)
        return outcome.problems

    LISTED = "== file.txt: one\n  why: better\n  reply 2\n  real: B\n  ours: C\n"

    def test_equal_replies_pass(self) -> None:
        self.assertEqual(self.problems(("A", "B"), ("A", "B")), [])

    def test_another_reply_fails(self) -> None:
        self.assertEqual(len(self.problems(("A", "B"), ("A", "C"))), 1)

    def test_another_reply_of_the_real_server_than_written_fails(self) -> None:
        self.assertEqual(len(self.problems(("X", "B"), ("X", "B"))), 1)

    def test_a_listed_difference_passes(self) -> None:
        self.assertEqual(self.problems(("A", "B"), ("A", "C"), self.LISTED), [])
        self.assertEqual(self.listed.stale({"file.txt: one"}, set()), [])

    def test_a_listed_difference_that_is_gone_fails(self) -> None:
        self.assertEqual(len(self.problems(("A", "B"), ("A", "B"), self.LISTED)), 1)

    def test_a_third_reply_fails(self) -> None:
        self.assertEqual(len(self.problems(("A", "B"), ("A", "D"), self.LISTED)), 1)

    def test_a_listed_difference_without_its_case_fails(self) -> None:
        self.problems(("A", "B"), ("A", "B"), self.LISTED.replace("reply 2", "reply 7"))
        self.assertEqual(len(self.listed.stale({"file.txt: one"}, set())), 1)

    def test_a_rule_changes_what_is_wanted(self) -> None:
        rule = "rule r\n  in: file\n  real: B\n  ours: C\n  why: better\n"
        self.assertEqual(self.problems(("A", "B"), ("A", "C"), rule), [])
        self.assertEqual(len(self.problems(("A", "B"), ("A", "B"), rule)), 1)

    def test_a_difference_needs_a_reason(self) -> None:
        with self.assertRaises(notation.NotationError):
            read_differences(self.LISTED.replace("  why: better\n", ""))

    def test_a_broker_that_dies_fails(self) -> None:
        outcome = Outcome(self.case, None, play(self.case, "A", "B"))
        outcome.ours = Play(outcome.ours.seen[:1], "(killed by SIGSEGV)")  # type: ignore[union-attr]
        compare(outcome, read_differences(""), self_check=False)
        self.assertEqual(len(outcome.problems), 1)


if __name__ == "__main__":
    unittest.main()
