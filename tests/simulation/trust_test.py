#!/usr/bin/env python3
"""Whether the tests and commands that docs/trust.md names are there."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/trust.md").read_text()
SUITES = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*_test.cc"))
BUILT = {"build/simulate": "tests/simulation/main.cc"}


def tests() -> str:
    """All that CMake adds as tests."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("CMakeLists.txt")))


def is_test(name: str) -> bool:
    cmake = tests()
    if re.search(rf"NAME {name}\b", cmake):
        return True
    # Rows of a loop: NAME part_${each}.
    part, _, rest = name.partition("_")
    return bool(re.search(rf"NAME {part}_\$", cmake)) and bool(re.search(rf"\b{rest}\b", cmake))


class Trust(unittest.TestCase):
    def proofs(self) -> list[str]:
        rows = [line.split("|") for line in TEXT.splitlines() if line.startswith("| ") and "---" not in line]
        found = [name for row in rows for name in re.findall(r"`([\w./-]+)`", row[2])]
        self.assertGreater(len(found), 40)
        return found

    def test_each_proof_is_there(self) -> None:
        for name in self.proofs():
            with self.subTest(name):
                if name in ("rot",):
                    self.assertIn(f'"{name}"', (ROOT / "tests/simulation/plan.h").read_text())
                elif re.fullmatch(r"[A-Z]\w+", name):
                    self.assertIn(f", {name})", SUITES)
                elif "/" in name:
                    self.assertTrue((ROOT / BUILT.get(name, name)).exists())
                else:
                    self.assertTrue(is_test(name), "no test has this name")

    def test_a_wrong_name_is_seen(self) -> None:
        self.assertFalse(is_test("crash_never"))


if __name__ == "__main__":
    unittest.main()
