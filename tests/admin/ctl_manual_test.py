#!/usr/bin/env python3
"""Each example of the manual, and terminals of all kinds: ctl_manual_test.py BROKER GEARSTALKCTL."""

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from api_client import Api
from broker import SECONDS, Broker, Client

CTL = sys.argv.pop(2)
BINARY = sys.argv.pop(1)
MANUAL = Path(__file__).resolve().parents[2] / "admin/packaging/gearstalkctl.1.scd"

SCHEDULES = 'schedules: [{name: nightly, tube: nights, cron: "0 3 * * *", body: x}]\n'
# They speak to the broker's port, and have tests of their own.
MOVING = ("import", "export", "backup", "restore", "transfers", "take-over", "hand-back", "bridge")


def examples() -> list[list[str]]:
    text = MANUAL.read_text().replace("\\_", "_")
    return [shlex.split(line)[1:] for line in re.findall(r"Example:\n\t(gearstalkctl .*)", text)]


class WithFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="ctl-")))
        config = self.folder / "config.yaml"
        config.write_text(SCHEDULES)
        self.broker = Broker(BINARY, "--config", str(config), "--console-rate", "0")
        self.api = Api(self.broker.admin)
        self.client = Client(self.broker.port)

    def tearDown(self) -> None:
        self.client.close()
        self.broker.stop()

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {**kept, "GEARSTALKCTL_SERVER": f"http://{self.broker.admin}", "HOME": str(self.folder),
                "LANG": "C.UTF-8", **more}


