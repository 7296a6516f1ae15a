#!/usr/bin/env python3
"""Every limit of the real process, and what its clients hear: limits_process_test.py BROKER CLOCKS."""

from __future__ import annotations

import re
import resource
import sys
import unittest

from process import BrokerTest, Client, eventually, request

ECHO_REQ, ECHO_RES, CAN_DO, SUBMIT_JOB_BG, JOB_CREATED, ERROR, GRAB_JOB, JOB_ASSIGN = (
    16, 17, 1, 18, 8, 19, 9, 11)
MEGABYTE = 1 << 20
CLOCKS = sys.argv.pop(1)


def put(body: bytes) -> bytes:
    return b"put 0 0 60 %d\r\n%b\r\n" % (len(body), body)


class Connections(BrokerTest):
    def test_in_all(self) -> None:
        self.start("--limits-connections", "2")
        first, second = self.connect(), self.connect()
        self.assertEqual(first.ask(b"list-tube-used\r\n"), b"USING default\r\n")
        self.assertEqual(second.ask_packet(ECHO_REQ, b"x"), (ECHO_RES, b"x"))
        self.assertTrue(self.connect().ended())
        eventually("a line in the log", lambda: "connections" in self.log())
        first.close()
        eventually("room for another", lambda: self.answers(self.connect()))

    def answers(self, client: Client) -> bool:
        try:
            return client.ask(b"list-tube-used\r\n") == b"USING default\r\n"
        except (EOFError, OSError):
            return False

    def test_of_one_address(self) -> None:
        path = f"unix:{self.folder}/socket"
        self.start("--limits-connections-per-address", "1", listen=("127.0.0.1:0", path))
        first = self.connect()
        self.assertEqual(first.ask(b"list-tube-used\r\n"), b"USING default\r\n")
        self.assertTrue(self.connect().ended())
        for _ in range(3):
            self.assertTrue(self.answers(self.connect(1)))

    def test_without_descriptors_the_others_wait(self) -> None:
        self.start(before=("prlimit", "--nofile=200:200"))
        clients = [self.connect() for _ in range(180)]
        for client in clients:
            client.send(b"list-tube-used\r\n")
        self.assertEqual(clients[0].line(), b"USING default\r\n")
        eventually("a line in the log", lambda: "accepting paused" in self.log())
        clients[0].close()
        for client in clients[1:]:
            self.assertEqual(client.line(), b"USING default\r\n")
            client.close()

    def test_idle_ones_end(self) -> None:
        clocks = self.start_with_clocks(CLOCKS, "--limits-idle-timeout", "600")
        waiting, worker, holder, idle, silent = (self.connect() for _ in range(5))
        waiting.send(b"watch other\r\nreserve\r\n")
        self.assertEqual(waiting.line(), b"WATCHING 2\r\n")
        worker.send(b"\0REQ\0\0\0\1\0\0\0\1f" + b"\0REQ\0\0\0\4\0\0\0\0")
        idle.send(b"put 0 0 6000 1\r\nx\r\n")
        self.assertEqual(idle.line(), b"INSERTED 1\r\n")
        self.assertEqual(waiting.line() + waiting.line(), b"RESERVED 1 1\r\nx\r\n")
        holder.send(b"use other\r\nreserve\r\n")
        self.assertEqual(holder.line(), b"USING other\r\n")
        clocks.set(wall=700, boot=700)
        self.assertTrue(idle.ended())
        self.assertTrue(silent.ended())
        self.assertEqual(waiting.ask(b"delete 1\r\n"), b"DELETED\r\n")
        self.assertEqual(worker.ask_packet(ECHO_REQ, b"x"), (ECHO_RES, b"x"))
        clocks.set(wall=1400, boot=1400)
        self.assertTrue(waiting.ended())
        eventually("a line in the log", lambda: "idle_timeout" in self.log())

    def test_a_first_word_has_its_time(self) -> None:
        self.start("--limits-handshake-timeout", "1")
        word, silent = self.connect(), self.connect()
        word.send(b"list-tu")
        self.assertTrue(word.ended())
        self.assertEqual(silent.ask(b"list-tube-used\r\n"), b"USING default\r\n")
        eventually("a line in the log", lambda: "handshake_timeout" in self.log())


