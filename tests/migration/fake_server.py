"""A server on a free port that dies when it has sent so many bytes, or says nothing from then on."""

import socket
import threading
from contextlib import suppress

from tools import eventually


class Death(Exception):
    """The server is gone, or this connection is."""


class FakeServer:
    """`death` is what happens when `budget` bytes were sent: "server": it ends, and start() begins
    another life with what a log would have kept; "connection": connections are reset, and commands
    that were read are still done; "hang": nothing is sent any more. None: it lives on."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.budget: int | None = None
        self.death = "server"
        self.sent = 0
        self.marks: list[int] = []  # where replies end
        self.connections: list[socket.socket] = []
        self.others: list[socket.socket] = []
        threading.Thread(target=self.listen, args=(self.listener,), daemon=True).start()

    def listen_at(self, host: str) -> None:
        """On the same port of another address, too."""
        self.others.append(socket.create_server((host, self.port)))
        threading.Thread(target=self.listen, args=(self.others[-1],), daemon=True).start()

    def listen(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        session = self.session(connection)
        try:
            while data := connection.recv(65536):
                with self.lock:
                    if connection not in self.connections:
                        return
                    session.feed(data)
        except (Death, OSError):
            pass
        finally:
            with self.lock:
                if connection in self.connections:
                    self.connections.remove(connection)
                    session.leave()
                connection.close()

    def send(self, connection: socket.socket, data: bytes) -> None:
        left = len(data) if self.budget is None else max(0, self.budget - self.sent)
        part = data[:left]
        if part and connection in self.connections:
            connection.sendall(part)
        self.sent += len(part)
        if len(part) < len(data):
            self.die()
        elif not data.startswith(b"TIMED_OUT"):  # hundreds of them, all alike
            self.marks.append(self.sent)

    def die(self) -> None:
        if self.death == "hang":
            return
        for connection in self.connections:
            with suppress(OSError):  # its client has reset it
                connection.shutdown(socket.SHUT_RDWR)
        if self.death == "server":
            self.connections = []
            self.restart()
            raise Death

    def live(self) -> None:
        """From now on without end. Its clients have ended."""
        eventually("it sees their ends", self.is_alone)
        with self.lock:
            self.budget = None

    def is_alone(self) -> bool:
        with self.lock:
            return not self.connections

    def close(self) -> None:
        for listener in [self.listener, *self.others]:
            listener.close()
        with self.lock:
            for connection in self.connections:
                connection.close()
            self.connections = []
