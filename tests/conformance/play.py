"""Plays one case on one server and notes what it answers."""

from __future__ import annotations

import signal
import time

from connection import SILENT, SILENT_SECONDS, Connection
from normal import JobNumbers, Normaliser
from notation import message_bytes
from servers import PATIENCE, Server
from transcript import Case, Step

POLL_SECONDS = PATIENCE
# Without an expected reply to wait for, when transcripts are recorded.
SETTLE_SECONDS = 0.4

REFUSED = "(refused)"
CONNECTED = "(connected)"


class Player:
    def __init__(self, server: Server, expected: list[str | None]) -> None:
        """`expected` holds, observation by observation, what is to come: polls and silences await it."""
        self._server = server
        self._expected = expected
        self._jobs = JobNumbers()
        self._normal = Normaliser(self._jobs, server.pid)
        self._peers: dict[str, Connection] = {}
        self._polling: dict[str, bytes] = {}
        self._seen: list[tuple[Step, str]] = []

    def play(self, case: Case) -> list[tuple[Step, str]]:
        """The observing steps with what was observed, and the server's fate at the end."""
        try:
            for step in case.steps:
                observation = self._step(step)
                if step.reply is not None:
                    self._seen.append((step, observation or ""))
            return self._seen
        finally:
            for peer in self._peers.values():
                peer.close()

    def _peer(self, name: str) -> Connection:
        if name not in self._peers:
            self._peers[name] = Connection(self._server.port)
        return self._peers[name]

    def _step(self, step: Step) -> str | None:
        if step.op == "advance":
            return self._server.advance(float(step.text or 0))
        if step.op == "signal":
            return self._server.signal(signal.Signals["SIG" + (step.text or "")])
        if step.op in (">", ">1", ">?"):
            return self._send(step)
        if step.op == "half-close":
            return self._peer(step.who).half_close()
        if step.op in ("close", "reset"):
            peer = self._peers.pop(step.who)
            return peer.close() if step.op == "close" else peer.reset()
        return self._observe(step)

    def _send(self, step: Step) -> None:
        data = message_bytes(step.text or "", self._jobs.resolve)
        peer = self._peer(step.who)
        if step.op == ">?":
            self._polling[step.who] = data
        if step.op == ">1":
            for byte in data:
                peer.send(bytes([byte]))
        else:
            peer.send(data)

    def _observe(self, step: Step) -> str:
        if step.op == "connect":
            return CONNECTED if self._peer(step.who).is_open else REFUSED
        request = self._polling.pop(step.who, None)
        seen = self._receive(step)
        if request is None:
            return seen
        expected = self._expected[len(self._seen)]
        deadline = time.monotonic() + (POLL_SECONDS if expected else SETTLE_SECONDS)
        while seen != expected and time.monotonic() < deadline:
            time.sleep(0.01)
            self._peer(step.who).send(request)
            seen = self._receive(step)
        return seen

    def _receive(self, step: Step) -> str:
        peer = self._peer(step.who)
        if step.op == "<.":
            return self._normal.table(peer.reply(table=True))
        if step.op.startswith("<["):
            return self._normal.picked(peer.reply(), step.op[2:-1].split(","))
        if step.op == "<*":
            return "\n".join(map(self._normal.reply, peer.everything()))
        if step.op == "silent":
            silent = self._expected[len(self._seen)] in (None, SILENT)
            return self._normal.reply(peer.silence(SILENT_SECONDS if silent else PATIENCE))
        if step.op == "fence":
            return "\n".join(map(self._normal.reply, peer.fence()))
        return self._normal.reply(peer.reply())
