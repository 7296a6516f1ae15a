#!/usr/bin/env python3
"""The Debian packages, made from a build directory: package_test.py BUILD.

They are installed, upgraded, removed and purged in a root of their own; systemd is not asked."""

import functools
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import Broker, Client

BUILD = Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build").resolve()
SECONDS = 600
ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "admin/packaging"
UNITS = [path.name for path in SOURCES.glob("*") if path.suffix in (".service", ".socket")]
TOOLS = ("dh", "scdoc", "dpkg-buildpackage")
DOCUMENTS = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
DOCUMENTS += [path for path in (ROOT / "docs").rglob("*") if path.is_file()]

FILES = {
    "gearstalkd": [
        "usr/sbin/gearstalkd", "etc/gearstalkd/gearstalkd.yaml", "etc/logrotate.d/gearstalkd",
        "usr/lib/sysusers.d/gearstalkd.conf",
        "usr/share/man/man8/gearstalkd.8.gz", "usr/share/man/man5/gearstalkd.yaml.5.gz",
        "usr/share/bash-completion/completions/gearstalkd", "usr/share/zsh/vendor-completions/_gearstalkd",
        "usr/share/doc/gearstalkd/gearstalkd.yaml", "usr/share/doc/gearstalkd/monitoring/alerts.yml",
        "usr/share/doc/gearstalkd/monitoring/dashboard.json",
        *(f"lib/systemd/system/{name}" for name in UNITS),
        *(f"usr/share/doc/gearstalkd/{path.relative_to(ROOT)}" for path in DOCUMENTS)],
    "gearstalkd-etcd": ["usr/lib/gearstalkd/store_etcd.so"],
    "gearstalkd-postgres": ["usr/lib/gearstalkd/store_postgres.so"],
    "gearstalkctl": [
        "usr/bin/gearstalkctl", "usr/share/man/man1/gearstalkctl.1.gz",
        "usr/share/bash-completion/completions/gearstalkctl", "usr/share/zsh/vendor-completions/_gearstalkctl"],
    "gearstalkctl-import": [
        f"usr/lib/gearstalkctl/import_{name}.so" for name in ("sqlite", "mysql", "postgres", "redis")]}
