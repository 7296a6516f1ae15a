"""One client connection: sends bytes, receives whole replies and tells them in written form."""

from __future__ import annotations

import re
import socket
import struct
import time

from notation import render_packet, render_text
from servers import PATIENCE

SILENT_SECONDS = 0.15

CLOSED = "(closed)"
NOTHING = "(nothing)"
SILENT = "(silent)"

_WITH_BODY = re.compile(rb"(?:OK|RESERVED \d+|FOUND \d+) (\d+)\r\n")
_FENCE = b"fence"
_FENCE_REQUEST = b"\0REQ" + struct.pack(">II", 16, len(_FENCE)) + _FENCE
_FENCE_REPLY = "{ECHO_RES fence}"


class _Closed(Exception):
    pass


class Connection:
    def __init__(self, port: int) -> None:
        self._buffer = bytearray()
        self._socket: socket.socket | None = None
        try:
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            self.close()

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def send(self, data: bytes) -> None:
        """A peer that is gone shows in the next reply, not here."""
        if self._socket:
            self._socket.settimeout(PATIENCE)
            try:
                self._socket.sendall(data)
            except OSError:
                pass

    def half_close(self) -> None:
        if self._socket:
            try:
                self._socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def reset(self) -> None:
        if self._socket:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close()

    def _fill(self, deadline: float) -> None:
        """Reads some bytes; raises TimeoutError at the deadline, _Closed at the end."""
        if not self._socket:
            raise _Closed
        self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            data = self._socket.recv(1 << 16)
        except TimeoutError:
            raise
        except OSError as error:
            raise _Closed from error
        if not data:
            raise _Closed
        self._buffer += data

    def _need(self, count: int, deadline: float) -> None:
        while len(self._buffer) < count:
            self._fill(deadline)

    def _take(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _line_length(self, start: int, deadline: float) -> int:
        """The length of the buffer up to the end of the line that begins at `start`."""
        while (at := self._buffer.find(b"\n", start)) < 0:
            self._fill(deadline)
        return at + 1

    def _framed(self, deadline: float, table: bool) -> str:
        self._need(1, deadline)
        if self._buffer[0] == 0:
            self._need(12, deadline)
            magic, number, size = struct.unpack(">4sII", self._buffer[:12])
            self._need(12 + size, deadline)
            return render_packet(magic, number, self._take(12 + size)[12:])
        end = self._line_length(0, deadline)
        if table:
            start = 0
            while self._buffer[start:end] != b".\n" and not self._buffer.startswith(b"ERR "):
                start, end = end, self._line_length(end, deadline)
        elif body := _WITH_BODY.fullmatch(self._buffer[:end]):
            end += int(body[1]) + 2
            self._need(end, deadline)
        return render_text(self._take(end))

    def _left_over(self, outcome: str) -> str:
        rest = render_text(self._take(len(self._buffer)))
        return f"{rest}\n{outcome}" if rest else outcome

    def reply(self, table: bool = False, seconds: float = PATIENCE) -> str:
        """One whole reply, or what came instead of one."""
        try:
            return self._framed(time.monotonic() + seconds, table)
        except TimeoutError:
            return self._left_over(NOTHING)
        except _Closed:
            return self._left_over(CLOSED)

    def everything(self) -> list[str]:
        """All replies until the server closes."""
        replies: list[str] = []
        while not replies or not replies[-1].endswith((CLOSED, NOTHING)):
            replies.append(self.reply())
        return replies

    def silence(self, seconds: float) -> str:
        """What comes in so many seconds."""
        try:
            self._need(1, time.monotonic() + seconds)
        except TimeoutError:
            return SILENT
        except _Closed:
            return CLOSED
        return self.reply()

    def fence(self) -> list[str]:
        """Waits until the server has handled all that was sent; tells what it said before that."""
        self.send(_FENCE_REQUEST)
        before: list[str] = []
        while (reply := self.reply()) != _FENCE_REPLY:
            before.append(reply)
            if reply.endswith((CLOSED, NOTHING)):
                break
        return before
