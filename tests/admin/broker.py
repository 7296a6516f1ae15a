"""The real broker with its pages, and what it says of itself."""

import re
import socket
import struct
import sys
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import Launched, eventually  # noqa: E402, F401

SECONDS = 120  # for whatever should come at once

Labels = frozenset[tuple[str, str]]


class Broker(Launched):
    def __init__(self, binary: str, *options: str, descriptors: int | None = None) -> None:
        before = ("prlimit", f"--nofile={descriptors}") if descriptors else ()
        super().__init__(binary, "--admin", "127.0.0.1:0", *options, before=before)
        self.wait_ready()
        self.port = self.ports[0]

    def get(self, path: str, method: str = "GET", data: bytes | None = None) -> tuple[int, str]:
        request = urllib.request.Request(f"http://{self.admin}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self, query: str = "") -> "Metrics":
        status, text = self.get(f"/metrics{query}")
        if status != 200:
            raise RuntimeError(f"/metrics answered {status}: {text}")
        return Metrics(text)


class Metrics:
    """A page of metrics, taken apart."""

    LINE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
    LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: dict[str, dict[Labels, float]] = {}
        self.types: dict[str, str] = {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:]
                self.types[name] = kind
            elif not line.startswith("#"):
                name, labels, value = self.LINE.fullmatch(line).groups()
                key = frozenset(self.LABEL.findall(labels or ""))
                if key in self.values.setdefault(name, {}):
                    raise ValueError(f"twice: {line}")
                self.values[name][key] = float(value)

    def get(self, name: str, **labels: str) -> float:
        return self.values[name][frozenset(labels.items())]

    def names(self) -> set[str]:
        return set(self.values)


class Client:
    """A connection that speaks either protocol."""

    def __init__(self, address: int | str) -> None:
        """A port of this machine, or the path of a Unix socket."""
        if isinstance(address, int):
            self.socket = socket.create_connection(("127.0.0.1", address), SECONDS)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(SECONDS)
            self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        self.sent = self.received = 0

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.sent += len(data)
        self.socket.sendall(data)

    def line(self) -> str:
        line = self.file.readline()
        self.received += len(line)
        return line.decode().rstrip("\r\n")

    def body(self, size: int) -> bytes:
        body = self.file.read(size)
        self.received += size
        return body

    # beanstalk

    def say(self, command: str) -> str:
        """The line that answers; the body behind OK, RESERVED and FOUND is read, too."""
        self.send(command.encode() + b"\r\n")
        return self.answer()

    def answer(self) -> str:
        line = self.line()
        words = line.split()
        if words[0] in ("OK", "RESERVED", "FOUND"):
            self.body(int(words[-1]) + 2)
        return line

    def put(self, body: str, delay: int = 0, ttr: int = 60) -> int:
        word, number = self.say(f"put 10 {delay} {ttr} {len(body)}\r\n{body}").split()
        if word != "INSERTED":
            raise RuntimeError(f"put was answered {word}")
        return int(number)

    def yaml(self, command: str) -> dict[str, str]:
        self.send(command.encode() + b"\r\n")
        size = int(self.line().split()[1])
        lines = self.body(size + 2).decode().splitlines()
        return dict(line.split(": ", 1) for line in lines if ": " in line)

    # Gearman

    def packet(self, kind: int, *parts: bytes) -> None:
        data = b"\0".join(parts)
        self.send(b"\0REQ" + struct.pack(">II", kind, len(data)) + data)

    def response(self) -> tuple[int, list[bytes]]:
        magic, kind, size = struct.unpack(">4sII", self.body(12))
        if magic != b"\0RES":
            raise RuntimeError(f"no response: {magic!r}")
        return kind, self.body(size).split(b"\0")

    def ask(self, kind: int, *parts: bytes) -> tuple[int, list[bytes]]:
        self.packet(kind, *parts)
        return self.response()

    def admin(self, line: str, table: bool = False) -> list[str]:
        self.send(line.encode() + b"\n")
        lines = [self.line()]
        while table and lines[-1] != ".":
            lines.append(self.line())
        return lines
