"""The written form of bytes in transcripts: escapes, lines, Gearman packets and job references."""

from __future__ import annotations

import re
import time
from typing import Callable

PACKETS: dict[str, int] = {
    "CAN_DO": 1, "CANT_DO": 2, "RESET_ABILITIES": 3, "PRE_SLEEP": 4, "NOOP": 6,
    "SUBMIT_JOB": 7, "JOB_CREATED": 8, "GRAB_JOB": 9, "NO_JOB": 10, "JOB_ASSIGN": 11,
    "WORK_STATUS": 12, "WORK_COMPLETE": 13, "WORK_FAIL": 14, "GET_STATUS": 15, "ECHO_REQ": 16,
    "ECHO_RES": 17, "SUBMIT_JOB_BG": 18, "ERROR": 19, "STATUS_RES": 20, "SUBMIT_JOB_HIGH": 21,
    "SET_CLIENT_ID": 22, "CAN_DO_TIMEOUT": 23, "ALL_YOURS": 24, "WORK_EXCEPTION": 25,
    "OPTION_REQ": 26, "OPTION_RES": 27, "WORK_DATA": 28, "WORK_WARNING": 29, "GRAB_JOB_UNIQ": 30,
    "JOB_ASSIGN_UNIQ": 31, "SUBMIT_JOB_HIGH_BG": 32, "SUBMIT_JOB_LOW": 33,
    "SUBMIT_JOB_LOW_BG": 34, "SUBMIT_JOB_SCHED": 35, "SUBMIT_JOB_EPOCH": 36,
    "SUBMIT_REDUCE_JOB": 37, "SUBMIT_REDUCE_JOB_BACKGROUND": 38, "GRAB_JOB_ALL": 39,
    "JOB_ASSIGN_ALL": 40, "GET_STATUS_UNIQUE": 41, "STATUS_RES_UNIQUE": 42,
}
PACKET_NAMES = {number: name for name, number in PACKETS.items()}

# Runs of one byte at least this long are written as a repetition.
_SHORTEST_RUN = 40

_PACKET = re.compile(r"\{(!?)(\w+)(?::(\d+))?(?: (.*))?\}", re.DOTALL)
_TOKEN = re.compile(
    r"\\x(?P<hex>[0-9a-fA-F]{2})"
    r"|\\\((?P<unit>(?:[^\\*]|\\[^(])*)\*(?P<count>\d+)\)"
    r"|\\@(?P<now>[+-]\d+)"
    r"|\\(?P<simple>.)"
    r"|(?P<handle>H?)#(?P<ref>\d+)"
    r"|(?P<plain>.)", re.DOTALL)
_SIMPLE = {"0": b"\0", "r": b"\r", "n": b"\n", "t": b"\t", "\\": b"\\", "s": b" ", "#": b"#",
           "{": b"{", "c": b""}

# Gives the bytes of job reference number n, as a handle or as an id.
Resolver = Callable[[int, bool], bytes]


class NotationError(ValueError):
    """A transcript that cannot be read."""


def _no_references(number: int, _handle: bool) -> bytes:
    raise NotationError(f"job reference #{number} is not allowed here")


def unescape(text: str, resolve: Resolver = _no_references) -> tuple[bytes, bool]:
    """The bytes of `text`, and whether its last escape says that no CRLF follows."""
    out = bytearray()
    ended = False
    for match in _TOKEN.finditer(text):
        ended = match["simple"] in ("n", "c")
        if match["hex"]:
            out.append(int(match["hex"], 16))
        elif match["count"]:
            out += unescape(match["unit"])[0] * int(match["count"])
        elif match["now"]:
            out += str(int(time.time()) + int(match["now"])).encode()
        elif match["simple"]:
            if match["simple"] not in _SIMPLE:
                raise NotationError(f"unknown escape \\{match['simple']}")
            out += _SIMPLE[match["simple"]]
        elif match["ref"]:
            out += resolve(int(match["ref"]), bool(match["handle"]))
        else:
            out += match["plain"].encode()
    return bytes(out), ended


def line_bytes(text: str, resolve: Resolver = _no_references) -> bytes:
    """One written line: a packet in braces, or text that ends in CRLF unless it says otherwise."""
    packet = _PACKET.fullmatch(text)
    if packet:
        return _packet_bytes(packet, resolve)
    data, ended = unescape(text, resolve)
    return data if ended else data + b"\r\n"


def _packet_bytes(match: re.Match[str], resolve: Resolver) -> bytes:
    other_magic, name, size, payload_text = match.groups()
    number = PACKETS.get(name)
    if number is None:
        try:
            number = int(name, 0)
        except ValueError as error:
            raise NotationError(f"unknown packet {name}") from error
    payload = unescape(payload_text or "", resolve)[0]
    declared = len(payload) if size is None else int(size)
    magic = b"\0RES" if other_magic else b"\0REQ"
    return magic + number.to_bytes(4, "big") + declared.to_bytes(4, "big") + payload


def message_bytes(text: str, resolve: Resolver = _no_references) -> bytes:
    """A written message of one or more lines."""
    return b"".join(line_bytes(line, resolve) for line in text.split("\n"))


def _escape_byte(byte: int) -> str:
    special = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"}
    if byte in special:
        return special[byte]
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"


def escape(data: bytes) -> str:
    out: list[str] = []
    at = 0
    while at < len(data):
        end = at
        while end < len(data) and data[end] == data[at]:
            end += 1
        token = _escape_byte(data[at])
        out.append(f"\\({token}*{end - at})" if end - at >= _SHORTEST_RUN else token * (end - at))
        at = end
    text = re.sub(r"#(?=\d)", r"\\#", "".join(out))
    return text[:-1] + "\\s" if text.endswith(" ") else text


def render_packet(magic: bytes, number: int, payload: bytes) -> str:
    """A packet from a server, whose usual magic is RES."""
    mark = "" if magic == b"\0RES" else "!"
    name = PACKET_NAMES.get(number, str(number))
    return "{" + mark + name + (" " + escape(payload) if payload else "") + "}"


def render_text(data: bytes) -> str:
    """Text from a server, one written line per line of it."""
    lines: list[str] = []
    for piece in re.findall(rb"[^\n]*\n|[^\n]+", data):
        if piece == b"\r\n" and not lines:
            lines.append("\\r\\n\\c")
        elif piece.endswith(b"\r\n"):
            lines.append(escape(piece[:-2]))
        elif piece.endswith(b"\n"):
            lines.append(escape(piece[:-1]) + "\\n")
        else:
            lines.append(escape(piece) + "\\c")
    return "\n".join(lines)
