"""A broker whose clients' sockets routers hold, and beanstalk clients of it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import sys
import unittest
import urllib.request
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import PATIENCE, Launched, eventually  # noqa: E402, F401

BINARY = sys.argv.pop(1)
ROUTERS = 4


class Connection:
    """A beanstalk client."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def ask(self, text: str) -> str:
        self.socket.sendall(text.encode())
        return self.line()

    def line(self) -> str:
        line = self.file.readline().decode()
        if not line.endswith("\r\n"):
            raise ConnectionError(f"ended after {line!r}")
        return line[:-2]

    def put(self, body: str) -> str:
        return self.ask(f"put 0 0 60 {len(body)}\r\n{body}\r\n")

    def reserve(self) -> tuple[str, str]:
        """The id and the body of a job."""
        words = self.ask("reserve\r\n").split()
        assert words[0] == "RESERVED", words
        return words[1], self.file.read(int(words[2]) + 2)[:-2].decode()

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.file.close()
        self.socket.close()


class RoutedTest(unittest.TestCase):
    def launch(self, *options: object, routers: int = ROUTERS, with_pages: bool = True) -> Launched:
        pages = ("--admin", "127.0.0.1:0") if with_pages else ()
        broker = Launched(BINARY, "--routers", routers, *pages, *options)
        self.addCleanup(broker.kill)
        broker.wait_ready()
        return broker

    @staticmethod
    def routers(broker: Launched) -> list[int]:
        """The processes that it has now."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):
                state, parent = status.read_text().rpartition(") ")[2].split()[:2]
                if int(parent) == broker.pid and state != "Z":
                    found.append(int(status.parent.name))
        return sorted(found)

    @staticmethod
    def metric(broker: Launched, name: str) -> float:
        with urllib.request.urlopen(f"http://{broker.admin}/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    @staticmethod
    def api(broker: Launched, path: str) -> dict:
        with urllib.request.urlopen(f"http://{broker.admin}/api/v1/{path}", timeout=PATIENCE) as answer:
            return json.load(answer)

    def connect(self, broker: Launched) -> Connection:
        connection = Connection(broker.ports[0])
        self.addCleanup(connection.close)
        return connection

    @staticmethod
    def send(pid: int, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