class Jobs(BrokerTest):
    def fill(self, client: Client, body: bytes) -> int:
        jobs = 0
        while client.ask(put(body)) != b"OUT_OF_MEMORY\r\n":
            jobs += 1
        return jobs

    def test_memory(self) -> None:
        self.start("--limits-memory", str(MEGABYTE))
        client = self.connect()
        jobs = self.fill(client, b"x" * 50_000)
        self.assertGreater(jobs, 10)
        self.assertLess(jobs, 21)
        kind, text = self.connect().ask_packet(SUBMIT_JOB_BG, b"f", b"", b"x" * 50_000)
        self.assertEqual((kind, text.split(b"\0")[0]), (ERROR, b"QUEUE_ERROR"))
        worker = self.connect()
        worker.send(b"\0REQ\0\0\0\1\0\0\0\7default")
        self.assertEqual(worker.ask_packet(GRAB_JOB)[0], JOB_ASSIGN)
        self.assertTrue(client.ask(b"reserve\r\n").startswith(b"RESERVED 2 "))
        client.exactly(50_002)
        self.assertEqual(client.ask(b"delete 2\r\n"), b"DELETED\r\n")
        self.assertTrue(client.ask(put(b"x" * 50_000)).startswith(b"INSERTED"))

    def test_size_of_a_job(self) -> None:
        self.start("--max-job-size", "10")
        client, other = self.connect(), self.connect()
        self.assertEqual(client.ask(put(b"x" * 11)), b"JOB_TOO_BIG\r\n")
        self.assertEqual(other.ask_packet(SUBMIT_JOB_BG, b"f", b"", b"x" * 11),
                         (ERROR, b"ARGUMENT_TOO_LARGE\0Workload too large"))
        refused = r"refused reason=job_size .*client=127\.0\.0\.1:\d+ connection=(\d)"
        eventually("two lines in the log", lambda: re.findall(refused, self.log()) == ["1", "2"])

    def test_tubes(self) -> None:
        self.start("--limits-tubes", "3")
        client, worker = self.connect(), self.connect()
        self.assertEqual(client.ask(b"use a\r\n"), b"USING a\r\n")
        self.assertEqual(client.ask(b"watch b\r\n"), b"WATCHING 2\r\n")
        self.assertEqual(client.ask(b"watch c\r\n"), b"OUT_OF_MEMORY\r\n")
        self.assertEqual(client.ask(b"use c\r\n"), b"OUT_OF_MEMORY\r\n")
        kind, text = worker.ask_packet(CAN_DO, b"c")
        self.assertEqual((kind, text.split(b"\0")[0]), (ERROR, b"QUEUE_ERROR"))
        kind, text = worker.ask_packet(SUBMIT_JOB_BG, b"c", b"", b"x")
        self.assertEqual((kind, text.split(b"\0")[0]), (ERROR, b"QUEUE_ERROR"))
        self.assertEqual(worker.ask_packet(SUBMIT_JOB_BG, b"a", b"", b"x")[0], JOB_CREATED)

    def test_jobs_of_a_tube(self) -> None:
        self.start("--limits-maxqueue", "a 1", "--limits-maxqueue", "b 3 2 1")
        client, worker = self.connect(), self.connect()
        client.ask(b"use a\r\n")
        self.assertEqual(client.ask(put(b"x")), b"INSERTED 1\r\n")
        self.assertEqual(client.ask(put(b"x")), b"OUT_OF_MEMORY\r\n")
        eventually("a line in the log", lambda: "jobs refused reason=maxqueue jobs=1\n" in self.log())
        self.assertEqual(worker.ask_packet(SUBMIT_JOB_BG, b"b", b"", b"x")[0], JOB_CREATED)
        self.assertEqual(worker.ask_packet(SUBMIT_JOB_BG, b"b", b"", b"x")[0], JOB_CREATED)
        self.assertEqual(worker.ask_packet(SUBMIT_JOB_BG, b"b", b"", b"x"),
                         (ERROR, b"QUEUE_ERROR\0Job queue is full"))


