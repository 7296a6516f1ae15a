"""A little of what the tools say to a broker to move jobs: see docs/transfer-protocol.md."""

from broker import Client

OPEN, HOLD, SYNC = 1, 3, 11
FIELDS = {"kind": 1, "id": 2, "state": 3, "priority": 4, "ttr_s": 5, "created": 8, "tube": 11, "held": 41, "source_id": 42}


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


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


def hold(port: int, name: str, jobs: int) -> None:
    """Jobs for the tube "in" come in with a transfer and wait for its word."""
    client = Client(port)
    client.send(b"gearstalk-transfer 1\r\n")
    if (greeting := client.line()) != "gearstalk-transfer 1":
        raise RuntimeError(f"no transfers here: {greeting}")
    client.send(frame(OPEN, {1: name.encode(), 3: b"test", 5: b"print", 2: 3, 10: 1}))
    for i in range(jobs):
        job = record(kind=1, id=1, state=1, priority=5, ttr_s=60, created=1, tube=b"in", held=2, source_id=i + 1)
        client.send(frame(HOLD, {1: job, 2: 1, 3: b"%d" % i}, b"body"))
    client.send(frame(SYNC, {}))
    for _ in range(2):  # the mark, and the word that all is done
        client.body(int.from_bytes(client.body(4), "little"))
    client.close()
