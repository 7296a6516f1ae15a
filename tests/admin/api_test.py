#!/usr/bin/env python3
"""The API of the real broker: api_test.py BROKER."""

import base64
import json
import re
import socket
import tempfile
import threading
import time
import unittest
from typing import Any
from urllib.parse import quote

from api_case import BINARY, WithBroker, check, check_recorded
from api_client import Api, user
from broker import SECONDS, Broker, Client, eventually


class About(WithBroker):
    def test_the_index_names_all_paths(self) -> None:
        for path in ("", "/"):
            index = self.api.get(path)
            self.assertEqual(index["api"], 1)
            self.assertIn("/tubes/{tube}/jobs", index["paths"])

    def test_every_answer_says_how_to_treat_it(self) -> None:
        for path in ("/", "/nothing", "/server", "/tubes"):
            answer = self.api.ask("GET", path)
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
            self.assertTrue(answer.headers["X-Request-Id"])
            self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    def test_openapi_describes_every_answer(self) -> None:
        document = self.api.get("/openapi.json")
        self.assertTrue(document["openapi"].startswith("3.0"))
        self.api.put_job("t", "x")
        for path, concrete in (("/", "/"), ("/session", "/session"), ("/server", "/server"),
                               ("/tubes", "/tubes"), ("/tubes/{tube}", "/tubes/t"),
                               ("/tubes/{tube}/jobs", "/tubes/t/jobs"), ("/jobs", "/jobs"),
                               ("/jobs/{id}", "/jobs/1"), ("/jobs/{id}/body/view", "/jobs/1/body/view"),
                               ("/operations", "/operations"), ("/connections", "/connections"),
                               ("/history", "/history"), ("/audit", "/audit")):
            with self.subTest(path):
                content = document["paths"][path]["get"]["responses"]["200"]["content"]
                check(self, document, content["application/json"]["schema"], self.api.get(concrete))

    def test_methods_and_paths(self) -> None:
        self.refused("not-found", "GET", "/nothing")
        self.refused("not-found", "GET", "/jobs/1/nothing")
        self.refused("not-found", "GET", "/jobs/x")
        answer = self.api.ask("PATCH", "/tubes/default")
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD, DELETE"))
        self.assertEqual(self.api.ask("HEAD", "/server").body, b"")
        self.assertEqual(self.api.ask("HEAD", "/server").status, 200)
        self.assertEqual(self.refused("bad-request", "GET", "/server?x=1")["field"], "x")
        self.refused("bad-request", "POST", "/tubes", b"[]")
        self.refused("bad-request", "POST", "/tubes", b"{")
        self.assertEqual(self.refused("bad-request", "POST", "/tubes", {"name": "a", "b": 1})["field"],
                         "b")

    def test_every_page_names_its_request(self) -> None:
        for path in ("/", "/console", "/console/", "/console/nothing", "/nothing", "/healthz",
                     "/api/v1/nothing", "/api/v1/tubes"):
            for method in ("GET", "HEAD", "PUT"):
                answer = self.api.ask(method, path, prefix="")
                self.assertEqual(len(answer.headers.get_all("X-Request-Id", [])), 1, path)

    def test_the_front_page_leads_to_the_console(self) -> None:
        answer = self.api.ask("GET", "/", prefix="")
        self.assertEqual((answer.status, answer.headers["Location"]), (302, "console/"))


