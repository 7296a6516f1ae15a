#!/usr/bin/env python3
"""Strict order in each line of a tube (group_order: fifo), seen by workers of both protocols while the
broker is killed again and again: lines.py --broker BROKER [--rounds N] [--seed S] [--replicated].
--replicated: two brokers on a node of etcd, of which the active one is killed, hands over, or is frozen."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import wire
from broker import Broker, NotReady
from wire import Beanstalk, Gearman, Gone

sys.path.append(str(Path(__file__).resolve().parents[1] / "replica"))
from cluster import ETCD, Etcd, Shard  # noqa: E402

GROUPS = 12
POLICY = """
tubes:
  - {match: lines, group: "json:/order", group_order: fifo, attempts: 1000, backoff: 0s,
     retry_on: "timeout,lost,fail,release"}
"""
SYNC = ("always", "20ms", "never")
TTR = 1


class Line:
    """One group. What is put is numbered; a number whose put had no answer may be there or not."""

    def __init__(self) -> None:
        self.next = 0
        self.last = -1                # the last one that a worker got
        self.there: set[int] = set()  # puts that were acknowledged and whose end nobody asked for
        self.ends: set[int] = set()   # whose end was asked for
        self.ended: set[int] = set()  # ends that were acknowledged


class Ledger:
    """What workers and producers saw, in one order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lines = [Line() for _ in range(GROUPS)]
        self.errors: list[str] = []
        self.seen: Counter[str] = Counter()

    def put(self, group: int, number: int) -> None:
        with self.lock:
            line = self.lines[group]
            if number not in line.ends:  # a worker may be faster than the answer to the put
                line.there.add(number)
            self.seen["jobs put"] += 1

    def taken(self, by: str, group: int, number: int) -> None:
        with self.lock:
            line = self.lines[group]
            self.seen[f"hand-outs to {by}"] += 1
            before = sorted(earlier for earlier in line.there if earlier < number)
            if before:
                self.errors.append(f"line {group}: {by} got {number} although {before[:5]} had not ended")
            if number < line.last:
                self.errors.append(f"line {group}: {by} got {number} although {line.last} had left")
            line.last = number
            if number in line.ended:
                self.errors.append(f"line {group}: {by} got {number}, which had ended")

    def ends(self, group: int, number: int) -> None:
        """From now on it may have ended."""
        with self.lock:
            self.lines[group].there.discard(number)
            self.lines[group].ends.add(number)

    def end(self, group: int, number: int) -> None:
        with self.lock:
            self.lines[group].ended.add(number)


class Client(threading.Thread):
    """Acts until the broker goes away."""

    def __init__(self, ledger: Ledger, port: int, seed: int) -> None:
        super().__init__()
        self.ledger, self.port, self.rng = ledger, port, random.Random(seed)

    def run(self) -> None:
        try:
            self.act()
        except Gone:
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.ledger.errors.append(f"{type(self).__name__}: {error!r}")

    def act(self) -> None:
        raise NotImplementedError

    def read(self, data: bytes) -> tuple[int, int]:
        group, number = (int(word) for word in data.split(b'"')[3].split(b" "))
        return group, number


class Producer(Client):
    """One of a share of the lines, so that their numbers rise as their ids do."""

    SHARES = 2

    def __init__(self, ledger: Ledger, port: int, seed: int, share: int) -> None:
        super().__init__(ledger, port, seed)
        self.share = share

    def act(self) -> None:
        client = Beanstalk(self.port)
        client.ask("use lines")
        mine = range(self.share, GROUPS, self.SHARES)
        while True:
            group = self.rng.choice(mine)
            line = self.ledger.lines[group]
            if len(line.there) > 20:
                client.ask("stats-job 1")  # which also tells when the broker is gone
                continue
            number = line.next
            line.next += 1
            delay = self.rng.choice((0, 0, 0, 0, 0, 1))
            priority = self.rng.choice((0, 10, 5000))
            body = b'{"job":"%d %d","order":"%d"}' % (group, number, group)
            client.send(Beanstalk.put(priority, delay, TTR, body))
            if (word := client.reply()[0]) != "INSERTED":
                raise ValueError(f"put: {word}")
            self.ledger.put(group, number)


class BeanstalkWorker(Client):
    def act(self) -> None:
        client = Beanstalk(self.port)
        client.ask("watch lines")
        while True:
            word, arguments, data = client.ask("reserve-with-timeout 1")
            if word in ("TIMED_OUT", "DEADLINE_SOON"):
                continue
            job, (group, number) = arguments[0], self.read(data)
            self.ledger.taken("beanstalk", group, number)
            deed = self.rng.choices(("delete", "release", "delay", "bury", "sleep", "leave"), (80, 8, 4, 2, 1, 1))[0]
            if deed in ("delete", "bury"):
                self.ledger.ends(group, number)
            if deed == "sleep":
                time.sleep(TTR + 0.1)
            elif deed == "leave":
                client.close()
                client = Beanstalk(self.port)
                client.ask("watch lines")
            else:
                word, *_ = client.ask({"delete": f"delete {job}", "release": f"release {job} 7 0",
                                       "delay": f"release {job} 7 1", "bury": f"bury {job} 7"}[deed])
                if deed == "delete" and word == "DELETED":
                    self.ledger.end(group, number)


