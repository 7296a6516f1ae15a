"""Clients that ask for as much as they can; each runs in a process of its own until it is ended."""

import os
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WATCHED = 200_000
WAITS = 300_000
MASK = (1 << 64) - 1


def packet(kind: int, *parts: bytes) -> bytes:
    payload = b"\0".join(parts)
    return struct.pack(">4sII", b"\0REQ", kind, len(payload)) + payload


class Peer:
    """A blocking connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def until(self, end: bytes) -> bytes:
        while not self.buffer.endswith(end):
            received = self.socket.recv(1 << 20)
            if not received:
                raise EOFError
            self.buffer = self.buffer[-len(end):] + received
        done, self.buffer = self.buffer, b""
        return done

    def packet(self) -> bytes:
        while len(self.buffer) < 12 or len(self.buffer) < self._size():
            received = self.socket.recv(1 << 20)
            if not received:
                raise EOFError
            self.buffer += received
        size = self._size()
        first, self.buffer = self.buffer[:size], self.buffer[size:]
        return first

    def _size(self) -> int:
        return 12 + int.from_bytes(self.buffer[8:12], "big")

    def echo(self) -> None:
        """All that was sent is done."""
        self.send(packet(16, b"#"))
        while self.packet()[4:8] != b"\0\0\0\x11":
            pass

    def drain_for_ever(self) -> None:
        while self.socket.recv(1 << 22):
            pass


def can_do(peer: Peer, names: Iterator[bytes]) -> None:
    batch = []
    for name in names:
        batch.append(packet(1, name))
        if len(batch) == 10_000:
            peer.send(b"".join(batch))
            peer.echo()
            batch.clear()
    peer.send(b"".join(batch))
    peer.echo()


def numbered(count: int) -> Iterator[bytes]:
    return (b"tube-%d" % number for number in range(count))


Ready = Callable[[], None]


def workers(port: int, ready: Ready) -> None:
    """(a) The list of `workers` while somebody watches very many tubes."""
    watcher, asker = Peer(port), Peer(port)
    can_do(watcher, numbered(WATCHED))
    ready()
    while True:
        asker.send(b"workers\n")
        asker.until(b"\n.\n")


def watches(port: int, ready: Ready) -> None:
    """(b) Pipelined commands of a consumer of very many tubes, under rights."""
    consumer = Peer(port)
    can_do(consumer, numbered(WATCHED))
    commands = b"".join([packet(9) + packet(4) + packet(1, b"tube-1")] * 512)
    threading.Thread(target=consumer.drain_for_ever, daemon=True).start()
    ready()
    while True:
        consumer.send(commands)


def waits(port: int, ready: Ready) -> None:
    """(c) Reports on a job that very many wait for."""
    clients, worker = [Peer(port) for _ in range(10)], Peer(port)
    for _ in range(WAITS // 10_000):
        for client in clients:
            client.send(packet(7, b"f", b"key", b"x") * 1000)
            for _ in range(1000):
                client.packet()
    for client in clients:
        threading.Thread(target=client.drain_for_ever, daemon=True).start()
    worker.send(packet(1, b"f") + packet(9))
    handle = worker.packet()[12:].split(b"\0")[0]
    ready()
    while True:
        worker.send(packet(12, handle, b"1", b"2"))
        worker.echo()


def echoes(port: int, ready: Ready) -> None:
    """(d) Large ECHO_REQs whose answers nobody reads."""
    large = packet(16, b"x" * (64 << 20))
    ready()
    while True:
        peer = Peer(port)
        peer.send(large)
        peer.socket.close()


def handshakes(port: int, ready: Ready) -> None:
    """(e) Very many TLS handshakes at once."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    hellos = []
    for _ in range(300):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            context.wrap_bio(incoming, outgoing).do_handshake()
        except ssl.SSLWantReadError:
            hellos.append(outgoing.read())
    ready()
    while True:
        peers = [Peer(port) for _ in hellos]
        for peer, hello in zip(peers, hellos):
            peer.send(hello)
        for peer in peers:
            peer.socket.recv(1)
            peer.socket.close()


