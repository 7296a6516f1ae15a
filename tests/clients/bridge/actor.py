"""Client libraries as actors: programs in their own language that do what they are told.

An actor reads one request per line: a verb and its arguments, separated by TAB, each
percent-encoded. It writes lines that start with "+" for what happens meanwhile and one line that
starts with "=" when the request is answered. The verbs:

beanstalk   put TUBE BODY PRI DELAY TTR, reserve TUBE SECONDS, delete|touch|kick-job ID,
            release ID PRI DELAY, bury ID PRI, kick TUBE BOUND, peek-ready|-delayed|-buried TUBE,
            stats-job ID, stats-tube TUBE, stats, pause TUBE SECONDS, list
            answered by "=ok ..." or "=error WORD"
Gearman     submit FUNCTION BODY UNIQUE PRIORITY    +created HANDLE, +data, +warning, +status,
                                                    =complete RESULT, =fail or =exception TEXT
            background FUNCTION BODY UNIQUE PRIORITY    =created HANDLE or =error TEXT
            epoch FUNCTION BODY SECONDS                 the same (libgearman only)
            status HANDLE                               =status KNOWN RUNNING NUMERATOR DENOMINATOR
            work FUNCTION,FUNCTION                      +job HANDLE UNIQUE BODY; then it reads the
            steps data X, warning X, progress N D until complete X, fail or exception X; =done
"""

import subprocess
import threading
from urllib.parse import quote_from_bytes, unquote_to_bytes

from harness.server import PATIENCE, Address

LIFE_SECONDS = 4 * PATIENCE


class ActorError(Exception):
    """An actor died or stayed silent."""


class Refused(Exception):
    """The server answered with an error word; `word` has it."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


Line = tuple[str, list[bytes]]


class Actor:
    """One running actor; at most one request is open at a time."""

    def __init__(self, name: str, command: list[str], env: dict[str, str],
                 address: Address) -> None:
        self.name = name
        limit = ["timeout", "-k", "1", str(LIFE_SECONDS)]
        self._popen = subprocess.Popen(
            [*limit, *command, address.host, str(address.port)], env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self._changed = threading.Condition()
        self._events: list[Line] = []
        self._answers: list[Line] = []
        self._errors = b""
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        assert self._popen.stdout is not None
        for raw in self._popen.stdout:
            fields = [unquote_to_bytes(field) for field in raw.rstrip(b"\n").split(b"\t")]
            line = (fields[0][1:].decode(), fields[1:])
            with self._changed:
                (self._answers if fields[0][:1] == b"=" else self._events).append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._popen.stderr is not None
        self._errors = self._popen.stderr.read()

    def send(self, verb: str, *args: str | bytes | int) -> None:
        """Starts a request, or gives a step to the one that is open."""
        fields = [verb.encode(), *(arg if isinstance(arg, bytes) else str(arg).encode()
                                   for arg in args)]
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write("\t".join(map(quote_from_bytes, fields)).encode() + b"\n")
            self._popen.stdin.flush()
        except BrokenPipeError:
            raise ActorError(f"{self.name} is gone: {self._trouble()}") from None

    def event(self, word: str) -> list[bytes]:
        """Takes the next event of this kind, which must be the next of all."""
        got = self._take(self._events, f"event {word}")
        if got[0] != word:
            raise ActorError(f"{self.name}: event {got}, want {word}")
        return got[1]

    def answer(self) -> Line:
        return self._take(self._answers, "answer")

    def ask(self, verb: str, *args: str | bytes | int) -> Line:
        self.send(verb, *args)
        return self.answer()

    def idle(self) -> bool:
        """Nothing to read: no event and no answer has come."""
        with self._changed:
            return not self._events and not self._answers

    def _take(self, lines: list[Line], what: str) -> Line:
        with self._changed:
            self._changed.wait_for(lambda: lines or self._ended, PATIENCE)
            if lines:
                return lines.pop(0)
            other = [*self._events, *self._answers]
        raise ActorError(f"{self.name}: no {what}; it has {other}; {self._trouble()}")

    def _trouble(self) -> str:
        return self._errors.decode(errors="replace")[-600:]

    def kill(self) -> None:
        """Ends the actor as a crash would: its connections are cut."""
        try:
            subprocess.run(["kill", "-KILL", "--", f"-{self._popen.pid}"], check=False,
                           stderr=subprocess.DEVNULL)
        finally:
            self._popen.wait()
