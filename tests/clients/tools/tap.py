"""Prints one TAP line per check."""

import os
import sys
import time
from typing import Callable

REFERENCE = os.environ.get("GEARSTALK_REFERENCE") == "1"


class Tap:
    def __init__(self) -> None:
        self._count = 0
        self._failed = 0

    def ok(self, name: str, passed: object, note: str = "") -> None:
        self._count += 1
        self._failed += 0 if passed else 1
        print(f"{'' if passed else 'not '}ok {self._count} - {name}", flush=True)
        if note and not passed:
            print("".join(f"# {line}\n" for line in note.splitlines()), end="", flush=True)

    def equal(self, name: str, got: object, want: object) -> None:
        self.ok(name, got == want, f"got  {repr(got)[:300]}\nwant {repr(want)[:300]}")

    def ours_only(self, name: str, reason: str, check: Callable[[], None]) -> None:
        """Runs a check that the reference server is known to fail, except there."""
        if not REFERENCE:
            check()
            return
        self._count += 1
        print(f"ok {self._count} - {name} # skip ours only: {reason}", flush=True)

    def finish(self) -> None:
        print(f"1..{self._count}", flush=True)
        sys.exit(1 if self._failed else 0)


def eventually(condition: Callable[[], object], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True
