"""A little of what the tools say to a broker to move jobs: see docs/transfer-protocol.md."""

from broker import Client

OPEN, PUT, HOLD, COMMIT, FORGET, SYNC = 1, 2, 3, 5, 10, 11
ACK = 34
BODY_IS_KEY = 2  # of a record's flags
FORGET_AND_COMMIT = 2
FIELDS = {"kind": 1, "id": 2, "state": 3, "priority": 4, "ttr_s": 5, "created": 8, "flags": 10, "tube": 11, "held": 41,
          "source_id": 42}  # fmt: skip


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def take_varint(data: bytes) -> tuple[int, bytes]:
    """And what is behind it."""
    size = next(at for at, byte in enumerate(data) if byte < 0x80) + 1
    return sum((byte & 0x7F) << 7 * at for at, byte in enumerate(data[:size])), data[size:]


def frame(kind: int, fields: dict[int, int | bytes], body: bytes = b"") -> bytes:
    encoded = b""
    for number, value in fields.items():
        encoded += varint(number)
        encoded += varint(value) if isinstance(value, int) else varint(len(value)) + value
    rest = bytes([kind]) + varint(len(encoded)) + encoded + body
    return len(rest).to_bytes(4, "little") + rest


def record(**fields: int | bytes) -> bytes:
    """As broker/journal/record.proto has it."""
    encoded = b""
    for name, value in fields.items():
        number = FIELDS[name]
        if isinstance(value, bytes):
            encoded += varint(number << 3 | 2) + varint(len(value)) + value
        elif name == "created":  # of a fixed length
            encoded += varint(number << 3 | 1) + value.to_bytes(8, "little")
        else:
            encoded += varint(number << 3) + varint(value)
    return encoded


class Transfer:
    """A connection that moves jobs into a broker."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name.encode()
        self.client = Client(port)
        self.client.send(b"gearstalk-transfer 1\r\n")
        if (greeting := self.client.line()) != "gearstalk-transfer 1":
            raise RuntimeError(f"no transfers here: {greeting}")
        self.client.send(frame(OPEN, {1: self.name, 3: b"test", 5: b"print", 2: 3, 10: 1}))
        self._answer()

    def close(self) -> None:
        self.client.close()

    def put(self, tube: str, number: int, body: bytes, **more: int) -> None:
        """The job with this number of its source; with `held` in that phase. It gets an id of the broker."""
        job = record(kind=1, id=1, state=1, priority=5, ttr_s=60, created=1, tube=tube.encode(), **more)
        kind = HOLD if "held" in more else PUT
        self.client.send(frame(kind, {1: job, 2: 1, 3: b"%d" % number}, body))

    def commit(self, job: int) -> None:
        """A held one appears."""
        self.client.send(frame(COMMIT, {1: varint(job)}))

    def forget_and_commit(self) -> None:
        self.client.send(frame(FORGET, {1: self.name, 2: FORGET_AND_COMMIT}))

    def sync(self) -> None:
        self.client.send(frame(SYNC, {}))

    def ids(self) -> list[int]:
        """The broker's answer to a sync: of the jobs put or held before it; 0 of one that joined another."""
        kind, fields = self._answer()
        if kind != ACK or 2 in dict(fields):
            raise RuntimeError(f"refused: {kind} {fields}")
        return [take_varint(value)[0] for number, value in fields if number == 3]

    def _answer(self) -> tuple[int, list[tuple[int, bytes]]]:
        """A frame's type and fields."""
        data = self.client.body(int.from_bytes(self.client.body(4), "little"))
        kind, (size, data) = data[0], take_varint(data[1:])
        rest, fields = data[:size], []
        while rest:
            number, rest = take_varint(rest)
            value, behind = take_varint(rest)
            text, rest = (behind[:value], behind[value:]) if number % 2 else (rest[:-len(behind) or None], behind)
            fields.append((number, text))
        return kind, fields


def hold(port: int, name: str, jobs: int) -> None:
    """Jobs for the tube "in" come in with a transfer and wait for its word."""
    transfer = Transfer(port, name)
    for i in range(jobs):
        transfer.put("in", i, b"body", held=2, source_id=i + 1)
    transfer.sync()
    transfer.ids()
    transfer.close()
