"""What all clients of one run of the broker share, and the frame in which each of them lives."""

from __future__ import annotations

import itertools
import random
import threading
import traceback

from broker import MAX_JOB_SIZE
from model import Model
from wire import Gone

PRIORITIES = (0, 1, 512, 1023, 1024, 65536, 2**31, 2**32 - 1)
_serial = itertools.count()


def body(rng: random.Random) -> bytes:
    """Mostly unlike any other; now and then empty or of exactly the size limit."""
    token = b"%d-%x" % (next(_serial), rng.getrandbits(32))
    kind = rng.random()
    if kind < 0.06:
        return b""
    if kind < 0.10:
        return token + b"=" * (MAX_JOB_SIZE - len(token))
    if kind < 0.25:
        return token + b"\0\r\n\0\r\ndelete 1\r\n\0REQ\0\0"
    return token + b"." * rng.randrange(200)


class Refused(Exception):
    """The broker does not take changes any more: this client ends."""


class World:
    def __init__(self, model: Model, port: int, limit: int = 1500) -> None:
        self.model = model
        self.port = port
        self.limit = limit  # of jobs: above it producers rest
        self.kept = 0       # jobs in the tubes of the keeper, as it last saw them
        self.stopping = threading.Event()

    def crowded(self) -> bool:
        return self.model.count() > self.limit


class Actor(threading.Thread):
    """A client that goes on until the broker is gone."""

    def __init__(self, world: World, seed: int) -> None:
        super().__init__(daemon=True, name=type(self).__name__)
        self.world = world
        self.model = world.model
        self.rng = random.Random(seed)

    def run(self) -> None:
        try:
            self.begin()
            while not self.world.stopping.is_set():
                self.step()
        except (Gone, Refused):
            pass
        except Exception:  # whatever went wrong is the result of the test
            self.model.fail(f"{self.name}: {traceback.format_exc()}")

    def begin(self) -> None:
        raise NotImplementedError

    def step(self) -> None:
        raise NotImplementedError

    def unexpected(self, what: str, reply: object) -> None:
        """Ends the client: after a refusal quietly, else as an error."""
        if "OUT_OF_MEMORY" in str(reply) or "QUEUE_ERROR" in str(reply):
            raise Refused
        raise AssertionError(f"{what}: {str(reply)[:200]}")
