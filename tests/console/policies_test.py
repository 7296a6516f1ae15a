#!/usr/bin/env python3
"""Policies, dead jobs, schedules and transfers in the console: policies_test.py BROKER."""

import sys
from pathlib import Path

from case import ConsoleTest, main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import Client  # noqa: E402
from transfer_protocol import hold  # noqa: E402

CONFIGURATION = """
tubes:
  - {match: frail, attempts: 1, on_failure: move, retry_on: "release,timeout"}
  - {match: "thumbs*", group: line, group_running: 1}
schedules: [{name: nightly, tube: reports, cron: "0 3 * * *", body: x}]
"""


class Policies(ConsoleTest):
    CONFIGURATION = CONFIGURATION

    def setUp(self) -> None:
        self.browser.size(1280, 1000)

    def dead(self) -> int:
        """A job that its tube sent away after its only attempt."""
        job = self.served.put("frail", "x")
        client = Client(self.served.port)
        client.say("watch frail")
        while int(client.say("reserve").split()[1]) != job:
            pass
        self.assertEqual(client.say(f"release {job} 0 0"), "RELEASED")
        client.close()
        self.assertEqual(self.served.ask("GET", f"jobs/{job}")["origin"], "frail")
        return job

    def test_a_dead_job_goes_home(self) -> None:
        job = self.dead()
        self.browser.open(f"#/jobs/{job}", "job")
        self.browser.click("job-home")
        self.browser.told(f"Job {job} is in frail now")
        home = self.served.ask("GET", f"jobs/{job}")
        self.assertEqual((home["tube"], home["state"], home["attempts"], home["cause"]), ("frail", "ready", 0, None))
        self.browser.until("what becomes of it", lambda: "moved to the dead tube" in self.browser.said())

    def test_a_tube_shows_its_policy_and_what_became_of_its_jobs(self) -> None:
        self.dead()
        self.served.put("frail", "x")
        self.browser.open("#/tubes/frail?state=ready", "tube")
        self.browser.until("the policy", lambda: "attempts" in self.browser.text("policy"))
        self.browser.until("the number of dead jobs", lambda: "dead" in [
            each.text for each in self.browser.css("dl.record dt")])
        self.browser.shot("policy-1280")

    def test_a_tube_shows_its_groups(self) -> None:
        for group in ("ann", "ann", "ann", "bob", "bob"):
            self.served.put("thumbs", f"{group}\n")
        lone = self.served.put("thumbs", "")
        client = Client(self.served.port)
        self.addCleanup(client.close)
        client.say("watch thumbs")
        self.assertTrue(client.say("reserve").startswith("RESERVED"))  # of ann, the first
        self.browser.open("#/tubes/thumbs?state=ready", "tube")
        self.browser.until("their number", lambda: "2" in self.browser.text("tab-groups"))
        self.browser.click("tab-groups")
        self.browser.until("their rows", lambda: len(self.browser.all("group-row")) == 3)
        rows = [row.find_element("css selector", ".title").text.replace("\n", " ") for row in self.browser.all("group-row")]
        self.assertEqual(rows, ["ann as many run as may", "bob", "without a group"])
        self.assertEqual(self.browser.text("ctl-line"), "gearstalkctl groups thumbs --sort ready")
        wide = self.browser.script("return [...document.querySelectorAll('.sized')].map((bar) => bar.style.width)")
        self.assertEqual(wide, ["100%", "67%", "33%"])
        self.browser.shot("groups-1280")
        self.browser.click("sort-name")
        self.browser.until("by name", lambda: self.browser.all("group-row")[0].text.startswith("without"))
        self.browser.size(390, 844)
        self.assertTrue(self.browser.script("return document.documentElement.scrollWidth <= innerWidth"))
        self.browser.shot("groups-390")
        self.browser.css('[data-testid="group-row"] .title a')[1].click()
        self.browser.until("its jobs", lambda: self.listed() == [lone - 4, lone - 3])
        self.assertIn("group ann", self.chips())

    def test_the_jobs_without_a_group_are_a_list_of_their_own(self) -> None:
        self.served.put("thumbs.large", "ann\n")
        lone = [self.served.put("thumbs.large", "\n") for _ in range(2)]
        self.browser.open("#/tubes/thumbs.large?state=groups", "tube")
        self.browser.until("the row", lambda: [row.text for row in self.browser.css('[data-testid="group-row"] .title .dim')] == ["without a group"])
        self.browser.css('[data-testid="group-row"] .title .dim')[0].click()
        self.browser.until("its jobs", lambda: self.listed() == lone)
        self.assertEqual(self.chips(), ["without a group"])
        self.assertEqual(self.browser.text("ctl-line"), "gearstalkctl jobs thumbs.large --state ready --group ''")
        self.browser.fill("filter-min-reserves", "1")
        self.browser.click("filter-apply")
        self.browser.until("none", lambda: self.browser.css('[data-testid="jobs-empty"]'))
        self.assertEqual(self.chips(), ["reserves ≥ 1", "without a group"])
        self.browser.click("filter-clear")
        self.browser.until("all", lambda: self.listed() == [lone[0] - 1, *lone])

    def listed(self) -> list[int]:
        return [int(row.get_attribute("data-id")) for row in self.browser.all("job-row")]

    def chips(self) -> list[str]:
        return [chip.text.rstrip("×").strip() for chip in self.browser.all("chip")]

    def test_a_tube_without_jobs_in_groups_says_so(self) -> None:
        self.served.put("plain", "x")
        self.browser.open("#/tubes/plain", "tube")
        self.browser.find("job-row")
        self.assertEqual(self.browser.css('[data-testid="tab-groups"]'), [])
        self.browser.open("#/tubes/plain?state=groups", "tube")
        self.browser.find("groups-empty")

    def test_a_schedule_is_switched_and_run(self) -> None:
        self.browser.open("#/schedules", "schedules")
        row = self.browser.find("schedule-row")
        run, switch = row.find_elements("css selector", "button")
        run.click()
        self.browser.until("the job", lambda: self.served.count("reports", "ready") == 1)
        switch.click()
        self.browser.until("off", lambda: not self.served.ask("GET", "schedules")["items"][0]["enabled"])

    def test_a_transfer_is_committed(self) -> None:
        hold(self.served.port, "beanstalk://10.0.0.7:11300", 3)
        self.browser.open("#/server", "server")
        self.browser.until("the transfer", lambda: self.browser.css('[data-testid="transfers"] button'))
        self.browser.shot("transfers-1280")
        self.browser.css('[data-testid="transfers"] button')[0].click()
        self.browser.fill("confirm-count", "3")
        self.browser.click("confirm-ok")
        self.browser.until("the jobs", lambda: self.served.count("in", "ready") == 3)
        self.browser.until("no transfer", lambda: not self.browser.css('[data-testid="transfers"]'))


if __name__ == "__main__":
    main()
