#!/usr/bin/env python3
"""What is made from the tables of options and of policy keys is as in them: generated_test.py BROKER DOCUMENTS."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BROKER, DOCUMENTS = (sys.argv.pop(1), sys.argv.pop(1)) if len(sys.argv) > 2 else ("build/gearstalkd", "build/documents")
ROOT = Path(__file__).resolve().parents[2]
YAML = ROOT / "admin/packaging/gearstalkd.yaml"
PAGE = ROOT / "docs/configuration.md"
POLICIES = ROOT / "docs/policies.md"


def printed(form: str) -> str:
    return subprocess.run([DOCUMENTS, form], check=True, capture_output=True,
                          text=True, timeout=120).stdout


class Generated(unittest.TestCase):
    maxDiff = None
    message = "run scripts/generate"

    def test_yaml_file(self) -> None:
        self.assertEqual(YAML.read_text(), printed("yaml"), self.message)

    def test_pages(self) -> None:
        for page, marks, form in ((PAGE, "options", "markdown"), (POLICIES, "keys", "policies")):
            begin, end = f"<!-- {marks} -->\n\n", f"<!-- end of {marks} -->"
            part = page.read_text().partition(begin)[2].partition(end)[0]
            self.assertEqual(part, printed(form), self.message)


class Shipped(unittest.TestCase):
    def check(self, path: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([BROKER, "--config", str(path), "--check-config"],
                              capture_output=True, text=True, timeout=120, check=False)

    def test_shipped_file_is_good(self) -> None:
        done = self.check(YAML)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_examples_are_good(self) -> None:
        """What is commented out is good as it stands there, but for what this machine lacks."""
        lines = [re.sub(r"^( *)#(?=\w|  - )", r"\1", line) if "/etc/" not in line else line
                 for line in YAML.read_text().splitlines()]
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "all.yaml")
            path.write_text("\n".join(lines) + "\n")
            done = self.check(path)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r": (user|data_dir|pid_file|rights): |: sync has no meaning|: console.users: .*gearstalkctl token")


if __name__ == "__main__":
    unittest.main()