class Tubes(WithBroker):
    def test_a_tube_in_numbers(self) -> None:
        self.client.say("use mail")
        for _ in range(3):
            self.client.put("x")
        self.client.put("x", delay=100)
        self.client.say("watch mail")
        self.client.say("reserve")
        tube = self.api.get("/tubes/mail")
        self.assertEqual(tube["jobs"], {"ready": 2, "reserved": 1, "delayed": 1, "buried": 0,
                                        "urgent": 2})
        stats = self.client.yaml("stats-tube mail")
        metrics = self.broker.metrics("?tubes=all")
        for state in ("ready", "reserved", "delayed", "buried"):
            self.assertEqual(tube["jobs"][state], int(stats[f"current-jobs-{state}"]))
            self.assertEqual(tube["jobs"][state],
                             metrics.get("gearstalkd_tube_jobs", tube="mail", state=state))
        for counter, count in tube["counters"].items():
            self.assertEqual(count, metrics.get(f"gearstalkd_tube_jobs_{counter}", tube="mail"))
        self.assertEqual((tube["using"], tube["watching"], tube["workers"]), (1, 1, 1))
        server = self.api.get("/server")
        self.assertEqual(server["jobs"]["ready"], 2)
        self.assertEqual(server["counters"]["put_total"], 4)

    def test_names_of_all_kinds(self) -> None:
        for name in (b"plain", "größe".encode(), b"a/b", b"100%", b"~x", b"back\\slash", b"<b>&\"'",
                     b"\xff\x00\n", "\u202eright".encode(), b".", b".."):
            with self.subTest(name):
                encoded = base64.b64encode(name).decode()
                tube = self.api.post("/tubes", {"name_base64": encoded}, 201)
                self.assertEqual(tube["name"], name.decode(errors="replace"))
                self.assertEqual(self.api.get(f"/tubes/{tube['ref']}")["id"], tube["id"])
                other = "~" + base64.urlsafe_b64encode(name).decode().rstrip("=")
                self.assertEqual(self.api.get(f"/tubes/{other}")["id"], tube["id"])
                self.assertIn(tube["id"], [each["id"] for each in self.api.pages("/tubes?limit=2")])
                self.assertEqual(self.api.ask("DELETE", f"/tubes/{tube['ref']}").status, 204)
                self.refused("not-found", "GET", f"/tubes/{tube['ref']}")

    def test_made_and_dropped(self) -> None:
        self.api.post("/tubes", {"name": "f"}, 201)
        self.assertTrue(self.api.post("/tubes", {"name": "f"}, 200)["created_function"])
        self.api.put_job("f")
        self.refused("in-use", "DELETE", "/tubes/f")
        self.assertEqual(self.api.ask("DELETE", "/jobs/1").status, 204)
        self.assertEqual(self.api.ask("DELETE", "/tubes/f").status, 204)
        self.refused("not-found", "DELETE", "/tubes/f")
        self.refused("bad-request", "POST", "/tubes", {"name": "$reply/1"})
        self.refused("bad-request", "POST", "/tubes", {})

    def test_paused_and_resumed(self) -> None:
        self.api.put_job("t")
        tube = self.api.post("/tubes/t/pause", {"seconds": 100})
        self.assertTrue(tube["paused"])
        self.assertEqual((tube["pause_seconds"], tube["pauses_total"]), (100, 1))
        self.client.say("watch t")
        self.assertEqual(self.client.say("reserve-with-timeout 0"), "TIMED_OUT")
        self.assertFalse(self.api.post("/tubes/t/resume")["paused"])
        self.assertTrue(self.client.say("reserve-with-timeout 0").startswith("RESERVED"))
        for seconds in (0, -1, 2**32, "1", None):
            self.refused("bad-request", "POST", "/tubes/t/pause", {"seconds": seconds})
        self.refused("not-found", "POST", "/tubes/none/pause", {"seconds": 1})

    def test_maxqueue(self) -> None:
        tube = self.api.ask("PUT", "/tubes/t/maxqueue", {"all": 1}).json
        self.assertEqual(tube["maxqueue"], {"high": 1, "normal": 1, "low": 1, "source": "admin"})
        self.api.put_job("t")
        self.refused("maxqueue", "POST", "/tubes/t/jobs", {"body": "x"})
        tube = self.api.ask("PUT", "/tubes/t/maxqueue", {"high": 1, "normal": 2, "low": 3}).json
        self.assertEqual(tube["maxqueue"]["low"], 3)
        tube = self.api.ask("DELETE", "/tubes/t/maxqueue").json
        self.assertEqual(tube["maxqueue"], {"high": 0, "normal": 0, "low": 0, "source": "none"})
        self.refused("bad-request", "PUT", "/tubes/t/maxqueue", {"high": 1})

    def test_kicked(self) -> None:
        for _ in range(600):
            self.api.put_job("t", delay_seconds=100)
        self.assertEqual(self.api.post("/tubes/t/kick", {"count": 10}),
                         {"kicked": 10, "state": "delayed"})
        self.assertEqual(self.api.post("/tubes/t/kick", {"count": 9, "state": "buried"}),
                         {"kicked": 0, "state": "buried"})
        self.assertEqual(self.api.post("/tubes/t/kick", {"count": 1000000, "state": "delayed"}),
                         {"kicked": 590, "state": "delayed"})

    def test_lists(self) -> None:
        for i, name in enumerate(("b", "d", "a", "c")):
            for _ in range(i + 1):
                self.api.put_job(name)
        names = lambda query: [tube["name"] for tube in self.api.pages(f"/tubes{query}")]
        self.assertEqual(names("?sort=name"), ["a", "b", "c", "d", "default"])
        self.assertEqual(names("?sort=name&order=desc&limit=2"), ["default", "d", "c", "b", "a"])
        self.assertEqual(names("?sort=ready&limit=2"), ["c", "a", "d", "b", "default"])
        self.assertEqual(names("?sort=ready&order=asc&limit=1"), ["default", "b", "d", "a", "c"])
        self.assertEqual(names("?limit=1"), ["default", "b", "d", "a", "c"])
        self.assertEqual(names("?sort=oldest&limit=3"), ["b", "d", "a", "c", "default"])
        self.assertEqual(names("?match=%5Bab%5D&sort=name"), ["a", "b"])
        self.assertEqual(names("?only=idle"), ["default"])
        self.assertEqual(names("?only=jobs&sort=name"), ["a", "b", "c", "d"])
        self.assertEqual(names("?only=buried") + names("?only=paused"), [])
        self.assertEqual(self.api.get("/tubes?limit=1")["total"], 5)
        cursor = self.api.get("/tubes?limit=1")["next"]
        self.refused("bad-request", "GET", f"/tubes?sort=name&cursor={cursor}")
        for bad in ("limit=0", "limit=501", "sort=x", "order=up", "only=all", "cursor=AAAA",
                    "cursor=%00", "limit=1&limit=2"):
            self.refused("bad-request", "GET", f"/tubes?{bad}")


