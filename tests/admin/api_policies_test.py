#!/usr/bin/env python3
"""Policies, schedules, transfers and walks in the API: api_policies_test.py BROKER CTL."""

import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from urllib.parse import quote

CTL = sys.argv.pop(2) if len(sys.argv) > 2 else "build/gearstalkctl"

from api_case import BINARY, WithBroker, check
from api_client import Api, user
from broker import Broker, Client

CONFIG = """
tubes:
  - {match: mail, attempts: 2, backoff: 1h, on_failure: move, expire_after: 2h}
  - {match: "slow-*", max_running: 1}
  - {match: "rare", rate: 1/d}
schedules:
  - {name: nightly, cron: "30 2 * * *", tube: reports, body: "{name}"}
  - {name: yearly, cron: "@yearly", tube: mail, overlap: allow}
"""


class WithPolicies(WithBroker):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="api-")))
        (self.folder / "config.yaml").write_text(CONFIG)
        self.broker = Broker(BINARY, "--config", str(self.folder / "config.yaml"),
                             "--console-rate", "0", "--data-dir", str(self.folder / "data"))
        self.api = Api(self.broker.admin)
        self.client = Client(self.broker.port)

    def ctl(self, *words: str) -> Any:
        done = subprocess.run([CTL, "--server", f"http://{self.broker.admin}", "--json", *words],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)


