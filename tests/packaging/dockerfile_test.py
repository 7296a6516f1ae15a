#!/usr/bin/env python3
"""What can be known of the Dockerfile without docker: dockerfile_test.py BROKER GEARSTALKCTL.

That its packages are Debian's, that they have every library of the binary, and that its command
is good."""

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

BINARY, TOOL = sys.argv.pop(1), sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from launched import Launched  # noqa: E402

# The libraries of gearstalkctl's imports, which the image leaves out.
DATABASES = ("libsqlite3", "libmariadb", "libhiredis")


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


class Dockerfile(unittest.TestCase):
    def setUp(self) -> None:
        self.lines = instructions()
        self.last_stage = self.lines[max(i for i, (word, _) in enumerate(self.lines)
                                         if word == "FROM"):]
        runs = [text for word, text in self.last_stage if word == "RUN"]
        installed = re.search(r"apt-get install \S+ \S+ --no-install-recommends ([^&]+)", runs[0])
        self.packages = installed[1].split()

    def test_what_runs_is_shell(self) -> None:
        for word, text in self.lines:
            if word == "RUN":
                subprocess.run(["sh", "-n", "-c", text], check=True, timeout=600)

    def test_the_packages_have_all_libraries(self) -> None:
        if shutil.which("dpkg-query") is None:
            self.skipTest("this is no Debian")
        if re.search(rb"__(asan|tsan|ubsan)_", Path(BINARY).read_bytes()):
            self.skipTest("an image has no sanitizers")
        linked = [library for program in (BINARY, TOOL, *map(str, Path(BINARY).parent.glob("store_*.so")))
                  for library in re.findall(r"=> (/\S+)", output("ldd", program))
                  if not Path(library).name.startswith(DATABASES)]
        self.assertGreater(len(linked), 10)
        # In /lib or in /usr/lib, which are one.
        found = output("dpkg-query", "-S", *["*/" + "/".join(Path(library).parts[-2:])
                                             for library in linked])
        owners = {line.split(":")[0] for line in found.splitlines()}
        depends = set(self.packages)
        while True:  # what comes along
            fields = output("dpkg-query", "-W", "-f", "${Depends},${Pre-Depends}\n",
                            *sorted(depends))
            more = set(re.findall(r"(?:^|,)\s*([a-z0-9.+-]+)", fields, re.M)) - depends
            more &= owners
            if not more:
                break
            depends |= more
        slim = {"libc6", "libgcc-s1", "libstdc++6"}  # in the image, or brought along by libraries
        self.assertEqual(owners - depends - slim, set())

    def test_what_is_copied_is_there(self) -> None:
        for word, text in self.lines:
            if word == "COPY" and "--from" not in text:
                self.assertTrue((ROOT / text.split()[0]).exists(), text)

    def variables(self) -> dict[str, str]:
        words = shlex.split(dict(self.last_stage)["ENV"])
        return dict(word.split("=", 1) for word in words)

    def test_its_defaults_are_variables(self) -> None:
        """Flags would outweigh the variables of `docker run -e`, and go with any argument."""
        words = {word: text for word, text in self.last_stage}
        self.assertEqual(json.loads(words["ENTRYPOINT"]), ["/usr/sbin/gearstalkd"])
        self.assertNotIn("CMD", words)
        with tempfile.TemporaryDirectory() as directory:
            environment = {**os.environ, **self.variables(), "GEARSTALKD_DATA_DIR": directory}
            done = subprocess.run([BINARY, "--check-config"], capture_output=True, text=True,
                                  timeout=600, check=True, env=environment)
        self.assertIn("good", done.stdout)
        ports = [word.split(":")[1] for word in self.variables()["GEARSTALKD_LISTEN"].split()]
        ports.append(self.variables()["GEARSTALKD_ADMIN"].split(":")[1])
        self.assertEqual(ports, words["EXPOSE"].split())

    def test_the_compose_file_of_the_manual(self) -> None:
        manual = (ROOT / "docs/operations.md").read_text()
        compose = re.search(r"As a compose file:\n\n```yaml\n(.*?)```", manual, re.S)[1]
        words = {word: text for word, text in self.last_stage}
        self.assertEqual(re.findall(r'"127\.0\.0\.1:(\d+):\1"', compose), words["EXPOSE"].split())
        self.assertEqual(re.findall(r"\[\"jobs:(.*)\"\]", compose), [words["VOLUME"]])
        given = dict(re.findall(r'(GEARSTALKD_\w+): "(.*)"', compose))
        self.assertTrue(given)
        done = subprocess.run([BINARY, "--check-config"], capture_output=True, text=True, timeout=600,
                              check=True, env={**os.environ, **given})
        self.assertEqual((done.stdout, done.stderr), ("the configuration is good\n", ""))

    def test_nobody_is_root(self) -> None:
        words = [word for word, _ in self.last_stage]
        self.assertLess(words.index("USER"), words.index("ENTRYPOINT"))
        user = re.fullmatch(r"(\d+):\1", dict(self.last_stage)["USER"])[1]
        self.assertGreater(int(user), 0)
        made = dict(self.last_stage)["RUN"]
        self.assertIn(f"--gid {user} gearstalkd", made)
        self.assertIn(f"--uid {user} ", made)

    def test_health_is_asked_where_the_pages_are(self) -> None:
        command = dict(self.last_stage)["HEALTHCHECK"].partition("CMD ")[2]
        self.assertTrue(command.startswith("gearstalkctl "))
        found = {"PATH": f"{Path(TOOL).parent}:{os.environ['PATH']}"}
        with Launched(BINARY, "--admin", "127.0.0.1:0") as broker:
            port = broker.admin.rpartition(":")[2]
            for address, code in ((f"0.0.0.0:{port}", 0), (f":{port}", 0), ("0.0.0.0:1", 3)):
                done = subprocess.run(["sh", "-c", command], timeout=600, check=False,
                                      env={**os.environ, **found, "GEARSTALKD_ADMIN": address})
                self.assertEqual(done.returncode, code, address)

    def test_labels(self) -> None:
        project = (ROOT / "CMakeLists.txt").read_text()
        version = re.search(r"project\(gearstalkd VERSION (\S+)", project)[1]
        arguments = dict(text.split("=") for word, text in self.last_stage if word == "ARG")
        self.assertEqual(arguments["VERSION"], version)
        for name in ("title", "description", "licenses", "source", "version", "revision"):
            self.assertIn(f"org.opencontainers.image.{name}=", dict(self.last_stage)["LABEL"])


if __name__ == "__main__":
    unittest.main()
