#!/usr/bin/env python3
"""What users do in the console, by mouse and by keyboard alone: acts_test.py BROKER."""

import re
import signal
import time

from browser import key
from case import ConsoleTest, main

JOB_ASKED = 5  # seconds between two questions of a job's page


class Acts(ConsoleTest):
    def setUp(self) -> None:
        self.browser.size(1280, 1000)

    def rows(self, count: int) -> None:
        self.browser.until(f"{count} rows", lambda: len(self.browser.all("job-row")) == count)

    def tube(self, name: str, state: str) -> None:
        self.browser.open(f"#/tubes/{name}?state={state}", "tube")
        self.browser.find("tube-name")

    def buried(self, tube: str, body: str) -> int:
        """A job whose page is open."""
        job = self.served.bury(tube, body)
        self.browser.open(f"#/jobs/{job}", "job")
        return job

    def test_put(self) -> None:
        self.served.put("put", "first")
        self.tube("put", "ready")
        self.rows(1)
        self.browser.click("tube-put")
        self.browser.fill("put-body", '{"hello": "<b>there</b>"}')
        self.browser.fill("put-priority", "7")
        self.browser.fill("put-ttr", "1m30s")
        self.browser.fill("put-unique", "only one")
        self.browser.click("confirm-ok")
        self.browser.told("put")
        self.browser.gone("dialog")
        self.rows(2)
        self.assertEqual(self.served.count("put", "ready"), 2)
        jobs = self.served.ask("GET", "tubes/put/jobs?preview=1")["items"]
        self.assertEqual([(job["priority"], job["ttr_seconds"], job["unique"], job["preview"]) for job in jobs][1],
                         (7, 90, "only one", '{"hello": "<b>there</b>"}'))

    def test_filter(self) -> None:
        for number in range(4):
            self.served.put("filter", f"body {number}")
        self.tube("filter", "ready")
        self.rows(4)
        self.browser.fill("filter-text", "body 2")
        self.browser.click("filter-apply")
        self.rows(1)
        self.assertIn("text=body+2", self.browser.driver.current_url)
        self.assertIn("text=body+2", self.browser.text("api-path"))
        self.assertIn("--text 'body 2'", self.browser.text("ctl-line"))
        self.browser.says("chip", "body 2")
        self.browser.fill("filter-text", "none has this")
        self.browser.click("filter-apply")
        self.browser.find("jobs-empty")
        self.browser.click("filter-clear")
        self.rows(4)
        self.assertFalse(self.browser.there("chip"))
        self.browser.fill("filter-min-reserves", "1")
        self.browser.click("filter-apply")
        self.browser.find("jobs-empty")
        self.browser.click("filter-clear")
        self.rows(4)

    def test_ages_are_written_as_people_do(self) -> None:
        self.served.put("ages", "x")
        self.tube("ages", "ready")
        self.rows(1)
        self.browser.css('form.filter [aria-expanded="false"]')[0].click()
        field = self.browser.until("the field", lambda: self.browser.css('[name="min_age_seconds"]'))[0]
        field.send_keys("1h 30m", key("ENTER"))
        self.browser.find("jobs-empty")
        self.browser.says("chip", "90m")
        self.assertIn("min_age_seconds=5400", self.browser.driver.current_url)
        self.assertIn("--min-age 5400", self.browser.text("ctl-line"))

    def test_selected_jobs(self) -> None:
        for number in range(3):
            self.served.bury("selected", f"body {number}")
        self.tube("selected", "buried")
        self.rows(3)
        self.assertFalse(self.browser.there("bulk-kick"))
        self.browser.click("job-select", 1)
        self.browser.says("selected-count", "1")
        self.browser.click("bulk-kick")
        self.browser.told("Kicked 1 job")
        self.rows(2)
        self.assertEqual(self.served.count("selected", "ready"), 1)
        self.browser.gone("selected-count")  # its jobs are gone, so the selection is
        self.browser.click("select-page")
        self.browser.says("selected-count", "2")
        self.browser.click("bulk-kick")
        self.browser.says("dialog-text", "Kick 2 jobs")
        self.browser.click("confirm-cancel")
        self.assertEqual(self.served.count("selected", "buried"), 2)
        self.browser.click("bulk-move")
        self.browser.fill("move-to", "elsewhere")
        self.browser.click("confirm-ok")
        self.browser.told("Moved 2 jobs")
        self.browser.find("jobs-empty")
        self.assertEqual(self.served.count("elsewhere", "buried"), 2)

    def test_delete_all_that_match_asks_for_the_count(self) -> None:
        for number in range(60):
            self.served.bury("many", f"body {number}")
        self.tube("many", "buried")
        self.rows(50)
        self.browser.click("select-page")
        self.browser.says("selected-count", "50")
        self.browser.click("select-all")
        self.browser.says("selected-count", "60")
        self.browser.click("bulk-delete")
        self.browser.says("dialog-text", "many")
        self.browser.says("dialog-text", "60 jobs")
        self.browser.fill("confirm-count", "59")
        self.assertFalse(self.browser.find("confirm-ok").is_enabled())
        self.browser.fill("confirm-count", "60")
        self.browser.click("confirm-ok")
        self.browser.told("Deleted 60 jobs")
        self.browser.until("all deleted", lambda: self.served.count("many", "buried") == 0)
        self.browser.find("jobs-empty")

    def test_cancelled_acts_do_nothing(self) -> None:
        job = self.buried("kept", "body")
        self.browser.click("job-delete")
        self.browser.click("confirm-cancel")
        self.browser.gone("dialog")
        self.browser.until("the focus is back", lambda: self.browser.focused() == "job-delete")
        self.browser.click("job-delete")
        self.browser.keys(key("ESCAPE"))
        self.browser.gone("dialog")
        self.assertEqual(self.served.count("kept", "buried"), 1)

    def test_one_job(self) -> None:
        job = self.buried("one", '{"a": 1}')
        self.assertEqual(self.browser.text("job-id"), str(job))
        self.assertEqual(self.browser.text("job-state"), "buried")
        self.assertIn('"a": 1', self.browser.text("job-body"))
        self.browser.until("hex", lambda: self.browser.css('[data-testid="body-as"] option[value="hex"]')[0].click() is None)
        self.browser.until("hex", lambda: "7b22" in self.browser.text("job-body").replace(" ", ""))
        self.browser.click("job-kick")
        self.browser.says("job-state", "ready")
        self.browser.click("job-bury")
        self.browser.says("job-state", "buried")
        self.browser.click("job-copy")
        self.browser.fill("move-to", "copies")
        self.browser.click("confirm-ok")
        self.browser.told("copies")
        self.assertEqual(self.served.count("copies", "ready"), 1)
        self.browser.click("job-move")
        self.browser.fill("move-to", "moved")
        self.browser.click("confirm-ok")
        self.browser.until("moved", lambda: self.browser.css('.crumb a[href="#/tubes/moved"]'))
        self.assertEqual(self.served.count("moved", "buried"), 1)
        self.browser.click("job-delete")
        self.browser.says("dialog-text", "moved")
        self.browser.click("confirm-ok")
        self.browser.on("tubes")
        self.assertEqual(self.served.count("moved", "buried"), 0)

    def test_a_job_that_is_being_deleted_is_not_asked_for(self) -> None:
        self.buried("slow", "{}")
        self.browser.click("job-delete")
        self.browser.says("dialog-text", "slow")
        self.addCleanup(self.served.broker.signal, signal.SIGCONT)
        self.served.broker.freeze()
        self.browser.click("confirm-ok")
        time.sleep(JOB_ASKED + 1)  # if it is shorter, the test finds less
        self.served.broker.signal(signal.SIGCONT)
        self.browser.on("tubes")

    def test_a_job_that_is_being_deleted_is_not_asked_for_by_a_new_stream(self) -> None:
        job = self.buried("stream", "{}")
        self.browser.click("job-delete")
        self.browser.says("dialog-text", "stream")
        self.browser.hold_delete()
        self.browser.click("confirm-ok")
        self.browser.until("the deletion", lambda: self.browser.script("return window.release !== undefined"))
        self.browser.reconnect()
        # What else the page shows is asked for anew.
        view = f"jobs/{job}/body/view"
        self.browser.until(view, lambda: any(view in address for address in self.browser.asked()))
        self.assertEqual([address for address in self.browser.asked() if address.endswith(f"jobs/{job}")], [])
        self.browser.script("release()")
        self.browser.on("tubes")

    def test_pause_and_resume(self) -> None:
        self.served.put("rest", "body")
        self.tube("rest", "ready")
        self.browser.click("tube-pause")
        self.browser.fill("pause-seconds", "600")
        self.browser.click("confirm-ok")
        self.browser.find("paused")
        self.assertTrue(self.served.ask("GET", "tubes/rest")["paused"])
        self.browser.click("tube-resume")
        self.browser.gone("paused")
        self.browser.find("tube-pause")

    def test_kick_and_clear(self) -> None:
        for number in range(3):
            self.served.bury("clear", str(number))
        self.tube("clear", "buried")
        self.browser.click("tube-kick")
        self.browser.says("dialog", "Kick 3 jobs of clear?")
        self.assertEqual(self.served.count("clear", "buried"), 3)
        self.browser.click("confirm-ok")
        self.browser.told("Kicked 3 jobs")
        self.browser.gone("tube-kick")
        self.browser.click("tube-clear")
        self.browser.fill("confirm-count", "3")
        self.browser.click("confirm-ok")
        self.browser.told("Deleted 3 jobs")
        self.assertEqual(self.served.count("clear", "ready"), 0)
        self.browser.gone("dialog")
        self.browser.gone("tube-clear")

    def test_a_result_goes_with_its_page(self) -> None:
        job = self.buried("leaving", "x")
        self.browser.click("job-delete")
        self.browser.click("confirm-ok")
        self.browser.on("tubes")
        self.browser.says("toast", f"Job {job} is deleted")
        self.browser.click("nav-search")
        self.browser.on("search")
        self.browser.gone("toast")

    def test_drain_and_log_level(self) -> None:
        self.browser.open("#/server", "server")
        self.browser.click("drain")
        self.browser.click("confirm-ok")
        self.browser.find("draining")
        self.assertTrue(self.served.ask("GET", "server")["draining"])
        self.browser.click("undrain")
        self.browser.gone("draining")
        self.assertFalse(self.served.ask("GET", "server")["draining"])
        self.browser.until("debug", lambda: self.browser.css('[data-testid="log-level"] option[value="debug"]')[0].click() is None)
        self.browser.told("debug")
        self.assertEqual(self.served.ask("GET", "server")["log_level"], "debug")

    def test_search(self) -> None:
        job = self.served.bury("haystack", "a needle is here")
        self.browser.open("#/jobs", "search")
        self.browser.fill("search-text", "needle is")
        self.browser.fill("search-tube", "hay*")
        self.browser.click("search-run")
        self.rows(1)
        self.assertEqual(self.browser.find("job-row").get_attribute("data-id"), str(job))

    def test_tubes_are_matched_and_sorted(self) -> None:
        for name in ("sort.b", "sort.a", "sort.c"):
            self.served.put(name, "x")
        self.browser.open("#/tubes", "tubes")
        self.browser.fill("tubes-match", "sort.*")
        def refs() -> list[str]:
            return [row.get_attribute("data-ref") for row in self.browser.all("tube-row")]
        self.browser.until("three tubes", lambda: len(refs()) == 3)
        self.browser.click("sort-name")
        self.browser.until("a to c", lambda: refs() == ["sort.a", "sort.b", "sort.c"])
        self.browser.click("sort-name")
        self.browser.until("c to a", lambda: refs() == ["sort.c", "sort.b", "sort.a"])
        self.browser.fill("tubes-match", "no such tube")
        self.browser.find("tubes-empty")

    def test_no_letter_is_lost_when_the_list_follows(self) -> None:
        """It does 300 ms after a letter; the next one comes before the page is drawn again."""
        self.browser.open("#/tubes", "tubes")
        self.browser.script("""
            const field = document.querySelector('[data-testid="tubes-match"]');
            const type = (letter) => {
              field.value += letter;
              field.dispatchEvent(new Event("input", { bubbles: true }));
            };
            type("a");
            setTimeout(() => type("b"), 300);
            setTimeout(() => type("c"), 400);""")
        self.browser.until("the list follows", lambda: "match=abc" in self.browser.driver.current_url)

    def test_numbers_are_live(self) -> None:
        self.served.put("alive", "x")
        self.browser.open("#/tubes?match=alive", "tubes")
        self.browser.live_is("live")
        self.served.put("alive", "y")
        self.browser.says("cell-ready", "2")
        self.browser.keys("p")
        self.browser.live_is("paused")
        self.browser.keys("p")
        self.browser.live_is("live")

    def test_a_pause_outlasts_an_answer(self) -> None:
        """The console was about to open its stream of events when the user paused it."""
        self.browser.open("#/tubes", "tubes")
        self.browser.live_is("live")
        self.browser.hold_connect()
        self.browser.keys("p")
        self.browser.script("asked = ''; release();")
        self.browser.until("the page asks again", lambda: "tubes" in self.browser.script("return asked"))
        self.assertEqual(self.browser.script("return streams"), 0)
        self.assertEqual(self.browser.find("live").get_attribute("data-live"), "paused")

    def test_audit(self) -> None:
        self.served.bury("watched", "x")
        self.browser.open("#/audit", "audit")
        self.browser.until("an act", lambda: any("job.bury" in row.text and "watched" in row.text for row in self.browser.all("audit-row")))

    def test_keyboard_alone(self) -> None:
        for number in range(3):
            self.served.bury("keys", f"body {number}")
        self.browser.open("#/", "overview")
        self.browser.keys("?")
        self.browser.find("help")
        self.browser.keys(key("ESCAPE"))
        self.browser.gone("help")
        for keys, page in (("gt", "tubes"), ("gs", "search"), ("gc", "connections"), ("gv", "server"), ("ga", "audit"), ("go", "overview"), ("gt", "tubes")):
            self.browser.keys(*keys)
            self.browser.on(page)
        self.browser.keys("/")
        self.assertEqual(self.browser.focused(), "tubes-match")
        self.browser.keys("keys")
        self.browser.until("one tube", lambda: [row.get_attribute("data-ref") for row in self.browser.all("tube-row")] == ["keys"])
        self.browser.keys(key("ESCAPE"), "j", key("ENTER"))
        self.browser.on("tube")
        self.rows(3)
        # Put, from the button that Tab reaches.
        for _ in range(40):
            if self.browser.focused() == "tube-put":
                break
            self.browser.keys(key("TAB"))
        self.browser.keys(key("ENTER"))
        self.browser.until("the body has the focus", lambda: self.browser.focused() == "put-body")
        self.browser.keys("by keyboard", key("TAB"), key("TAB"), key("TAB"), key("ENTER"))
        self.browser.told("keys")
        self.browser.gone("dialog")
        self.browser.until("the focus is back", lambda: self.browser.focused() == "tube-put")
        self.assertEqual(self.served.count("keys", "ready"), 1)
        # Filter, select two rows, delete them.
        self.browser.keys("/")
        self.browser.keys("body", key("ENTER"))
        self.browser.find("chip")
        self.rows(3)
        self.browser.keys(key("ESCAPE"), "j", "x", "j", "x")
        self.browser.says("selected-count", "2")
        for _ in range(80):
            if self.browser.focused() == "bulk-delete":
                break
            self.browser.keys(key("TAB"))
        self.browser.keys(key("ENTER"))
        self.browser.until("the count has the focus", lambda: self.browser.focused() == "confirm-count")
        self.browser.keys("2", key("ENTER"))
        self.browser.told("Deleted 2 jobs")
        self.rows(1)
        self.assertEqual(self.served.count("keys", "buried"), 1)

    def test_the_focus_stays_in_a_dialog(self) -> None:
        self.served.put("trap", "x")
        self.tube("trap", "ready")
        self.browser.click("tube-put")
        self.browser.until("the body has the focus", lambda: self.browser.focused() == "put-body")
        for _ in range(12):
            self.browser.keys(key("TAB"))
            self.assertTrue(self.browser.script("return !document.activeElement.closest('.app')"))
        self.browser.keys(key("ESCAPE"))
        self.browser.gone("dialog")

    def test_lines_at_the_foot(self) -> None:
        self.browser.open("#/tubes?sort=name&order=asc", "tubes")
        self.assertRegex(self.browser.text("api-path"), r"^GET /api/v1/tubes\?.*sort=name")
        self.assertTrue(re.match(r"gearstalkctl tubes .*--sort name", self.browser.text("ctl-line")))


if __name__ == "__main__":
    main()