class Jobs(WithBroker):
    def state(self, job: int) -> str:
        return self.api.get(f"/jobs/{job}")["state"]

    def test_put_and_read(self) -> None:
        answer = self.api.ask("POST", "/tubes/t/jobs", {"body": "héllo", "priority": 5,
                                                        "ttr_seconds": 9, "unique": "k"})
        self.assertEqual(answer.status, 201)
        self.assertEqual(answer.headers["Location"], f"/api/v1/jobs/{answer.json['id']}")
        job = answer.json
        self.assertEqual((job["tube"], job["state"], job["priority"], job["class"]),
                         ("t", "ready", 5, "high"))
        self.assertEqual((job["size_bytes"], job["ttr_seconds"], job["unique"], job["on_failure"]),
                         (6, 9, "k", "bury"))
        again = self.api.ask("POST", "/tubes/t/jobs", {"body": "other", "unique": "k"})
        self.assertEqual((again.status, again.json["id"]), (200, job["id"]))
        self.assertEqual(self.api.ask("GET", f"/jobs/{job['id']}/body").body, "héllo".encode())
        raw = bytes(range(256))
        job = self.api.post("/tubes/t/jobs", {"body_base64": base64.b64encode(raw).decode()}, 201)
        answer = self.api.ask("GET", f"/jobs/{job['id']}/body")
        self.assertEqual(answer.body, raw)
        self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")
        self.assertEqual(answer.headers["Content-Security-Policy"], "sandbox")
        self.client.say("watch t")
        self.assertTrue(self.client.say("reserve").startswith("RESERVED"))
        for bad in ({}, {"body": 1}, {"body": "a", "body_base64": "YQ=="}, {"body_base64": "*"},
                    {"body": "a", "ttr_seconds": -1}, {"body": "a", "unique": "x" * 65},
                    {"body": "a", "unique": "a\0b"}):
            self.refused("bad-request", "POST", "/tubes/t/jobs", bad)
        # As for beanstalk's clients.
        job = self.api.post("/tubes/t/jobs", {"body": "a", "ttr_seconds": 0}, 201)
        self.assertEqual(job["ttr_seconds"], 1)
        copy = self.api.post(f"/jobs/{job['id']}/copy", {"ttr_seconds": 0}, 201)
        self.assertEqual(copy["ttr_seconds"], 1)
        self.refused("too-large", "POST", "/tubes/t/jobs", {"body": "x" * (1 << 20) + "x"})

    def test_acts(self) -> None:
        job = self.api.put_job("t")
        self.assertEqual(self.refused("job-state", "POST", f"/jobs/{job}/kick")["state"], "ready")
        self.refused("job-state", "POST", f"/jobs/{job}/release")
        self.assertEqual(self.api.post(f"/jobs/{job}/bury", {"priority": 3})["priority"], 3)
        self.refused("job-state", "POST", f"/jobs/{job}/bury")
        self.assertEqual(self.api.post(f"/jobs/{job}/move", {"to": "u"})["tube"], "u")
        self.assertEqual(self.state(job), "buried")
        self.assertEqual(self.api.post(f"/jobs/{job}/kick")["state"], "ready")
        copy = self.api.post(f"/jobs/{job}/copy", {"to": "v", "delay_seconds": 50}, 201)
        self.assertEqual((copy["tube"], copy["state"]), ("v", "delayed"))
        self.assertTrue(49 < copy["due_in_seconds"] <= 50)
        self.assertEqual(self.api.post(f"/jobs/{job}/copy", status=201)["tube"], "u")
        self.assertEqual(self.api.ask("DELETE", f"/jobs/{job}").status, 204)
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/kick"), ("POST", "/bury"),
                             ("POST", "/release"), ("POST", "/copy"), ("GET", "/body")):
            self.refused("not-found", method, f"/jobs/{job}{path}")
        self.refused("not-found", "POST", f"/jobs/{job}/move", {"to": "t"})

    def test_a_held_job(self) -> None:
        job = self.api.put_job("t", ttr_seconds=3600)
        self.client.say("watch t")
        self.client.say("reserve")
        shown = self.api.get(f"/jobs/{job}")
        self.assertEqual((shown["state"], shown["reserves"]), ("reserved", 1))
        self.assertEqual(shown["holder"]["address"], "127.0.0.1")
        self.assertTrue(3000 < shown["ttr_left_seconds"] <= 3600)
        connection = shown["holder"]["connection"]
        self.assertEqual(self.api.get(f"/connections/{connection}")["holds"], 1)
        self.refused("job-reserved", "DELETE", f"/jobs/{job}")
        self.refused("job-reserved", "POST", f"/jobs/{job}/bury")
        self.refused("job-reserved", "POST", f"/jobs/{job}/move", {"to": "u"})
        self.assertEqual(self.api.post(f"/jobs/{job}/release")["state"], "ready")
        self.assertEqual(self.client.say(f"touch {job}"), "NOT_FOUND")
        self.client.say("reserve")
        self.assertEqual(self.api.post(f"/jobs/{job}/bury", {"force": True})["state"], "buried")
        self.assertEqual(self.client.say(f"release {job} 0 0"), "NOT_FOUND")
        self.client.say(f"kick-job {job}")
        self.client.say("reserve")
        self.assertEqual(self.api.ask("DELETE", f"/jobs/{job}?force=true").status, 204)
        self.assertEqual(self.client.say(f"delete {job}"), "NOT_FOUND")

    def test_views(self) -> None:
        view = lambda body, query="": self.api.get(
            f"/jobs/{self.api.put_job('t', body)}/body/view{query}")
        self.assertEqual(view('{"a":[1,2]}')["value"], {"a": [1, 2]})
        self.assertEqual(view('{"a":[1,2]}')["detected"], "json")
        php = view('a:1:{s:1:"k";O:3:"Foo":1:{s:1:"x";i:5;}}')
        self.assertEqual((php["detected"], php["value"]),
                         ("php", {"k": {"__class": "Foo", "x": 5}}))
        self.assertEqual(view("hello")["text"], "hello")
        self.assertEqual(view("hello", "?as=hex")["value"], "68656c6c6f")
        encoded = view(base64.b64encode(b'{"long":"enough"}').decode())
        self.assertEqual((encoded["detected"], encoded["value"]), ("base64", {"long": "enough"}))
        wrong = view("{", "?as=json")
        self.assertIsNone(wrong["value"])
        self.assertTrue(wrong["error"])
        part = view("0123456789", "?as=text&offset=2&limit=3")
        self.assertEqual((part["text"], part["shown_bytes"], part["truncated"]), ("234", 3, True))
        self.assertEqual(view("18446744073709551615")["value"], "18446744073709551615")
        self.refused("bad-request", "GET", "/jobs/1/body/view?as=exe")

    def test_filters(self) -> None:
        for i in range(20):
            self.api.put_job("t" if i % 2 else "u", json.dumps({"n": i, "s": {"w": ["a", f"x{i}"]}}),
                             priority=i, delay_seconds=100 if i >= 15 else 0)
        ids = lambda query: [job["id"] for job in self.api.pages(f"/jobs?{query}")]
        self.assertEqual(ids("limit=7"), list(range(1, 21)))
        self.assertEqual(ids("tube=t&limit=3"), list(range(2, 21, 2)))
        self.assertEqual(ids("tube_match=%5Bu%5D"), list(range(1, 21, 2)))
        self.assertEqual(ids("state=delayed"), [16, 17, 18, 19, 20])
        self.assertEqual(ids("state=ready,delayed&id_from=14&id_to=17"), [14, 15, 16, 17])
        self.assertEqual(ids("min_priority=3&max_priority=5"), [4, 5, 6])
        self.assertEqual(ids("text=" + quote('"x7"')), [8])
        self.assertEqual(ids("json_path=$.n&json_value=4"), [5])
        self.assertEqual(ids("json_path=$.n&json_value=17&json_op=gt"), [19, 20])
        self.assertEqual(ids("json_path=$.s.w[1]&json_value=x3"), [4])
        self.assertEqual(ids("json_path=$.s.w&json_value=x3&json_op=contains"), [4])
        self.assertEqual(ids("json_path=$.nothing"), [])
        self.assertEqual(ids("min_age_seconds=1000"), [])
        page = self.api.get("/jobs?tube=t&state=ready&limit=2")
        self.assertEqual((page["count"], page["matched"], page["complete"]), (7, 2, True))
        self.assertIsNone(self.api.get("/jobs?min_priority=1")["count"])
        page = self.api.get("/jobs?text=nothing&max_scan=5")
        self.assertEqual((page["items"], page["complete"], page["scanned"]), ([], False, 5))
        self.assertEqual(self.api.get("/jobs?preview=1&limit=1")["items"][0]["preview"],
                         '{"n": 0, "s": {"w": ["a", "x0"]}}')
        next_ = self.api.get("/jobs?tube=u&state=ready&order=next&limit=3")["items"]
        self.assertEqual([job["id"] for job in next_], [1, 3, 5])
        next_ = self.api.get("/tubes/t/jobs?state=delayed&order=next")["items"]
        self.assertEqual([job["id"] for job in next_], [16, 18, 20])
        for bad in ("state=gone", "json_value=1", "json_path=n", "order=next", "tube=a&tube_match=b",
                    "max_scan=0", "id_from=x", "order=next&tube=t", "text=a&text_base64=YQ==",
                    "order=next&tube=t&state=ready&cursor=x"):
            self.refused("bad-request", "GET", f"/jobs?{bad}")
        self.refused("not-found", "GET", "/tubes/none/jobs")

    def test_running_jobs_are_found_at_their_holders(self) -> None:
        """However many other jobs there are, and whatever their ids."""
        for i in range(40):
            self.api.put_job("waiting", "x")
        jobs = [self.api.put_job("work", "x", ttr_seconds=ttr) for ttr in (3600, 900, 1800)]
        other = Client(self.broker.port)
        for client in (self.client, other):
            client.say("watch work")
        for client in (self.client, other, self.client):
            self.assertTrue(client.say("reserve").startswith("RESERVED"))

        def running(query: str = "") -> list[int]:
            page = self.api.get(f"/jobs?state=reserved&order=next&max_scan=2{query}")
            self.assertEqual((page["complete"], page["scanned"] <= 3), (True, True))
            return [job["id"] for job in page["items"]]
        self.assertEqual(running(), [jobs[1], jobs[2], jobs[0]])
        self.assertEqual(running("&limit=2"), [jobs[1], jobs[2]])
        self.assertEqual(running("&tube=work&limit=1"), [jobs[1]])
        self.assertEqual(running("&tube=waiting"), [])
        self.assertEqual(running("&tube=none"), [])
        self.assertEqual(running("&text=nowhere"), [])
        holder = self.api.get(f"/jobs/{jobs[1]}")["holder"]["connection"]
        self.assertEqual(running(f"&holder={holder}"), [jobs[1]])
        self.assertEqual(self.api.get("/connections?role=idle")["items"], [])
        self.assertEqual(other.say(f"release {jobs[1]} 0 100"), "RELEASED")
        self.assertEqual(running(), [jobs[2], jobs[0]])
        self.assertEqual([each["id"] for each in self.api.get("/connections?role=idle")["items"]], [holder])
        other.close()

    def test_operations(self) -> None:
        for i in range(300):
            self.api.put_job("t", f"body {i % 3}")
        operation = self.api.post("/operations", {
            "action": "bury", "filter": {"tube": "t", "text": "body 1"}}, 201)
        self.assertEqual((operation["state"], operation["count"]), ("counted", 100))
        path = f"/operations/{operation['id']}"
        problem = self.refused("count-mismatch", "POST", f"{path}/confirm", {"count": 99})
        self.assertEqual(problem["count"], 100)
        self.assertEqual(self.api.post(f"{path}/confirm", {"count": 100}, 202)["id"],
                         operation["id"])
        while (operation := self.api.get(path))["state"] == "running":
            pass
        self.assertEqual((operation["state"], operation["done"], operation["failed"]),
                         ("done", 100, 0))
        self.assertEqual(self.api.get("/tubes/t")["jobs"]["buried"], 100)
        self.refused("operation-state", "POST", f"{path}/confirm", {"count": 100})
        self.refused("operation-state", "DELETE", path)
        for action, more in (("move", {"to": "u"}), ("kick", {}), ("delete", {})):
            tube = "t" if action == "move" else "u"
            operation = self.api.post("/operations", {
                "action": action, "filter": {"tube": tube, "state": ["buried"]
                                             if action != "delete" else ["ready"]}, **more}, 201)
            self.assertEqual(operation["count"], 100, action)
            path = f"/operations/{operation['id']}"
            self.api.post(f"{path}/confirm", {"count": 100}, 202)
            while self.api.get(path)["state"] == "running":
                pass
            self.assertEqual(self.api.get(path)["done"], 100)
        self.assertEqual(self.api.get("/server")["jobs"]["ready"], 200)
        stopped = self.api.post("/operations", {"action": "delete", "filter": {"all_tubes": True}}, 201)
        answer = self.api.ask("DELETE", f"/operations/{stopped['id']}")
        self.assertEqual(answer.json["state"], "stopped")
        self.assertEqual(len(self.api.get("/operations")["items"]), 5)
        for bad in ({"action": "x", "filter": {}}, {"action": "delete", "filter": {}},
                    {"action": "move", "filter": {"tube": "t"}}, {"action": "delete"},
                    {"action": "delete", "filter": {"tube": "t", "state": []}},
                    {"action": "delete", "filter": {"tube": "t", "x": 1}}):
            self.refused("bad-request", "POST", "/operations", bad)
        self.refused("not-found", "GET", "/operations/99")
        acts = [(act["action"], act["result"], act["count"]) for act in self.api.get("/audit")["items"]]
        self.assertIn(("job.bury", "ok", 100), acts)

    def test_idempotency(self) -> None:
        headers = {"Idempotency-Key": "a.b-c_1"}
        first = self.api.ask("POST", "/tubes/t/jobs", {"body": "x"}, headers)
        again = self.api.ask("POST", "/tubes/t/jobs", {"body": "x"}, headers)
        self.assertEqual((first.status, again.status), (201, 201))
        self.assertEqual(first.body, again.body)
        self.assertEqual(first.headers["Location"], again.headers["Location"])
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        self.assertEqual(self.api.get("/tubes/t")["jobs"]["ready"], 1)
        self.refused("idempotency-conflict", "POST", "/tubes/t/jobs", {"body": "y"},
                     Idempotency_Key="a.b-c_1")
        self.refused("bad-request", "POST", "/tubes/t/jobs", {"body": "y"}, Idempotency_Key="a b")


