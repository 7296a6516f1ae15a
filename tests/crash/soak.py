#!/usr/bin/env python3
"""Everything at once, for hours: soak.py --broker BROKER [--clocks LIBRARY] [--minutes 120] [--troubles N] [--seed S].

A broker with a journal of its own, and three that share one on three nodes of etcd (without etcd: the first alone), with
clients of both protocols. Meanwhile processes are killed, frozen, reloaded and handed over, links become slow, a disk gets
full, clocks step, and strangers send noise. At the end no job is lost, back or doubled, and what the first broker uses
(memory, descriptors, disk, time of a put) has not grown."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / folder) for folder in ("replica", "support")]
import wire  # noqa: E402
from clocks import Clocks  # noqa: E402
from cluster import ETCD, Broker, Etcd, Shard, eventually  # noqa: E402
from launched import Launched  # noqa: E402
from ledger import Ledger  # noqa: E402
from slow_link import SlowLink  # noqa: E402

LEASE_MS = 6000
MOST = 2000  # jobs that wait, for each place
DISK = 256 << 20  # bytes, of the first broker's file system, where there are rights to mount one
HOUR = 3600


class Place:
    """Where clients go, and what they were told there."""

    def __init__(self, ports: Callable[[], list[int]]) -> None:
        self.ports = ports
        self.ledger = Ledger()
        self.puts: list[float] = []  # seconds that each took
        self.errors: list[str] = []


class Client(threading.Thread):
    """Acts at a pace, on whichever broker takes it, until it is over."""

    protocol: type[wire.Connection] = wire.Beanstalk

    def __init__(self, place: Place, name: str, pace: float) -> None:
        super().__init__()
        self.place, self.name, self.pace = place, name, pace
        self.over = threading.Event()
        self.number = 0

    def run(self) -> None:
        while not self.over.is_set():
            for port in self.place.ports():
                # Gone: it ended, or refuses, as a standby does. Silent: it is frozen.
                with suppress(wire.Gone, wire.Silent):
                    self.serve(self.protocol(port, 2 * LEASE_MS / 1000))
            self.over.wait(0.05)

    def serve(self, client: wire.Connection) -> None:
        try:
            self.begin(client)
            while not self.over.is_set():
                self.act(client)
                self.over.wait(self.pace)
        finally:
            client.close()

    def begin(self, client: wire.Connection) -> None:
        pass

    def act(self, client: wire.Connection) -> None:
        raise NotImplementedError

    def fail(self, answer: object) -> None:
        self.place.errors.append(f"{self.name} was answered {answer}")


class Producer(Client):
    """Each job has a name, which its body begins with."""

    def act(self, client: wire.Connection) -> None:
        ledger = self.place.ledger
        if len(ledger.put) - len(ledger.ending) > MOST:
            return
        self.number += 1
        job = f"{self.name}-{self.number}"
        ledger.note(ledger.asked, job)
        before = time.monotonic()
        if self.put(client, f"{job} ".ljust(self.number % 3000).encode()):
            self.place.puts.append(time.monotonic() - before)
            ledger.note(ledger.put, job)

    def put(self, client: wire.Connection, body: bytes) -> bool:
        client.send(wire.Beanstalk.put(10, 0, 120, body))
        word, *rest = client.reply()
        if word not in ("INSERTED", "OUT_OF_MEMORY", "DRAINING"):
            self.fail((word, *rest))
        return word == "INSERTED"


class GearmanProducer(Producer):
    protocol = wire.Gearman

    def put(self, client: wire.Connection, body: bytes) -> bool:
        kind, arguments = client.ask(wire.SUBMIT_JOB_BG, b"default", b"", body)
        if kind not in (wire.JOB_CREATED, wire.ERROR):
            self.fail((kind, arguments))
        return kind == wire.JOB_CREATED


class Consumer(Client):
    def act(self, client: wire.Connection) -> None:
        word, arguments, body = client.ask("reserve-with-timeout 1")
        if word != "RESERVED":
            if word not in ("TIMED_OUT", "DEADLINE_SOON"):
                self.fail((word, arguments))
            return
        number = int(arguments[0])
        if number % 7 == 0 and self.number != number:  # once, unless it comes back at once
            self.number = number
            client.ask(f"release {number} 10 1")
            return
        job, ledger = body.split(b" ")[0].decode(), self.place.ledger
        ledger.note(ledger.ending, job)
        if client.ask(f"delete {number}")[0] == "DELETED":
            ledger.note(ledger.deleted, job)


class GearmanWorker(Client):
    protocol = wire.Gearman

    def begin(self, client: wire.Connection) -> None:
        client.send(wire.Gearman.request(wire.CAN_DO, b"default"))

    def act(self, client: wire.Connection) -> None:
        kind, arguments = client.ask(wire.GRAB_JOB_UNIQ)
        if kind != wire.JOB_ASSIGN_UNIQ:
            self.over.wait(0.1)
            return
        ledger = self.place.ledger
        ledger.note(ledger.ending, arguments[-1].split(b" ")[0].decode())
        client.send(wire.Gearman.request(wire.WORK_COMPLETE, arguments[0], b""))


def clients_of(place: Place, pace: float) -> list[Client]:
    kinds = (Producer, GearmanProducer, Consumer, Consumer, GearmanWorker)
    return [kind(place, f"{kind.__name__}{i}", pace if issubclass(kind, Producer) else 0)
            for i, kind in enumerate(kinds)]


def jobs_of(port: int) -> list[str]:
    """The names of all jobs, which are taken."""
    client = wire.Beanstalk(port)
    found = []
    while (reply := client.ask("reserve-with-timeout 2"))[0] == "RESERVED":
        found.append(reply[2].split(b" ")[0].decode())
        client.ask(f"delete {reply[1][0]}")
    client.close()
    return found


class Alone:
    """The broker with a journal of its own. It is not killed, so that what it uses can be compared."""

    def __init__(self, options: argparse.Namespace, directory: Path, rng: random.Random, stack: ExitStack) -> None:
        self.rng, self.directory = rng, directory / "alone"
        self.directory.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "soak", str(self.directory)]
        self.has_disk = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        if self.has_disk:
            stack.callback(subprocess.run, ["umount", "-l", str(self.directory)], check=True)
        self.clocks = Clocks(options.clocks, directory / "clocks") if options.clocks else None
        self.broker = stack.enter_context(Launched(
            options.broker, "--data-dir", self.directory / "data", "--sync", "20ms",
            before=tuple(self.clocks.before) if self.clocks else (), log=directory / "alone.log"))
        self.place = Place(lambda: self.broker.ports)
        self.samples: list[dict[str, float]] = []

    def acts(self) -> list[Callable[[], None]]:
        return [self.freeze, self.reload, self.noise, *[self.fill_disk] * self.has_disk,
                *[self.step_clock] * (self.clocks is not None)]

    def freeze(self) -> None:
        self.broker.freeze()
        time.sleep(self.rng.uniform(0, 10))
        self.broker.signal(signal.SIGCONT)

    def reload(self) -> None:
        self.broker.signal(signal.SIGHUP)

    def noise(self) -> None:
        """Strangers, half of whom stay for a while without reading what they are told."""
        strangers = []
        for _ in range(self.rng.randrange(20, 300)):
            with suppress(wire.Gone, wire.Silent):
                stranger = wire.Connection(self.broker.ports[0])
                stranger.send(self.rng.choice((b"stats\r\n", b"\0REQ", b"put 1 ", b"status\n", self.rng.randbytes(9))))
                strangers.append(stranger)
        time.sleep(self.rng.uniform(0, 2))
        for stranger in strangers:
            stranger.close()

    def fill_disk(self) -> None:
        filler = self.directory / "filler"
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=64k"], stderr=subprocess.DEVNULL, check=False)
        time.sleep(self.rng.uniform(1, 10))
        filler.unlink()

    def step_clock(self) -> None:
        self.clocks.set(wall=self.rng.choice((-HOUR, -5, 0, 5, HOUR)))

    def sample(self) -> None:
        process = Path(f"/proc/{self.broker.pid}")
        puts, self.place.puts = self.place.puts, []
        resident = int((process / "statm").read_text().split()[1]) * 4096
        disk = sum(file.stat().st_blocks * 512 for file in (self.directory / "data").iterdir())
        self.samples.append({"resident, MB": resident / 1e6, "sockets": self.broker.sockets(), "disk, MB": disk / 1e6,
                             "threads": len(self.broker.threads()),
                             "median of puts, ms": 1000 * statistics.median(puts or [0])})

    def faults(self) -> list[str]:
        if (code := self.broker.stop()) != 0:
            self.place.errors.append(f"asked to stop, the broker exits with {code}")
        self.broker.start()
        self.broker.wait_ready()
        return self.place.errors + self.place.ledger.faults(jobs_of(self.broker.ports[0]))


class Shared:
    """Three brokers with one journal on three nodes of etcd, which they reach over links that may become slow."""

    def __init__(self, options: argparse.Namespace, directory: Path, rng: random.Random, stack: ExitStack) -> None:
        self.rng = rng
        self.etcd = Etcd(3)
        stack.callback(self.etcd.close)
        self.shard = stack.enter_context(Shard(options.broker, self.etcd, "/soak/", LEASE_MS))
        self.links = [stack.enter_context(SlowLink(node.port)) for node in self.etcd.nodes]
        self.shard.flags = ["--etcd-prefix", "/soak/", "--replica-lease", str(LEASE_MS)]
        for link in self.links:
            self.shard.flags += ["--etcd-endpoints", f"127.0.0.1:{link.port}"]
        self.clocks: dict[str, Clocks] = {}
        for name in ("b1", "b2", "b3"):
            if options.clocks:
                self.clocks[name] = Clocks(options.clocks, directory / name)
            self.shard.broker(name, within=self.clocks[name].before if self.clocks else None)
        self.shard.make_whole()
        self.place = Place(lambda: [broker.port for broker in self.shard.brokers if broker.running])

    def acts(self) -> list[Callable[[], None]]:
        return [self.kill, self.step_down, self.freeze, self.kill_node, self.freeze_node, self.slow_links,
                *[self.step_clock] * bool(self.clocks)]

    def end_active(self, how: signal.Signals) -> None:
        active = self.shard.wait_active()
        active.signal(how)
        active.wait()

    def kill(self) -> None:
        self.end_active(signal.SIGKILL)

    def step_down(self) -> None:
        self.end_active(signal.SIGUSR2)

    def freeze(self) -> None:
        broker: Broker = self.rng.choice(self.shard.brokers)
        broker.freeze()
        time.sleep(self.rng.uniform(0, 3 * LEASE_MS / 1000))
        broker.signal(signal.SIGCONT)

    def kill_node(self) -> None:
        node = self.rng.choice(self.etcd.nodes)
        node.kill()
        time.sleep(self.rng.uniform(0, 5))
        node.start()

    def freeze_node(self) -> None:
        node = self.rng.choice(self.etcd.nodes)
        node.freeze()
        time.sleep(self.rng.uniform(0, 5))
        node.signal(signal.SIGCONT)

    def slow_links(self) -> None:
        for link in self.links:
            link.delay = self.rng.choice((0, 0.02, 0.1))
        time.sleep(self.rng.uniform(0, 10))
        for link in self.links:
            link.delay = 0

    def step_clock(self) -> None:
        self.rng.choice(list(self.clocks.values())).set(wall=self.rng.choice((-HOUR, -5, 0, 5, HOUR)))

    def settle(self) -> None:
        eventually("etcd is healthy", lambda: all(node.healthy() for node in self.etcd.nodes))
        self.shard.make_whole()

    def faults(self) -> list[str]:
        self.settle()
        self.kill()  # what is reserved is ready again
        return self.place.errors + self.place.ledger.faults(jobs_of(self.shard.wait_active().port))


def growth(values: list[float]) -> tuple[float, float]:
    """How much the line through the values rises over all of them, and what of that may be noise: two standard errors."""
    size = len(values)
    slope, middle = statistics.linear_regression(range(size), values)
    rest = sum((value - middle - slope * at) ** 2 for at, value in enumerate(values)) / (size - 2)
    error = (rest / (size * (size * size - 1) / 12)) ** 0.5
    return slope * size, 2 * error * size


def report(samples: list[dict[str, float]]) -> bool:
    """Without the first quarter, while caches and free lists fill. Whether nothing grew."""
    flat = True
    samples = samples[len(samples) // 4:]
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        mean, (risen, noise) = statistics.mean(values), growth(values)
        grew = risen > noise and risen > 0.05 * mean
        flat = flat and not grew
        print(f"{name:>20}: mean {mean:.4g}, from {min(values):.4g} to {max(values):.4g}, "
              f"rises by {risen:.2g} (noise {noise:.2g}){' GREW' if grew else ''}")
    return flat


def play(options: argparse.Namespace, directory: Path, stack: ExitStack) -> bool:
    rng = random.Random(options.seed)
    alone = Alone(options, directory, rng, stack)
    places: list[Alone | Shared] = [alone]
    if ETCD is not None:
        places.append(Shared(options, directory, rng, stack))
    clients = [client for place in places for client in clients_of(place.place, options.pace)]
    for client in clients:
        client.start()
    seen: Counter[str] = Counter()
    try:
        begun = time.monotonic()
        while time.monotonic() - begun < 60 * options.minutes and seen.total() < options.troubles:
            time.sleep(rng.uniform(0, 2 * options.calm))
            place = rng.choice(places)
            act = rng.choice(place.acts())
            act()
            seen[f"{type(place).__name__.lower()}: {act.__name__}"] += 1
            if isinstance(place, Shared):
                place.settle()
            alone.sample()
    finally:
        for client in clients:
            client.over.set()
        for client in clients:
            client.join()
    for name, times in sorted(seen.items()):
        print(f"{times:>8} {name}")
    faults = [fault for place in places for fault in place.faults()]
    for place in places:
        print(f"{len(place.place.ledger.put):>8} put, {len(place.place.ledger.deleted)} deleted: {type(place).__name__.lower()}")
    print(*faults[:50], f"{len(faults)} faults", sep="\n")
    return (len(alone.samples) < options.least or report(alone.samples)) and not faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", default=str(TESTS.parent / "build/gearstalkd"))
    parser.add_argument("--clocks", help="the library that moves the clocks of a process")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--troubles", type=float, default=float("inf"), help="after so many it ends")
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    parser.add_argument("--pace", type=float, default=0.05, help="seconds between two puts of a producer")
    parser.add_argument("--calm", type=float, default=5, help="seconds between two troubles, on average")
    parser.add_argument("--least", type=int, default=40, help="samples from which on growth is looked for")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="gearstalk-soak-"))
    with ExitStack() as stack:
        passed = play(options, directory, stack)
    if passed:
        shutil.rmtree(directory)
    print("passed" if passed else f"FAILED, kept in {directory}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