class Policies(WithPolicies):
    def item(self, tube: str, key: str) -> Any:
        return next(item for item in self.api.get(f"/tubes/{tube}/policy")["items"]
                    if item["key"] == key)

    def test_what_holds_and_who_said_so(self) -> None:
        self.assertEqual(self.item("mail", "attempts"),
                         {"key": "attempts", "value": "2", "source": "mail"})
        self.assertEqual(self.item("mail", "weight"),
                         {"key": "weight", "value": "1", "source": "default"})
        line = [each.split("\t") for each in self.client.admin("policy mail", table=True)[:-1]]
        self.assertEqual(line, [list(item.values())
                                for item in self.api.get("/tubes/mail/policy")["items"]])

    def test_set_and_taken_back(self) -> None:
        answer = self.api.ask("PUT", "/tubes/a%2Fb/policy/backoff", {"value": "10s..3600"})
        self.assertEqual((answer.status, answer.json),
                         (200, {"key": "backoff", "value": "10s..1h", "source": "admin"}))
        self.assertEqual(self.api.ask("PUT", "/tubes/a%2Fb/policy/attempts", {"value": 7}).json["value"],
                         "7")
        self.assertEqual(self.api.ask("DELETE", "/tubes/a%2Fb/policy/backoff").json,
                         {"key": "backoff", "value": "0", "source": "default"})
        self.assertEqual(self.ctl("policy", "mail", "attempts", "9")["value"], "9")
        self.assertEqual(self.ctl("policy", "mail", "attempts")["items"][0]["source"], "admin")
        self.assertEqual(self.ctl("policy", "mail", "attempts", "default")["source"], "mail")
        problem = self.refused("bad-request", "PUT", "/tubes/mail/policy/attempts", {"value": "many"})
        self.assertEqual(problem["field"], "value")
        self.refused("bad-request", "PUT", "/tubes/mail/policy/attempts", {})
        self.refused("bad-request", "PUT", "/tubes/mail/policy/attempts", {"value": True})
        self.refused("bad-request", "PUT", "/tubes/mail/policy/attempts", {"value": "1", "x": 1})
        self.refused("bad-request", "PUT", "/tubes/$reply%2F1/policy/attempts", {"value": "1"})
        for method, body in (("PUT", {"value": "1"}), ("DELETE", None)):
            self.refused("not-found", method, "/tubes/mail/policy/none", body)
        answer = self.api.ask("POST", "/tubes/mail/policy/attempts", {"value": "1"})
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "PUT, DELETE"))

    def test_a_job_with_a_past(self) -> None:
        job = self.api.put_job("mail")
        self.assertEqual(self.api.get(f"/jobs/{job}")["on_failure"], "move")
        fields = ("attempts", "max_attempts", "cause", "cause_text", "origin")
        past = lambda: [self.api.get(f"/jobs/{job}")[field] for field in fields]
        self.assertEqual(past(), [0, 2, None, None, None])
        self.assertTrue(7000 < self.api.get(f"/jobs/{job}")["expires_in_seconds"] <= 7200)
        self.client.packet(1, b"mail")
        handle = self.client.ask(9)[1][0]
        self.client.packet(25, handle, b"out of paper")
        self.client.ask(16, b"x")
        self.assertEqual(past(), [1, 2, "exception", "out of paper", None])
        tube = self.api.get("/tubes/mail")
        self.assertEqual((tube["retrying"], tube["counters"]["retried_total"]), (1, 1))
        self.assertEqual(self.api.post(f"/jobs/{job}/kick")["attempts"], 1)
        handle = self.client.ask(9)[1][0]
        self.client.packet(14, handle)
        self.client.ask(16, b"x")
        self.assertEqual(past(), [2, None, "failed", None, "mail"])
        shown = self.api.get(f"/jobs/{job}")
        self.assertEqual((shown["tube"], shown["state"], shown["expires_in_seconds"], shown["on_failure"]),
                         ("mail.dead", "buried", None, "bury"))
        self.assertEqual(self.api.get("/tubes/mail")["counters"]["dead_total"], 1)
        self.assertEqual(self.api.get("/server")["counters"]["dead_total"], 1)
        home = self.api.post(f"/jobs/{job}/kick")
        self.assertEqual((home["tube"], home["state"], home["attempts"], home["cause"], home["origin"]),
                         ("mail", "ready", 0, None, None))
        plain = self.api.get(f"/jobs/{self.api.put_job('plain')}")
        self.assertEqual([plain[field] for field in (*fields, "expires_in_seconds")], [None] * 6)

    def test_a_tubes_own_largest_body(self) -> None:
        self.api.ask("PUT", "/tubes/small/policy/max_job_size", {"value": "3"})
        self.api.put_job("small", "123")
        self.assertEqual(self.refused("too-large", "POST", "/tubes/small/jobs", {"body": "1234"})["field"],
                         "body")

    def test_a_key_that_outlives_its_job(self) -> None:
        for key, value in (("unique", "body"), ("unique_for", "1h")):
            self.api.ask("PUT", f"/tubes/once/policy/{key}", {"value": value})
        job = self.api.put_job("once", unique="k")
        self.client.say("watch once")
        self.assertTrue(self.client.say("reserve").startswith(f"RESERVED {job} "))
        self.assertEqual(self.client.say(f"delete {job}"), "DELETED")
        problem = self.refused("in-use", "POST", "/tubes/once/jobs", {"body": "x", "unique": "k"})
        self.assertIn(f"job {job},", problem["detail"])

    def test_held_back(self) -> None:
        self.assertIsNone(self.api.get(f"/tubes/default")["held_back"])
        for tube, why in (("slow-x", "running"), ("rare", "rate")):
            self.api.put_job(tube)
            self.api.put_job(tube)
            self.client.say(f"watch {tube}")
            self.assertTrue(self.client.say("reserve-with-timeout 0").startswith("RESERVED"))
            self.assertEqual(self.api.get(f"/tubes/{tube}")["held_back"], why)
            self.assertEqual(self.client.yaml(f"stats-tube {tube}")["held-back"], why)

    def test_an_event_tells_that_a_tube_is_held_back_no_more(self) -> None:
        self.api.put_job("rare")
        self.api.put_job("rare")
        self.client.say("watch rare")
        self.assertTrue(self.client.say("reserve-with-timeout 0").startswith("RESERVED"))
        connection = self.api.connection()
        connection.request("GET", "/api/v1/events?topics=tube&tubes=rare")
        answer = connection.getresponse()

        def told(held_back: str | None) -> None:
            while True:
                line = answer.readline().decode()
                self.assertTrue(line)
                if line.startswith("data: ") and json.loads(line.removeprefix("data: ")).get("held_back") == held_back:
                    return

        told("rate")
        self.api.put("/tubes/rare/policy/rate", {"value": "0"})
        told(None)
        connection.close()