class GearmanWorker(Client):
    def act(self) -> None:
        client = Gearman(self.port)
        client.send(Gearman.request(wire.CAN_DO, b"lines"))
        while True:
            kind, arguments = client.ask(wire.GRAB_JOB_UNIQ)
            if kind != wire.JOB_ASSIGN_UNIQ:
                time.sleep(0.005)
                continue
            handle, (group, number) = arguments[0], self.read(arguments[-1])
            self.ledger.taken("gearman", group, number)
            if self.rng.random() < 0.1:
                client.send(Gearman.request(wire.WORK_FAIL, handle))
                continue
            self.ledger.ends(group, number)
            client.send(Gearman.request(wire.WORK_COMPLETE, handle, b""))


class Alone:
    """A broker that is killed and starts again in its directory."""

    def __init__(self, binary: str, directory: Path) -> None:
        self.binary, self.directory = binary, directory

    def begin(self, rng: random.Random) -> int:
        """Returns the port of a broker that serves."""
        self.broker = Broker(self.binary, self.directory / "data", self.directory / "log", rng.choice(SYNC),
                             ("--config", str(self.directory / "lines.yaml"),
                              "--limits-bodies", rng.choice(("1", "1000000"))))
        self.broker.wait_ready()
        return self.broker.port

    def end(self, _: random.Random) -> str:
        """Returns how the one that served came to its end."""
        self.broker.kill()
        return "kills"

    def close(self) -> None:
        pass


class Pair:
    """Two brokers on a node of etcd. What clients of a frozen one got shows when it goes on, at the end
    of the next round."""

    LEASE_MS = 4000

    def __init__(self, binary: str, directory: Path) -> None:
        self.etcd = Etcd(1)
        self.shard = Shard(binary, self.etcd, "/lines/", self.LEASE_MS)
        self.shard.flags += ["--config", str(directory / "lines.yaml")]
        self.shard.pair()
        self.frozen = None

    def begin(self, _: random.Random) -> int:
        if self.frozen is None:
            self.shard.make_whole()
        self.active = self.shard.wait_active()
        return self.active.port

    def end(self, rng: random.Random) -> str:
        if self.frozen is not None:
            self.frozen.signal(signal.SIGCONT)
            self.frozen.wait()
            self.frozen = None
            self.shard.make_whole()
            self.active = self.shard.wait_active()
        how = rng.choices(("kills", "hand-overs", "freezes"), (6, 1, 1))[0]
        if how == "freezes":
            self.active.freeze()
            self.frozen = self.active
            return how
        self.active.signal(signal.SIGKILL if how == "kills" else signal.SIGUSR2)
        self.active.wait()
        return how

    def close(self) -> None:
        self.shard.close()
        self.etcd.close()


def round_of(place: Alone | Pair, ledger: Ledger, rng: random.Random) -> tuple[str, list[Client]]:
    """How it ended, and its clients."""
    port = place.begin(rng)
    clients: list[Client] = [Producer(ledger, port, rng.getrandbits(32), share) for share in range(Producer.SHARES)]
    for kind in 3 * (BeanstalkWorker, GearmanWorker):
        clients.append(kind(ledger, port, rng.getrandbits(32)))
    for client in clients:
        client.start()
    time.sleep(rng.uniform(0.05, 1.5))
    return place.end(rng), clients


def play(place: Alone | Pair, rounds: int, ledger: Ledger, rng: random.Random) -> None:
    clients: list[Client] = []
    with closing(place):
        for _ in range(rounds):
            how, started = round_of(place, ledger, rng)
            clients += started
            ledger.seen[how] += 1
            if how != "freezes":
                for client in clients:
                    client.join()
                clients.clear()
            if ledger.errors:
                break
    for client in clients:
        client.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default=str(Path(__file__).parents[2] / "build/gearstalkd"))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    parser.add_argument("--replicated", action="store_true")
    options = parser.parse_args()
    if options.replicated and ETCD is None:
        print("OK (skipped=there is no etcd)")
        return 0
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    ledger = Ledger()
    directory = Path(tempfile.mkdtemp(prefix="gearstalk-lines-"))
    (directory / "lines.yaml").write_text(POLICY)
    try:
        place = (Pair if options.replicated else Alone)(options.broker, directory)
        play(place, options.rounds, ledger, rng)
    except NotReady as error:
        ledger.errors.append(str(error))
    for name, value in sorted(ledger.seen.items()):
        print(f"{value:>10} {name}")
    for error in ledger.errors[:20]:
        print(error)
    if not ledger.errors:
        shutil.rmtree(directory)
    print(f"FAILED, kept in {directory}" if ledger.errors else "in order")
    return 1 if ledger.errors else 0


if __name__ == "__main__":
    sys.exit(main())
