"""What is measured, and the bounds it is to stay within.

A bound is of our server's CPU time per job divided by that of the named peer, or by that of our own
server when nothing is in it.
"""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Scenario:
    """One load on each of several servers."""

    name: str
    load: str
    bounds: dict[str, float | None]  # by peer
    fresh: bool = False  # each measurement wants a server of its own
    ops: int = 0  # measured jobs, instead of a time
    quick_ops: int = 0
    floor: bool = True  # whether a server that keeps nothing can play it, and as cheaply as can be


BEANSTALKD = "beanstalkd"
BEANSTALKD_BINLOG = "beanstalkd -b"
GEARMAND = "gearmand"
TUNED = "gearmand tuned"
FLOOR = "floor"

CLOSED = "--random-priorities"
FLOOD = "--producers 2 --consumers 2 --depth 64"
PIPELINED = f"{FLOOD} {CLOSED}"

COMPARED = [
    Scenario("b-closed", f"beanstalk cycle {CLOSED}", {BEANSTALKD: 0.75}),
    Scenario(
        "b-closed-64", f"beanstalk cycle --producers 64 --consumers 64 {CLOSED}", {BEANSTALKD: 0.72}
    ),
    Scenario("b-rtt", "beanstalk cycle --producers 1 --consumers 1", {BEANSTALKD: None}),
    Scenario("b-pipe", f"beanstalk cycle {PIPELINED}", {BEANSTALKD: 0.07}),
    Scenario("b-put", f"beanstalk store {PIPELINED}", {BEANSTALKD: 0.12}, fresh=True),
    Scenario(
        "b-drain",
        f"beanstalk drain {PIPELINED}",
        {BEANSTALKD: None},
        fresh=True,
        ops=200_000,
        quick_ops=50_000,
    ),
    Scenario(
        "b-body-8k",
        f"beanstalk cycle --producers 2 --consumers 2 --depth 16 --body 8192 {CLOSED}",
        {BEANSTALKD: 0.22},
    ),
    Scenario(
        "b-body-60k",
        f"beanstalk cycle --producers 2 --consumers 2 --depth 4 --body 61440 {CLOSED}",
        {BEANSTALKD: 0.75},
    ),
    Scenario(
        "b-body-1m",
        f"beanstalk cycle --producers 2 --consumers 2 --body 1000000 {CLOSED}",
        {BEANSTALKD: None},
        floor=False,
    ),
    Scenario("b-churn", "beanstalk churn", {BEANSTALKD: 0.90}, fresh=True),
    Scenario("g-closed", f"gearman cycle {CLOSED}", {GEARMAND: 0.65, TUNED: None}),
    Scenario(
        "g-closed-64",
        f"gearman cycle --producers 64 --consumers 64 {CLOSED}",
        {GEARMAND: None, TUNED: None},
    ),
    Scenario(
        "g-rtt", "gearman cycle --producers 1 --consumers 1", {GEARMAND: None, TUNED: None}
    ),
    Scenario("g-pipe", f"gearman cycle {PIPELINED}", {GEARMAND: 0.40, TUNED: None}),
    Scenario(
        "g-submit",
        f"gearman store --unique-keys {FLOOD}",
        {GEARMAND: 0.10, TUNED: 0.5},
        fresh=True,
        ops=200_000,
        quick_ops=50_000,
    ),
    Scenario(
        "g-drain",
        f"gearman drain --unique-keys {FLOOD}",
        {GEARMAND: 0.03, TUNED: 0.7},
        fresh=True,
        ops=200_000,
        quick_ops=50_000,
    ),
    Scenario(
        "g-drain-mixed",
        f"gearman drain --unique-keys {PIPELINED}",
        {GEARMAND: None, TUNED: None},
        fresh=True,
        ops=200_000,
        quick_ops=50_000,
    ),
    Scenario("g-fg", f"gearman foreground {CLOSED}", {GEARMAND: 0.70, TUNED: None}, floor=False),
    Scenario(
        "g-fg-pipe",
        f"gearman foreground {PIPELINED}",
        {GEARMAND: None, TUNED: None},
        floor=False,
    ),
    Scenario(
        "g-body-8k",
        f"gearman cycle --producers 2 --consumers 2 --depth 16 --body 8192 {CLOSED}",
        {GEARMAND: None, TUNED: None},
    ),
    Scenario(
        "g-body-1m",
        f"gearman cycle --producers 2 --consumers 2 --body 1000000 {CLOSED}",
        {GEARMAND: None, TUNED: None},
        floor=False,
    ),
    Scenario("g-churn", "gearman churn", {GEARMAND: None, TUNED: None}, fresh=True),
]


