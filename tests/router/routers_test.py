#!/usr/bin/env python3
"""The real broker whose clients' sockets routers hold: what becomes of clients and jobs when a router
ends, stops, or the broker does."""

import os
import re
import signal
import socket
import threading
import time
import unittest
from contextlib import suppress
from pathlib import Path

from routed import PATIENCE, ROUTERS, Connection, RoutedTest, eventually

KILLS = 50


class RoutersTest(RoutedTest):
    def test_a_router_for_each_and_none_without(self) -> None:
        for routers in (0, 1, ROUTERS):
            broker = self.launch(routers=routers)
            self.assertEqual(len(self.routers(broker)), routers)
            self.assertEqual(self.metric(broker, "gearstalkd_routers"), routers)
            self.assertEqual(broker.stop(), 0)
            self.assertIn("stopped", broker.said)

    def test_metrics(self) -> None:
        broker = self.launch()
        clients = [self.connect(broker) for _ in range(8)]
        for client in clients:
            self.assertEqual(client.ask("use x\r\n"), "USING x")
        self.assertEqual(self.metric(broker, "gearstalkd_router_streams"), len(clients))
        self.assertEqual(self.metric(broker, "gearstalkd_connections_accepted_total"), len(clients))
        self.assertEqual(self.metric(broker, "gearstalkd_received_bytes_total"), 7 * len(clients))
        self.assertGreater(self.metric(broker, 'gearstalkd_link_bytes_total{direction="in"}'), 0)
        for process in ("broker", *(f"router-{i}" for i in range(ROUTERS))):
            self.assertGreater(self.metric(broker, f'gearstalkd_cpu_seconds_total{{process="{process}"}}'), 0)
        seen = self.api(broker, "server")
        self.assertEqual([one["name"] for one in seen["routers"]], [f"router-{i}" for i in range(ROUTERS)])
        self.assertEqual(sorted(one["pid"] for one in seen["routers"]), self.routers(broker))
        self.assertEqual(sum(one["connections"] for one in seen["routers"]), len(clients))
        self.assertGreater(seen["loop_cpu_seconds_total"], 0)
        self.assertEqual(seen["router_restarts_total"], 0)
        for client in clients:
            client.close()
        eventually("all streams end",
                   lambda: self.metric(broker, "gearstalkd_router_streams") == 0)

    def test_the_end_of_the_broker_is_the_end_of_its_routers(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            broker = self.launch()
            routers = self.routers(broker)
            client = self.connect(broker)
            self.assertEqual(client.ask("use x\r\n"), "USING x")
            self.assertEqual([pid for pid in routers if self.lives(pid)], routers)
            broker.signal(number)
            self.assertEqual(client.file.read(), b"")
            broker.wait()
            ended = time.monotonic()
            eventually("the routers are gone",
                       lambda routers=routers: not any(self.lives(pid) for pid in routers))
            self.assertLess(time.monotonic() - ended, 1)

    @staticmethod
    def lives(pid: int) -> bool:
        """A process that has ended and waits for its parent has no program any more."""
        try:
            return os.readlink(f"/proc/{pid}/exe") != ""
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_routers_leave_signals_to_the_broker(self) -> None:
        broker = self.launch()
        routers = self.routers(broker)
        client = self.connect(broker)
        for pid in routers:
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                self.send(pid, number)
        self.assertEqual(client.ask("use x\r\n"), "USING x")
        self.assertEqual(self.routers(broker), routers)

    def test_jobs_of_a_killed_router_are_free_at_once(self) -> None:
        broker = self.launch(routers=1)
        with Connection(broker.ports[0]) as producer:
            self.assertEqual(producer.put("work"), "INSERTED 1")
        worker = self.connect(broker)
        self.assertEqual(worker.reserve(), ("1", "work"))
        self.send(self.routers(broker)[0], signal.SIGKILL)
        self.assertEqual(worker.file.read(), b"")
        # Its TTR of a minute is not over.
        other = self.connect(broker)
        self.assertEqual(other.reserve(), ("1", "work"))
        self.assertEqual(self.metric(broker, "gearstalkd_router_restarts_total"), 1)

    def test_a_router_that_stops_for_long_is_replaced(self) -> None:
        broker = self.launch(routers=1)
        first = self.routers(broker)
        client = self.connect(broker)
        self.assertEqual(client.ask("use x\r\n"), "USING x")
        self.send(first[0], signal.SIGSTOP)
        broker.wait_for("a router is lost.*it does not answer")
        with suppress(ConnectionError):
            self.assertEqual(client.file.read(), b"")
        self.assertEqual(self.connect(broker).ask("use y\r\n"), "USING y")
        self.assertNotEqual(self.routers(broker), first)

    def test_a_router_that_stops_for_a_moment_goes_on(self) -> None:
        broker = self.launch(routers=1)
        router = self.routers(broker)
        client = self.connect(broker)
        self.send(router[0], signal.SIGSTOP)
        client.socket.sendall(b"use x\r\n")
        time.sleep(3)
        self.send(router[0], signal.SIGCONT)
        self.assertEqual(client.line(), "USING x")
        self.assertEqual(self.routers(broker), router)

    def test_a_broker_that_stops_keeps_its_routers(self) -> None:
        broker = self.launch(routers=2)
        routers = self.routers(broker)
        client = self.connect(broker)
        broker.freeze()
        client.socket.sendall(b"use x\r\n")
        time.sleep(8)
        broker.signal(signal.SIGCONT)
        self.assertEqual(client.line(), "USING x")
        time.sleep(2)
        self.assertEqual(self.routers(broker), routers)

    def test_a_client_that_closes_its_side_gets_its_answers(self) -> None:
        broker = self.launch()
        client = self.connect(broker)
        client.socket.sendall(b"put 0 0 60 1\r\nx\r\nreserve\r\nuse y\r\n")
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(client.file.read(), b"INSERTED 1\r\nRESERVED 1 1\r\nx\r\nUSING y\r\n")
        other = self.connect(broker)
        other.socket.sendall(b"reserve\r\nuse z\r\n")
        self.assertEqual(other.line(), "RESERVED 1 1")

    def test_a_waiting_client_that_closes_its_side(self) -> None:
        broker = self.launch()
        client = self.connect(broker)
        client.socket.sendall(b"use y\r\nreserve\r\nuse z\r\n")
        self.assertEqual(client.line(), "USING y")
        client.socket.shutdown(socket.SHUT_WR)
        self.assertTrue(client.file.read().endswith(b"USING z\r\n"))

    def test_a_client_that_resets_gives_its_jobs_back(self) -> None:
        broker = self.launch()
        with Connection(broker.ports[0]) as producer:
            self.assertEqual(producer.put("work"), "INSERTED 1")
        worker = self.connect(broker)
        worker.reserve()
        worker.reset()
        self.assertEqual(self.connect(broker).reserve(), ("1", "work"))

    def test_large_bodies_pass_both_ways(self) -> None:
        broker = self.launch("--max-job-size", 8 << 20)
        body = "".join(map(str, range(1_000_000)))
        client = self.connect(broker)
        threading.Thread(target=client.socket.sendall, daemon=True,
                         args=(f"put 0 0 60 {len(body)}\r\n{body}\r\n".encode(),)).start()
        self.assertEqual(client.line(), "INSERTED 1")
        self.assertEqual(client.reserve(), ("1", body))

    def test_who_has_nothing_to_do_sleeps(self) -> None:
        broker = self.launch(with_pages=False)
        processes = [broker.pid, *self.routers(broker)]

        def sleep() -> bool:
            """What the start began may go on for a while, and memory may come back from the disk."""
            before = [self.wake_ups(pid) for pid in processes]
            time.sleep(10)
            return all(self.wake_ups(pid) - was <= 20 for pid, was in zip(processes, before))
        eventually("they sleep", sleep)

    @staticmethod
    def wake_ups(pid: int) -> int:
        """How often its threads have waited for something."""
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)[1])
                   for status in Path(f"/proc/{pid}/task").glob("*/status"))

    def test_limits_are_the_brokers(self) -> None:
        broker = self.launch("--limits-connections", 3)
        clients = [self.connect(broker) for _ in range(3)]
        for client in clients:
            self.assertEqual(client.ask("use x\r\n"), "USING x")
        refused = self.connect(broker)
        with suppress(ConnectionError):
            self.assertEqual(refused.file.read(), b"")
        self.assertEqual(self.metric(broker, 'gearstalkd_refused_total{reason="connections"}'), 1)

    def test_workers_are_listed_by_the_numbers_of_their_streams(self) -> None:
        broker = self.launch()
        clients = [self.connect(broker) for _ in range(3)]
        for client in clients:
            client.ask("watch x\r\n")
        admin = self.connect(broker)
        admin.socket.sendall(b"workers\n")
        numbers = []
        while (line := admin.file.readline()) != b".\n":
            numbers.append(int(line.split()[0]))
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertLessEqual(max(numbers), 8)

    @staticmethod
    def age(pid: int) -> float:
        """Seconds since it began; 0 when it has ended."""
        with suppress(FileNotFoundError, ProcessLookupError):
            began = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19])
            return time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK")
        return 0

    def test_killed_routers_lose_nothing_that_was_acknowledged(self) -> None:
        broker = self.launch()
        ledger = Ledger(broker.ports[0])
        killed: set[int] = set()
        while len(killed) < KILLS:
            before = ledger.acknowledged()
            eventually("jobs pass", lambda before=before: ledger.acknowledged() >= before + 20)
            # One that has lived for a second is replaced at once.
            oldest = eventually("an old router", lambda: next(
                (pid for pid in self.routers(broker) if pid not in killed and self.age(pid) > 1.1), None))
            self.send(oldest, signal.SIGKILL)
            killed.add(oldest)
        # One may have been replaced besides, for its silence on a busy machine.
        eventually("each was replaced",
                   lambda: self.metric(broker, "gearstalkd_router_restarts_total") >= KILLS)
        ledger.stop()
        self.assertEqual(len(self.routers(broker)), ROUTERS)
        self.assertEqual(ledger.missing(), set())
        self.assertTrue(broker.running)


