#!/usr/bin/env python3
"""Goes through the operator's checklist of docs/operations.md: checklist_test.py BROKER."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import PATIENCE, Launched  # noqa: E402

BINARY = Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd").resolve()
ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("curl", "gearadmin", "gearman", "promtool", "ss")


def rows() -> list[tuple[str, str]]:
    """Command, and the pattern that its output has to match."""
    text = (ROOT / "docs/operations.md").read_text()
    section = text.split("## Before production\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| [^|]*\| `((?:\\\||[^`|])+)` \| (?:`(.+)` )?\|$", section, re.M)
    return [(command.replace("\\|", "|"), pattern) for command, pattern in found]


class Service:
    """The broker with the packaged configuration, on ports of its own."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "gearstalkd.yaml"
        self.data = directory / "jobs"
        text = (ROOT / "admin/packaging/gearstalkd.yaml").read_text()
        for line, ours in (("#listen:\n#  - 127.0.0.1:11300\n", "listen:\n  - 127.0.0.1:0\n"),
                           ('#admin:\n#  - "127.0.0.1:11380"', "admin: 127.0.0.1:0"),
                           ("  #memory: 1073741824", "  memory: 1000000000"),
                           ("#data_dir: /var/lib/gearstalkd", f"data_dir: {self.data}")):
            assert text.count(line) == 1, line
            text = text.replace(line, ours)
        self.config.write_text(text)
        self.start()

    def start(self) -> None:
        self.broker = Launched(BINARY, "--config", self.config, listen=())
        self.broker.wait_ready()
        self.port = str(self.broker.ports[0])
        self.admin = self.broker.admin

    def stop(self) -> None:
        assert self.broker.stop() == 0


class Checklist(unittest.TestCase):
    def setUp(self) -> None:
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        if missing:
            self.skipTest(f"missing: {missing}")
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="checklist-")))
        self.service = Service(self.directory)
        self.addCleanup(lambda: self.service.stop())

    def snapshot(self, to: Path) -> None:
        self.service.broker.freeze()
        shutil.copytree(self.service.data, to)
        self.service.broker.signal(signal.SIGCONT)

    def run_command(self, command: str) -> str:
        if command.startswith("systemctl restart"):
            self.service.stop()
            self.service.start()
            return ""
        if command.startswith("systemctl reload"):
            self.service.broker.signal(signal.SIGHUP)
            self.service.broker.wait_for("reloaded")
            return ""
        if command.startswith("journalctl"):
            return self.service.broker.said
        if "COPY" in command:
            self.snapshot(self.directory / "copy")
        for theirs, ours in (
                ("/etc/gearstalkd/gearstalkd.yaml", str(self.service.config)),
                ("/usr/share/doc/gearstalkd/monitoring", str(ROOT / "admin/packaging")),
                ("127.0.0.1:11380", self.service.admin), (":4730", f":{self.service.port}"),
                ("COPY", str(self.directory / "copy"))):
            command = command.replace(theirs, ours)
        command = re.sub(r"^gearstalkd ", f"{BINARY} ", command)
        command = re.sub(r"^(gearman|gearadmin) ", rf"\1 -p {self.service.port} ", command)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True,
                              text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL,
                              env=dict(os.environ, LC_ALL="C"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_everything_is_as_wanted(self) -> None:
        commands = rows()
        self.assertGreater(len(commands), 12)
        for command, pattern in commands:
            with self.subTest(command):
                pattern = pattern.replace(":4730", f":{self.service.port}")
                pattern = pattern.replace("{1,2} ms", "+ ms")  # how fast this disk is now says nothing
                self.assertRegex(self.run_command(command), re.compile(pattern, re.M))


if __name__ == "__main__":
    unittest.main()
