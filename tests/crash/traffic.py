"""All clients at once, until the broker is gone."""

from __future__ import annotations

import random

from consumers import BeanstalkConsumer, GearmanWorker
from loners import Burier, Joiner, Keeper
from model import Model
from producers import BeanstalkProducer, Churner, GearmanProducer
from world import Actor, World

JOIN_SECONDS = 120.0
CONSUMERS = 2


class Traffic:
    def __init__(self, model: Model, port: int, rng: random.Random) -> None:
        self.world = World(model, port)
        kinds = [BeanstalkProducer, BeanstalkProducer, GearmanProducer, GearmanProducer,
                 GearmanWorker, GearmanWorker, Keeper, Burier, Joiner]
        if rng.random() < 0.7:
            kinds.append(Churner)
        self.actors: list[Actor] = [kind(self.world, rng.getrandbits(64)) for kind in kinds]
        self.actors += [BeanstalkConsumer(self.world, rng.getrandbits(64), index, CONSUMERS)
                        for index in range(CONSUMERS)]

    def start(self) -> None:
        for actor in self.actors:
            actor.start()

    def join(self) -> None:
        """After the broker was ended."""
        self.world.stopping.set()
        for actor in self.actors:
            actor.join(JOIN_SECONDS)
            if actor.is_alive():
                self.world.model.fail(f"{actor.name} still waits for a reply")
