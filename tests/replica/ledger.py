"""Clients that put and delete through whichever broker serves, and what they were told."""

import threading
import time

from cluster import Client, Shard


MOST = 5000  # jobs that are there: with more, every start of a broker would take longer


class Ledger:
    """What was asked for and what was acknowledged, by body; every body is put once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked: set[str] = set()
        self.put: set[str] = set()
        self.ending: set[str] = set()   # a deletion was asked for
        self.deleted: set[str] = set()
        self._twice: list[str] = []

    def note(self, which: set[str], body: str) -> None:
        with self._lock:
            if which is self.deleted and body in which:
                self._twice.append(body)
            which.add(body)

    def faults(self, found: list[str]) -> list[str]:
        """What is wrong with the jobs that are there in the end."""
        there = set(found)
        faults = [f"lost: {body}" for body in sorted(self.put - self.ending - there)]
        faults += [f"back: {body}" for body in sorted(self.deleted & there)]
        faults += [f"never put: {body}" for body in sorted(there - self.asked)]
        faults += [f"deleted twice: {body}" for body in self._twice]
        if len(there) != len(found):
            faults.append(f"doubled: {len(found) - len(there)}")
        return faults


class Traffic:
    """Producers and consumers, each a thread with a connection to the first broker that takes it."""

    def __init__(self, shard: Shard, ledger: Ledger, producers: int = 3, consumers: int = 2,
                 body_size: int = 0) -> None:
        self._shard = shard
        self._body_size = body_size
        self._ledger = ledger
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(self._produce, i))
                         for i in range(producers)]
        self._threads += [threading.Thread(target=self._run, args=(self._consume, i))
                          for i in range(consumers)]
        self._numbers = [0] * producers
        self.errors: list[BaseException] = []

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _connect(self) -> Client:
        while not self._over.is_set():
            for broker in self._shard.brokers:
                try:
                    client = broker.connect()
                    # A broker that is stopped accepts and says nothing.
                    client.socket.settimeout(2 * self._shard.lease)
                    return client
                except OSError:
                    continue
            time.sleep(0.02)
        raise ConnectionAbortedError

    def _run(self, act: object, index: int) -> None:
        try:
            while not self._over.is_set():
                try:
                    with self._connect() as client:
                        while not self._over.is_set():
                            act(client, index)
                except OSError:
                    continue
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.errors.append(error)

    def _produce(self, client: Client, index: int) -> None:
        if len(self._ledger.put) - len(self._ledger.deleted) > MOST:
            time.sleep(0.02)
        self._numbers[index] += 1
        body = f"p{index}-{self._numbers[index]}".ljust(self._body_size, "-")
        self._ledger.note(self._ledger.asked, body)
        answer = client.put(body)
        if not answer.startswith("INSERTED "):
            raise AssertionError(f"put was answered {answer}")
        self._ledger.note(self._ledger.put, body)

    def _consume(self, client: Client, index: int) -> None:
        job = client.reserve(1)
        if job is None:
            return
        # Some stay reserved, and are ready again with the next broker.
        if job[0] % 3 == index:
            return
        self._ledger.note(self._ledger.ending, job[1])
        if client.say(f"delete {job[0]}") == "DELETED":
            self._ledger.note(self._ledger.deleted, job[1])