class Examples(WithFolder):
    def hold(self, job: int) -> None:
        """The client takes jobs until it has this one, and gives back the others."""
        self.client.say("watch mail")
        others = []
        while not (word := self.client.say("reserve-with-timeout 0")).startswith(f"RESERVED {job} "):
            others.append(int(word.split()[1]))
        for other in others:
            self.client.say(f"release {other} 0 0")

    def bury(self) -> None:
        for job in (17, 18):
            self.api.post(f"/jobs/{job}/bury")

    def operations(self) -> None:
        for _ in range(3):
            self.api.post("/operations", {"action": "delete", "filter": {"tube": "mail"}}, 201)

    def connections(self) -> None:
        self.extra = [Client(self.broker.port) for _ in range(7)]
        for client in self.extra:
            client.say("list-tube-used")

    def only_made(self) -> None:
        for job in range(1, 21):
            self.api.ask("DELETE", f"/jobs/{job}")
        self.api.post("/tubes", {"name": "mail"}, 201)

    def test_each_does_what_it_says(self) -> None:
        before: dict[str, Callable[[], object]] = {
            "kick-job": self.bury, "kick": self.bury, "peek": self.bury, "copy": self.bury,
            "clear": self.bury, "release": lambda: self.hold(17), "drop": self.only_made,
            "operation": self.operations, "disconnect": self.connections}
        left_out = 0
        for words in examples():
            if words[0] in MOVING:
                left_out += 1
                continue
            if words[0] == "bench":
                words += ["--broker", f"127.0.0.1:{self.broker.port}"]
            with self.subTest(" ".join(words)):
                for _ in range(20):
                    self.api.put_job("mail", '{"to": "ann"}')
                before.get(words[0], lambda: None)()
                done = subprocess.run([CTL, *words], env=self.environment(), capture_output=True,
                                      text=True, timeout=4 * SECONDS, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.tearDown()
            self.setUp()
        self.assertEqual(left_out, len(MOVING))

    def test_the_manual_says_what_help_says(self) -> None:
        def helped(*words: str) -> str:
            return subprocess.run([CTL, *words, "--help"], capture_output=True, text=True, check=True).stdout

        described = re.findall(r"^\*([a-z-]+)\*\n\t(.*)\. Example:\n\t(.*)",
                               MANUAL.read_text().replace("\\_", "_"), re.M)
        commands = re.findall(r"^  ([a-z-]+)", helped().split("Subcommands:")[1], re.M)
        self.assertEqual(commands, [name for name, _, _ in described])
        for name, summary, example in described:
            said = helped(name)
            lines = said.strip().splitlines()
            self.assertEqual((lines[0], lines[-1].strip()), (summary, example))


class Terminals(WithFolder):
    def run_on(self, term: str, columns: int, *words: str, keys: bytes = b"", seen: bytes = b"") -> tuple[int, str]:
        """What a command shows on a terminal; `keys` are typed when `seen` is there."""
        pid, descriptor = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 20, columns, 0, 0))
            os.execve(CTL, [CTL, *words], self.environment(**({"TERM": term} if term else {})))
        shown = b""
        deadline = time.monotonic() + 2 * SECONDS
        while time.monotonic() < deadline:
            if not select.select([descriptor], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(descriptor, 65536)
            except OSError:  # its end has gone
                break
            if not piece:
                break
            shown += piece
            if keys and seen in shown:
                os.write(descriptor, keys)
                keys = b""
        else:
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        os.close(descriptor)
        return os.waitstatus_to_exitcode(status), shown.decode(errors="replace")

    def setUp(self) -> None:
        super().setUp()
        for name in ("mail", "n" * 70, "\u6f22\u5b57" * 20, "evil\u202e\x1b[2J"):
            self.api.post("/tubes", {"name": name}, 201)
        self.api.put_job("mail")

    def test_top_on_a_screen(self) -> None:
        code, shown = self.run_on("xterm", 40, "top", "--interval", "30", keys=b"q", seen=b"evil")
        self.assertEqual(code, 0, shown)
        # What a narrow screen has no room for is left out, instead of going on in the next line.
        lines = re.sub(r"\x1b\[\d*(;1)?H|\x1b\[\d*d|\r", "\n", shown)
        lines = re.sub(r"\x1b(\[[^a-zA-Z]*[a-zA-Z]|\(B|=|>)", " ", lines)
        self.assertNotIn("DELAYED", lines)
        self.assertIn("nnnnnnn\u2026", lines)
        self.assertNotIn("n" * 30, lines)
        self.assertNotIn("\u202e", lines)

    def test_top_where_there_is_no_screen(self) -> None:
        for term in ("dumb", "nonsense", ""):
            code, shown = self.run_on(term, 40, "top")
            self.assertEqual((code, shown.count("TUBE")), (0, 1), (term, shown))
            self.assertNotIn("\x1b", shown)

    def test_bodies_do_not_reach_a_terminal_raw(self) -> None:
        job = self.api.put_job("mail", "a\x1b[2J\u202eb")
        code, shown = self.run_on("xterm", 80, "peek", str(job), "--raw")
        self.assertEqual(code, 2, shown)
        self.assertNotIn("\x1b", shown)
        for words in (("peek", str(job)), ("jobs", "mail", "--preview"), ("tubes",), ("audit",)):
            code, shown = self.run_on("xterm", 80, *words)
            self.assertEqual(code, 0, shown)
            self.assertNotIn("\x1b", shown)
            self.assertNotIn("\u202e", shown)
        self.assertIn("\x1b", self.run_on("xterm", 80, "peek", str(job), "--raw", "--yes")[1])

    def test_a_number_is_asked_for(self) -> None:
        ask = ("clear", "mail")
        self.assertEqual(self.run_on("xterm", 80, *ask, keys=b"\x03", seen=b"number")[0], 6)
        self.assertEqual(self.run_on("xterm", 80, *ask, keys=b"2\n", seen=b"number")[0], 6)
        self.assertEqual(self.run_on("xterm", 80, *ask, keys=b"1\n", seen=b"number")[0], 0)
        code, shown = self.run_on("xterm", 80, *ask)
        self.assertEqual((code, "number" in shown), (0, False), shown)

    def test_a_reader_that_goes_away(self) -> None:
        for words in (["jobs"], ["tubes"], ["--json", "tubes"], ["events"], ["history"]):
            tool = subprocess.Popen([CTL, *words], env=self.environment(), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
            tool.stdout.close()
            self.assertIn(tool.wait(2 * SECONDS), (0, -signal.SIGPIPE))
            self.assertEqual(tool.stderr.read(), b"")
            tool.stderr.close()

    def test_what_was_refused_is_said(self) -> None:
        self.api.ask("PUT", "/tubes/full/maxqueue", {"all": 0})
        self.api.ask("PUT", "/tubes/full/maxqueue", {"all": 1})
        self.api.put_job("full")
        code, shown = self.run_on("xterm", 80, "copy", "--tube", "mail", "--to", "full", "--yes")
        self.assertEqual(code, 1, shown)
        self.assertIn("(maxqueue)", shown)


if __name__ == "__main__":
    unittest.main()