class TheServer(WithBroker):
    def test_draining_is_undone(self) -> None:
        self.assertEqual(self.api.ask("PUT", "/server/draining", {"draining": True}).json,
                         {"draining": True})
        self.refused("draining", "POST", "/tubes/t/jobs", {"body": "x"})
        self.assertEqual(self.api.get("/server")["not_ready_reason"], "draining")
        self.assertEqual(self.api.ask("PUT", "/server/draining", {"draining": False}).status, 200)
        self.api.put_job("t")

    def test_refusals_are_those_of_the_metrics(self) -> None:
        self.api.ask("PUT", "/tubes/t/policy/max_bytes", {"value": "1"})
        self.refused("memory", "POST", "/tubes/t/jobs", {"body": "x"})
        page = self.api.ask("GET", "/metrics", prefix="").body.decode()
        counts = dict(re.findall(r'^gearstalkd_refused_total\{reason="(\w+)"\} (\d+)$', page, re.M))
        self.assertEqual(counts["tube_memory"], "1")
        self.assertEqual(self.api.get("/server")["refused"],
                         {reason: int(count) for reason, count in counts.items()})

    def test_log_level(self) -> None:
        self.assertEqual(self.api.ask("PUT", "/server/log-level", {"level": "debug"}).json,
                         {"level": "debug"})
        self.assertEqual(self.api.get("/server")["log_level"], "debug")
        self.refused("bad-request", "PUT", "/server/log-level", {"level": "loud"})

    def test_connections(self) -> None:
        self.client.say("watch work")
        self.client.send(b"reserve\r\n")
        other = Client(self.broker.port)
        other.packet(22, b"<b>it is me</b>\\")
        other.packet(1, b"resize")
        other.ask(16, b"x")
        while len(self.api.get("/connections?role=worker")["items"]) < 2:
            pass
        waiting = self.api.get("/connections?role=waiting")["items"]
        self.assertEqual([each["watches"] for each in waiting], [["default", "work"]])
        self.assertEqual([each["listen"] for each in waiting], self.api.get("/server")["listen"])
        worker = self.api.get("/connections?tube=resize")["items"][0]
        self.assertEqual((worker["client_id"], worker["protocol"]), ("<b>it is me</b>\\", "gearman"))
        self.assertEqual(len(self.api.pages("/connections?limit=1")), 2)
        self.assertEqual(self.api.ask("DELETE", f"/connections/{worker['id']}").status, 204)
        self.assertEqual(other.file.read(), b"")
        other.close()
        self.refused("not-found", "GET", f"/connections/{worker['id']}")
        self.refused("not-found", "DELETE", "/connections/x")

    def test_audit(self) -> None:
        self.api.put_job("t")
        self.api.ask("DELETE", "/jobs/77")
        done, refused = reversed(self.api.get("/audit")["items"])
        self.assertEqual((done["action"], done["tube"], done["job"], done["result"]),
                         ("job.put", "t", 1, "ok"))
        self.assertEqual((refused["action"], refused["result"]), ("job.delete", "not-found"))
        self.assertEqual(len(self.api.pages("/audit?limit=1")), 2)

    def test_history(self) -> None:
        while not (history := self.api.get("/history"))["times"]:
            pass
        self.assertEqual(set(history["series"]), {"jobs_ready", "jobs_reserved", "jobs_delayed",
                                                  "jobs_buried"})
        for numbers in history["series"].values():
            self.assertEqual(len(numbers), len(history["times"]))
        # A step that is not over has no value yet, however long it is.
        for query in ("range=1h", "range=1h&points=10", "range=30d"):
            history = self.api.get(f"/history?{query}")
            for at in history["times"]:
                self.assertLessEqual(at + history["step_seconds"], time.time())
        self.assertEqual(self.api.get("/history?series=cpu_ratio&range=30d&points=10")["range"], "30d")
        self.assertEqual(self.api.get("/history?tube=default")["tube"], "default")
        self.api.put_job("~_w")  # its name is the byte 0xFF
        self.assertEqual(self.api.get("/history?tube_base64=%2Fw")["tube"], "\ufffd")
        self.refused("bad-request", "GET", "/history?series=x")
        self.refused("bad-request", "GET", "/history?tube=default&series=cpu_ratio")
        self.refused("not-found", "GET", "/history?tube=none")

    def test_no_point_of_the_history_is_of_a_step_that_is_not_over(self) -> None:
        """Twelve seconds and more are not told in ten points without longer steps."""
        def joined() -> Any:
            history = self.api.get("/history?points=10")
            return history if history["step_seconds"] > 1 and history["times"] else None
        history = eventually("steps are joined", joined)
        self.assertLessEqual(len(history["times"]), 10)
        self.assertLessEqual(history["times"][-1] + history["step_seconds"], time.time())

    def test_events(self) -> None:
        connection = self.api.connection()
        connection.request("GET", "/api/v1/events?topics=server,tube,audit&tubes=t")
        answer = connection.getresponse()
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        self.api.put_job("t")
        seen: dict[str, Any] = {}
        event = ""
        while set(seen) != {"server", "tube", "audit"}:
            line = answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            if line.startswith("data: "):
                seen[event] = json.loads(line.removeprefix("data: "))
        self.assertEqual(seen["tube"].get("name", seen["tube"].get("ref")), "t")
        self.assertEqual(seen["audit"]["action"], "job.put")
        connection.close()
        streams = [self.api.connection() for _ in range(9)]
        for stream in streams:
            stream.request("GET", "/api/v1/events")
        self.assertEqual(sorted(stream.getresponse().status for stream in streams)[-1], 503)
        for stream in streams:
            stream.close()

    def test_nothing_is_ready(self) -> None:
        self.api.post("/tubes", {"name": "t"}, 201)
        self.assertIsNone(self.api.get("/tubes/t")["oldest_ready_age_seconds"])
        self.assertIsNone(self.api.get("/server")["oldest_ready_age_seconds"])
        self.api.put_job("t")
        self.assertGreaterEqual(self.api.get("/tubes/t")["oldest_ready_age_seconds"], 0)


