#!/usr/bin/env python3
"""The recipes of docs/policies.md: recipes_test.py BROKER. Each is run with the lines of
configuration that the page prints."""

import re
import sys
import tempfile
import textwrap
import unittest
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from tube import (CAN_DO, GRAB_JOB, JOB_ASSIGN, JOB_CREATED, SUBMIT_JOB, SUBMIT_JOB_BG, WORK_FAIL,
                  Broker, Tube, until)

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"
PAGE = (Path(__file__).resolve().parents[2] / "docs/policies.md").read_text()


def sections() -> dict[str, str]:
    """By heading; the text above the first one is that of the empty heading."""
    parts = re.split(r"^## (.*)$", "## \n" + PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text: str, language: str = "yaml") -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for word, block in found if word == language]


class Recipe(unittest.TestCase):
    """One section of the page: its first block is the configuration."""

    heading = ""

    @classmethod
    def configuration(cls) -> str:
        block = blocks(sections()[cls.heading])[0]
        return "tubes:\n" + block if block.startswith("  - ") else block

    def setUp(self) -> None:
        self.start(self.configuration())

    def start(self, configuration: str) -> None:
        data = self.enterContext(tempfile.TemporaryDirectory(prefix="recipe-"))
        config = Path(data, "gearstalkd.yaml")
        config.write_text(configuration)
        self.broker = Broker(BINARY, "--config", str(config), "--data-dir", f"{data}/journal")
        self.addCleanup(self.broker.stop)

    def tube(self, name: str, **policy: str) -> Tube:
        return Tube(self, self.broker, name, **policy)

    def take(self, *tubes: str) -> str:
        worker = self.tube(tubes[0]).connect()
        for tube in tubes:
            worker.say(f"watch {tube}")
        return worker.say("reserve-with-timeout 0")


class Beginning(Recipe):
    def test_what_the_policy_line_shows(self) -> None:
        shown = self.tube("mail").connect().admin("policy mail", table=True)
        printed = blocks(sections()[""], "")[0].splitlines()[1:]
        self.assertEqual(printed.pop(-2), "...")
        for line in printed:
            self.assertIn(line, shown)
        self.assertIn("keep_buried\t30d\t*", shown)

    def test_an_administrator_is_above_the_file(self) -> None:
        admin = self.tube("mail").connect()
        for line, shown in (("policy mail attempts 7", "attempts\t7\tadmin"),
                            ("policy mail attempts default", "attempts\t5\tmail"),
                            ("policy mail default", "attempts\t5\tmail")):
            self.assertEqual(admin.admin(line), ["OK"])
            self.assertIn(shown, admin.admin("policy mail", table=True))


