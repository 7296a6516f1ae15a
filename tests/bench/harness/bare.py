"""Clients that only do what a move has to do there, in windows: the pace that an old server allows."""

import re
import socket
import struct
import threading
import time

WINDOW = 256
PATIENCE = 60  # seconds

_RESERVED = re.compile(rb"RESERVED (\d+) (\d+)\r\n")
_BODY = re.compile(rb"(?:RESERVED \d+|OK|FOUND \d+) (\d+)\r\n")

GRAB_JOB, COMPLETE, NO_JOB, ECHO, ECHO_RES, CAN_DO, SUBMIT_BG = 9, 13, 10, 16, 17, 1, 18


class Beanstalk:
    """A pipelining client of a server of beanstalk."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._bytes = b""

    def _ask(self, commands: list[str]) -> list[bytes]:
        """The answers, whole."""
        self._socket.sendall("".join(command + "\r\n" for command in commands).encode())
        answers: list[bytes] = []
        at = 0
        while len(answers) < len(commands):
            end = self._end(at)
            if end is None:
                self._bytes = self._bytes[at:] + self._socket.recv(1 << 18)
                at = 0
                continue
            answers.append(self._bytes[at:end])
            at = end
        self._bytes = self._bytes[at:]
        return answers

    def _end(self, at: int) -> int | None:
        line = self._bytes.find(b"\r\n", at)
        if line < 0:
            return None
        body = _BODY.match(self._bytes, at)
        end = line + 2 if body is None else body.end() + int(body[1]) + 2
        return end if end <= len(self._bytes) else None

    def fill(self, jobs: int, size: int) -> None:
        self._ask(["use work"])
        body = "x" * size
        for at in range(0, jobs, 1000):
            many = min(1000, jobs - at)
            put = f"put 1024 0 120 {size}\r\n{body}\r\n".encode() * many
            self._socket.sendall(put)
            while self._bytes.count(b"\r\n") < many:
                self._bytes += self._socket.recv(1 << 18)
            self._bytes = b""

    def drain(self) -> int:
        """reserve, stats-job, bury, delete; the number of jobs."""
        self._ask(["watch work"])
        done = 0
        while True:
            answers = self._ask(["reserve-with-timeout 0"] * WINDOW)
            ids = [found[1].decode() for found in map(_RESERVED.match, answers) if found]
            if not ids:
                return done
            self._ask([f"stats-job {number}" for number in ids])
            self._ask([f"bury {number} 1024" for number in ids])
            self._ask([f"delete {number}" for number in ids])
            done += len(ids)

    def put_for(self, stop: threading.Event, times: list[float]) -> None:
        """One put after the other, with a pause; how long each took, in seconds."""
        self._ask(["use aside"])
        while not stop.wait(0.002):
            began = time.monotonic()
            self._ask_line(b"put 0 0 60 1\r\nx\r\n")
            times.append(time.monotonic() - began)

    def _ask_line(self, command: bytes) -> None:
        self._socket.sendall(command)
        while not self._bytes.endswith(b"\r\n"):
            self._bytes += self._socket.recv(4096)
        self._bytes = b""


class Gearman:
    """A pipelining client and worker of a Gearman server."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._bytes = b""

    @staticmethod
    def _packet(kind: int, data: bytes = b"") -> bytes:
        return b"\0REQ" + struct.pack(">II", kind, len(data)) + data

    def _answers(self, many: int) -> list[tuple[int, bytes]]:
        answers = []
        at = 0
        while len(answers) < many:
            if len(self._bytes) - at >= 12:
                kind, size = struct.unpack_from(">II", self._bytes, at + 4)
                if len(self._bytes) - at >= 12 + size:
                    answers.append((kind, self._bytes[at + 12 : at + 12 + size]))
                    at += 12 + size
                    continue
            self._bytes = self._bytes[at:] + self._socket.recv(1 << 18)
            at = 0
        self._bytes = self._bytes[at:]
        return answers

    def fill(self, jobs: int, size: int) -> None:
        body = b"x" * size
        for at in range(0, jobs, 1000):
            many = range(at, min(at + 1000, jobs))
            self._socket.sendall(b"".join(
                self._packet(SUBMIT_BG, b"work\0u%d\0%s" % (number, body)) for number in many
            ))  # fmt: skip
            self._answers(len(many))

    def drain(self) -> int:
        """Grab and complete; the number of jobs."""
        self._socket.sendall(self._packet(CAN_DO, b"work"))
        done = 0
        while True:
            self._socket.sendall(self._packet(GRAB_JOB) * WINDOW)
            jobs = [data for kind, data in self._answers(WINDOW) if kind != NO_JOB]
            if not jobs:
                return done
            handles = [job.split(b"\0", 1)[0] for job in jobs]
            self._socket.sendall(b"".join(
                self._packet(COMPLETE, handle + b"\0") + self._packet(ECHO, handle)
                for handle in handles
            ))  # fmt: skip
            self._answers(len(handles))
            done += len(handles)
