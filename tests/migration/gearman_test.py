#!/usr/bin/env python3
"""Draining a running gearmand, and the bridge: gearman_test.py BROKER CTL."""

import json
import subprocess
import sys
import time
import unittest

from fake_gearmand import FakeGearmand
from gearman import (CAN_DO, COMPLETE, CREATED, DATA, EXCEPTION, FAIL, OPTION, STATUS, SUBMIT,
                     SUBMIT_BG, SUBMIT_EPOCH, SUBMIT_HIGH_BG, SUBMIT_LOW_BG, SUBMIT_REDUCE,
                     SUBMIT_REDUCE_BG, WARNING, ASSIGN_ALL, GRAB_ALL, Gearmand, Peer, has_gearmand)
from tools import (PATIENCE, Broker, Folder, Tool, ctl, eventually, exported, jobs,
                   until_moved)


def fill(old: Gearmand, count: int = 600) -> None:
    """Background jobs of each class, with and without keys."""
    with Peer(old.address) as client:
        for number in range(count):
            kind = (SUBMIT_HIGH_BG, SUBMIT_BG, SUBMIT_LOW_BG)[number % 3]
            key = f"key {number}" if number % 2 else ""
            assert client.ask(kind, f"f{number % 2}", key, f"body {number}\0rest")[0] == CREATED


def carry(case: unittest.TestCase, client: Peer, worker: Peer) -> None:
    """All that a worker may say comes back to the client, who has submitted three jobs."""
    handles = {}
    for number in range(3):
        kind, (handle,) = client.ask(SUBMIT, "f", f"u{number}", f"job {number}")
        case.assertEqual(kind, CREATED)
        handles[f"job {number}".encode()] = handle
    worker.send(CAN_DO, "f")
    taken = {}
    for number in range(3):
        handle, function, unique, body = worker.grab()
        case.assertEqual((function, unique), (b"f", b"u" + body[-1:]))
        taken[body] = handle
    worker.send(WARNING, taken[b"job 0"], b"care\0ful")
    worker.send(DATA, taken[b"job 0"], b"part")
    worker.send(STATUS, taken[b"job 0"], b"1", b"2")
    worker.send(COMPLETE, taken[b"job 0"], b"the\0end")
    worker.send(FAIL, taken[b"job 1"])
    worker.send(EXCEPTION, taken[b"job 2"], b"why")
    said = [client.receive() for _ in range(6)]
    mine = lambda body: [each for each in said if each[1][0] == handles[body]]
    case.assertEqual(mine(b"job 0"), [
        (WARNING, [handles[b"job 0"], b"care", b"ful"]), (DATA, [handles[b"job 0"], b"part"]),
        (STATUS, [handles[b"job 0"], b"1", b"2"]), (COMPLETE, [handles[b"job 0"], b"the", b"end"])])
    case.assertEqual(mine(b"job 1"), [(FAIL, [handles[b"job 1"]])])
    case.assertEqual(mine(b"job 2"), [(EXCEPTION, [handles[b"job 2"], b"why"])])


