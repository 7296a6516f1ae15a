#!/usr/bin/env python3
"""The image without a registry: image_test.py BROKER GEARSTALKCTL.

The last stage of the Dockerfile is carried out in a root of Debian's packages. It runs as Kubernetes would run it: read-only
but for the volume, as the image's user, in a network of its own with an address that is not loopback. Needs root."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import PATIENCE, Process  # noqa: E402

BROKER, TOOL = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))
BUILT = {f"/build/{path.name}": path for path in (BROKER, TOOL, *BROKER.parent.glob("store_*.so"))}
ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "10.9.8.7"
MIRROR = os.environ.get("GEARSTALK_DEBIAN_MIRROR", "http://deb.debian.org/debian")
DATA = "var/lib/gearstalkd"


def last_stage() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").rpartition("\nFROM ")[2]
    lines = [line.strip() for line in text.splitlines()[1:]]
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def run(*command: object, fine: tuple[int, ...] = (0,), **more: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1200,
                          check=False, **more)
    if done.returncode not in fine:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
            raise unittest.SkipTest("needs root and mmdebstrap")
        if re.search(rb"__(asan|tsan|ubsan)_", BROKER.read_bytes()):
            raise unittest.SkipTest("an image has no sanitizers")
        cls.folder = Path(tempfile.mkdtemp(prefix="image-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root, cls.volume = cls.folder / "root", cls.folder / "volume"
        cls.environment: dict[str, str] = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        run("mmdebstrap", "--quiet", "--variant=apt", "bookworm", cls.root, MIRROR)
        cls.words = dict(last_stage())
        cls.carry_out()

    @classmethod
    def carry_out(cls) -> None:
        for word, text in last_stage():
            if word == "RUN":
                run("chroot", cls.root, "sh", "-c", text, env={**cls.environment, "DEBIAN_FRONTEND": "noninteractive"})
            elif word == "COPY":
                *sources, place = text.removeprefix("--from=build ").split()
                target = cls.root / place.lstrip("/")
                if place.endswith("/"):
                    target.mkdir(parents=True)
                for source in sources:
                    shutil.copy(BUILT[source], target)
            elif word == "ENV":
                cls.environment |= dict(each.split("=", 1) for each in shlex.split(text))

    def setUp(self) -> None:
        shutil.rmtree(self.volume, ignore_errors=True)
        shutil.copytree(self.root / DATA, self.volume)
        owner = (self.root / DATA).stat()
        os.chown(self.volume, owner.st_uid, owner.st_gid)
        self.token, line = run(TOOL, "token", "ann", "admin").split("\n")[:2]
        (self.root / "run/users").write_text(line + "\n")
        self.start()

    def inside(self, *command: str) -> list[str]:
        """As the image's user."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        return ["chroot", f"--userspec={self.words['USER']}", str(self.root), "env", "-i", *variables,
                "GEARSTALKD_CONSOLE_USERS_FILE=/run/users", *command]

    def start(self) -> None:
        mounts = (f"mount --bind {self.root} {self.root} && mount --bind {self.volume} {self.root}/{DATA} && "
                  f"mount -t proc proc {self.root}/proc && mount -o remount,bind,ro {self.root} && "
                  f"ip link set lo up && ip address add {ADDRESS}/32 dev lo")
        command = shlex.join(self.inside(*json.loads(self.words["ENTRYPOINT"])))
        self.broker = self.enterContext(Process(["unshare", "--mount", "--net", "sh", "-c", f"{mounts} && exec {command}"]))
        self.broker.wait_for("^ready ")

    def beside(self, *command: str, fine: tuple[int, ...] = (0,), text: str = "") -> str:
        """In the container's network and mounts, as root."""
        return run("nsenter", f"--target={self.broker.pid}", "--net", "--mount", *command, fine=fine, input=text)

    def ask(self, path: str, *more: str) -> str:
        """The status of an answer."""
        return self.beside("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *more, f"http://{ADDRESS}:11380{path}")

    def say(self, line: str) -> str:
        return self.beside("bash", "-c", f"exec 3<>/dev/tcp/{ADDRESS}/11300; printf '{line}\\r\\n' >&3; read -r -u 3 word; echo $word")

    def test_users_of_a_file_reach_it_from_elsewhere(self) -> None:
        self.assertEqual(self.ask("/readyz"), "200")
        self.assertEqual(self.ask("/api/v1/tubes"), "401")
        self.assertEqual(self.ask("/api/v1/tubes", "-H", f"Authorization: Bearer {self.token}"), "200")
        self.assertEqual(self.ask("/console/"), "200")
        self.assertEqual(self.ask("/console/", "-H", "Host: jobs.cluster.local"), "421")

    def test_nothing_of_it_is_root(self) -> None:
        status = Path(f"/proc/{self.broker.pid}/status").read_text()
        for what in ("Uid", "Gid"):
            numbers = re.search(rf"^{what}:\s*(.*)$", status, re.M)[1].split()
            self.assertEqual(set(numbers), {self.words["USER"].split(":")[0]})

    def test_jobs_outlive_it_in_the_volume(self) -> None:
        self.assertEqual(self.say(r"put 1 0 60 1\r\nx").split()[0], "INSERTED")
        self.assertEqual(self.broker.stop(), 0)
        self.start()
        self.assertEqual(self.say("peek 1").split()[:2], ["FOUND", "1"])

    def test_its_health(self) -> None:
        command = self.words["HEALTHCHECK"].partition("CMD ")[2]
        self.beside(*self.inside("sh", "-c", command))
        self.assertEqual(self.broker.stop(), 0)


if __name__ == "__main__":
    unittest.main()
