"""The real beanstalkd."""

import socket
import subprocess
import time
from pathlib import Path

from tools import PATIENCE


class Beanstalkd:
    """The real one, on a free port, with a log."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        directory.mkdir(exist_ok=True)
        self.line = ["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), "-b", str(directory)]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.line)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.client = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.02)
        self.file = self.client.makefile("rb")
        self.url = f"beanstalk://127.0.0.1:{self.port}"

    def ask(self, *lines: str) -> list[str]:
        self.client.sendall("".join(line + "\r\n" for line in lines).encode())
        return [self.file.readline().decode().strip() for _ in lines]

    def put(self, tube: str, body: str, priority: int = 9, delay: int = 0, ttr: int = 60) -> int:
        self.client.sendall(f"use {tube}\r\nput {priority} {delay} {ttr} {len(body)}\r\n{body}\r\n"
                            .encode())
        self.file.readline()
        return int(self.file.readline().split()[1])

    def counts(self) -> dict[str, int]:
        """Of its jobs, by state."""
        self.client.sendall(b"stats\r\n")
        size = int(self.file.readline().split()[1])
        text = self.file.read(size + 2).decode()
        pairs = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        return {state: int(pairs[f"current-jobs-{state}"])
                for state in ("ready", "reserved", "delayed", "buried")}

    def kill(self) -> None:
        self.file.close()
        self.client.close()
        self.process.kill()
        self.process.wait(PATIENCE)

    def __enter__(self) -> "Beanstalkd":
        return self

    def __exit__(self, *unused: object) -> None:
        self.kill()


NOTHING = {"ready": 0, "reserved": 0, "delayed": 0, "buried": 0}
