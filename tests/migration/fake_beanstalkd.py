"""What take-over needs of a beanstalkd with a log."""

import itertools
import socket

from fake_server import FakeServer


class Job:
    def __init__(self, number: int, tube: str, body: bytes, state: str) -> None:
        self.id, self.tube, self.body, self.state = number, tube, body, state
        self.reserves = self.buries = 0
        self.burial = -number  # what was put later was buried before it
        self.holder: object = None
        self.logged = (state, 0, 0)

    def log(self) -> None:
        self.logged = (self.state, self.reserves, self.buries)


class FakeBeanstalkd(FakeServer):
    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}
        self.numbers, self.burials = itertools.count(1), itertools.count(1)
        self.deleted: list[str] = []  # bodies of buried jobs
        self.lives = 1
        super().__init__()
        self.url = f"beanstalk://127.0.0.1:{self.port}"

    def add(self, tube: str, body: str, state: str = "ready") -> None:
        number = next(self.numbers)
        self.jobs[number] = Job(number, tube, body.encode(), state)

    def restart(self) -> None:
        """As from the log: reserve is not in it, and a buried job counts one bury more."""
        self.lives += 1
        for job in self.jobs.values():
            job.state, job.reserves, job.buries = job.logged
            job.holder = None
            if job.state == "buried":
                job.buries += 1
                job.log()

    def session(self, connection: socket.socket) -> "Session":
        return Session(self, connection)


class Session:
    def __init__(self, server: FakeBeanstalkd, connection: socket.socket) -> None:
        self.server, self.connection = server, connection
        self.bytes = b""
        self.used, self.watched = "default", {"default"}

    def feed(self, data: bytes) -> None:
        self.bytes += data
        while b"\r\n" in self.bytes:
            line, self.bytes = self.bytes.split(b"\r\n", 1)
            if not line:
                continue  # the body of a probe
            word, *arguments = line.decode().split(" ")
            answer = getattr(self, word.replace("-", "_"), self.unknown)(*arguments)
            self.server.send(self.connection, answer)

    def leave(self) -> None:
        for job in self.server.jobs.values():
            if job.holder is self:
                job.state, job.holder = "ready", None

    def unknown(self, *_: str) -> bytes:
        return b"UNKNOWN_COMMAND\r\n"

    @staticmethod
    def yaml(text: str) -> bytes:
        body = ("---\n" + text).encode()
        return b"OK %d\r\n%s\r\n" % (len(body), body)

    def stats(self) -> bytes:
        return self.yaml(f"id: {self.server.lives}\nbinlog-current-index: 1\n")

    def list_tubes(self) -> bytes:
        tubes = {"default"} | {job.tube for job in self.server.jobs.values()}
        return self.yaml("".join(f"- {tube}\n" for tube in sorted(tubes)))

    def watch(self, tube: str) -> bytes:
        self.watched.add(tube)
        return b"WATCHING %d\r\n" % len(self.watched)

    def ignore(self, tube: str) -> bytes:
        self.watched.discard(tube)
        return b"WATCHING %d\r\n" % len(self.watched)

    def use(self, tube: str) -> bytes:
        self.used = tube
        return b"USING %s\r\n" % tube.encode()

    def put(self, *_: str) -> bytes:
        self.server.add(self.used, "", "delayed")
        return b"INSERTED %d\r\n" % max(self.server.jobs)

    def found(self, word: bytes, job: Job | None) -> bytes:
        if job is None:
            return b"NOT_FOUND\r\n"
        return b"%s %d %d\r\n%s\r\n" % (word, job.id, len(job.body), job.body)

    def first(self, state: str, tubes: set[str]) -> Job | None:
        jobs = (job for job in self.server.jobs.values()
                if job.state == state and job.tube in tubes)
        if state == "buried":
            return min(jobs, key=lambda job: job.burial, default=None)
        return next(jobs, None)

    def reserve_with_timeout(self, _: str) -> bytes:
        job = self.first("ready", self.watched)
        if job is None:
            return b"TIMED_OUT\r\n"
        job.state, job.holder = "reserved", self
        job.reserves += 1
        return self.found(b"RESERVED", job)

    def peek_buried(self) -> bytes:
        return self.found(b"FOUND", self.first("buried", {self.used}))

    def peek_delayed(self) -> bytes:
        return self.found(b"FOUND", self.first("delayed", {self.used}))

    def peek_ready(self) -> bytes:
        return self.found(b"FOUND", self.first("ready", {self.used}))

    def peek(self, number: str) -> bytes:
        return self.found(b"FOUND", self.server.jobs.get(int(number)))

    def stats_job(self, number: str) -> bytes:
        job = self.server.jobs.get(int(number))
        if job is None:
            return b"NOT_FOUND\r\n"
        return self.yaml(f"id: {job.id}\ntube: {job.tube}\nstate: {job.state}\npri: 5\nage: 1\n"
                         f"ttr: 60\ntime-left: 9000\ndelay: 9000\nreserves: {job.reserves}\n"
                         f"buries: {job.buries}\n")

    def stats_tube(self, tube: str) -> bytes:
        count = lambda state: sum(job.tube == tube and job.state == state
                                  for job in self.server.jobs.values())
        return self.yaml("".join(f"current-jobs-{state}: {count(state)}\n"
                                 for state in ("ready", "reserved", "delayed", "buried")))

    def bury(self, number: str, _: str) -> bytes:
        job = self.server.jobs.get(int(number))
        if job is None or job.holder is not self:
            return b"NOT_FOUND\r\n"
        job.state, job.holder, job.burial = "buried", None, next(self.server.burials)
        job.buries += 1
        job.log()
        return b"BURIED\r\n"

    def delete(self, number: str) -> bytes:
        job = self.server.jobs.get(int(number))
        if job is None or (job.state == "reserved" and job.holder is not self):
            return b"NOT_FOUND\r\n"
        if job.state == "buried":
            self.server.deleted.append(job.body.decode())
        del self.server.jobs[job.id]
        return b"DELETED\r\n"
