#!/usr/bin/env python3
"""scripts/packages, with a system that is not there: apt-get and its companions are shell scripts."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

COMMANDS = {
    # Nothing is installed; a package has a unit of its name.
    "dpkg-query": 'case "$1" in -W) exit 1;; esac; echo "/lib/systemd/system/$2.service"',
    "apt-get": 'echo "apt-get $*" >> "$LOG"; [ -x "$POLICY_RC_D" ] && "$POLICY_RC_D";'
               ' echo "policy $?" >> "$LOG"; case "$*" in *broken*) exit 100;; *slow*) kill -TERM "$PPID";; esac; exit 0',
    "systemctl": 'echo "systemctl $*" >> "$LOG"',
    "id": "echo 0",
}


class InstallMissing(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in COMMANDS.items():
            path = self.directory / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        self.log = self.directory / "log"
        self.policy = self.directory / "policy-rc.d"

    def install(self, *packages: str) -> int:
        environment = dict(os.environ, PATH=f"{self.directory}:{os.environ['PATH']}",
                           LOG=str(self.log), POLICY_RC_D=str(self.policy))
        return subprocess.run(["sh", "-eu", "-c", '. scripts/packages; install_missing "$@"', "sh",
                               *packages], cwd=ROOT, env=environment, timeout=120,
                              check=False).returncode

    def test_no_service_starts_and_none_is_left_enabled(self) -> None:
        self.assertEqual(self.install("beanstalkd"), 0)
        lines = self.log.read_text().splitlines()
        install = next(at for at, line in enumerate(lines) if " install " in line)
        self.assertEqual(lines[install + 1], "policy 101")
        self.assertEqual(lines[-1], "systemctl disable --quiet beanstalkd.service")
        self.assertFalse(self.policy.exists())

    def test_it_waits_for_the_lock_of_another(self) -> None:
        self.install("beanstalkd")
        for line in self.log.read_text().splitlines():
            if line.startswith("apt-get"):
                self.assertIn("-o DPkg::Lock::Timeout=300", line)

    def test_the_policy_of_the_machine_stays(self) -> None:
        self.policy.write_text("#!/bin/sh\nexit 101\n")
        self.policy.chmod(0o755)
        self.install("beanstalkd")
        self.assertTrue(self.policy.exists())

    def test_a_failure_is_told_and_leaves_no_policy(self) -> None:
        self.assertNotEqual(self.install("broken"), 0)
        self.assertFalse(self.policy.exists())

    def test_a_signal_leaves_no_policy(self) -> None:
        self.assertNotEqual(self.install("slow"), 0)
        self.assertFalse(self.policy.exists())


if __name__ == "__main__":
    unittest.main()
