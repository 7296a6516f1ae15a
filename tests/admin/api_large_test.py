#!/usr/bin/env python3
"""Large bodies, slow peers, and jobs that are held, with the API of the real broker: api_large_test.py BROKER."""

import base64
import http.client
import json
import random
import re
import socket
import time
import unittest
from typing import Any

from api_case import WithBroker
from broker import SECONDS, eventually
from transfer_protocol import hold

MEGABYTE = 1 << 20


class Bodies(WithBroker):
    SIZE = 16 * MEGABYTE
    OPTIONS = ("--console-rate", "0", "--max-job-size", str(SIZE))

    def put_large(self, body: bytes) -> int:
        self.client.send(b"put 10 0 60 %d\r\n" % len(body) + body + b"\r\n")
        word, number = self.client.line().split()
        self.assertEqual(word, "INSERTED")
        return int(number)

    def test_a_large_body_comes_whole(self) -> None:
        body = random.Random(1).randbytes(self.SIZE - 7)
        job = self.put_large(body)
        answer = self.api.ask("GET", f"/jobs/{job}/body")
        self.assertTrue(answer.body == body)
        self.assertEqual(answer.headers["Content-Disposition"], f'attachment; filename="job-{job}.bin"')
        self.assertEqual(self.api.ask("HEAD", f"/jobs/{job}/body").body, b"")

    def test_a_body_breaks_off_when_its_job_goes(self) -> None:
        job = self.put_large(b"x" * self.SIZE)
        connection = self.api.connection()
        self.addCleanup(connection.close)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.request("GET", f"/api/v1/jobs/{job}/body")
        answer = connection.getresponse()
        self.assertEqual(answer.read(10), b"x" * 10)
        self.assertEqual(self.api.ask("DELETE", f"/jobs/{job}").status, 204)
        with self.assertRaises(http.client.IncompleteRead):
            answer.read()
        self.assertTrue(self.api.get("/server")["ready"])

    def test_the_largest_put(self) -> None:
        body = random.Random(2).randbytes(MEGABYTE)
        encoded = base64.b64encode(body).decode()
        job = self.api.post("/tubes/t/jobs", {"body_base64": encoded}, 201)
        self.assertTrue(self.api.ask("GET", f"/jobs/{job['id']}/body").body == body)
        self.refused("bad-request", "POST", "/tubes/t/jobs", {"body": "x", "body_base64": encoded})
        self.refused("bad-request", "POST", "/tubes/t/jobs", {"body_base64": encoded + "!"})
        self.refused("too-large", "POST", "/tubes/t/jobs", {
            "body_base64": base64.b64encode(body + b"x").decode()})
        for _ in range(2):  # the second is a replay
            answer = self.api.ask("POST", "/tubes/t/jobs", {"body": "x" * MEGABYTE},
                                  {"Idempotency-Key": "large"})
            self.assertEqual(answer.status, 201)
        self.assertEqual(answer.headers["Idempotency-Replayed"], "true")
        self.assertEqual(self.api.get("/tubes/t")["jobs"]["ready"], 2)

    def test_bodies_of_very_many_values_are_refused(self) -> None:
        many = json.dumps({f"k{i}": i for i in range(100_000)}).encode()
        for body in (many, many[:9000] + b"}", b"[" * 2_000_000, b'{"filter":{"state":' +
                     b"[" + b'"ready",' * 5000 + b'"ready"]}}'):
            self.refused("bad-request", "POST", "/operations", body)
        self.refused("bad-request", "POST", "/operations", {
            "action": "delete", "filter": {"tube": "t", "text": "x" * 20_000}})

    def test_views_of_large_bodies(self) -> None:
        value = [{"k": i, "v": "x" * 10} for i in range(3000)]
        job = self.api.put_job("t", json.dumps(value))
        self.assertEqual(self.api.get(f"/jobs/{job}/body/view")["value"], value)
        view = self.api.get(f"/jobs/{job}/body/view?as=hex&limit=262144&offset=5")
        self.assertEqual(bytes.fromhex(view["value"]), json.dumps(value).encode()[5:5 + 262144])
        large = self.put_large(b"y" * self.SIZE)
        view = self.api.get(f"/jobs/{large}/body/view?as=text&limit=262144")
        self.assertEqual((view["shown_bytes"], view["truncated"], view["text"]),
                         (262144, True, "y" * 262144))
        self.assertIn("larger", self.api.get(f"/jobs/{large}/body/view?as=json")["error"])
        # Where the view ends a character of two bytes is cut.
        letters = self.put_large(b"y" + "\u00e4".encode() * 262144)
        self.assertEqual(self.api.get(f"/jobs/{letters}/body/view")["detected"], "text")

    def test_views_wait_for_each_other(self) -> None:
        job = self.api.put_job("t", json.dumps(list(range(40_000))))
        connections = [self.api.connection() for _ in range(8)]
        for connection in connections:
            self.addCleanup(connection.close)
            connection.request("GET", f"/api/v1/jobs/{job}/body/view?limit=262144")
        for connection in connections:
            self.assertEqual(json.loads(connection.getresponse().read())["size_bytes"],
                             len(json.dumps(list(range(40_000)))))