def with_floor(scenario: Scenario) -> Scenario:
    """The same next to the floor, too, where there is one."""
    if not scenario.floor:
        return scenario
    return replace(scenario, bounds={**scenario.bounds, FLOOR: None})


@dataclass(frozen=True)
class Cores:
    """One load on a broker without routers and on one with them. Bounds are of the CPU time of a job
    to that of the broker without."""

    name: str
    load: str
    routed: str = "ours, 1 router"
    direct: str = "ours"
    broker_bound: float | None = None
    sum_bound: float | None = None


CLOSED_64 = f"cycle --producers 64 --consumers 64 {CLOSED}"
CLOSED_1000 = f"cycle --producers 1000 --consumers 1000 {CLOSED}"
TLS, ROUTED_TLS = "ours with TLS", "ours with TLS, 1 router"
ALL_OF_PIPELINED = 2.0

CORES = [
    Cores("closed-b-64", f"beanstalk {CLOSED_64}", broker_bound=0.15, sum_bound=1.3),
    Cores("closed-g-64", f"gearman {CLOSED_64}", broker_bound=0.15, sum_bound=1.3),
    Cores("closed-b-1000", f"beanstalk {CLOSED_1000}", "ours, 2 routers", broker_bound=0.15, sum_bound=1.3),
    Cores("closed-g-1000", f"gearman {CLOSED_1000}", "ours, 2 routers", broker_bound=0.15, sum_bound=1.3),
    Cores("tls-b-64", f"beanstalk {CLOSED_64} --tls", ROUTED_TLS, TLS, broker_bound=0.12, sum_bound=1.25),
    Cores("tls-g-64", f"gearman {CLOSED_64} --tls", ROUTED_TLS, TLS, broker_bound=0.12, sum_bound=1.25),
    *(Cores(f"{scenario.name[2:]}-{scenario.name[0]}", scenario.load, sum_bound=ALL_OF_PIPELINED) for scenario in COMPARED
      if scenario.name in ("b-pipe", "g-pipe") or "-body-" in scenario.name),
]  # fmt: skip


JOURNAL = Scenario(
    "journal-64",
    f"beanstalk cycle --producers 64 --consumers 64 {CLOSED}",
    {"ours --sync always": None, "beanstalkd -f0": None},
)
JOURNAL_BOUND = 1.5  # with the journal against without


@dataclass(frozen=True)
class Durable:
    """Jobs a second that are on disk, with so many connections of each kind."""

    name: str
    connections: int
    workload: str
    peer: str
    bound: float | None = None  # ours to the peer's, at least

    @property
    def load(self) -> str:
        return f"{self.workload} --producers {self.connections} --consumers {self.connections}"

    @property
    def stores_only(self) -> bool:
        return " store" in self.workload


SYNCED = "beanstalkd -f0"
SQLITE = "gearmand sqlite"
# Each job has a key: without one, gearmand's table keeps one job of a function.
SUBMIT = "gearman store --unique-keys"
GEARMAN_CYCLE = "gearman cycle --unique-keys"

DURABLE = [
    Durable("b-put-1", 1, "beanstalk store", SYNCED),
    Durable("b-put-64", 64, "beanstalk store", SYNCED, 10),
    Durable("b-cycle-1", 1, "beanstalk cycle", SYNCED),
    Durable("b-cycle-64", 64, "beanstalk cycle", SYNCED, 10),
    Durable("g-submit-1", 1, SUBMIT, SQLITE),
    Durable("g-submit-64", 64, SUBMIT, SQLITE, 50),
    Durable("g-cycle-1", 1, GEARMAN_CYCLE, SQLITE),
    Durable("g-cycle-64", 64, GEARMAN_CYCLE, SQLITE, 50),
]
RECORD_BYTES = 150  # of a job of 100 bytes in our journal, with its share of the batch's mark
FLOOR_BOUND = 0.5  # ours to the disk's alone, at least
RECOVERED_JOBS = 1_000_000
RECOVERY_TIME_BOUND = 0.5  # ours to the peer's
RECOVERY_MEMORY_BOUND = 1.2  # the most that a start takes, to what it has taken when it is over


