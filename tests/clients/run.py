#!/usr/bin/env python3
"""Drives real beanstalk and Gearman clients against the broker.

    run.py --broker build/gearstalkd [SUITE ...]
    run.py --reference [SUITE ...]                         the distribution's servers instead
    run.py --beanstalk HOST:PORT --gearman HOST:PORT ...   servers that run already
    run.py --prepare                                       only install the npm packages

Without SUITE all of them run. Exit code 0: every check passed.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from bridge import suite as bridge_suite
from harness import packages, programs
from harness.server import Address, Broker, NotReady, ReferenceServers, RunningServers, Server

SUITES = (*programs.SUITES, "bridge")


def main() -> int:
    options = parse_arguments()
    cache = Path(options.cache) if options.cache else packages.cache_directory()
    if options.prepare:
        print(packages.npm_modules(cache))
        return 0
    start = server_starter(options)
    failed = []
    for suite in options.suites or SUITES:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="clients-") as work:
            good = run_suite(suite, start, programs.Workshop(cache, Path(work)), options)
        took = time.monotonic() - begun
        print(f"{'pass' if good else 'FAIL'} {suite} ({took:.1f} s)", flush=True)
        if not good:
            failed.append(suite)
    return 1 if failed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"one of {', '.join(SUITES)}")
    parser.add_argument("--broker", help="path of the gearstalkd binary")
    parser.add_argument("--reference", action="store_true", help="start beanstalkd and gearmand")
    parser.add_argument("--beanstalk", type=Address.parse, help="a running beanstalk server")
    parser.add_argument("--gearman", type=Address.parse, help="a running Gearman server")
    parser.add_argument("--prepare", action="store_true", help="install npm packages and end")
    parser.add_argument("--cache", help="folder for npm packages (default: under ~/.cache)")
    parser.add_argument("--only", default="", help="run programs or cases whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="show the output of every program")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"unknown suite: {', '.join(sorted(unknown))}")
    ways = [options.broker, options.reference, options.beanstalk and options.gearman]
    if not options.prepare and sum(map(bool, ways)) != 1:
        parser.error("give one of --broker, --reference, or --beanstalk with --gearman")
    return options


def server_starter(options: argparse.Namespace) -> Callable[[], Server]:
    if options.reference:
        return ReferenceServers
    if options.broker:
        return lambda: Broker(os.path.abspath(options.broker))
    return lambda: RunningServers(options.beanstalk, options.gearman)


def run_suite(suite: str, start: Callable[[], Server], workshop: programs.Workshop,
              options: argparse.Namespace) -> bool:
    try:
        if suite == "bridge":
            return bridge_suite.run(start, workshop, options.only, options.verbose)
        return programs.run(suite, start, workshop, options.only, options.verbose)
    except (packages.MissingPackage, NotReady) as error:
        print(f"{suite}: {error}", file=sys.stderr)
        return False


if __name__ == "__main__":
    sys.exit(main())
