"""What a client notices while operators look at 10^6 jobs in 10^5 tubes and act on half of them."""

import http.client
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from . import table
from .bench import Bench, attempt, short, verdict
from .load import Report, Stepper
from .scenarios import OPERATORS
from .servers import Server

JOBS = 1_000_000
TUBES = 100_000
STREAMS = 30
STREAMS_OF_ADDRESS = 8
SECONDS = 30
P999_BOUND = 10.0  # ms
MEDIAN_BOUND = 1.5  # to the median alone
MEMORY_BOUND = 32.0  # MB
PATIENCE = 120  # seconds, for an answer

HEADER = ["jobs", "tubes", "p50 alone, ms", "p50, ms", "ratio", "bound", "met", "p99.9 alone, ms"]
HEADER += ["p99.9, ms", "bound", "met", "max, ms", "grown, MB", "bound", "met"]


class Asker:
    """A thread that asks again and again, and knows how long the answers took."""

    def __init__(self, name: str, ask: Callable[["Asker"], None], address: str, port: int) -> None:
        self.name = name
        self.times: list[float] = []
        self.failure = ""
        self.ends = False
        self._ask = ask
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=PATIENCE, source_address=(address, 0))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def get(self, path: str) -> Any:
        return self.send("GET", path)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        while not self.ends:
            began = time.monotonic()
            self.connection.request(method, "/api/v1" + path, data, headers)
            answer = self.connection.getresponse()
            text = answer.read()
            if answer.status == 503:  # as many as allowed are under way
                time.sleep(0.05)
                continue
            self.times.append(time.monotonic() - began)
            if answer.status >= 400:
                raise RuntimeError(f"{path}: {answer.status} {text.decode()}")
            return json.loads(text) if text else None
        return None

    def _run(self) -> None:
        # On the same machine it yields to what is measured, as if it asked from another one.
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_IDLE, os.sched_param(0))
        try:
            while not self.ends:
                self._ask(self)
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            if not self.ends:
                self.failure = f"{self.name}: {error!r}"


def _pages(path: str) -> Callable[[Asker], None]:
    """All pages, one after the other."""
    def ask(asker: Asker) -> None:
        cursor = ""
        while not asker.ends:
            page = asker.get(f"{path}{cursor}")
            if page is None or page["next"] is None:
                return
            cursor = f"&cursor={page['next']}"
    return ask


def _half(asker: Asker) -> None:
    """Moves half of the jobs to one tube, and to another."""
    for to in ("here", "there"):
        order = {"action": "move", "to": to, "filter": {"all_tubes": True, "id_to": JOBS // 2}}
        operation = asker.send("POST", "/operations", order)
        while operation is not None and operation["state"] == "counting":
            time.sleep(0.1)
            operation = asker.get(f"/operations/{operation['id']}")
        if operation is None:
            return
        path = f"/operations/{operation['id']}"
        operation = asker.send("POST", f"{path}/confirm", {"count": operation["count"]})
        while operation is not None and operation["state"] == "running":
            time.sleep(0.1)
            operation = asker.get(path)


def _stream(asker: Asker) -> None:
    asker.connection.request("GET", "/api/v1/events?topics=server,tube,operation,audit,notice&tubes="
                             + ",".join(["default"] + [f"other-{i}" for i in range(50)]))
    answer = asker.connection.getresponse()
    while not asker.ends and answer.readline():
        pass


ASKED: dict[str, Callable[[Asker], None]] = {
    "ready": _pages("/jobs?state=ready&limit=500"),
    "delayed": _pages("/jobs?state=delayed&limit=500&max_scan=1000000"),
    "text that is nowhere": _pages("/jobs?text=nowhere-at-all&max_scan=1000000"),
    "tubes by oldest": _pages("/tubes?sort=oldest&limit=500"),
    "tubes by ready": lambda asker: asker.get("/tubes?sort=ready") and None,
    "half of the jobs": _half,
}


def run(bench: Bench) -> list[Report]:
    jobs, tubes = (JOBS // 10, TUBES // 10) if bench.quick else (JOBS, TUBES)
    result = attempt("operators", lambda: _measure(bench, jobs, tubes))
    if result is None:
        return []
    table.show("A client's cycle while operators look at everything", HEADER, [_row(result)])
    longest = [[name, str(len(times)), short(max(times, default=0) * 1000)]
               for name, times in result["answers"].items()]
    table.show("What they ask", ["question", "answers", "longest, ms"], longest)
    return [result]


def _measure(bench: Bench, jobs: int, tubes: int) -> Report:
    seconds = 5 if bench.quick else SECONDS
    delayed, delayed_tubes = jobs // 10, tubes // 10
    load = (f"{OPERATORS.load} --seconds {seconds} --fill-limit 60 "
            f"--backlog {jobs - delayed} --backlog-tubes {tubes - delayed_tubes} "
            f"--delayed {delayed} --delayed-tubes {delayed_tubes}")
    with bench.server(OPERATORS.server) as server, Stepper(bench.load, server, load) as stepper:
        alone = stepper.measure()
        before = server.resident_bytes()
        beside, answers, most = _beside(server, stepper)
    return {"name": OPERATORS.name, "jobs": jobs, "tubes": tubes, "alone": alone, "beside": beside,
            "answers": answers, "grown": most - before}


def _beside(server: Server, stepper: Stepper) -> tuple[Report, dict[str, list[float]], int]:
    port = server.admin_port
    addresses = [f"127.0.0.{2 + i // STREAMS_OF_ADDRESS}" for i in range(STREAMS)]
    streams = [Asker("events", _stream, address, port) for address in addresses]
    askers = [Asker(name, ask, "127.0.0.1", port) for name, ask in ASKED.items()]
    beside = stepper.measure()
    most = server.resident_bytes()
    for asker in streams + askers:
        asker.ends = True
        if asker.failure:
            raise RuntimeError(asker.failure)
    return beside, {asker.name: asker.times for asker in askers}, most


def _row(result: Report) -> table.Row:
    alone, beside = result["alone"]["cycle_us"], result["beside"]["cycle_us"]
    ratio = beside["p50"] / alone["p50"]
    p999 = beside["p999"] / 1000
    grown = result["grown"] / 1e6
    return [f"{result['jobs']:,}", f"{result['tubes']:,}", short(alone["p50"] / 1000),
            short(beside["p50"] / 1000), short(ratio), short(MEDIAN_BOUND),
            verdict(ratio, MEDIAN_BOUND), short(alone["p999"] / 1000), short(p999),
            short(P999_BOUND), verdict(p999, P999_BOUND), short(beside["max"] / 1000),
            short(grown), short(MEMORY_BOUND), verdict(grown, MEMORY_BOUND)]  # fmt: skip
