"""A broker with its API and console, and what it is asked without a browser."""

import http.client
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import Launched, free_port  # noqa: E402, F401

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "build/gearstalkd"
# The base of a server that runs already, for work on the console.
AT = os.environ.get("CONSOLE_AT")
SECONDS = 120.0


class Served:
    """A broker. `configuration` is YAML; `port` and `address` can be asked for again after a restart."""

    def __init__(self, configuration: str = "", data: Path | None = None, admin: str = "127.0.0.1:0",
                 listen: str = "127.0.0.1:0") -> None:
        self.broker: Launched | None = None
        self.base = AT or ""
        if AT:
            return
        self.directory = tempfile.TemporaryDirectory()
        file = Path(self.directory.name) / "gearstalkd.yaml"
        file.write_text(configuration)
        line = [BROKER, "--config", str(file), "--admin", admin]
        if data:
            line += ["--data-dir", str(data)]
        self.broker = Launched(*line, listen=(listen,))
        self.broker.wait_ready()
        self.port, self.admin = self.broker.ports[0], self.broker.admin
        self.base = f"http://{self.admin}"

    def stop(self) -> None:
        if not self.broker:
            return
        self.broker.kill()
        self.broker = None
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
