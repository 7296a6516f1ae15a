#!/usr/bin/env python3
"""What becomes of a job that ends badly, and what policies do beside other states of a tube:
cells_test.py BROKER. Raw bytes of both protocols, on both sides of a job."""

import itertools
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

from tube import ECHO_RES, EVENTS, PRODUCERS, WORK_FAIL, Broker, Client, Tube, until

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"

def cells():
    for event, producer in itertools.product(EVENTS, PRODUCERS):
        for worker in EVENTS[event].workers:
            yield event, producer, worker


class Attempts(unittest.TestCase):
    """Section "Attempts" of docs/policies.md: each event, producer and worker."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.broker = Broker(BINARY)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.broker.stop()

    def each(self, column: str, check, **policy: str) -> None:
        """Runs each case to the bad end of its job, all at a time, and checks what is left of it."""
        cases = []
        for number, (event, producer, worker) in enumerate(cells()):
            word = EVENTS[event].word
            other = "lost" if word != "lost" else "fail"
            own = {key: value.format(word=word, other=other) for key, value in policy.items()}
            ttr = 1 if event == "timeout" else 3600
            tube = Tube(self, self.broker, f"{column}{number}", ttr=str(ttr), **own)
            job = tube.add(producer, ttr)
            tube.end(event, worker, job)
            cases.append((event, producer, worker, tube, job))
        for event, producer, worker, tube, job in cases:
            with self.subTest(event=event, producer=producer, worker=worker):
                tube.until_ended(job)
                check(event, producer, tube, tube.job(job))

    def ended_as_ever(self, event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
        if event in ("timeout", "lost", "release"):
            self.assertEqual(job["state"], "ready")
        elif event == "bury":
            self.assertEqual((job["state"], job["cause"]), ("buried", '"buried"'))
        elif producer == "put":
            self.assertEqual(job["state"], "buried")
        else:
            self.assertEqual(job, {})
        if event in ("release", "bury"):
            self.assertEqual(job["pri"], "77")
        if producer == "foreground":
            kept = event in ("timeout", "lost", "release")
            self.assertEqual(tube.heard(), ECHO_RES if kept else WORK_FAIL)

    def test_without_a_policy_of_attempts(self) -> None:
        self.each("none", self.ended_as_ever)

    def test_an_end_that_retry_on_does_not_name(self) -> None:
        self.each("other", self.ended_as_ever, attempts="5", backoff="1h", retry_on="{other}")

    def test_attempts_are_left(self) -> None:
        def check(event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
            self.assertEqual((job["state"], job["delay"], job["attempts"]), ("delayed", "3600", "1"))
            self.assertEqual(job["cause"], f'"{EVENTS[event].cause}"')
            self.assertIn(int(job["time-left"]), range(3500, 3601))
            if event in ("release", "bury"):
                self.assertEqual(job["pri"], "77")
                self.assertEqual(job["buries"], "0")
            if producer == "foreground":
                self.assertEqual(tube.heard(), ECHO_RES)

        self.each("left", check, attempts="2", backoff="1h", retry_on="{word}")

    def test_without_a_backoff_it_is_ready_at_once(self) -> None:
        def check(event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
            self.assertEqual((job["state"], job["attempts"]), ("ready", "1"))

        self.each("at-once", check, attempts="2", retry_on="{word}")

    def test_the_last_attempt(self) -> None:
        def check(event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
            if producer == "put":
                self.assertEqual((job["state"], job["attempts"]), ("buried", "1"))
                self.assertEqual(job["cause"], f'"{EVENTS[event].cause}"')
            else:
                self.assertEqual(job, {})
            if producer == "foreground":
                self.assertEqual(tube.heard(), WORK_FAIL)

        self.each("last", check, attempts="1", retry_on="{word}")

    def test_the_last_attempt_is_kept(self) -> None:
        def check(event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
            if producer == "foreground":
                self.assertEqual((job, tube.heard()), ({}, WORK_FAIL))
            else:
                self.assertEqual((job["state"], job["cause"]),
                                 ("buried", f'"{EVENTS[event].cause}"'))

        self.each("kept", check, attempts="1", retry_on="{word}", on_failure="bury")

    def test_the_last_attempt_is_deleted(self) -> None:
        def check(event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
            self.assertEqual(job, {})

        self.each("deleted", check, attempts="1", retry_on="{word}", on_failure="delete")

    def test_the_last_attempt_moves(self) -> None:
        for state in ("buried", "ready"):
            def check(event: str, producer: str, tube: Tube, job: dict[str, str]) -> None:
                if producer == "foreground":
                    self.assertEqual((job, tube.heard()), ({}, WORK_FAIL))
                    return
                self.assertEqual((job["tube"], job["state"]), (f"{tube.name}.dead", state))
                self.assertEqual(job["origin"], f'"{tube.name}"')
                self.assertEqual(job["cause"], f'"{EVENTS[event].cause}"')

            self.each(f"moved-{state}", check, attempts="1", retry_on="{word}",
                      on_failure="move", dead_state=state)

    def test_a_release_waits_the_longer_of_both(self) -> None:
        for delay, waits in ((7200, "7200"), (1, "3600")):
            tube = Tube(self, self.broker, f"longer{delay}", attempts="2", backoff="1h")
            job = tube.add("put")
            tube.end("release", "beanstalk", job, delay)
            self.assertEqual(tube.job(job)["delay"], waits)

    def test_a_wait_is_a_delay_to_all_verbs(self) -> None:
        tube = Tube(self, self.broker, "waits", attempts="9", backoff="1h")
        job = tube.add("put")
        for verb, answer in ((f"kick-job {job}", "KICKED"), ("kick 1", "KICKED 1")):
            tube.end("release", "beanstalk", job)
            self.assertEqual(tube.seen.say("peek-delayed"), f"FOUND {job} 4")
            self.assertEqual(tube.seen.say(verb), answer)
            self.assertEqual(tube.job(job)["state"], "ready")
        self.assertEqual(tube.job(job)["attempts"], "2", "a kick ends only the wait")
        tube.end("release", "beanstalk", job)
        taker = tube.connect()
        self.assertEqual(taker.say(f"reserve-job {job}"), f"RESERVED {job} 4")
        self.assertEqual(taker.say(f"delete {job}"), "DELETED")

    def test_a_kick_of_a_buried_job_begins_anew(self) -> None:
        tube = Tube(self, self.broker, "anew", attempts="1")
        job = tube.add("put")
        tube.end("release", "beanstalk", job)
        self.assertEqual(tube.seen.say("kick 1"), "KICKED 1")
        left = tube.job(job)
        self.assertEqual((left["state"], left["attempts"], left["cause"]), ("ready", "0", '""'))

    def test_the_key_of_a_waiting_job_stays_taken(self) -> None:
        tube = Tube(self, self.broker, "key", attempts="2", backoff="1h", unique="body")
        job = tube.add("put")
        tube.end("release", "beanstalk", job)
        self.assertEqual(tube.add("put"), job)
        self.assertEqual(tube.add("background"), job)


class Meetings(unittest.TestCase):
    """What meets what: policies next to pauses, drains, limits, restarts."""

    def setUp(self) -> None:
        self.data = self.enterContext(tempfile.TemporaryDirectory(prefix="policies-"))
        self.config = Path(self.data, "gearstalkd.yaml")
        self.config.write_text("")
        self.broker = self.start()

    def tearDown(self) -> None:
        self.broker.kill()

    def start(self) -> Broker:
        return Broker(BINARY, "--config", str(self.config), "--data-dir", f"{self.data}/journal")

    def restart(self) -> None:
        self.tearDown()
        self.broker = self.start()

    def test_a_pause_ends_no_wait_and_no_expiry(self) -> None:
        waits = Tube(self, self.broker, "waits", attempts="5", backoff="1s")
        job = waits.add("put")
        waits.end("release", "beanstalk", job)
        expires = Tube(self, self.broker, "expires", expire_after="1s")
        gone = expires.add("background")
        for tube in (waits, expires):
            self.assertEqual(tube.seen.say(f"pause-tube {tube.name} 3600"), "PAUSED")
        until(self, lambda: waits.job(job)["state"] == "ready")
        until(self, lambda: expires.job(gone) == {})
        taker = waits.connect()
        taker.say("watch waits")
        self.assertEqual(taker.say("reserve-with-timeout 0"), "TIMED_OUT")

    def test_a_drain_lets_retries_moves_and_kicks_go_on(self) -> None:
        tube = Tube(self, self.broker, "t", attempts="1", on_failure="move")
        first, second = tube.add("put"), tube.add("background")
        self.broker.process.send_signal(signal.SIGUSR1)
        until(self, lambda: self.broker.get("/readyz")[0] == 503)
        tube.end("release", "beanstalk", first)
        tube.end("fail", "gearman", second)
        for job in (first, second):
            self.assertEqual(tube.job(job)["tube"], "t.dead")
        tube.seen.say("use t.dead")
        self.assertEqual(tube.seen.say("kick 9"), "KICKED 2")
        self.assertEqual(tube.job(first)["tube"], "t")

    def test_limits_count_what_waits_and_not_what_is_dead(self) -> None:
        tube = Tube(self, self.broker, "t", max_jobs="1", attempts="2", backoff="1h",
                    on_failure="move")
        job = tube.add("put")
        tube.end("release", "beanstalk", job)
        self.assertEqual(tube.seen.say("put 0 0 1 1\r\nx"), "OUT_OF_MEMORY")
        self.assertEqual(tube.seen.say(f"kick-job {job}"), "KICKED")
        tube.end("release", "beanstalk", job)
        self.assertEqual(tube.job(job)["tube"], "t.dead")
        other = tube.add("put")
        self.assertEqual(tube.seen.say(f"kick-job {job}"), "KICKED")
        self.assertEqual((tube.job(job)["tube"], tube.job(other)["tube"]), ("t", "t"))

    def test_each_dead_job_is_kicked_to_its_own_home(self) -> None:
        jobs = {}
        for name in ("a", "b"):
            tube = Tube(self, self.broker, name, attempts="1", on_failure="move", dead_tube="dead")
            jobs[name] = tube.add("put")
            tube.end("release", "beanstalk", jobs[name])
        tube.seen.say("use dead")
        self.assertEqual(tube.seen.say("kick 9"), "KICKED 2")
        for name, job in jobs.items():
            left = tube.job(job)
            self.assertEqual((left["tube"], left["state"], left["origin"]), (name, "ready", '""'))

    def test_a_dead_job_does_not_move_again(self) -> None:
        tube = Tube(self, self.broker, "t", attempts="1", on_failure="move", dead_state="ready")
        dead = Tube(self, self.broker, "t.dead", attempts="1", on_failure="move")
        job = tube.add("put")
        tube.end("release", "beanstalk", job)
        dead.end("release", "beanstalk", job)
        left = dead.job(job)
        self.assertEqual((left["tube"], left["state"]), ("t.dead", "buried"))

    def test_a_foreground_job_that_nobody_hears_goes_at_its_next_end(self) -> None:
        tube = Tube(self, self.broker, "t", attempts="9", backoff="1h")
        job = tube.add("foreground")
        taker, handle = tube.take("gearman")
        tube.client.close()
        until(self, lambda: self.job_has_no_waiters(handle))
        taker.packet(WORK_FAIL, handle)
        until(self, lambda: tube.job(job) == {})

    def job_has_no_waiters(self, handle: bytes) -> bool:
        admin = Client(self.broker.port)
        lines = admin.admin("show jobs", table=True)
        admin.close()
        return any(line.split("\t")[0] == handle.decode() and line.split("\t")[2] == "1"
                   for line in lines)

    def test_all_of_it_survives_a_kill(self) -> None:
        waits = Tube(self, self.broker, "waits", attempts="3", backoff="1h")
        waiting = waits.add("put")
        waits.end("release", "beanstalk", waiting)
        fails = Tube(self, self.broker, "fails", attempts="1", on_failure="move")
        dead = fails.add("background")
        fails.end("exception", "gearman", dead)
        keeps = Tube(self, self.broker, "keeps", unique="body", unique_for="1d")
        keyed = keeps.add("put")
        taker, _ = keeps.take("beanstalk")
        self.assertEqual(taker.say(f"delete {keyed}"), "DELETED")
        lives = Tube(self, self.broker, "lives", expire_after="1h", attempts="5", backoff="1h")
        living = lives.add("background")
        running = lives.take("gearman")
        self.restart()
        tube = Tube(self, self.broker, "waits")
        left = tube.job(waiting)
        self.assertEqual((left["state"], left["attempts"], left["cause"]),
                         ("delayed", "1", '"released"'))
        self.assertIn(int(left["time-left"]), range(3400, 3601))
        left = tube.job(dead)
        self.assertEqual((left["tube"], left["origin"], left["cause"], left["attempts"]),
                         ("fails.dead", '"fails"', '"exception"', "1"))
        left = tube.job(living)
        self.assertEqual((left["state"], left["attempts"]), ("ready", "0"), "no attempt counts")
        self.assertIn(int(left["expires-in"]), range(3400, 3601))
        self.assertEqual(Tube(self, self.broker, "keeps").add("put"), keyed)
        del running

    def test_what_is_past_its_time_is_handed_out_no_more(self) -> None:
        tube = Tube(self, self.broker, "t", expire_after="1s")
        job = tube.add("background")
        self.broker.kill()
        time.sleep(1.1)
        self.broker = self.start()
        tube = Tube(self, self.broker, "t")
        taker = tube.connect()
        taker.say("watch t")
        self.assertEqual(taker.say("reserve-with-timeout 0"), "TIMED_OUT")
        self.assertEqual(tube.job(job), {})

    def test_schedules_are_planned_when_the_broker_is_ready(self) -> None:
        self.config.write_text("schedules:\n  - {name: s, every: 1h, tube: t}\n")
        for _ in range(5):
            self.restart()
            admin = Client(self.broker.port)
            next_time = int(admin.admin("schedules", table=True)[0].split("\t")[2])
            admin.close()
            self.assertEqual(next_time % 3600, 0)
            self.assertGreater(next_time, 0)

    def test_an_entry_that_goes_leaves_its_jobs(self) -> None:
        self.config.write_text("tubes:\n  - match: t\n    attempts: 1\n    on_failure: move\n"
                               "  - match: waits\n    attempts: 3\n    backoff: 1h\n")
        self.restart()
        tube = Tube(self, self.broker, "t")
        dead = tube.add("put")
        tube.end("release", "beanstalk", dead)
        waits = Tube(self, self.broker, "waits")
        waiting = waits.add("put")
        waits.end("release", "beanstalk", waiting)
        self.config.write_text("")
        self.broker.process.send_signal(signal.SIGHUP)
        until(self, lambda: "attempts\t0\tdefault" in self.policy("t"))
        self.assertEqual(waits.job(waiting)["state"], "delayed")
        self.assertEqual(tube.job(dead)["origin"], '"t"')
        self.assertEqual(tube.seen.say(f"kick-job {dead}"), "KICKED")
        self.assertEqual(tube.job(dead)["tube"], "t")

    def policy(self, tube: str) -> list[str]:
        admin = Client(self.broker.port)
        lines = admin.admin(f"policy {tube}", table=True)
        admin.close()
        return lines


if __name__ == "__main__":
    unittest.main()
