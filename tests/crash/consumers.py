"""Clients that take jobs from the shared tubes and decide what becomes of them."""

from __future__ import annotations

import time

import wire
from broker import SERVER_NAME
from model import BURIED, DELAYED, Change, Job, Put
from producers import SHARED
from wire import Beanstalk, Gearman, handle_of, id_of
from world import PRIORITIES, Actor, World, body

WORDS = {"delete": "DELETED", "release": "RELEASED", "bury": "BURIED", "kick": "KICKED"}


def line_of(change: Change, job: Job) -> str:
    if change.kind == "release":
        return f"release {job.id} {change.priority} {change.delay}"
    if change.kind == "bury":
        return f"bury {job.id} {change.priority}"
    return f"{'kick-job' if change.kind == 'kick' else change.kind} {job.id}"


class BeanstalkConsumer(Actor):
    """Also kicks and deletes what it has buried or delayed itself, and its share of what was so
    at the start: nobody else touches those."""

    def __init__(self, world: World, seed: int, index: int, of: int) -> None:
        super().__init__(world, seed)
        self.parked = [job for job in world.model.jobs.values()
                       if job.id % of == index and job.tube in SHARED and parked(job)]

    def begin(self) -> None:
        self.connection = Beanstalk(self.world.port)
        for tube in SHARED:
            self.connection.ask(f"watch {tube}")
        self.held = 0

    def step(self) -> None:
        if self.held > 20 or self.rng.random() < 0.02:
            self.connection.close()  # what it held is ready again
            self.begin()
        if self.parked and self.rng.random() < 0.3:
            self.unpark()
        count = self.rng.choice((1, 2, 6))
        asked = self.connection.ask_all(["reserve-with-timeout 0"] * count)
        taken = [self.model.saw(int(arguments[0]), data)
                 for word, arguments, data in asked if word == "RESERVED"]
        for reply in asked:
            if reply[0] not in ("RESERVED", "TIMED_OUT"):
                self.unexpected("reserve", reply)
        if not taken:
            time.sleep(0.002)
        self.do([(job, change) for job in taken if (change := self.decide(job))])

    def decide(self, job: Job) -> Change | None:
        kind = self.rng.choices(("delete", "release", "bury", "touch", "hold"),
                                (50, 25, 15, 5, 5))[0]
        if kind == "hold":
            self.held += 1
            return None
        if kind == "touch":
            if (reply := self.connection.ask(f"touch {job.id}"))[0] != "TOUCHED":
                self.unexpected(f"touch {job.id}", reply)
            kind = "delete"
        delay = self.rng.choice((0, 0, 1, 5000)) if kind == "release" else 0
        if kind == "bury" or delay > 1:
            self.parked.append(job)
        return self.model.change(job, kind, self.rng.choice(PRIORITIES), delay)

    def unpark(self) -> None:
        self.rng.shuffle(self.parked)
        jobs, self.parked = self.parked[:3], self.parked[3:]
        self.do([(job, self.model.change(job, self.rng.choice(("kick", "delete"))))
                 for job in jobs])

    def do(self, work: list[tuple[Job, Change]]) -> None:
        replies = self.connection.ask_all([line_of(change, job) for job, change in work])
        for (job, change), reply in zip(work, replies):
            if reply[0] != WORDS[change.kind]:
                self.model.withdraw(job, change)
                self.unexpected(line_of(change, job), reply)
            self.model.acknowledge(change)


def parked(job: Job) -> bool:
    """Nobody gets it by asking for any job, now and for a long time."""
    states = job.settled or set()
    return bool(states) and all(
        state.kind == BURIED or (state.kind == DELAYED and state.due[0] > time.time() + 600)
        for state in states)


class GearmanWorker(Actor):
    """Nothing answers a WORK_COMPLETE. What it did is acknowledged when a job that it submits
    afterwards is: the log keeps their order."""

    def begin(self) -> None:
        self.connection = Gearman(self.world.port)
        for tube in SHARED:
            self.connection.send(Gearman.request(wire.CAN_DO, tube.encode()))
        self.held = 0

    def step(self) -> None:
        if self.held > 20 or self.rng.random() < 0.02:
            self.connection.close()
            self.begin()
        count = self.rng.choice((1, 4))
        self.connection.send(Gearman.request(wire.GRAB_JOB_UNIQ) * count)
        taken = [job for _ in range(count) if (job := self.taken())]
        if not taken:
            time.sleep(0.002)
        changes = [change for job in taken if (change := self.finish(job))]
        if changes and self.rng.random() < 0.5:
            self.submit_behind(changes)
        else:
            self.echo()

    def taken(self) -> Job | None:
        kind, arguments = self.connection.packet()
        if kind == wire.NO_JOB:
            return None
        if kind != wire.JOB_ASSIGN_UNIQ:
            self.unexpected("grab", (kind, arguments))
        return self.model.saw(id_of(arguments[0]), arguments[3])

    def finish(self, job: Job) -> Change | None:
        kind = self.rng.choice(("complete", "complete", "fail", "exception", "hold"))
        handle = handle_of(SERVER_NAME, job.id)
        if kind == "hold":
            self.held += 1
            return None
        change = self.model.change(job, "delete" if kind == "complete" else "fail")
        if kind == "complete":
            request = Gearman.request(wire.WORK_COMPLETE, handle, b"result")
        elif kind == "fail":
            request = Gearman.request(wire.WORK_FAIL, handle)
        else:
            request = Gearman.request(wire.WORK_EXCEPTION, handle, b"why")
        self.connection.send(request)
        return change

    def submit_behind(self, changes: list[Change]) -> None:
        put = self.model.put(Put("g0", body(self.rng), 65536, by_beanstalk=False))
        kind, arguments = self.connection.ask(wire.SUBMIT_JOB_BG, b"g0", b"", put.body)
        if kind != wire.JOB_CREATED:
            self.model.refused(put)
            self.unexpected("submit", arguments)
        self.model.created(put, id_of(arguments[0]))
        for change in changes:
            self.model.acknowledge(change)

    def echo(self) -> None:
        reply = self.connection.ask(wire.ECHO_REQ, b"e")
        if reply != (wire.ECHO_RES, [b"e"]):
            self.unexpected("echo", reply)
