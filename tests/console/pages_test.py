#!/usr/bin/env python3
"""Each page of the console in both themes, wide and narrow: pages_test.py BROKER."""

from case import ConsoleTest, main

CONFIGURATION = """
tubes: [{match: mail, attempts: 3, backoff: 1h}]
schedules: [{name: nightly, tube: reports, cron: "0 3 * * *", body: x}]
"""
MARKUP = "<script>document.title='broken'</script>"
HOSTILE = ["<img src=x onerror=\"document.title='broken'\">", "</script><script>document.title='broken'</script>",
           "evil\u202egpj.exe", "tab\tbell\x07", "a/b%2Fc", "..", "\u05e2\u05d1\u05e8\u05d9\u05ea", "& ; ' \" ` ${x}"]

# Page -> the fragments that show it.
PAGES = {
    "overview": ["#/"], "tubes": ["#/tubes", "#/tubes?only=buried&sort=name"],
    "tube": ["#/tubes/mail?state=ready", "#/tubes/mail?state=buried", "#/tubes/mail?state=buried&text=nothing-has-this"],
    "search": ["#/jobs", "#/jobs?text=welcome"], "job": ["#/jobs/{job}"], "running": ["#/running"], "connections": ["#/connections"],
    "server": ["#/server"], "schedules": ["#/schedules"], "audit": ["#/audit"], "login": ["#/login"], "missing": ["#/nothing"],
}

# Text with too little contrast (WCAG 2.1 AA), fields and buttons without a name, ids that come twice.
CHECK = r"""
const found = [];
const canvas = document.createElement("canvas");
canvas.width = canvas.height = 1;
const paint = canvas.getContext("2d", { willReadFrequently: true });
const pixel = (...colours) => {
  paint.clearRect(0, 0, 1, 1);
  for (const colour of colours) { paint.fillStyle = "#000"; paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
  return [...paint.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => {
  const part = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const shown = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 1;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.data.trim() || !shown(element) || element.closest(":disabled, .sr, .skip, canvas")) continue;
  const style = getComputedStyle(element);
  const under = [];
  for (let at = element; at; at = at.parentElement) under.unshift(getComputedStyle(at).backgroundColor);
  const [a, b] = [light(pixel("#fff", ...under, style.color)), light(pixel("#fff", ...under))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
  if (contrast < (large ? 3 : 4.5)) found.push(`contrast ${contrast.toFixed(2)}: "${node.data.trim().slice(0, 30)}" in ${element.className || element.tagName}`);
}
for (const element of document.querySelectorAll("a[href], button, input, select, textarea")) {
  const name = element.getAttribute("aria-label") || element.title || element.textContent.trim() || element.labels?.[0]?.textContent.trim();
  if (!name) found.push(`no name: ${element.outerHTML.slice(0, 120)}`);
}
for (const th of document.querySelectorAll("th")) if (!th.scope) found.push(`no scope: ${th.textContent}`);
for (const image of document.querySelectorAll("svg, canvas")) {
  if (!image.closest("[aria-hidden], [role=img][aria-label]")) found.push(`picture without words: ${image.outerHTML.slice(0, 80)}`);
}
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(ids).size < ids.length) found.push(`an id comes twice: ${ids}`);
if (!document.title.includes("·") && !document.querySelector("main[data-page=login]")) found.push(`title: ${document.title}`);
if (document.querySelector("[style*=javascript], script:not([src]), style")) found.push("inline code");
return found;
"""

OVERFLOW = "return document.documentElement.scrollWidth - window.innerWidth"


class Pages(ConsoleTest):
    CONFIGURATION = CONFIGURATION
    job: int
    jobs: dict[str, int] = {}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for number in range(60):
            cls.served.put("mail", f'{{"to": "a@example.net", "template": "welcome", "number": {number}}}')
        cls.served.put("mail", "later", delay_seconds=3600)
        cls.job = cls.served.bury("mail", '{"to": ["a", 1, 2.5, null, true], "html": "<b>bold</b>"}')
        for name in HOSTILE:
            cls.jobs[name] = cls.served.bury(name, MARKUP)
        cls.served.ask("POST", "tubes/mail/pause", {"seconds": 4000})

    def look(self, width: int, theme: str) -> None:
        self.browser.size(width)
        self.browser.system_theme(theme)
        for page, fragments in PAGES.items():
            for index, fragment in enumerate(fragments):
                with self.subTest(f"{fragment} {width} {theme}"):
                    self.browser.open(fragment.format(job=self.job), page)
                    self.assertEqual(self.browser.script("return document.documentElement.dataset.theme"), theme)
                    if page in ("overview", "tube"):
                        self.browser.until("a chart", lambda: self.browser.css('[data-testid="chart-jobs"] canvas'))
                    self.browser.shot(f"{page}{index or ''}-{width}-{theme}")
                    self.assertLessEqual(self.browser.script(OVERFLOW), 0, "the page scrolls sideways")
                    self.assertEqual(self.browser.script(CHECK), [])

    def test_wide_and_light(self) -> None:
        self.look(1280, "light")

    def test_wide_and_dark(self) -> None:
        self.look(1280, "dark")

    def test_narrow_and_light(self) -> None:
        self.look(360, "light")

    def test_narrow_and_dark(self) -> None:
        self.look(360, "dark")

    def test_names_from_outside_are_text(self) -> None:
        self.browser.size(1280)
        refs = {tube["name"]: tube["ref"] for tube in self.served.ask("GET", "tubes?limit=500")["items"]}
        self.browser.open("#/tubes", "tubes")
        self.browser.until("all tubes", lambda: len(self.browser.all("tube-row")) >= len(HOSTILE))
        self.assertIn(HOSTILE[0], self.browser.text("tubes-table"))
        for name in HOSTILE:
            with self.subTest(name):
                self.assertIn(name, refs)
                self.browser.open(f"#/tubes/{refs[name]}?state=buried", "tube")
                self.browser.find("job-row")
                shown = self.browser.text("tube-name")
                visible = "".join(char if char.isprintable() else f"\\u{{{ord(char):02x}}}" for char in name)
                self.assertEqual(shown, visible)
                self.browser.open(f"#/jobs/{self.jobs[name]}", "job")
                self.assertEqual(self.browser.text("job-body"), MARKUP)
                self.assertNotEqual(self.browser.script("return document.title"), "broken")
        self.assertEqual(self.browser.css("main img, main script, main b > script"), [])

    def test_the_theme_is_kept(self) -> None:
        self.browser.system_theme("light")
        self.browser.open("#/", "overview")
        self.browser.click("theme")
        root = "return document.documentElement.dataset.theme"
        self.browser.until("dark", lambda: self.browser.script(root) == "dark")
        self.browser.open("#/tubes", "tubes")
        self.assertEqual(self.browser.script(root), "dark")
        self.browser.click("theme")
        self.browser.script("localStorage.clear()")

    def test_charts_have_points_and_words(self) -> None:
        self.browser.size(1280)
        self.browser.open("#/", "overview")
        for testid in ("chart-jobs", "chart-rates"):
            chart = self.browser.find(testid)
            self.browser.until("points", lambda: int(self.browser.find(testid).get_attribute("data-points")) > 0)
            self.assertTrue(chart.get_attribute("aria-label"))
        self.browser.click("range-30d")
        self.browser.until("30 d", lambda: self.browser.find("range-30d").get_attribute("aria-pressed") == "true")


if __name__ == "__main__":
    main()
