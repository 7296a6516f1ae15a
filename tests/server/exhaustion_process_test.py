#!/usr/bin/env python3
"""What the real process does when descriptors or memory run out: exhaustion_process_test.py BROKER."""

from __future__ import annotations

import re
import resource
import socket
import unittest
from pathlib import Path

from process import PATIENCE, BrokerTest, Client, eventually, request

CAN_DO, SUBMIT_JOB, JOB_CREATED, GRAB_JOB, JOB_ASSIGN, WORK_COMPLETE = 1, 7, 8, 9, 11, 13
ECHO_REQ, ECHO_RES, SUBMIT_JOB_BG, ERROR, WORK_DATA = 16, 17, 18, 19, 28
MEGABYTE = 1 << 20


def put(body: bytes) -> bytes:
    return b"put 0 0 86400 %d\r\n%b\r\n" % (len(body), body)


class Descriptors(BrokerTest):
    """Connections to both ports take all that there are."""

    BODY = b"x" * 60_000
    SEGMENTS = 3  # so many have to be begun

    def setUp(self) -> None:
        super().setUp()
        self.sockets: list[socket.socket] = []
        self.addCleanup(self.let_go)

    def let_go(self) -> None:
        for each in self.sockets:
            each.close()
        self.sockets.clear()

    def begin(self) -> None:
        self.start("--data-dir", str(self.folder / "data"), "--admin", "127.0.0.1:0",
                   before=("prlimit", "--nofile=100:100"))
        admin = re.search(r"admin \S*?:(\d+)", self.log())
        self.assertIsNotNone(admin, self.log())
        self.admin = int(admin[1])

    def take_all(self) -> None:
        port = int(self.addresses[0].rpartition(":")[2])
        for number in range(300):
            client = socket.create_connection(
                ("127.0.0.1", self.admin if number % 2 else port), PATIENCE)
            client.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"list-tu")
            self.sockets.append(client)
        eventually("no descriptors", lambda: "accepting paused" in self.log())

    def test_the_journal_goes_on_or_recovers(self) -> None:
        self.begin()
        producer = self.connect()
        self.assertEqual(producer.ask(put(b"first")), b"INSERTED 1\r\n")
        self.take_all()
        stored, answers = 1, set()
        for _ in range(self.SEGMENTS * 16 * MEGABYTE // len(self.BODY)):
            try:
                reply = producer.ask(put(self.BODY))
            except (EOFError, OSError):
                self.let_go()
                producer = self.connect()
                continue
            answers.add(reply.split()[0])
            stored += reply.startswith(b"INSERTED")
        self.assertLessEqual(answers, {b"INSERTED", b"OUT_OF_MEMORY"})
        self.let_go()
        eventually("room for puts", lambda: producer.ask(put(b"later")).startswith(b"INSERTED"))
        ready = re.search(rb"current-jobs-ready: (\d+)", self.stats(producer))
        self.assertGreaterEqual(int(ready[1]), stored + 1)
        producer.close()
        self.assertNotIn("critical", self.log())
        self.assertEqual(self.broker.stop(), 0, self.log())
        self.start("--data-dir", str(self.folder / "data"))
        again = re.search(rb"current-jobs-ready: (\d+)", self.stats(self.connect()))
        self.assertGreaterEqual(int(again[1]), stored + 1)

    def stats(self, client: Client) -> bytes:
        head = client.ask(b"stats\r\n")
        return client.exactly(int(head.split()[1]) + 2)


class Memory(BrokerTest):
    """The system gives no more: what is asked for is refused, and others go on."""

    def leave(self, room: int) -> None:
        """Address space for so many bytes more."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        size = int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (size + room, size + room))

    def begin(self, *options: str) -> None:
        if b"__asan_init" in Path(self.binary()).read_bytes():
            self.skipTest("a sanitizer needs the address space itself")
        # Otherwise each thread reserves 64 MB of the address space when it first allocates.
        self.start("--limits-memory", "0", "--max-job-size", str(64 * MEGABYTE), *options,
                   before=("env", "MALLOC_ARENA_MAX=1"))

    def binary(self) -> str:
        import process
        return process.BROKER

    def served(self) -> None:
        self.assertEqual(self.connect().ask_packet(ECHO_REQ, b"x"), (ECHO_RES, b"x"))

    def fill(self, client: Client, body: bytes, most: int) -> int:
        """How many puts were taken."""
        for number in range(most):
            reply = client.ask(put(body))
            if not reply.startswith(b"INSERTED"):
                self.assertEqual(reply, b"OUT_OF_MEMORY\r\n")
                return number
        self.fail("memory never ran out")

    def submit_until_refused(self, client: Client, body: bytes, most: int) -> None:
        """Some may be taken after a put was refused: a thread that indexes a sealed segment returns
        the memory it used."""
        for _ in range(most):
            kind, text = client.ask_packet(SUBMIT_JOB_BG, b"default", b"", body)
            if kind != JOB_CREATED:
                self.assertEqual((kind, text.split(b"\0")[0]), (ERROR, b"QUEUE_ERROR"))
                return
        self.fail("memory never ran out")

    def drain(self, client: Client) -> None:
        while not (reply := client.ask(b"reserve-with-timeout 0\r\n")).startswith(b"TIMED_OUT"):
            _, job, size = reply.split()
            client.exactly(int(size) + 2)
            self.assertEqual(client.ask(b"delete %b\r\n" % job), b"DELETED\r\n")

    def large_bodies(self, *options: str) -> None:
        self.begin(*options)
        self.leave(300 * MEGABYTE)
        client, body = self.connect(), b"x" * (30 * MEGABYTE)
        self.assertGreater(self.fill(client, body, 20), 1)
        self.submit_until_refused(self.connect(), body, 20)
        self.served()
        self.drain(client)
        self.assertTrue(client.ask(put(body)).startswith(b"INSERTED"))

    def test_large_bodies(self) -> None:
        self.large_bodies()

    def test_large_bodies_with_a_journal(self) -> None:
        self.large_bodies("--data-dir", str(self.folder / "data"), "--sync", "never")

    def test_no_room_for_a_thread(self) -> None:
        """Which would read bodies back."""
        self.begin("--data-dir", str(self.folder / "data"), "--limits-bodies", "1")
        client, bodies = self.connect(), [b"%03d" % number * 100 for number in range(20)]
        for body in bodies:
            self.assertTrue(client.ask(put(body)).startswith(b"INSERTED"))
        self.leave(4 * MEGABYTE)  # less than a stack
        for body in bodies:
            _, job, size = client.ask(b"reserve\r\n").split()
            self.assertEqual(client.exactly(int(size) + 2), body + b"\r\n")
            self.assertEqual(client.ask(b"delete %b\r\n" % job), b"DELETED\r\n")

    def test_small_bodies(self) -> None:
        self.begin()
        self.leave(60 * MEGABYTE)
        client = self.connect()
        self.assertGreater(self.fill(client, b"x" * 20_000, 20_000), 500)
        self.served()
        self.drain(client)
        self.assertTrue(client.ask(put(b"x" * 20_000)).startswith(b"INSERTED"))

    def test_many_small_jobs(self) -> None:
        self.begin()
        self.leave(40 * MEGABYTE)
        client = self.connect()
        batch = put(b"x") * 1000
        for _ in range(1000):
            client.send(batch)
            replies = {client.line().split()[0] for _ in range(1000)}
            self.assertLessEqual(replies, {b"INSERTED", b"OUT_OF_MEMORY\r\n".strip()})
            if b"OUT_OF_MEMORY" in replies:
                break
        else:
            self.fail("memory never ran out")
        self.served()
        self.assertTrue(client.ask(b"reserve\r\n").startswith(b"RESERVED"))

    def test_results(self) -> None:
        self.begin()
        client, worker = self.connect(), self.connect()
        kind, handle = client.ask_packet(SUBMIT_JOB, b"f", b"", b"x")
        self.assertEqual(kind, JOB_CREATED)
        worker.send(request(CAN_DO, b"f"))
        self.assertEqual(worker.ask_packet(GRAB_JOB)[0], JOB_ASSIGN)
        self.leave(50 * MEGABYTE)
        result = b"x" * (60 * MEGABYTE)
        kind, text = worker.ask_packet(WORK_COMPLETE, handle, result)
        self.assertEqual((kind, text.split(b"\0")[0]), (ERROR, b"QUEUE_ERROR"))
        self.served()
        # It has the job still.
        worker.send(request(WORK_COMPLETE, handle, b"shorter"))
        self.assertEqual(client.packet(), (WORK_COMPLETE, handle + b"\0shorter"))


class Shares(BrokerTest):
    """Everything that clients can make is within limits.memory."""

    LIMIT = 50 * MEGABYTE

    def begin(self) -> int:
        self.start("--limits-memory", str(self.LIMIT))
        return self.resident()

    def until_refused(self, client: Client, requests, most: int) -> None:
        """Sends them in batches until an ERROR comes back."""
        for first in range(0, most, 1000):
            batch = [requests(number) for number in range(first, first + 1000)]
            client.send(b"".join(batch) + request(ECHO_REQ, b"end"))
            while (answer := client.packet())[0] == JOB_CREATED:
                pass
            if answer[0] == ERROR:
                self.assertTrue(answer[1].startswith(b"QUEUE_ERROR"), answer)
                return
        self.fail("never refused")

    def test_functions_and_watches(self) -> None:
        before = self.begin()
        worker = self.connect()
        self.until_refused(worker, lambda number: request(CAN_DO, b"%0512d" % number), 500_000)
        self.assert_grown_less(before, self.LIMIT)
        # Others work, also with what a new connection watches.
        client = self.connect()
        self.assertTrue(client.ask(put(b"x")).startswith(b"INSERTED"))
        self.assertTrue(client.ask(b"reserve\r\n").startswith(b"RESERVED"))

    def test_waits_of_one_job(self) -> None:
        before = self.begin()
        client, worker = self.connect(), self.connect()
        for _ in range(100):
            client.send(request(SUBMIT_JOB, b"f", b"k", b"x") * 1000)
            for _ in range(1000):
                self.assertEqual(client.packet()[0], JOB_CREATED)
        self.assert_grown_less(before, 10 * MEGABYTE)
        worker.send(request(CAN_DO, b"f"))
        kind, assigned = worker.ask_packet(GRAB_JOB)
        self.assertEqual(kind, JOB_ASSIGN)
        handle = assigned.split(b"\0")[0]
        worker.send(request(WORK_DATA, handle, b"half") + request(WORK_COMPLETE, handle, b"all"))
        for kind, text in ((WORK_DATA, b"half"), (WORK_COMPLETE, b"all")):
            for _ in range(100_000):
                self.assertEqual(client.packet(), (kind, handle + b"\0" + text))

    def test_waits_of_many_jobs(self) -> None:
        before = self.begin()
        client = self.connect()
        self.until_refused(client, lambda number: request(SUBMIT_JOB, b"f", b"%d" % number, b""),
                           1_000_000)
        self.assert_grown_less(before, 2 * self.LIMIT)
        client.close()
        eventually("room for jobs", lambda: self.connect().ask_packet(
            SUBMIT_JOB_BG, b"f", b"", b"")[0] == JOB_CREATED)

    def test_results_that_nobody_reads(self) -> None:
        for size in (4000, 100_000):
            before = self.begin()
            clients = [self.connect() for _ in range(4)]
            worker = self.connect()
            worker.send(request(CAN_DO, b"f"))
            handles = []
            for client in clients:
                self.assertEqual(client.ask_packet(SUBMIT_JOB, b"f", b"", b"x")[0], JOB_CREATED)
                kind, assigned = worker.ask_packet(GRAB_JOB)
                self.assertEqual(kind, JOB_ASSIGN)
                handles.append(assigned.split(b"\0")[0])
            data = b"x" * size
            for _ in range(60 * MEGABYTE // size):
                worker.send(b"".join(request(WORK_DATA, handle, data) for handle in handles))
            self.assertEqual(worker.ask_packet(ECHO_REQ, b"x"), (ECHO_RES, b"x"))
            self.assert_grown_less(before, 2 * self.LIMIT)
            eventually("a client that was cut off", lambda: "output" in self.log())
            self.tearDown()
            self.clients.clear()
            self.process = None


if __name__ == "__main__":
    unittest.main()
