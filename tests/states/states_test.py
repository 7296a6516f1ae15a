#!/usr/bin/env python3
"""Random clients against a real broker: states_test.py BROKER [--steps N] [--seconds S] [--seed N].

Many connections at a time speak both protocols in any state, in plain text and over TLS: half
commands, unread answers, resets, half-closes, words of the other protocol, HTTP, pauses of the
process, reloads. Others speak HTTP with the operators' pages. Jobs have a TTR of a second. The broker
must answer a well-behaved client after every few steps, be idle when nothing is
said, close all their connections, and stop when it is told to. A failure names its seed.
"""

import argparse
import fcntl
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import Launched  # noqa: E402

PATIENCE = 60.0  # seconds; a busy machine is slow
LEAST_IDLE = 1.0  # seconds of silence after which a connection may be closed
CONNECTIONS = 40
TUBES = [b"default", b"a", b"b", b"$reply/1"]
# A socket that is not ready; the one of TLS is an OSError, too.
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
HTTP = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nput 0 0 1 1\r\nx\r\n"


def packet(kind: int, *parts: bytes) -> bytes:
    payload = b"\0".join(parts)
    return struct.pack(">4sII", b"\0REQ", kind, len(payload)) + payload


def beanstalk(choose: random.Random) -> bytes:
    tube, job = choose.choice(TUBES), b"%d" % choose.randrange(1, 200)
    size = choose.choice([0, 1, 100, 5000, 60_000])
    return choose.choice([
        b"put %d %d 1 %d\r\n%s\r\n" % (choose.randrange(3), choose.choice([0, 0, 0, 1]), size,
                                       b"x" * size),
        b"use %s\r\n" % tube, b"watch %s\r\n" % tube, b"ignore %s\r\n" % tube,
        b"reserve\r\n", b"reserve-with-timeout 0\r\n", b"reserve-with-timeout 1\r\n",
        b"reserve-job %s\r\n" % job, b"delete %s\r\n" % job, b"release %s 0 0\r\n" % job,
        b"bury %s 0\r\n" % job, b"touch %s\r\n" % job, b"kick 10\r\n", b"kick-job %s\r\n" % job,
        b"peek %s\r\n" % job, b"peek-ready\r\n", b"pause-tube %s 1\r\n" % tube, b"list-tubes\r\n",
        b"stats\r\n", b"stats-job %s\r\n" % job, b"stats-tube %s\r\n" % tube, b"quit\r\n"])


def gearman(choose: random.Random) -> bytes:
    tube = choose.choice(TUBES[1:3])
    handle = b"H:gearstalkd:%d" % choose.randrange(1, 200)
    data = b"x" * choose.choice([0, 1, 5000, 100_000])
    return choose.choice([
        packet(1, tube), packet(23, tube, b"1"), packet(2, tube), packet(3), packet(4), packet(9),
        packet(30), packet(39), packet(7, tube, b"", data), packet(7, tube, b"k", data),
        packet(18, tube, b"", data), packet(18, tube, b"-", data), packet(12, handle, b"1", b"2"),
        packet(28, handle, data), packet(29, handle, data), packet(13, handle, data),
        packet(14, handle), packet(25, handle, data), packet(15, handle), packet(16, data),
        packet(22, b"name"), packet(26, b"exceptions"), packet(36, tube, b"", b"1", data),
        b"\0REQ" + os.urandom(8), b"\0RES" + b"\0" * 8])


def admin(choose: random.Random) -> bytes:
    end = choose.choice([b"\n", b"\r\n"])
    return choose.choice([b"status", b"workers", b"version", b"show jobs", b"show unique jobs",
                          b"prioritystatus", b"maxqueue a 100", b"create function a",
                          b"drop function a", b"cancel job H:gearstalkd:1", b"verbose"]) + end


