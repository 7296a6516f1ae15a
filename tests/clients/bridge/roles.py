"""What an actor can play: a beanstalk connection, a Gearman client, a Gearman worker."""

from dataclasses import dataclass

from bridge.actor import Actor, ActorError, Refused

PUT_PRIORITY = 65536
PUT_TTR = 120
RESERVE_SECONDS = 100  # less than an actor's answer is awaited


@dataclass(frozen=True)
class Reserved:
    job_id: int
    body: bytes


class Beanstalk:
    """A beanstalk connection of some library."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def ask(self, verb: str, *args: str | bytes | int) -> list[bytes]:
        word, fields = self.actor.ask(verb, *args)
        return self._check(word, fields)

    @staticmethod
    def _check(word: str, fields: list[bytes]) -> list[bytes]:
        if word == "error":
            raise Refused(fields[0].decode())
        return fields

    def put(self, tube: str, body: str | bytes, pri: int = PUT_PRIORITY, delay: int = 0,
            ttr: int = PUT_TTR) -> int:
        return int(self.ask("put", tube, body, pri, delay, ttr)[0])

    def reserve(self, tube: str, seconds: int = RESERVE_SECONDS) -> Reserved:
        fields = self.ask("reserve", tube, seconds)
        return Reserved(int(fields[0]), fields[1])

    def start_reserve(self, tube: str) -> None:
        self.actor.send("reserve", tube, RESERVE_SECONDS)

    def reserved(self) -> Reserved:
        fields = self._check(*self.actor.answer())
        return Reserved(int(fields[0]), fields[1])

    def delete(self, job_id: int) -> None:
        self.ask("delete", job_id)

    def reply(self, job_id: int, body: str | bytes) -> int:
        """Answers the Gearman client that waits for a job this connection holds."""
        return self.put(f"$reply/{job_id}", body)

    def job(self, job_id: int) -> dict[str, str]:
        return _pairs(self.ask("stats-job", job_id))

    def tube(self, name: str) -> dict[str, str]:
        return _pairs(self.ask("stats-tube", name))

    def stats(self) -> dict[str, str]:
        return _pairs(self.ask("stats"))

    def exists(self, job_id: int) -> bool:
        try:
            self.job(job_id)
        except Refused as refused:
            if refused.word != "NOT_FOUND":
                raise
            return False
        return True

    def peek(self, state: str, tube: str) -> Reserved:
        fields = self.ask(f"peek-{state}", tube)
        return Reserved(int(fields[0]), fields[1])

    def tubes(self) -> list[str]:
        return [name.decode() for name in self.ask("list")]


class GearmanClient:
    """A Gearman client of some library."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def submit(self, function: str, body: str | bytes, unique: str = "",
               priority: str = "normal") -> str:
        """Submits a foreground job and returns its handle; `end` has how it ended."""
        self.actor.send("submit", function, body, unique, priority)
        return self.actor.event("created")[0].decode()

    def refused_submit(self, function: str, body: str) -> str:
        """Submits what the server must refuse; returns what the library says."""
        self.actor.send("submit", function, body, "", "normal")
        word, fields = self.actor.answer()
        if word != "error":
            raise ActorError(f"submit ended with {word}, want an error")
        return fields[0].decode()

    def end(self) -> tuple[str, bytes]:
        word, fields = self.actor.answer()
        return word, fields[0] if fields else b""

    def background(self, function: str, body: str | bytes, unique: str = "",
                   priority: str = "normal") -> str:
        return self._created("background", function, body, unique, priority)

    def epoch(self, function: str, body: str, seconds: int) -> str:
        return self._created("epoch", function, body, seconds)

    def _created(self, verb: str, *args: str | bytes | int) -> str:
        word, fields = self.actor.ask(verb, *args)
        if word == "error":
            raise Refused(fields[0].decode())
        return fields[0].decode()

    def status(self, handle: str) -> list[int]:
        """Known, running, numerator, denominator."""
        return [int(field) for field in self.actor.ask("status", handle)[1]]


@dataclass(frozen=True)
class Assigned:
    handle: str
    unique: str
    body: bytes


class GearmanWorker:
    """A Gearman worker of some library: it sleeps until a job comes and follows our steps."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def start(self, *functions: str) -> None:
        self.actor.send("work", ",".join(functions))

    def job(self) -> Assigned:
        handle, unique, body = self.actor.event("job")
        return Assigned(handle.decode(), unique.decode(), body)

    def take(self, *functions: str) -> Assigned:
        self.start(*functions)
        return self.job()

    def step(self, name: str, *args: str | bytes | int) -> None:
        self.actor.send(name, *args)

    def finish(self, name: str, *args: str | bytes | int) -> None:
        """The last step of a job: complete, fail or exception."""
        self.step(name, *args)
        word, _ = self.actor.answer()
        if word != "done":
            raise ActorError(f"{self.actor.name}: {word} after {name}")


def _pairs(fields: list[bytes]) -> dict[str, str]:
    return dict(field.decode().split("=", 1) for field in fields)


def id_of(handle: str) -> int:
    """The job id at the end of a handle."""
    return int(handle.rpartition(":")[2])
