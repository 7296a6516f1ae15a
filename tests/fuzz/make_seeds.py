#!/usr/bin/env python3
"""Writes seeds/<target>/: one small file for each message worth starting from.

The files are committed; run this after changing it. Inputs that once broke something are seeds,
too: they stand in FOUND.
"""

import struct
from pathlib import Path

SEEDS = Path(__file__).resolve().parent / "seeds"
SEPARATOR = b"\xff|"

TYPES = {
    "CAN_DO": 1, "CANT_DO": 2, "RESET_ABILITIES": 3, "PRE_SLEEP": 4, "SUBMIT_JOB": 7,
    "GRAB_JOB": 9, "WORK_STATUS": 12, "WORK_COMPLETE": 13, "WORK_FAIL": 14, "GET_STATUS": 15,
    "ECHO_REQ": 16, "SUBMIT_JOB_BG": 18, "SUBMIT_JOB_HIGH": 21, "SET_CLIENT_ID": 22,
    "CAN_DO_TIMEOUT": 23, "ALL_YOURS": 24, "WORK_EXCEPTION": 25, "OPTION_REQ": 26,
    "WORK_DATA": 28, "WORK_WARNING": 29, "GRAB_JOB_UNIQ": 30, "SUBMIT_JOB_HIGH_BG": 32,
    "SUBMIT_JOB_LOW": 33, "SUBMIT_JOB_LOW_BG": 34, "SUBMIT_JOB_SCHED": 35,
    "SUBMIT_JOB_EPOCH": 36, "SUBMIT_REDUCE_JOB": 37, "SUBMIT_REDUCE_JOB_BACKGROUND": 38,
    "GRAB_JOB_ALL": 39, "GET_STATUS_UNIQUE": 41,
}

POLICY_TEXTS = {
    "cron": "*/15 9-17 1,15,L jan-jun mon-fri",
    "cron-seconds": "10/20 59 2 29 2 7",
    "cron-daily": "@daily",
    "duration": "1h30m",
    "backoff": "backoff\n1s,10s,1m",
    "backoff-doubled": "backoff\n10s..1h",
    "retry-on": "retry_on\ntimeout,lost",
    "rate": "rate\n100/m",
    "unique": "unique\njson:/a/0/b~1c",
    "copy-to": "copy_to\na,b",
    "body": '/a/0\n{"a": ["\\u00e9", 1.5e3, true, null]}',
    "whole-body": "\n{}",
}

BEANSTALK_LINES = {
    "put": "put 10 0 60 5\r\nhello\r\n",
    "put-delayed": "put 4294967295 3600 1 0\r\n\r\n",
    "reserve": "reserve\r\n",
    "reserve-with-timeout": "reserve-with-timeout 1\r\n",
    "reserve-job": "reserve-job 1\r\n",
    "delete": "delete 18446744073709551615\r\n",
    "release": "release 1 100 5\r\n",
    "bury": "bury 1 100\r\n",
    "touch": "touch 1\r\n",
    "use": "use tube\r\n",
    "watch": "watch a-+/;.$_()z\r\n",
    "ignore": "ignore default\r\n",
    "peek": "peek 1\r\n",
    "peek-ready": "peek-ready\r\n",
    "peek-delayed": "peek-delayed\r\n",
    "peek-buried": "peek-buried\r\n",
    "kick": "kick -1\r\n",
    "kick-job": "kick-job 1\r\n",
    "stats": "stats\r\n",
    "stats-job": "stats-job 1\r\n",
    "stats-tube": "stats-tube default\r\n",
    "list-tubes": "list-tubes\r\n",
    "list-tube-used": "list-tube-used\r\n",
    "list-tubes-watched": "list-tubes-watched\r\n",
    "pause-tube": "pause-tube default 1\r\n",
    "quit": "quit\r\n",
    "unknown": "foo bar\r\n",
    "too-long": "use " + "x" * 230 + "\r\n",
    "longest": "use " + "x" * 200 + "\r\n",
    "half-end": "x" * 225 + "\r\r\n",
}