def rubbish(choose: random.Random) -> bytes:
    return choose.choice([os.urandom(choose.randrange(1, 50)), b"\r\n", b"\n", b"x" * 300_000, HTTP,
                          b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0", b"p"])


def http(choose: random.Random) -> bytes:
    tube = choose.choice(["default", "a", "b", "%24reply%2F1"])
    body = choose.choice(['{"body": "x", "ttr_seconds": 1}', '{"count": 10}', "{", "[]", ""])
    path = choose.choice([
        "/metrics", "/metrics?tubes=a", "/healthz", "/readyz", "/api/v1/tubes", "/api/v1/server",
        f"/api/v1/tubes/{tube}", f"/api/v1/tubes/{tube}/jobs", "/api/v1/events",
        "/api/v1/connections", f"/api/v1/jobs/{choose.randrange(1, 200)}", "/console/", "/%", "*"])
    method = choose.choice(["GET", "GET", "GET", "POST", "DELETE", "HEAD", "PATCH"])
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def certificate(folder: Path) -> Path:
    key, own = folder / "server.key", folder / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-keyout", key, "-out", own], check=True, capture_output=True)
    own.write_text(own.read_text() + key.read_text())
    return own


class Storm:
    def __init__(self, binary: str, seed: int, folder: Path) -> None:
        self.choose = random.Random(seed)
        self.config = folder / "gearstalkd.yaml"
        self.certificate = certificate(folder)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.configure(0)
        self.broker = Launched(binary, "--config", self.config, "--data-dir", folder / "data",
                               listen=())
        self.broker.wait_ready()
        self.process = self.broker.process
        self.port = self.broker.ports[0]
        self.admin = int(self.broker.admin.rpartition(":")[2])
        self.connections: list[socket.socket] = []
        self.operators: set[socket.socket] = set()  # of them: who speak HTTP
        self.sockets = self.broker.sockets()
        self.check()

    def configure(self, timeout: int) -> None:
        new = self.config.with_suffix(".new")
        new.write_text("listen: 127.0.0.1:0\nserver_name: gearstalkd\nmax_job_size: 1000000\n"
                       f"admin: 127.0.0.1:0\ntls:\n  certificate: {self.certificate}\n"
                       f"limits:\n  idle_timeout: {timeout}\n  memory: 50000000\n"
                       f"  output: {65536 << timeout}\n")
        new.rename(self.config)

    def wait(self, what: str, done) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            if self.process.poll() is not None:
                raise AssertionError(f"the broker ended with {self.process.returncode}")
            if time.monotonic() > end:
                raise AssertionError(f"never: {what}")
            time.sleep(0.01)

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # --- steps

    def connect(self) -> None:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        kind = self.choose.choices(["plain", "tls", "operator"], [8, 2, 2])[0]
        client.connect(("127.0.0.1", self.admin if kind == "operator" else self.port))
        if kind == "tls":
            began = time.monotonic()
            try:
                client = self.tls.wrap_socket(client)
            except OSError:
                if time.monotonic() - began < LEAST_IDLE:
                    raise
                return
        client.setblocking(False)
        self.connections.append(client)
        if kind == "operator":
            self.operators.add(client)

    def say(self, client: socket.socket) -> None:
        kinds = [beanstalk, gearman, admin, rubbish, http]
        shares = [0, 0, 0, 1, 9] if client in self.operators else [6, 6, 2, 1, 0]
        kind = self.choose.choices(kinds, shares)[0]
        words = b"".join(kind(self.choose) for _ in range(self.choose.choice([1, 1, 2, 20])))
        if self.choose.random() < 0.1:
            words = words[:self.choose.randrange(len(words)) + 1]
        try:
            client.send(words)
        except NOT_NOW:
            pass
        except OSError:
            self.end(client)

    def read(self, client: socket.socket) -> None:
        try:
            if client.recv(1 << 20) == b"":
                self.end(client)
        except NOT_NOW:
            pass
        except OSError:
            self.end(client)

    def half_close(self, client: socket.socket) -> None:
        try:
            client.shutdown(socket.SHUT_WR)
        except OSError:
            self.end(client)

    def reset(self, client: socket.socket) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end(client)

    def end(self, client: socket.socket) -> None:
        # While a reserve waits, the broker does not read what the client sent behind it, so it would
        # see the end minutes later.
        if struct.unpack("i", fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)))[0] > 0:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        self.operators.discard(client)
        if client in self.connections:
            self.connections.remove(client)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        for client in self.choose.sample(self.connections, min(5, len(self.connections))):
            self.choose.choice([self.say, self.reset, self.half_close])(client)
        time.sleep(self.choose.choice([0.01, 0.2, 1.5]))
        self.process.send_signal(signal.SIGCONT)

    def reload(self) -> None:
        self.configure(self.choose.choice([0, 1, 2]))
        self.process.send_signal(signal.SIGHUP)

    def step(self) -> None:
        if len(self.connections) < CONNECTIONS and self.choose.random() < 0.2:
            self.connect()
        if not self.connections:
            return
        client = self.choose.choice(self.connections)
        self.choose.choices([self.say, self.read, self.half_close, self.reset, self.end],
                            [70, 20, 3, 3, 1])[0](client)
        if self.choose.random() < 0.003:
            self.pause()
        if self.choose.random() < 0.003:
            self.reload()

    # --- what must hold

    def check(self) -> None:
        """Others are served, unless the machine makes them so slow that they count as idle."""
        while True:
            began = time.monotonic()
            try:
                return self.ask()
            except (AssertionError, OSError):
                if time.monotonic() - began < LEAST_IDLE:
                    raise

    def ask(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as client:
            client.sendall(b"list-tube-used\r\n" + packet(16, b"hello"))
            if client.recv(100) != b"USING default\r\n":
                raise AssertionError("a good client is not answered")
        with socket.create_connection(("127.0.0.1", self.admin), PATIENCE) as operator:
            operator.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            if not operator.recv(100).startswith(b"HTTP/1.1 200"):
                raise AssertionError("an operator is not answered")

    def settle(self) -> None:
        while self.connections:
            self.end(self.connections[-1])
        self.wait("all connections closed", lambda: self.broker.sockets() <= self.sockets)
        time.sleep(1.2)  # whatever was reserved has come back
        self.wait("a loop that rests when nobody is there", self.rests)
        self.check()

    def rests(self) -> bool:
        before = self.cpu()
        time.sleep(0.5)
        return self.cpu() - before <= 0.25

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(PATIENCE) != 0:
            raise AssertionError(f"the broker ended with {self.process.returncode}")


def storm(binary: str, seed: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        running = Storm(binary, seed, Path(folder))
        try:
            for step in range(1, steps + 1):
                running.step()
                if step % 100 == 0:
                    running.check()
                if step % 2000 == 0:
                    running.settle()
            running.settle()
            running.stop()
        except (AssertionError, OSError) as error:
            sys.exit(f"seed {seed}: {error}\n{running.broker.said[-2000:]}")
        finally:
            running.broker.kill()
            for client in running.connections:
                client.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="new seeds until they are over")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    seed = options.seed
    storm(options.binary, seed, options.steps)
    while time.monotonic() < end:
        seed += 1
        storm(options.binary, seed, options.steps)
    print(f"seeds {options.seed} to {seed}: {options.steps} steps each")


if __name__ == "__main__":
    main()
