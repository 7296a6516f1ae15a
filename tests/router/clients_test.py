#!/usr/bin/env python3
"""Clients that do what they should not, over routers: the broker and the other clients go on."""

import resource
import selectors
import socket
import struct
import unittest
from contextlib import suppress
from pathlib import Path

from routed import PATIENCE, Connection, RoutedTest, eventually

BODY = "x" * 8000
SILENT = 10_000  # clients that do not read
PEEKS = 8        # what each of them asks for: more than the kernel holds for it
SPARE_DESCRIPTORS = 200


class ClientsTest(RoutedTest):
    def ask_for(self, connection: Connection, peeks: int) -> int:
        """Asks for the job 1 so often; the bytes of the answers."""
        connection.socket.sendall(b"peek 1\r\n" * peeks)
        return peeks * len(f"FOUND 1 {len(BODY)}\r\n{BODY}\r\n")

    def with_a_job(self, *options: object, routers: int = 1):
        broker = self.launch(*options, routers=routers)
        with Connection(broker.ports[0]) as producer:
            self.assertEqual(producer.put(BODY), "INSERTED 1")
        return broker

    @staticmethod
    def slow(port: int) -> Connection:
        """A connection for which the kernel holds little."""
        connection = Connection.__new__(Connection)
        connection.socket = socket.socket()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.socket.settimeout(PATIENCE)
        connection.socket.connect(("127.0.0.1", port))
        connection.file = connection.socket.makefile("rb")
        return connection

    def test_half_close_with_output_unread(self) -> None:
        broker = self.with_a_job()
        client = self.slow(broker.ports[0])
        self.addCleanup(client.close)
        size = self.ask_for(client, 1000)
        client.socket.sendall(b"use end\r\n")
        client.socket.shutdown(socket.SHUT_WR)
        other = self.connect(broker)
        self.assertEqual(other.ask("use x\r\n"), "USING x")
        heard = client.file.read()
        self.assertEqual(len(heard), size + len("USING end\r\n"))
        self.assertTrue(heard.endswith(b"USING end\r\n"))
        eventually("it is gone", lambda: self.metric(broker, "gearstalkd_router_streams") == 1)

    def test_resets_of_clients(self) -> None:
        """In the middle of a command, of a body, of an answer, and while they wait."""
        broker = self.with_a_job()
        for said in (b"pu", b"put 0 0 60 10\r\nhal", b"peek 1\r\n" * 500, b"watch y\r\nignore default\r\nreserve\r\n"):
            client = self.slow(broker.ports[0])
            client.socket.sendall(said)
            eventually("it is seen", lambda: self.metric(broker, "gearstalkd_router_streams") == 1)
            client.reset()
            eventually("it is gone", lambda: self.metric(broker, "gearstalkd_router_streams") == 0)
        self.assertEqual(self.metric(broker, "gearstalkd_router_restarts_total"), 0)
        self.assertEqual(self.metric(broker, 'gearstalkd_connections{protocol="beanstalk"}'), 0)

    def test_a_broker_that_closes_with_input_unread_resets(self) -> None:
        """As a socket of its own would: what the client has sent and nobody will read is lost to it."""
        for routers in (0, 1):
            broker = self.launch(routers=routers)
            client = self.connect(broker)
            heard = b""
            with suppress(ConnectionError):
                client.socket.sendall(b"use x\r\nquit\r\n" + b"put 0 0 60 1\r\nx\r\n" * 100_000)
                while data := client.socket.recv(65536):
                    heard += data
            self.assertIn(heard, (b"USING x\r\n", b""))
            other = self.connect(broker)
            self.assertEqual(other.ask("peek 1\r\n"), "NOT_FOUND")

    def test_silent_clients_behind_one_router(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < SILENT + SPARE_DESCRIPTORS:
            self.skipTest(f"ulimit -n is {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        broker = self.with_a_job("--limits-memory", 4 << 30)
        silent = []
        self.addCleanup(lambda: [client.close() for client in silent])
        for _ in range(SILENT):
            silent.append(self.slow(broker.ports[0]))
            size = self.ask_for(silent[-1], PEEKS)
        eventually("everybody was answered", lambda:
                   self.metric(broker, "gearstalkd_sent_bytes_total") > SILENT * 4096)
        # Somebody else behind the same router.
        other = self.connect(broker)
        for number in range(100):
            self.assertEqual(other.ask(f"use x{number}\r\n"), f"USING x{number}")
        self.assertEqual(self.metric(broker, "gearstalkd_router_streams"), SILENT + 1)
        # A window of each at most lies in the router.
        (router,) = self.routers(broker)
        resident = int(Path(f"/proc/{router}/statm").read_text().split()[1]) * resource.getpagesize()
        self.assertLess(resident, SILENT * 2 * (64 << 10))
        # Half of them leave, the others read all of it.
        for client in silent[::2]:
            client.reset()
        self.assertEqual(self.read_all(silent[1::2]), {size: SILENT // 2})
        for client in silent[1::2]:
            client.close()
        eventually("they are gone", lambda: self.metric(broker, "gearstalkd_router_streams") == 1)
        self.assertEqual(other.ask("use x\r\n"), "USING x")
        self.assertEqual(self.metric(broker, "gearstalkd_router_restarts_total"), 0)

    @staticmethod
    def read_all(clients: list[Connection]) -> dict[int, int]:
        """How many have got so many bytes, when nothing has come for a second."""
        got = dict.fromkeys(clients, 0)
        with selectors.DefaultSelector() as selector:
            for client in clients:
                client.socket.setblocking(False)
                selector.register(client.socket, selectors.EVENT_READ, client)
            while ready := selector.select(5):
                for key, _ in ready:
                    with suppress(BlockingIOError):
                        got[key.data] += len(key.data.socket.recv(1 << 18))
        sizes: dict[int, int] = {}
        for size in got.values():
            sizes[size] = sizes.get(size, 0) + 1
        return sizes


if __name__ == "__main__":
    unittest.main()
