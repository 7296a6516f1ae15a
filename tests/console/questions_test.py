#!/usr/bin/env python3
"""The five questions of every day, each answered in two clicks at most from the overview: questions_test.py BROKER."""

import re
import sys
from pathlib import Path

from case import main
from scene import Scene

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import Client  # noqa: E402


def seconds_of(duration: str) -> float:
    """Of a duration as the console writes it."""
    units = {"ms": 0.001, "s": 1, "m": 60}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)\s?(ms|s|m)", duration))


class Questions(Scene):
    def setUp(self) -> None:
        self.browser.size(1280)
        self.clicks = 0
        self.browser.open("#/", "overview")

    def click(self, selector: str, page: str) -> None:
        self.clicks += 1
        self.assertLessEqual(self.clicks, 2)

        def clicked() -> bool:
            self.browser.css(selector)[0].click()
            return True
        self.browser.until_possible(selector, clicked)
        self.browser.on(page)

    def test_which_tube_is_stuck_and_why(self) -> None:
        said = self.concern("unserved")
        self.assertTrue(said.startswith("3 ready jobs in 1 tube without a worker"), said)
        self.assertEqual(said.splitlines()[1], "alone")
        self.assertIn("stopped", self.concern("paused"))
        self.assertIn("narrow", self.concern("held_back"))
        self.browser.shot("attention-1280")
        self.click('[data-kind="unserved"] small a', "tube")
        self.assertEqual(self.browser.text("tube-name"), "alone")
        self.assertIn("3 ready jobs, no worker", self.browser.text("tube-attention"))
        for kind, reason in (("held_back", "max_running"), ("paused", "paused for another")):
            self.clicks = 0
            self.browser.open("#/", "overview")
            self.concern(kind)
            self.click(f'[data-kind="{kind}"] small a', "tube")
            self.assertIn(reason, self.browser.text("tube-attention"))

    def test_who_is_working_on_what(self) -> None:
        self.click('[data-testid="nav-running"]', "running")
        row = self.browser.text("running-row")
        for word in ("narrow", str(self.running), "127.0.0.1", "ago"):
            self.assertIn(word, row)
        times = re.search(r"((?:\d+m )?[\d.]+\s?m?s) ago\s+(.+)$", row)
        self.assertIsNotNone(times, row)
        self.assertAlmostEqual(sum(map(seconds_of, times.groups())), 600, delta=1)
        self.browser.shot("running-questions-1280")

    def test_what_failed_in_the_last_hour(self) -> None:
        self.click('[data-testid="nav-failures"]', "failures")
        self.click('[role="group"] button', "failures")
        self.assertEqual(self.browser.css('[role="group"] [aria-pressed="true"]')[0].text, "1 h")
        groups = [row.text for row in self.browser.all("failure-group")]
        self.assertEqual(len(groups), 2)
        self.assertIn("mail", groups[0])
        self.assertIn("exception", groups[0])
        rows = self.browser.all("failure-row")
        self.assertEqual([int(row.get_attribute("data-id")) for row in rows], self.failed[::-1])
        self.assertIn("timeout of smtp.example.net", rows[1].text)
        self.assertEqual(self.browser.text("ctl-line"), "gearstalkctl failures --since 1h")
        self.browser.shot("failures-1280")
        self.browser.size(390, 844)
        self.assertTrue(self.browser.script("return document.documentElement.scrollWidth <= innerWidth"))
        self.browser.shot("failures-390")

    def test_did_every_schedule_run(self) -> None:
        self.assertIn("hasty", self.concern("schedules"))
        self.click('[data-kind="schedules"] .btn', "schedules")
        rows = {row.text.split()[0]: row.text for row in self.browser.all("schedule-row")}
        self.assertIn("every day, at 03:00", rows["nightly"])
        self.assertIn("every 1 s", rows["hasty"])

    def test_is_the_broker_well(self) -> None:
        self.served.ask("PUT", "server/draining", {"draining": True})
        client = Client(self.served.port)
        client.send(b"put 0 0 1 1\r\nx\r\n")
        self.assertEqual(client.line(), "DRAINING")
        client.close()
        try:
            self.assertIn("no new jobs are taken", self.concern("draining"))
            self.assertIn("draining (1)", self.concern("refused"))
            self.click('[data-kind="refused"] .btn', "server")
            self.browser.says("refused-row", "jobs while the broker drains")
        finally:
            self.served.ask("PUT", "server/draining", {"draining": False})

    def test_a_group_is_retried_and_deleted_with_its_number(self) -> None:
        jobs = [self.failing("mail.later", b"again") for _ in range(2)]
        self.browser.open("#/failures?match=mail.later", "failures")
        self.browser.says("failure-group", "mail.later")
        self.browser.click("group-retry")
        self.browser.says("dialog", "Kick 2 jobs?")
        self.browser.click("confirm-ok")
        self.browser.told("Kicked 2 jobs")
        self.browser.find("failures-empty")
        for job in jobs:
            self.served.ask("POST", f"jobs/{job}/bury")
        self.browser.says("failure-group", "buried")
        self.browser.click("group-delete")
        self.browser.fill("confirm-count", "2")
        self.browser.click("confirm-ok")
        self.browser.told("Deleted 2 jobs")
        self.browser.find("failures-empty")


if __name__ == "__main__":
    main()
