#!/usr/bin/env python3
"""What operators do leaves a trace, and outlives a kill: api_acts_test.py BROKER."""

import re
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

from api_case import BINARY, WithBroker
from api_client import Api
from broker import Broker, Client, eventually

FIELDS = ["user", "role", "address", "action", "tube", "job", "filter", "count", "result", "request"]


def acts(api: Api) -> list[Any]:
    """Oldest first."""
    return list(reversed(api.pages("/audit")))


def lines(broker: Broker) -> list[dict[str, str]]:
    """The acts in the log of a broker that has ended."""
    broker.stop()
    return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in broker.said.splitlines()
            if "operator act" in line]


class ByTextLines(WithBroker):
    def test_each_act_is_recorded(self) -> None:
        self.api.put_job("t")
        handle = self.client.ask(18, b"f", b"", b"x")[1][0].decode()
        for line, answer in (("create function g", "OK"), ("maxqueue g 5", "OK"),
                             ("policy g attempts 3", "OK"), ("policy g default", "OK"),
                             (f"cancel job {handle}", "OK"), (f"cancel job {handle}", "ERR"),
                             ("drop function g", "OK"), ("drop function g", "ERR"),
                             ("schedule none run", "ERR"), ("create g", "ERR")):
            self.assertTrue(self.client.admin(line)[0].startswith(answer), line)
        for question in ("version", "getpid", "verbose"):
            self.client.admin(question)
        for table in ("status", "workers", "prioritystatus", "show jobs", "schedules", "policy g"):
            self.client.admin(table, table=True)
        seen = acts(self.api)[1:]
        self.assertEqual([(act["action"], act["tube"], act["job"], act["result"]) for act in seen], [
            ("tube.create", "g", None, "ok"), ("tube.maxqueue", "g", None, "ok"),
            ("tube.policy", "g", None, "ok"), ("tube.policy", "g", None, "ok"),
            ("job.delete", "f", 2, "ok"), ("job.delete", None, 2, "not-found"),
            ("tube.drop", "g", None, "ok"), ("tube.drop", "g", None, "not-found"),
            ("schedule.run", None, None, "not-found")])
        self.assertEqual(seen[2]["filter"], {"policy": "attempts"})
        self.assertEqual(seen[8]["filter"], {"schedule": "none"})
        connection = self.api.get("/connections")["items"][0]["id"]
        for act in seen:
            self.assertEqual((act["user"], act["role"], act["address"], act["request_id"]),
                             (None, "admin", "127.0.0.1", f"connection-{connection}"))
        logged = lines(self.broker)
        self.assertEqual([line["action"] for line in logged],
                         ["job.put"] + [act["action"] for act in seen])
        for line in logged:
            self.assertEqual(list(line), FIELDS)
            self.assertEqual(line["user"], "-")

    def test_beanstalk_too(self) -> None:
        first, second = self.client.put("x"), self.client.put("x", delay=100)
        self.client.say("reserve")
        self.client.say(f"bury {first} 0")
        for command in ("kick 10", f"kick-job {second}", "kick-job 99", "pause-tube default 5",
                        "pause-tube default 0", "pause-tube none 5"):
            self.client.say(command)
        self.client.say(f"delete {first}")
        self.client.say("reserve")
        self.client.say(f"delete {second}")
        self.assertEqual([(act["action"], act["tube"], act["job"], act["count"], act["result"])
                          for act in acts(self.api)], [
            ("tube.kick", "default", None, 1, "ok"), ("job.kick", "default", second, None, "ok"),
            ("job.kick", None, 99, None, "not-found"), ("tube.pause", "default", None, None, "ok"),
            ("tube.resume", "default", None, None, "ok"),
            ("tube.pause", "none", None, None, "not-found")])

    def kicks(self, tube: str, times: int) -> None:
        self.client.say(f"use {tube}")
        self.client.send(b"kick 1\r\n" * times)
        for _ in range(times):
            self.assertEqual(self.client.line(), "KICKED 0")

    def test_an_applications_acts_are_counted_and_leave_those_of_people_alone(self) -> None:
        self.api.put_job("t")
        self.kicks("t", 500)
        kicks, put = self.api.pages("/audit")
        self.assertEqual((put["action"], put["times"]), ("job.put", 1))
        self.assertEqual((kicks["action"], kicks["times"], kicks["count"]), ("tube.kick", 500, 0))

    def test_the_audit_keeps_a_thousand_of_clients(self) -> None:
        self.api.put_job("t")
        for i in range(1100):
            self.kicks(f"t{i}", 1)
        seen = self.api.pages("/audit?limit=500")
        self.assertEqual([act["id"] for act in seen], [*range(1101, 101, -1), 1])