def bodies(port: int, ready: Ready) -> None:
    """Clients that move large bodies there and back."""
    body = b"x" * (64 << 20)
    put = b"put 0 0 600 %d\r\n" % len(body) + body + b"\r\n"

    def move() -> None:
        peer = Peer(port)
        while True:
            peer.send(put)
            peer.until(b"\r\n")
            peer.send(b"reserve\r\n")
            left = len(body)
            head = b""
            while b"\r\n" not in head:
                head += peer.socket.recv(64)
            line, _, rest = head.partition(b"\r\n")
            left += 2 - len(rest)
            while left > 0:
                left -= len(peer.socket.recv(min(left, 1 << 20)))
            peer.send(b"delete %b\r\n" % line.split()[1])
            peer.until(b"DELETED\r\n")

    movers = [threading.Thread(target=move, daemon=True) for _ in range(8)]
    for mover in movers:
        mover.start()
    ready()
    for mover in movers:
        mover.join()


def greedy(connections: int, commands: bytes) -> Callable[[int, Ready], None]:
    """(f) Many connections that pipeline as much as they can."""

    def run(port: int, ready: Ready) -> None:
        producer = Peer(port)
        producer.send(b"put 0 0 60 4096\r\n" + b"x" * 4096 + b"\r\n")
        producer.until(b"\r\n")
        peers = [Peer(port).socket for _ in range(connections)]
        for peer in peers:
            peer.setblocking(False)
        poll = select.epoll()
        by_descriptor = {peer.fileno(): peer for peer in peers}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN | select.EPOLLOUT)
        left = dict.fromkeys(by_descriptor, b"")
        ready()
        while True:
            for descriptor, what in poll.poll():
                peer = by_descriptor[descriptor]
                if what & select.EPOLLIN:
                    peer.recv(1 << 20)
                if what & select.EPOLLOUT:
                    data = left[descriptor] or commands
                    left[descriptor] = data[peer.send(data):]

    return run


def colliding(port: int, ready: Ready) -> None:
    """(g) Function names whose unseeded hashes are equal where the tables look."""
    worker = Peer(port)
    names = list(colliding_names(20_000))
    can_do(worker, iter(names))
    ready()
    commands = b"".join(packet(1, name) for name in names)
    while True:
        worker.send(commands)
        worker.echo()


def colliding_names(count: int) -> Iterator[bytes]:
    """Eight bytes each, whose XXH3 with seed 0 ends in the same 28 bits."""
    number = 0
    while count > 0:
        number += 1
        name = unhash(number << 28 | 0x1234567)
        if b"\0" not in name:
            count -= 1
            yield name


def unhash(value: int) -> bytes:
    """The inverse of XXH3_64bits for eight bytes."""
    inverse = pow(0x9FB21C651E98DF25, -1, 1 << 64)
    value ^= value >> 28 ^ value >> 56
    value = value * inverse & MASK
    value ^= (value >> 35) + 8
    value = value * inverse & MASK
    for _ in range(63):
        value ^= _rotated(value, 49) ^ _rotated(value, 24)
    value ^= 0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE
    return struct.pack("<II", value >> 32, value & 0xFFFFFFFF)


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK


@dataclass(frozen=True)
class Attack:
    name: str
    run: Callable[[int, Ready], None]
    server: str = "ours"


ATTACKS = [
    Attack("a-workers", workers),
    Attack("b-watches", watches, "ours with rights"),
    Attack("c-waits", waits),
    Attack("d-echoes", echoes),
    Attack("e-handshakes", handshakes, "ours with TLS"),
    Attack("f-peeks", greedy(100, b"peek 1\r\n" * 1000)),
    Attack("f-trivial", greedy(1000, b"list-tube-used\r\n" * 1000)),
    Attack("g-colliding", colliding),
]


def attack(chosen: Attack, port: int, ready: int) -> None:
    """In a process of its own: writes a byte to the descriptor when the attack goes on."""
    try:
        chosen.run(port, lambda: os.close(ready) if os.write(ready, b"!") else None)
    except (OSError, EOFError):
        pass
