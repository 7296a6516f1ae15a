"""The servers that are measured: how to install, start and stop them."""

import ctypes
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from launched import NotReady, Process, eventually, free_ports  # noqa: E402

Command = Callable[[int, Path], list[str]]

LARGEST_BODY = str(1 << 20)  # bytes; the servers of beanstalk stop at 64 KB without being told

POLICIES = """
tubes:
  - match: "*"
    attempts: 5
    backoff: 1h
    expire_after: 1d
    keep_buried: 7d
"""

GROUPS = """
tubes:
  - match: "*"
    group: json:/customer
"""

BODIES_LIMIT = 64 << 20  # bytes, of a server whose bodies leave memory
HUGE_BODIES_LIMIT = 256 << 20  # of one that has more jobs than others

ADMIN_PORT = "{admin port}"  # stands in a command for a free port

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Kind:
    """A server with certain flags; `command` makes its command line from a port and a directory."""

    name: str
    command: Command


def our_kinds(binary: Path) -> list[Kind]:
    def plain(port: int, _directory: Path) -> list[str]:
        return [str(binary), "--listen", f"127.0.0.1:{port}", "--max-job-size", LARGEST_BODY]

    def journal(port: int, directory: Path) -> list[str]:
        return [*plain(port, directory), "--data-dir", str(directory), "--sync", "always"]

    def bodies(limit: int) -> Command:
        return lambda port, directory: [*journal(port, directory), "--limits-bodies", str(limit),
                                        "--admin", f"127.0.0.1:{ADMIN_PORT}", "--console-rate", "0"]

    def lazy_journal(port: int, directory: Path) -> list[str]:
        return [*plain(port, directory), "--data-dir", str(directory), "--sync", "50ms"]

    def configured(command: Command, text: str) -> Command:
        def with_config(port: int, directory: Path) -> list[str]:
            config = directory / "configuration.yaml"
            config.write_text(text)
            return [*command(port, directory), "--config", str(config)]

        return with_config

    def in_turns(port: int, directory: Path) -> list[str]:
        return [*plain(port, directory), "--tube-order", "fair"]

    def with_operators(port: int, directory: Path) -> list[str]:
        return [*plain(port, directory), "--admin", f"127.0.0.1:{ADMIN_PORT}", "--console-rate", "0"]

    def with_tls(port: int, directory: Path) -> list[str]:
        pem = directory / "server.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", str(pem), "-out", str(directory / "cert")],
            check=True, capture_output=True)  # fmt: skip
        with pem.open("a") as file:
            file.write((directory / "cert").read_text())
        return [*plain(port, directory), "--tls-certificate", str(pem)]

    def routed(command: Command, routers: int, *flags: str) -> Command:
        return lambda port, directory: [*command(port, directory), "--routers", str(routers), *flags]

    return [
        Kind("ours", plain),
        Kind("ours, 1 router", routed(plain, 1)),
        Kind("ours, 2 routers", routed(plain, 2)),
        Kind("ours, 4 routers", routed(plain, 4)),
        Kind("ours with TLS, 1 router", routed(with_tls, 1)),
        Kind("ours with TLS, 2 routers", routed(with_tls, 2)),
        Kind("ours with large bodies, 1 router", routed(plain, 1, "--max-job-size", str(64 << 20))),
        Kind("ours with operators", with_operators),
        Kind("ours with rights", configured(plain, 'rights: ["* all tube-*", "* all"]\n')),
        Kind("ours with TLS", with_tls),
        Kind("ours with policies", configured(plain, POLICIES)),
        Kind("ours in groups", configured(plain, GROUPS)),
        Kind("ours in groups at a rate", configured(plain, GROUPS + "    group_rate: 1/d\n")),
        Kind("ours in groups --sync always", configured(journal, GROUPS)),
        Kind("ours in turns", in_turns),
        Kind("ours --sync always", journal),
        Kind("ours --sync 50ms", lazy_journal),
        Kind("bodies in memory", bodies(0)),
        Kind("bodies in the journal", bodies(BODIES_LIMIT)),
        Kind("ours, 256 MiB of bodies", bodies(HUGE_BODIES_LIMIT)),
    ]


