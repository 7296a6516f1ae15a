#!/usr/bin/env python3
"""What --check-config says of files, and its exit codes: check_test.py BROKER."""

import grp
import hashlib
import os
import pwd
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"

# File -> what is said of it; FILE stands for its path.
BAD = {
    "listen: 127.0.0.1\n":
        "FILE:1: listen: listen address '127.0.0.1': expected HOST:PORT or unix:/PATH",
    "sync: always\nlisten:\n  - 127.0.0.1:1\n  - 127.0.0.1:70000\n":
        "FILE:4: listen: listen address '127.0.0.1:70000': "
        "the port is a number from 0 to 65535",
    "listen: 127.0.0.1:1,protocols=http\n":
        "FILE:1: listen: listen address '127.0.0.1:1,protocols=http': "
        "protocols is one of auto, beanstalk, gearman",
    "listens: 127.0.0.1:1\n":
        "FILE:1: unknown key 'listens'; did you mean 'listen'?",
    "limit:\n": "FILE:1: unknown key 'limit'; did you mean 'limits:'?",
    "limit: 5\n": "FILE:1: unknown key 'limit'; did you mean 'limits:'?",
    "limit:\n  memory: 5\n":
        "FILE:2: unknown key 'limit.memory'; did you mean 'limits.memory'?",
    "limits:\n  conections: 5\n":
        "FILE:2: unknown key 'limits.conections'; did you mean 'limits.connections'?",
    "limits:\n  idle_timeout: -1\n":
        "FILE:2: limits.idle_timeout: '-1': expected a number from 0 to 315360000",
    "limits:\n  maxqueue:\n    - a 1\n    - b\n":
        "FILE:4: limits.maxqueue: 'b': expected 'TUBE N' or 'TUBE HIGH NORMAL LOW'",
    "log_to: file:relative\n":
        "FILE:1: log_to: 'file:relative': expected stderr, journald, syslog or file:/PATH",
    "tls:\n  client_certificates: maybe\n":
        "FILE:2: tls.client_certificates: 'maybe': expected off, optional or required",
    "rights:\n  - '* dance'\n":
        "FILE:2: rights: rights '* dance': unknown right 'dance': use all, none, or some of "
        "produce,consume,admin,observe",
    "rights: everybody\n":
        "FILE:1: rights: rights 'everybody': expected WHO ALLOWED [TUBES]",
    "listen: 127.0.0.1:1,mode=0660\n":
        "FILE:1: listen: listen address '127.0.0.1:1,mode=0660': "
        "owner, group and mode are for Unix sockets",
    "listen: 127.0.0.1:1,tls=required\n":
        "FILE:1: listen: address '127.0.0.1:1,tls=required': tls=required needs tls.certificate",
    "listen:\n  - 127.0.0.1:1\n  - 127.0.0.1:2,tls=required\n":
        "FILE:3: listen: address '127.0.0.1:2,tls=required': tls=required needs tls.certificate",
    "tls:\n  certificate: /no/such/file\n":
        "FILE:2: tls.certificate: '/no/such/file': No such file or directory",
    "tls:\n  key: /no/such/file\n": "FILE:2: tls.key: '/no/such/file': needs tls.certificate",
    "tls:\n  client_certificates: optional\n":
        "FILE:2: tls.client_certificates: 'optional': needs tls.certificate",
    "admin: 11380x\n":
        "FILE:1: admin: admin address '11380x': expected HOST:PORT or unix:/PATH",
    "admin: unix:/run/s,mode=999\n":
        "FILE:1: admin: admin address 'unix:/run/s,mode=999': mode is an octal number up to 0777",
    "schedules:\n  - name: s\n    every: 1h\n    tube: t\n    body: '123456'\nmax_job_size: 5\n":
        "FILE:2: schedules: 's': the body has 6 bytes, and jobs of tube 't' 5",
    "tubes:\n  - match: t\n    max_job_size: 3\n"
    "schedules:\n  - name: s\n    every: 1h\n    tube: t\n    body: '1234'\n":
        "FILE:5: schedules: 's': the body has 4 bytes, and jobs of tube 't' 3",
    "just words\n": "FILE:1: expected 'key: value' lines",
}


def check(*flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BROKER, "--check-config", *flags], capture_output=True, text=True,
                          timeout=120, env=dict(os.environ, **variables), check=False)