class Retries(Recipe):
    heading = '"A job that fails is lost, or comes back at once and fails again"'

    def fail_for_good(self, tube: Tube, job: int, event: str, worker: str) -> None:
        for attempt in range(1, 5):
            tube.end(event, worker, job)
            left = tube.job(job)
            self.assertEqual((left["state"], left["attempts"]), ("delayed", str(attempt)))
            backoff = 10 * 2 ** (attempt - 1)
            self.assertIn(int(left["delay"]), range(backoff * 8 // 10, backoff * 12 // 10 + 1))
            self.assertEqual(tube.seen.say(f"kick-job {job}"), "KICKED")
        tube.end(event, worker, job)

    def test_each_protocol(self) -> None:
        tube = self.tube("mail")
        job = tube.add("put")
        self.fail_for_good(tube, job, "fail", "gearman")
        self.assertEqual(tube.job(job)["state"], "buried")
        job = tube.add("foreground")
        self.fail_for_good(tube, job, "release", "beanstalk")
        self.assertEqual(tube.job(job), {})
        self.assertEqual(tube.heard(), WORK_FAIL)

    def with_line(self, line: str) -> Tube:
        self.broker.stop()
        self.doCleanups()
        self.start(self.configuration() + textwrap.indent(line, "    ") + "\n")
        return self.tube("mail")

    def test_my_workers_bury_on_every_error(self) -> None:
        line = "retry_on: [timeout, lost, fail, release, bury]"
        self.assertIn(f"`{line}`", sections()[self.heading])
        tube = self.with_line(line)
        job = tube.add("put")
        self.fail_for_good(tube, job, "bury", "beanstalk")
        self.assertEqual(tube.job(job)["cause"], '"buried"')

    def test_my_workers_release_to_run_the_job_again_later(self) -> None:
        tube = self.with_line("retry_on: [timeout, lost, fail]")
        job = tube.add("put")
        for _ in range(7):
            tube.end("release", "beanstalk", job)
            self.assertEqual(tube.job(job)["state"], "ready")

    def test_gearmand_drops_my_failed_job(self) -> None:
        for line, state, name in (("on_failure: bury", "buried", "mail"),
                                  ("on_failure: move", "buried", "mail.dead")):
            tube = self.with_line(line)
            job = tube.add("background")
            self.fail_for_good(tube, job, "fail", "gearman")
            self.assertEqual((tube.job(job)["state"], tube.job(job)["tube"]), (state, name))


class DeadLetters(Recipe):
    heading = '"Where do failed jobs go, and how do they come back?"'

    def test_to_the_dead_tube_and_home(self) -> None:
        tube = self.tube("mail", attempts="1")
        jobs = [tube.add("put"), tube.add("background")]
        tube.end("bury", "beanstalk", jobs[0])
        self.assertEqual(tube.job(jobs[0])["tube"], "mail", "a bury is no failure by itself")
        self.assertEqual(tube.seen.say(f"kick-job {jobs[0]}"), "KICKED")
        tube.end("release", "beanstalk", jobs[0])
        tube.end("exception", "gearman", jobs[1])
        tube.seen.say("use mail.dead")
        self.assertEqual(tube.seen.say("peek-buried"), f"FOUND {jobs[0]} 4")
        for job, cause in zip(jobs, ("released", "exception"), strict=True):
            dead = tube.job(job)
            self.assertEqual((dead["tube"], dead["cause"], dead["origin"]),
                             ("mail.dead", f'"{cause}"', '"mail"'))
        self.assertEqual(tube.seen.say("kick 100"), "KICKED 2")
        for job in jobs:
            home = tube.job(job)
            self.assertEqual((home["tube"], home["state"], home["attempts"]), ("mail", "ready", "0"))


class Retention(Recipe):
    heading = '"Buried jobs fill the memory", "old jobs must not run"'

    def test_no_more_than_so_many_stay_buried(self) -> None:
        most = 10_000
        client = self.tube("mail").connect()
        client.say("use mail")
        client.say("watch mail")
        work = b"put 0 0 60 1\r\nx\r\nreserve\r\nbury %d 0\r\n"
        for start in range(1, most + 2, 500):
            jobs = range(start, min(start + 500, most + 2))
            client.send(b"".join(work % job for job in jobs))
            for job in jobs:
                said = [client.answer() for _ in range(3)]
                self.assertEqual(said, [f"INSERTED {job}", f"RESERVED {job} 1", "BURIED"])
        tube = self.tube("mail")
        until(self, lambda: tube.seen.yaml("stats-tube mail")["current-jobs-buried"] == str(most))
        self.assertEqual(tube.seen.say("peek-buried"), "FOUND 2 1")

    def test_old_jobs_do_not_run(self) -> None:
        tube = self.tube("quotes")
        job = tube.add("put")
        self.assertIn(int(tube.job(job)["expires-in"]), range(500, 601))
        tube.set(expire_after="1s")
        soon = tube.add("background")
        until(self, lambda: tube.job(soon) == {})
        self.assertEqual(tube.job(job)["state"], "ready", "an expiry is fixed by the put")


class Equals(Recipe):
    heading = '"The same job is put twice"'
    body = '{"image": {"id": "a7"}}'

    def test_both_protocols_join_it(self) -> None:
        client = self.tube("thumbs").connect()
        client.say("use thumbs")
        client.say("watch thumbs")
        job = client.put(self.body)
        self.assertEqual(client.put('{"image": {"id": "a7"}, "size": 2}'), job)
        gearman = self.tube("thumbs").connect()
        said, parts = gearman.ask(SUBMIT_JOB_BG, b"thumbs", b"", self.body.encode())
        self.assertEqual((said, parts[0].endswith(b":%d" % job)), (JOB_CREATED, True))
        self.assertEqual(client.say("reserve"), f"RESERVED {job} {len(self.body)}")
        again = client.put(self.body)
        self.assertNotEqual(again, job, "what changes while the job runs is done again")
        self.assertEqual(client.say("reserve"), f"RESERVED {again} {len(self.body)}")
        for each in (again, job):
            self.assertEqual(client.say(f"delete {each}"), "DELETED")
        self.assertIn(client.put(self.body), (job, again), "its key stays taken")


class Floods(Recipe):
    heading = '"One customer floods the queue", "the API behind takes only so many calls"'

    @classmethod
    def configuration(cls) -> str:
        return super().configuration().replace("100/m", "100/h")  # none is due before the test ends

    def test_turns_by_weight(self) -> None:
        for name in ("gold.a", "others"):
            tube = self.tube(name)
            for _ in range(6):
                tube.add("put")
        worker = self.tube("gold.a").connect()
        for name in ("gold.a", "others"):
            worker.say(f"watch {name}")
        taken = [self.tube("x").job(int(worker.say("reserve").split()[1]))["tube"] for _ in range(8)]
        self.assertEqual(taken.count("gold.a"), 6)

    def held_back(self, name: str, most: int, why: str) -> None:
        tube = self.tube(name)
        jobs = [tube.add("put") for _ in range(most + 1)]
        worker = tube.connect()
        worker.say(f"watch {name}")
        for job in jobs[:most]:
            self.assertEqual(worker.say("reserve-with-timeout 0"), f"RESERVED {job} 4")
        self.assertEqual(worker.say("reserve-with-timeout 0"), "TIMED_OUT")
        gearman = tube.connect()
        gearman.packet(CAN_DO, name.encode())
        self.assertNotEqual(gearman.ask(GRAB_JOB)[0], JOB_ASSIGN)
        self.assertEqual(tube.seen.yaml(f"stats-tube {name}")["held-back"], why)
        self.assertEqual(worker.say(f"reserve-job {jobs[-1]}"), f"RESERVED {jobs[-1]} 4")

    def test_so_many_at_a_time(self) -> None:
        self.held_back("thumb.s", 8, "running")

    def test_so_many_a_minute(self) -> None:
        self.held_back("sms", 5, "rate")

    def test_no_job_that_is_too_large(self) -> None:
        client = self.tube("sms").connect()
        client.say("use sms")
        self.assertEqual(client.say("put 0 0 60 10001\r\n" + "x" * 10001), "JOB_TOO_BIG")
        self.assertGreater(client.put("x" * 10000), 0)


class Copies(Recipe):
    heading = '"Every put must also reach another tube"'

    def test_all_get_it_or_none(self) -> None:
        tube = self.tube("orders")
        tube.add("put")
        client = tube.connect()
        self.assertEqual(client.ask(SUBMIT_JOB, b"orders", b"", b"by Gearman")[0], JOB_CREATED)
        for name in ("orders", "audit", "stats"):
            self.assertEqual(tube.seen.yaml(f"stats-tube {name}")["current-jobs-ready"], "2", name)
        self.tube("audit", max_jobs="2")
        self.assertEqual(tube.seen.say("put 0 0 1 1\r\nx"), "OUT_OF_MEMORY")
        self.assertEqual(tube.seen.yaml("stats-tube orders")["current-jobs-ready"], "2")


class Schedules(Recipe):
    heading = '"This must run every night, once"'

    def test_the_plan_and_a_run(self) -> None:
        tube = self.tube("reports")
        admin = tube.connect()
        fields = admin.admin("schedules", table=True)[0].split("\t")
        self.assertEqual((fields[0], fields[1], fields[-1]), ("nightly", "reports", "on"))
        planned = datetime.fromtimestamp(int(fields[2]), ZoneInfo("Europe/Berlin"))
        self.assertIn((planned.hour, planned.minute), {(2, 30), (3, 0)})
        self.assertEqual(admin.admin("schedule nightly run"), ["OK"])
        tube.seen.send(b"peek-ready\r\n")
        body = tube.seen.body(int(tube.seen.line().split()[2]) + 2)
        self.assertRegex(body, rb'^\{"kind": "nightly", "at": "\d{4}-\d\d-\d\dT.*"\}\r\n$')
        self.assertRegex(admin.admin("schedule nightly run")[0], "^ERR STILL_RUNNING ")
        worker, handle = tube.take("gearman")
        worker.packet(WORK_FAIL, handle)
        self.assertEqual(admin.admin("schedule nightly off"), ["OK"])
        self.assertEqual(admin.admin("schedules", table=True)[0].split("\t")[-1], "off")


class Page(unittest.TestCase):
    def test_each_recipe_is_run(self) -> None:
        run = {each.heading for each in Recipe.__subclasses__()}
        self.assertEqual({heading for heading, text in sections().items() if blocks(text)}, run)


if __name__ == "__main__":
    unittest.main()
