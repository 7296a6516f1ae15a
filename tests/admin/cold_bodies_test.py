#!/usr/bin/env python3
"""Bodies in the journal alone, while files, limits and clients change under the real broker:
cold_bodies_test.py BROKER."""

import hashlib
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import threading
import unittest

from api_case import BINARY
from broker import Broker, Client, eventually
from cold_case import Cold, body_of

LARGE = 64 << 20  # bytes


class Files(Cold):
    def test_a_flipped_bit_buries_its_job_alone(self) -> None:
        for number in range(1, 6):
            self.put(number)
        self.await_cold(5)
        for number in (1, 3, 4):
            self.flip(body_of(number, 400))
        self.client.send(b"reserve-with-timeout 0\r\n")
        self.assertEqual(self.take(), (2, body_of(2, 400)))
        self.client.send(b"peek 3\r\n")
        self.assertEqual(self.client.line(), "INTERNAL_ERROR")
        self.refused("damaged", "GET", "/jobs/4/body")
        self.client.send(b"reserve-with-timeout 0\r\nreserve-with-timeout 0\r\n")
        self.assertEqual(self.take(), (5, body_of(5, 400)))
        self.assertEqual(self.client.line(), "TIMED_OUT")
        for number in (1, 3, 4):
            job = self.api.get(f"/jobs/{number}")
            self.assertEqual((job["state"], job["cause"], job["reserves"]), ("buried", "damaged", 0))
        damaged = self.api.get("/jobs?cause=damaged")["items"]
        self.assertEqual([job["id"] for job in damaged], [1, 3, 4])
        self.assertEqual(self.api.get("/jobs?cause=buried")["items"], [])
        (group,) = self.api.get("/failures?limit=1")["groups"]
        self.assertEqual((group["cause"], group["count"]), ("damaged", 3))
        self.assertEqual(self.broker.metrics().get("gearstalkd_bodies_damaged_total"), 3)
        self.assertEqual(self.broker.get("/readyz")[0], 200)

    def churn(self) -> None:
        """Jobs that come and go, until the segment that is there now has left the log."""
        first = self.segment()
        body = b"x" * 60_000

        def gone() -> bool:
            for _ in range(50):
                self.client.send(b"put 1 0 60 %d\r\n%s\r\n" % (len(body), body))
                number = int(self.client.line().removeprefix("INSERTED "))
                self.assertEqual(self.client.say(f"delete {number}"), "DELETED")
            return not first.exists()
        eventually("its segment goes", gone)

    def test_a_damaged_body_is_set_aside(self) -> None:
        """Its segment leaves the log; a kick reads it again, and finds it when it was mended."""
        self.put(1)
        self.put(2)
        self.await_cold(2)
        self.flip(body_of(1, 400))
        self.churn()
        aside = self.data / "data/1.damaged"

        def is_damaged() -> None:
            job = self.api.get("/jobs/1")
            self.assertEqual((job["state"], job["cause"], job["size_bytes"]), ("buried", "damaged", 400))
            self.assertEqual(self.client.say("peek 1"), "INTERNAL_ERROR")
            self.refused("damaged", "GET", "/jobs/1/body")
        is_damaged()
        self.assertTrue(aside.exists())
        self.start_again()
        is_damaged()
        before = self.broker.metrics().get("gearstalkd_bodies_damaged_total")
        self.assertEqual(self.client.say("kick-job 1"), "KICKED")
        eventually("it is read again", lambda: self.broker.metrics().get("gearstalkd_bodies_damaged_total") > before)
        is_damaged()
        self.assertEqual(self.client.say("kick 10"), "KICKED 1")
        self.churn()
        is_damaged()
        whole = bytearray(aside.read_bytes())
        whole[whole.index(body_of(1, 400)[:200]) + 200] ^= 4
        aside.write_bytes(whole)
        self.assertEqual(self.client.say("kick 10"), "KICKED 1")
        eventually("it is ready", lambda: self.api.get("/jobs/1")["state"] == "ready")
        self.assertEqual(self.api.get("/jobs/1")["cause"], None)
        for number in (1, 2):
            self.client.send(b"reserve\r\n")
            self.assertEqual(self.take(), (number, body_of(number, 400)))
        eventually("its file goes", lambda: not aside.exists())

    def test_a_missing_file_makes_its_jobs_wait_and_no_others(self) -> None:
        self.put(1)
        self.await_cold(1)
        away = self.data / "away"
        self.segment().rename(away)
        self.client.send(b"reserve-with-timeout 0\r\n")
        eventually("not ready", lambda: self.broker.get("/readyz")[0] == 503)
        other = Client(self.broker.port)
        other.send(b"use b\r\nwatch b\r\nput 1 0 60 2\r\nhi\r\nreserve-with-timeout 0\r\n")
        self.assertEqual([other.line() for _ in range(5)],
                         ["USING b", "WATCHING 2", "INSERTED 2", "RESERVED 2 2", "hi"])
        other.close()
        self.refused("disk", "GET", "/jobs/1/body")
        self.refused("disk", "GET", "/jobs?text=x")
        away.rename(self.data / "data" / "0000000001.wal")
        self.assertEqual(self.take(), (1, body_of(1, 400)))
        eventually("ready", lambda: self.broker.get("/readyz")[0] == 200)

    def test_who_sends_no_more_gets_what_was_asked_for(self) -> None:
        for number in range(1, 4):
            self.put(number)
        self.await_cold(3)
        half = Client(self.broker.port)
        half.send(b"peek 1\r\nreserve\r\nreserve\r\nreserve\r\nreserve\r\n")
        half.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(half.line(), "FOUND 1 400")
        half.body(402)
        for number in range(1, 4):
            self.assertEqual(self.take(half), (number, body_of(number, 400)))
        self.assertEqual(half.line(), "TIMED_OUT")
        self.assertEqual(half.line(), "")
        half.close()
        eventually("they come back", lambda: self.api.get("/tubes/default")["jobs"]["ready"] == 3)

    def test_a_broker_that_stood_still_goes_on(self) -> None:
        for number in range(1, 101):
            self.put(number)
        self.await_cold(100)
        self.client.send(b"reserve-with-timeout 0\r\n" * 100)
        self.broker.process.send_signal(signal.SIGSTOP)
        self.broker.process.send_signal(signal.SIGCONT)
        for number in range(1, 101):
            self.assertEqual(self.take(), (number, body_of(number, 400)))


