#!/usr/bin/env python3
"""TLS and rights of the real process, with clients of other people: tls_process_test.py BROKER CLOCKS."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import unittest
from pathlib import Path

from process import BROKER, PATIENCE, BrokerTest, Client, eventually, request

CLOCKS = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
ECHO_REQ, ECHO_RES, SUBMIT_JOB_BG, JOB_CREATED, ERROR, CAN_DO = 16, 17, 18, 8, 19, 1

PERL = r"""
use Gearman::Client;
my $client = Gearman::Client->new(job_servers => [{host => "localhost", port => $ARGV[0],
    use_ssl => 1, ca_file => $ARGV[1]}]);
print $client->dispatch_background("f", "hello") ? "created\n" : "none\n";
"""

RUBY = r"""
require "beaneater"
require "openssl"
CONTEXT = OpenSSL::SSL::SSLContext.new
CONTEXT.set_params(ca_file: ARGV[1], verify_mode: OpenSSL::SSL::VERIFY_PEER)
module Secured
  def new(host, port, *)
    socket = OpenSSL::SSL::SSLSocket.new(super, CONTEXT)
    socket.sync_close = true
    socket.hostname = host
    socket.connect
    socket
  end
end
TCPSocket.singleton_class.prepend(Secured)
beanstalk = Beaneater.new("localhost:#{ARGV[0]}")
beanstalk.tubes["t"].put("x" * 50_000)
beanstalk.tubes.watch!("t")
job = beanstalk.tubes.reserve(5)
puts "#{job.body.size} #{job.stats.state}"
job.delete
beanstalk.close
"""


class Certificates:
    """Made by the `openssl` command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.signed_by_itself("ca")
        self.signed("server")

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def run(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=PATIENCE)

    def signed_by_itself(self, name: str) -> None:
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", self.path(f"{name}.key"),
                 "-out", self.path(f"{name}.pem"))

    def signed(self, name: str, file: str | None = None) -> None:
        file = file or name
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-subj", f"/CN={name}", "-keyout", self.path(f"{file}.key"),
                 "-out", self.path(f"{file}.csr"))
        names = self.folder / "names"
        names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.run("x509", "-req", "-days", "2", "-CAcreateserial", "-in", self.path(f"{file}.csr"),
                 "-CA", self.path("ca.pem"), "-CAkey", self.path("ca.key"),
                 "-extfile", str(names), "-out", self.path(f"{file}.pem"))

    def client(self, name: str | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if name:
            context.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        return context


class TlsTest(BrokerTest):
    def setUp(self) -> None:
        super().setUp()
        self.certificates = Certificates(self.folder)

    def start_tls(self, *arguments: str, **more: tuple[str, ...]) -> None:
        self.start(*self.server_files(), *arguments, **more)

    def server_files(self) -> tuple[str, ...]:
        return ("--tls-certificate", self.certificates.path("server.pem"),
                "--tls-key", self.certificates.path("server.key"))

    def secured(self, name: str | None = None, address: int = 0) -> Client:
        return self.secure(self.certificates.client(name), address)

    def refused(self, client_name: str | None = None) -> bool:
        """A client of TLS 1.3 learns of it when it first reads."""
        try:
            client = self.secured(client_name)
            client.send(b"list-tube-used\r\n")
            return client.ended()
        except (ssl.SSLError, ConnectionError):
            return True

    def server_name(self) -> str:
        client = self.secured()
        subject = client.socket.getpeercert()["subject"]
        client.close()
        return dict(pair[0] for pair in subject)["commonName"]


class Hostile(TlsTest):
    def test_forward_secret_authenticated_ciphers_only(self) -> None:
        self.start_tls()
        context = self.certificates.client()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        for weak in ("AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA"):
            context.set_ciphers(weak)
            with self.assertRaises(ssl.SSLError, msg=weak):
                self.secure(context)
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
        self.assertEqual(self.secure(context).ask(b"list-tube-used\r\n"), b"USING default\r\n")

    def test_a_malformed_packet_behind_unread_answers_ends_one_connection(self) -> None:
        """Its client does not read, and another connection reports on its job."""
        submit_job, grab_job, work_data = 7, 9, 28
        self.start_tls()
        worker = self.connect()
        worker.send(request(CAN_DO, b"f"))
        for echoes in range(4, 30, 2):
            client = self.secured()
            kind, handle = client.ask_packet(submit_job, b"f", b"", b"x")
            self.assertEqual(kind, JOB_CREATED)
            kind, assigned = worker.ask_packet(grab_job)
            self.assertEqual(assigned.split(b"\0")[0], handle)
            for _ in range(echoes):
                client.send(request(ECHO_REQ, b"x" * 200_000))
            client.send(request(ECHO_REQ, b"x") + b"\0BAD" + b"\0" * 8)
            for _ in range(20):
                worker.send(request(work_data, handle, b"data"))
            worker.send(request(13, handle, b"done"))
            self.assertEqual(self.connect().ask(b"list-tube-used\r\n"), b"USING default\r\n")
            client.close()


class Speaking(TlsTest):
    def test_all_on_one_port(self) -> None:
        self.start_tls()
        for client in (self.connect(), self.secured()):
            self.assertEqual(client.ask(b"list-tube-used\r\n"), b"USING default\r\n")
            self.assertTrue(client.ask(b"version\r\n").startswith(b"OK "))
        for client in (self.connect(), self.secured()):
            self.assertEqual(client.ask_packet(ECHO_REQ, b"x"), (ECHO_RES, b"x"))
            self.assertTrue(client.ask(b"version\n").startswith(b"OK "))

    def test_only_where_it_is_required(self) -> None:
        self.start_tls(listen=("127.0.0.1:0,tls=required", "127.0.0.1:0,tls=off"))
        plain = self.connect()
        plain.send(b"list-tube-used\r\n")
        self.assertTrue(plain.ended())
        self.assertEqual(self.secured().ask(b"list-tube-used\r\n"), b"USING default\r\n")
        self.assertEqual(self.connect(1).ask(b"list-tube-used\r\n"), b"USING default\r\n")
        eventually("a line in the log", lambda: "tls" in self.log())

    def test_much_at_once(self) -> None:
        self.start_tls("--max-job-size", "4000000")
        client = self.secured()
        body = bytes(range(256)) * 12_000
        self.assertEqual(client.ask(b"put 0 0 60 %d\r\n%b\r\n" % (len(body), body)),
                         b"INSERTED 1\r\n")
        self.assertEqual(client.ask(b"peek 1\r\n"), b"FOUND 1 %d\r\n" % len(body))
        self.assertEqual(client.exactly(len(body) + 2), body + b"\r\n")
        client.send(b"put 0 0 60 1\r\nx\r\n" * 3000)
        replies = [client.line() for _ in range(3000)]
        self.assertEqual(replies[-1], b"INSERTED 3001\r\n")

    def test_a_slow_reader(self) -> None:
        self.start_tls("--limits-output", "200000")
        slow, other = self.secured(), self.secured()
        slow.ask(b"put 0 0 60 60000\r\n" + b"x" * 60_000 + b"\r\n")
        before = self.resident()
        slow.send(b"peek 1\r\n" * 500 + b"quit\r\n")
        self.assertEqual(other.ask(b"list-tube-used\r\n"), b"USING default\r\n")
        self.assert_grown_less(before, 20_000_000)
        self.assertEqual(slow.rest().count(b"FOUND 1 60000\r\n"), 500)

    def test_a_handshake_keeps_nobody(self) -> None:
        clocks = self.start_with_clocks(CLOCKS, "--limits-handshake-timeout", "600",
                                        *self.server_files())
        halves = [self.connect() for _ in range(20)]
        for half in halves:
            half.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        self.assertEqual(self.secured().ask(b"list-tube-used\r\n"), b"USING default\r\n")
        clocks.set(wall=700, boot=700)
        for half in halves:
            self.assertTrue(half.ended())
        eventually("a line in the log", lambda: "handshake_timeout" in self.log())

    def test_where_it_is_required_silence_is_none(self) -> None:
        self.start_tls("--limits-handshake-timeout", "1",
                       listen=("127.0.0.1:0,tls=required", "127.0.0.1:0"))
        silent, elsewhere = self.connect(), self.connect(1)
        refused = (r"refused reason=handshake_timeout .*client=127\.0\.0\.1:"
                   rf"{silent.socket.getsockname()[1]} ")
        self.assertTrue(silent.ended())
        eventually("a line in the log", lambda: re.search(refused, self.log()))
        self.assertEqual(elsewhere.ask(b"list-tube-used\r\n"), b"USING default\r\n")

    def test_its_end_is_said(self) -> None:
        self.start_tls()
        client = self.secured()
        client.socket.suppress_ragged_eofs = False
        client.send(b"put 0 0 60 1\r\nx\r\nquit\r\n")
        self.assertEqual(client.rest(), b"INSERTED 1\r\n")

    def test_nonsense_is_refused(self) -> None:
        self.start_tls()
        client = self.connect()
        client.send(b"\x16 what is this, and why is there so much of it\r\n")
        client.rest()
        eventually("a line in the log", lambda: "reason=tls" in self.log().replace('"', ""))
        self.assertEqual(self.secured().ask(b"list-tube-used\r\n"), b"USING default\r\n")


class Reloading(TlsTest):
    def test_new_files_serve_new_connections(self) -> None:
        self.start_tls()
        old = self.secured()
        self.assertEqual(self.server_name(), "server")
        self.certificates.signed("renewed", "server")
        self.process.send_signal(signal.SIGHUP)
        eventually("the new certificate", lambda: self.server_name() == "renewed")
        eventually("a line in the log", lambda: re.search(r'certificate in use.*CN=renewed.*ends="?20\d\d-', self.log()))
        self.assertEqual(old.ask(b"list-tube-used\r\n"), b"USING default\r\n")

    def test_bad_files_change_nothing(self) -> None:
        self.start_tls()
        Path(self.certificates.path("server.key")).write_text("none\n")
        self.process.send_signal(signal.SIGHUP)
        eventually("a line in the log", lambda: "--tls-key: " in self.log())
        self.assertEqual(self.server_name(), "server")

    def test_rights(self) -> None:
        config = self.folder / "gearstalkd.yaml"
        config.write_text("rights: ['* all']\n")
        self.start("--config", str(config))
        client = self.connect()
        self.assertEqual(client.ask(b"watch w\r\n"), b"WATCHING 2\r\n")
        config.write_text("rights: ['* produce']\n")
        self.process.send_signal(signal.SIGHUP)
        eventually("the new rights", lambda: client.ask(b"watch w\r\n") == b"UNKNOWN_COMMAND\r\n")
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"), b"INSERTED 1\r\n")


class HalfClosed(TlsTest):
    """Who sends much, ends its side and listens hears an answer to everything."""

    def setUp(self) -> None:
        super().setUp()
        self.start_tls()

    def both(self):
        yield self.connect()
        yield self.secured()

    def tell(self, client: Client, data: bytes) -> bytes:
        client.send(data)
        with socket.socket(fileno=os.dup(client.socket.fileno())) as same:
            same.shutdown(socket.SHUT_WR)
        return client.rest()

    def test_puts(self) -> None:
        for client in self.both():
            heard = self.tell(client, (b"put 0 0 60 100\r\n" + b"x" * 100 + b"\r\n") * 5_000)
            self.assertEqual(heard.count(b"INSERTED"), 5_000)

    def test_behind_a_reserve(self) -> None:
        for client in self.both():
            heard = self.tell(client, b"reserve\r\n" + b"delete 999999999\r\n" * 10_000)
            self.assertEqual(heard, b"TIMED_OUT\r\n" + b"NOT_FOUND\r\n" * 10_000)

    def test_submits(self) -> None:
        for client in self.both():
            heard = self.tell(client, request(SUBMIT_JOB_BG, b"f", b"", b"x" * 100) * 5_000)
            self.assertEqual(heard.count(b"\0RES\0\0\0\x08"), 5_000)


class ClientCertificates(TlsTest):
    def start_asking(self, asked: str, *arguments: str, **more: tuple[str, ...]) -> None:
        self.certificates.signed("worker-1")
        self.certificates.signed_by_itself("stranger")
        self.start_tls("--tls-client-ca", self.certificates.path("ca.pem"),
                       "--tls-client-certificates", asked, *arguments, **more)

    def test_required(self) -> None:
        self.start_asking("required")
        self.assertEqual(self.secured("worker-1").ask(b"list-tube-used\r\n"), b"USING default\r\n")
        self.assertTrue(self.refused())
        self.assertTrue(self.refused("stranger"))

    def test_required_is_not_said_of_plain_text(self) -> None:
        self.start_asking("required", listen=("127.0.0.1:0", "127.0.0.1:0,tls=required"))
        self.assertEqual(self.log().count("then no certificate is required"), 1)
        self.assertEqual(self.connect().ask(b"list-tube-used\r\n"), b"USING default\r\n")
        plain = self.connect(1)
        plain.send(b"list-tube-used\r\n")
        self.assertTrue(plain.ended())

    def test_optional_with_rights(self) -> None:
        self.start_asking("optional", "--rights", "cert=worker-* consume work.*",
                          "--rights", "* produce")
        worker, anybody, plain = self.secured("worker-1"), self.secured(), self.connect()
        self.assertTrue(self.refused("stranger"))
        self.assertEqual(worker.ask(b"watch work.1\r\n"), b"WATCHING 1\r\n")
        self.assertEqual(worker.ask(b"watch other\r\n"), b"UNKNOWN_COMMAND\r\n")
        for client in (anybody, plain):
            self.assertEqual(client.ask(b"watch work.1\r\n"), b"UNKNOWN_COMMAND\r\n")
            self.assertEqual(client.ask(b"use other\r\n"), b"USING other\r\n")
        kind, text = self.connect().ask_packet(CAN_DO, b"work.1")
        self.assertEqual((kind, text.split(b"\0")[0]), (ERROR, b"NOT_ALLOWED"))
        self.assertEqual(plain.ask(b"shutdown\r\n"),
                         b"ERR NOT_ALLOWED This+connection+may+not+do+that\r\n")


class Rights(BrokerTest):
    def test_by_address(self) -> None:
        path = f"unix:{self.folder}/socket"
        self.start("--rights", f"listen={path} all", "--rights", "* produce,observe in.*",
                   listen=("127.0.0.1:0", path + ",mode=0600"))
        local, remote = self.connect(1), self.connect()
        self.assertEqual((self.folder / "socket").stat().st_mode & 0o777, 0o600)
        self.assertEqual(remote.ask(b"use in.1\r\n"), b"USING in.1\r\n")
        self.assertEqual(remote.ask(b"put 0 0 60 1\r\nx\r\n"), b"INSERTED 1\r\n")
        self.assertEqual(remote.ask(b"reserve\r\n"), b"UNKNOWN_COMMAND\r\n")
        self.assertEqual(local.ask(b"watch in.1\r\n"), b"WATCHING 2\r\n")
        self.assertEqual(local.ask(b"reserve\r\n"), b"RESERVED 1 1\r\n")
        remote.send(b"status\n")
        self.assertEqual((remote.line(), remote.line()), (b"in.1\t1\t1\t1\n", b".\n"))

    def test_shutdown_is_for_whom_it_is_said(self) -> None:
        path = f"unix:{self.folder}/socket"
        self.start("--shutdown-from", "nowhere", listen=("127.0.0.1:0", path))
        for address in (0, 1):
            self.assertTrue(self.connect(address).ask(b"shutdown\r\n").startswith(b"ERR NOT_ALLOW"))

    def test_bad_rules_are_named(self) -> None:
        for arguments, message in (
                (["--rights", "* put"], "unknown right 'put'"),
                (["--listen", "127.0.0.1:0,tls=required"], "needs tls.certificate"),
                (["--tls-certificate", "/nowhere/c.pem"], "/nowhere/c.pem': No such file")):
            for check in ([], ["--check-config"]):
                done = subprocess.run([BROKER, *check, *arguments], capture_output=True, text=True,
                                      timeout=PATIENCE)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)


