"""PostgreSQL servers of a test, and brokers that share a journal there."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "replica"), str(ROOT / "support")]
from cluster import Shard  # noqa: E402
from launched import PATIENCE, NotReady, Process, eventually, free_port  # noqa: E402

PROGRAMS = next((path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
                 if (path / "initdb").exists()), None)
# The servers refuse to run as root.
AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] \
    if os.getuid() == 0 else []


def setUpModule() -> None:  # pylint: disable=invalid-name
    """For each module of tests that need PostgreSQL."""
    if PROGRAMS is None:
        raise unittest.SkipTest("there is no PostgreSQL")


def run(program: str, *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    assert PROGRAMS is not None
    done = subprocess.run([*AS_NOBODY, PROGRAMS / program, *map(str, words)], capture_output=True,
                          text=True, timeout=PATIENCE, check=False, cwd="/")
    if check and done.returncode != 0:
        raise AssertionError(f"{program} {words}: {done.stderr}")
    return done


class Server(Process):
    """One server; `name` is what it is called as a standby."""

    def __init__(self, directory: Path, name: str, primary: "Server | None" = None,
                 **settings: str) -> None:
        assert PROGRAMS is not None
        self.name = name
        self.data = directory
        self.port = free_port()
        self.where = f"host=127.0.0.1 port={self.port}"
        if primary is not None:
            self.follow(primary)
        flags = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        super().__init__([
            *AS_NOBODY, PROGRAMS / "postgres", "-D", directory, "-p", self.port, "-c",
            "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c",
            "wal_receiver_timeout=2s", "-c",
            "wal_retrieve_retry_interval=100ms", *flags], cwd="/")

    def sql(self, text: str, user: str = "test") -> str:
        done = self.psql(text, user)
        if done.returncode != 0:
            raise AssertionError(f"{text}: {done.stderr}")
        return done.stdout.strip()

    def psql(self, text: str, user: str = "test") -> subprocess.CompletedProcess[str]:
        return run("psql", f"{self.where} dbname=postgres user={user}", "-qAtXc", text, check=False)

    @contextmanager
    def session(self) -> Iterator[Callable[[str], None]]:
        """Runs one command after the other in the same session, each to its end."""
        assert PROGRAMS is not None
        with subprocess.Popen([*AS_NOBODY, PROGRAMS / "psql", f"{self.where} dbname=postgres user=test",
                               "-qAtX"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              cwd="/") as psql:
            def say(sql: str) -> None:
                psql.stdin.write(f"{sql};\n\\echo done\n")
                psql.stdin.flush()
                while psql.stdout.readline() not in ("done\n", ""):
                    continue
            yield say

    def wait_up(self) -> None:
        def up() -> bool:
            if not self.running:
                raise NotReady(self.said)
            return self.psql("select 1").returncode == 0
        eventually(f"{self.name} is up", up)

    def stop_at_once(self) -> None:
        """All sessions end, and nothing more is written."""
        if self.running:
            self.signal(3)
            self.wait()

    def follow(self, primary: "Server") -> None:
        """As a standby, from its next start on."""
        (self.data / "standby.signal").touch()
        with open(self.data / "postgresql.auto.conf", "a") as settings:
            settings.write(f"primary_conninfo = '{primary.where} user=test "
                           f"application_name={self.name}'\n")

    def received(self) -> int:
        """How much of the primary's WAL this standby has on its disk."""
        return int(self.sql("select pg_wal_lsn_diff(greatest(pg_last_wal_receive_lsn(), "
                            "pg_last_wal_replay_lsn()), '0/0')::bigint"))

    def promote(self) -> None:
        done = self.sql(f"select pg_promote(true, {PATIENCE:.0f})")
        if done != "t":
            raise NotReady(self.said)


class Servers:
    """A primary and its standbys, any one of which confirms a commit."""

    def __init__(self, standbys: int = 0, everywhere: bool = False, **settings: str) -> None:
        """`everywhere`: the settings are those of the standbys, too."""
        self._directory = tempfile.TemporaryDirectory(prefix="gearstalk-postgres-")
        top = Path(self._directory.name)
        if AS_NOBODY:
            shutil.chown(top, "nobody", "nogroup")
        run("initdb", "-D", top / "p", "-U", "test", "-A", "trust", "--no-sync", "-E", "UTF8",
            "--locale=C")
        names = [f"s{i + 1}" for i in range(standbys)]
        for name in names:
            subprocess.run(["cp", "-a", top / "p", top / name], check=True)
        if standbys:
            settings.setdefault("synchronous_standby_names", f"ANY 1 ({','.join(names)})")
        self.primary = Server(top / "p", "p", **settings)
        self.primary.wait_up()
        self.standbys = [Server(top / name, name, self.primary, **(settings if everywhere else {}))
                         for name in names]
        for standby in self.standbys:
            standby.wait_up()
        self.all = [self.primary, *self.standbys]
        eventually("they are synchronous", lambda: self.primary.sql(
            "select count(*) from pg_stat_replication where sync_state = 'quorum'") == str(standbys))

    @property
    def conninfo(self) -> str:
        ports = ",".join(str(server.port) for server in self.all)
        hosts = ",".join("127.0.0.1" for _ in self.all)
        return f"host={hosts} port={ports} dbname=postgres user=test"

    def promote(self) -> Server:
        """Ends the primary, which it returns, and promotes the standby that has most of its WAL: the
        others may lack what was confirmed."""
        old = self.primary
        old.stop_at_once()
        standbys = [server for server in self.all if server is not old]
        for standby in standbys:
            standby.wait_up()
        self.primary = max(standbys, key=Server.received)
        self.primary.promote()
        return old

    def close(self) -> None:
        for server in self.all:
            server.stop_at_once()
        self._directory.cleanup()


class PostgresShard(Shard):
    """The brokers of one schema."""

    def __init__(self, program: str, servers: Servers, schema: str, lease_ms: int = 30_000,
                 conninfo: str = "") -> None:
        self.program = program
        self.lease = lease_ms / 1000
        self.flags = ["--postgres-conninfo", conninfo or servers.conninfo, "--postgres-schema",
                      schema, "--replica-lease", str(lease_ms)]
        self.brokers = []
