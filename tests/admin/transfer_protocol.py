"""A little of what the tools say to a broker to move jobs: see docs/transfer-protocol.md."""

from broker import Client

OPEN, HOLD, SYNC = 1, 3, 11


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


def hold(port: int, name: str, jobs: int) -> None:
    """Jobs for the tube "in" come in with a transfer and wait for its word."""
    client = Client(port)
    client.send(b"gearstalk-transfer 1\r\n")
    if (greeting := client.line()) != "gearstalk-transfer 1":
        raise RuntimeError(f"no transfers here: {greeting}")
    client.send(frame(OPEN, {1: name.encode(), 3: b"test", 5: b"print", 2: 3, 10: 1}))
    for i in range(jobs):
        job = {4: 1, 6: 5, 8: 60, 14: 1, 34: 2, 36: i + 1, 1: b"in", 7: b"%d" % i}
        client.send(frame(HOLD, job, b"body"))
    client.send(frame(SYNC, {}))
    for _ in range(2):  # the mark, and the word that all is done
        client.body(int.from_bytes(client.body(4), "little"))
    client.close()
