"""The real beanstalkd."""

import socket
from pathlib import Path

from tools import PATIENCE, Process, free_port


class Beanstalkd(Process):
    """The real one, on a free port, with a log."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"beanstalk://127.0.0.1:{self.port}"
        directory.mkdir(exist_ok=True)
        super().__init__(["beanstalkd", "-l", "127.0.0.1", "-p", self.port, "-b", directory])

    def start(self) -> None:
        super().start()
        self.wait_for_port(self.port)
        self.client = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self.file = self.client.makefile("rb")

    def ask(self, *lines: str) -> list[str]:
        self.client.sendall("".join(line + "\r\n" for line in lines).encode())
        return [self.file.readline().decode().strip() for _ in lines]

    def put(self, tube: str, body: str, priority: int = 9, delay: int = 0, ttr: int = 60) -> int:
        self.client.sendall(f"use {tube}\r\nput {priority} {delay} {ttr} {len(body)}\r\n{body}\r\n"
                            .encode())
        self.file.readline()
        return int(self.file.readline().split()[1])

    def stats(self, command: str = "stats") -> dict[str, str]:
        self.client.sendall(command.encode() + b"\r\n")
        size = int(self.file.readline().split()[1])
        text = self.file.read(size + 2).decode()
        return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)

    def counts(self) -> dict[str, int]:
        """Of its jobs, by state."""
        stats = self.stats()
        return {state: int(stats[f"current-jobs-{state}"])
                for state in ("ready", "reserved", "delayed", "buried")}

    def take_all(self, tube: str) -> list[str]:
        """The bodies of its ready jobs, which are deleted."""
        self.ask(f"watch {tube}")
        return self.take_each("reserve-with-timeout 0")

    def take_buried(self, tube: str) -> list[str]:
        """The bodies of its buried jobs, which are deleted, the oldest first."""
        self.ask(f"use {tube}")
        return self.take_each("peek-buried")

    def take_each(self, command: str) -> list[str]:
        bodies = []
        while len(words := self.ask(command)[0].split()) == 3:
            bodies.append(self.file.read(int(words[2]) + 2).decode()[:-2])
            self.ask(f"delete {words[1]}")
        return bodies

    def kill(self) -> None:
        self.file.close()
        self.client.close()
        super().kill()


NOTHING = {"ready": 0, "reserved": 0, "delayed": 0, "buried": 0}
