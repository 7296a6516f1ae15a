"""What take-over needs of a gearmand with a store."""

import itertools
import socket
import struct
import time

from fake_server import FakeServer


class Job:
    def __init__(self, number: int, function: str, body: bytes, job_class: int,
                 foreground: bool) -> None:
        self.number, self.function, self.body, self.job_class = number, function, body, job_class
        self.foreground = foreground
        self.holder: object = None

    @property
    def handle(self) -> bytes:
        return b"H:fake:%d" % self.number


class FakeGearmand(FakeServer):
    def __init__(self) -> None:
        self.jobs: dict[bytes, Job] = {}
        self.numbers = itertools.count(1)
        self.functions: set[str] = set()  # names that this life has heard
        self.sleeps = 0
        self.store_s = 0.0  # that it takes to delete a job from the store
        self.reads_late = False  # a result is done only with the next echo of its connection
        self.most_held = 0
        self.most_at_once = 0  # submits that came together
        self.sessions: list[Session] = []
        super().__init__()
        self.url = f"gearman://127.0.0.1:{self.port}"

    def add(self, function: str, body: str, job_class: int = 1, foreground: bool = False) -> None:
        job = Job(next(self.numbers), function, body.encode(), job_class, foreground)
        self.jobs[job.handle] = job
        self.functions.add(function)

    def restart(self) -> None:
        """As from a store: the jobs get other handles."""
        self.sessions = []
        self.functions = set()
        left, self.jobs, self.numbers = self.jobs.values(), {}, itertools.count(1)
        for job in left:
            self.add(job.function, job.body.decode(), job.job_class, job.foreground)

    def before(self, kind: int) -> None:
        """A packet of this kind is about to be done."""

    def session(self, connection: socket.socket) -> "Session":
        session = Session(self, connection)
        with self.lock:
            self.sessions.append(session)
        return session


class Session:
    def __init__(self, server: FakeGearmand, connection: socket.socket) -> None:
        self.server, self.connection = server, connection
        self.bytes, self.client_id = b"", "-"
        self.functions: list[str] = []
        self.late: list[list[bytes]] = []  # results that are not done yet

    def feed(self, data: bytes) -> None:
        self.bytes += data
        submits = 0
        while self.bytes:
            if self.bytes[:1] != b"\0":
                if b"\n" not in self.bytes:
                    return
                line, self.bytes = self.bytes.split(b"\n", 1)
                self.server.send(self.connection, self.line(line.decode()))
                continue
            if len(self.bytes) < 12:
                return
            kind, size = struct.unpack(">II", self.bytes[4:12])
            if len(self.bytes) < 12 + size:
                return
            body, self.bytes = self.bytes[12:12 + size], self.bytes[12 + size:]
            submits += kind == 18
            self.server.most_at_once = max(self.server.most_at_once, submits)
            for kind, arguments in self.packet(kind, body.split(b"\0")):
                answer = b"\0".join(arguments)
                self.server.send(self.connection,
                                 b"\0RES" + struct.pack(">II", kind, len(answer)) + answer)

    def leave(self) -> None:
        if self in self.server.sessions:
            self.server.sessions.remove(self)
        for job in self.server.jobs.values():
            if job.holder is self:
                job.holder = None

    def packet(self, kind: int, arguments: list[bytes]) -> list[tuple[int, list[bytes]]]:
        jobs = self.server.jobs
        self.server.before(kind)
        if kind == 1:
            self.functions.append(arguments[0].decode())
            self.server.functions.add(arguments[0].decode())
        elif kind == 2:
            self.functions.remove(arguments[0].decode())
        elif kind == 18:
            self.server.add(arguments[0].decode(), arguments[2].decode())
            return [(8, [max(jobs.values(), key=lambda job: job.number).handle])]
        elif kind == 4:
            self.server.sleeps += 1
        elif kind == 22:
            self.client_id = arguments[0].decode()
        elif kind == 16:
            late, self.late = self.late, []
            done = [answer for each in late for answer in self.complete(each)]
            return [*done, (17, arguments)]
        elif kind == 39:
            waiting = [job for job in jobs.values()
                       if job.holder is None and job.function in self.functions]
            if not waiting:
                return [(10, [])]
            job = min(waiting, key=lambda each: each.job_class)
            job.holder = self
            held = sum(each.holder is not None for each in jobs.values())
            self.server.most_held = max(self.server.most_held, held)
            return [(31, [job.handle, job.function.encode(), b"", job.body])]
        elif kind == 13 and self.server.reads_late:
            self.late.append(arguments)
        elif kind == 13:
            return self.complete(arguments)
        elif kind == 15:
            known = b"1" if arguments[0] in jobs else b"0"
            return [(20, [arguments[0], known, b"0", b"0", b"0"])]
        return []

    def complete(self, arguments: list[bytes]) -> list[tuple[int, list[bytes]]]:
        if arguments[0] not in self.server.jobs:
            return [(19, [b"JOB_NOT_FOUND", b"no such job"])]
        time.sleep(self.server.store_s)
        del self.server.jobs[arguments[0]]
        return []

    def line(self, line: str) -> bytes:
        jobs = list(self.server.jobs.values())
        functions = sorted(self.server.functions)
        workers = lambda name: sum(name in each.functions for each in self.server.sessions)
        rows = []
        if line == "getpid":
            return b"OK 1\n"  # in each life, as in a container
        if line == "status":
            for name in functions:
                mine = [job for job in jobs if job.function == name]
                running = sum(job.holder is not None for job in mine)
                rows.append(f"{name}\t{len(mine)}\t{running}\t{workers(name)}")
        elif line == "prioritystatus":
            for name in functions:
                counts = [sum(job.function == name and job.holder is None
                              and job.job_class == each for job in jobs) for each in range(3)]
                rows.append("\t".join(map(str, [name, *counts, workers(name)])))
        elif line == "show jobs":
            rows = [f"{job.handle.decode()}\t0\t0\t{int(not job.foreground)}" for job in jobs]
        elif line == "workers":
            rows = [f"7 127.0.0.1 {each.client_id} : {' '.join(each.functions)}"
                    for each in self.server.sessions]
        else:
            return f"ERR UNKNOWN_COMMAND Unknown+server+command{line.strip()}\r\n".encode()
        return "".join(row + "\n" for row in rows).encode() + b".\n"
