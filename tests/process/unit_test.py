#!/usr/bin/env python3
"""The unit files of the service manager: unit_test.py BROKER."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from broker import BROKER, PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "admin/packaging"
UNITS = ("gearstalkd.service", "gearstalkd.socket")


def value(text: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")]


class Units(unittest.TestCase):
    def setUp(self) -> None:
        self.service = (PACKAGING / UNITS[0]).read_text()

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not here")
    def test_verified(self) -> None:
        self.assertEqual(self.verify({}), (0, ""))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not here")
    def test_drop_ins_of_the_manual(self) -> None:
        recipes = re.findall(r"```ini\n(.*?)```", (ROOT / "docs/operations.md").read_text(), re.S)
        self.assertEqual(len(recipes), 4)
        for recipe in recipes[:2]:
            self.assertEqual(self.verify({"gearstalkd.service.d/recipe.conf": recipe}), (0, ""))
        misspelt = recipes[0].replace("ReadWritePaths", "ReadWritePath")
        self.assertIn("ReadWritePath", self.verify({"gearstalkd.service.d/recipe.conf": misspelt})[1])
        backup = {"gearstalkd-backup.service": recipes[2], "gearstalkd-backup.timer": recipes[3]}
        self.assertEqual(self.verify(backup), (0, ""))
        misspelt = recipes[3].replace("OnCalendar", "OnCalender")
        self.assertIn("OnCalender", self.verify({**backup, "gearstalkd-backup.timer": misspelt})[1])

    @staticmethod
    def verify(more: dict[str, str]) -> tuple[int, str]:
        """Verifies the units and `more` files: the exit code, and what systemd says of them."""
        with tempfile.TemporaryDirectory() as directory:
            for name, text in more.items():
                Path(directory, name).parent.mkdir(exist_ok=True)
                Path(directory, name).write_text(text)
            for name in UNITS:
                text = (PACKAGING / name).read_text()
                # The paths of the package are not there yet; manual pages, too.
                text = text.replace("/usr/sbin/gearstalkd", str(Path(BROKER).resolve()))
                text = "\n".join(line for line in text.splitlines()
                                 if not line.startswith("Documentation="))
                Path(directory, name).write_text(text + "\n")
            done = subprocess.run(
                ["systemd-analyze", "verify", "--recursive-errors=no", *UNITS,
                 *(name for name in more if "/" not in name)], cwd=directory,
                capture_output=True, text=True, timeout=PATIENCE, check=False)
        said = "\n".join(line for line in (done.stdout + done.stderr).splitlines()
                         if "gearstalkd" in line)
        return done.returncode, said

    def test_hardened(self) -> None:
        for key, wanted in (("CapabilityBoundingSet", ""), ("NoNewPrivileges", "yes"),
                            ("ProtectSystem", "strict"), ("StateDirectory", "gearstalkd"),
                            ("User", "gearstalkd"), ("Type", "notify")):
            self.assertEqual(value(self.service, key), [wanted])
        self.assertIn("@system-service", value(self.service, "SystemCallFilter"))
        self.assertTrue(value(self.service, "WatchdogSec"))

    def test_the_configuration_is_what_the_file_says(self) -> None:
        command = "/usr/sbin/gearstalkd --config /etc/gearstalkd/gearstalkd.yaml"
        self.assertEqual(value(self.service, "ExecStart"), [command])
        # /bin/kill is in a package that a small system lacks.
        self.assertEqual(value(self.service, "ExecReload"),
                         [f"{command} --check-config", '/bin/sh -c "kill -HUP $MAINPID"'])

    @unittest.skipUnless(shutil.which("systemctl"), "systemd is not here")
    def test_the_socket_unit_starts_with_the_service_once_it_is_enabled(self) -> None:
        """Else the service would bind the addresses itself, and the socket unit could not start."""
        with tempfile.TemporaryDirectory() as directory:
            units = Path(directory, "usr/lib/systemd/system")
            units.mkdir(parents=True)
            for name in UNITS:
                shutil.copy(PACKAGING / name, units)
            subprocess.run(["systemctl", f"--root={directory}", "enable", "gearstalkd.socket"],
                           check=True, capture_output=True, timeout=PATIENCE)
            links = {str(path.relative_to(directory)) for path in Path(directory, "etc").rglob("*.socket")}
        self.assertEqual(links, {"etc/systemd/system/sockets.target.wants/gearstalkd.socket",
                                 "etc/systemd/system/gearstalkd.service.wants/gearstalkd.socket"})

    def test_where_logrotate_looks_may_be_written(self) -> None:
        rotated = (PACKAGING / "gearstalkd.logrotate").read_text()
        self.assertIn("\n/var/log/gearstalkd/*.log {", rotated)
        self.assertEqual(value(self.service, "LogsDirectory"), ["gearstalkd"])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not here")
    def test_little_is_exposed(self) -> None:
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=yes", "--threshold=20",
             str(PACKAGING / UNITS[0])],
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_broker_that_steps_down_comes_back_as_a_standby(self) -> None:
        for key, wanted in (("Restart", "on-failure"), ("RestartSec", "1"),
                            ("StartLimitIntervalSec", "0")):
            self.assertEqual(value(self.service, key), [wanted])

    def test_a_bad_configuration_and_a_journal_set_back_are_not_tried_again(self) -> None:
        self.assertEqual(value(self.service, "RestartPreventExitStatus"), ["1 2"])


if __name__ == "__main__":
    unittest.main()