VERSION = re.search(r"^project\(gearstalkd VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
NEXT = VERSION + ".1"
DATABASES = ("libsqlite3", "libmariadb", "libhiredis", "libpq5")
MODULES = [path for files in FILES.values() for path in files if path.endswith(".so")]


def run(*command: str | Path, fine: tuple[int, ...] = (0,), text: str = "") -> str:
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    if done.returncode not in fine:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


WORK = Path(tempfile.mkdtemp(prefix="package-"))
unittest.addModuleCleanup(shutil.rmtree, WORK)


@functools.cache
def packages(version: str, times: str = "once") -> dict[str, Path]:
    directory = WORK / times
    run(ROOT / "scripts/package", "--build", BUILD, "--to", directory, "--version", version)
    made = {path.name.split("_")[0]: path for path in directory.glob(f"*_{version}_*.deb")}
    if set(made) != set(FILES):
        raise AssertionError(f"{directory} has {sorted(made)}")
    return made


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        for program in TOOLS:
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is missing: apt-get install debhelper scdoc dpkg-dev")
        cls.work = Path(tempfile.mkdtemp(dir=WORK))
        cls.packages = packages(VERSION)
        cls.content = cls.work / "content"
        for package in cls.packages.values():
            run("dpkg-deb", "--extract", package, cls.content)

    def test_everything_is_in_them(self) -> None:
        for name, package in self.packages.items():
            content = self.work / name
            run("dpkg-deb", "--extract", package, content)
            found = {path.relative_to(content).as_posix() for path in content.rglob("*") if path.is_file()}
            usual = {f"usr/share/doc/{name}/copyright", f"usr/share/doc/{name}/changelog.gz"}
            self.assertEqual(found, {*FILES[name], *usual})

    def test_what_they_depend_on(self) -> None:
        depends = {name: run("dpkg-deb", "--field", package, "Depends") for name, package in self.packages.items()}
        for library in ("libc6", "libevent-core", "libyaml-cpp", "systemd-sysusers"):
            self.assertIn(library, depends["gearstalkd"])
        for library in DATABASES:
            self.assertNotIn(library, depends["gearstalkd"])
            self.assertNotIn(library, depends["gearstalkctl"])
            self.assertIn(library, depends["gearstalkctl-import"])
        self.assertNotIn("libgrpc", depends["gearstalkd"])
        self.assertIn("libgrpc", depends["gearstalkd-etcd"])
        self.assertIn("libpq5", depends["gearstalkd-postgres"])

    def test_lintian_finds_no_error_and_hardened_binaries(self) -> None:
        if shutil.which("lintian") is None:
            self.skipTest("lintian is missing: apt-get install lintian")
        for package in self.packages.values():
            self.assertEqual(run("lintian", "--allow-root", "--fail-on", "error", "--tag-display-limit", "0",
                                 "--suppress-tags", "bogus-mail-host-in-debian-changelog", package), "")
            said = run("lintian", "--allow-root", "--pedantic", "--display-info", package, fine=(0, 1, 2))
            self.assertNotIn("hardening-no", said)

    def test_two_of_one_build_are_the_same(self) -> None:
        again = packages(VERSION, "again")
        for name, package in self.packages.items():
            self.assertEqual(package.read_bytes(), again[name].read_bytes(), name)

    def test_files_have_the_time_of_the_release(self) -> None:
        """Not that of a checkout."""
        for name, package in self.packages.items():
            content = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, timeout=SECONDS, check=True)
            with tarfile.open(fileobj=io.BytesIO(content.stdout)) as files:
                self.assertEqual(len({file.mtime for file in files}), 1, name)

    def test_binaries_hold_no_path_of_the_machine(self) -> None:
        for name in ("usr/sbin/gearstalkd", "usr/bin/gearstalkctl", *MODULES):
            content = (self.content / name).read_bytes()
            for place in (f"{ROOT}/broker/", f"{ROOT}/admin/", f"{BUILD}/"):
                self.assertNotIn(place.encode(), content, name)

    def test_links_of_the_documents_lead_somewhere(self) -> None:
        top = self.content / "usr/share/doc/gearstalkd"
        for path in top.rglob("*.md"):
            for place in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
                if "://" not in place:
                    self.assertTrue((path.parent / place).exists(), f"{path.relative_to(top)} links {place}")

    def test_modules_are_found_where_they_are_installed(self) -> None:
        store = self.work / "store"
        store.write_text("no database")
        done = subprocess.run([self.content / "usr/bin/gearstalkctl", "import", f"sqlite:{store}", "--dry-run"],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertIn("file is not a database", done.stderr)
        for option in ("--etcd-endpoints=127.0.0.1:1", "--postgres-conninfo=host=127.0.0.1"):
            run(self.content / "usr/sbin/gearstalkd", option, "--check-config")

    def test_the_units_start_what_is_installed(self) -> None:
        for path in self.content.glob("lib/systemd/system/*.service"):
            command = re.search(r"^ExecStart=([^\s]+)", path.read_text(), re.M)[1]
            self.assertTrue((self.content / command.lstrip("/")).is_file(), command)

    def test_the_manual_names_every_option(self) -> None:
        helped = run(self.content / "usr/sbin/gearstalkd", "--help")
        flags = re.findall(r"^  (?:-\w,)?--([a-z-]+)", helped, re.M)
        self.assertGreater(len(flags), 30)
        flag_page = self.page("man8/gearstalkd.8.gz")
        key_page = self.page("man5/gearstalkd.yaml.5.gz")
        for flag in flags:
            self.assertIn(f"--{flag}", flag_page)
        keys = re.findall(r"^    ?   ?([a-z][a-z_.]+)$", key_page, re.M)
        of_keys = {key.replace(".", "-").replace("_", "-") for key in keys}
        without = {"help", "version", "config", "check-config", "journal-check", "journal-salvage",
                   "journal-export", "journal-import", "journal-upgrade"}
        self.assertEqual({flag for flag in flags if flag not in without} - of_keys, set())

    def page(self, name: str) -> str:
        done = subprocess.run(
            ["man", "--warnings", "-l", str(self.content / "usr/share/man" / name)],
            capture_output=True, text=True, timeout=SECONDS, check=False,
            env={"PATH": "/usr/bin:/bin", "MANWIDTH": "400", "LC_ALL": "C.UTF-8",
                 "MANROFFOPT": "-c", "GROFF_NO_SGR": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return re.sub(".\b", "", done.stdout)

    def test_completion_of_bash(self) -> None:
        script = self.content / "usr/share/bash-completion/completions/gearstalkd"

        def complete(*words: str) -> list[str]:
            quoted = " ".join(f"'{word}'" for word in words)
            return run("bash", "-c", f"source {script}; COMP_WORDS=({quoted}); "
                       f"COMP_CWORD={len(words) - 1}; _gearstalkd; "
                       "printf '%s\\n' \"${COMPREPLY[@]}\"").split()

        self.assertEqual(complete("gearstalkd", "--dat"), ["--data-dir"])
        self.assertEqual(complete("gearstalkd", "--log-format", ""), ["text", "json"])
        self.assertIn("/etc/passwd", complete("gearstalkd", "--config", "/etc/pass"))
        self.assertEqual(complete("gearstalkd", "--server-name", "x"), [])

    def test_completion_of_the_tool(self) -> None:
        script = self.content / "usr/share/bash-completion/completions/gearstalkctl"
        self.assertIn("take-over", script.read_text())
        run("bash", "-n", script)

    def test_completion_of_zsh_is_whole(self) -> None:
        text = (self.content / "usr/share/zsh/vendor-completions/_gearstalkd").read_text()
        self.assertTrue(text.startswith("#compdef gearstalkd\n"))
        self.assertIn("'--log-format[", text)
        if shutil.which("zsh"):
            run("zsh", "-n", "-c", text)

    def test_the_configuration_is_that_of_the_service(self) -> None:
        config = self.content / "etc/gearstalkd/gearstalkd.yaml"
        run(self.content / "usr/sbin/gearstalkd", "--config", config, "--check-config",
            "--data-dir", self.work)
        # No option that a version adds changes it: an upgrade never asks about local edits.
        active = [line for line in config.read_text().splitlines()
                  if line and not line.startswith("#")]
        self.assertEqual(active, ["data_dir: /var/lib/gearstalkd", "log_to: journald",
                                  "admin: unix:/run/gearstalkd/admin.sock,mode=0660"])

    def test_the_document_with_all_options_sets_none(self) -> None:
        """Copied to /etc, it is no obstacle to an upgrade that changes a default."""
        text = (self.content / "usr/share/doc/gearstalkd/gearstalkd.yaml").read_text()
        active = [line for line in text.splitlines() if line.strip() and "#" not in line]
        self.assertEqual([line for line in active if not re.fullmatch(r"[a-z]+:", line)], [])

    def test_scripts_are_shell(self) -> None:
        control = self.work / "control"
        run("dpkg-deb", "--control", self.packages["gearstalkd"], control)
        for name in ("postinst", "prerm", "postrm"):
            run("sh", "-n", control / name)


class Life(unittest.TestCase):
    """What an administrator does with it."""

    def setUp(self) -> None:
        for program in (*TOOLS, "systemd-sysusers"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is missing: apt-get install debhelper scdoc dpkg-dev systemd")
        self.root = Path(tempfile.mkdtemp(prefix="package-root-"))
        self.addCleanup(shutil.rmtree, self.root)
        for directory in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "tmp"):
            (self.root / directory).mkdir(parents=True)
        for name in ("status", "available"):
            (self.root / "var/lib/dpkg" / name).touch()
        self.config = self.root / "etc/gearstalkd/gearstalkd.yaml"
        self.binary = self.root / "usr/sbin/gearstalkd"
        self.data = self.root / "var/lib/gearstalkd"

    def dpkg(self, *words: str | Path) -> None:
        """As root, if need be of a user namespace; libraries are those of the machine."""
        run("unshare", "--map-root-user", "--user", "dpkg", f"--root={self.root}",
            "--force-depends", "--force-script-chrootless", "--force-confold", "--force-not-root",
            *words)

    def status(self) -> str:
        return run("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f",
                   "${Status} ${Version}", "gearstalkd")

    def start(self) -> Broker:
        return Broker(str(self.binary), "--config", str(self.config), "--data-dir", str(self.data))

    def test_those_of_one_version_go_together(self) -> None:
        self.dpkg("--install", *packages(VERSION).values())
        listed = run("dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f", "${Package} ${Status}\n")
        self.assertEqual(listed.splitlines(), [f"{name} install ok installed" for name in sorted(FILES)])

    def test_from_installation_to_purge(self) -> None:
        first = packages(VERSION)["gearstalkd"]
        second = packages(NEXT)["gearstalkd"]

        self.dpkg("--install", first)
        self.assertEqual(self.status(), f"install ok installed {VERSION}")
        self.assertIn("gearstalkd:", (self.root / "etc/passwd").read_text())
        self.data.mkdir(exist_ok=True)
        run(self.binary, "--config", self.config, "--data-dir", self.data, "--check-config")
        broker = self.start()
        client = Client(broker.port)
        self.assertEqual(client.put("before"), 1)
        self.config.write_text(self.config.read_text() + "\n# ours\n")

        self.dpkg("--install", second)  # while it runs
        self.assertEqual(self.status(), f"install ok installed {NEXT}")
        self.assertTrue(self.config.read_text().endswith("# ours\n"), "a changed file was replaced")
        self.assertEqual(client.put("meanwhile"), 2)
        client.close()
        self.assertEqual(broker.stop(), 0)

        broker = self.start()
        client = Client(broker.port)
        self.assertEqual(client.say("reserve"), "RESERVED 1 6")
        self.assertEqual(client.say("delete 1"), "DELETED")
        client.close()
        self.assertEqual(broker.stop(), 0)

        self.dpkg("--remove", "gearstalkd")
        self.assertFalse(self.binary.exists())
        self.assertTrue(self.config.exists())
        self.assertTrue(any(self.data.iterdir()), "removal takes no jobs away")
        self.dpkg("--install", second)
        self.assertTrue(self.config.read_text().endswith("# ours\n"))
        broker = self.start()
        client = Client(broker.port)
        self.assertEqual(client.say("reserve"), "RESERVED 2 9")
        client.close()
        self.assertEqual(broker.stop(), 0)

        self.dpkg("--purge", "gearstalkd")
        for path in (self.binary, self.config, self.data):
            self.assertFalse(path.exists(), path)


if __name__ == "__main__":
    unittest.main()
