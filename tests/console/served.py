"""A broker with its API and console, and what it is asked without a browser."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build/gearstalkd"
# The base of a server that runs already, for work on the console.
AT = os.environ.get("CONSOLE_AT")
SECONDS = 120.0


class Served:
    """A broker. `configuration` is YAML; `port` and `address` can be asked for again after a restart."""

    def __init__(self, configuration: str = "", data: Path | None = None, admin: str = "127.0.0.1:0",
                 listen: str = "127.0.0.1:0") -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.base = AT or ""
        if AT:
            return
        self.directory = tempfile.TemporaryDirectory()
        file = Path(self.directory.name) / "gearstalkd.yaml"
        file.write_text(configuration)
        line = [BROKER, "--config", str(file), "--listen", listen, "--admin", admin]
        if data:
            line += ["--data-dir", str(data)]
        self.log = Path(self.directory.name) / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        said = self.wait_until_ready()
        self.port = int(re.search(r"^ready .*?:(\d+)", said, re.M)[1])
        self.admin = re.search(r"admin (\S+:\d+)", said)[1]
        self.base = f"http://{self.admin}"

    def wait_until_ready(self) -> str:
        """What it said until then."""
        assert self.process is not None
        end = time.monotonic() + SECONDS
        while not re.search(r"^ready .*\n", said := self.log.read_text(errors="replace"), re.M):
            assert self.process.poll() is None and time.monotonic() < end, f"the broker is not ready:\n{said}"
            time.sleep(0.05)
        return said

    def stop(self) -> None:
        if not self.process:
            return
        self.process.kill()
        self.process.wait()
        self.process = None
        self.directory.cleanup()

    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> dict:
        """One request to the API; fails unless it succeeds."""
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=SECONDS)
        headers = {"Content-Type": "application/json"} if method in ("POST", "PUT") else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        text = json.dumps(body if body is not None else {}) if headers.get("Content-Type") else None
        connection.request(method, f"/api/v1/{path}", text, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        assert answer.status < 300, f"{method} {path}: {answer.status} {data.decode(errors='replace')}"
        return json.loads(data) if data else {}

    def put(self, tube: str, body: str, **fields: object) -> int:
        return self.ask("POST", f"tubes/{quote(tube, safe='')}/jobs", {"body": body, **fields})["id"]

    def bury(self, tube: str, body: str) -> int:
        job = self.put(tube, body)
        self.ask("POST", f"jobs/{job}/bury")
        return job

    def count(self, tube: str, state: str) -> int:
        """Of a tube that went away: 0."""
        found = self.ask("GET", f"tubes?match={quote(tube, safe='')}")["items"]
        return found[0]["jobs"][state] if found else 0

    def client(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)
