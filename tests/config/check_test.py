#!/usr/bin/env python3
"""What --check-config says of files, and its exit codes: check_test.py BROKER."""

import os
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
    "rights:\n  - '* all'\n  - '* dance'\n":
        "FILE:3: rights: rights '* dance': 'dance' is no right: all, none, or some of "
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
    "tls:\n  client_certificates: required\n":
        "FILE:2: tls.client_certificates: 'required': needs tls.certificate",
    "admin: 11380x\n":
        "FILE:1: admin: admin address '11380x': "
        "expected HOST:PORT, the port a number from 0 to 65535",
    "just words\n": "FILE:1: expected 'key: value' lines",
}


def check(*flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BROKER, "--check-config", *flags], capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, **variables), check=False)


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

    def test_nothing_is_opened(self) -> None:
        """It may be asked beside a broker that runs."""
        done = check("--data-dir", "/no/such/directory", "--log-to", "file:/no/such/log",
                     "--pid-file", "/no/such/pid", "--user", "no-such-user")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
