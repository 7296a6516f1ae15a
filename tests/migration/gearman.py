"""A Gearman client and worker, and the real gearmand."""

import os
import socket
import struct
import time

from tools import PATIENCE, Process, free_port

CAN_DO, SUBMIT, CREATED, GRAB_UNIQ, ASSIGN_UNIQ, NO_JOB = 1, 7, 8, 30, 31, 10
STATUS, COMPLETE, FAIL, EXCEPTION, DATA, WARNING = 12, 13, 14, 25, 28, 29
SUBMIT_BG, SUBMIT_HIGH_BG, SUBMIT_LOW_BG, SUBMIT_EPOCH = 18, 32, 34, 36
OPTION, CLIENT_ID = 26, 22
SUBMIT_REDUCE, SUBMIT_REDUCE_BG, GRAB_ALL, ASSIGN_ALL = 37, 38, 39, 40


class Peer:
    """One connection to a Gearman server."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), PATIENCE)
        self.file = self.socket.makefile("rb")

    def send(self, kind: int, *arguments: bytes | str) -> None:
        body = b"\0".join(each.encode() if isinstance(each, str) else each for each in arguments)
        self.socket.sendall(b"\0REQ" + struct.pack(">II", kind, len(body)) + body)

    def receive(self) -> tuple[int, list[bytes]]:
        head = self.file.read(12)
        kind, size = struct.unpack(">II", head[4:])
        return kind, self.file.read(size).split(b"\0")

    def ask(self, kind: int, *arguments: bytes | str) -> tuple[int, list[bytes]]:
        self.send(kind, *arguments)
        return self.receive()

    def lines(self, command: str) -> list[str]:
        self.socket.sendall(command.encode() + b"\n")
        lines = []
        while (line := self.file.readline().decode().rstrip("\n")) != ".":
            lines.append(line)
        return lines

    def grab(self, grab: int = GRAB_UNIQ, assign: int = ASSIGN_UNIQ) -> list[bytes]:
        """The next job: handle, function, unique, body. A worker that polls."""
        end = time.monotonic() + PATIENCE
        while True:
            kind, job = self.ask(grab)
            if kind == assign:
                return job
            assert kind == NO_JOB and time.monotonic() < end
            time.sleep(0.02)

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class Gearmand(Process):
    """The real one, on a free port."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"gearman://{self.address}"
        super().__init__(["gearmand", "-L", "127.0.0.1", "-p", self.port, "-l", "none", *options])

    def start(self) -> None:
        super().start()
        self.wait_for_port(self.port)

    def functions(self) -> dict[str, tuple[int, int]]:
        """Jobs and running jobs of each function."""
        with Peer(self.address) as peer:
            rows = [line.split("\t") for line in peer.lines("status")]
        return {row[0]: (int(row[1]), int(row[2])) for row in rows}

    def is_alone(self) -> bool:
        """No worker is connected."""
        with Peer(self.address) as peer:
            return all(line.split("\t")[3] == "0" for line in peer.lines("status"))

    def waiting(self) -> int:
        return sum(total for total, _ in self.functions().values())


def has_gearmand() -> bool:
    return any(os.access(os.path.join(path, "gearmand"), os.X_OK)
               for path in os.environ["PATH"].split(":") + ["/usr/sbin"])