class Schedules(WithPolicies):
    def test_listed(self) -> None:
        nightly, yearly = self.api.get("/schedules")["items"]
        self.assertEqual({**nightly, "next_at": None}, {
            "name": "nightly", "tube": "reports", "cron": "30 2 * * *", "every_seconds": None,
            "time_zone": "UTC", "next_at": None, "last_at": None, "runs": 0,
            "skipped": 0, "missed": 0, "enabled": True})
        self.assertRegex(nightly["next_at"], r"^20\d\d-\d\d-\d\dT02:30:00.000Z$")
        self.assertEqual([each["name"] for each in self.api.pages("/schedules?limit=1")],
                         ["nightly", "yearly"])
        self.assertEqual(yearly["tube"], "mail")
        self.assertEqual(self.ctl("schedules")["items"], [nightly, yearly])
        self.refused("bad-request", "GET", "/schedules?cursor=AAAA")
        self.refused("bad-request", "GET", "/schedules?x=1")

    def test_run_and_switched(self) -> None:
        answer = self.api.ask("POST", "/schedules/nightly/run", {})
        self.assertEqual((answer.status, answer.json["tube"]), (201, "reports"))
        self.assertEqual(answer.headers["Location"], f"/api/v1/jobs/{answer.json['id']}")
        body = self.api.ask("GET", f"/jobs/{answer.json['id']}/body").body
        self.assertEqual(body, b"nightly")
        self.refused("in-use", "POST", "/schedules/nightly/run", {})
        for _ in range(2):
            self.api.post("/schedules/yearly/run", {}, 201)
        answer = self.api.ask("PUT", "/schedules/yearly/enabled", {"enabled": False})
        self.assertEqual((answer.json["enabled"], answer.json["next_at"], answer.json["runs"]),
                         (False, None, 2))
        self.assertTrue(self.ctl("schedule", "yearly", "on")["enabled"])
        self.api.ask("PUT", "/server/draining", {"draining": True})
        self.refused("draining", "POST", "/schedules/yearly/run", {})
        for method, path, body in (("POST", "/schedules/none/run", {}),
                                   ("PUT", "/schedules/none/enabled", {"enabled": True})):
            self.refused("not-found", method, path, body)
        self.refused("bad-request", "PUT", "/schedules/yearly/enabled", {})
        self.refused("bad-request", "POST", "/schedules/yearly/run", {"x": 1})
        acts = [(act["action"], act["tube"], act["filter"], act["result"])
                for act in reversed(self.api.get("/audit")["items"])]
        self.assertEqual(acts[:2], [
            ("schedule.run", "reports", {"schedule": "nightly"}, "ok"),
            ("schedule.run", "reports", {"schedule": "nightly"}, "in-use")])

    def test_openapi_describes_them(self) -> None:
        document = self.api.get("/openapi.json")
        for path, concrete in (("/schedules", "/schedules"), ("/transfers", "/transfers"),
                               ("/tubes/{tube}/policy", "/tubes/mail/policy")):
            content = document["paths"][path]["get"]["responses"]["200"]["content"]
            check(self, document, content["application/json"]["schema"], self.api.get(concrete))


class Transfers(WithPolicies):
    def imported(self, jobs: int, name: str) -> None:
        rows = [{"gearstalk_jobs": 1, "made_ns": 1}]
        rows += [{"job": i, "tube": "in", "state": "ready", "priority": 1, "ttr_s": 60,
                  "created_ns": 1, "body": "x"} for i in range(1, jobs + 1)]
        rows += [{"end": {"jobs": jobs, "next_id": jobs + 1}}]
        file = self.folder / "jobs"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        subprocess.run([CTL, "import", f"jobs:{file}", "--to", f"127.0.0.1:{self.broker.port}",
                        "--source", name], check=True, capture_output=True)

    def test_listed_and_forgotten(self) -> None:
        self.assertEqual(self.api.get("/transfers")["items"], [])
        self.assertEqual(self.api.get("/server")["held_jobs"], 0)
        for name in ("jobs:/a/b", "other"):
            self.imported(3, name)
        first, second = self.api.pages("/transfers?limit=1")
        self.assertEqual({**first, "kind": None}, {
            "name": "jobs:/a/b", "ref": first["ref"], "kind": None, "ids": "keep", "finished": True,
            "settled": 3, "moved": 3, "joined": 0, "refused": 0, "altered": 0, "uncertain": 0,
            "held": 0})
        self.assertEqual(second["ids"], "new")
        self.refused("bad-request", "DELETE", "/transfers/other?held=keep")
        self.assertEqual(self.api.ask("DELETE", f"/transfers/{first['ref']}").status, 204)
        self.assertEqual(self.api.ask("DELETE", "/transfers/other?held=drop").status, 204)
        self.refused("not-found", "DELETE", "/transfers/other")
        self.assertEqual(self.api.get("/transfers")["items"], [])
        acts = [(act["action"], act["filter"], act["result"])
                for act in reversed(self.api.get("/audit")["items"])]
        self.assertEqual(acts[1], ("transfer.delete", {"transfer": "jobs:/a/b"}, "ok"))


