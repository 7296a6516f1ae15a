"""Tiny clients of both protocols. They know how to speak, and nothing of what it should mean."""

from __future__ import annotations

import re
import socket
import struct

REPLY_SECONDS = 60.0


class Gone(Exception):
    """The broker ended the connection, or has ended itself."""


class Silent(Exception):
    """A reply that did not come in any reasonable time."""


class Connection:
    def __init__(self, port: int, seconds: float = REPLY_SECONDS) -> None:
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        except OSError as error:
            raise Gone(str(error)) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise Silent("the broker does not read") from error
        except OSError as error:
            raise Gone(str(error)) from error

    def _fill(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except TimeoutError as error:
            raise Silent("no reply") from error
        except OSError as error:
            raise Gone(str(error)) from error
        if not data:
            raise Gone("closed")
        self._buffer += data

    def exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def line(self) -> bytes:
        """Up to LF, without it and without a CR before it."""
        while (end := self._buffer.find(b"\n")) < 0:
            self._fill()
        return self.exactly(end + 1)[:-1].removesuffix(b"\r")


class Beanstalk(Connection):
    """Replies are (word, arguments, body)."""

    Reply = tuple[str, list[str], bytes]

    def reply(self) -> Reply:
        word, *arguments = self.line().decode("latin-1").split(" ")
        if word in ("RESERVED", "FOUND") or (word == "OK" and arguments):
            body = self.exactly(int(arguments[-1]) + 2)
            return word, arguments[:-1], body[:-2]
        return word, arguments, b""

    def ask(self, line: str) -> Reply:
        self.send(line.encode() + b"\r\n")
        return self.reply()

    def ask_all(self, lines: list[str]) -> list[Reply]:
        """Pipelined, in pieces that fit into the buffers of any socket."""
        replies = []
        for start in range(0, len(lines), 100):
            piece = lines[start:start + 100]
            self.send("".join(line + "\r\n" for line in piece).encode())
            replies += [self.reply() for _ in piece]
        return replies

    @staticmethod
    def put(priority: int, delay: int, ttr: int, body: bytes) -> bytes:
        return b"put %d %d %d %d\r\n%b\r\n" % (priority, delay, ttr, len(body), body)


def fields(yaml: bytes) -> dict[str, str]:
    """The flat maps of stats-job, stats-tube and stats; strings without their quotes."""
    found = re.findall(rb"^([\w-]+): (.*)$", yaml, re.MULTILINE)
    return {key.decode(): value.decode("latin-1").strip('"') for key, value in found}


CAN_DO, NOOP, SUBMIT_JOB, JOB_CREATED = 1, 6, 7, 8
NO_JOB, WORK_COMPLETE, WORK_FAIL, ECHO_REQ, ECHO_RES = 10, 13, 14, 16, 17
SUBMIT_JOB_BG, ERROR, SUBMIT_JOB_HIGH_BG, SUBMIT_JOB_LOW_BG = 18, 19, 32, 34
WORK_EXCEPTION, GRAB_JOB_UNIQ, JOB_ASSIGN_UNIQ, SUBMIT_JOB_EPOCH = 25, 30, 31, 36


class Gearman(Connection):
    """Packets are (type, arguments); the last argument is the data."""

    Packet = tuple[int, list[bytes]]

    _ARGUMENTS = {JOB_ASSIGN_UNIQ: 4, ERROR: 2, WORK_COMPLETE: 2, WORK_EXCEPTION: 2}

    def packet(self) -> Packet:
        magic, kind, size = struct.unpack(">4sII", self.exactly(12))
        if magic != b"\0RES":
            raise ValueError(f"no packet of a server: {magic!r}")
        count = self._ARGUMENTS.get(kind, 1)
        return kind, self.exactly(size).split(b"\0", count - 1)

    def ask(self, kind: int, *arguments: bytes) -> Packet:
        self.send(self.request(kind, *arguments))
        return self.packet()

    @staticmethod
    def request(kind: int, *arguments: bytes) -> bytes:
        payload = b"\0".join(arguments)
        return struct.pack(">4sII", b"\0REQ", kind, len(payload)) + payload


def id_of(handle: bytes) -> int:
    return int(handle.rpartition(b":")[2])


def handle_of(server_name: str, job: int) -> bytes:
    return f"H:{server_name}:{job}".encode()
