#!/usr/bin/env python3
"""What names the version names that of CMakeLists.txt, and has words for it."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

BROKER, TOOL = sys.argv.pop(1), sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(gearstalkd VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
NAMED = {
    "README.md": r"^Version ([\d.]+),",
    "Dockerfile": r"^ARG VERSION=(.*)$",
    "admin/packaging/kubernetes/broker/kustomization.yaml": r'newTag: "(.*)"',
    "docs/gearstalkctl.md": r"^    vm (\S+), ready",
    "docs/upgrade.md": r"^## \S+ to (\S+)$",
    "CHANGELOG.md": r"^## \[(\d.*)\]$",
}


class Version(unittest.TestCase):
    def test_it_is_the_same_everywhere(self) -> None:
        for name, pattern in NAMED.items():
            with self.subTest(name):
                self.assertEqual(re.search(pattern, (ROOT / name).read_text(), re.M)[1], VERSION)

    def test_the_programs_say_it(self) -> None:
        for program, name in ((BROKER, "gearstalkd"), (TOOL, "gearstalkctl")):
            done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=600, check=True)
            self.assertEqual(done.stdout.splitlines()[0], f"{name} {VERSION}")

    def test_the_newest_changes_have_words(self) -> None:
        """scripts/release makes the text of the tag of them."""
        section = re.search(rf"^## \[{re.escape(VERSION)}\]\n(.*?)^## \[", (ROOT / "CHANGELOG.md").read_text(), re.M | re.S)[1]
        self.assertIn("(docs/upgrade.md)", section)
        self.assertIn("### Added", section)

    def test_a_tool_breaks_no_broker_of_its_own_version(self) -> None:
        control = (ROOT / "admin/packaging/debian/control").read_text()
        bounds = re.findall(r"gearstalkd \(<< ([\d.]+)\)", control)
        self.assertEqual(len(bounds), 2)
        for bound in bounds:
            done = subprocess.run(["dpkg", "--compare-versions", VERSION, "ge", bound], timeout=600, check=False)
            self.assertEqual(done.returncode, 0, bound)


if __name__ == "__main__":
    unittest.main()
