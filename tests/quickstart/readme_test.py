#!/usr/bin/env python3
"""What README.md has the reader type works as it stands: readme_test.py BROKER GEARSTALKCTL.

On the default ports, in a network namespace of the test's own.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from launched import PATIENCE, Launched  # noqa: E402

BROKER, TOOL = sys.argv.pop(1), sys.argv.pop(1)


def blocks(title: str) -> list[str]:
    """The indented blocks of a section, as they would be typed."""
    section = (ROOT / "README.md").read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"(?:^    .*\n|(?<=\n)\n(?=    ))+", section, re.M)
    return [re.sub(r"^    ", "", block, flags=re.M).strip("\n") for block in found]


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "network namespaces need root and ip")
class Readme(unittest.TestCase):
    def setUp(self) -> None:
        self.data = self.enterContext(tempfile.TemporaryDirectory())
        alone = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
        self.broker = self.enterContext(Launched(
            BROKER, "--data-dir", self.data, "--admin", "127.0.0.1:11380", listen=(), before=alone))

    def run_shell(self, commands: str) -> str:
        return subprocess.run(
            ["nsenter", "--net", f"--target={self.broker.pid}", "sh", "-eu", "-c", commands],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=True,
            text=True).stdout

    def test_twenty_seconds(self) -> None:
        (block,) = blocks("Twenty seconds")
        steps = [step for step in re.split(r"^\$ ", block, flags=re.M) if step]
        self.assertEqual(len(steps), 4)
        self.assertTrue(steps[0].startswith("sudo apt-get install "))
        for step in steps[1:]:
            command, _, output = step.partition("\n")
            with self.subTest(command):
                self.assertEqual(self.run_shell(command).rstrip("\n"), output.rstrip("\n"))

    def test_five_minutes(self) -> None:
        answer, act = blocks("Five minutes")
        self.assertEqual(self.run_shell(answer + "\nwait").strip(), "HELLO")
        lines = act.splitlines()
        self.assertTrue(lines.pop(0).startswith("scripts/run "))
        said = self.run_shell("\n".join(lines).replace("build/gearstalkctl", TOOL))
        self.assertRegex(said, r"(?s)\b1 buried in 2 tubes\b.*\bmail\b.*to ann\n.*kicked 1\n")


if __name__ == "__main__":
    unittest.main()