class ByRights(unittest.TestCase):
    def test_operators_are_told_apart(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="api-"))
        path = f"{folder}/operators.sock"
        broker = Broker(BINARY, "--listen", f"unix:{path}", "--rights", f"listen=unix:{path} all",
                        "--rights", "* produce,consume")
        self.addCleanup(lambda: self.assertEqual(broker.stop(), 0))
        api = Api(broker.admin)
        worker, operator = Client(broker.port), Client(path)
        jobs = [worker.put("x") for _ in range(3)]
        self.assertEqual(worker.say(f"delete {jobs[0]}"), "DELETED")
        self.assertEqual(operator.say(f"delete {jobs[1]}"), "DELETED")
        operator.say("reserve")
        self.assertEqual(operator.say(f"delete {jobs[2]}"), "DELETED")
        self.assertEqual(worker.say("kick 1"), "UNKNOWN_COMMAND")
        self.assertEqual(worker.say(f"kick-job {jobs[0]}"), "NOT_FOUND")
        self.assertEqual(worker.say("pause-tube default 1"), "UNKNOWN_COMMAND")
        self.assertEqual(worker.say("stats-tube default"), "UNKNOWN_COMMAND")
        self.assertTrue(worker.admin("schedule nightly run")[0].startswith("ERR NOT_ALLOWED"))
        self.assertTrue(worker.admin("policy default attempts 1")[0].startswith("ERR NOT_ALLOWED"))
        self.assertTrue(worker.admin("maxqueue default 1")[0].startswith("ERR NOT_ALLOWED"))
        self.assertEqual([(act["action"], act["tube"], act["job"], act["role"], act["result"])
                          for act in acts(api)], [
            ("job.delete", "default", jobs[1], "admin", "ok"),
            ("tube.kick", "default", None, None, "forbidden"),
            ("job.kick", None, jobs[0], "admin", "not-found"),
            ("tube.pause", "default", None, None, "forbidden"),
            ("schedule.run", None, None, None, "forbidden"),
            ("tube.policy", "default", None, None, "forbidden"),
            ("tube.maxqueue", "default", None, None, "forbidden")])
        worker.close()
        operator.close()


class Interrupted(WithBroker):
    def test_what_was_done_until_the_client_went_is_recorded(self) -> None:
        jobs = 200_000
        for _ in range(0, jobs, 1000):
            self.client.send(b"put 1 1000 60 1\r\nx\r\n" * 1000)
            for _ in range(1000):
                self.client.line()
        connection = self.api.connection()
        connection.request("POST", "/api/v1/tubes/default/kick",
                           '{"count": 1000000, "state": "delayed"}',
                           {"Content-Type": "application/json"})
        eventually("its begin", lambda: self.api.get("/tubes/default")["jobs"]["ready"])
        connection.close()
        act = eventually("its record", lambda: next(iter(acts(self.api)), None))
        ready = self.api.get("/tubes/default")["jobs"]["ready"]
        self.assertEqual((act["action"], act["count"]), ("tube.kick", ready))
        self.assertIn(act["result"], ("ok", "stopped") if ready == jobs else ("stopped",))


SCHEDULES = """
schedules:
  - {name: never, cron: "0 0 1 1 *", tube: planned}
"""