class Ledger:
    """Producers and consumers that note what was acknowledged, and come back when they are cut off."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.lock = threading.Lock()
        self.put: set[str] = set()  # bodies that were acknowledged
        self.done: set[str] = set()  # bodies whose deletion was sent
        self.held = 0  # jobs that consumers leave to the end of their connection
        self.over = False
        self.threads = [threading.Thread(target=self.again, args=(what, place), daemon=True)
                        for place in range(8) for what in (self.produce, self.consume)]
        for thread in self.threads:
            thread.start()

    def again(self, what, place: int) -> None:
        number = 0
        while not self.over:
            with suppress(OSError, ValueError), Connection(self.port) as connection:
                connection.socket.settimeout(20)
                while not self.over:
                    number += 1
                    what(connection, f"{place}-{number}")

    def produce(self, connection: Connection, body: str) -> None:
        if connection.put(body).startswith("INSERTED"):
            with self.lock:
                self.put.add(body)

    def consume(self, connection: Connection, _: str) -> None:
        words = connection.ask("reserve-with-timeout 1\r\n").split()
        if words[0] != "RESERVED":
            return
        body = connection.file.read(int(words[2]) + 2)[:-2].decode()
        with self.lock:
            self.held += 1
            if self.held % 3 == 0:
                return
            self.done.add(body)
        connection.ask(f"delete {words[1]}\r\n")

    def acknowledged(self) -> int:
        with self.lock:
            return len(self.put)

    def stop(self) -> None:
        self.over = True
        for thread in self.threads:
            thread.join(PATIENCE)

    def missing(self) -> set[str]:
        """What was acknowledged, was given to nobody, and is not there."""
        left = set()
        with Connection(self.port) as connection:
            while (words := connection.ask("reserve-with-timeout 0\r\n").split())[0] == "RESERVED":
                left.add(connection.file.read(int(words[2]) + 2)[:-2].decode())
        return self.put - self.done - left


if __name__ == "__main__":
    unittest.main()