ADMIN_LINES = {
    "status": "status\n",
    "workers": "workers\r\n",
    "prioritystatus": "PriorityStatus\n",
    "show-jobs": "show jobs\n",
    "show-unique-jobs": "show unique jobs\r\n",
    "cancel-job": "cancel job H:test:1\n",
    "create-function": "create function f\n",
    "drop-function": "drop function f\n",
    "maxqueue": "maxqueue f 1 2 3\n",
    "version": "version\n",
    "getpid": "getpid\n",
    "verbose": "verbose\n",
    "shutdown": "shutdown graceful\n",
    "unknown": "foo\n",
    "too-many-words": "a b c d e f\n",
    "nul": "status\0x\n",
    "too-long": "x" * 8200 + "\n",
}


def packet(name: str, *parts: str | bytes, magic: bytes = b"\0REQ", size: int | None = None) -> bytes:
    payload = b"\0".join(part.encode() if isinstance(part, str) else part for part in parts)
    length = len(payload) if size is None else size
    return magic + TYPES[name].to_bytes(4, "big") + length.to_bytes(4, "big") + payload


def handle(job: int) -> str:
    return f"H:test:{job}"


PACKETS = {
    "can-do": packet("CAN_DO", "f"),
    "cant-do": packet("CANT_DO", "f"),
    "reset-abilities": packet("RESET_ABILITIES"),
    "pre-sleep": packet("PRE_SLEEP"),
    "submit-job": packet("SUBMIT_JOB", "f", "u", "data"),
    "submit-job-bg": packet("SUBMIT_JOB_BG", "f", "", "data"),
    "submit-job-high": packet("SUBMIT_JOB_HIGH", "f", "-", "data"),
    "submit-job-high-bg": packet("SUBMIT_JOB_HIGH_BG", "f", "u", ""),
    "submit-job-low": packet("SUBMIT_JOB_LOW", "f", "u", "data"),
    "submit-job-low-bg": packet("SUBMIT_JOB_LOW_BG", "f", "u", "data"),
    "submit-job-epoch": packet("SUBMIT_JOB_EPOCH", "f", "u", "1700000001", "data"),
    "submit-job-sched": packet("SUBMIT_JOB_SCHED", "f", "u", "0", "0", "1", "1", "1", "data"),
    "submit-reduce-job": packet("SUBMIT_REDUCE_JOB", "f", "u", "sum", "", "data"),
    "submit-reduce-job-bg": packet("SUBMIT_REDUCE_JOB_BACKGROUND", "f", "u", "sum", "", "data"),
    "grab-job": packet("GRAB_JOB"),
    "grab-job-uniq": packet("GRAB_JOB_UNIQ"),
    "grab-job-all": packet("GRAB_JOB_ALL"),
    "work-status": packet("WORK_STATUS", handle(1), "1", "2"),
    "work-status-short": packet("WORK_STATUS", handle(1)),
    "work-complete": packet("WORK_COMPLETE", handle(1), "result"),
    "work-fail": packet("WORK_FAIL", handle(1)),
    "work-exception": packet("WORK_EXCEPTION", handle(1), "what"),
    "work-data": packet("WORK_DATA", handle(1), "part"),
    "work-warning": packet("WORK_WARNING", handle(1), "careful"),
    "get-status": packet("GET_STATUS", handle(1)),
    "get-status-unique": packet("GET_STATUS_UNIQUE", "u"),
    "echo": packet("ECHO_REQ", "hello"),
    "set-client-id": packet("SET_CLIENT_ID", "me"),
    "can-do-timeout": packet("CAN_DO_TIMEOUT", "f", "10"),
    "all-yours": packet("ALL_YOURS"),
    "option": packet("OPTION_REQ", "exceptions"),
    "response-magic": packet("ECHO_REQ", "x", magic=b"\0RES"),
    "wrong-magic": packet("ECHO_REQ", "x", magic=b"\0REX"),
    "four-gigabytes": packet("SUBMIT_JOB", "f", "u", "data", size=0xFFFFFFFF),
    "no-nul": packet("SUBMIT_JOB", "f"),
    "long-function": packet("SUBMIT_JOB", "f" * 8200, "u", "data"),
}