class Durable(unittest.TestCase):
    """Kills the broker after each answered act, and looks whether it was done."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="api-")))
        (self.folder / "config.yaml").write_text(SCHEDULES)
        self.broker = self.start()

    def tearDown(self) -> None:
        self.assertEqual(self.broker.stop(), 0)

    def start(self) -> Broker:
        broker = Broker(BINARY, "--config", str(self.folder / "config.yaml"), "--console-rate", "0",
                        "--data-dir", str(self.folder / "data"), "--sync", "always")
        self.api = Api(broker.admin)
        return broker

    def kill(self) -> None:
        self.broker.kill()
        self.broker = self.start()

    def operation(self, action: str, **more: Any) -> None:
        made = self.api.post("/operations", {"action": action, **more}, 201)
        path = f"/operations/{made['id']}"
        self.api.post(f"{path}/confirm", {"count": made["count"]}, 202)
        while (seen := self.api.get(path))["state"] == "running":
            pass
        self.assertEqual((seen["state"], seen["done"]), ("done", made["count"]))

    def put(self, path: str, body: Any) -> None:
        answer = self.api.ask("PUT", path, body)
        self.assertEqual(answer.status, 200, answer)

    def delete(self, path: str, status: int = 204) -> None:
        answer = self.api.ask("DELETE", path)
        self.assertEqual(answer.status, status, answer)

    def job(self, job: int) -> tuple[str, str]:
        shown = self.api.get(f"/jobs/{job}")
        everywhere = [each["id"] for each in self.api.pages("/jobs")]
        self.assertEqual(everywhere.count(job), 1)
        return shown["state"], shown["tube"]

    def policy(self, tube: str, key: str) -> Any:
        items = self.api.get(f"/tubes/{tube}/policy")["items"]
        return next((item["value"], item["source"]) for item in items if item["key"] == key)

    def test_an_answered_act_outlives_a_kill(self) -> None:
        api = lambda: self.api
        gone = lambda job: api().ask("GET", f"/jobs/{job}").status
        jobs = lambda tube: api().get(f"/tubes/{tube}")["jobs"]
        steps: tuple[tuple[str, Callable[[], Any], Callable[[], Any], Any], ...] = (
            ("put", lambda: api().put_job("t"), lambda: self.job(1), ("ready", "t")),
            ("bury", lambda: api().post("/jobs/1/bury"), lambda: self.job(1), ("buried", "t")),
            ("move", lambda: api().post("/jobs/1/move", {"to": "u"}), lambda: self.job(1),
             ("buried", "u")),
            ("kick", lambda: api().post("/jobs/1/kick"), lambda: self.job(1), ("ready", "u")),
            ("copy", lambda: api().post("/jobs/1/copy", {"delay_seconds": 900}, 201),
             lambda: self.job(2), ("delayed", "u")),
            ("kick a tube", lambda: api().post("/tubes/u/kick", {"count": 9}), lambda: self.job(2),
             ("ready", "u")),
            ("pause", lambda: api().post("/tubes/u/pause", {"seconds": 999}),
             lambda: api().get("/tubes/u")["paused"], True),
            ("resume", lambda: api().post("/tubes/u/resume"), lambda: api().get("/tubes/u")["paused"],
             False),
            ("create", lambda: api().post("/tubes", {"name": "f"}, 201),
             lambda: api().get("/tubes/f")["created_function"], True),
            ("maxqueue", lambda: self.put("/tubes/f/maxqueue", {"all": 7}),
             lambda: api().get("/tubes/f")["maxqueue"]["low"], 7),
            ("maxqueue off", lambda: self.delete("/tubes/f/maxqueue", 200),
             lambda: api().get("/tubes/f")["maxqueue"]["low"], 0),
            ("policy", lambda: self.put("/tubes/f/policy/attempts", {"value": "3"}),
             lambda: self.policy("f", "attempts"), ("3", "admin")),
            ("policy off", lambda: self.delete("/tubes/f/policy/attempts", 200),
             lambda: self.policy("f", "attempts"), ("0", "default")),
            ("drop", lambda: self.delete("/tubes/f"), lambda: api().ask("GET", "/tubes/f").status, 404),
            ("schedule off", lambda: self.put("/schedules/never/enabled", {"enabled": False}),
             lambda: api().get("/schedules")["items"][0]["enabled"], False),
            ("schedule on", lambda: self.put("/schedules/never/enabled", {"enabled": True}),
             lambda: api().get("/schedules")["items"][0]["enabled"], True),
            ("schedule run", lambda: api().post("/schedules/never/run", {}, 201),
             lambda: jobs("planned")["ready"], 1),
            ("operation bury", lambda: self.operation("bury", filter={"tube": "u"}),
             lambda: jobs("u")["buried"], 2),
            ("operation move", lambda: self.operation(
                "move", filter={"tube": "u", "state": ["buried"]}, to="v"),
             lambda: jobs("v")["buried"], 2),
            ("operation kick", lambda: self.operation("kick", filter={"tube": "v"}),
             lambda: jobs("v")["ready"], 2),
            ("operation copy", lambda: self.operation("copy", filter={"tube": "v"}, to="w"),
             lambda: jobs("w")["ready"], 2),
            ("operation delete", lambda: self.operation("delete", filter={"tube": "w"}),
             lambda: api().ask("GET", "/tubes/w").status, 404),
            ("delete", lambda: self.delete("/jobs/1"), lambda: gone(1), 404))
        for name, act, look, expected in steps:
            with self.subTest(name):
                act()
                self.kill()
                self.assertEqual(look(), expected)

    def test_acts_on_held_jobs_outlive_a_kill(self) -> None:
        for name, expected in (("release", ("delayed", "t")), ("bury", ("buried", "t")),
                               ("delete", None)):
            with self.subTest(name):
                job = self.api.put_job("t")
                client = Client(self.broker.port)
                client.say("watch t")
                self.assertTrue(client.say("reserve").startswith(f"RESERVED {job} "))
                if name == "release":
                    self.api.post(f"/jobs/{job}/release", {"delay_seconds": 900})
                elif name == "bury":
                    self.api.post(f"/jobs/{job}/bury", {"force": True})
                else:
                    self.delete(f"/jobs/{job}?force=true")
                self.kill()
                client.close()
                if expected is None:
                    self.assertEqual(self.api.ask("GET", f"/jobs/{job}").code, "not-found")
                else:
                    self.assertEqual(self.job(job), expected)


if __name__ == "__main__":
    unittest.main()
