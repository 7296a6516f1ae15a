"""Clients with tubes of their own: one at a time acts on them, so that more is certain."""

from __future__ import annotations

import itertools
import os
import time

import wire
from broker import SERVER_NAME
from consumers import WORDS, line_of
from model import READY, Change, Job, Put
from producers import KEPT
from wire import Beanstalk, Gearman, handle_of, id_of
from world import PRIORITIES, Actor, body

_uniques = itertools.count()


class Keeper(Actor):
    """Jobs that live long, whatever becomes of them: compaction carries them on and on."""

    def begin(self) -> None:
        self.connection = Beanstalk(self.world.port)
        self.jobs: list[Job] = []
        self.steps = 0

    def step(self) -> None:
        if self.steps % 50 == 0:
            self.jobs = [job for job in list(self.model.jobs.values())
                         if job.tube in KEPT and (job.puts or job.settled) and not gone(job)]
            self.world.kept = len(self.jobs)
        self.steps += 1
        if not self.jobs:
            time.sleep(0.01)
            return
        job = self.rng.choice(self.jobs)
        verb = self.rng.choices(("delete", "kick", "release", "bury"), (20, 30, 30, 20))[0]
        if verb in ("release", "bury"):
            self.take(job)
        change = self.model.change(job, verb, self.rng.choice(PRIORITIES),
                                   self.rng.choice((0, 1, 3000)) if verb == "release" else 0)
        reply = self.connection.ask(line_of(change, job))
        if verb == "kick" and reply[0] == "NOT_FOUND" and may_be_ready(job, change):
            self.model.withdraw(job, change)
            return
        if reply[0] != WORDS[verb]:
            self.model.withdraw(job, change)
            self.unexpected(line_of(change, job), reply)
        self.model.acknowledge(change)
        if verb == "delete":
            self.jobs.remove(job)

    def take(self, job: Job) -> None:
        self.model.change(job, "take")  # no reply says what a restart makes of it
        word, _, data = self.connection.ask(f"reserve-job {job.id}")
        if word != "RESERVED":
            self.unexpected(f"reserve-job {job.id}", word)
        self.model.saw(job.id, data)


def gone(job: Job) -> bool:
    return any(change.kind == "delete" and change.acknowledged for change in job.changes)


def may_be_ready(job: Job, but: Change) -> bool:
    """Without the change that was refused."""
    earlier = Job(job.id, job.puts, [c for c in job.changes if c is not but],
                  settled=job.settled)
    origins = [job.origin] if job.origin else job.puts
    now = time.time()
    states = set().union(*(earlier.possible(origin, now) for origin in origins))
    return any(state.kind == READY or 0 < state.due[0] < now + 0.5 for state in states)


class Burier(Actor):
    """Buries by either protocol and kicks: the first buried is the first kicked."""

    TUBE = "bury"

    def begin(self) -> None:
        self.connection = Beanstalk(self.world.port)
        self.worker = Gearman(self.world.port)
        self.worker.send(Gearman.request(wire.CAN_DO, self.TUBE.encode()))
        self.connection.ask(f"use {self.TUBE}")
        self.connection.ask(f"watch {self.TUBE}")
        self.failed: list[Change] = []

    def step(self) -> None:
        if len(self.model.burials) < 40:
            self.put()
        for _ in range(self.rng.randrange(4)):
            self.rng.choice((self.bury, self.fail))()
        if self.rng.random() < 0.3:
            self.kick(self.rng.randrange(1, 6))
        if self.rng.random() < 0.3:
            self.delete_one()

    def put(self) -> None:
        put = self.model.put(Put(self.TUBE, body(self.rng), 7, ttr=300))
        self.connection.send(Beanstalk.put(7, 0, 300, put.body))
        word, arguments, _ = self.connection.reply()
        if word != "INSERTED":
            self.model.refused(put)
            self.unexpected("put", word)
        self.model.created(put, int(arguments[0]))
        self.acknowledge_failed()

    def reserve(self) -> Job | None:
        word, arguments, data = self.connection.ask("reserve-with-timeout 0")
        return self.model.saw(int(arguments[0]), data) if word == "RESERVED" else None

    def bury(self) -> None:
        if job := self.reserve():
            self.model.burials.append(job)
            self.ask(job, self.model.change(job, "bury", self.rng.choice(PRIORITIES)))

    def fail(self) -> None:
        kind, arguments = self.worker.ask(wire.GRAB_JOB_UNIQ)
        if kind == wire.NO_JOB:
            return
        if kind != wire.JOB_ASSIGN_UNIQ:
            self.unexpected("grab", (kind, arguments))
        job = self.model.saw(id_of(arguments[0]), arguments[3])
        self.model.burials.append(job)
        self.failed.append(self.model.change(job, "fail"))
        self.worker.send(Gearman.request(wire.WORK_FAIL, handle_of(SERVER_NAME, job.id)))
        reply = self.worker.ask(wire.ECHO_REQ, b"done")
        if reply != (wire.ECHO_RES, [b"done"]):
            self.unexpected("fail", reply)

    def acknowledge_failed(self) -> None:
        """By a later change that was acknowledged: the log keeps their order."""
        for change in self.failed:
            self.model.acknowledge(change)
        self.failed.clear()

    def kick(self, bound: int) -> None:
        jobs = self.model.burials[:bound]
        if not jobs:
            return  # delayed jobs would be kicked, and there are none
        changes = [self.model.change(job, "kick") for job in jobs]
        reply = self.connection.ask(f"kick {bound}")
        if reply[:2] != ("KICKED", [str(len(jobs))]):
            self.unexpected(f"kick {bound} of {len(self.model.burials)}", reply)
        for change in changes:
            self.model.acknowledge(change)
        self.acknowledge_failed()
        del self.model.burials[:len(jobs)]

    def delete_one(self) -> None:
        if self.model.burials and self.rng.random() < 0.5:
            job = self.rng.choice(self.model.burials)
            self.ask(job, self.model.change(job, "delete"))
            self.model.burials.remove(job)
        elif job := self.reserve():
            self.ask(job, self.model.change(job, "delete"))

    def ask(self, job: Job, change: Change) -> None:
        reply = self.connection.ask(line_of(change, job))
        if reply[0] != WORDS[change.kind]:
            self.model.withdraw(job, change)
            self.unexpected(line_of(change, job), reply)
        self.model.acknowledge(change)
        self.acknowledge_failed()


