#!/usr/bin/env python3
"""Whether the files and functions that docs/architecture.md names are there."""

import re
import subprocess
import unittest
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAP = ROOT / "docs/architecture.md"
FOLDERS = ("broker", "proto_beanstalk", "proto_gearman", "admin", "tests", "scripts", "docs")

FILE = re.compile(r"[\w./-]+\.(?:cc|h|py|txt|proto|md|in|js|mjs|cmake)")
FOLDER = re.compile(rf"(?:{'|'.join(FOLDERS)})(?:/[\w-]+)*/?")
NAME = re.compile(r"(?:\w+::)*(?:k|use)?[A-Z]\w+")
HANDLERS = re.compile(r"((?:`\w+`(?:, )?)+) in `(?:[\w/]*/)?(\w+\.(?:cc|h))`")


@cache
def files() -> dict[str, list[Path]]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=False).stdout.splitlines()
    paths = [Path(line) for line in listed] or [
        path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(path.name, []).append(path)
    return found


@cache
def words() -> frozenset[str]:
    """Every word of the product's sources."""
    text = "\n".join((ROOT / path).read_text() for paths in files().values() for path in paths
                     if path.suffix in (".cc", ".h", ".proto", ".js") and path.parts[0] != "tests"
                     and (ROOT / path).exists())
    return frozenset(re.findall(r"\w+", text))


def is_there(file: str) -> bool:
    name = file.rsplit("/", 1)[-1]
    return any(path.as_posix().endswith(file) for path in files().get(name, []))


class Map(unittest.TestCase):
    def quoted(self) -> list[str]:
        found = re.findall(r"`([^`\n]+)`", MAP.read_text())
        self.assertGreater(len(found), 100)
        return found

    def test_its_files_are_there(self) -> None:
        for text in self.quoted():
            if FILE.fullmatch(text):
                with self.subTest(text):
                    self.assertTrue(is_there(text))
            elif FOLDER.fullmatch(text):
                with self.subTest(text):
                    self.assertTrue((ROOT / text).exists())

    def test_its_functions_and_types_are_there(self) -> None:
        for text in self.quoted():
            if not NAME.fullmatch(text) or text.isupper() or "_" in text:
                continue
            for word in text.split("::"):
                with self.subTest(text):
                    self.assertIn(word, words())

    def test_members_are_in_a_file_of_their_type(self) -> None:
        sources = [(ROOT / path).read_text() for paths in files().values() for path in paths
                   if path.suffix in (".cc", ".h") and path.parts[0] != "tests"]
        for text in self.quoted():
            if not re.fullmatch(r"(?:\w+::)+\w+", text):
                continue
            owner, member = text.split("::")[-2:]
            homes = [source for source in sources
                     if re.search(rf"\b(?:class|struct) {owner}\b[^;]*{{", source)]
            with self.subTest(text):
                self.assertTrue(any(re.search(rf"\b{member}\b", home) for home in homes))

    def test_handlers_are_in_the_file_that_is_named(self) -> None:
        rows = HANDLERS.findall(MAP.read_text())
        self.assertGreater(len(rows), 15)
        for names, file in rows:
            text = "\n".join((ROOT / path).read_text() for path in files().get(file, []))
            for name in re.findall(r"`(\w+)`", names):
                with self.subTest(f"{name} in {file}"):
                    self.assertRegex(text, rf"\b{name}\b")

    def test_engine_calls_are_in_the_files_that_are_named(self) -> None:
        rows = re.findall(r"^\|[^|]+\|[^|]+\|([^|]+)\|([^|]+)\|$", MAP.read_text(), re.M)
        self.assertGreater(len(rows), 20)
        for calls, places in rows:
            named = [path for file in re.findall(r"`(\w+\.(?:cc|h))`", places)
                     for path in files().get(file, [])]
            text = "\n".join((ROOT / path).read_text() for path in named)
            for name in re.findall(r"`(?:\w+::)?(\w+)`", calls):
                if named:
                    with self.subTest(f"{name} in {places}"):
                        self.assertRegex(text, rf"\b{name}\(")

    def test_links_lead_somewhere(self) -> None:
        for page in (ROOT / "docs").rglob("*.md"):
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in target:
                    with self.subTest(f"{page.relative_to(ROOT)}: {target}"):
                        self.assertTrue((page.parent / target).exists())

    def test_every_document_is_in_the_index(self) -> None:
        index = (ROOT / "docs/README.md").read_text()
        for page in (ROOT / "docs").glob("*.md"):
            if page.name != "README.md":
                self.assertIn(f"]({page.name})", index)


if __name__ == "__main__":
    unittest.main()