class FilesOfKeys(Files):
    """The same where each body is the key of its job."""

    POLICIES = 'tubes:\n  - {match: "*", unique: body}\n'


class Keys(Cold):
    POLICIES = FilesOfKeys.POLICIES
    JOBS = 100

    def put_all(self) -> None:
        """Each body is there once, however often it is put."""
        for number in range(1, self.JOBS + 1):
            self.assertEqual(self.put(number), number)

    def test_equal_bodies_are_one_job(self) -> None:
        self.put_all()
        self.await_cold(self.JOBS)
        self.assertEqual(self.broker.metrics().get("gearstalkd_body_reads_total"), 0)
        self.put_all()
        self.assertEqual(self.broker.metrics().get("gearstalkd_body_reads_total"), self.JOBS)
        other = b"p" * 400
        self.client.send(b"put 10 0 600 400\r\n%s\r\n" % other)
        self.assertEqual(self.client.line(), f"INSERTED {self.JOBS + 1}")
        self.assertEqual(self.broker.metrics().get("gearstalkd_body_reads_total"), self.JOBS)
        self.await_cold(self.JOBS + 1)

    def test_keys_outlive_starts(self) -> None:
        self.put_all()
        self.start_again()
        eventually("it has an index", lambda: any((self.data / "data").glob("*.index")))
        self.put_all()
        self.start_again()
        self.await_cold(self.JOBS)
        self.assertEqual(self.broker.metrics().get("gearstalkd_bodies_bytes", where="memory"), 0)
        self.put_all()
        for number in range(1, self.JOBS + 1):
            self.client.send(b"reserve-with-timeout 0\r\n")
            self.assertEqual(self.take(), (number, body_of(number, 400)))
            self.assertEqual(self.client.say(f"delete {number}"), "DELETED")
        self.assertEqual(self.put(1), self.JOBS + 1)

    def test_operators_find_equal_jobs(self) -> None:
        self.put(1)
        self.await_cold(1)
        self.assertEqual(self.api.post("/tubes/default/jobs", {"body": body_of(1, 400).decode()})["id"], 1)
        self.await_cold(1)
        self.assertEqual(self.api.post("/jobs/1/copy", {}, status=201)["id"], 1)
        acts = self.api.get("/audit")["items"]
        self.assertIn(("job.put", 1), [(act["action"], act["job"]) for act in acts])


