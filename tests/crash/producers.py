"""Clients that bring jobs in."""

from __future__ import annotations

import time

import wire
from model import Put
from wire import Beanstalk, Gearman, id_of
from world import PRIORITIES, Actor, body

# Both protocols produce into all of them. Nobody takes from the last two but their keeper.
SHARED = ("t0", "t1", "g0", "g1")
KEPT = ("keep0", "keep1")
SUBMITS = {wire.SUBMIT_JOB_HIGH_BG: 512, wire.SUBMIT_JOB_BG: 65536,
           wire.SUBMIT_JOB_LOW_BG: 131072}


class Producer(Actor):
    KEPT_JOBS = 250

    def tube(self) -> str:
        keep = self.world.kept < self.KEPT_JOBS
        return self.rng.choice(SHARED + KEPT if keep else SHARED)

    def batch(self) -> int:
        if self.world.crowded():
            time.sleep(0.02)
            return 1
        return self.rng.choice((1, 1, 3, 12))


class BeanstalkProducer(Producer):
    def begin(self) -> None:
        self.connection = Beanstalk(self.world.port)

    def step(self) -> None:
        tube = self.tube()
        word = self.connection.ask(f"use {tube}")
        if word[0] != "USING":
            self.unexpected("use", word)
        puts = []
        for _ in range(self.batch()):
            delay = self.rng.choice((0, 0, 0, 1, 1000, 100_000))
            puts.append(Put(tube, body(self.rng), self.rng.choice(PRIORITIES), delay=delay,
                            ttr=self.rng.choice((300, 4000))))
        for put in puts:
            self.model.put(put)
            self.connection.send(Beanstalk.put(put.priority, put.delay, put.ttr, put.body))
        for put in puts:
            word, arguments, _ = self.connection.reply()
            if word != "INSERTED":
                self.model.refused(put)
                self.unexpected("put", word)
            self.model.created(put, int(arguments[0]))


class GearmanProducer(Producer):
    def begin(self) -> None:
        self.connection = Gearman(self.world.port)

    def unique(self) -> bytes:
        kind = self.rng.random()
        if kind < 0.3:
            return b""
        if kind < 0.4:
            return b"-"
        if kind < 0.7:
            return b"shared-%d" % self.rng.randrange(40)
        return b"u%x" % self.rng.getrandbits(40)

    def step(self) -> None:
        sent = []
        for _ in range(self.batch()):
            put, request = self.submission()
            sent.append(self.model.put(put))
            self.connection.send(request)
        for put in sent:
            kind, arguments = self.connection.packet()
            if kind != wire.JOB_CREATED:
                self.model.refused(put)
                self.unexpected("submit", arguments)
            self.model.created(put, id_of(arguments[0]))

    def submission(self) -> tuple[Put, bytes]:
        tube, unique, data = self.tube(), self.unique(), body(self.rng)
        if self.rng.random() < 0.2:
            epoch = int(time.time()) + self.rng.choice((1, 1000, 100_000))
            put = Put(tube, data, 65536, unique=unique, by_beanstalk=False, epoch=epoch)
            return put, Gearman.request(wire.SUBMIT_JOB_EPOCH, tube.encode(), unique,
                                        b"%d" % epoch, data)
        kind, priority = self.rng.choice(list(SUBMITS.items()))
        put = Put(tube, data, priority, unique=unique, by_beanstalk=False)
        return put, Gearman.request(kind, tube.encode(), unique, data)


class Churner(Producer):
    """Large jobs that come and go: what makes segments full and useless."""

    BODIES = tuple(letter * 59_000 for letter in (b"A", b"B", b"C", b"D"))

    def begin(self) -> None:
        self.connection = Beanstalk(self.world.port)
        self.connection.ask("use churn")
        self.connection.ask("watch churn")

    def step(self) -> None:
        puts = [self.model.put(Put("churn", data, 5, ttr=300)) for data in self.BODIES]
        self.connection.send(b"".join(Beanstalk.put(5, 0, 300, put.body) for put in puts))
        for put in puts:
            word, arguments, _ = self.connection.reply()
            if word != "INSERTED":
                self.model.refused(put)
                self.unexpected("put", word)
            self.model.created(put, int(arguments[0]))
        replies = self.connection.ask_all(["reserve-with-timeout 0"] * len(puts))
        jobs = [self.model.saw(int(arguments[0]), data)
                for word, arguments, data in replies if word == "RESERVED"]
        changes = [self.model.change(job, "delete") for job in jobs]
        for change, reply in zip(changes, self.connection.ask_all(
                [f"delete {job.id}" for job in jobs])):
            if reply[0] != "DELETED":
                self.unexpected("delete", reply)
            self.model.acknowledge(change)
