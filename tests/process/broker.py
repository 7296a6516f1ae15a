"""A broker for the time of a test, and what it says."""

import socket
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import PATIENCE, Launched, Process, eventually  # noqa: E402

__all__ = ["BROKER", "PATIENCE", "Broker", "Directory", "Process", "eventually"]

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") \
    else "build/gearstalkd"


class Broker(Launched):
    """Started with the given flags; `ports` are known when it is ready."""

    def __init__(self, *flags: str, program: str = BROKER, **how: object) -> None:
        super().__init__(program, *flags, **how)

    def connect(self, index: int = 0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.ports[index]), PATIENCE)

    def ask(self, request: bytes) -> bytes:
        with self.connect() as client:
            client.sendall(request)
            return client.recv(4096)


class Directory:
    """A directory with a configuration file."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.path = Path(self._directory.name)
        self.file = self.path / "gearstalkd.yaml"

    def configure(self, text: str) -> None:
        new = self.path / "new.yaml"
        new.write_text(text)
        new.rename(self.file)

    def close(self) -> None:
        self._directory.cleanup()
