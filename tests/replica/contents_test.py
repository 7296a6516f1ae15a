#!/usr/bin/env python3
"""What is there after another broker took over, of jobs, ids, tubes and clients:
contents_test.py BROKER."""

import base64
import itertools
import json
import signal
import sys
import time
import unittest
from pathlib import Path

from cluster import PATIENCE, Broker, Client, Shard, eventually
from gearman import (
    ASSIGNED,
    CAN_DO,
    COMPLETE,
    CREATED,
    EXCEPTION,
    GRAB,
    NO_JOB,
    NOOP,
    PRE_SLEEP,
    STATUS,
    STATUS_IS,
    SUBMIT,
    SUBMIT_BG,
    SUBMIT_EPOCH,
    SUBMIT_HIGH_BG,
    SUBMIT_LOW_BG,
    Gearman,
)
from on_etcd import OnEtcd, setUpModule  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from api_client import Api  # noqa: E402  # pylint: disable=wrong-import-position

BROKER = sys.argv.pop(1)


def about(client: Client, command: str) -> dict[str, str]:
    words = client.say(command).split()
    if words[0] != "OK":
        raise AssertionError(f"{command} was answered {words}")
    text = client.file.read(int(words[1]) + 2).decode()
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


class Contents(OnEtcd):
    def setUp(self) -> None:
        super().setUp()
        # Whoever leaves in order is followed at once, whatever the lease is.
        self.shard = self.enterContext(Shard(BROKER, self.etcd, f"/{self.id()}/", 60_000))
        self.local = f"{self.path}/socket"
        self.first = self.shard.broker("b1", "--max-job-size", "2000000", "--listen",
                                       f"unix:{self.local}", "--limits-stop-timeout", f"{PATIENCE:.0f}")
        self.first.wait_for("^ready ")
        self.second = self.shard.broker("b2", "--max-job-size", "2000000")
        self.second.wait_for("^standby$")

    def client(self, broker: Broker) -> Client:
        client = broker.connect()
        self.addCleanup(client.close)
        return client

    def gearman(self, broker: Broker) -> Gearman:
        client = Gearman(broker)
        self.addCleanup(client.close)
        return client

    def hand_over(self) -> None:
        self.first.signal(signal.SIGUSR2)
        self.assertEqual(self.first.wait(), 3)
        self.second.wait_for("^ready ")

    def test_jobs_are_what_they_were(self) -> None:
        client = self.client(self.first)
        large = "x" * 700_000
        for command in ("put 10 0 120 5\r\nready", "put 11 3600 120 7\r\ndelayed",
                        "put 12 0 60 8\r\nreserved", "put 13 0 60 6\r\nburied",
                        "put 14 0 60 7\r\ndeleted", f"put 15 0 60 {len(large)}\r\n{large}"):
            self.assertRegex(client.say(command), "^INSERTED ")
        self.assertEqual(client.say("delete 5"), "DELETED")
        for job in (3, 4):
            self.assertEqual(client.say(f"reserve-job {job}").split()[1], str(job))
            client.line()
        self.assertEqual(client.say("bury 4 99"), "BURIED")
        self.assertEqual(client.say("use paused"), "USING paused")
        self.assertEqual(client.put("later"), "INSERTED 7")
        self.assertEqual(client.say("pause-tube paused 3600"), "PAUSED")
        self.hand_over()
        client = self.client(self.second)
        for job, state, pri, ttr in ((1, "ready", 10, 120), (2, "delayed", 11, 120),
                                     (3, "ready", 12, 60), (4, "buried", 99, 60),
                                     (6, "ready", 15, 60), (7, "ready", 10, 120)):
            stats = about(client, f"stats-job {job}")
            self.assertEqual((stats["state"], stats["pri"], stats["ttr"]), (state, str(pri), str(ttr)))
        self.assertEqual(client.say("stats-job 5"), "NOT_FOUND")
        self.assertGreater(int(about(client, "stats-job 2")["time-left"]), 3600 - 3 * PATIENCE)
        self.assertGreater(int(about(client, "stats-tube paused")["pause-time-left"]),
                           3600 - 3 * PATIENCE)
        self.assertEqual(client.take_all(), [(1, "ready"), (3, "reserved"), (6, large)])
        # Ids are given out once.
        self.assertGreater(int(client.put("new").split()[1]), 7)

    def test_failures_keep_when_and_why(self) -> None:
        def failures(broker: Broker) -> list[list[object]]:
            items = Api(f"127.0.0.1:{broker.admin}").get("/failures")["items"]
            return [[job[field] for field in ("id", "tube", "failed_at", "cause", "cause_text")] for job in items]
        client = self.client(self.first)
        client.say("use f")
        for body in ("buried", "thrown"):
            client.put(body)
        self.assertEqual(client.say("reserve-job 1"), "RESERVED 1 6")
        client.line()
        self.assertEqual(client.say("bury 1 0"), "BURIED")
        worker = self.gearman(self.first)
        worker.send(CAN_DO, "f")
        kind, (handle, *_) = worker.ask(GRAB)
        self.assertEqual(kind, ASSIGNED)
        worker.send(EXCEPTION, handle, "timeout of smtp.example.net")
        self.assertEqual(worker.ask(GRAB)[0], NO_JOB)
        before = failures(self.first)
        self.assertEqual([[job[0], *job[3:]] for job in before],
                         [[2, "exception", "timeout of smtp.example.net"], [1, "buried", None]])
        self.hand_over()
        self.assertEqual(failures(self.second), before)

    def test_delays_and_pauses_run_out_at_the_next_broker(self) -> None:
        client = self.client(self.first)
        self.assertEqual(client.say("use pausing"), "USING pausing")
        self.assertEqual(client.put("paused"), "INSERTED 1")
        self.assertEqual(client.say("pause-tube pausing 2"), "PAUSED")
        began = time.time()
        self.assertEqual(client.put("delayed", 3), "INSERTED 2")
        self.hand_over()
        client = self.client(self.second)
        client.say("watch pausing")
        self.assertEqual(client.reserve(int(PATIENCE)), (1, "paused"))
        self.assertEqual(client.reserve(int(PATIENCE)), (2, "delayed"))
        # Its delay was counted from when it was put.
        self.assertGreater(time.time() - began, 2.9)

    def test_background_jobs_keep_their_handles_and_keys(self) -> None:
        client = self.gearman(self.first)
        handles = [f"H:gearstalkd:{number}" for number in range(1, 6)]
        for handle, kind, key in ((handles[0], SUBMIT_BG, "one"), (handles[1], SUBMIT_HIGH_BG, "two"),
                                  (handles[2], SUBMIT_LOW_BG, "three")):
            self.assertEqual(client.ask(kind, "f", key, f"of {key}"), (CREATED, [handle]))
        later = str(int(time.time()) + 3600)
        self.assertEqual(client.ask(SUBMIT_EPOCH, "f", "four", later, "of four"),
                         (CREATED, [handles[3]]))
        worker = self.gearman(self.first)
        worker.send(CAN_DO, "f")
        self.assertEqual(worker.ask(GRAB), (ASSIGNED, [handles[1], "f", "of two"]))
        self.hand_over()
        client = self.gearman(self.second)
        for handle in handles[:4]:
            self.assertEqual(client.ask(STATUS, handle), (STATUS_IS, [handle, "1", "0", "0", "0"]))
        self.assertEqual(client.ask(SUBMIT_BG, "f", "one", "again"), (CREATED, [handles[0]]))
        worker = self.gearman(self.second)
        worker.send(CAN_DO, "f")
        for handle, data in ((handles[1], "of two"), (handles[0], "of one"), (handles[2], "of three")):
            self.assertEqual(worker.ask(GRAB), (ASSIGNED, [handle, "f", data]))
            worker.send(COMPLETE, handle, "")
        self.assertEqual(worker.ask(GRAB), (NO_JOB, [""]))
        self.assertEqual(client.ask(STATUS, handles[0]), (STATUS_IS, [handles[0], "0", "0", "0", "0"]))

    def test_who_waits_is_let_go_and_waits_at_the_next_broker(self) -> None:
        foreground, worker = self.gearman(self.first), self.gearman(self.first)
        self.assertEqual(foreground.ask(SUBMIT, "g", "", "now")[0], CREATED)
        consumer = self.client(self.first)
        consumer.send(b"reserve\r\n")
        worker.send(CAN_DO, "f")
        worker.send(PRE_SLEEP)
        self.hand_over()
        self.assertTrue(foreground.ended() and worker.ended())
        self.assertEqual(consumer.rest(), b"")
        consumer, worker = self.client(self.second), self.gearman(self.second)
        consumer.send(b"reserve\r\n")
        worker.send(CAN_DO, "f")
        worker.send(PRE_SLEEP)
        self.assertRegex(self.client(self.second).put("one"), "^INSERTED ")
        self.assertRegex(consumer.line(), "^RESERVED ")
        self.assertEqual(self.gearman(self.second).ask(SUBMIT_BG, "f", "", "two")[0], CREATED)
        self.assertEqual(worker.receive()[0], NOOP)

    def test_what_was_acknowledged_is_said_before_another_broker_may_lead(self) -> None:
        body = "x" * 1_000_000
        self.assertEqual(self.client(self.first).put(body), "INSERTED 1")
        # More than the socket takes, and the answer to a put behind it.
        client = Client(0, path=self.local)
        self.addCleanup(client.close)
        client.send(b"peek 1\r\nput 1 0 60 4\r\nlast\r\n")
        eventually("it is there", lambda: self.first.metric("gearstalkd_jobs", '{state="ready"}') == 2)
        self.first.signal(signal.SIGUSR2)
        eventually("it takes nobody", self.first.refuses)
        for _ in range(3):
            self.assertFalse(self.leader()["vacant"])
            self.assertTrue(self.second.refuses())
        self.assertEqual(client.line(), f"FOUND 1 {len(body)}")
        self.assertEqual(len(client.file.read(len(body) + 2)), len(body) + 2)
        self.assertEqual(client.line(), "INSERTED 2")
        self.assertEqual(self.first.wait(), 3)
        self.second.wait_for("^ready ")

    def leader(self) -> dict[str, object]:
        text = self.etcd.nodes[0].ctl("get", f"/{self.id()}/leader", "-w", "json")
        return json.loads(base64.b64decode(json.loads(text)["kvs"][0]["value"]))

    def test_the_journal_is_trimmed_and_history_compacted(self) -> None:
        client = self.client(self.first)
        self.assertEqual(client.say("put 1 0 60 4\r\nkept"), "INSERTED 1")
        numbers = itertools.count(2)
        node = self.etcd.nodes[0]

        def write() -> None:
            number = next(numbers)
            client.send(b"put 1 0 60 60000\r\n" + b"x" * 60_000 + b"\r\ndelete %d\r\n" % number)
            self.assertEqual((client.line(), client.line()), (f"INSERTED {number}", "DELETED"))

        def compacted() -> bool:
            write()
            try:
                node.ctl("get", "--rev=2", "x")
            except AssertionError as error:
                return "compacted" in str(error)
            return False

        for _ in range(400):
            write()
        eventually("few are left", lambda: len(
            node.ctl("get", "--prefix", "--keys-only", f"/{self.id()}/j/").split()) < 300)
        # A trim is followed by a compaction at the trim before it.
        eventually("history is compacted", compacted)
        done = self.shard.tool("--journal-check", "etcd")
        self.assertEqual(done.returncode, 0, done)
        self.first.kill()
        self.first.start()  # nobody waits for the lease here: it is its own standby's turn
        node.ctl("put", f"/{self.id()}/leader", json.dumps({**self.leader(), "vacant": True}))
        with self.shard.wait_active().connect() as again:
            self.assertEqual(again.take_all(), [(1, "kept")])

    def test_keys_of_finished_jobs_stay_taken_over_compactions_and_takeovers(self) -> None:
        flags = ("--replica-max-bytes", str(1 << 20))
        with Shard(BROKER, self.etcd, f"/{self.id()}/keys/", 60_000) as shard:
            first = shard.first(*flags)
            for key, value in (("unique", "body"), ("unique_for", "1h")):
                answer = Api(f"127.0.0.1:{first.admin}").ask("PUT", f"/tubes/once/policy/{key}",
                                                            {"value": value})
                self.assertEqual(answer.status, 200, answer)
            client = self.client(first)
            self.assertEqual([client.say("use once"), client.say("watch once"), client.put("only"),
                              client.reserve(), client.say("delete 1")],
                             ["USING once", "WATCHING 2", "INSERTED 1", (1, "only"), "DELETED"])
            self.assertEqual(client.put("only"), "INSERTED 1")  # a duplicate
            client.say("use default")

            def released() -> float:
                answer = client.put("x" * 60_000)
                if answer != "OUT_OF_MEMORY":  # the log is full until what is dead has been trimmed
                    self.assertEqual(client.say(f"delete {answer.split()[1]}"), "DELETED")
                return first.metric("gearstalkd_journal_released_segments_total")
            for _ in range(40):  # more than max_bytes: the segment of the key is compacted away
                released()
            eventually("it is compacted", lambda: released() > 1)
            # Not before: a standby may be behind a trim of so small a log.
            second = shard.broker("b2", *flags)
            second.wait_for("^standby$")
            first.signal(signal.SIGUSR2)
            self.assertEqual(first.wait(), 3)
            second.wait_for("^ready ")
            client = self.client(second)
            client.say("use once")
            self.assertEqual(client.put("only"), "INSERTED 1")
            self.assertEqual(client.say("peek 1"), "NOT_FOUND")

    def test_a_job_of_many_parts_is_read_back(self) -> None:
        body = "x" * 20_000_000  # more than a broker reads ahead
        flags = ("--max-job-size", str(len(body)))
        with Shard(BROKER, self.etcd, f"/{self.id()}/large/", 60_000) as shard:
            first = shard.first(*flags)
            self.assertEqual(self.client(first).put(body), "INSERTED 1")
            second = shard.broker("b2", *flags)
            second.wait_for("^standby$")
            first.signal(signal.SIGUSR2)
            self.assertEqual(first.wait(), 3)
            second.wait_for("^ready ")
            job = self.client(second).reserve()
            self.assertIsNotNone(job)
            self.assertEqual((job[0], job[1] == body), (1, True))

    def test_a_standby_that_is_behind_a_trim_ends_with_3_and_reads_anew(self) -> None:
        node = self.etcd.nodes[0]
        client = self.client(self.first)
        self.assertEqual(client.put("kept"), "INSERTED 1")
        self.second.signal(signal.SIGSTOP)
        for number in range(2, 602):  # more than what is on its way to it holds
            client.send(b"put 1 0 60 60000\r\n" + b"x" * 60_000 + b"\r\ndelete %d\r\n" % number)
            self.assertEqual((client.line(), client.line()), (f"INSERTED {number}", "DELETED"))
        revision = node.status()["header"]["revision"]
        try:
            node.ctl("compact", str(revision))
        except AssertionError as error:  # the broker did, later than there
            self.assertIn("has been compacted", str(error))
        self.second.signal(signal.SIGCONT)
        self.assertEqual(self.second.wait(), 3, self.second.said)
        self.assertIn("what is to be read next has been trimmed", self.second.said)
        self.second.start()
        self.second.wait_for("^standby$")
        self.hand_over()
        self.assertEqual(self.client(self.second).take_all(), [(1, "kept")])

    def test_brokers_of_one_name_are_two(self) -> None:
        third = self.shard.broker("b1")
        third.wait_for("^standby$")
        self.assertEqual(self.first.readyz(), (200, "ready"))
        self.assertEqual(third.readyz(), (503, f"standby of b1 at {self.first.address}"))
        self.second.kill()
        self.first.signal(signal.SIGUSR2)
        self.assertEqual(self.first.wait(), 3)
        third.wait_for("^ready ")
        self.assertEqual(third.metric("gearstalkd_replica_epoch"), 2)

    def test_history_is_kept_where_others_share_it(self) -> None:
        node = self.etcd.nodes[0]
        with Shard(BROKER, self.etcd, f"/{self.id()}/kept/", 60_000) as shard:
            broker = shard.first("--etcd-compact", "false")
            client = self.client(broker)
            revision = json.loads(node.ctl("get", "-w", "json", "x"))["header"]["revision"]
            key = f"/{self.id()}/kept/j/"

            def trimmed() -> bool:
                for _ in range(20):
                    job = client.put("x" * 60_000).split()[1]
                    self.assertEqual(client.say(f"delete {job}"), "DELETED")
                return node.ctl("get", "--prefix", "--limit=1", "--keys-only", key) != first
            first = node.ctl("get", "--prefix", "--limit=1", "--keys-only", key)
            for _ in range(3):
                eventually("a trim", trimmed)
                first = node.ctl("get", "--prefix", "--limit=1", "--keys-only", key)
            node.ctl("get", f"--rev={revision}", "x")

    def test_shards_of_one_etcd_know_nothing_of_each_other(self) -> None:
        with Shard(BROKER, self.etcd, f"/{self.id()}/other/", 60_000) as other:
            third = other.broker("b3")
            third.wait_for("^ready ")
            self.assertEqual(self.client(self.first).put("one"), "INSERTED 1")
            self.assertEqual(self.client(third).put("other"), "INSERTED 1")
            self.hand_over()
            self.assertEqual(self.client(self.second).take_all(), [(1, "one")])
            self.assertEqual(self.client(third).take_all(), [(1, "other")])


if __name__ == "__main__":
    unittest.main()
