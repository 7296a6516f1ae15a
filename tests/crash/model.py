"""What was asked of the broker, what it acknowledged, and so what may and must be there."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

READY, DELAYED, BURIED, GONE = "ready", "delayed", "buried", "gone"
FIRST_SPARE_ID = 1 << 52  # from there on: of foreground jobs when the journal has failed


@dataclass(frozen=True)
class State:
    kind: str
    priority: int = 0
    due: tuple[float, float] = (0.0, 0.0)  # wall clock: not before, not after
    releases: int = 0
    buries: int = 0
    kicks: int = 0


class _Sent:
    """Something that was sent: the broker did it between `sent` and `answered`."""

    def __init__(self) -> None:
        self.sent = time.time()
        self.answered = 0.0  # 0: no answer

    @property
    def acknowledged(self) -> bool:
        return self.answered > 0

    def due(self, delay: int, ended: float) -> tuple[float, float]:
        return self.sent + delay, (self.answered or ended) + delay


class Put(_Sent):
    """A new job as a producer asks for it. `epoch` is when it is to run, instead of a delay."""

    def __init__(self, tube: str, body: bytes, priority: int, *, delay: int = 0, ttr: int = 0,
                 unique: bytes = b"", by_beanstalk: bool = True, epoch: int = 0) -> None:
        super().__init__()
        self.tube, self.body, self.priority, self.ttr = tube, body, priority, ttr
        self.delay, self.epoch = delay, epoch
        self.unique, self.by_beanstalk = unique, by_beanstalk

    @property
    def key(self) -> tuple[str, bool, bytes] | None:
        """What makes two submissions one."""
        if self.unique == b"-":
            return (self.tube, True, self.body) if self.body else None
        return (self.tube, False, self.unique) if self.unique else None

    def states(self, ended: float) -> set[State]:
        """An epoch may have passed before the broker came to read it."""
        if self.epoch:
            delayed = State(DELAYED, self.priority, (self.epoch, self.epoch))
            passed = self.epoch <= (self.answered or ended)
            return {delayed, State(READY, self.priority)} if passed else {delayed}
        if self.delay:
            return {State(DELAYED, self.priority, self.due(self.delay, ended))}
        return {State(READY, self.priority)}


class Change(_Sent):
    """A verb on a job; `kind` is delete, release, bury, fail, kick or take."""

    def __init__(self, kind: str, priority: int = 0, delay: int = 0) -> None:
        super().__init__()
        self.kind, self.priority, self.delay = kind, priority, delay

    def of(self, state: State, kept_on_failure: bool, ended: float) -> State:
        if state.kind == GONE:
            return state
        if self.kind == "delete" or (self.kind == "fail" and not kept_on_failure):
            return State(GONE)
        if self.kind == "fail":
            return replace(state, kind=BURIED, buries=state.buries + 1)
        if self.kind == "bury":
            return replace(state, kind=BURIED, priority=self.priority, buries=state.buries + 1)
        if self.kind == "kick":
            return replace(state, kind=READY, kicks=state.kicks + 1)
        if self.kind == "take":
            return replace(state, kind=READY)
        due = self.due(self.delay, ended) if self.delay else (0.0, 0.0)
        return replace(state, kind=DELAYED if self.delay else READY, priority=self.priority,
                       due=due, releases=state.releases + 1)


@dataclass
class Job:
    id: int
    puts: list[Put] = field(default_factory=list)  # acknowledged with this id: one of them made it
    changes: list[Change] = field(default_factory=list)  # in the order in which they were sent
    seen: bytes | None = None                      # the body, as a consumer got it
    origin: Put | None = None                      # which of the puts it was
    key_known: bool = True                         # else puts without an answer that differ in the key alone may be it
    settled: set[State] | None = None              # what was found at the last check

    def possible(self, origin: Put, ended: float) -> set[State]:
        states = self.settled or origin.states(ended)
        for change in self.changes:
            after = {change.of(state, origin.by_beanstalk, ended) for state in states}
            states = after if change.acknowledged else states | after
        return states

    @property
    def tube(self) -> str:
        return self.origin.tube if self.origin else self.puts[0].tube if self.puts else ""


class Model:
    """Shared by all clients; each method is one step for all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.jobs: dict[int, Job] = {}   # all that may be there
        self.ended: set[int] = set()     # acknowledged as gone and found gone, and foreground jobs
        self.unanswered: set[Put] = set()
        self.floor = 0                   # the highest id known before this start
        self.top = 0                     # the highest id known
        self.acknowledged = 0            # changes
        self.burials: list[Job] = []     # of the burier's tube, in the order of burial
        self.errors: list[str] = []

    def fail(self, text: str) -> None:
        self.errors.append(text)

    def put(self, put: Put) -> Put:
        with self._lock:
            self.unanswered.add(put)
        return put

    def refused(self, put: Put) -> None:
        with self._lock:
            self.unanswered.discard(put)

    def created(self, put: Put, number: int) -> Job:
        with self._lock:
            put.answered = time.time()
            self.unanswered.discard(put)
            self.acknowledged += 1
            known = self.jobs.get(number)
            if number in self.ended or (number <= self.floor and known is None):
                self.fail(f"id {number} was given out before: {put.tube} {put.unique!r}")
            if known is not None and known.puts and known.puts[0].key != put.key:
                self.fail(f"id {number} for {put.key} belongs to {known.puts[0].key}")
            if known is not None and known.puts and put.key is None:
                self.fail(f"id {number} was given out twice")
            job = self._job(number)
            job.puts.append(put)
            return job

    def saw(self, number: int, body: bytes) -> Job:
        """A consumer was given the job."""
        with self._lock:
            if number in self.ended:
                self.fail(f"job {number} came back after it was acknowledged as gone")
            job = self._job(number)
            if job.seen is not None and job.seen != body:
                self.fail(f"job {number} changed its body")
            job.seen = body
            if any(change.acknowledged and change.kind == "delete" for change in job.changes):
                self.fail(f"job {number} was given out after it was deleted")
            return job

    def saw_foreground(self, number: int) -> None:
        with self._lock:
            if number in self.ended or number in self.jobs or number <= self.floor:
                self.fail(f"id {number} was given out before, now for a foreground job")
            self.ended.add(number)
            if number < FIRST_SPARE_ID:
                self.top = max(self.top, number)

    def change(self, job: Job, kind: str, priority: int = 0, delay: int = 0) -> Change:
        change = Change(kind, priority, delay)
        with self._lock:
            job.changes.append(change)
        return change

    def withdraw(self, job: Job, change: Change) -> None:
        """The broker said that it did not do it."""
        with self._lock:
            job.changes.remove(change)

    def acknowledge(self, change: Change) -> None:
        with self._lock:
            change.answered = time.time()
            self.acknowledged += 1

    def count(self) -> int:
        return len(self.jobs)

    def _job(self, number: int) -> Job:
        self.top = max(self.top, number)
        return self.jobs.setdefault(number, Job(number))