class ManyTubes(Cold):
    """Each has few jobs, which are all needed soon, and nevertheless go. `scripts/bench --only backlog/tubes` does the
    same with 10^5 tubes of 100 jobs."""

    TUBES = int(os.environ.get("GEARSTALK_TUBES", "2000"))
    JOBS = 5  # of each
    CONSUMERS = 3

    def await_lines(self, starts: list[str], client: Client | None = None) -> None:
        for start in starts:
            self.assertTrue((client or self.client).line().startswith(start))

    def resident(self) -> int:
        rollup = pathlib.Path(f"/proc/{self.broker.process.pid}/smaps_rollup").read_text()
        return int(next(line for line in rollup.splitlines() if line.startswith("Rss:")).split()[1]) << 10

    def test_start_and_are_drained(self) -> None:
        jobs = self.TUBES * self.JOBS
        some = range(200)  # at a time
        number = 0
        for first in range(0, self.TUBES, len(some)):
            puts = b""
            for tube in some:
                puts += b"use t%d\r\n" % (first + tube)
                for _ in range(self.JOBS):
                    number += 1
                    puts += b"put 10 0 600 400\r\n%s\r\n" % body_of(number, 400)
            self.client.send(puts)
            self.await_lines(["USING", *["INSERTED"] * self.JOBS] * len(some))
        self.await_cold(jobs)
        bound = (64 << 20) + 512 * self.TUBES + 128 * jobs
        self.assertLess(self.resident(), bound)
        for _ in range(2):
            self.start_again()
            self.await_cold(jobs)
            self.assertLess(self.resident(), bound)
        consumers = [Client(self.broker.port) for _ in range(self.CONSUMERS)]
        for consumer in consumers:
            for first in range(0, self.TUBES, len(some)):
                consumer.send(b"".join(b"watch t%d\r\n" % (first + tube) for tube in some))
                self.await_lines(["WATCHING"] * len(some), consumer)
        for first in range(1, jobs + 1, len(some)):
            consumer = consumers[first // len(some) % self.CONSUMERS]
            consumer.send(b"".join(b"reserve-with-timeout 0\r\ndelete %d\r\n" % (first + i) for i in some))
            for i in some:
                self.assertEqual(self.take(consumer), (first + i, body_of(first + i, 400)))
                self.assertEqual(consumer.line(), "DELETED")
        for consumer in consumers:
            self.assertEqual(consumer.say("reserve-with-timeout 0"), "TIMED_OUT")
            consumer.close()


class LargeBodies(Cold):
    MORE = ("--max-job-size", str(LARGE))

    def test_come_back_whole(self) -> None:
        for number in range(1, 4):
            self.put(number, LARGE)
        self.await_cold(3)
        self.client.send(b"peek 2\r\n")
        self.assertEqual(self.client.line(), f"FOUND 2 {LARGE}")
        self.assertEqual(self.client.body(LARGE + 2)[:-2], body_of(2, LARGE))
        for number in range(1, 4):
            self.client.send(b"reserve-with-timeout 0\r\n")
            self.assertEqual(self.take(), (number, body_of(number, LARGE)))
            self.client.send(b"delete %d\r\n" % number)
            self.assertEqual(self.client.line(), "DELETED")
        eventually("they are gone", lambda: self.api.get("/server")["memory"]["bodies_bytes"] == 0)


class Reloads(Cold):
    """The limit goes down to nothing and up again under load."""

    def test_every_body_comes_back_once(self) -> None:
        jobs, producers, consumers = 6000, 3, 3
        bodies: dict[int, bytes] = {}
        wrong: list[str] = []
        lock = threading.Lock()

        def produce(first: int) -> None:
            client = Client(self.broker.port)
            for number in range(first, jobs, producers):
                body = body_of(number, 100 + number * 37 % 6000)
                client.send(b"put %d 0 600 %d\r\n%s\r\n" % (number % 5, len(body), body))
                job = int(client.line().removeprefix("INSERTED "))
                with lock:
                    bodies[job] = body
            client.close()

        def consume() -> None:
            client = Client(self.broker.port)
            while True:
                client.send(b"reserve-with-timeout 3\r\n")
                line = client.line()
                if line == "TIMED_OUT":
                    break
                _, job, size = line.split()
                body = client.body(int(size) + 2)[:-2]
                number = int(body.split(b":")[0])
                if body != body_of(number, len(body)):
                    wrong.append(f"job {job}")
                if number % 7 == 0 and int(size) % 2 == 0:
                    client.send(b"release %s 9 0\r\npeek %s\r\n" % (job.encode(), job.encode()))
                    client.line()
                    if client.line().startswith("FOUND"):
                        client.body(int(size) + 2)
                    client.send(b"reserve-job %s\r\n" % job.encode())
                    if client.line() == "NOT_FOUND":
                        continue
                    client.body(int(size) + 2)
                client.send(b"delete %s\r\n" % job.encode())
                if client.line() == "DELETED":
                    with lock:
                        taken.append((int(job), body))
            client.close()

        taken: list[tuple[int, bytes]] = []
        threads = [threading.Thread(target=produce, args=(i,)) for i in range(producers)]
        threads += [threading.Thread(target=consume) for _ in range(consumers)]
        for thread in threads:
            thread.start()
        for limit in (50_000, 1, 1 << 30, 0, 1, 400_000) * 10:
            self.limit_bodies(limit)
            self.broker.process.send_signal(signal.SIGHUP)
            eventually("the limit holds",
                       lambda: self.api.get("/server")["memory"]["bodies_limit_bytes"] == limit)
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(taken), jobs)
        self.assertEqual(dict(taken), bodies)


class Restart(unittest.TestCase):
    def test_a_cold_backlog_is_there_after_a_kill(self) -> None:
        data = pathlib.Path(tempfile.mkdtemp(prefix="gearstalk-cold-"))
        options = ("--data-dir", str(data / "data"), "--limits-bodies", "20000")
        broker = Broker(BINARY, *options)
        client = Client(broker.port)
        for number in range(1, 501):
            body = body_of(number, 1000)
            client.send(b"put 10 0 600 1000\r\n%s\r\n" % body)
            self.assertEqual(client.line(), f"INSERTED {number}")
        client.close()
        broker.process.kill()
        broker.process.wait()
        broker = Broker(BINARY, *options)
        self.assertGreater(broker.metrics().get("gearstalkd_bodies", where="journal"), 400)
        client = Client(broker.port)
        for number in range(1, 501):
            client.send(b"reserve-with-timeout 0\r\n")
            self.assertEqual(client.line(), f"RESERVED {number} 1000")
            self.assertEqual(client.body(1002)[:-2], body_of(number, 1000))
        client.close()
        self.assertEqual(broker.stop(), 0)
        shutil.rmtree(data)


if __name__ == "__main__":
    unittest.main()