def script(*steps: str | bytes) -> bytes:
    return SEPARATOR.join(step.encode() if isinstance(step, str) else step for step in steps)


SCRIPTS = {
    "put-reserve-delete": script(
        "aput 0 0 60 4\r\nbody\r\n", "breserve\r\n", "bdelete 1\r\n", "bstats\r\n"),
    "reserve-waits": script(
        "buse f\r\nwatch f\r\nreserve\r\nlist-tube-used\r\n", "ause f\r\nput 0 0 1 1\r\nx\r\n",
        "t500", "t1000", "breserve-with-timeout 1\r\nstats-job 1\r\n", "t1000"),
    "delayed-kick-bury": script(
        "aput 0 5 60 1\r\nx\r\nput 1 0 60 1\r\ny\r\nkick 10\r\nreserve\r\nbury 1 5\r\n"
        "peek-buried\r\nkick-job 1\r\nstats-tube default\r\n", "t6000", "areserve\r\n"),
    "pause": script("apause-tube default 2\r\nput 0 0 1 0\r\n\r\n", "breserve\r\n", "t2500"),
    "answer": script(
        b"a" + packet("SUBMIT_JOB", "f", "u", "question"), "bwatch f\r\nreserve\r\n",
        "buse $reply/1\r\nput 0 0 0 4\r\npart\r\ndelete 1\r\n"),
    "work": script(
        b"b" + packet("CAN_DO", "f") + packet("PRE_SLEEP"),
        b"a" + packet("SUBMIT_JOB", "f", "u", "data"),
        b"b" + packet("GRAB_JOB_UNIQ") + packet("WORK_STATUS", handle(1), "1", "2") +
        packet("WORK_DATA", handle(1), "part") + packet("WORK_COMPLETE", handle(1), "result")),
    "coalesce": script(
        b"a" + packet("SUBMIT_JOB", "f", "u", "data"), b"b" + packet("SUBMIT_JOB_BG", "f", "u", ""),
        "da", b"c" + packet("CAN_DO_TIMEOUT", "f", "1") + packet("GRAB_JOB_ALL"), "t1500",
        b"c" + packet("WORK_FAIL", handle(1))),
    "exception": script(
        b"a" + packet("OPTION_REQ", "exceptions") + packet("SUBMIT_JOB_HIGH", "f", "", "data"),
        b"b" + packet("CAN_DO", "f") + packet("GRAB_JOB") + packet("WORK_EXCEPTION", handle(1), "x")
        + packet("WORK_FAIL", handle(1))),
    "epoch-reduce": script(
        b"a" + packet("SUBMIT_JOB_EPOCH", "f", "u", "1700000002", "data") +
        packet("SUBMIT_REDUCE_JOB_BACKGROUND", "f", "v", "sum", "1", "data"),
        b"b" + packet("CAN_DO", "f") + packet("PRE_SLEEP"), "t3000",
        b"b" + packet("GRAB_JOB_ALL") + packet("GRAB_JOB_ALL") + packet("CANT_DO", "f"), "db"),
    "release-forgotten": script(
        "aput 0 0 1 1\r\nx\r\nreserve\r\nrelease 1 5 1\r\ntouch 1\r\n", "t1500", "areserve-job 1\r\n",
        "ha"),
    "admin-in-beanstalk": script("ause f\r\nstatus\nput 0 0 1 1\r\nx\r\nshow jobs\nVERSION\r\n"),
    "admin-first": script(
        b"acreate function f\nworkers\n" + packet("ECHO_REQ", "x") + b"maxqueue f 1\nfoo\r\n",
        b"b" + packet("SUBMIT_JOB_BG", "f", "", "1") + packet("SUBMIT_JOB_BG", "f", "", "2"),
        "acancel job H:test:1\ndrop function f\n"),
    "unknown-undecided": script("afoo\r\nbar\n\r\n\nlist-tube-used\r\nfoo\r\nfoo\n"),
    "unknown-gearman": script(b"a" + packet("ECHO_REQ", "") + b"foo\r\nreserve\r\nfoo bar\n"),
    "endless-line": script(b"ra\x90x", "a\r\nstats\r\n", b"ra\x90y", "a\n"),
    "large-body": script("aput 0 0 1 51200\r\n", b"ra\xff.", b"ra\xffz", b"ra\xff-", "a\r\nstats-job 1\r\n"),
    "large-workload": script(
        b"a" + packet("SUBMIT_JOB_BG", "f", "u", "", size=49156), b"ra\xffz", b"ra\xffx", b"ra\xffy",
        "ashow jobs\n"),
    "too-big": script("aput 0 0 1 65536\r\n", b"ra\xffx", "aput 0 0 1 1\r\nxx"),
    "leave": script(
        "areserve\r\n", b"b" + packet("CAN_DO", "default") + packet("PRE_SLEEP"),
        "cput 0 0 1 1\r\nx\r\nput 0 0 1 1\r\ny\r\n", "da", "db", "hc"),
    "quit": script("awatch f\r\nreserve\r\nquit\r\nuse g\r\n", "buse f\r\nput 0 0 1 0\r\n\r\n"),
}