class Crowds(BrokerTest):
    """Memory stays bounded, and others are served."""

    def served(self) -> None:
        self.assertEqual(self.connect().ask(b"list-tube-used\r\n"), b"USING default\r\n")

    def test_slow_senders(self) -> None:
        self.start("--max-job-size", str(64 * MEGABYTE), "--limits-memory", str(32 * MEGABYTE))
        before = self.resident()
        senders = [self.connect() for _ in range(60)]
        for sender in senders:
            sender.send(b"put 0 0 60 %d\r\n" % (20 * MEGABYTE))
        for _ in range(4):
            for sender in senders:
                sender.send(b"x" * MEGABYTE)
        self.served()
        self.assert_grown_less(before, 100 * MEGABYTE)
        # One that was dropped hears so when its body is complete.
        senders[-1].send(b"x" * (16 * MEGABYTE) + b"\r\n")
        self.assertEqual(senders[-1].line(), b"OUT_OF_MEMORY\r\n")

    def test_slow_readers(self) -> None:
        self.start("--limits-output", "200000")
        producer = self.connect()
        self.assertEqual(producer.ask(put(b"x" * 60_000)), b"INSERTED 1\r\n")
        before = self.resident()
        readers = [self.connect() for _ in range(100)]
        for reader in readers:
            reader.send(b"peek 1\r\nstats\r\n" * 500)
        self.served()
        self.assert_grown_less(before, 150 * MEGABYTE)
        readers[0].send(b"quit\r\n")
        self.assertEqual(readers[0].rest().count(b"FOUND 1 60000\r\n"), 500)

    def test_slow_readers_that_went(self) -> None:
        # A Unix socket takes little for a peer that does not read.
        path = f"unix:{self.folder}/socket"
        self.start(listen=(path,))
        self.assertEqual(self.connect().ask(put(b"x" * 1000)), b"INSERTED 1\r\n")
        before = self.resident()
        readers = [self.connect() for _ in range(200)]
        for reader in readers:
            reader.send(b"peek 1\r\n" * 2000)
        eventually("unread answers", lambda: self.resident() - before > 100 * MEGABYTE)
        for reader in readers:
            reader.close()
        eventually("the memory of unread answers", lambda: self.grown_less(before, 30 * MEGABYTE))

    def test_tubes_that_went(self) -> None:
        self.start()
        before = self.resident()
        worker = self.connect()
        worker.send(b"".join(request(CAN_DO, b"tube-%d" % number) for number in range(100_000)))
        self.assertEqual(worker.ask_packet(ECHO_REQ, b"x"), (ECHO_RES, b"x"))
        worker.close()
        eventually("the memory of the tubes", lambda: self.grown_less(before, 16 * MEGABYTE))

    def test_ten_thousand_connections(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        count = min(10_000, hard - 500)
        self.start()
        before = self.resident()
        clients = [self.connect() for _ in range(count)]
        for client in clients:
            client.send(b"watch w\r\n")
        for client in clients:
            self.assertEqual(client.line(), b"WATCHING 2\r\n")
        self.assert_grown_less(before, 8000 * count)
        waiting = clients[:1000]
        for client in waiting:
            client.send(b"reserve\r\n")
        self.connect().send(b"use w\r\n" + put(b"x") * 1000)
        for client in waiting:
            self.assertTrue(client.line().startswith(b"RESERVED"))
        self.served()


if __name__ == "__main__":
    unittest.main()
