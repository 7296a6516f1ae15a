"""What a build costs: the broker alone, then the tool, then the broker after a change of engine.h."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import table
from .servers import ROOT

DEAREST = 10
LAUNCHER = Path(__file__).with_name("cpu_of.py")


def run(build: Path) -> None:
    """`build`: the folder in which the temporary one lies."""
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build, prefix="bench-build-") as scratch:
        copy = Path(scratch) / "source"
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True, text=True)
        for name in filter(lambda name: (ROOT / name).exists(), files.stdout.splitlines()):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        _measure(copy)


def _measure(source: Path) -> None:
    log = source / "build" / "cpu.log"
    configure = ["cmake", "-S", source, "-B", source / "build", "-G", "Ninja",
                 "-DCMAKE_BUILD_TYPE=Release", "-DGEARSTALK_TESTS=OFF", "-DGEARSTALK_UNITY=ON",
                 f"-DCMAKE_CXX_COMPILER_LAUNCHER={sys.executable};{LAUNCHER};{log}"]  # fmt: skip
    rows = [_step("gearstalkd", configure, _target(source, "gearstalkd")),
            _step("and gearstalkctl", _target(source, "gearstalkctl"))]  # fmt: skip
    dearest = sorted((line.split("\t") for line in log.read_text().splitlines()),
                     key=lambda line: -float(line[0]))  # fmt: skip
    (source / "broker/engine/engine.h").touch()
    rows.append(_step("gearstalkd after engine.h", _target(source, "gearstalkd")))
    table.show("Build", ["what", "CPU seconds", "seconds"], rows)
    table.show("The dearest files", ["CPU seconds", "object"], dearest[:DEAREST])


def _target(source: Path, name: str) -> list[str | Path]:
    return ["cmake", "--build", source / "build", "--target", name]


def _step(name: str, *commands: list[str | Path]) -> table.Row:
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "CCACHE_DISABLE": "1"})  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [name, f"{cpu:.0f}", f"{time.monotonic() - began:.0f}"]