class WhoMay(unittest.TestCase):
    def test_rights_on_tubes_hold(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="api-")))
        (folder / "config.yaml").write_text(CONFIG)
        people = {name: user(name, role, tubes) for name, role, tubes in (
            ("vera", "viewer", ""), ("otto", "operator", ""), ("anna", "admin", ""),
            ("mail", "admin", "mail*"))}
        broker = Broker(BINARY, "--config", str(folder / "config.yaml"),
                        *[word for _, line in people.values() for word in ("--console-users", line)])
        self.addCleanup(lambda: self.assertEqual(broker.stop(), 0))
        apis = {name: Api(broker.admin, token) for name, (token, _) in people.items()}
        rows = (("GET", "/tubes/t/policy", None, 1), ("GET", "/schedules", None, 1),
                ("GET", "/transfers", None, 1), ("POST", "/schedules/yearly/run", {}, 2),
                ("PUT", "/tubes/t/policy/ttr", {"value": "5"}, 3),
                ("DELETE", "/tubes/t/policy/ttr", None, 3),
                ("PUT", "/schedules/yearly/enabled", {"enabled": True}, 3),
                ("DELETE", "/transfers/x", None, 3), ("POST", "/server/step-down", {}, 3))
        for method, path, body, least in rows:
            for rank, name in ((1, "vera"), (2, "otto"), (3, "anna")):
                with self.subTest(f"{name} {method} {path}"):
                    answer = apis[name].ask(method, path, body)
                    if rank < least:
                        self.assertEqual(answer.code, "forbidden")
                    elif path in ("/transfers/x", "/server/step-down"):
                        self.assertEqual(answer.code, "not-found")
                    else:
                        self.assertLess(answer.status, 300, answer)
        mine = apis["mail"]
        self.assertEqual([each["name"] for each in mine.get("/schedules")["items"]], ["yearly"])
        for method, path, body, code in (
                ("GET", "/tubes/t/policy", None, "not-found"),
                ("PUT", "/tubes/t/policy/ttr", {"value": "5"}, "not-found"),
                ("POST", "/schedules/nightly/run", {}, "not-found"),
                ("PUT", "/schedules/nightly/enabled", {"enabled": False}, "not-found"),
                ("GET", "/transfers", None, "forbidden")):
            self.assertEqual(mine.ask(method, path, body).code, code, path)