class CheckConfig(unittest.TestCase):
    def file(self, text: str) -> str:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = Path(directory.name, "gearstalkd.yaml")
        path.write_text(text)
        return str(path)

    def test_good(self) -> None:
        done = check("--config", self.file("listen: 127.0.0.1:0\n"))
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "the configuration is good\n", ""))

    def test_bad(self) -> None:
        for text, message in BAD.items():
            with self.subTest(text):
                path = self.file(text)
                done = check("--config", path)
                self.assertEqual(done.stderr.replace(path, "FILE"), f"gearstalkd: {message}\n")
                self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_an_abstract_socket_is_no_file(self) -> None:
        done = check("--listen", "unix:@gearstalkd")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_flags_and_variables_are_checked(self) -> None:
        done = check("--listen", "nowhere")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "gearstalkd: --listen: listen address 'nowhere': "
                             "expected HOST:PORT or unix:/PATH\n"))
        done = check(GEARSTALKD_LISTEN="127.0.0.1:1 nowhere")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "gearstalkd: GEARSTALKD_LISTEN: listen address 'nowhere': "
                             "expected HOST:PORT or unix:/PATH\n"))

    def test_what_outweighs_is_named(self) -> None:
        path = self.file("tls:\n  certificate: /of/the/file\n")
        done = check("--config", path, "--tls-certificate", "/of/the/flag")
        self.assertEqual(done.stderr, "gearstalkd: --tls-certificate: '/of/the/flag': "
                                      "No such file or directory\n")

    def test_unknown_variables_are_told(self) -> None:
        done = check(GEARSTALKD_LIMITS_MEMRY="5", GEARSTALKD_LIMITS_MEMORY="5")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "gearstalkd: GEARSTALKD_LIMITS_MEMRY: unknown variable; "
                             "did you mean GEARSTALKD_LIMITS_MEMORY?\n"))

    def test_rules_that_no_address_has_are_told(self) -> None:
        done = check("--listen", "127.0.0.1:1,tls=off", "--rights", "listen=127.0.0.1:1 none",
                     "--rights", "listen=127.0.0.1:1,tls=off none", "--rights", "* all")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "gearstalkd: rights 'listen=127.0.0.1:1,tls=off none': "
                             "no entry of listen has this address\n"))

    def test_every_error_is_told(self) -> None:
        path = self.file("listen: nowhere\nlimts: 5\nlimits:\n  tubes: x\n  output: 1\n"
                         "data_dir: /no/such/directory\n")
        done = check("--config", path, "--sync", "soon", GEARSTALKD_DAEMON="maybe")
        self.assertEqual(done.returncode, 2)
        self.assertEqual([re.sub("^gearstalkd: ", "", line).replace(path, "FILE")
                          for line in done.stderr.splitlines()], [
            "FILE:1: listen: listen address 'nowhere': expected HOST:PORT or unix:/PATH",
            "FILE:2: unknown key 'limts'; did you mean 'limits:'?",
            "FILE:4: limits.tubes: 'x': expected a number from 0 to 4294967295",
            "FILE:5: limits.output: '1': expected a number from 4096 to 1073741824",
            "GEARSTALKD_DAEMON: 'maybe': expected true or false",
            "--sync: 'soon': expected always, never, or an interval from 1ms to 3600000ms",
            "FILE:6: data_dir: '/no/such/directory': does not exist: create it, owned by the user "
            "of the broker"])

    def test_a_directory_that_a_start_makes_is_no_error(self) -> None:
        for ending in ("", "/"):
            with tempfile.TemporaryDirectory() as directory, self.subTest(ending):
                done = check("--data-dir", f"{directory}/data{ending}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(list(Path(directory).iterdir()), [])

    def test_what_the_file_names_is_looked_at(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        plain = Path(directory.name, "plain")
        plain.write_text("")
        for text, message in {
                "listen: no-such-host.invalid:1\n":
                    "FILE:1: listen: 'no-such-host.invalid:1': cannot resolve the host: ",
                "listen: unix:relative\n":
                    "FILE:1: listen: 'unix:relative': the path is relative: begin it with '/'",
                "listen: unix:/tmp/s,owner=no-such-user\n":
                    "FILE:1: listen: 'unix:/tmp/s,owner=no-such-user': there is no user "
                    "'no-such-user'",
                "listen: ['127.0.0.1:9', '127.0.0.1:9']\n":
                    "FILE:1: listen: '127.0.0.1:9': '127.0.0.1:9' of listen takes the same address",
                "listen: ['0.0.0.0:9', '127.0.0.1:9']\n":
                    "FILE:1: listen: '127.0.0.1:9': '0.0.0.0:9' of listen takes the same address",
                "listen: 127.0.0.1:9\nadmin: 127.0.0.1:9\n":
                    "FILE:2: admin: '127.0.0.1:9': '127.0.0.1:9' of listen takes the same address",
                "user: no-such-user\n": "FILE:1: user: 'no-such-user': there is no such user",
                f"data_dir: {plain}\n": f"FILE:1: data_dir: '{plain}': is not a directory",
                "log_to: file:/no/such/log\n":
                    "FILE:1: log_to: 'file:/no/such/log': '/no/such' is not a directory",
                "pid_file: /no/such/pid\n":
                    "FILE:1: pid_file: '/no/such/pid': '/no/such' is not a directory",
                "gearman:\n  priority_high: 70000\n":
                    "FILE:2: gearman.priority_high: '70000': is above gearman.priority_normal "
                    "65536: a lower number runs first",
                "rights: cert=x all\n":
                    "FILE:1: rights: 'cert=x all': no client has a certificate: set "
                    "tls.client_certificates",
                "rights:\n  - '* none'\n  - listen=127.0.0.1:11300 all\n":
                    "FILE:3: rights: 'listen=127.0.0.1:11300 all': never applies: the rule "
                    "'* none' before it decides for all its tubes",
        }.items():
            with self.subTest(text):
                path = self.file(text)
                done = check("--config", path)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"gearstalkd: {message}", done.stderr.replace(path, "FILE"))

    def certificate(self, directory: str, *dates: str) -> str:
        both = f"{directory}/both.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x", "-keyout",
                        f"{directory}/key", "-out", f"{directory}/cert", *dates],
                       check=True, capture_output=True)
        Path(both).write_text(Path(directory, "key").read_text()
                              + Path(directory, "cert").read_text())
        return both

    def certificate_of(self, begin: str, end: str, directory: str) -> str:
        folder = Path(directory)
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n")
        (folder / "ca.conf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={folder}/index.txt\nnew_certs_dir={folder}\n"
            f"serial={folder}/serial\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
        for command in (
                "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=x "
                "-keyout key -out request",
                "ca -batch -selfsign -notext -config ca.conf -keyfile key -in request -out cert "
                f"-startdate {begin}000000Z -enddate {end}000000Z"):
            subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
        both = folder / "both.pem"
        both.write_text((folder / "key").read_text() + (folder / "cert").read_text())
        return str(both)

    def test_a_certificate_has_to_be_valid_now(self) -> None:
        for begin, end, what in (("20200101", "20200102", "has expired"),
                                 ("20450101", "20450102", "is not valid yet")):
            with self.subTest(what), tempfile.TemporaryDirectory() as directory:
                certificate = self.certificate_of(begin, end, directory)
                done = check("--config", self.file(f"tls.certificate: {certificate}\n"))
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, rf":1: tls\.certificate: '.*': {what}\n")

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_the_user_of_the_service_has_to_read_the_key(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            certificate = self.certificate(directory)
            os.chmod(directory, 0o755)
            os.chmod(certificate, 0o600)
            flags = ("--tls-certificate", certificate, "--user", "nobody")
            done = check(*flags)
            self.assertEqual((done.returncode, done.stderr),
                             (2, f"gearstalkd: --tls-certificate: '{certificate}': the user "
                                 "'nobody' may not read it\n"))
            os.chmod(certificate, 0o644)
            self.assertEqual(check(*flags).returncode, 0)

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_the_user_of_the_service_has_to_be_in_the_group_of_a_socket(self) -> None:
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as directory:
            os.chown(directory, nobody.pw_uid, nobody.pw_gid)
            own = grp.getgrgid(nobody.pw_gid).gr_name
            for key in ("listen", "admin"):
                flag, data = f"--{key}=unix:/tmp/s,", ("--data-dir", directory)
                done = check(flag + "group=root", *data)
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"gearstalkd: --{key}: 'unix:/tmp/s,group=root': the user "
                                     "'nobody' is not in the group 'root'\n"))
                done = check(flag + "owner=root", *data)
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"gearstalkd: --{key}: 'unix:/tmp/s,owner=root': the user "
                                     "'nobody' may not give it to another user: leave out owner=\n"))
                self.assertEqual(check(flag + f"owner=nobody,group={own}", *data).returncode, 0)
                # Root binds it before it becomes that user.
                done = check(flag + "owner=root,group=root", "--user", "nobody", *data)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_token_that_everybody_knows_is_refused(self) -> None:
        for token in ("test", "test2"):
            line = f"anna admin sha256:{hashlib.sha256(token.encode()).hexdigest()}"
            for refused in (check("--console-users", line),
                            subprocess.run([BROKER, "--listen", "127.0.0.1:0", "--console-users",
                                            line], capture_output=True, text=True, timeout=120,
                                           check=False)):
                self.assertEqual(refused.returncode, 2)
                self.assertIn("`gearstalkctl token` makes one", refused.stderr)

    def test_the_placeholder_of_the_documents_is_refused(self) -> None:
        root = Path(__file__).resolve().parents[2]
        for page in ("docs/api.md", "docs/console.md", "admin/packaging/gearstalkd.yaml"):
            lines = re.findall(r'- "?(\w+ \S+ sha256:[^"\n]+)', (root / page).read_text())
            self.assertTrue(lines, page)
            for line in lines:
                done = check("--console-users", line)
                self.assertEqual(done.returncode, 2)
                self.assertIn("gearstalkctl token", done.stderr)

    def test_without_a_file_it_says_so(self) -> None:
        done = check()
        self.assertEqual((done.returncode, done.stderr),
                         (2, "gearstalkd: --check-config: nothing to check: name a file with "
                             "--config FILE, or give flags or variables\n"))

    def test_an_open_address_is_told(self) -> None:
        done = check("--listen", "0.0.0.0:0")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "gearstalkd: listen address '0.0.0.0:0': other hosts reach it without "
                             "TLS, and everybody may do everything: use tls=required, rights or a "
                             "firewall\n"))
        self.assertEqual(check("--listen", "0.0.0.0:0", "--rights", "* produce").stderr, "")

    def test_it_may_be_asked_beside_a_broker_that_runs(self) -> None:
        with tempfile.TemporaryDirectory() as directory, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = check("--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--data-dir", directory)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(os.listdir(directory), [])


if __name__ == "__main__":
    unittest.main()
