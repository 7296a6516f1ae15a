"""Compares a broker that has started again, and that nobody else uses, with the model."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace

import wire
from loners import Burier
from model import BURIED, DELAYED, GONE, READY, Job, Model, Put, State
from wire import Beanstalk, Gearman, fields, id_of

# Between the clocks and their readings. Far below any delay that makes a difference.
SLACK = 1.0
BEYOND = 50  # ids looked at above the highest known one


@dataclass
class Found:
    tube: str
    state: str
    body: bytes
    ttr: int
    stats: dict[str, str]
    asked: float
    answered: float

    def is_one_of(self, state: State) -> bool:
        counts = (state.priority, state.releases, state.buries, state.kicks)
        shown = tuple(int(self.stats[name]) for name in ("pri", "releases", "buries", "kicks"))
        if counts != shown:
            return False
        if state.kind != DELAYED or self.state != DELAYED:
            early = state.kind == DELAYED and self.answered + SLACK < state.due[0]
            return self.state == READY and not early if state.kind == DELAYED \
                else self.state == state.kind
        left = int(self.stats["time-left"])
        return (self.asked + left - SLACK <= state.due[1]
                and self.answered + left + 1 + SLACK >= state.due[0])


class Checker:
    """`ended`: when the broker whose work is checked was gone."""

    def __init__(self, model: Model, port: int, ended: float, rng: random.Random) -> None:
        self.model, self.ended, self.rng = model, ended, rng
        self.beanstalk = Beanstalk(port)
        self.gearman = Gearman(port)
        self.checked = 0

    def run(self) -> None:
        model = self.model
        highest = model.top + len(model.unanswered) + BEYOND
        numbers = sorted(set(model.jobs) | set(range(model.floor + 1, highest)))
        found = self.find(numbers)
        for number in found.keys() - model.jobs.keys():
            if number in model.ended:
                model.fail(f"job {number} is back: {found[number].stats}")
            else:
                model.jobs[number] = Job(number)
        self.count(len(found))
        for job in list(model.jobs.values()):
            self.settle(job, found.get(job.id))
            self.checked += 1
        model.top = model.floor = max(model.top, *found, 0)
        model.unanswered.clear()
        if not model.errors:
            self.check_burials()
            self.check_keys()
        self.beanstalk.close()
        self.gearman.close()

    def find(self, numbers: list[int]) -> dict[int, Found]:
        found = {}
        while numbers:
            asked = time.time()
            replies = self.beanstalk.ask_all([f"stats-job {number}" for number in numbers])
            answered = time.time()
            stats = {number: fields(text) for number, (word, _, text) in zip(numbers, replies)
                     if word == "OK"}
            bodies = self.beanstalk.ask_all([f"peek {number}" for number in stats])
            for (number, values), (_, _, data) in zip(stats.items(), bodies):
                found[number] = Found(values["tube"], values["state"], data, int(values["ttr"]),
                                      values, asked, answered)
            # About to become ready: another look tells more.
            numbers = [number for number in stats
                       if stats[number]["state"] == DELAYED and stats[number]["time-left"] == "0"]
            time.sleep(0.1 if numbers else 0)
        return found

    def count(self, found: int) -> None:
        """If as many are there as were found by their ids, there are no others."""
        stats = fields(self.beanstalk.ask("stats")[2])
        there = sum(int(stats[f"current-jobs-{state}"])
                    for state in ("ready", "reserved", "delayed", "buried"))
        if there != found:
            self.model.fail(f"{there} jobs are there, {found} were expected")

    def settle(self, job: Job, found: Found | None) -> None:
        origins = self.origins(job, found)
        if not origins:
            self.model.fail(f"job {job.id} is none that was sent: {describe(found)}, "
                            f"puts {[(put.tube, put.body[:40]) for put in job.puts]}")
            return
        job.key_known = job.key_known and len({origin.key for origin in origins}) == 1
        for origin in origins:
            for state in job.possible(origin, self.ended):
                fits = state.kind == GONE if found is None else found.is_one_of(state)
                if fits:
                    return self.settle_as(job, origin, state, found)
        states = [state for origin in origins for state in job.possible(origin, self.ended)]
        self.model.fail(f"job {job.id}: {describe(found)}, but it may be {states}; changes "
                        f"{[(c.kind, c.acknowledged) for c in job.changes]}")
        return None

    def origins(self, job: Job, found: Found | None) -> list[Put]:
        if job.origin is not None:
            wrong = found and (found.body, found.tube) != (job.origin.body, job.origin.tube)
            return [] if wrong else [job.origin]
        keys = {put.key for put in job.puts} - {None}
        unanswered = [put for put in self.model.unanswered
                      if not job.puts or put.key in keys]
        data = found.body if found else job.seen
        return [put for put in job.puts + unanswered
                if (data is None or put.body == data)
                and (found is None or (found.tube == put.tube
                                       and (not put.by_beanstalk or found.ttr == put.ttr)))]

    def settle_as(self, job: Job, origin: Put, state: State, found: Found | None) -> None:
        self.model.unanswered.discard(origin)
        job.settled = {state}
        if found is None:
            del self.model.jobs[job.id]
            self.model.ended.add(job.id)
            return
        if state.kind == DELAYED and found.state == READY:
            job.settled = {replace(state, kind=READY, due=(0.0, 0.0))}
        job.origin, job.puts, job.changes, job.seen = origin, [], [], None

    def check_burials(self) -> None:
        model = self.model
        model.burials = [job for job in model.burials if is_in(job, BURIED)]
        there = sum(job.tube == Burier.TUBE and is_in(job, BURIED) for job in model.jobs.values())
        if there != len(model.burials):
            model.fail(f"{there} buried jobs in {Burier.TUBE}, {len(model.burials)} burials")
        self.beanstalk.ask(f"use {Burier.TUBE}")
        whole = self.rng.random() < 0.5
        while model.burials:
            job = model.burials[0]
            word, arguments, _ = self.beanstalk.ask("peek-buried")
            if (word, arguments) != ("FOUND", [str(job.id)]):
                order = [job.id for job in model.burials]
                model.fail(f"the first buried job is {word} {arguments}, the order was {order}")
                return
            if not whole:
                return
            change = model.change(job, "delete")
            if self.beanstalk.ask(f"delete {job.id}")[0] != "DELETED":
                model.fail(f"the buried job {job.id} cannot be deleted")
            model.acknowledge(change)
            model.burials.pop(0)

    def check_keys(self) -> None:
        """The same key again gives the same job, unless that is buried."""
        by_key: dict[object, list[Job]] = {}
        for job in self.model.jobs.values():
            if job.origin and job.origin.key and job.key_known and not job.changes:
                by_key.setdefault(job.origin.key, []).append(job)
        keys = self.rng.sample(sorted(by_key, key=repr), min(60, len(by_key)))
        for key in keys:
            jobs = [job for job in by_key[key] if not is_in(job, BURIED)]
            if len(jobs) > 1:
                continue  # one was buried, its key taken by another, and it was kicked
            origin = by_key[key][0].origin
            data = origin.body if origin.unique == b"-" else b"again"
            put = self.model.put(Put(origin.tube, data, 65536, unique=origin.unique,
                                     by_beanstalk=False))
            kind, arguments = self.gearman.ask(wire.SUBMIT_JOB_BG, origin.tube.encode(),
                                               origin.unique, data)
            number = id_of(arguments[0]) if kind == wire.JOB_CREATED else 0
            if jobs and number != jobs[0].id:
                self.model.fail(f"key {key} gave {arguments}, not job {jobs[0].id}")
            if not jobs and number in {job.id for job in by_key[key]}:
                self.model.fail(f"key {key} of the buried job {number} is not free")
            self.model.created(put, number)


def is_in(job: Job, kind: str) -> bool:
    return any(state.kind == kind for state in job.settled or ())


def describe(found: Found | None) -> str:
    if found is None:
        return "is not there"
    return f"is there with {found.stats} and {len(found.body)} bytes {found.body[:40]!r}"
