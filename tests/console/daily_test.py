#!/usr/bin/env python3
"""What is looked at every day: flow, who works on what, schedules, refusals, phones: daily_test.py BROKER."""

import base64
import re
import sys
from pathlib import Path

from browser import Browser
from case import ConsoleTest, main
from served import Served

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import Client  # noqa: E402

CONFIGURATION = """
time_zone: Europe/Berlin
schedules:
  - {name: nightly, tube: reports, cron: "0 3 * * *", body: x}
  - {name: often, tube: reports, every: 90s, body: x}
  - {name: workdays-in-the-office-of-berlin, tube: reports.of.the.office.in.berlin, cron: "*/15 9-17 * * mon-fri", body: x}
  - {name: odd, tube: reports, cron: "5 4 1 * 1", body: x}
"""
SOURCES = Path(__file__).resolve().parents[2] / "admin/console/src"

# Cells of a table that hold more than they have room for, and those that lie over each other.
CROWDED = """
const found = [];
for (const table of document.querySelectorAll("table")) {
  if (table.scrollWidth > table.parentElement.clientWidth + 1) found.push(`wider than its panel by ${table.scrollWidth - table.parentElement.clientWidth}`);
}
for (const row of document.querySelectorAll("tbody tr")) {
  const cells = [...row.cells].filter((cell) => cell.checkVisibility());
  for (const cell of cells) if (cell.scrollWidth > cell.clientWidth + 1) found.push(`too narrow: ${cell.innerText}`);
  for (const one of cells) for (const other of cells) {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    const over = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    if (one !== other && over && !one.matches(".pick, .title") && !other.matches(".pick, .title")) found.push(`over each other: ${one.innerText} and ${other.innerText}`);
  }
}
return found;
"""

IN_SIGHT = """
const [row, link] = [document.querySelector(arguments[0]), document.querySelector(arguments[0] + " [aria-current]")].map((one) => one.getBoundingClientRect());
return link.left >= row.left - 1 && link.right <= row.right + 1;
"""

RATES = """
const done = arguments[arguments.length - 1];
import("data:text/javascript;base64," + arguments[0]).then(({ Rates }) => {
  const rates = new Rates();
  const tube = (put, ready, completed, deleted) => ({ counters: { put_total: put, completed_total: completed, deleted_total: deleted },
    jobs: { ready, reserved: 0, delayed: 0, buried: 0, urgent: 0 } });
  rates.add("t", tube(100, 100, 0, 0), 0);
  const first = rates.of("t", "put");
  rates.add("t", tube(440, 140, 300, 300), 10000);
  done([first, rates.of("t", "put"), rates.of("t", "gone")]);
});
"""

SECONDS = """
const done = arguments[arguments.length - 1];
import("data:text/javascript;base64," + arguments[0]).then(({ exactly, secondsOf }) => done([
  ...["90", "5m", "2h", "1h 30m", "1.5h", "1w2d", "", "5x", "1".repeat(5000) + "!", "m"].map((text) => secondsOf(text)).map((seconds) => Number.isNaN(seconds) ? null : seconds),
  ...[300, 7200, 90, 86400].map(exactly)]));
"""