class Restarted(unittest.TestCase):
    def test_a_cursor_of_tubes_misses_none(self) -> None:
        data = self.enterContext(tempfile.TemporaryDirectory(prefix="api-"))
        for run in ("first", "second"):
            broker = Broker(BINARY, "--data-dir", data)
            self.addCleanup(broker.stop)
            api = Api(broker.admin)
            if run == "first":
                for name in "cab":
                    api.post("/tubes", {"name": name}, 201)
                paths = ("/tubes?limit=2", "/tubes?limit=2&sort=ready", "/tubes?limit=2&sort=name")
                cursors = [api.get(path)["next"] for path in paths]
                self.assertEqual(broker.stop(), 0)
        codes = [api.ask("GET", f"{path}&cursor={cursor}") for path, cursor in zip(paths, cursors)]
        self.assertEqual([answer.status for answer in codes], [400, 400, 200])
        self.assertEqual([tube["name"] for tube in codes[2].json["items"]], ["c", "default"])


class Access(unittest.TestCase):
    def setUp(self) -> None:
        tokens = {name: user(name, role, tubes) for name, role, tubes in (
            ("vera", "viewer", ""), ("otto", "operator+bodies", ""), ("anna", "admin", ""),
            ("mail", "admin+bodies", "mail-*,m"))}
        self.dir = self.enterContext(tempfile.TemporaryDirectory(prefix="api-"))
        options = [word for token, line in tokens.values() for word in ("--console-users", line)]
        self.broker = Broker(BINARY, "--admin", f"unix:{self.dir}/admin.sock,mode=0600",
                             "--console-base-path", "/base/", "--console-hosts", "broker.example",
                             *options)
        self.apis = {name: Api(self.broker.admin, token) for name, (token, _) in tokens.items()}
        self.nobody = Api(self.broker.admin)

    def tearDown(self) -> None:
        for api in self.apis.values():
            check_recorded(self, api)
        self.assertEqual(self.broker.stop(), 0)

    def code(self, api: Api, method: str, path: str, body: Any = None, **headers: str) -> str:
        return api.ask(method, path, body,
                       {name.replace("_", "-"): value for name, value in headers.items()}).code

    def test_roles(self) -> None:
        self.apis["otto"].put_job("t", "secret")
        rows = (("GET", "/server", None, 1), ("GET", "/tubes", None, 1), ("GET", "/jobs/1", None, 1),
                ("GET", "/connections", None, 1), ("GET", "/history", None, 1),
                ("GET", "/audit", None, 2), ("GET", "/operations", None, 2),
                ("POST", "/tubes/t/pause", {"seconds": 1}, 2), ("POST", "/tubes/t/resume", {}, 2),
                ("POST", "/tubes/t/kick", {"count": 1}, 2), ("POST", "/tubes/t/jobs", {"body": "x"}, 2),
                ("POST", "/tubes", {"name": "n"}, 3), ("PUT", "/tubes/t/maxqueue", {"all": 9}, 3),
                ("PUT", "/server/draining", {"draining": False}, 3),
                ("PUT", "/server/log-level", {"level": "info"}, 3))
        for method, path, body, least in rows:
            for rank, name in ((1, "vera"), (2, "otto"), (3, "anna")):
                with self.subTest(f"{name} {method} {path}"):
                    answer = self.apis[name].ask(method, path, body)
                    if rank >= least:
                        self.assertLess(answer.status, 300, answer)
                    else:
                        self.assertEqual(answer.code, "forbidden")
            self.assertEqual(self.code(self.nobody, method, path, body), "unauthenticated")

    def test_a_count_says_nothing_of_a_tube_that_is_hidden(self) -> None:
        self.apis["otto"].put_job("mail-1", "x")
        self.apis["otto"].put_job("hidden", "secret")
        some = self.apis["mail"]
        for tube, scanned in (("hidden", 0), ("none", 0), ("mail-1", 1)):
            self.assertEqual(some.get(f"/jobs?tube={tube}")["scanned"], scanned, tube)
            order = some.post("/operations", {"action": "delete", "filter": {"tube": tube}}, 201)
            self.assertEqual(some.get(f"/operations/{order['id']}")["scanned"], scanned, tube)

    ROWS = """
        0 GET /  0 GET /openapi.json  0 GET /session
        1 GET /server  3 PUT /server/draining  3 PUT /server/log-level  3 POST /server/step-down
        1 GET /tubes  3 POST /tubes  1 GET /tubes/none  3 DELETE /tubes/none
        2 POST /tubes/none/pause  2 POST /tubes/none/resume  3 PUT /tubes/none/maxqueue
        3 DELETE /tubes/none/maxqueue  2 POST /tubes/none/kick  2 POST /tubes/none/jobs
        1 GET /tubes/none/jobs  1 GET /tubes/none/groups  1 GET /tubes/none/policy  3 PUT /tubes/none/policy/ttr
        3 DELETE /tubes/none/policy/none
        1 GET /attention  1 GET /failures  1 GET /jobs  1 GET /jobs/9  2 DELETE /jobs/9  b GET /jobs/9/body  b GET /jobs/9/body/view
        2 POST /jobs/9/kick  2 POST /jobs/9/bury  2 POST /jobs/9/release  2 POST /jobs/9/move
        2 POST /jobs/9/copy
        2 GET /operations  2 POST /operations  2 GET /operations/9  2 DELETE /operations/9
        2 POST /operations/9/confirm
        1 GET /connections  1 GET /connections/9999  3 DELETE /connections/9999
        1 GET /history  1 HEAD /events  2 GET /audit  1 GET /schedules  2 POST /schedules/none/run
        3 PUT /schedules/none/enabled  1 GET /transfers  3 DELETE /transfers/none
        """

    def test_every_path_for_every_role_on_every_way(self) -> None:
        words = self.ROWS.split()
        rows = list(zip(words[::3], words[1::3], words[2::3]))
        document = self.nobody.get("/openapi.json")["paths"]
        sessions = 2  # to open and to close one
        self.assertEqual(len(rows), sum(map(len, document.values())) - sessions)
        for name, rank, bodies in (("vera", 1, False), ("otto", 2, True), ("anna", 3, False)):
            token = self.apis[name].token
            for api in (Api(self.broker.admin, token), Api(self.broker.admin, token, "/base/api/v1"),
                        Api(f"unix:{self.dir}/admin.sock", token)):
                for right, method, path in rows:
                    answer = api.ask(method, path, {})
                    may = bodies if right == "b" else rank >= int(right)
                    with self.subTest(f"{name} {method} {api.prefix}{path}"):
                        if may:
                            self.assertIn(answer.status, (200, 400, 404), answer)
                        else:
                            self.assertEqual(answer.code, "bodies-forbidden" if right == "b"
                                             else "forbidden")
                check_recorded(self, api)
        for right, method, path in rows:
            answer = self.nobody.ask(method, path, {})
            self.assertEqual(answer.status, 200 if right == "0" else 401, (method, path))

    def test_bodies(self) -> None:
        job = self.apis["otto"].put_job("t", "secret")
        for name in ("vera", "anna"):
            api = self.apis[name]
            for path in (f"/jobs/{job}/body", f"/jobs/{job}/body/view", "/jobs?text=secret",
                         "/jobs?json_path=$"):
                self.assertEqual(self.code(api, "GET", path), "bodies-forbidden")
            self.assertIsNone(api.get("/jobs?preview=1")["items"][0]["preview"])
        self.assertEqual(self.code(self.apis["anna"], "POST", "/operations", {
            "action": "delete", "filter": {"tube": "t", "text": "s"}}), "bodies-forbidden")
        self.assertEqual(self.apis["otto"].get("/jobs?preview=1")["items"][0]["preview"], "secret")

    def test_a_part_of_the_tubes(self) -> None:
        other = self.apis["otto"].put_job("t")
        mine = self.apis["otto"].put_job("mail-a")
        api = self.apis["mail"]
        self.assertEqual([tube["name"] for tube in api.get("/tubes")["items"]], ["mail-a"])
        self.assertEqual([job["id"] for job in api.get("/jobs")["items"]], [mine])
        for method, path, body in (("GET", "/tubes/t", None), ("GET", "/tubes/t/jobs", None),
                                   ("GET", f"/jobs/{other}", None), ("DELETE", f"/jobs/{other}", None),
                                   ("POST", "/tubes/t/jobs", {"body": "x"}),
                                   ("POST", f"/jobs/{mine}/move", {"to": "t"}),
                                   ("POST", "/tubes", {"name": "t2"})):
            self.assertEqual(self.code(api, method, path, body), "not-found", path)
        for method, path, body in (("GET", "/connections", None), ("GET", "/audit", None),
                                   ("PUT", "/server/draining", {"draining": True})):
            self.assertEqual(self.code(api, method, path, body), "forbidden", path)
        self.assertEqual(api.get("/server")["ready"], True)
        self.assertEqual(api.post("/tubes", {"name": "m"}, 201)["name"], "m")
        operation = api.post("/operations", {"action": "delete", "filter": {"all_tubes": True}}, 201)
        self.assertEqual(operation["count"], 1)

    def test_sessions(self) -> None:
        self.assertEqual(self.nobody.get("/session"), {
            "user": None, "role": None, "bodies": False, "tubes": [], "via": None,
            "expires_at": None, "can": []})
        answer = self.nobody.ask("POST", "/session", {"token": self.apis["otto"].token},
                                 {"X-Forwarded-Proto": "https"})
        self.assertEqual((answer.status, answer.json["via"]), (201, "cookie"))
        cookie = answer.headers["Set-Cookie"]
        self.assertRegex(cookie, r"^gearstalk_session=[\w-]{43}; Path=/base; ")
        for word in ("HttpOnly", "SameSite=Strict", "Secure"):
            self.assertIn(f"; {word}", cookie)
        act = self.apis["anna"].get("/audit")["items"][0]
        self.assertEqual([act[member] for member in ("action", "user", "role", "result")],
                         ["session.open", "otto", "operator", "ok"])
        mine = {"Cookie": "a=b; " + cookie.split(";")[0]}
        self.assertEqual(self.nobody.get("/session", **mine)["user"], "otto")
        self.assertEqual(self.nobody.ask("DELETE", "/session", headers=mine).status, 204)
        self.assertEqual(self.nobody.ask("GET", "/server", headers=mine).code, "unauthenticated")
        can = self.apis["anna"].get("/session")["can"]
        self.assertEqual(len(can), 17)
        self.assertNotIn("tube.create", self.apis["otto"].get("/session")["can"])

    def test_wrong_tokens(self) -> None:
        wrong = Api(self.broker.admin, "gst_wrong")
        self.assertEqual(self.code(self.nobody, "POST", "/session", {"token": "x"}), "unauthenticated")
        self.assertEqual([self.code(wrong, "POST", "/tubes", {"name": "x"}) for _ in range(5)],
                         ["unauthenticated"] * 4 + ["too-many-requests"])
        answer = wrong.ask("GET", "/server")
        self.assertTrue(0 < int(answer.headers["Retry-After"]) <= 60)
        # Others behind the same proxy are not kept out, nor those on the Unix socket.
        self.assertEqual(self.apis["anna"].get("/session")["user"], "anna")
        self.assertEqual(self.nobody.ask("POST", "/session", {"token": self.apis["anna"].token}).status,
                         201)

    def test_a_wrong_token_counts_once(self) -> None:
        wrong = {"Authorization": "Bearer gst_wrong", "Transfer-Encoding": "chunked"}
        codes = [self.code(self.nobody, "POST", "/tubes", b"2\r\n{}\r\n0\r\n\r\n", **wrong)
                 for _ in range(6)]
        self.assertEqual(codes, ["unauthenticated"] * 5 + ["too-many-requests"])

    def test_strangers_do_not_empty_the_audit(self) -> None:
        self.apis["otto"].put_job("t")
        head = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        host, port = self.broker.admin.split(":")
        many = 1500
        with socket.create_connection((host, int(port)), SECONDS) as stranger:
            last = "GET /healthz HTTP/1.0\r\n\r\n"
            posts = f"POST /api/v1/tubes/t/jobs HTTP/1.1\r\n{head}" * many + last
            sender = threading.Thread(target=stranger.sendall, args=(posts.encode(),))
            sender.start()
            answers = b""
            while part := stranger.recv(1 << 16):
                answers += part
            sender.join()
        refused = answers.count(b"HTTP/1.1 401") + answers.count(b"HTTP/1.1 429")
        self.assertEqual(refused, many)
        acts = self.apis["anna"].get("/audit")["items"]
        self.assertEqual(sum(act["count"] for act in acts if act["user"] is None), many)
        self.assertLessEqual({act["result"] for act in acts}, {"ok", "unauthenticated",
                                                               "too-many-requests"})
        self.assertLessEqual(len(acts), 3)
        self.assertEqual([act["action"] for act in acts if act["user"] == "otto"], ["job.put"])
        # The address of strangers has its own allowance.
        self.assertEqual(self.apis["vera"].ask("GET", "/server").status, 200)

    def test_streams_are_counted_by_user(self) -> None:
        def stream(api: Api) -> Any:
            connection = api.connection()
            self.addCleanup(connection.close)
            connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {api.token}"})
            return connection.getresponse()
        statuses = [stream(self.apis["vera"]).status for _ in range(9)]
        self.assertEqual(statuses, [200] * 8 + [503])
        self.assertEqual(stream(self.apis["otto"]).status, 200)

    def test_hosts_and_origins(self) -> None:
        api = self.apis["anna"]
        for host in ("evil.example", "localhost.evil.example", ""):
            self.assertEqual(self.code(api, "GET", "/server", Host=host), "bad-host")
        for host in ("localhost", "LOCALHOST:1", "[::1]:2", "10.0.0.1", "broker.example:80"):
            self.assertEqual(api.ask("GET", "/server", headers={"Host": host}).status, 200)
        host = self.broker.admin
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            answer = api.ask("POST", "/tubes/default/resume", {}, headers)
            self.assertEqual(answer.code, "cross-site", headers)
        for headers in ({"Origin": f"http://{host}"}, {"Sec-Fetch-Site": "same-origin"},
                        {"Origin": f"https://{host}", "Sec-Fetch-Site": "none"}):
            self.assertEqual(api.ask("POST", "/tubes/default/resume", {}, headers).status, 200)
        self.assertEqual(api.ask("POST", "/tubes", b"{}", {"Content-Type": "text/plain"}).code,
                         "unsupported-media-type")
        for path in ("/metrics", "/healthz", "/readyz"):
            self.assertEqual(api.ask("GET", path, prefix="", headers={"Host": "evil"}).status, 200)

    def test_unix_socket_and_base_path(self) -> None:
        unix = Api(f"unix:{self.dir}/admin.sock", self.apis["vera"].token)
        self.assertEqual(unix.ask("GET", "/server", headers={"Host": "any"}).status, 200)
        self.assertEqual(unix.get("/session")["user"], "vera")
        for api in (unix, self.apis["vera"]):
            self.assertEqual(api.ask("GET", "/tubes", prefix="/base/api/v1").status, 200)
            self.assertEqual(api.ask("GET", "/healthz", prefix="/base").status, 200)
            self.assertEqual(api.ask("GET", "/base", prefix="").headers["Location"], "base/console/")
            self.assertEqual(api.ask("GET", "/base/", prefix="").headers["Location"], "console/")
        # A proxy leaves the prefix on, so clients need it.
        otto = self.apis["otto"]
        for path, body in (("/tubes/t/jobs", {"body": "x"}), ("/jobs/1/copy", {}),
                           ("/operations", {"action": "kick", "filter": {"tube": "t"}})):
            place = otto.ask("POST", path, body).headers["Location"]
            self.assertRegex(place, "^/base/api/v1/(jobs|operations)/[0-9]+$")
            self.assertEqual(otto.ask("GET", place, prefix="").status, 200)
        self.assertEqual(otto.get("/openapi.json")["servers"], [{"url": "/base/api/v1"}])


