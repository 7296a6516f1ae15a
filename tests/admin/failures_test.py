#!/usr/bin/env python3
"""What failed, and what needs attention, by the API and gearstalkctl: failures_test.py BROKER GEARSTALKCTL."""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

CTL = sys.argv.pop(2) if len(sys.argv) > 2 else "build/gearstalkctl"
from api_case import BINARY, WithBroker  # noqa: E402
from api_client import Api, user  # noqa: E402
from broker import Broker, Client, eventually  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))


class Failing(WithBroker):
    def ctl(self, *words: str) -> str:
        line = [CTL, "--server", f"http://{self.broker.admin}", *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def bury(self, tube: str, body: str = "x") -> int:
        """A job that its worker buries."""
        job = self.api.put_job(tube, body)
        worker = Client(self.broker.port)
        worker.say(f"watch {tube}")
        worker.say("ignore default")
        self.assertEqual(int(worker.say("reserve-with-timeout 5").split()[1]), job)
        self.assertEqual(worker.say(f"bury {job} 7"), "BURIED")
        worker.close()
        return job

    def throw(self, function: str, text: bytes) -> int:
        """A job whose Gearman worker answers with WORK_EXCEPTION."""
        job = self.api.put_job(function, "x")
        self.work(function, text)
        eventually("the failure", lambda: self.api.get(f"/jobs/{job}")["state"] == "buried")
        return job

    def work(self, function: str, text: bytes) -> None:
        """A Gearman worker takes one job, and answers with WORK_EXCEPTION."""
        worker = Client(self.broker.port)
        worker.packet(1, function.encode())
        worker.packet(9)
        kind, (handle, *_) = worker.response()
        self.assertEqual(kind, 11)
        worker.packet(25, handle, text)
        self.assertEqual(worker.ask(16, b"done")[0], 17)
        worker.close()

    def ids(self, query: str = "") -> list[int]:
        return [job["id"] for job in self.api.get(f"/failures{query}")["items"]]


class Failures(Failing):
    def test_the_newest_is_first_with_time_cause_and_text(self) -> None:
        first = self.bury("mail")
        second = self.throw("resize", b"no such picture")
        third = self.bury("mail")
        self.api.put_job("mail", "that did not fail")
        answer = self.api.get("/failures")
        self.assertEqual([job["id"] for job in answer["items"]], [third, second, first])
        self.assertEqual((answer["matched"], answer["groups_total"], answer["next"]), (3, 2, None))
        thrown = answer["items"][1]
        self.assertEqual((thrown["cause"], thrown["cause_text"]), ("exception", "no such picture"))
        self.assertLess(thrown["failed_at"], answer["items"][0]["failed_at"])
        mail, resize = answer["groups"]
        self.assertEqual((mail["tube"], mail["cause"], mail["count"], sum(mail["per_step"])), ("mail", "buried", 2, 2))
        self.assertEqual((resize["tube"], resize["cause"], resize["count"]), ("resize", "exception", 1))
        self.assertEqual(len(mail["per_step"]), 24)

    def test_filters(self) -> None:
        mail, post = self.bury("mail", "one"), self.bury("mail.post", "two")
        picture = self.throw("resize", b"bad")
        self.assertEqual(self.ids("?tube_match=mail*"), [post, mail])
        self.assertEqual(self.ids("?tube=mail"), [mail])
        self.assertEqual(self.ids("?cause=exception"), [picture])
        self.assertEqual(self.ids("?text=two"), [post])
        self.assertEqual(self.ids("?since=1h"), [picture, post, mail])
        time.sleep(1.1)
        self.assertEqual(self.ids("?since=1s"), [])
        self.assertEqual(self.ids("?failed_within_seconds=1"), [])
        for query in ("since=x", "since=1h&failed_within_seconds=3", "cause=bad"):
            self.refused("bad-request", "GET", f"/failures?{query}")

    def test_pages_hold_every_failure_once(self) -> None:
        jobs = []
        for number in range(7):
            jobs.append(self.api.put_job(f"t{number % 3}", "x"))
            self.api.post(f"/jobs/{jobs[-1]}/bury")
        seen, path = [], "/failures?limit=3"
        while path:
            page = self.api.get(path)
            seen += [job["id"] for job in page["items"]]
            path = page["next"] and f"/failures?limit=3&cursor={page['next']}"
        self.assertEqual(seen, jobs[::-1])

    def test_only_failures_are_looked_at(self) -> None:
        for number in range(500):
            self.api.put_job("fine", str(number))
        for number in range(9):
            self.bury(f"t{number}")
        first = self.api.get("/failures?limit=2")
        self.assertEqual((first["scanned"], first["matched"]), (9, 9))
        # The groups need all failures, another page no more than it shows and whether there is another one.
        second = self.api.get(f"/failures?limit=2&cursor={first['next']}")
        self.assertEqual((second["scanned"], second["matched"]), (3, 9))
        self.assertEqual(self.api.get("/failures?since=1h")["scanned"], 9)

    def test_a_group_is_retried_by_its_filter(self) -> None:
        self.bury("mail")
        kept = self.throw("mail", b"bad")
        operation = self.api.post("/operations", {"action": "kick", "filter": {
            "tube": "mail", "state": ["buried"], "cause": ["buried"], "origin": "", "failed_within_seconds": 3600}}, 201)
        path = f"/operations/{operation['id']}"
        eventually("the count", lambda: self.api.get(path)["state"] != "counting")
        self.assertEqual(self.api.get(path)["count"], 1)
        self.api.post(f"{path}/confirm", {"count": 1}, 202)
        eventually("the kick", lambda: self.ids() == [kept])

    def test_a_dead_job_names_where_it_came_from(self) -> None:
        for key, value in (("on_failure", "move"), ("attempts", "1")):
            self.api.put(f"/tubes/mail/policy/{key}", {"value": value})
        dead = self.throw_dead("mail")
        job = self.api.get("/failures")["items"][0]
        self.assertEqual((job["id"], job["tube"], job["origin"], job["cause"]), (dead, "mail.dead", "mail", "exception"))
        group = self.api.get("/failures")["groups"][0]
        self.assertEqual((group["tube"], group["origin"]), ("mail.dead", "mail"))
        self.assertEqual(self.ids("?origin=mail"), [dead])
        self.assertEqual(self.ids("?origin=other"), [])
        self.assertIn("mail.dead", self.ctl("failures", "--origin", "mail"))
        self.assertNotIn("mail.dead", self.ctl("failures", "--origin", "other"))

    def test_a_dead_job_that_is_ready_in_its_dead_tube_has_failed(self) -> None:
        for key, value in (("on_failure", "move"), ("attempts", "1"), ("dead_state", "ready")):
            self.api.put(f"/tubes/mail/policy/{key}", {"value": value})
        dead = self.throw_dead("mail")
        job = self.api.get("/failures?since=1h")["items"][0]
        self.assertEqual((job["id"], job["state"], job["origin"]), (dead, "ready", "mail"))
        self.assertIsNotNone(job["failed_at"])

    def throw_dead(self, tube: str) -> int:
        job = self.api.put_job(tube, "x")
        self.work(tube, b"bad")
        eventually("the move", lambda: self.api.get(f"/jobs/{job}")["origin"] == tube)
        return job

    def test_gearstalkctl(self) -> None:
        self.bury("mail")
        self.throw("resize", b"no such picture")
        text = self.ctl("failures", "--since", "1h")
        for word in ("mail", "resize", "exception", "no such picture"):
            self.assertIn(word, text)
        self.assertNotIn("resize", self.ctl("failures", "--tube", "ma*"))
        document = json.loads(self.ctl("failures", "--json", "--cause", "exception"))
        self.assertEqual([job["tube"] for job in document["items"]], ["resize"])
        self.assertEqual([group["tube"] for group in document["groups"]], ["resize"])

    def test_gearstalkctl_says_what_it_leaves_out(self) -> None:
        for _ in range(3):
            self.bury("mail")
        line = [CTL, "--server", f"http://{self.broker.admin}", "failures", "--limit"]
        for limit, said in (("2", "gearstalkctl: the first 2 of 3\n"), ("3", "")):
            done = subprocess.run([*line, limit], capture_output=True, text=True, timeout=120, check=True)
            self.assertEqual(done.stderr, said)

    def test_they_outlive_a_restart(self) -> None:
        self.check_restart(self.enterContext(tempfile.TemporaryDirectory()))

    def check_restart(self, data: str) -> None:
        options = ("--console-rate", "0", "--data-dir", data)
        self.broker.stop()
        self.client.close()
        self.broker = Broker(BINARY, *options)
        self.api = Api(self.broker.admin)
        self.throw("resize", b"no such picture")
        self.bury("mail")
        before = self.api.get("/failures")
        self.broker.stop()
        self.broker = Broker(BINARY, *options)
        self.api = Api(self.broker.admin)
        self.client = Client(self.broker.port)
        after = self.api.get("/failures")
        told = ("id", "tube", "failed_at", "cause", "cause_text", "attempts")
        self.assertEqual([[job[name] for name in told] for job in after["items"]],
                         [[job[name] for name in told] for job in before["items"]])


class Attention(Failing):
    def item(self, kind: str) -> Any:
        """The item of the kind, when a survey has found it."""
        def found() -> Any:
            return next((item for item in self.api.get("/attention")["items"] if item["kind"] == kind), None)
        return eventually(kind, found)

    def test_nobody_serves_it(self) -> None:
        for number in range(3):
            self.api.put_job("alone", str(number))
        item = self.item("unserved")
        self.assertEqual((item["count"], item["jobs"], item["link"]), (1, 3, "#/tubes?only=unserved"))
        tube, = item["tubes"]
        self.assertEqual((tube["name"], tube["jobs"], tube["workers"]), ("alone", 3, 0))
        self.assertIn("3 ready jobs, no worker", tube["reason"])
        self.assertEqual([one["name"] for one in self.api.get("/tubes?only=unserved")["items"]], ["alone"])
        self.assertEqual(self.broker.metrics().get("gearstalkd_attention", kind="unserved"), 1)
        self.assertIn("! unserved: 3 ready jobs in 1 tube without a worker", self.ctl("status"))
        self.assertEqual(self.api.get("/attention?tube=alone")["items"][0]["kind"], "unserved")
        self.assertEqual(self.api.get("/attention?tube=other")["items"], [])
        # It is looked at again: a worker ends it at once.
        self.client.say("watch alone")
        self.client.say("reserve")
        self.assertEqual(self.api.get("/attention")["items"], [])

    def test_paused(self) -> None:
        self.api.put_job("mail", "x")
        self.api.post("/tubes/mail/pause", {"seconds": 600})
        self.assertIn("paused for another 10m", self.item("paused")["tubes"][0]["reason"])
        self.api.post("/tubes/mail/pause", {"seconds": 4294967295})
        self.assertIn("paused until it is resumed", self.item("paused")["tubes"][0]["reason"])
        self.api.post("/tubes/mail/resume")
        self.assertEqual([item for item in self.api.get("/attention")["items"] if item["kind"] == "paused"], [])

    def test_buried_and_draining(self) -> None:
        self.bury("mail")
        self.assertEqual(self.item("buried")["jobs"], 1)
        self.api.put("/server/draining", {"draining": True})
        self.assertEqual(self.item("draining")["count"], 1)
        self.api.put("/server/draining", {"draining": False})

    def test_a_user_of_some_tubes_sees_those_alone(self) -> None:
        self.broker.stop()
        self.client.close()
        with tempfile.TemporaryDirectory() as directory:
            token, some = user("some", "viewer", "mail*")
            all_token, every = user("all", "admin")
            file = Path(directory) / "gearstalkd.yaml"
            file.write_text("console:\n  rate: 0\n  users:\n" + "".join(f"    - {json.dumps(line)}\n" for line in (some, every)))
            self.broker = Broker(BINARY, "--config", str(file))
            self.api = Api(self.broker.admin, all_token)
            self.client = Client(self.broker.port)
            for tube in ("mail.a", "secret", "secret2"):
                self.api.put_job(tube, "x")
            self.item("unserved")
            limited = Api(self.broker.admin, token)
            item, = limited.get("/attention")["items"]
            self.assertEqual((item["count"], [tube["name"] for tube in item["tubes"]]), (1, ["mail.a"]))
            self.api.post("/jobs/1/bury")
            self.api.post("/jobs/2/bury")
            self.assertEqual([job["tube"] for job in limited.get("/failures")["items"]], ["mail.a"])


class Running(Failing):
    def test_since_when_and_by_whom(self) -> None:
        job = self.api.put_job("mail", "x", ttr_seconds=100)
        self.client.say("watch mail")
        self.client.say("reserve")
        record = self.api.get(f"/jobs/{job}")
        self.assertIsNotNone(record["reserved_at"])
        self.assertLess(record["running_seconds"], 60)
        self.assertEqual(record["holder"]["address"], "127.0.0.1")
        text = self.ctl("running")
        for word in ("SINCE", "LEFT", "ATTEMPTS", "mail", "127.0.0.1"):
            self.assertIn(word, text)
        holder = f"#{record['holder']['connection']}"
        self.assertIn(holder, text)
        self.assertIn(holder, self.ctl("jobs", "--state", "reserved"))
        self.client.say(f"release {job} 0 0")
        self.assertIsNone(self.api.get(f"/jobs/{job}")["reserved_at"])

    def test_an_operators_release_is_no_attempt(self) -> None:
        for key, value in (("attempts", "5"), ("backoff", "0")):
            self.api.put("/tubes/mail/policy/" + key, {"value": value})
        job = self.api.put_job("mail", "x", ttr_seconds=100)
        self.client.say("watch mail")
        for _ in range(2):
            self.assertEqual(int(self.client.say("reserve-with-timeout 5").split()[1]), job)
            attempt = self.ctl("running").splitlines()[1].split()[-1]
            self.api.post(f"/jobs/{job}/release")
        self.assertEqual(attempt, "1")


if __name__ == "__main__":
    unittest.main()