@dataclass(frozen=True)
class Growth:
    """One load beside more and more of something; `{n}` in `beside` is how much."""

    name: str
    axis: str
    load: str
    beside: str
    sizes: list[int]
    bound: float | None
    base: int = 0  # `{n}` of the server to compare with; 0: nothing beside the load
    peers: list[str] = field(default_factory=list)
    server: str = "ours"
    against: str = ""  # another kind of ours with the same `{n}`, instead of less of it
    besides: float = 0  # µs that it may cost beside the bound


B_PEERS = [BEANSTALKD]
G_PEERS = [GEARMAND, TUNED]

GROWING = [
    Growth("b-idle", "idle connections", "beanstalk cycle", "--idle {n}",
           [100, 1_000, 10_000], 1.2, peers=B_PEERS),
    Growth("b-tubes", "other tubes with a job in each", "beanstalk cycle",
           "--backlog {n} --backlog-tubes {n}", [100, 1_000, 10_000, 50_000], 1.2, peers=B_PEERS),
    Growth("b-surveyed", "other tubes with a job in each, surveyed for what needs attention",
           "beanstalk cycle", "--backlog {n} --backlog-tubes {n}", [30_000], 1.03,
           server="ours with operators", against="ours"),
    Growth("b-ready", "ready jobs in the tube", "beanstalk cycle", "--backlog {n}",
           [10_000, 100_000, 1_000_000], 1.2, peers=B_PEERS),
    Growth("b-ready-random", "ready jobs in the tube, each with its own priority",
           "beanstalk cycle --random-priorities", "--backlog {n}",
           [10_000, 100_000, 1_000_000], 1.5, peers=B_PEERS),
    Growth("b-ready-tubes", "ready jobs over 10,000 other tubes", "beanstalk cycle",
           "--backlog {n} --backlog-tubes 10000", [10_000, 100_000, 1_000_000], 1.2, peers=B_PEERS),
    Growth("b-delayed", "delayed jobs in the tube", "beanstalk cycle", "--delayed {n}",
           [10_000, 100_000, 1_000_000], 1.2, peers=B_PEERS),
    Growth("b-delayed-tubes", "other tubes with 100,000 delayed jobs", "beanstalk cycle",
           "--delayed 100000 --delayed-tubes {n}", [100, 1_000, 10_000], 1.2, peers=B_PEERS),
    Growth("b-waiting", "waiting consumers of the tube", "beanstalk cycle --producers 4",
           "--consumers {n}", [64, 256, 1_000, 4_000], 1.2, base=16, peers=B_PEERS),
    Growth("b-watched", "tubes watched by each consumer", "beanstalk cycle", "--tubes {n}",
           [10, 100, 1_000], 1.2, base=1, peers=B_PEERS),
    Growth("b-held", "jobs held by the consumer", "beanstalk cycle --producers 2 --consumers 1",
           "--held {n}", [100, 1_000, 10_000, 30_000], 1.2, peers=B_PEERS),
    Growth("g-idle", "idle connections", "gearman cycle", "--idle-protocol gearman --idle {n}",
           [100, 1_000, 10_000], 1.2, peers=G_PEERS),
    Growth("g-functions", "other functions with a job in each", "gearman cycle",
           "--backlog {n} --backlog-tubes {n}", [100, 1_000, 10_000, 50_000], 1.2, peers=G_PEERS),
    Growth("g-ready", "queued jobs without keys", "gearman cycle", "--backlog {n}",
           [10_000, 100_000, 1_000_000], 1.2, peers=G_PEERS),
    Growth("g-unique", "queued unique keys", "gearman cycle --unique-keys", "--backlog {n}",
           [10_000, 100_000, 1_000_000], 1.3, peers=G_PEERS),
    Growth("g-sleepers", "sleeping workers of the function", "gearman cycle --sleep --producers 4",
           "--consumers {n}", [64, 256, 1_000, 4_000], 1.5, base=16, peers=G_PEERS),
    Growth("g-abilities", "functions of each worker", "gearman cycle", "--tubes {n}",
           [10, 100, 1_000, 5_000], 1.5, base=1, peers=G_PEERS),
    Growth("g-epoch", "future jobs of the function", "gearman cycle", "--delayed {n}",
           [1_000, 10_000, 50_000], 1.5, peers=G_PEERS),
    Growth("p-expires", "jobs of the tube that expire and are tried again", "beanstalk cycle",
           "--backlog {n}", [100_000, 1_000_000], 1.2, base=1_000, server="ours with policies"),
    Growth("p-waits", "jobs of the tube that wait and expire", "beanstalk cycle",
           "--delayed {n}", [100_000, 1_000_000], 1.2, base=1_000, server="ours with policies"),
    Growth("p-fair", "tubes that take turns, against the order of jobs", "beanstalk cycle",
           "--tubes {n}", [1_000, 10_000], 1.2, server="ours in turns", against="ours"),
]  # fmt: skip