def segment_record(kind: int, number: int) -> bytes:
    """A journal record with a few fields, as protobuf writes them."""
    return bytes([0x08, kind, 0x10, number])


SEGMENTS = {
    "empty": b"m",
    "frames": script(
        b"mx", b"f\x03" + segment_record(1, 1) + b"body\r\n", b"f\x03" + segment_record(2, 1), b"mxxx"),
    "torn": script(b"mx", b"f\x03" + segment_record(1, 2) + b"body", b"x" + bytes(8) + b"\x04\0\0\0"),
    "damaged-middle": script(
        b"mx", b"f\x03" + segment_record(1, 1), b"xdamage, more than sixteen bytes of it", b"mxx",
        b"f\x03" + segment_record(3, 1)),
    "tag": script(b"mx", b"xpad-pad-" + b"\x41\x4d\x4c\xb1" * 5, b"mxxxx"),
    "header": b"GSTKWAL\n\x01" + bytes(55),
}

# The first byte says how large the pieces are that it comes in.
REQUESTS = {
    "get": b"\x03GET /api/v1/tubes?limit=5&match=a%2A HTTP/1.1\r\nHost: a\r\n\r\n",
    "post": b"\x07POST /api/v1/tubes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Content-Length: 12\r\n\r\n{\"name\":\"a\"}",
    "chunked": b"\x01PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
               b"5;x=y\r\nhello\r\n0\r\nTrailer: t\r\n\r\n",
    "absolute": b"\x1fGET http://b:80/x HTTP/1.1\r\nHost: a\r\n\r\n",
    "old": b"\x00HEAD / HTTP/1.0\r\n\r\n",
    "two": b"\x05GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "expect": b"\x09POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
    "both-lengths": b"\x02POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "endless": b"\x10GET /" + b"x" * 8300,
}

# The size of slices; a path, a query, a text.
QUERIES = {
    "tube": b"\x01/tubes/a%2Fb/policy/ttr\nmatch=a%2A&sort=name\na/b",
    "jobs": b"\x04/jobs\ntube=t&state=ready,buried&id_from=1&min_age_seconds=1.5&holder=3\n~YWI",
    "text": b"\x00/tubes/~YS9i/jobs\ntext_base64=YWI%3D&unique=k\n..",
    "json": b"\x03/jobs\njson_path=%24.a.b%5B0%5D&json_value=1&json_op=gt\n{\"a\":{\"b\":[1,\"\\u0041\"]}}",
    "same-names": b"\x02/jobs\njson_path=%24.a\n{\"a\":[1,2],\"a\":{\"b\":null}}",
    "filter": b"\x05/operations\n\n{\"tube\":\"t\",\"state\":[\"ready\"],\"json_path\":\"$\",\"json_value\":1e5}",
    "shown": b"\x06/tubes\ncursor=x\ng\x01\x02\x80\x01",
    "shown-bits": b"\x06/tubes\ncursor=x\nb\x10\xff\x01",
}

