"""Three nodes of etcd, and brokers that share a journal there."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from clocks import Clocks  # noqa: E402, F401
from launched import PATIENCE, NotReady, Process, eventually, free_ports  # noqa: E402

ETCD = os.environ.get("ETCD") or shutil.which("etcd")


def http_get(port: int, path: str, host: str = "127.0.0.1") -> tuple[int, str]:
    """Status and text; (0, why) without an answer."""
    try:
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)


class Node(Process):
    """A node of etcd."""

    def __init__(self, directory: Path, name: str, client: int, peer: int, members: str,
                 *more: str, host: str = "127.0.0.1", within: list[str] | None = None) -> None:
        assert ETCD is not None
        self.endpoint = f"{host}:{client}"
        self.host, self.port = host, client
        self._within = within or []  # what a command begins with to be run on its host
        scheme = "https" if any(flag.startswith("--cert-file=") for flag in more) else "http"
        self.url = self.endpoint if scheme == "http" else f"https://{self.endpoint}"
        super().__init__([
            *self._within, ETCD, f"--name={name}", f"--data-dir={directory / name}", "--pre-vote",
            "--snapshot-count=2000", "--log-level=error",
            f"--listen-client-urls={scheme}://{self.endpoint}",
            f"--advertise-client-urls={scheme}://{self.endpoint}",
            f"--listen-peer-urls=http://{host}:{peer}",
            f"--initial-advertise-peer-urls=http://{host}:{peer}",
            f"--initial-cluster={members}", *more])

    def ctl(self, *words: str, text: str = "") -> str:
        flags = (f"--endpoints={self.endpoint}", f"--dial-timeout={PATIENCE:.0f}s",
                 f"--command-timeout={PATIENCE:.0f}s")
        done = subprocess.run([*self._within, "etcdctl", *flags, *words], input=text,
                              env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise AssertionError(f"etcdctl {words}: {done.stderr}")
        return done.stdout

    def healthy(self) -> bool:
        status, text = http_get(self.port, "/health", self.host)
        return status == 200 and "true" in text

    def status(self) -> dict:
        return json.loads(self.ctl("endpoint", "status", "-w", "json"))[0]["Status"]


class Etcd:
    """Three nodes that form a cluster. `directories`: where each keeps its data."""

    def __init__(self, nodes: int = 3, *more: str, wait: bool = True,
                 directories: list[Path] | None = None, place: Path | None = None) -> None:
        """`place` is where its files are otherwise, in a directory of their own."""
        self._directory = tempfile.TemporaryDirectory(prefix="gearstalk-etcd-", dir=place)
        within = directories or [Path(self._directory.name)] * nodes
        ports = free_ports(2 * nodes)
        clients, peers = ports[:nodes], ports[nodes:]
        members = ",".join(f"n{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        self.nodes = [Node(within[i], f"n{i}", clients[i], peers[i], members, *more)
                      for i in range(nodes)]
        if wait:
            self.wait()

    def wait(self) -> None:
        try:
            eventually("etcd is healthy", lambda: all(node.healthy() for node in self.nodes))
        except AssertionError as error:
            logs = "".join(node.said[-2000:] for node in self.nodes)
            raise AssertionError(f"{error}\n{logs}") from None

    def leader(self) -> Node:
        def leading() -> Node | None:
            """None while they elect one."""
            for node in self.nodes:
                status = node.ctl("endpoint", "status", "-w", "fields")
                found = dict(re.findall(r'"(\w+)" : (\d+)', status))
                if found["Leader"] == found["MemberID"]:
                    return node
            return None
        return eventually("etcd has a leader", leading)

    def close(self) -> None:
        for node in self.nodes:
            node.kill()
        self._directory.cleanup()


class Shard:
    """The brokers of one prefix."""

    def __init__(self, program: str, etcd: Etcd, prefix: str, lease_ms: int = 30_000) -> None:
        self.program = program
        self.lease = lease_ms / 1000
        self.flags = ["--etcd-prefix", prefix, "--replica-lease", str(lease_ms)]
        for node in etcd.nodes:
            self.flags += ["--etcd-endpoints", node.url]
        self.brokers: list[Broker] = []

    def broker(self, name: str, *flags: str, host: str = "127.0.0.1",
               within: list[str] | None = None) -> "Broker":
        self.brokers.append(Broker(self, name, *flags, host=host, within=within))
        return self.brokers[-1]

    def first(self, *flags: str) -> "Broker":
        """The broker b1, which has become active."""
        broker = self.broker("b1", *flags)
        broker.wait_for("^ready ")
        return broker

    def pair(self) -> tuple["Broker", "Broker"]:
        """An active broker and a standby, which has caught up."""
        active = self.first()
        standby = self.broker("b2")
        standby.wait_for("^standby$")
        return active, standby

    def active(self) -> "Broker | None":
        for broker in self.brokers:
            if broker.running and not broker.stopped and broker.readyz()[0] == 200:
                return broker
        return None

    def wait_active(self, but: "Broker | None" = None) -> "Broker":
        def serving() -> "Broker | None":
            active = self.active()
            return active if active is not but else None
        return eventually("a broker serves", serving)

    def make_whole(self) -> None:
        """Starts brokers that ended, as their unit does, until one serves and the others follow."""
        def is_whole() -> bool:
            for broker in self.brokers:
                if broker.running:
                    continue
                code = broker.wait()
                if code not in (3, -signal.SIGKILL):
                    raise NotReady(f"{broker.name} ended with exit code {code}:\n{broker.said}")
                broker.start()
            return self.active() is not None and \
                all(broker.readyz("?role=standby")[0] == 200 for broker in self.brokers)
        eventually("one broker serves and the others follow", is_whole)

    def tool(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.program, *self.flags, *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def close(self) -> None:
        for broker in self.brokers:
            broker.kill()

    def __enter__(self) -> "Shard":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None:
            for broker in self.brokers:
                print(f"--- {broker.name}\n{broker.said}")
        self.close()


class Broker(Process):
    """One process after the other, at the same addresses."""

    def __init__(self, shard: Shard, name: str, *flags: str, host: str = "127.0.0.1",
                 within: list[str] | None = None) -> None:
        self.shard = shard
        self.name = name
        self.host = host
        self.port, self.admin = free_ports(2)
        self.address = f"{host}:{self.port}"
        super().__init__([
            *(within or []), shard.program, *shard.flags, "--replica-name", name, "--listen",
            self.address, "--admin", f"{host}:{self.admin}", *flags])

    def readyz(self, query: str = "") -> tuple[int, str]:
        status, text = http_get(self.admin, f"/readyz{query}", self.host)
        return status, text.rstrip("\n")

    def wait_readyz(self, pattern: str, query: str = "") -> None:
        last: list[object] = []

        def says() -> bool:
            last[:] = self.readyz(query)
            return re.search(pattern, f"{last[0]} {last[1]}") is not None
        try:
            eventually(pattern, says)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.name}'s last answer: {last}\n{self.said}") from None

    def metric(self, name: str, labels: str = "") -> float:
        _, text = http_get(self.admin, "/metrics", self.host)
        found = re.search(rf"^{re.escape(name + labels)} (\S+)$", text, re.M)
        if found is None:
            raise AssertionError(f"no {name}{labels} in:\n{text}")
        return float(found[1])

    def refuses(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), PATIENCE).close()
        except (ConnectionRefusedError, ConnectionResetError):  # reset: its handshake met the close
            return True
        return False

    def connect(self) -> "Client":
        return Client(self.port, self.host)


class Client:
    """A connection that speaks beanstalk. Every call raises OSError when the broker is gone."""

    def __init__(self, port: int, host: str = "127.0.0.1", path: str = "") -> None:
        if path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(path)
        else:
            self.socket = socket.create_connection((host, port), PATIENCE)
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def line(self) -> str:
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the connection ended")
        return line.decode().rstrip("\r\n")

    def say(self, command: str) -> str:
        self.send(command.encode() + b"\r\n")
        return self.line()

    def put(self, body: str, delay: int = 0) -> str:
        return self.say(f"put 10 {delay} 120 {len(body)}\r\n{body}")

    def reserve(self, timeout: int = 0) -> tuple[int, str] | None:
        """Id and body; None: there was no job."""
        words = self.say(f"reserve-with-timeout {timeout}").split()
        if words[0] != "RESERVED":
            if words[0] not in ("TIMED_OUT", "DEADLINE_SOON"):
                raise AssertionError(f"reserve was answered {words}")
            return None
        body = self.file.read(int(words[2]) + 2)
        if len(body) != int(words[2]) + 2:
            raise ConnectionResetError("the connection ended")
        return int(words[1]), body[:-2].decode()

    def rest(self) -> bytes:
        """What comes until the connection ends."""
        got = b""
        try:
            while part := self.socket.recv(4096):
                got += part
        except ConnectionResetError:
            pass
        return got

    def take_all(self) -> list[tuple[int, str]]:
        jobs = []
        while job := self.reserve():
            jobs.append(job)
        return jobs
