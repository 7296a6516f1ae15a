#!/usr/bin/env python3
"""Without --listen, clients that connect to `localhost` are served: localhost_test.py BROKER.

The default ports are free in a network namespace of the test's own.
"""

import os
import shutil
import subprocess
import unittest

from broker import PATIENCE, Broker

WITHOUT_IPV6 = "echo 1 >/proc/sys/net/ipv6/conf/lo/disable_ipv6"


def alone(*flags: str, first: str = "true") -> Broker:
    """In a network of its own, in which `first` has run, and `localhost` is what Debian makes it."""
    script = (f'ip link set lo up && {first} && mount -t tmpfs none /mnt && '
              'printf "127.0.0.1 localhost\\n::1 localhost\\n" >/mnt/hosts && '
              'mount --bind /mnt/hosts /etc/hosts && exec "$@"')
    return Broker(*flags, listen=(), before=("unshare", "--net", "--mount", "sh", "-c", script, "sh"))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "network namespaces need root and ip")
class Localhost(unittest.TestCase):
    def run_beside(self, server: Broker, *command: str, **how: object) -> subprocess.CompletedProcess:
        return subprocess.run(["nsenter", "--net", "--mount", f"--target={server.pid}", *command],
                              capture_output=True, timeout=PATIENCE, check=True, **how)

    def test_both_families(self) -> None:
        with alone() as server:
            self.assertEqual(server.addresses, ["127.0.0.1:11300", "127.0.0.1:4730",
                                                "[::1]:11300", "[::1]:4730"])
            # libgearman waits for ever on an address of `localhost` that nobody listens on.
            submit = ("gearman", "-f", "upper", "-b", "hello")
            self.run_beside(server, *submit)
            ran = self.run_beside(server, "gearman", "-w", "-f", "upper", "-c", "1", "--",
                                  "sh", "-c", "tr a-z A-Z >&2")
            self.assertIn(b"HELLO", ran.stderr)
            for host in ("127.0.0.1", "::1"):
                said = self.run_beside(server, "gearadmin", "-h", host, "--status").stdout
                self.assertEqual(said, b"upper\t0\t0\t0\n.\n")

    def test_without_ipv6(self) -> None:
        with alone(first=WITHOUT_IPV6) as server:
            self.assertEqual(server.addresses, ["127.0.0.1:11300", "127.0.0.1:4730"])

    def test_an_address_that_was_asked_for_is_needed(self) -> None:
        server = alone("--listen", "[::1]:0", first=WITHOUT_IPV6)
        self.assertEqual(server.wait(), 1)
        self.assertIn("cannot listen on ::1:0: bind: Cannot assign requested address", server.said)


if __name__ == "__main__":
    unittest.main()
