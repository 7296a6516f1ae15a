#!/usr/bin/env python3
"""gearstalkctl against a real broker: ctl_test.py BROKER GEARSTALKCTL."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import urllib.request
from pathlib import Path
from typing import Any

from broker import SECONDS, Broker, Client, eventually

CTL = sys.argv.pop(2)
BINARY = sys.argv.pop(1)

DONE, REFUSED, BAD_CALL, NOT_REACHABLE, NOT_ALLOWED, NOT_FOUND, NOT_CONFIRMED = range(7)


class WithBroker(unittest.TestCase):
    OPTIONS: tuple[str, ...] = ()

    def setUp(self) -> None:
        self.broker = Broker(BINARY, *self.OPTIONS)

    def tearDown(self) -> None:
        self.assertEqual(self.broker.stop(), 0)

    def ctl(self, *arguments: str, expect: int = DONE, text: bytes = b"") -> str:
        """What the command prints on standard output."""
        done = subprocess.run([CTL, "--server", f"http://{self.broker.admin}", *arguments],
                              input=text, capture_output=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, expect, (arguments, done.stdout, done.stderr))
        return done.stdout.decode()

    def json(self, *arguments: str, **options: Any) -> Any:
        return json.loads(self.ctl("--json", *arguments, **options))

    def put(self, tube: str, body: str, *options: str) -> str:
        return self.ctl("put", tube, body, *options).strip()


class Jobs(WithBroker):
    def test_a_put_job_is_listed_with_its_body(self) -> None:
        number = self.put("mail", '{"to": "ann"}', "--priority", "7")
        self.assertEqual(self.json("jobs", "mail")["items"][0]["id"], int(number))
        self.assertIn('"to": "ann"', self.ctl("peek", number))
        self.assertEqual(self.ctl("peek", number, "--raw"), '{"to": "ann"}')
        self.assertEqual(self.json("job", number)["priority"], 7)

    def test_a_body_of_any_bytes_comes_from_standard_input(self) -> None:
        body = bytes(range(256))
        number = self.ctl("put", "mail", "--file", "-", text=body).strip()
        done = subprocess.run([CTL, "--server", f"http://{self.broker.admin}", "peek",
                               number, "--raw"], capture_output=True, timeout=SECONDS, check=True)
        self.assertEqual(done.stdout, body)

    def test_acts_tell_to_how_many_they_were_done(self) -> None:
        numbers = [self.put("mail", "x") for _ in range(3)]
        self.assertEqual(self.ctl("bury", *numbers), "buried 3\n")
        self.assertEqual(self.ctl("kick-job", numbers[0]), "kicked 1\n")
        self.assertEqual(self.ctl("kick", "mail"), "kicked 2\n")
        self.assertEqual(self.ctl("delete", *numbers), "deleted 3\n")
        self.assertEqual(self.ctl("delete", numbers[0], expect=NOT_FOUND), "deleted 0\n")

    def test_move_takes_jobs_to_another_tube(self) -> None:
        number = self.put("mail", "x")
        self.ctl("move", number, "--to", "other")
        self.assertEqual(self.json("job", number)["tube"], "other")

    def test_lists_go_over_pages(self) -> None:
        client = Client(self.broker.port)
        self.addCleanup(client.close)
        client.say("use many")
        for _ in range(510):
            client.put("x")
        self.assertEqual(len(self.json("jobs", "many", "--limit", "505")["items"]), 505)


class Operations(WithBroker):
    def setUp(self) -> None:
        super().setUp()
        for _ in range(3):
            self.put("mail", "x")

    def test_a_number_confirms(self) -> None:
        self.ctl("clear", "mail", "--count", "2", expect=NOT_CONFIRMED)
        self.ctl("clear", "mail", expect=NOT_CONFIRMED)
        self.ctl("clear", "mail", text=b"2\n", expect=NOT_CONFIRMED)
        self.assertIn("done 0", self.ctl("clear", "mail", "--state", "buried"))
        for words in (["clear", "other"], ["move", "--tube", "other", "--to", "x"]):
            self.ctl(*words, "--yes", expect=NOT_FOUND)
        self.assertIn("done 3", self.ctl("clear", "mail", "--count", "3"))
        self.assertEqual(self.json("jobs")["items"], [])
        self.put("mail", "x")
        self.assertIn("done 1", self.ctl("clear", "mail", text=b"1\n"))

    def test_yes_confirms_any_number(self) -> None:
        self.ctl("move", "--tube", "mail", "--to", "other", "--yes")
        self.assertEqual(self.json("tube", "other")["jobs"]["ready"], 3)
        self.assertEqual(self.json("operations")["items"][0]["action"], "move")


class Groups(WithBroker):
    def test_groups_are_listed_and_choose_jobs(self) -> None:
        client = Client(self.broker.port)
        self.addCleanup(client.close)
        self.assertEqual(client.admin("policy mail group line"), ["OK"])
        for body in ("a", "b", "b", "b", "\nnone"):
            self.put("mail", body)
        rows = self.json("groups", "mail", "--top", "2")["items"]
        self.assertEqual([(row["name"], row["ready"], row["held_back"]) for row in rows],
                         [("b", 3, None), (None, 1, None)])
        by_name = self.ctl("groups", "mail", "--sort", "name").splitlines()
        self.assertEqual([line.split()[0] for line in by_name], ["GROUP", "-", "a", "b"])
        self.ctl("groups", "nothing", expect=NOT_FOUND)
        self.assertEqual(len(self.json("jobs", "mail", "--group", "b")["items"]), 3)
        self.assertEqual(len(self.json("jobs", "mail", "--group", "")["items"]), 1)
        for words in (["clear", "nothing"], ["jobs", "nothing"], ["move", "--tube", "nothing", "--to", "x"], ["copy", "--tube", "nothing", "--to", "x"]):
            self.ctl(*words, "--group", "a", expect=NOT_FOUND)
        self.ctl("move", "--tube", "mail", "--group", "a", "--to", "other", "--yes")
        self.ctl("copy", "--tube", "mail", "--group", "b", "--to", "other", "--yes")
        self.ctl("clear", "mail", "--group", "b", "--yes")
        self.assertEqual(self.json("tube", "mail")["jobs"]["ready"], 1)
        self.assertEqual(self.json("tube", "other")["jobs"]["ready"], 4)
        self.put("mail", "c")
        self.assertIn("done 1", self.ctl("clear", "mail", "--group", "", "--yes"))
        self.assertEqual(self.json("groups", "mail")["items"][0]["name"], "c")


class Tubes(WithBroker):
    def test_the_state_of_a_tube_changes(self) -> None:
        self.ctl("create", "mail")
        self.ctl("pause", "mail", "600")
        self.assertTrue(self.json("tube", "mail")["paused"])
        self.assertEqual([tube["name"] for tube in self.json("tubes", "--only", "paused")["items"]],
                         ["mail"])
        self.ctl("resume", "mail")
        self.ctl("maxqueue", "mail", "5")
        self.assertEqual(self.json("tube", "mail")["maxqueue"]["normal"], 5)
        self.ctl("maxqueue", "mail", "default")
        self.ctl("drop", "mail")
        self.ctl("tube", "mail", expect=NOT_FOUND)

    def test_the_numbers_are_those_of_all_others(self) -> None:
        client = Client(self.broker.port)
        self.addCleanup(client.close)
        client.say("use mail")
        for delay in (0, 0, 0, 0, 100):
            client.put("x", delay=delay)
        client.say("watch mail")
        for _ in range(2):
            number = client.say("reserve").split()[1]
        client.say(f"bury {number} 5")
        tube = self.json("tube", "mail")
        with urllib.request.urlopen(f"http://{self.broker.admin}/api/v1/tubes/mail") as answer:
            shown = json.load(answer)
        for each in (tube, shown):
            del each["oldest_ready_age_seconds"]
        self.assertEqual(tube, shown)
        stats, metrics = client.yaml("stats-tube mail"), self.broker.metrics("?tubes=all")
        for state, count in (("ready", 2), ("reserved", 1), ("delayed", 1), ("buried", 1)):
            self.assertEqual([tube["jobs"][state], int(stats[f"current-jobs-{state}"]),
                              metrics.get("gearstalkd_tube_jobs", tube="mail", state=state)],
                             [count] * 3)
        asker = Client(self.broker.port)
        self.addCleanup(asker.close)
        status = dict(line.split("\t", 1) for line in asker.admin("status", table=True)[:-1])
        self.assertEqual(status["mail"], f"4\t1\t{tube['workers']}")

    def test_names_cannot_change_a_terminal(self) -> None:
        self.ctl("create", "a\x1b[31m\u202eb")
        shown = self.ctl("tubes")
        self.assertIn("a\\x1b[31m\\u202eb", shown)
        self.assertNotIn("\x1b", shown)


    def test_names_that_are_no_text(self) -> None:
        name, other = "\udcfe", "\udcff"  # as Python passes bytes that are no UTF-8
        for tube in (name, name, other):
            self.put(tube, "x")
        self.ctl("put", "mail", "x", "--unique", name, expect=REFUSED)
        self.ctl("policy", "mail", "attempts", name, expect=REFUSED)
        self.ctl("clear", name, "--yes")
        self.ctl("move", "3", "--to", name)
        self.ctl("copy", "--tube", name, "--to", other, "--yes")
        self.assertEqual([tube["jobs"]["ready"] for tube in self.json("tubes", "--only", "jobs")["items"]],
                         [1, 1])


class Server(WithBroker):
    def test_health_is_what_the_pages_say(self) -> None:
        self.assertEqual(self.ctl("health"), "ok\n")
        self.assertEqual(self.ctl("health", "--ready"), "ready\n")
        self.ctl("drain")
        self.assertEqual(self.ctl("health"), "ok\n")
        self.assertEqual(self.ctl("health", "--ready", expect=REFUSED), "draining\n")
        self.assertEqual(self.ctl("health", "--standby", expect=REFUSED), "draining\n")
        done = subprocess.run([CTL, "--server", "http://127.0.0.1:1", "health"], timeout=SECONDS,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, NOT_REACHABLE)

    def test_status_tells_what_needs_attention(self) -> None:
        number = self.put("mail", "x")
        self.ctl("bury", number)
        self.ctl("drain")
        shown = self.ctl("status", expect=REFUSED)
        self.assertIn("draining", shown)
        self.assertIn("1 buried", shown)
        self.assertNotIn("\x1b", shown)
        shown = self.ctl("--color", "always", "status", expect=REFUSED)
        self.assertIn("\x1b[1m", shown)
        # The broker looks at all tubes every ten seconds.
        eventually("a warning of the buried job", lambda: "\x1b[1m! buried: " in self.ctl(
            "--color", "always", "status", expect=REFUSED))
        self.ctl("drain", "--off")
        self.assertIn("ready", self.ctl("status"))

    def test_a_drain_can_wait_for_the_reserved_jobs(self) -> None:
        self.ctl("drain", "--wait", "5")

    def test_top_prints_one_frame_where_there_is_no_terminal(self) -> None:
        self.put("mail", "x")
        self.put("n" * 70, "x")
        self.assertIn("mail", self.ctl("top", "--once"))
        with unittest.mock.patch.dict(os.environ, COLUMNS="40"):
            lines = self.ctl("top", "--once").splitlines()
        self.assertLessEqual(max(map(len, lines)), 40, lines)
        self.assertTrue(any("nnn\u2026" in line for line in lines), lines)

    def test_running_tells_who_works_on_what(self) -> None:
        late, soon = self.put("mail", "x", "--ttr", "3600"), self.put("news", "x", "--ttr", "600")
        client = Client(self.broker.port)
        for tube in ("mail", "news"):
            client.say(f"watch {tube}")
        for _ in range(2):
            self.assertTrue(client.say("reserve").startswith("RESERVED"))
        lines = [line.split() for line in self.ctl("running").splitlines()]
        self.assertEqual([line[:2] for line in lines], [["TUBE", "JOB"], ["news", soon], ["mail", late]])
        self.assertEqual(lines[1][3], "127.0.0.1")
        self.assertEqual([job["id"] for job in self.json("running", "--tube", "mail")["items"]], [int(late)])
        shown = subprocess.run([CTL, "--server", f"http://{self.broker.admin}", "running", "--limit", "1"], timeout=SECONDS, capture_output=True,
                               text=True, check=True)
        self.assertEqual((len(shown.stdout.splitlines()), shown.stderr), (2, "gearstalkctl: the first 1 of 2\n"))
        client.close()

    def test_events_end_after_a_number(self) -> None:
        lines = self.ctl("--json", "events", "--count", "2").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(json.loads(lines[0])["event"], "server")

    def test_audit_tells_who_did_what(self) -> None:
        self.put("mail", "x")
        self.assertEqual(self.json("audit")["items"][0]["action"], "job.put")

    def test_history_is_a_line_of_blocks_or_csv(self) -> None:
        self.assertIn("jobs_ready", self.ctl("history", "jobs_ready"))
        self.assertTrue(self.ctl("history", "jobs_ready", "--csv").startswith("time,jobs_ready"))


class Calls(WithBroker):
    def test_wrong_calls_are_told(self) -> None:
        done = subprocess.run([CTL, "nonsense", "mail"], timeout=SECONDS, capture_output=True, check=False)
        self.assertEqual((done.returncode, b"'nonsense' is no command" in done.stderr), (BAD_CALL, True))
        self.ctl("peek", expect=BAD_CALL)
        self.ctl("pause", "mail", "0", expect=BAD_CALL)
        self.ctl("--at", "nowhere", "status", expect=BAD_CALL)
        for words in (["tubes", "--sort", "size"], ["tubes", "--order", "up"], ["top", "--sort", "x"],
                      ["tubes", "--only", "x"], ["tubes", "--limit", "0"], ["jobs", "--state", "x"],
                      ["jobs", "--state", "ready,"], ["jobs", "--order", "x"],
                      ["jobs", "--json-path", "$", "--json-value", "1", "--json-op", "like"],
                      ["peek", "1", "--as", "xml"], ["peek", "--tube", "t", "--state", "x"],
                      ["peek", "1", "--raw", "--as", "hex"], ["move", "1", "--to", "t", "--min-age", "5"],
                      ["copy", "1", "--to", "t", "--count", "1"],
                      ["connections", "--role", "x"], ["log-level", "loud"], ["token", "", "viewer"],
                      ["token", "an n", "viewer"], ["token", "ann", "viewer", "--tubes", "a b"],
                      ["--server", "ftp://127.0.0.1:1", "tubes"], ["--server", "http://", "tubes"]):
            self.ctl(*words, expect=BAD_CALL)
        self.ctl("jobs", "--state", "ready,buried")
        self.ctl("--help")
        self.ctl("jobs", "--help")

    def test_output_that_cannot_be_written_is_told(self) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([CTL, "version"], stdout=full, stderr=subprocess.PIPE, timeout=SECONDS,
                                  check=False)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn(b"standard output cannot be written", done.stderr)

    def test_problems_are_one_line_of_json(self) -> None:
        done = subprocess.run([CTL, "--server", f"http://{self.broker.admin}", "--json", "tube", "t"],
                              timeout=SECONDS, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (NOT_FOUND, b""))
        self.assertEqual(json.loads(done.stderr)["code"], "not-found")
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.put("many", "x")
        self.put("many", "x")
        for server, words, code, exit_code in (
                ("127.0.0.1:1", ["tubes"], "not-reachable", NOT_REACHABLE),
                (self.broker.admin, ["clear", "many", "--count", "1"], "count-mismatch", NOT_CONFIRMED)):
            done = subprocess.run([CTL, "--server", f"http://{server}", "--json", *words], timeout=SECONDS,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, json.loads(done.stderr)["code"]), (exit_code, code))

    def test_a_server_that_is_not_there_is_told(self) -> None:
        done = subprocess.run([CTL, "--server", "http://127.0.0.1:1", "status"], timeout=SECONDS,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, NOT_REACHABLE)
        self.assertIn(b"its option `admin:` names this address", done.stderr)

    def test_a_new_token_opens_what_its_line_allows(self) -> None:
        token, line = self.ctl("token", "ann", "viewer").splitlines()
        self.assertRegex(token, r"^gst_[A-Za-z0-9_-]{43}$")
        broker = Broker(BINARY, "--console-users", line)
        self.addCleanup(broker.stop)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "token")
            file.write_text(token + "\n")
            call = [CTL, "--server", f"http://{broker.admin}", "--json"]
            run = lambda *words: subprocess.run([*call, *words], capture_output=True, check=False,
                                                timeout=SECONDS)
            self.assertEqual(run("status").returncode, NOT_ALLOWED)
            with_token = run("--token-file", str(file), "whoami")
            self.assertEqual(json.loads(with_token.stdout)["user"], "ann")
            self.assertEqual(run("--token-file", str(file), "put", "t", "x").returncode, NOT_ALLOWED)
            # The flag, then the variable, then the configuration.
            config = Path(folder, "config.yaml")
            config.write_text(f"token_file: {file}\n")
            for variable, flag, user in ((None, [], "ann"), ("gst_wrong", [], None),
                                         ("gst_wrong", ["--token-file", str(file)], "ann")):
                known = {**os.environ, **({"GEARSTALKCTL_TOKEN": variable} if variable else {})}
                done = subprocess.run([*call, "--config", str(config), *flag, "whoami"], env=known,
                                      capture_output=True, timeout=SECONDS, check=False)
                self.assertEqual(json.loads(done.stdout)["user"], user)

    def test_status_for_who_sees_few_tubes_has_no_complaint(self) -> None:
        token, line = self.ctl("token", "ann", "viewer", "--tubes", "a*").splitlines()
        broker = Broker(BINARY, "--console-users", line)
        self.addCleanup(broker.stop)
        done = subprocess.run([CTL, "--server", f"http://{broker.admin}", "status"], capture_output=True,
                              env={**os.environ, "GEARSTALKCTL_TOKEN": token}, timeout=SECONDS, check=False)
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))
        self.assertNotIn(b"rates", done.stdout)

    def test_completions_are_read_by_bash(self) -> None:
        script = self.ctl("completion", "bash")
        check = subprocess.run(["bash", "-n"], input=script.encode(), timeout=SECONDS, check=False)
        self.assertEqual(check.returncode, 0)
        self.assertTrue(re.search(r"^#compdef gearstalkctl", self.ctl("completion", "zsh")))
        self.ctl("completion", "fish")


if __name__ == "__main__":
    unittest.main()
