"""Hosts in network namespaces of their own: nodes of etcd and brokers, which can be cut off.

Brokers have one network for clients and another for etcd. The second one has two islands: a host
is on the first one, or moved to the second. A host can also be made deaf to another.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cluster import Broker, Etcd, Node, Shard

INSIDE = "GEARSTALK_ISLANDS"
CLIENTS, STORE = "10.77.1.", "10.77.2."
NOBODY = "02:de:ad:00:00:01"  # no host's


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def enter() -> str:
    """Goes on in namespaces of its own, which end with it; otherwise, why that is not possible."""
    if os.environ.get(INSIDE):
        return ""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        return "network namespaces need root, ip and unshare"
    probe = "mount -t tmpfs none /run/netns && ip netns add probe && ip link add name probe type bridge"
    os.makedirs("/run/netns", exist_ok=True)
    own = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*own, "sh", "-c", probe], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"network namespaces: {done.stderr.strip()}"
    os.environ[INSIDE] = "1"
    command = 'mount -t tmpfs none /run/netns && exec "$@"'
    os.execvp(own[0], [*own, "sh", "-c", command, "sh", sys.executable, *sys.orig_argv[1:]])
    return "it cannot be started there"


class Host:
    """A namespace; its number is the end of its addresses."""

    def __init__(self, name: str, number: int, networks: tuple[str, ...]) -> None:
        self.name = name
        self.within = ["ip", "netns", "exec", name]
        self.client, self.store = f"{CLIENTS}{number}", f"{STORE}{number}"
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        for network in networks:
            port = f"{name}-{network[0]}"
            ip("link", "add", "name", port, "type", "veth", "peer", "name", network, "netns", name)
            ip("link", "set", port, "master", network, "up")
            address = self.client if network == "clients" else self.store
            ip("-n", name, "address", "add", f"{address}/24", "dev", network)
            ip("-n", name, "link", "set", network, "up")

    def move(self, island: str) -> None:
        """To `store` or to `island`; its connections stay, but what they carry is lost."""
        ip("link", "set", f"{self.name}-s", "master", island)

    def lose(self, to: "Host") -> None:
        """What it sends to the other arrives nowhere; what the other sends arrives."""
        ip("-n", self.name, "neighbour", "replace", to.store, "lladdr", NOBODY, "dev", "store",
           "nud", "permanent")

    def find(self, to: "Host") -> None:
        ip("-n", self.name, "neighbour", "delete", to.store, "dev", "store")


class Islands:
    """Three nodes of etcd and two brokers."""

    def __init__(self, program: str, lease_ms: int) -> None:
        ip("link", "set", "lo", "up")
        for network, address in (("clients", CLIENTS), ("store", STORE), ("island", "")):
            ip("link", "add", "name", network, "type", "bridge")
            ip("link", "set", network, "up")
            if address:
                ip("address", "add", f"{address}254/24", "dev", network)
        self.nodes = [Host(f"n{i}", 11 + i, ("store",)) for i in range(3)]
        self.hosts = {f"b{i}": Host(f"b{i}", i, ("clients", "store")) for i in (1, 2)}
        self.etcd = IslandEtcd(self.nodes)
        self.shard = Shard(program, self.etcd, "/islands/", lease_ms)
        for name, host in self.hosts.items():
            self.shard.broker(name, host=host.client, within=host.within)

    def host(self, of: Broker | Node) -> Host:
        return self.hosts[of.name] if isinstance(of, Broker) else self.nodes[self.etcd.nodes.index(of)]

    def other(self, broker: Broker) -> Broker:
        return next(each for each in self.shard.brokers if each is not broker)

    def heal(self) -> None:
        for host in (*self.nodes, *self.hosts.values()):
            host.move("store")

    def close(self) -> None:
        self.shard.close()
        self.etcd.close()


class IslandEtcd(Etcd):
    """A node on each host."""

    def __init__(self, hosts: list[Host]) -> None:  # pylint: disable=super-init-not-called
        self._directory = tempfile.TemporaryDirectory(prefix="gearstalk-etcd-")
        members = ",".join(f"{host.name}=http://{host.store}:2380" for host in hosts)
        self.nodes = [Node(Path(self._directory.name), host.name, 2379, 2380, members,
                           host=host.store, within=host.within) for host in hosts]
        self.wait()