class Joiner(Actor):
    """Foreground and background clients of one job. What a waiting client hears is acknowledged."""

    TUBE = "join"

    def begin(self) -> None:
        self.waiter, self.client, self.worker = (Gearman(self.world.port) for _ in range(3))
        self.worker.send(Gearman.request(wire.CAN_DO, self.TUBE.encode()))

    def step(self) -> None:
        unique = b"j%d-%d" % (os.getpid(), next(_uniques))
        order = self.rng.choice(("background first", "foreground first", "foreground only"))
        job = None
        if order == "background first":
            job = self.background(unique)
        handle = self.foreground(unique, job)
        if order == "foreground first":
            job = self.background(unique)
            if job.id != id_of(handle):
                self.unexpected("join", (job.id, handle))
        self.finish(self.grab(), handle, job)

    def background(self, unique: bytes) -> Job:
        put = self.model.put(Put(self.TUBE, b"joined", 65536, unique=unique, by_beanstalk=False))
        kind, arguments = self.client.ask(wire.SUBMIT_JOB_BG, self.TUBE.encode(), unique, put.body)
        if kind != wire.JOB_CREATED:
            self.model.refused(put)
            self.unexpected("submit", arguments)
        return self.model.created(put, id_of(arguments[0]))

    def foreground(self, unique: bytes, job: Job | None) -> bytes:
        kind, arguments = self.waiter.ask(wire.SUBMIT_JOB, self.TUBE.encode(), unique, b"joined")
        if kind != wire.JOB_CREATED:
            self.unexpected("submit", arguments)
        if job is not None and id_of(arguments[0]) != job.id:
            self.unexpected("join", (arguments, job.id))
        return arguments[0]

    def grab(self) -> bytes:
        kind, arguments = self.worker.ask(wire.GRAB_JOB_UNIQ)
        if kind != wire.JOB_ASSIGN_UNIQ:
            self.unexpected("grab", (kind, arguments))
        return arguments[0]

    def finish(self, grabbed: bytes, handle: bytes, job: Job | None) -> None:
        """Of jobs that an earlier run left behind, too, which nobody waits for."""
        number = id_of(grabbed)
        if grabbed != handle:
            job = self.model.jobs.get(number)
            if job is None:
                self.unexpected("grab", grabbed)
        if job is None:
            self.model.saw_foreground(number)
        change = self.model.change(job, "delete") if job else None
        verb = self.rng.choice((wire.WORK_COMPLETE, wire.WORK_FAIL))
        data = (b"result",) if verb == wire.WORK_COMPLETE else ()
        self.worker.send(Gearman.request(verb, grabbed, *data))
        if grabbed != handle:
            kind, arguments = self.worker.ask(wire.ECHO_REQ, b"")
            if kind != wire.ECHO_RES:
                self.unexpected("finish", arguments)
            return self.finish(self.grab(), handle, self.model.jobs.get(id_of(handle)))
        kind, arguments = self.waiter.packet()
        if (kind, arguments[0]) != (verb, handle):
            self.unexpected("finish", (kind, arguments))
        if change:
            self.model.acknowledge(change)
        return None
