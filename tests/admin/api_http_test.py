#!/usr/bin/env python3
"""Bytes that a browser would not send, to the API of the real broker: api_http_test.py BROKER."""

import json
import random
import signal
import socket
import unittest
from collections.abc import Iterator
from typing import Any

from api_case import WithBroker
from api_client import Answer
from broker import SECONDS

GET = b"GET /api/v1/tubes HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = "Host: localhost\r\nContent-Type: application/json\r\n"


class Raw:
    """A connection that sends bytes, and reads answers one by one."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), SECONDS)
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.socket.close()

    def send(self, data: bytes | str) -> None:
        try:
            self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough

    def answer(self, bodiless: bool = False) -> tuple[int, dict[str, str], bytes]:
        words = self.file.readline().split(b" ", 2)
        assert words[0] == b"HTTP/1.1", words
        headers: dict[str, str] = {}
        while (line := self.file.readline().decode().rstrip("\r\n")) != "":
            name, _, value = line.partition(": ")
            headers[name] = value
        size = int(headers.get("Content-Length", 0))
        return int(words[1]), headers, b"" if bodiless else self.file.read(size)

    def ended(self) -> bool:
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True


class Bytes(WithBroker):
    def raw(self) -> Raw:
        return self.enterContext(Raw(self.broker.admin))

    def problem(self, code: str, sent: bytes | str, closed: bool = True) -> Any:
        raw = self.raw()
        raw.send(sent)
        status, headers, body = raw.answer()
        self.assertEqual(headers["Content-Type"], "application/problem+json", (sent, status, body))
        problem = json.loads(body)
        self.assertEqual((problem["code"], problem["status"]), (code, status), sent)
        self.assertEqual(problem["request_id"], headers["X-Request-Id"])
        if closed:
            self.assertTrue(raw.ended())
        return problem

    def test_heads_that_are_none(self) -> None:
        for line in ("GET /api/v1/server", "GET", "GET  HTTP/1.1", "GET /api/v1/a b HTTP/1.1",
                     "GET /api/v1/server HTTP/x", "GET /api/v1/server HTTP/1.1x", "G(T /api/v1 HTTP/1.1",
                     "GET api/v1 HTTP/1.1", "GET /api/v1/tubes?a=%4 HTTP/1.1", "\x16\x03\x01",
                     "GET /api/v1/#x HTTP/1.1", "GET http:///api/v1 HTTP/1.1"):
            self.problem("bad-request", f"{line}\r\n{HEAD}\r\n")
        for header in ("no colon", ": empty", "a b: c", "A: b\x00c", " folded: x", "Host: a\r\nHost: b",
                       "Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2",
                       "Content-Length: 1, 1", "Content-Length: 99999999999999999999",
                       "Content-Length: 3\r\nTransfer-Encoding: chunked",
                       "Transfer-Encoding: gzip", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                       "Expect: miracles"):
            self.problem("bad-request", f"POST /api/v1/tubes HTTP/1.1\r\n{header}\r\n{HEAD}\r\n")
        self.problem("bad-request", "GET /api/v1/server HTTP/1.1\r\n\r\n")  # no host
        for version in ("HTTP/1.2", "HTTP/2.0", "HTTP/0.9"):
            problem = self.problem("http-version", f"GET /api/v1/server {version}\r\n{HEAD}\r\n")
            self.assertEqual(problem["status"], 505)

    def test_too_much(self) -> None:
        self.problem("too-large", f"GET /api/v1/server HTTP/1.1\r\nX: {'x' * 9000}\r\n\r\n")
        self.problem("too-large", "GET /api/v1/" + "x" * 20000)
        self.problem("too-large", "POST /api/v1/tubes HTTP/1.1\r\n" + HEAD +
                     f"Content-Length: {(2 << 20) + 1}\r\n\r\n")
        self.problem("too-large", "POST /api/v1/tubes HTTP/1.1\r\n" + HEAD +
                     "Transfer-Encoding: chunked\r\n\r\n200001\r\n")
        self.problem("too-large", "GET /api/v1/server HTTP/1.1\r\n" + HEAD +
                     "Content-Length: 100000\r\n\r\n")
        self.assertEqual(self.api.ask("POST", "/tubes/t/jobs", {"body": "x" * (1 << 20)}).status, 201)

    def test_chunks(self) -> None:
        begin = f"POST /api/v1/tubes HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n"
        for chunks in ("x\r\n", "-1\r\n", "\r\n", "5\r\nhelloX\r\n", "0x5\r\n", "5 5\r\nhello\r\n",
                       "5\nhello\r\n", "5\r\nhello\n0\r\n", "5,a\r\nhello\r\n", "ffffffffffffffffff\r\n"):
            self.problem("bad-request", begin + chunks)
        raw = self.raw()
        for part in (begin, "8;a=b\r\n{\"name\":\r\n", "4\r\n\"c\"}\r\n", "0\r\nTrailer: x\r\n\r\n"):
            for byte in part:
                raw.send(byte)
        status, _, body = raw.answer()
        self.assertEqual((status, json.loads(body)["name"]), (201, "c"))

    def test_bodies_have_no_coding(self) -> None:
        headers = {"Content-Encoding": "gzip"}
        for method, path in (("POST", "/tubes"), ("PUT", "/server/draining")):
            answer = self.api.ask(method, path, b"\x1f\x8b", headers)
            self.assertEqual((answer.status, answer.code), (415, "unsupported-media-type"))
        self.assertEqual(self.api.ask("POST", "/tubes", {"name": "i"},
                                      {"Content-Encoding": "identity"}).status, 201)

    def test_paths_that_name_nothing(self) -> None:
        for ref in ("%zz", "%", "a%4", "~*", "~%zz"):
            for method, path in (("POST", "jobs"), ("GET", ""), ("GET", "jobs"), ("POST", "kick")):
                self.refused("bad-request", method, f"/tubes/{ref}/{path}".rstrip("/"), {"count": 1})
        for path in ("/schedules/%zz/run", "/jobs/%zz/kick", "/operations/%zz/confirm"):
            self.refused("bad-request", "POST", path)

    def test_parameters_are_as_openapi_says(self) -> None:
        self.api.put_job("t", "{}")
        described = 0
        for method, path, name, schema in self.query_parameters():
            good, bad = self.values(schema)
            described += len(bad) > 0
            for value in good:
                answer = self.ask_with(method, path, name, value)
                self.assertIn(answer.status, (200, 204, 404), (method, path, name, value, answer))
                if answer.status == 204:  # the job was deleted
                    self.api.put_job("t", "{}")
            for value in bad:
                answer = self.ask_with(method, path, name, value)
                self.assertEqual((answer.code, answer.json["field"]), ("bad-request", name),
                                 (method, path, value, answer))
        self.assertGreater(described, 40)

    def query_parameters(self) -> Iterator[tuple[str, str, str, Any]]:
        """Method, path, name and schema of each."""
        for path, methods in self.api.get("/openapi.json")["paths"].items():
            if "{key}" in path or path in ("/events", "/operations/{id}", "/connections/{id}"):
                continue
            for method, operation in methods.items():
                for parameter in operation["parameters"]:
                    if parameter["in"] == "query":
                        yield method.upper(), path, parameter["name"], parameter["schema"]

    def ask_with(self, method: str, path: str, name: str, value: str) -> Answer:
        """With the other parameters that this one needs."""
        query = f"{name}={value}"
        beside = {"json_op": "json_path=$&json_value=1", "order=next": "state=ready&tube=t",
                  "offset": "as=hex"}
        more = beside.get(query, beside.get(name, ""))
        if "/tubes/" in path:  # it names the tube
            more = more.replace("&tube=t", "")
        concrete = path.replace("{tube}", "t").replace("{id}", "1").replace("{name}", "n")
        return self.api.ask(method, f"{concrete}?{query}&{more}")

    @staticmethod
    def values(schema: Any) -> tuple[list[str], list[str]]:
        """Some that a schema allows, some that it does not; none at all for a text."""
        if schema["type"] == "array" and "enum" in schema["items"]:
            words = schema["items"]["enum"]
            return [*words, ",".join(words)], ["other", f"{words[0]},other"]
        if "enum" in schema:
            return schema["enum"], ["other", f"{schema['enum'][0]}x"]
        if schema["type"] == "boolean":
            return ["false", "true"], ["maybe"]
        least, most = schema.get("minimum"), schema.get("maximum")
        good = [str(each) for each in (least, most) if each is not None]
        bad = [str(least - 1)] if least is not None else []
        return good, bad + ([str(most + 1)] if most is not None else [])

    def test_many_requests_at_once(self) -> None:
        raw = self.raw()
        body = '{"name":"p"}'
        post = f"POST /api/v1/tubes HTTP/1.1\r\n{HEAD}Content-Length: {len(body)}\r\n\r\n{body}"
        raw.send(GET * 20 + post.encode() + b"\r\n" + GET.replace(b"tubes", b"nothing") + GET)
        for _ in range(20):
            status, _, text = raw.answer()
            self.assertEqual((status, len(json.loads(text)["items"])), (200, 1))
        self.assertEqual(raw.answer()[0], 201)
        self.assertEqual(raw.answer()[0], 404)
        self.assertEqual(len(json.loads(raw.answer()[2])["items"]), 2)

    def test_methods(self) -> None:
        raw = self.raw()
        for path in ("/server", "/tubes", "/jobs?limit=1", "/nothing", "/openapi.json"):
            for method in ("GET", "HEAD"):
                raw.send(f"{method} /api/v1{path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            whole, head = raw.answer(), raw.answer(bodiless=True)
            self.assertEqual(head[0], whole[0])
            self.assertEqual(head[1]["Content-Type"], whole[1]["Content-Type"])
        index = self.api.get("/")["paths"]
        document = self.api.get("/openapi.json")["paths"]
        self.assertEqual(sorted(index), sorted(document))
        for path, methods in document.items():
            concrete = path.replace("{tube}", "default").replace("{id}", "1")
            concrete = concrete.replace("{key}", "ttr").replace("{name}", "n")
            allowed = {method.upper() for method in methods}
            allowed |= {"HEAD"} if "GET" in allowed else set()
            for method in ("OPTIONS", "TRACE", "CONNECT", "PATCH", "DELETE", "PUT", "POST", "LOCK"):
                if method in allowed:
                    continue
                answer = self.api.ask(method, concrete)
                self.assertEqual((answer.status, answer.code), (405, "method-not-allowed"),
                                 (method, path))
                self.assertEqual(set(answer.headers["Allow"].split(", ")), allowed)
        for line in ("OPTIONS * HTTP/1.1", "CONNECT localhost:80 HTTP/1.1"):
            other = self.raw()
            other.send(f"{line}\r\nHost: localhost\r\n\r\n")
            self.assertGreaterEqual(other.answer()[0], 400)

    def test_unknown_parameters_are_refused_everywhere(self) -> None:
        self.api.put_job("t")
        for path, methods in self.api.get("/openapi.json")["paths"].items():
            concrete = path.replace("{tube}", "t").replace("{id}", "1").replace("{key}", "ttr")
            concrete = concrete.replace("{name}", "n")
            for method in methods:
                answer = self.api.ask(method.upper(), f"{concrete}?surely_not=1")
                self.assertIn(answer.code, ("bad-request", "not-found"), (method, path, answer))
                if method in ("post", "put"):
                    answer = self.api.ask(method.upper(), concrete, {"surely_not": 1})
                    self.assertIn(answer.code, ("bad-request", "not-found"), (method, path, answer))
                    self.assertEqual(self.api.ask(method.upper(), concrete, b"[1]").code, "bad-request",
                                     (method, path))
                    self.assertEqual(self.api.ask(method.upper(), concrete, {},
                                                  {"Content-Type": "text/plain"}).code,
                                     "unsupported-media-type")
        self.assertEqual(self.api.get("/jobs/1")["state"], "ready")

    def test_cursors_of_any_bytes(self) -> None:
        for i in range(5):
            self.api.put_job(f"t{i}")
        draw = random.Random(3)
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=%00"
        for path in ("/tubes?", "/tubes?sort=ready&", "/jobs?", "/connections?", "/audit?",
                     "/schedules?", "/transfers?", "/operations?"):
            good = self.api.get(f"{path}limit=1")["next"] or "AAAA"
            for _ in range(40):
                cursor = list(good)
                for _ in range(draw.randint(1, 4)):
                    cursor[draw.randrange(len(cursor))] = draw.choice(letters[:-3])
                answer = self.api.ask("GET", f"{path}limit=1&cursor={''.join(cursor)}")
                self.assertIn(answer.status, (200, 400), (path, cursor))
            for bad in ("", "=", "%00", "x" * 4000, "%FF"):
                if self.api.ask("GET", f"{path}cursor={bad}").code != "bad-request":
                    self.fail((path, bad))

    def test_random_bytes_end_nothing(self) -> None:
        draw = random.Random(5)
        for _ in range(60):
            raw = self.raw()
            raw.send(bytes(draw.randrange(256) for _ in range(draw.randrange(1, 3000))) + b"\r\n\r\n")
            raw.socket.shutdown(socket.SHUT_WR)
            text = raw.file.read()
            self.assertTrue(text == b"" or text.startswith(b"HTTP/1.1 4"), text[:80])
        self.assertTrue(self.api.get("/server")["ready"])

    def test_as_many_connections_as_allowed(self) -> None:
        self.broker.freeze()  # it soon closes connections that say nothing while others wait
        waiting = [Raw(self.broker.admin) for _ in range(100)]
        for raw in waiting:
            raw.send(b"GET /api/v1/server HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.broker.signal(signal.SIGCONT)
        for raw in waiting:
            self.assertEqual(raw.answer()[0], 200)
            raw.__exit__()


if __name__ == "__main__":
    unittest.main()
