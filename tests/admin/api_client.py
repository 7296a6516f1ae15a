"""A client of the API for the tests, over TCP or a Unix socket."""

import hashlib
import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

SECONDS = 120  # for whatever should come at once


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self.path)


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of a problem."""
        assert self.headers["Content-Type"] == "application/problem+json", self
        return self.json["code"]


class Api:
    def __init__(self, address: str, token: str = "", prefix: str = "/api/v1") -> None:
        self.address = address
        self.token = token
        self.prefix = prefix
        self.recorded: list[tuple[str, str, Answer]] = []  # methods, paths, and what they got

    def connection(self) -> http.client.HTTPConnection:
        if self.address.startswith("unix:"):
            return UnixConnection(self.address.removeprefix("unix:"))
        return http.client.HTTPConnection(self.address, timeout=SECONDS)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None,
            prefix: str | None = None) -> Answer:
        sent = dict(headers or {})
        if self.token and "Authorization" not in sent:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None
        if method in ("POST", "PUT"):
            sent.setdefault("Content-Type", "application/json")
            data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        connection = self.connection()
        try:
            connection.request(method, (self.prefix if prefix is None else prefix) + path, data,
                               {name: value for name, value in sent.items() if value is not None})
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            if prefix is None:
                self.recorded.append((method, path.split("?")[0], answer))
            return answer
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Any:
        answer = self.ask("GET", path, headers=headers)
        assert answer.status == 200, (path, answer)
        return answer.json

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status == status, (path, answer)
        return answer.json

    def put(self, path: str, body: Any) -> Any:
        answer = self.ask("PUT", path, body)
        assert answer.status == 200, (path, answer)
        return answer.json

    def put_job(self, tube: str, body: str = "body", **more: Any) -> int:
        return self.post(f"/tubes/{tube}/jobs", {"body": body, **more}, 201)["id"]

    def pages(self, path: str) -> list[Any]:
        """The items of all pages."""
        items: list[Any] = []
        cursor = ""
        while True:
            page = self.get(path + cursor)
            items += page["items"]
            if page["next"] is None:
                return items
            cursor = ("&" if "?" in path else "?") + "cursor=" + page["next"]


def user(name: str, role: str, tubes: str = "") -> tuple[str, str]:
    """A token, and the line of console.users for it."""
    token = f"gst_{name}"
    return token, f"{name} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()} {tubes}".strip()