class Operations(WithBroker):
    OPTIONS = ("--console-rate", "0", "--max-job-size", str(2 * MEGABYTE))

    def run_operation(self, action: str, filter: Any, **more: Any) -> Any:
        operation = self.api.post("/operations", {"action": action, "filter": filter, **more}, 201)
        path = f"/operations/{operation['id']}"
        self.api.post(f"{path}/confirm", {"count": operation["count"]}, 202)
        deadline = time.monotonic() + 2 * SECONDS
        while (operation := self.api.get(path))["state"] == "running":
            self.assertLess(time.monotonic(), deadline)
        return operation

    def test_copies(self) -> None:
        for i in range(40):
            self.api.put_job("t", f"body {i}", priority=i, ttr_seconds=9, unique=f"u{i}")
        done = self.run_operation("copy", {"tube": "t", "max_priority": 29}, to="copies")
        self.assertEqual((done["state"], done["done"], done["count"]), ("done", 30, 30))
        copies = self.api.get("/tubes/copies/jobs?limit=500")["items"]
        self.assertEqual([(job["priority"], job["unique"], job["ttr_seconds"]) for job in copies],
                         [(i, None, 9) for i in range(30)])
        for i, job in enumerate(copies):
            self.assertEqual(self.api.ask("GET", f"/jobs/{job['id']}/body").body, b"body %d" % i)
        self.assertEqual(self.api.get("/tubes/t")["jobs"]["ready"], 40)
        # Into the same tube: copies are no part of what was counted.
        done = self.run_operation("copy", {"tube": "t"})
        self.assertEqual((done["done"], self.api.get("/tubes/t")["jobs"]["ready"]), (40, 80))

    def test_names_that_are_no_text(self) -> None:
        names = [base64.b64encode(name).decode() for name in (b"\xfe", b"\xff")]
        refs = [self.api.post("/tubes", {"name_base64": name}, 201)["ref"] for name in names]
        for ref in refs:
            self.api.post(f"/tubes/{ref}/jobs", {"body": "x"}, 201)
        self.run_operation("delete", {"tube_base64": names[0]})
        self.assertEqual([self.api.get(f"/tubes/{ref}")["jobs"]["ready"] for ref in refs], [0, 1])
        for path in ("/jobs?tube=t&tube_base64=dA==", f"/tubes/{refs[0]}/jobs?tube_base64=dA=="):
            self.assertEqual(self.refused("bad-request", "GET", path)["field"], "tube_base64")

    def test_copies_that_are_refused(self) -> None:
        for _ in range(5):
            self.api.put_job("t")
        self.api.ask("PUT", "/tubes/full/maxqueue", {"all": 2})
        done = self.run_operation("copy", {"tube": "t"}, to="full")
        self.assertEqual((done["state"], done["done"], done["failed"]), ("done", 2, 3))
        self.assertEqual(done["problem"]["code"], "maxqueue")

    def test_large_jobs_move_and_are_copied(self) -> None:
        for _ in range(20):
            self.client.send(b"put 10 0 60 %d\r\n" % MEGABYTE + b"z" * MEGABYTE + b"\r\n")
        for _ in range(20):
            self.client.line()
        self.assertEqual(self.run_operation("copy", {"tube": "default"}, to="u")["done"], 20)
        self.assertEqual(self.run_operation("move", {"tube": "u"}, to="v")["done"], 20)
        self.assertEqual(self.api.get("/tubes/v")["jobs"]["ready"], 20)