BODIES = {
    "json": b'{"a":[1,2.5,true,null,"\xc3\xa4\\ud83d\\ude00"],"n":18446744073709551615}',
    "text": "größe".encode(),
    "php": b'a:2:{s:1:"k";O:3:"Foo":1:{s:6:"\x00Foo\x00b";d:0.5;}i:5;N;}',
    "msgpack": b"\x83\xa1a\x93\x01\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00\xc0\xa1b\xc4\x02\xff\x00\xa1c\xd4\x05x",
    "base64": b"eyJhIjogMTIzNDU2fQ==",
    "bytes": bytes(range(256)),
    "nested": b"[" * 70 + b"]" * 70,
}

# Inputs that once broke something: target -> name -> bytes.
FOUND: dict[str, dict[str, bytes]] = {
    # A set of shown tubes with the number 0, which none has.
    "api_query_fuzz": {"found-shown-zero": b"\x06/tubes\ncursor=x\nb\x00\x01"},
    "protocol_switch_fuzz": {
        # An unknown line that begins with NUL was run as a packet.
        "found-packet-in-beanstalk": script(
            b"aput 0 0 1 1\r\nx\r\n" + packet("WORK_COMPLETE", handle(1), "r") + b"reserve\r\n"),
        # What followed a line too long for both protocols depended on where the reads were cut.
        "found-line-too-long-for-both": script(b"ra\x90x\nversion\n", b"a\r\nlist-tube-used\r\n"),
    },
}


def frame(stream: int, kind: int, payload: bytes = b"") -> bytes:
    return struct.pack("<II", stream, len(payload) << 8 | kind) + payload


# One client of a link, and two at once; the first byte is where reads are cut.
LINKS = {
    "client": b"\x07" + frame(1, 1, struct.pack("<HH", 0, 4730) + b"\x7f\0\0\1") + frame(1, 3, b"put")
              + frame(1, 7, struct.pack("<II", 0, 32768)) + frame(1, 5) + frame(1, 8, struct.pack("<I", 1)),
    "two": b"\x03" + frame(1, 1, bytes(4)) + frame(2, 1, bytes(4)) + frame(2, 3, b"b") + frame(1, 3, b"a")
           + frame(2, 6, b"\x01no") + frame(1, 4) + frame(2, 2, b"name"),
    "link": b"\x0b" + frame(0, 9, bytes(40)) + frame(0, 10, b"\x01")
            + frame(0, 11, bytes(18) + struct.pack("<I", 1) + b"\0" + bytes(12)),
}

# What two clients and the owners of their streams do: steps of two bytes, see streams_fuzz.cc. The first byte tells
# whether that, or frames for the broker's end of a link, or for a router.
def steps(*each: tuple[int, int]) -> bytes:
    return b"\0" + bytes(byte for step in each for byte in step)


(CONNECT, SEND, READ, HALF_CLOSE, CLOSE, SAY, READING, MUTE, END, SHARE, TURN, TURN_ROUTER, TURN_BROKER,
 FLUSH) = range(14)
