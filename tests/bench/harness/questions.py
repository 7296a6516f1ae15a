"""How long the answers to an operator's five questions take with 10^6 jobs in 20,000 tubes."""

import http.client
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from . import table
from .bench import Bench, attempt, short, verdict
from .load import Report, Stepper
from .operators import PATIENCE, Asker
from .scenarios import QUESTIONS
from .servers import Server

JOBS = 1_000_000
TUBES = 20_000
FAILED = [1_000, 100_000, 500_000]
SECONDS = 20
ANSWERS = 7  # of each question
BOUND = 1000.0  # ms, for a page
P999_BOUND = 10.0  # ms, of a client's cycle meanwhile

# What the pages of the console ask for, and `gearstalkctl status`.
ASKED = {
    "attention": "/attention",
    "busiest tubes": "/tubes?sort=busy&order=desc&limit=8",
    "tubes by name": "/tubes?sort=name&limit=50",
    "tubes nobody serves": "/tubes?only=unserved&limit=50",
    "running": "/jobs?state=reserved&order=next&limit=100",
    "failures": "/failures?limit=50",
    "failures of an hour": "/failures?since=1h&limit=50",
    "the next failures": "/failures?limit=50&cursor={cursor}",
    "server": "/server",
    "rates": "/history?series=put_per_second,reserved_per_second&range=1h",
}


def run(bench: Bench, tool: Path) -> list[Report]:
    jobs, tubes = (JOBS // 10, TUBES // 10) if bench.quick else (JOBS, TUBES)
    results = []
    for failed in [number // (JOBS // jobs) for number in FAILED]:
        if result := attempt(f"questions, {failed:,} failed", lambda: _measure(bench, tool, jobs, tubes, failed)):
            results.append(result)
    if not results:
        return []
    failed = [f"{result['failed']:,} failed: ms (most)" for result in results]
    rows = []
    for question in results[0]["answers"]:
        times = [result["answers"][question] for result in results]
        worst = max(max(each) for each in times) * 1000
        rows.append([question, *(f"{short(statistics.median(each) * 1000)} ({short(max(each) * 1000)})" for each in times),
                     short(BOUND), verdict(worst, BOUND)])
    table.show(f"Answers with {jobs:,} jobs in {tubes:,} tubes", ["question", *failed, "bound", "met"], rows)
    header = ["failed", "p50 alone, ms", "p50, ms", "p99.9 alone, ms", "p99.9, ms", "bound", "met", "loop's lag p99, ms"]
    table.show("A client's cycle while they are asked", header, [_row(result) for result in results])
    return results


def _measure(bench: Bench, tool: Path, jobs: int, tubes: int, failed: int) -> Report:
    seconds = 3 if bench.quick else SECONDS
    load = (f"{QUESTIONS.load} --seconds {seconds} --fill-limit 60 "
            f"--backlog {jobs} --backlog-tubes {tubes}")
    with bench.server(QUESTIONS.server) as server, Stepper(bench.load, server, load) as stepper:
        _fail(server, failed)
        answers = {question: _times(server, path) for question, path in ASKED.items()}
        answers["gearstalkctl status"] = _tool_times(tool, server)
        alone = stepper.measure()
        askers = [Asker(question, _again(path), "127.0.0.1", server.admin_port)
                  for question, path in ASKED.items() if "cursor" not in path]
        beside = stepper.measure()
        lag = _ask(server, "GET", "/server")["loop_lag_seconds_p99"]
        for asker in askers:
            asker.ends = True
            if asker.failure:
                raise RuntimeError(asker.failure)
    return {"name": QUESTIONS.name, "failed": failed, "answers": answers, "alone": alone, "beside": beside, "lag": lag}


def _again(path: str) -> Any:
    return lambda asker: asker.get(path) and None


def _ask(server: Server, method: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=PATIENCE)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status >= 400:
        raise RuntimeError(f"{path}: {answer.status} {text.decode()}")
    return json.loads(text)


def _fail(server: Server, failed: int) -> None:
    """Buries the first jobs, which are spread over the tubes."""
    operation = _ask(server, "POST", "/operations", {"action": "bury", "filter": {"all_tubes": True, "id_to": failed}})
    path = f"/operations/{operation['id']}"
    while operation["state"] == "counting":
        time.sleep(0.1)
        operation = _ask(server, "GET", path)
    _ask(server, "POST", f"{path}/confirm", {"count": operation["count"]})
    while _ask(server, "GET", path)["state"] == "running":
        time.sleep(0.1)
    while not any(item["kind"] == "buried" for item in _ask(server, "GET", "/attention")["items"]):
        time.sleep(0.1)  # the next survey


def _times(server: Server, path: str) -> list[float]:
    if "{cursor}" in path:
        path = path.format(cursor=_ask(server, "GET", "/failures?limit=50")["next"])
    times = []
    for _ in range(ANSWERS):
        began = time.monotonic()
        _ask(server, "GET", path)
        times.append(time.monotonic() - began)
    return times


def _tool_times(tool: Path, server: Server) -> list[float]:
    times = []
    for _ in range(ANSWERS):
        began = time.monotonic()
        subprocess.run([tool, "--server", f"http://127.0.0.1:{server.admin_port}", "status"],
                       check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - began)
    return times


def _row(result: Report) -> table.Row:
    alone, beside = result["alone"]["cycle_us"], result["beside"]["cycle_us"]
    p999 = beside["p999"] / 1000
    return [f"{result['failed']:,}", short(alone["p50"] / 1000), short(beside["p50"] / 1000), short(alone["p999"] / 1000),
            short(p999), short(P999_BOUND), verdict(p999, P999_BOUND), short((result["lag"] or 0) * 1000)]
