#!/usr/bin/env python3
"""The pages for operators, asked of the real broker: pages_test.py BROKER."""

import http.client
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from broker import SECONDS, Broker, Client, Launched

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        self.broker = Broker(BINARY)
        self.client = Client(self.broker.port)

    def tearDown(self) -> None:
        self.client.close()
        self.assertEqual(self.broker.stop(), 0)

    def raw(self, request: bytes) -> str:
        """What comes for these bytes until the broker closes."""
        host, port = self.broker.admin.split(":")
        with socket.create_connection((host, int(port)), SECONDS) as connection:
            connection.sendall(request)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        return answer.decode()

    def test_healthy_and_ready(self) -> None:
        self.assertEqual(self.broker.get("/healthz"), (200, "ok\n"))
        self.assertEqual(self.broker.get("/readyz"), (200, "ready\n"))
        self.assertEqual(self.broker.get("/other"), (404, "not found\n"))
        self.assertIn("\r\nLocation: console/\r\n", self.raw(
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))

    def test_not_ready_while_draining(self) -> None:
        self.broker.process.send_signal(signal.SIGUSR1)
        while self.broker.get("/readyz") == (200, "ready\n"):
            time.sleep(0.01)
        self.assertEqual(self.broker.get("/readyz"), (503, "draining\n"))
        self.assertEqual(self.broker.get("/healthz"), (200, "ok\n"))
        self.assertEqual(self.broker.metrics().get("gearstalkd_draining"), 1)

    def test_only_reading(self) -> None:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            for path in ("/metrics", "/other"):
                with self.subTest(f"{method} {path}"):
                    self.assertEqual(self.broker.get(path, method, b""),
                                     (405, "only GET and HEAD\n"))
        answer = self.raw(b"POST /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                          b"Content-Length: 0\r\n\r\n")
        self.assertIn("\r\nAllow: GET, HEAD\r\n", answer)

    def test_head_has_no_body(self) -> None:
        for path, status in (("/healthz", 200), ("/metrics", 200), ("/other", 404)):
            with self.subTest(path):
                answer = self.raw(f"HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                                  .encode())
                self.assertTrue(answer.startswith(f"HTTP/1.1 {status} "), answer)
                self.assertTrue(answer.endswith("\r\n\r\n"), answer)

    def test_large_requests_are_refused(self) -> None:
        head = self.raw(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n")
        self.assertRegex(head, r"^HTTP/1.1 4\d\d ")
        body = self.raw(b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" +
                        b"x" * 5000)
        self.assertRegex(body, r"^HTTP/1.1 413 ")
        self.assertEqual(self.broker.get("/healthz"), (200, "ok\n"))

    def test_nonsense_harms_nobody(self) -> None:
        for request in (b"\r\n\r\n", b"FETCH /metrics HTTP/1.1\r\nConnection: close\r\n\r\n",
                        b"\0REQ\0\0\0\x10\0\0\0\0\r\n\r\n", b"GET\r\n\r\n",
                        b"GET http://[/metrics HTTP/1.1\r\n\r\n",
                        b"GET /metrics?tubes=%zz&&=&tubes HTTP/1.0\r\n\r\n"):
            with self.subTest(request):
                host, port = self.broker.admin.split(":")
                with socket.create_connection((host, int(port)), SECONDS) as connection:
                    connection.sendall(request)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
        self.assertEqual(self.broker.get("/healthz"), (200, "ok\n"))

    def test_one_tube_cannot_be_asked_for(self) -> None:
        status, text = self.broker.get("/metrics?tubes=default")
        self.assertEqual((status, "only tubes=all is known" in text), (400, True))

    def test_http_1_0_gets_it_in_one_piece(self) -> None:
        answer = self.raw(b"GET /metrics HTTP/1.0\r\n\r\n")
        self.assertNotIn("chunked", answer)
        self.assertIn("\ngearstalkd_jobs{state=\"ready\"} 0\n", answer)

    def test_a_connection_is_used_again(self) -> None:
        connection = http.client.HTTPConnection(self.broker.admin, timeout=SECONDS)
        for path in ("/metrics", "/healthz", "/metrics?tubes=all", "/nothing", "/metrics"):
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
            self.assertEqual("gearstalkd_tubes 1\n" in text, path.startswith("/metrics"))
        connection.close()

    def test_who_leaves_in_the_middle_harms_nobody(self) -> None:
        for i in range(2000):
            self.client.send(b"watch tube-with-a-rather-long-name-%d\r\n" % i)
        for _ in range(2000):
            self.client.line()
        host, port = self.broker.admin.split(":")
        for size in (1, 1000, 100_000):
            with socket.create_connection((host, int(port)), SECONDS) as connection:
                connection.sendall(b"GET /metrics?tubes=all HTTP/1.1\r\nHost: a\r\n\r\n")
                got = 0
                while got < size:
                    got += len(connection.recv(size - got))
        whole = self.broker.metrics("?tubes=all")
        self.assertEqual(len(whole.values["gearstalkd_tube_workers"]), 2001)
        self.assertEqual(whole.get("gearstalkd_tubes"), 2001)

    def test_the_busiest_tubes_are_named(self) -> None:
        for i in range(40):
            self.client.say(f"use t{i}")
            for _ in range(i % 7 + 1):
                self.client.put("x")
        named = self.broker.metrics().values["gearstalkd_tube_jobs"]
        tubes = {dict(labels)["tube"] for labels in named}
        self.assertEqual(len(tubes), 20 + 1)
        self.assertIn("(other)", tubes)
        ready = sum(value for labels, value in named.items() if ("state", "ready") in labels)
        self.assertEqual(ready, sum(i % 7 + 1 for i in range(40)))

    def test_any_name_of_a_function_is_told(self) -> None:
        for name in (b"plain", b"a\tb\nc", b'"quoted"', b"\xff\xfe", b"back\\slash",
                     "größe".encode(), b"(other)", b"l" * 500):
            self.client.packet(18, name, b"", b"x")
            self.client.response()
        tubes = {dict(labels)["tube"]
                 for labels in self.broker.metrics().values["gearstalkd_tube_workers"]}
        self.assertEqual(len(tubes), 9)
        self.assertIn("größe", tubes)


class Reload(unittest.TestCase):
    def test_how_many_tubes_are_named_can_change(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
            config.write("metrics_tubes: 1\n")
            config.flush()
            broker = Broker(BINARY, "--config", config.name)
            try:
                def named() -> int:
                    return len(broker.metrics().values.get("gearstalkd_tube_workers", {}))

                client = Client(broker.port)
                for tube in ("a", "b", "c"):
                    client.say(f"use {tube}")
                    client.put("x")
                self.assertEqual(named(), 1)
                config.seek(0)
                config.write("metrics_tubes: 3\n")
                config.flush()
                broker.process.send_signal(signal.SIGHUP)
                deadline = time.monotonic() + 60
                while (count := named()) == 1 and time.monotonic() < deadline:
                    pass
                self.assertEqual(count, 3)
                client.close()
            finally:
                self.assertEqual(broker.stop(), 0)


class Replaying(unittest.TestCase):
    SEGMENTS = 12  # of 16 MiB; the loop turns once for each
    TRIES = 50  # to stop it before it is through

    def setUp(self) -> None:
        self.data = self.enterContext(tempfile.TemporaryDirectory(prefix="pages-"))
        body = "x" * 1_000_000
        broker = Broker(BINARY, "--data-dir", self.data, "--sync", "never", "--max-job-size",
                        str(len(body)))
        client = Client(broker.port)
        for _ in range(17 * self.SEGMENTS):
            client.put(body)
        client.close()
        self.assertEqual(broker.stop(), 0)

    def asked_early(self) -> tuple[int, str, int]:
        """What /readyz and /healthz say to requests that lay there when it was stopped."""
        broker = Launched(BINARY, "--data-dir", self.data, "--admin", "127.0.0.1:0")
        try:
            host, port = broker.admin.split(":")
            broker.signal(signal.SIGSTOP)
            pages = []
            for path in ("/readyz", "/healthz"):
                pages.append(http.client.HTTPConnection(host, int(port), SECONDS))
                pages[-1].request("GET", path)
            broker.signal(signal.SIGCONT)
            ready, healthy = (page.getresponse() for page in pages)
            said = ready.status, ready.read().decode(), healthy.status
            broker.wait_ready()
            pages.append(http.client.HTTPConnection(host, int(port), SECONDS))
            pages[-1].request("GET", "/readyz")
            self.assertEqual(pages[-1].getresponse().status, 200)
            for page in pages:
                page.close()
            self.assertEqual(broker.stop(), 0)
            return said
        finally:
            broker.kill()

    def test_not_ready_and_healthy(self) -> None:
        for _ in range(self.TRIES):
            status, text, healthy = self.asked_early()
            self.assertEqual(healthy, 200)
            if status == 503:
                return self.assertRegex(text, r"^replaying the journal: \d+ records, ")
        self.fail("it was always faster")


class WithAFailedJournal(unittest.TestCase):
    def test_not_ready_and_healthy(self) -> None:
        """It may write no more: its files have the size that the system allows."""
        data = self.enterContext(tempfile.TemporaryDirectory(prefix="pages-"))
        broker = Broker(BINARY, "--data-dir", data)
        try:
            self.assertEqual(broker.get("/readyz"), (200, "ready\n"))
            resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (1, 1))
            client = Client(broker.port)
            client.send(b"put 0 0 60 1\r\nx\r\n")
            # It closes, since nobody knows what became of the job, unless the journal had already failed
            # while it prepared its next file: then it refuses.
            self.assertIn(client.line(), ("", "OUT_OF_MEMORY"))
            client.close()
            status, text = broker.get("/readyz")
            self.assertEqual(status, 503)
            self.assertRegex(text, f"{data}/.*: File too large\n$")
            self.assertEqual(broker.get("/healthz"), (200, "ok\n"))
            self.assertEqual(broker.metrics().get("gearstalkd_journal_failed"), 1)
            client = Client(broker.port)
            client.send(b"put 0 0 60 1\r\nx\r\n")
            self.assertEqual(client.line(), "OUT_OF_MEMORY")
            client.close()
        finally:
            self.assertEqual(broker.stop(), 1)


class ReadAhead(unittest.TestCase):
    def test_requests_behind_a_long_answer_do_not_stop_the_loop(self) -> None:
        broker = Broker(BINARY)
        try:
            host, port = broker.admin.split(":")
            with socket.create_connection((host, int(port)), SECONDS) as client:
                head = b"Host: localhost\r\n"
                many = 5000
                requests = (b"GET /metrics HTTP/1.1\r\n" + head + b"\r\n"
                            + (b"GET /healthz HTTP/1.1\r\n" + head + b"\r\n") * many
                            + b"GET /readyz HTTP/1.1\r\nConnection: close\r\n" + head + b"\r\n")
                sender = threading.Thread(target=client.sendall, args=(requests,))
                sender.start()
                answers = b""
                while part := client.recv(1 << 18):
                    answers += part
                sender.join()
                self.assertEqual(answers.count(b"HTTP/1.1 200 "), many + 2)
        finally:
            self.assertEqual(broker.stop(), 0)


class WithoutDescriptors(unittest.TestCase):
    def test_the_pages_come_back(self) -> None:
        """Accepting on the admin address stops without turning the loop, and goes on."""
        if b"__ubsan_" in Path(BINARY).read_bytes():
            self.skipTest("the sanitizer of undefined behaviour opens pipes to look at memory")
        broker = Broker(BINARY, descriptors=64)
        try:
            clients = [Client(broker.port) for _ in range(50)]
            host, port = broker.admin.split(":")
            waiting = [socket.create_connection((host, int(port)), SECONDS) for _ in range(20)]
            for connection in waiting:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            for client in clients:
                client.close()
            for connection in waiting:
                self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 200 "))
                connection.close()
        finally:
            self.assertEqual(broker.stop(), 0)


if __name__ == "__main__":
    unittest.main()