GROUP_BACKLOG = 1_000_000
GROUPED_BODY = 200
GROUP_SIZES = [1, 10, 1_000, 100_000, 1_000_000]
GROUP_BACKLOG_OF = f"--body {GROUPED_BODY} --backlog {GROUP_BACKLOG} --groups {{n}}"

GROUPED = [
    Growth("closed", f"groups of {GROUP_BACKLOG:,} ready jobs of the tube", "beanstalk cycle", GROUP_BACKLOG_OF, GROUP_SIZES, 1.25,
           server="ours in groups", against="ours"),
    Growth("pipelined", f"groups of {GROUP_BACKLOG:,} ready jobs of the tube, pipelined", f"beanstalk cycle {FLOOD}", GROUP_BACKLOG_OF, GROUP_SIZES,
           1.25, server="ours in groups", against="ours", besides=0.3),
]  # fmt: skip
GROUP_BYTES_BOUND = 40  # above its name
GROUPED_JOB_BYTES_BOUND = 8
HELD_GROUPS_BOUND = 1.25
TURNED_OVER = 10_000_000  # groups that come and go
TURNOVER_BOUND = 1_000_000  # bytes that stay behind
QUIET_BOUND = 2.0  # service times
HALVES_BOUND = 0.1  # of the workers


@dataclass(frozen=True)
class Memory:
    """What a queued job costs, and what stays when the queue is empty again."""

    name: str
    protocol: str
    tubes: int
    peers: list[str]


QUEUED = [
    Memory("b-jobs", "beanstalk", 1, B_PEERS),
    Memory("b-jobs-tubes", "beanstalk", 10_000, []),  # beanstalkd takes minutes to fill
    Memory("g-jobs", "gearman", 1, [TUNED]),
    Memory("g-jobs-tubes", "gearman", 10_000, [TUNED]),
]
BODY_BYTES = 100
QUEUED_BOUND = 100  # bytes beside the body
DRAINED_BOUND = 1.3  # resident bytes against those before the jobs came
CONNECTION_BOUND = 4096  # bytes


@dataclass(frozen=True)
class Latency:
    """A load of half of what the slower server can do, while somebody else asks for much."""

    name: str
    load: str
    peer: str
    beside: str = ""
    beside_peer: str | None = None  # what the peer gets instead, where it would not end otherwise
    questions: tuple[str, ...] = ()
    ours: str = "ours"


B_PACED = "beanstalk cycle --producers 16 --consumers 16"
G_PACED = "gearman cycle --sleep --producers 16 --consumers 16"
DUE = "--due 1000000 --due-in 25 --seconds 4"
MANY = "--backlog 100000 --backlog-tubes 100000"
FEW = "--backlog 100000 --backlog-tubes 100"
# The journal grows to more than twice what lives in it, and old segments have to go.
COMPACTED = "--backlog 100000 --backlog-tubes 1 --seconds 8"

LATENCIES = [
    Latency("b-alone", B_PACED, BEANSTALKD),
    Latency("b-lists", B_PACED, BEANSTALKD, MANY, FEW, ("stats", "list-tubes")),
    Latency("b-due", B_PACED, BEANSTALKD, DUE),
    Latency("b-burst", B_PACED, BEANSTALKD, "--burst 100000"),
    Latency("b-compaction", B_PACED, BEANSTALKD_BINLOG, COMPACTED, ours="ours --sync 50ms"),
    Latency("g-alone", G_PACED, TUNED),
    Latency("g-lists", G_PACED, TUNED, MANY, FEW, ("status", "show jobs")),
    Latency("g-due", G_PACED, TUNED, "--due 200000 --due-in 15 --seconds 4"),
    Latency("g-burst", G_PACED, TUNED, "--burst 100000"),
]


@dataclass(frozen=True)
class Operators:
    """A client's load while all that an operator can ask for is asked for."""

    name: str
    load: str
    server: str


OPERATORS = Operators(
    "operators", "beanstalk cycle --producers 1 --consumers 1", "ours with operators"
)
QUESTIONS = Operators(
    "questions", "beanstalk cycle --producers 1 --consumers 1", "ours with operators"
)
