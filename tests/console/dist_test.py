#!/usr/bin/env python3
"""Builds the console anew and compares it with what is committed, byte by byte. Exits with 77, which
ctest shows as skipped, where npm is missing or its registry cannot be reached."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENOTCACHED", "ENETUNREACH",
               "EIDLETIMEOUT", "ERR_SOCKET_TIMEOUT", "E429", "E500", "E502", "E503", "E504")


def main() -> int:
    if not shutil.which("npm") or not shutil.which("node"):
        print("skipped: npm is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT / "admin/console", copy / "admin/console", ignore=shutil.ignore_patterns("node_modules", "dist"))
        (copy / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/console", copy / "scripts/console")
        built = Path(folder) / "dist"
        done = subprocess.run([copy / "scripts/console", built], capture_output=True, text=True)
        if done.returncode and any(word in done.stderr for word in UNREACHABLE):
            print(f"skipped: the registry of npm cannot be reached\n{done.stderr}")
            return SKIPPED
        if done.returncode:
            print(done.stdout, done.stderr)
            return 1
        committed = ROOT / "admin/console/dist"
        names = {path.name for path in committed.iterdir()} | {path.name for path in built.iterdir()}
        different = [name for name in sorted(names)
                     if not (built / name).exists() or not (committed / name).exists()
                     or (built / name).read_bytes() != (committed / name).read_bytes()]
        if different:
            print(f"admin/console/dist is not what src makes: {', '.join(different)}. Run scripts/console.")
            return 1
    print("dist is what src makes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
