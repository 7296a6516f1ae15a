"""Runs the bridge cases against one broker, and prints one TAP line per case."""

import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

# The modules register their cases when they are loaded.
from bridge import cases_admin, cases_flow, cases_loss, cases_order, cases_reply  # noqa: F401
from bridge.actor import ActorError, Refused
from bridge.registry import CASES, Case
from bridge.world import Commands, Failed, World
from harness.programs import Workshop
from harness.server import Server


AT_ONCE = 6

Result = tuple[Case, str | None]


def run(start: Callable[[], Server], workshop: Workshop, only: str, verbose: bool) -> bool:
    commands = Commands(workshop)
    server = start()
    try:
        chosen = [case for case in CASES
                  if only in case.name and (case.one_protocol or not server.reference)]
        results = run_cases(chosen, server, commands)
        failed = report(results, verbose)
    finally:
        problems = server.stop()
    print(f"  bridge: {len(chosen)} cases, {failed} failed")
    for problem in problems:
        print(f"  bridge: {problem}")
    if (failed or problems) and server.log():
        print(f"--- server log\n{server.log()}\n---")
    return bool(chosen) and not failed and not problems


def run_cases(cases: list[Case], server: Server, commands: Commands) -> list[Result]:
    """Some cases at once, then those that must be alone, then the last ones."""
    numbered = list(enumerate(cases, 1))

    def one(item: tuple[int, Case]) -> Result:
        number, case = item
        return case, run_case(case, server, commands, number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(one, (item for item in numbered
                                      if not item[1].alone and not item[1].last)))
    results += [one(item) for item in numbered if item[1].alone]
    results += [one(item) for item in numbered if item[1].last]
    return results


def report(results: list[Result], verbose: bool) -> int:
    failed = 0
    for number, (case, trouble) in enumerate(results, 1):
        failed += trouble is not None
        if trouble is not None or verbose:
            print(f"{'not ok' if trouble else 'ok'} {number} - {case.name}", flush=True)
        if trouble is not None:
            print("".join(f"# {line}\n" for line in trouble.splitlines()), end="", flush=True)
    return failed


def run_case(case: Case, server: Server, commands: Commands, number: int) -> str | None:
    """Returns what went wrong, or None."""
    world = World(server, commands, f"case{number}")
    try:
        case.run(world)
    except (Failed, ActorError) as error:
        return str(error)
    except Refused as refused:
        return f"the server answered {refused.word}\n{traceback.format_exc(limit=-3)}"
    except (OSError, ValueError, KeyError, TypeError):
        return traceback.format_exc(limit=-4)
    finally:
        world.close()
    return None
