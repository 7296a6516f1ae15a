#!/usr/bin/env python3
"""docs/rotation.md, done beside clients that stay: rotation_test.py BROKER GEARSTALKCTL."""

import os
import re
import signal
import ssl
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import PATIENCE, Launched, eventually  # noqa: E402

BROKER, TOOL = sys.argv.pop(1), sys.argv.pop(1)
PAGE = (Path(__file__).resolve().parents[2] / "docs/rotation.md").read_text()
HOOK = re.search(r"```sh\n(.*?)```", PAGE, re.S)[1]


class Rotation(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="rotation-")))
        for authority in ("ca", "next-ca"):
            self.openssl("req", "-x509", "-days", "300", "-nodes", "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:prime256v1", "-subj", f"/CN={authority}",
                         "-keyout", f"{authority}.key", "-out", f"{authority}.pem")
        self.signed("server", "ca", 10)
        self.signed("worker", "ca", 10)
        self.config = self.folder / "gearstalkd.yaml"
        (self.folder / "clients.pem").write_text((self.folder / "ca.pem").read_text())
        self.users: list[str] = []
        self.write_config()
        self.broker = self.enterContext(Launched(BROKER, "--config", self.config, "--admin", "127.0.0.1:0"))

    def openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.folder, timeout=PATIENCE)

    def signed(self, name: str, authority: str, days: int, file: str = "") -> None:
        file = file or name
        (self.folder / "names").write_text("subjectAltName=DNS:localhost\n")
        self.openssl("req", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                     "-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.csr")
        self.openssl("x509", "-req", "-days", str(days), "-CAcreateserial", "-in", f"{file}.csr", "-CA",
                     f"{authority}.pem", "-CAkey", f"{authority}.key", "-extfile", "names", "-out", f"{file}.pem")

    def write_config(self) -> None:
        users = "".join(f"\n    - {line}" for line in self.users)
        self.config.write_text(
            f"tls:\n  certificate: {self.folder}/server.pem\n  key: {self.folder}/server.key\n"
            f"  client_ca: {self.folder}/clients.pem\n  client_certificates: required\n"
            + (f"console:\n  users:{users}\n" if users else ""))

    def reload(self) -> None:
        times = self.broker.said.count("the configuration was reloaded")
        self.broker.signal(signal.SIGHUP)
        self.broker.wait_for("the configuration was reloaded", times + 1)

    def client(self, file: str) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=f"{self.folder}/ca.pem")
        context.load_cert_chain(f"{self.folder}/{file}.pem", f"{self.folder}/{file}.key")
        plain = socket.create_connection(("127.0.0.1", self.broker.ports[0]), PATIENCE)
        secured = context.wrap_socket(plain, server_hostname="localhost")
        self.addCleanup(secured.close)
        return secured

    def is_served(self, client: ssl.SSLSocket) -> bool:
        try:
            client.sendall(b"list-tube-used\r\n")
            return client.recv(100) == b"USING default\r\n"
        except (ssl.SSLError, ConnectionError):
            return False

    def tool(self, *words: str, token: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([TOOL, "--server", f"http://{self.broker.admin}", *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env={**os.environ, "GEARSTALKCTL_TOKEN": token})

    def test_tokens(self) -> None:
        tokens = []
        for _ in range(2):
            token, line = self.tool("token", "ann", "operator").stdout.split("\n")[:2]
            tokens.append(token)
            self.users.append(line)
            self.write_config()
            self.reload()
            for each in tokens:
                self.assertEqual(self.tool("tubes", token=each).returncode, 0)
        del self.users[0]
        self.write_config()
        self.reload()
        self.assertEqual(self.tool("tubes", token=tokens[0]).returncode, 4)
        self.assertEqual(self.tool("tubes", token=tokens[1]).returncode, 0)

    def test_the_hook_of_certbot(self) -> None:
        stays = self.client("worker")
        self.assertTrue(self.is_served(stays))
        lineage, commands = self.folder / "live", self.folder / "commands"
        lineage.mkdir()
        commands.mkdir()
        self.signed("renewed", "ca", 90)
        (self.folder / "renewed.pem").rename(lineage / "fullchain.pem")
        (self.folder / "renewed.key").rename(lineage / "privkey.pem")
        systemctl = commands / "systemctl"
        systemctl.write_text(f'#!/bin/sh\n[ "$*" = "reload gearstalkd" ] && kill -HUP {self.broker.pid}\n')
        systemctl.chmod(0o755)
        hook = HOOK.replace("/etc/gearstalkd", str(self.folder)).replace("-o root -g gearstalkd ", "")
        subprocess.run(["sh", "-c", hook], check=True, timeout=PATIENCE,
                       env={"PATH": f"{commands}:{os.environ['PATH']}", "RENEWED_LINEAGE": str(lineage)})
        self.broker.wait_for("certificate in use.*CN=renewed")
        # A certificate's dictionary has (((name, value),),).
        self.assertEqual(self.client("worker").getpeercert()["subject"], ((("commonName", "renewed"),),))
        self.assertTrue(self.is_served(stays))
        text = subprocess.run(["curl", "-sf", f"http://{self.broker.admin}/metrics"], capture_output=True, text=True,
                              check=True, timeout=PATIENCE).stdout
        series = re.findall(r'^gearstalkd_tls_certificate_end_timestamp_seconds\{option="(.*?)",subject="(.*?)",', text, re.M)
        self.assertEqual(series, [("tls.certificate", "CN=renewed"), ("tls.client_ca", "CN=ca")])

    def test_the_authority_of_clients(self) -> None:
        self.signed("worker", "next-ca", 10, "worker-again")
        self.assertFalse(self.is_served(self.client("worker-again")))
        both = (self.folder / "ca.pem").read_text() + (self.folder / "next-ca.pem").read_text()
        (self.folder / "clients.pem").write_text(both)
        self.reload()
        stays = self.client("worker")
        self.assertTrue(self.is_served(stays))
        self.assertTrue(self.is_served(self.client("worker-again")))
        (self.folder / "clients.pem").write_text((self.folder / "next-ca.pem").read_text())
        self.reload()
        self.assertFalse(self.is_served(self.client("worker")))
        self.assertTrue(self.is_served(self.client("worker-again")))
        self.assertTrue(self.is_served(stays))

    def test_a_file_that_is_wrong_changes_nothing(self) -> None:
        (self.folder / "server.key").write_text("no key\n")
        self.broker.signal(signal.SIGHUP)
        self.broker.wait_for("nothing changed")
        eventually("the old one", lambda: self.is_served(self.client("worker")))


if __name__ == "__main__":
    unittest.main()
