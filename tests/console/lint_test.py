#!/usr/bin/env python3
"""Holds the console's sources to what the content policy and hostile names ask for, and its size."""

import gzip
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "admin/console"

# What would make markup of a name or a body, or what the policy forbids -> why.
FORBIDDEN = {
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|createContextualFragment":
        "values must become text nodes",
    r"<[a-zA-Z][^<>]*\sstyle\s*=": "the policy forbids style attributes",
    r"\son[a-z]+\s*=\s*[\"']": "the policy forbids handlers in markup",
    r"\beval\s*\(|new Function\b|setTimeout\(\s*[\"'`]|javascript:": "the policy forbids code in strings",
    r"<(script|style)\b(?![^>]*\bsrc=)[^>]*>": "the policy forbids inline scripts and styles",
    r"https?://(?!www\.w3\.org/)|[\"'`]//": "no request leaves the server",
}
BUDGET = 60000      # bytes of dist, each file compressed
MAX_FILE = 400      # lines; strings.js is one line a text
MAX_LINE = 240      # characters; strings.js holds sentences


def sources() -> list[Path]:
    return sorted(path for path in (CONSOLE / "src").rglob("*") if path.suffix in (".js", ".html", ".css", ".svg"))


class Sources(unittest.TestCase):
    def test_there_are_some(self) -> None:
        self.assertGreater(len(sources()), 30)

    def test_nothing_becomes_markup(self) -> None:
        for path in sources():
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for pattern, why in FORBIDDEN.items():
                    if path.suffix == ".css" and "https?" in pattern:
                        continue  # the masks' name space; test_css_loads_nothing looks there
                    with self.subTest(f"{path.relative_to(ROOT)}:{number}"):
                        self.assertIsNone(re.search(pattern, line), why)

    def test_css_loads_nothing(self) -> None:
        for path in (CONSOLE / "src").rglob("*.css"):
            for target in re.findall(r"url\(\s*[\"']?([^\"')]*)", path.read_text()):
                with self.subTest(f"{path.name}: {target[:40]}"):
                    self.assertTrue(target.startswith("data:image/svg+xml"))

    def test_the_lint_finds_what_it_forbids(self) -> None:
        for line in ('element.innerHTML = name', '<div style="color: red">', '<a onclick="x()">',
                     'html`<b dangerouslySetInnerHTML=${x} />`', '<script>alert(1)</script>', 'fetch("https://example.org/")'):
            with self.subTest(line):
                self.assertTrue(any(re.search(pattern, line) for pattern in FORBIDDEN))

    def test_files_are_short(self) -> None:
        for path in sources():
            lines = path.read_text().splitlines()
            with self.subTest(str(path.relative_to(ROOT))):
                self.assertTrue(len(lines) <= MAX_FILE or path.name == "strings.js")
                if path.suffix == ".js":
                    self.assertLessEqual(max(map(len, lines)), MAX_LINE)

    def test_words_are_in_one_file(self) -> None:
        """Text between tags of a template belongs into strings.js."""
        for path in (CONSOLE / "src").rglob("*.js"):
            if path.name == "strings.js":
                continue
            for found in re.findall(r">([^<>$`{}=]*[A-Za-z]{3,}[^<>$`{}=]*)<", path.read_text()):
                with self.subTest(path.name):
                    self.assertRegex(found, r"^\s*(gearstalkd|gearstalkctl .*|gearstalkctl|TLS)?\s*$|[;()]")


class Dist(unittest.TestCase):
    def test_it_is_within_its_budget(self) -> None:
        size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in (CONSOLE / "dist").iterdir())
        self.assertLessEqual(size, BUDGET)

    def test_it_has_its_four_files(self) -> None:
        self.assertEqual({path.name for path in (CONSOLE / "dist").iterdir()},
                         {"index.html", "app.js", "app.css", "icon.svg"})


if __name__ == "__main__":
    unittest.main()