class OtherPeoplesClients(TlsTest):
    def run_client(self, *command: str, given: bytes = b"") -> bytes:
        done = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def port(self) -> str:
        return self.addresses[0].rpartition(":")[2]

    def test_openssl(self) -> None:
        self.start_tls()
        for version in ("-tls1_2", "-tls1_3"):
            heard = self.run_client("openssl", "s_client", "-quiet", version, "-verify_return_error",
                                    "-CAfile", self.certificates.path("ca.pem"),
                                    "-connect", f"localhost:{self.port()}",
                                    given=b"list-tube-used\r\nversion\r\nquit\r\n")
            self.assertTrue(heard.startswith(b"USING default\r\nOK "), heard)

    def test_the_checks_of_the_manual(self) -> None:
        self.certificates.signed("worker-1")
        self.start_tls("--tls-client-ca", self.certificates.path("ca.pem"), "--tls-client-certificates", "required")
        section = (ROOT / "docs/security.md").read_text().split("## Threats")[0]
        lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
        script = "\n".join(line[2:] for line in lines if line.startswith("$ "))
        script = script.replace("broker.example:4730", f"localhost:{self.port()}")
        heard = self.run_client("bash", "-c", f"cd {self.folder} && {script}")
        wanted = [line for line in lines if not line.startswith("$ ")]
        self.assertEqual(len(wanted), 3)
        self.assertEqual(heard.decode().splitlines(), wanted)

    @unittest.skipUnless(shutil.which("ruby"), "no ruby")
    def test_beaneater(self) -> None:
        self.start_tls()
        heard = self.run_client("ruby", "-e", RUBY, self.port(), self.certificates.path("ca.pem"))
        self.assertEqual(heard, b"50000 reserved\n")

    @unittest.skipIf(subprocess.run(["perl", "-MGearman::Client", "-MIO::Socket::SSL", "-e", "1"],
                                    capture_output=True).returncode, "no Gearman::Client with TLS")
    def test_perl(self) -> None:
        self.start_tls()
        heard = self.run_client("perl", "-e", PERL, self.port(), self.certificates.path("ca.pem"))
        self.assertEqual(heard, b"created\n")


if __name__ == "__main__":
    unittest.main()
