"""The broker as a process, and clients of it that know nothing but sockets."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from clocks import Clocks  # noqa: E402
from launched import PATIENCE, Launched, eventually  # noqa: E402, F401

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"


class Client:
    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.socket.settimeout(PATIENCE)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def fill(self) -> bool:
        """False at the end."""
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            if not self.fill():
                raise EOFError(self.buffer[:200])
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def line(self) -> bytes:
        while b"\n" not in self.buffer:
            if not self.fill():
                raise EOFError(self.buffer[:200])
        return self.exactly(self.buffer.index(b"\n") + 1)

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        return self.line()

    def packet(self) -> tuple[int, bytes]:
        magic, kind, size = struct.unpack(">4sII", self.exactly(12))
        assert magic == b"\0RES", magic
        return kind, self.exactly(size)

    def ask_packet(self, kind: int, *arguments: bytes) -> tuple[int, bytes]:
        self.send(request(kind, *arguments))
        return self.packet()

    def rest(self) -> bytes:
        """All until the end."""
        parts = []
        while self.fill():
            parts.append(self.buffer)
            self.buffer = b""
        return b"".join(parts)

    def ended(self) -> bool:
        return self.rest() == b""

    def close(self) -> None:
        self.socket.close()


def request(kind: int, *arguments: bytes) -> bytes:
    payload = b"\0".join(arguments)
    return struct.pack(">4sII", b"\0REQ", kind, len(payload)) + payload


class BrokerTest(unittest.TestCase):
    """Each test starts its own broker, whose log is shown when the test fails."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gearstalk-")))
        self.process = None
        self.clients: list[Client] = []

    def tearDown(self) -> None:
        for client in self.clients:
            client.close()
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.assertEqual(self.process.wait(PATIENCE), 0, self.log())
        finally:
            self.process.kill()
            self.process.wait()

    def start(self, *arguments: str, listen: tuple[str, ...] = ("127.0.0.1:0",),
              before: tuple[str, ...] = ()) -> None:
        self.broker = Launched(BROKER, *arguments, listen=listen, before=before)
        self.process = self.broker.process
        self.broker.wait_ready()
        self.addresses = self.broker.addresses

    def start_with_clocks(self, library: str, *arguments: str) -> Clocks:
        """What moves the broker's clocks."""
        clocks = Clocks(library, self.folder / "clocks")
        self.start(*arguments, before=tuple(clocks.before))
        return clocks

    def log(self) -> str:
        return self.broker.said

    def connect(self, address: int = 0) -> Client:
        name = self.addresses[address]
        if name.startswith("unix:"):
            connected = socket.socket(socket.AF_UNIX)
            connected.connect(name.removeprefix("unix:"))
        else:
            host, _, port = name.rpartition(":")
            connected = socket.create_connection((host, int(port)), timeout=PATIENCE)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.clients.append(Client(connected))
        return self.clients[-1]

    def secure(self, context: ssl.SSLContext, address: int = 0) -> Client:
        plain = self.connect(address)
        plain.socket = context.wrap_socket(plain.socket, server_hostname="localhost")
        return plain

    def resident(self) -> int:
        """Bytes of memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def grown_less(self, before: int, most: int) -> bool:
        """Since resident() said `before`. A sanitizer's own memory says nothing about the broker's."""
        binary = Path(BROKER).read_bytes()
        sanitized = any(name in binary for name in (b"__asan_init", b"__tsan_init"))
        return sanitized or self.resident() - before < most

    def assert_grown_less(self, before: int, most: int) -> None:
        self.assertTrue(self.grown_less(before, most), f"{before} -> {self.resident()}")