@unittest.skipUnless(has_gearmand(), "needs gearmand")
class TakeOver(unittest.TestCase):
    def test_background_jobs_move_once(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            fill(old)
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["left"], found["altered"], found["uncertain"]),
                             (600, 0, 0, 0))
            self.assertEqual(found["ids"], "new")
            self.assertEqual(old.waiting(), 0)
            moved = {job["body"]: job for job in jobs(exported("--from", broker.address))}
            self.assertEqual(len(moved), 600)
            for number in range(600):
                job = moved[f"body {number}\0rest"]
                self.assertEqual(job["priority"], (512, 65536, 131072)[number % 3])
                self.assertEqual(job.get("unique", ""), f"key {number}" if number % 2 else "")
                self.assertEqual((job["tube"], job["state"]), (f"f{number % 2}", "ready"))
                self.assertFalse(job.get("keep_on_failure", False))
            self.assertIn("0 held", ctl("transfers", "--to", broker.address))

    def test_keys(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            with Peer(old.address) as client:
                client.ask(SUBMIT_BG, "f", "-", "the body is the key")
                client.ask(SUBMIT_BG, "f", "x" * 64, "long key")
                client.ask(SUBMIT_BG, "f", "y" * 63, b"\0a NUL in front")
            ctl("take-over", old.url, "--to", broker.address)
            moved = {job["body"]: job for job in jobs(exported("--from", broker.address))}
            self.assertTrue(moved["the body is the key"]["unique_is_body"])
            self.assertEqual(moved["long key"]["unique"], "x" * 63)
            self.assertEqual(moved["\0a NUL in front"]["unique"], "y" * 63)

    def test_a_reducer_comes_along_and_goes_back(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            with Peer(old.address) as client:
                client.ask(SUBMIT_REDUCE_BG, "f", "u", "sum", "", "1\0002")
                client.ask(SUBMIT_BG, "f", "v", "plain")
            ctl("take-over", old.url, "--to", broker.address)
            moved = {job["body"]: job for job in jobs(exported("--from", broker.address))}
            self.assertEqual(moved["1\0002"]["reducer"], "sum")
            self.assertNotIn("reducer", moved["plain"])
            ctl("hand-back", old.url, "--from", broker.address)
            with Peer(old.address) as worker:
                worker.send(CAN_DO, "f")
                job = worker.grab(GRAB_ALL, ASSIGN_ALL)
                self.assertEqual(job[1:], [b"f", b"u", b"sum", b"1", b"2"])

    def test_many_of_one_class_are_exact(self) -> None:
        """gearmand is not asked for counts while they last; a job that comes in between is new."""
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            with Peer(old.address) as client:
                for number in range(3000):
                    client.ask(SUBMIT_LOW_BG, "f", "", f"low {number}")
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report)
            self.assertEqual(json.loads(report.read_text())["altered"], 0)
            moved = jobs(exported("--from", broker.address))
            self.assertEqual({job["priority"] for job in moved}, {131072})
            self.assertEqual(len(moved), 3000)

    def test_priorities_as_the_broker_has_them(self) -> None:
        with Folder() as folder, Gearmand() as old, \
                Broker("--data-dir", folder / "d", "--gearman-priority-high", 7,
                       "--gearman-priority-normal", 8, "--gearman-priority-low", 9) as broker:
            fill(old, 6)
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(sorted(job["priority"] for job in jobs(exported("--from", broker.address))),
                             [7, 7, 8, 8, 9, 9])

    def test_the_way_back_has_the_same_classes(self) -> None:
        with Folder() as folder, Gearmand() as old, \
                Broker("--data-dir", folder / "d", "--gearman-priority-high", 2000,
                       "--gearman-priority-normal", 3000, "--gearman-priority-low", 4000) as broker:
            fill(old, 6)
            ctl("take-over", old.url, "--to", broker.address)
            ctl("hand-back", old.url, "--from", broker.address)
            with Peer(old.address) as peer:
                counts = [line.split("\t")[1:4] for line in peer.lines("prioritystatus")]
            self.assertEqual(counts, [["1", "1", "1"]] * 2)

    def test_a_key_that_is_here_is_joined(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            for address in (old.address, broker.address):
                with Peer(address) as client:
                    client.ask(SUBMIT_BG, "f", "same", "of " + address)
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report, code=3)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["joined"]), (0, 1))
            self.assertEqual([job["body"] for job in jobs(exported("--from", broker.address))],
                             ["of " + broker.address])

    def test_who_waits_gets_the_result(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker, \
                Tool("take-over", old.url, "--to", broker.address, "--follow") as tool, \
                Peer(old.address) as client, Peer(broker.address) as worker:
            client.ask(OPTION, "exceptions")
            carry(self, client, worker)
            self.assertEqual(tool.stop(), 0)
            self.assertEqual(old.waiting(), 0)

    def test_a_background_job_that_somebody_joined(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker, \
                Peer(old.address) as first, Peer(old.address) as client, \
                Peer(broker.address) as worker:
            first.ask(SUBMIT_BG, "f", "u", "background")
            client.ask(SUBMIT, "f", "u", "background")
            worker.send(CAN_DO, "f")
            with Tool("take-over", old.url, "--to", broker.address) as tool:
                handle, *_ = worker.grab()
                worker.send(COMPLETE, handle, b"result")
                self.assertEqual(client.receive()[1][1], b"result")
                self.assertEqual(tool.wait(), 0)

    def test_no_worker_here(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker, \
                Peer(old.address) as client:
            client.ask(SUBMIT, "f", "u", "waits")
            client.ask(SUBMIT_BG, "f", "v", "moves")
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report, code=3)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["left"]), (1, 1))
            self.assertEqual(old.waiting(), 1)

    def test_not_due_and_low_behind_it(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            with Peer(old.address) as client:
                client.ask(SUBMIT_EPOCH, "f", "later", str(int(time.time()) + 100_000), "later")
                client.ask(SUBMIT_LOW_BG, "f", "low", "low")
                client.ask(SUBMIT_HIGH_BG, "f", "high", "high")
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report, code=3)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["left"]), (1, 2))
            self.assertIn("import its store", found["jobs"][-1]["text"])

    def test_another_worker(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker, \
                Peer(old.address) as worker:
            fill(old, 20)
            worker.send(CAN_DO, "f0")
            worker.grab()
            report = folder / "report.json"
            ctl("take-over", old.url, "--to", broker.address, "--report", report, code=3)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["altered"], found["left"]), (19, 9, 1))

    def test_functions_that_are_meant(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            fill(old, 20)
            ctl("take-over", old.url, "--to", broker.address, "--except", "f0")
            self.assertEqual(old.functions()["f0"][0], 10)
            ctl("take-over", old.url, "--to", broker.address, "--tube", "f0")
            self.assertEqual(old.waiting(), 0)

    def test_names_with_line_ends(self) -> None:
        for words, names in ((["--tube", "good"], ["good"]),
                             ([], ["end\n", "good", "new\nline", "tab\t1\t"])):
            with self.subTest(words), Folder() as folder, Gearmand() as old, \
                    Broker("--data-dir", folder / "d") as broker:
                with Peer(old.address) as client:
                    for name in ("new\nline", "good", "end\n", "tab\t1\t"):
                        client.ask(SUBMIT_BG, name, "", "x")
                said = ctl("take-over", old.url, "--to", broker.address, *words)
                self.assertIn(f"{len(names)} moved", said)
                self.assertIn("0 left", said)
                moved = jobs(exported("--from", broker.address))
                self.assertEqual(sorted(job["tube"] for job in moved), names)

    def test_nothing_stays_behind(self) -> None:
        with Folder() as folder, Gearmand() as old, Broker("--data-dir", folder / "d") as broker:
            fill(old, 2)
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(sorted(old.functions()), ["f0", "f1"])

    def test_wrong_calls(self) -> None:
        ctl("take-over", "gearman://127.0.0.1:1", "--ids", "keep", code=2)
        ctl("take-over", "http://127.0.0.1:1", code=2)
        ctl("take-over", "gearman://127.0.0.1:1", code=1)


class Waking(unittest.TestCase):
    def test_the_old_server_tells_of_a_job(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            old = FakeGearmand()
            old.add("f", "first")
            with Tool("take-over", old.url, "--to", broker.address, "--follow") as tool:
                eventually("its worker sleeps", lambda: old.sleeps > 0)
                old.add("f", "second")
                until_moved(broker, 2)
                self.assertEqual(tool.stop(), 0)
            old.close()


class MortalGearmand(FakeGearmand):
    """It ends before, or behind, the first result that it reads, and starts again: with a store, as
    from that; without one, with new jobs that have the handles of the old ones."""

    def __init__(self, store: bool) -> None:
        self.store, self.dies = store, True
        super().__init__()

    def before(self, kind: int) -> None:
        if kind != COMPLETE or not self.dies:
            return
        self.dies = False
        if not self.store:
            self.jobs = {}
            for number in range(3):
                self.add("f", f"new {number}")
        self.die()


class OtherLives(unittest.TestCase):
    def check(self, store: bool, bodies: list[str]) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            old = MortalGearmand(store)
            for number in range(3):
                old.add("f", f"old {number}")
            ctl("take-over", old.url, "--to", broker.address, code=1)
            self.assertEqual(jobs(exported("--from", broker.address)), [])
            said = ctl("take-over", old.url, "--to", broker.address, code=3)
            self.assertIn(f"{len(bodies)} moved", said)
            self.assertIn("3 uncertain", said)
            self.assertEqual(sorted(job["body"] for job in jobs(exported("--from", broker.address))),
                             bodies)
            self.assertIn("0 held", ctl("transfers", "--to", broker.address))
            old.close()

    def test_a_handle_of_another_life_is_another_job(self) -> None:
        self.check(False, [f"{when} {number}" for when in ("new", "old") for number in range(3)])

    def test_jobs_that_come_again_from_a_store_are_uncertain(self) -> None:
        self.check(True, [f"old {number}" for number in (0, 0, 1, 1, 2, 2)])


class LateReads(unittest.TestCase):
    def test_a_result_that_is_on_its_way_is_no_job_left(self) -> None:
        """gearmand reads each connection by itself: `status` may come before a result."""
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker, \
                Peer(broker.address) as worker:
            old = FakeGearmand()
            old.reads_late = True
            old.add("f", "somebody waits", foreground=True)
            worker.send(CAN_DO, "f")
            report = folder / "report.json"
            with Tool("take-over", old.url, "--to", broker.address, "--report", report) as tool:
                handle, *_ = worker.grab()
                worker.send(COMPLETE, handle, b"result")
                self.assertEqual(tool.wait(), 0)
            found = json.loads(report.read_text())
            self.assertEqual((found["moved"], found["left"]), (1, 0))
            self.assertEqual(old.jobs, {})
            old.close()


class SlowStore(unittest.TestCase):
    def test_few_jobs_at_once_go_back(self) -> None:
        """gearmand is silent until it has stored all that it has read."""
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            with Peer(broker.address) as client:
                for number in range(100):
                    client.ask(SUBMIT_BG, "f", "", str(number))
            old = FakeGearmand()
            ctl("hand-back", old.url, "--from", broker.address)
            self.assertEqual(len(old.jobs), 100)
            self.assertLessEqual(old.most_at_once, 16)
            old.close()

    def test_other_functions_have_their_turn(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            old = FakeGearmand()
            for number in range(200):
                old.add("a", str(number))
            old.add("b", "other")
            old.store_s = 0.01
            ctl("take-over", old.url, "--to", broker.address)
            bodies = [job["body"] for job in jobs(exported("--from", broker.address))]
            self.assertEqual(len(bodies), 201)
            self.assertLess(bodies.index("other"), 150)
            old.close()

    def test_batches_are_no_longer_than_the_store_allows(self) -> None:
        """gearmand is silent while it deletes a batch: that must not pass for a dead server."""
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            old = FakeGearmand()
            for number in range(700):
                old.add("f", str(number))
            old.store_s = 0.01
            ctl("take-over", old.url, "--to", broker.address)
            self.assertEqual(len(jobs(exported("--from", broker.address))), 700)
            self.assertLessEqual(old.most_held, 32)


@unittest.skipUnless(has_gearmand(), "needs gearmand")
class Bridge(unittest.TestCase):
    def check(self, old: str, new: str) -> None:
        with Tool("bridge", "--from", f"gearman://{old}", "--to", f"gearman://{new}", "--function",
                  "f") as tool, Peer(old) as client, Peer(new) as worker:
            client.ask(OPTION, "exceptions")
            carry(self, client, worker)
            self.assertEqual(tool.stop(), 0)

    def test_from_gearmand_to_the_broker(self) -> None:
        with Gearmand() as old, Broker() as broker:
            self.check(old.address, broker.address)

    def test_from_the_broker_to_gearmand(self) -> None:
        with Gearmand() as old, Broker() as broker:
            self.check(broker.address, old.address)

    def test_from_gearmand_to_gearmand(self) -> None:
        with Gearmand() as old, Gearmand() as new:
            self.check(old.address, new.address)

    def test_a_reducer(self) -> None:
        with Gearmand() as old, Broker() as broker, Peer(old.address) as client, \
                Tool("bridge", "--from", old.url, "--to", f"gearman://{broker.address}",
                     "--function", "f"), Peer(broker.address) as worker:
            client.ask(SUBMIT_REDUCE, "f", "u", "sum", "", "data")
            worker.send(CAN_DO, "f")
            self.assertEqual(worker.grab(GRAB_ALL, ASSIGN_ALL)[1:], [b"f", b"u", b"sum", b"data"])

    def test_with_tls(self) -> None:
        """Both ways: the broker is whom the jobs go to, and where they come from. Certificates are for
        an IP address or a host name."""
        with Folder() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9", "-subj", "/CN=b",
                            "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", folder / "key",
                            "-out", folder / "pem"], check=True, capture_output=True)
            tls = ("--tls-certificate", folder / "pem", "--tls-key", folder / "key")
            for to_broker, host in ((True, "127.0.0.1"), (False, "127.0.0.1"), (True, "localhost")):
                with self.subTest(to_broker=to_broker, host=host), Gearmand() as old, \
                        Broker(*tls) as broker:
                    ends = (old.address, broker.address.replace("127.0.0.1", host))
                    one, other = ends if to_broker else ends[::-1]
                    flags = ["--tls"] if to_broker else ["--tls-from"]
                    with Tool("bridge", "--from", f"gearman://{one}", "--to", f"gearman://{other}",
                              "--function", "f", "--tls-ca", folder / "pem", *flags), \
                            Peer(one) as client, Peer(other) as worker:
                        client.ask(OPTION, "exceptions")
                        carry(self, client, worker)

    def check_cut_keys(self, old: str, kept: int) -> None:
        """`kept`: bytes of a key of 64."""
        with Broker() as broker, Peer(old) as client, Peer(broker.address) as worker, \
                Tool("bridge", "--from", f"gearman://{old}", "--to", f"gearman://{broker.address}",
                     "--function", "f"):
            worker.send(CAN_DO, "f")
            for size in (62, 63, 64):
                client.ask(SUBMIT, "f", "u" * size, b"\0body")
                handle, _, unique, *body = worker.grab()
                self.assertEqual((len(unique), body), (min(size, kept), [b"", b"body"]))
                worker.send(COMPLETE, handle, b"")
                self.assertEqual(client.receive()[0], COMPLETE)

    def test_keys_that_gearmand_cuts(self) -> None:
        with Gearmand() as old:
            self.check_cut_keys(old.address, 63)

    def test_keys_that_the_broker_does_not_cut(self) -> None:
        with Broker() as old:
            self.check_cut_keys(old.address, 64)

    def test_the_first_pause_is_short_again(self) -> None:
        with Gearmand() as old, Gearmand() as new, \
                Tool("bridge", "--from", old.url, "--to", new.url, "--function", "f") as tool:
            for life in range(4):
                eventually("it works", lambda: old.functions() and not old.is_alone())
                new.kill()
                eventually("it tells", lambda: tool.said.count("; again in 100 ms") == life + 1)
                eventually("its connection is closed", old.is_alone)
                new.start()

    def test_the_other_server_dies(self) -> None:
        with Gearmand() as old, Gearmand() as new, Peer(old.address) as client, \
                Tool("bridge", "--from", old.url, "--to", new.url, "--function", "f"):
            client.ask(SUBMIT, "f", "u", "again")
            with Peer(new.address) as worker:
                worker.send(CAN_DO, "f")
                self.assertEqual(worker.grab()[3], b"again")
                new.kill()
            new.start()
            with Peer(new.address) as worker:
                worker.send(CAN_DO, "f")
                handle, *_ = worker.grab()
                worker.send(COMPLETE, handle, b"done")
            self.assertEqual(client.receive()[1][1], b"done")

    def bridged(self, *options: object) -> tuple[Peer, Peer]:
        """A client of the old server and a worker of a broker behind the bridge."""
        old, broker = self.enterContext(Gearmand()), self.enterContext(Broker(*options))
        self.enterContext(Tool("bridge", "--from", old.url, "--to", f"gearman://{broker.address}",
                               "--function", "f"))
        worker = self.enterContext(Peer(broker.address))
        worker.send(CAN_DO, "f")
        return self.enterContext(Peer(old.address)), worker

    def test_a_job_that_the_other_server_never_takes_fails_alone(self) -> None:
        client, worker = self.bridged("--max-job-size", 1000)
        small = client.ask(SUBMIT, "f", "small", "x")[1][0]
        large = client.ask(SUBMIT, "f", "large", "x" * 2000)[1][0]
        handle, *_, body = worker.grab()
        self.assertEqual(body, b"x")
        self.assertEqual(client.receive(), (FAIL, [large]))
        worker.send(COMPLETE, handle, b"done")
        self.assertEqual(client.receive(), (COMPLETE, [small, b"done"]))

    def test_jobs_wait_while_the_other_server_is_full_and_run_once(self) -> None:
        client, worker = self.bridged("--limits-maxqueue", "f 1")
        for number in range(4):
            client.ask(SUBMIT, "f", str(number), f"job {number}")
        bodies = []
        for _ in range(4):
            handle, *_, body = worker.grab()
            bodies.append(body)
            worker.send(COMPLETE, handle, body)
        done = [client.receive() for _ in range(4)]
        self.assertEqual(sorted(bodies), [b"job %d" % number for number in range(4)])
        self.assertEqual(sorted(body for _, (_, body) in done), sorted(bodies))

    def test_large_bodies_and_large_results_do_not_wait_for_each_other(self) -> None:
        client, worker = self.bridged()
        size, count = 4 << 20, 8
        for number in range(count):
            client.ask(SUBMIT, "f", str(number), bytes([number + 1]) * size)
        for _ in range(count):
            handle, *_, body = worker.grab()
            worker.send(COMPLETE, handle, body)
        results = sorted(client.receive()[1][1][:1] for _ in range(count))
        self.assertEqual(results, [bytes([number]) for number in range(1, count + 1)])

    def test_so_many_at_a_time(self) -> None:
        with Gearmand() as old, Gearmand() as new, Peer(old.address) as client, \
                Tool("bridge", "--from", old.url, "--to", new.url, "--function", "f", "--jobs", 3):
            for number in range(9):
                client.ask(SUBMIT_BG, "f", str(number), "x")
            with Peer(new.address) as worker:
                worker.send(CAN_DO, "f")
                taken = [worker.grab()[0] for _ in range(3)]
                self.assertEqual(new.waiting(), 3)
                for handle in taken:
                    worker.send(COMPLETE, handle, b"")
                for _ in range(6):
                    worker.send(COMPLETE, worker.grab()[0], b"")
                end = time.monotonic() + PATIENCE
                while old.waiting():
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
