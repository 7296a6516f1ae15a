"""Clients and workers that speak Gearman."""

import socket
import struct

from cluster import PATIENCE, Broker

CAN_DO, PRE_SLEEP, NOOP, SUBMIT, CREATED, GRAB, NO_JOB, ASSIGNED, COMPLETE, STATUS, STATUS_IS = (
    1, 4, 6, 7, 8, 9, 10, 11, 13, 15, 20)
SUBMIT_BG, ERROR, EXCEPTION, SUBMIT_HIGH_BG, SUBMIT_LOW_BG, SUBMIT_EPOCH = 18, 19, 25, 32, 34, 36


class Gearman:
    """A connection that speaks Gearman."""

    def __init__(self, broker: Broker) -> None:
        self.socket = socket.create_connection((broker.host, broker.port), PATIENCE)
        self.file = self.socket.makefile("rb")

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def send(self, kind: int, *fields: str) -> None:
        data = "\0".join(fields).encode()
        self.socket.sendall(b"\0REQ" + struct.pack(">II", kind, len(data)) + data)

    def receive(self) -> tuple[int, list[str]]:
        header = self.file.read(12)
        if len(header) != 12:
            raise ConnectionResetError("the connection ended")
        kind, size = struct.unpack(">II", header[4:])
        return kind, self.file.read(size).decode().split("\0")

    def ask(self, kind: int, *fields: str) -> tuple[int, list[str]]:
        self.send(kind, *fields)
        return self.receive()

    def ended(self) -> bool:
        """Waits for the end of the connection; nothing may come before."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