class SlowPeers(WithBroker):
    def setUp(self) -> None:
        super().setUp()
        self.client.say("list-tube-used")  # it is accepted then

    def test_those_who_never_end_a_request_are_closed(self) -> None:
        before = self.broker.sockets()
        port = int(self.broker.admin.rsplit(":", 1)[1])
        slow = [socket.create_connection(("127.0.0.1", port), SECONDS) for _ in range(60)]
        starts = (b"", b"GET", b"GET /api/v1/server HTTP/1.1\r\nHost: loc",
                  b"POST /api/v1/tubes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
                  b"Content-Type: application/json\r\n\r\n{")
        for i, peer in enumerate(slow):
            peer.sendall(starts[i % len(starts)])
        # The others are served meanwhile.
        self.assertTrue(self.api.get("/server")["ready"])
        trickling = slow[2]
        deadline = time.monotonic() + 4 * SECONDS
        while time.monotonic() < deadline and self.broker.sockets() > before:
            try:
                trickling.sendall(b"x")
            except OSError:
                pass
            time.sleep(0.5)
        self.assertLessEqual(self.broker.sockets(), before)
        for peer in slow:
            try:
                while peer.recv(4096):
                    pass
            except ConnectionError:
                pass
            peer.close()

    def test_a_stream_that_is_never_read_is_closed(self) -> None:
        self.assertEqual(self.client.say("use t"), "USING t")
        before = self.broker.sockets()
        connection = self.api.connection()
        self.addCleanup(connection.close)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.request("GET", "/api/v1/events?topics=server,audit,tube&tubes=t")
        eventually("the stream", lambda: self.broker.sockets() > before)

        def closed() -> bool:
            self.client.send(b"pause-tube t 5\r\n" * 500)  # each is in the audit trail
            for _ in range(500):
                self.assertEqual(self.client.line(), "PAUSED")
            return self.broker.sockets() <= before
        eventually("its end", closed)


class Unread(WithBroker):
    OPTIONS = ("--console-rate", "0", "--limits-memory", "2000000")

    def test_answers_that_nobody_reads_count_as_memory(self) -> None:
        page = self.api.ask("GET", "/console/", prefix="").body.decode()
        script = re.search(r"app\.[\w.]*js", page)[0]
        request = f"GET /console/{script} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        host, port = self.broker.admin.split(":")
        peers: list[socket.socket] = []

        def put() -> str:
            return self.client.say("put 0 0 60 1\r\nx")

        def refused() -> bool:
            peer = socket.socket()
            peers.append(peer)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect((host, int(port)))
            peer.sendall(request * 400)  # far more than the kernel keeps for who does not read
            return put() == "OUT_OF_MEMORY"
        eventually("too much", refused)
        self.assertTrue(self.api.get("/server")["ready"])
        for peer in peers:
            peer.close()
        eventually("room again", lambda: put().startswith("INSERTED"))


class HeldJobs(WithBroker):
    def test_committed_or_dropped(self) -> None:
        for held, ready in (("commit", 70), ("drop", 70)):
            name = f"{held}-it"
            hold(self.broker.port, name, 70)
            self.assertEqual(self.api.get("/server")["held_jobs"], 70)
            shown = [each for each in self.api.get("/transfers")["items"] if each["name"] == name]
            self.assertEqual(shown[0]["held"], 70)
            self.refused("in-use", "DELETE", f"/transfers/{name}")
            deadline = time.monotonic() + SECONDS
            # The connection that held them may not have gone yet.
            while (status := self.api.ask("DELETE", f"/transfers/{name}?held={held}").status) == 409:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(status, 204)
            self.assertEqual(self.api.get("/server")["held_jobs"], 0)
            self.assertEqual(self.api.get("/tubes/in")["jobs"]["ready"], ready)
            self.assertEqual(self.api.get("/transfers")["items"], [])
        done = [act for act in self.api.get("/audit")["items"] if act["result"] == "ok"]
        self.assertEqual([(act["action"], act["count"]) for act in done],
                         [("transfer.delete", 70)] * 2)


if __name__ == "__main__":
    unittest.main()