class Daily(ConsoleTest):
    CONFIGURATION = CONFIGURATION

    def setUp(self) -> None:
        self.browser.size(1280)

    def told_by(self, module: str, script: str) -> object:
        """What a script answers that imports a module of the console, outside of any page."""
        self.browser.driver.get("about:blank")
        source = base64.b64encode((SOURCES / module).read_bytes()).decode()
        return self.browser.driver.execute_async_script(script, source)

    def reserved(self, tube: str) -> tuple[Client, int]:
        """A worker with a job of the tube."""
        job = self.served.put(tube, "x", ttr_seconds=3600)
        client = Client(self.served.port)
        client.say(f"watch {tube}")
        self.assertEqual(int(client.say("reserve").split()[1]), job)
        return client, job

    def test_a_job_that_its_worker_deletes_goes_once(self) -> None:
        """34 a second come, 30 are completed, which is to say deleted, and the backlog grows by 4 a second."""
        self.assertEqual(self.told_by("rates.js", RATES), [None, 34, 30])

    def test_times_are_read_as_people_write_them(self) -> None:
        self.assertEqual(self.told_by("format.js", SECONDS),
                         [90, 300, 7200, 5400, 5400, 777600, None, None, None, None, "5m", "2h", "90s", "1d"])

    def test_running(self) -> None:
        client, job = self.reserved("runs")
        try:
            self.browser.open("#/running", "running")
            self.browser.until("the job", lambda: [row.get_attribute("data-id") for row in self.browser.all("running-row")] == [str(job)])
            row = self.browser.text("running-row")
            for word in ("runs", str(job), "127.0.0.1"):
                self.assertIn(word, row)
            self.assertRegex(row, r"1h 0m|59m|5\dm \d+s")
            self.assertEqual(self.browser.text("ctl-line"), "gearstalkctl running")
            self.browser.shot("running-1280")
            self.browser.fill("running-tube", "others")
            self.browser.keys("\n")
            self.browser.find("running-empty")
            self.browser.open("#/jobs?state=reserved", "search")
            self.browser.says("job-row", "127.0.0.1")
            self.browser.says("job-row", "left")
        finally:
            client.close()

    def test_schedules_say_when_in_words(self) -> None:
        self.browser.open("#/schedules", "schedules")
        rows = {row.text.split()[0]: row.text for row in self.browser.all("schedule-row")}
        self.assertIn("every day, at 03:00", rows["nightly"])
        self.assertIn("Europe/Berlin", rows["nightly"])
        self.assertRegex(rows["nightly"], r"in \d+h \d+m|in \d+m|in [\d.]+\sm?s")
        self.assertIn("every 1m 30s", rows["often"])
        self.assertIn("Monday–Friday, every 15 minutes from 09:00 to 17:59", rows["workdays-in-the-office-of-berlin"])
        self.assertIn("5 4 1 * 1", rows["odd"])
        for width in (1280, 1120, 1000, 390, 360):
            self.browser.size(width)
            self.browser.until("room for all", lambda: self.browser.script(CROWDED) == [])
            self.browser.shot(f"schedules-{width}")

    def test_refusals_are_words(self) -> None:
        self.browser.open("#/server", "server")
        self.assertFalse(self.browser.there("refused-row"))
        self.served.ask("PUT", "server/draining", {"draining": True})
        client = Client(self.served.port)
        client.send(b"put 0 0 1 1\r\nx\r\n")
        self.assertEqual(client.line(), "DRAINING")
        client.close()
        self.served.ask("PUT", "server/draining", {"draining": False})
        self.browser.says("refused-row", "jobs while the broker drains")
        self.assertEqual(len(self.browser.all("refused-row")), 1)

    def test_each_refusal_has_words(self) -> None:
        script = """
            const done = arguments[arguments.length - 1];
            import("data:text/javascript;base64," + arguments[0]).then(({ refusals }) => done(Object.keys(refusals)));"""
        self.assertEqual(set(self.told_by("strings.js", script)), set(self.served.ask("GET", "server")["refused"]))

    def test_routers_have_a_line_each(self) -> None:
        """And the broker says how busy its loop is, with routers and without."""
        self.browser.open("#/server", "server")
        self.browser.until("its share is known", lambda: re.search(r"CPU of the loop\s+\d+ %", self.browser.css("main")[0].text))
        self.assertFalse(self.browser.there("routers"))
        routed = Served("routers: 2\n")
        self.addCleanup(routed.stop)
        browser = Browser(routed.base)
        self.addCleanup(browser.close)
        clients = [Client(routed.port) for _ in range(3)]
        for client in clients:
            client.send(b"use x\r\n")
            self.assertEqual(client.line(), "USING x")
        browser.open("#/server", "server")
        browser.until("shares are known", lambda: all(
            re.search(r"^router-\d pid \d+ \d+ \d+ % \d+$", row.text) for row in browser.all("router-row")))
        rows = [row.text.split() for row in browser.all("router-row")]
        self.assertEqual([row[0] for row in rows], ["router-0", "router-1"])
        self.assertEqual(sum(int(row[3]) for row in rows), len(clients))
        self.assertRegex(browser.css("main")[0].text, r"CPU of the loop\s+\d+ %")
        for client in clients:
            client.close()
        self.assertEqual(browser.complaints(), [])

    def test_sixteen_rows_of_a_search_are_on_a_screen(self) -> None:
        for number in range(20):
            self.served.put("reports.of.the.office.in.berlin", f'{{"number": {number}}}')
        self.browser.open("#/jobs?state=ready", "search")
        self.browser.until("the rows", lambda: len(self.browser.all("job-row")) >= 20)
        self.assertGreaterEqual(self.browser.script("""
            const rows = [...document.querySelectorAll('[data-testid="job-row"]')];
            return rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length;"""), 16)
        self.browser.shot("search-1280")

    def test_a_phone(self) -> None:
        for number in range(5):
            self.served.bury("phone", f"body {number}")
        self.browser.size(390, 844)
        self.browser.open("#/tubes/phone?state=buried", "tube")
        self.browser.find("job-row")
        self.assertTrue(self.browser.script(IN_SIGHT, ".tabs"), "the chosen tab")
        self.browser.says("jobs-table", "Select this page")
        cards = self.browser.script("""
            const under = document.querySelector(".side").getBoundingClientRect().top;
            return [...document.querySelectorAll('[data-testid="job-row"]')].filter((row) => row.getBoundingClientRect().bottom <= under).length;""")
        self.assertGreaterEqual(cards, 3)
        self.browser.shot("phone-390")
        self.browser.open("#/audit", "audit")
        self.assertTrue(self.browser.script(IN_SIGHT, ".side nav"), "the page in the menu")
        self.browser.open("#/", "overview")
        tops = [self.browser.find(testid).rect["y"] for testid in ("count-ready", "attention", "tubes-table", "chart-jobs")]
        self.assertEqual(tops, sorted(tops))
        self.browser.shot("overview-390")

    def test_a_name_that_is_no_utf8(self) -> None:
        for path in ("tubes/~_w/jobs", "tubes/~_w/jobs", "tubes/~_g/jobs"):  # the bytes 0xFF and 0xFE
            self.served.ask("POST", path, {"body": "x"})
        worker = Client(self.served.port)
        self.addCleanup(worker.close)
        worker.packet(1, b"\xff")  # for whom the tube stays
        self.browser.open("#/tubes/~_w?state=ready", "tube")
        self.browser.until("its jobs", lambda: len(self.browser.all("job-row")) == 2)
        self.browser.click("tube-clear")
        self.browser.fill("confirm-count", "2")
        self.browser.click("confirm-ok")
        self.browser.told("Deleted 2 jobs")
        self.assertEqual(self.served.ask("GET", "tubes/~_g")["jobs"]["ready"], 1)

    def test_failures_of_a_name_that_is_no_utf8(self) -> None:
        for name in ("~_w", "~_g"):
            job = self.served.ask("POST", f"tubes/{name}/jobs", {"body": "x"})["id"]
            self.served.ask("POST", f"jobs/{job}/bury")
        self.browser.open("#/failures", "failures")
        number = len(self.browser.all("failure-group"))
        self.browser.click("group-show", number - 1)  # the largest groups are first
        for testid in ("failure-group", "failure-row"):
            self.browser.until("the failure alone", lambda testid=testid: len(self.browser.all(testid)) == 1)
        self.browser.click("group-show")
        self.browser.until("all of them", lambda: len(self.browser.all("failure-group")) == number)
        self.browser.open("#/tubes/~_w", "tube")
        link = '[data-testid="tube-attention"] a'
        self.browser.until_possible(link, lambda: self.browser.css(link)[0].click() is None)
        self.browser.on("failures")
        self.browser.until("its failure", lambda: len(self.browser.all("failure-row")) == 1)

    def test_a_tube_that_is_not_there(self) -> None:
        self.browser.open("#/tubes/later", "tube")
        self.browser.find("tube-missing")
        self.browser.live_is("live")
        self.assertEqual(self.browser.css('[aria-busy="true"]'), [])
        self.assertTrue(all("404" in line for line in self.browser.complaints()))
        self.served.put("later", "x")
        self.browser.until("its name", lambda: self.browser.text("tube-name") == "later")

    def test_the_menu_shows_where_one_is(self) -> None:
        job = self.served.put("menu", "x")
        for address, page, entry in ((f"#/jobs/{job}", "job", "nav-tubes"), ("#/tubes/menu", "tube", "nav-tubes"),
                                     ("#/running", "running", "nav-running"), ("#/schedules", "schedules", "nav-schedules")):
            self.browser.open(address, page)
            self.assertEqual([link.get_attribute("data-testid") for link in self.browser.css(".side [aria-current]")], [entry])

    def test_charts_are_linear_or_logarithmic(self) -> None:
        """And have room for their highest value: nothing is drawn above the plot."""
        for _ in range(37):
            self.served.put("high", "x")
        self.browser.open("#/", "overview")
        for testid in ("chart-jobs", "chart-rates"):
            canvas = f'[data-testid="{testid}"] canvas'
            self.browser.until("points", lambda: int(self.browser.find(testid).get_attribute("data-points")) > 1)
            pictures = set()
            for _ in range(2):
                log, *_ = self.browser.script(f"""return [...document.querySelector('{canvas}').closest("section").querySelectorAll("[aria-pressed]")]""")
                pressed = log.get_attribute("aria-pressed")
                log.click()
                self.browser.until("the other scale", lambda: log.get_attribute("aria-pressed") != pressed)
                picture, above, plot = self.browser.script(f"""
                    const canvas = document.querySelector('{canvas}');
                    const [pen, left, top] = [canvas.getContext("2d"), 48 * devicePixelRatio, 8 * devicePixelRatio];
                    const ink = (from, to) => pen.getImageData(left, from, canvas.width - left, to - from).data.some((byte) => byte > 0);
                    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
                      done([canvas.toDataURL(), ink(0, top), ink(top, canvas.height)]))));""")
                self.assertEqual((above, plot), (False, True))
                pictures.add(picture)
            self.assertEqual(len(pictures), 2)
            self.assertIn("at last", self.browser.find(testid).get_attribute("aria-label"))


if __name__ == "__main__":
    main()