OTHER = 128  # the second client
STREAMS = {
    "both": steps((CONNECT, 0), (CONNECT | OTHER, 0), (TURN, 3), (SEND, 9), (SEND | OTHER, 200), (TURN, 2),
                  (SAY, 200), (SAY | OTHER, 7), (TURN, 2), (READ, 255), (READ | OTHER, 1)),
    "half-close": steps((CONNECT, 0), (CONNECT | OTHER, 0), (TURN, 3), (SEND, 255), (HALF_CLOSE, 0), (SAY, 255),
                        (TURN, 1), (SAY, 255), (SEND | OTHER, 1), (TURN, 3), (END, 1), (TURN, 1), (READ, 9)),
    "unread": steps((CONNECT, 0), (CONNECT | OTHER, 0), (TURN, 3), *[(SAY, 255), (SAY | OTHER, 255), (TURN, 1)] * 6,
                    (CLOSE, 0), (TURN_ROUTER, 1), (END, 0), (TURN, 2), (CONNECT, 0), (TURN, 2), (SEND, 3), (TURN, 2)),
    "no-credit": steps((CONNECT, 0), (TURN, 3), (READING, 2), *[(SEND, 255), (TURN, 1)] * 4, (CLOSE, 0), (TURN, 2),
                       (READING, 0), (SHARE, 3), (TURN, 9)),
    "muted": steps((CONNECT, 0), (CONNECT | OTHER, 0), (TURN, 3), (MUTE, 1), (SEND, 20), (SEND | OTHER, 20), (TURN, 2),
                   (READING | OTHER, 1), (SEND | OTHER, 20), (FLUSH, 0), (TURN_BROKER, 1), (MUTE, 0), (END | OTHER, 1)),
    "bodies": steps((CONNECT, 0), (CONNECT | OTHER, 0), (TURN, 3), (SHARE, 255), (SHARE | OTHER, 255),
                    *[(SEND, 255), (SEND | OTHER, 255), (TURN, 1)] * 8, (SAY, 3), (TURN, 1)),
    "frames-of-a-router": b"\1" + frame(1, 1, bytes(4)) + frame(2, 1, bytes(4)) + frame(1, 3, b"a") + frame(2, 3, b"b")
                          + frame(1, 7, struct.pack("<II", 5, 5)) + frame(2, 5) + frame(1, 4) + frame(1, 6, b"\0")
                          + frame(2, 8, struct.pack("<I", 0)),
    "frames-of-a-broker": b"\2" + frame(1, 3, b"hello") + frame(2, 3, b"you") + frame(1, 7, struct.pack("<II", 0, 9))
                          + frame(1, 8, struct.pack("<I", 1)) + frame(0, 9, bytes(40)) + frame(0, 10, b"\0"),
    # A router sent an empty DATA for ever.
    "empty-data": bytes.fromhex(
        "0201000000030000008007081fffffffffffffffff00000a030701011405000068656c6c6f020000000303000079"
        "6f750100000081070800000000000009000000010000000804140000010000000000000009280000000000000000"
        "000000000000000000000086020a018100"),
}

FIXTURES = Path(__file__).resolve().parents[1] / "migration" / "fixtures"


def logs() -> dict[str, bytes]:
    """The first 4 KB of real logs, and of what a crash and a damage leave."""
    return {name: next(iter(sorted((FIXTURES / name).glob("binlog.*")))).read_bytes()[:4096]
            for name in ("binlog-v5", "binlog-v7-states", "binlog-v7-torn-1", "binlog-v7-cut")}


def seeds() -> dict[str, dict[str, bytes]]:
    return {
        "api_query_fuzz": QUERIES,
        "binlog_fuzz": logs(),
        "beanstalk_parser_fuzz": {name: line.encode() for name, line in BEANSTALK_LINES.items()},
        "gearman_line_fuzz": {name: line.encode() for name, line in ADMIN_LINES.items()},
        "decode_fuzz": BODIES,
        "gearman_packet_fuzz": PACKETS,
        "http_request_fuzz": REQUESTS,
        "link_fuzz": LINKS,
        "protocol_switch_fuzz": SCRIPTS,
        "segment_fuzz": SEGMENTS,
        "streams_fuzz": STREAMS,
        "policy_fuzz": {name: text.encode() for name, text in POLICY_TEXTS.items()},
    }


def main() -> None:
    for target, files in seeds().items():
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, content in {**files, **FOUND.get(target, {})}.items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