class Anonymous(unittest.TestCase):
    def run_with(self, *options: str) -> Api:
        broker = Broker(BINARY, *options)
        self.addCleanup(lambda: self.assertEqual(broker.stop(), 0))
        return Api(broker.admin)

    def test_loopback_is_trusted_until_there_are_users(self) -> None:
        api = self.run_with()
        session = api.get("/session")
        self.assertEqual((session["role"], session["bodies"], session["via"]),
                         ("admin", True, "anonymous"))
        for header in ("Forwarded", "X-Forwarded-For", "X-Real-IP"):
            answer = api.ask("GET", "/server", headers={header: "127.0.0.1"})
            self.assertEqual(answer.code, "access-not-configured")
        for wrong in ("Bearer gst_wrong", "Basic eDp5", "Bearer"):
            self.assertEqual(api.ask("GET", "/server", headers={"Authorization": wrong}).code,
                             "unauthenticated")
            self.assertIsNone(api.get("/session", Authorization=wrong)["role"])

    def test_a_trusted_proxy_names_the_client(self) -> None:
        for options, address in (((), "127.0.0.1"), (("--console-proxies", "127.0.0.1"), "192.0.2.7")):
            api = self.run_with("--console-anonymous", "operator", *options)
            api.ask("POST", "/tubes/t/jobs", {"body": "x"}, {"X-Forwarded-For": "10.0.0.1, 192.0.2.7"})
            self.assertEqual(api.get("/audit")["items"][0]["address"], address)

    def test_a_role_for_all(self) -> None:
        api = self.run_with("--console-anonymous", "viewer")
        self.assertEqual(api.get("/session")["role"], "viewer")
        self.assertEqual(api.ask("POST", "/tubes/default/resume").code, "forbidden")

    def test_none(self) -> None:
        api = self.run_with("--console-anonymous", "none")
        self.assertEqual(api.ask("GET", "/server").code, "unauthenticated")

    def test_off(self) -> None:
        api = self.run_with("--console-enabled", "false")
        for path in ("/api/v1/server", "/console/", "/"):
            self.assertEqual(api.ask("GET", path, prefix="").status, 404)
        self.assertEqual(api.ask("GET", "/healthz", prefix="").status, 200)

    def test_rate(self) -> None:
        api = self.run_with("--console-rate", "1")
        begun, answered = time.monotonic(), 0
        while (answer := api.ask("GET", "/server")).status == 200:
            answered += 1
            self.assertLessEqual(answered, 2 + time.monotonic() - begun)
        self.assertGreater(answered, 0)
        self.assertEqual(answer.code, "too-many-requests")
        self.assertEqual(answer.headers["Retry-After"], "1")


if __name__ == "__main__":
    unittest.main()