class Walks(WithBroker):
    def test_a_sort_that_changes_shows_each_tube_once(self) -> None:
        draw = random.Random(7)
        names = [f"t{i}" for i in range(60)]
        jobs = {name: [self.api.put_job(name) for _ in range(i % 7 + 1)]
                for i, name in enumerate(names)}
        for order in ("asc", "desc"):
            seen: list[str] = []
            cursor = ""
            while cursor is not None:
                page = self.api.get(f"/tubes?sort=ready&order={order}&limit=7{cursor}")
                seen += [tube["name"] for tube in page["items"]]
                cursor = page["next"] and f"&cursor={page['next']}"
                for name in draw.sample(names, 30):
                    if draw.random() < 0.5 and len(jobs[name]) > 1:
                        self.api.ask("DELETE", f"/jobs/{jobs[name].pop()}")
                    else:
                        jobs[name].append(self.api.put_job(name))
            self.assertEqual(len(seen), len(set(seen)))
            self.assertEqual(set(names) - set(seen), set())

    def test_more_tubes_than_a_cursor_can_name(self) -> None:
        self.client.send(b"".join(b"use far%d\r\nput 1 0 60 1\r\nx\r\n" % i for i in range(300)))
        for _ in range(600):
            self.client.line()
        names = []
        for i in range(9000):
            name = base64.b32encode(i.to_bytes(2, "big")).decode().rstrip("=")
            names.append(name)
        self.client.send(b"".join(
            b"use %s\r\nput 1 0 60 1\r\nx\r\n" % name.encode() +
            b"".join(b"use gap%d-%d\r\n" % (i, gap) for gap in range(8))
            for i, name in enumerate(names)))
        for _ in range(9000 * 10):
            self.client.line()
        seen = [tube["name"] for tube in self.api.pages("/tubes?sort=ready&only=jobs&limit=500")]
        self.assertEqual(len(seen), 9300)
        self.assertEqual(len(set(seen)), 9300)

    def test_json_in_large_bodies(self) -> None:
        broker = Broker(BINARY, "--console-rate", "0", "--max-job-size", str(4 << 20))
        self.addCleanup(lambda: self.assertEqual(broker.stop(), 0))
        api = Api(broker.admin)
        client = Client(broker.port)
        filler = ["x" * 100] * 9000
        bodies = [{"list": filler, "n": 1}, {"list": [*filler, "needle"], "n": 2},
                  {"text": "y" * 900_000 + "needle", "n": 3}, {"n": 4, "list": list(range(100_000))},
                  {"n": 5, "big": "z" * (1 << 20)}]
        for body in bodies:
            client.put(json.dumps(body))
        client.put(json.dumps(bodies[0])[:-1])
        client.put('{"n":6,"n":7}')
        ids = lambda query: [job["id"] for job in api.pages(f"/jobs?{query}")]
        self.assertEqual(ids("json_path=$.list&json_op=contains&json_value=needle"), [2])
        self.assertEqual(ids("json_path=$.text&json_op=contains&json_value=needle"), [3])
        self.assertEqual(ids("json_path=$.list&json_op=contains&json_value=99999"), [4])
        self.assertEqual(ids("json_path=$.list&json_op=contains&json_value=100000"), [])
        self.assertEqual(ids("json_path=$.n&json_op=gt&json_value=1"), [2, 3, 4, 7])
        self.assertEqual(ids("json_path=$.n&json_value=6"), [])
        self.assertEqual(ids("json_path=$.list[9000]"), [2, 4])
        self.assertEqual(ids("json_path=$.list&json_op=ne&json_value=[]"), [1, 2, 4])
        self.assertEqual(ids("json_path=$.list&json_value=" + quote('["x"]')), [])
        self.assertEqual(ids("text=needle&json_path=$.n"), [2, 3])
        shown = api.get("/jobs?tube=default&state=ready&order=next&text=needle")["items"]
        self.assertEqual([job["id"] for job in shown], [2, 3])
        answer = api.ask("GET", "/jobs?json_path=$&json_value=" + "9" * 4097)
        self.assertEqual(answer.code, "bad-request")
        client.close()

    def test_what_stays_is_listed_once_while_much_changes(self) -> None:
        writer = Client(self.broker.port)
        kept = [self.client.put("stays") for _ in range(2000)]
        done = False
        pid = os.fork()
        if pid == 0:
            try:
                while True:
                    writer.send(b"put 1 0 60 1\r\nx\r\n" * 50)
                    ids = [int(writer.line().split()[1]) for _ in range(50)]
                    writer.send(b"".join(b"delete %d\r\n" % each for each in ids))
                    for _ in ids:
                        writer.line()
            finally:
                os._exit(0)
        try:
            for query in ("?limit=50", "?tube=default&state=ready&limit=70"):
                seen = [job["id"] for job in self.api.pages(f"/jobs{query}")]
                self.assertEqual(len(seen), len(set(seen)))
                self.assertEqual(set(kept) - set(seen), set())
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            writer.close()


if __name__ == "__main__":
    unittest.main()
