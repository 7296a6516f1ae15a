#!/usr/bin/env python3
"""Builds the fuzz targets and runs them: for some time each, or for a fixed number of runs.

With --seconds the inputs that reached something new are kept under --corpus and are the start of
the next run. With --runs nothing is kept, and every run does the same.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SEEDS = HERE / "seeds"

# Longest input in bytes; what is not listed has libFuzzer's own choice.
MAX_LEN = {"gearman_line_fuzz": 9000, "gearman_packet_fuzz": 9000, "http_request_fuzz": 9000,
           "protocol_switch_fuzz": 2000, "streams_fuzz": 400}


def targets() -> list[str]:
    return sorted(folder.name for folder in SEEDS.iterdir())


def build(compiler: str, build_dir: Path) -> None:
    subprocess.run(["cmake", "-S", ROOT, "-B", build_dir, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
                    "-DGEARSTALK_UNITY=ON", "-DGEARSTALK_FUZZERS=ON", "-DGEARSTALK_TESTS=ON",
                    "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -gline-tables-only"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build_dir, "--parallel", "2", "--target", "fuzzers"],
                   check=True)


def fixed_addresses() -> list[str]:
    """What to put before a command so that its addresses, which libFuzzer hashes, do not vary."""
    prefix = ["setarch", "-R"]
    try:
        allowed = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        return []
    return prefix if allowed.returncode == 0 else []


def command(target: str, build_dir: Path, corpus: Path, findings: Path) -> list[str]:
    return [str(build_dir / target),
            f"-dict={HERE / 'dictionaries' / target}.dict",
            f"-max_len={MAX_LEN.get(target, 0)}",
            f"-artifact_prefix={findings}/{target}-",
            "-print_final_stats=1", "-timeout=30", "-rss_limit_mb=2048",
            str(corpus), str(SEEDS / target)]


def run(line: list[str]) -> bool:
    print(" ".join(line), flush=True)
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    lines = done.stdout.splitlines()
    shown = lines[-60:] if done.returncode else lines[-6:]
    print("\n".join(shown), flush=True)
    return done.returncode == 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--seconds", type=int, help="run each target this long")
    limit.add_argument("--runs", type=int, help="run each target this often, from a fixed seed")
    parser.add_argument("--compiler", default="clang++")
    parser.add_argument("--build", type=Path, default=ROOT / "build-fuzz")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    parser.add_argument("--corpus", type=Path, default=cache / "gearstalkd-fuzz")
    parser.add_argument("targets", nargs="*", default=targets())
    return parser.parse_args()


def main() -> int:
    options = arguments()
    unknown = set(options.targets) - set(targets())
    if unknown:
        print(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(targets())}",
              file=sys.stderr)
        return 2
    build(options.compiler, options.build)
    failed = []
    for target in options.targets:
        with tempfile.TemporaryDirectory() as scratch:
            if options.runs is not None:
                line = [*fixed_addresses(),
                        *command(target, options.build, Path(scratch), options.build),
                        "-seed=1", "-reload=0", f"-runs={options.runs}"]
            else:
                corpus = options.corpus / target
                corpus.mkdir(parents=True, exist_ok=True)
                line = [*command(target, options.build, corpus, options.corpus),
                        f"-max_total_time={options.seconds}"]
            if not run(line):
                failed.append(target)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