def _beanstalkd(*flags: str) -> Command:
    return lambda port, _: [
        "beanstalkd", "-l", "127.0.0.1", "-p", str(port), "-z", LARGEST_BODY, *flags,
    ]  # fmt: skip


def _beanstalkd_binlog(*flags: str) -> Command:
    return lambda port, directory: [*_beanstalkd(*flags)(port, directory), "-b", str(directory)]


def _gearmand(*flags: str) -> Command:
    return lambda port, directory: [
        "gearmand", "-L", "127.0.0.1", "-p", str(port), "-l", "none",
        "-P", str(directory / "pid"), *flags,
    ]  # fmt: skip


def _gearmand_sqlite(port: int, directory: Path) -> list[str]:
    database = f"--libsqlite3-db={directory / 'queue'}"
    return _gearmand("--queue-type=libsqlite3", database)(port, directory)


def floor_kind(binary: Path) -> Kind:
    """A server that keeps nothing: what the sockets of a load cost."""
    return Kind("floor", lambda port, _: [str(binary), str(port)])


TUNED = ("-t", "1", "-w", "1", "--hashtable-buckets", "1000003", "-b", "4096")

PEERS = [
    Kind("beanstalkd", _beanstalkd()),
    Kind("beanstalkd -b", _beanstalkd_binlog()),
    Kind("beanstalkd -f0", _beanstalkd_binlog("-f0")),
    Kind("beanstalkd -F", _beanstalkd_binlog("-F")),
    Kind("gearmand", _gearmand()),
    Kind("gearmand tuned", _gearmand(*TUNED)),
    Kind("gearmand -t 4", _gearmand("-t", "4", *TUNED[2:])),
    Kind("gearmand sqlite", _gearmand_sqlite),
]


def install_packages() -> None:
    """Installs what is missing of the peers and of what the load tool is made with."""
    install = ". scripts/packages && install_missing $bench_packages"
    subprocess.run(["sh", "-c", install], cwd=ROOT, check=True)


def find(program: str) -> str | None:
    """The path of a program, also of one that only root has in its path."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


class ServerError(NotReady):
    """A server did not do what is measured."""


class Server(Process):
    """A running server with a directory of its own, or that of another that has ended; a context manager that ends it."""

    def __init__(self, kind: Kind, scratch: Path, directory: Path | None = None) -> None:
        self.kind = kind
        self._directory = None
        if directory is None:
            self._directory = tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True)
        self.directory = directory or Path(self._directory.name)
        self.port, self.admin_port = free_ports(2)
        program, *words = [word.replace(ADMIN_PORT, str(self.admin_port))
                           for word in kind.command(self.port, self.directory)]  # fmt: skip
        # Its port is there before them.
        self._routers = int(words[words.index("--routers") + 1]) if "--routers" in words else 0
        super().__init__([find(program) or program, *words])

    def __enter__(self) -> "Server":
        try:
            self.wait_for_port(self.port)
            eventually("its routers live", lambda: len(self.routers()) == self._routers)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._directory:
            self._directory.cleanup()

    def routers(self) -> list[int]:
        """Its child processes, which hold the clients' sockets."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):
                if int(status.read_text().rpartition(") ")[2].split()[1]) == self.pid:
                    found.append(int(status.parent.name))
        return sorted(found)

    def resident_bytes(self) -> int:
        rollup = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        line = next(line for line in rollup.splitlines() if line.startswith("Rss:"))
        return int(line.split()[1]) * 1024

    def peak_bytes(self) -> int:
        """The most that was ever resident."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024


def die_with_parent() -> None:
    """For a child process to call before it becomes another program."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
