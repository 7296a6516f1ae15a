#!/usr/bin/env python3
"""The broker and a service manager: systemd_test.py BROKER."""

import os
import re
import signal
import socket
import sys
import unittest
from collections.abc import Callable

from broker import BROKER, PATIENCE, Broker, Directory
from launched import PASS_SOCKETS

# Takes the place of the service manager's child: LISTEN_PID must be the broker's own.
class Manager:
    """Hears what is told to the service manager."""

    def __init__(self) -> None:
        self.directory = Directory()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        path = str(self.directory.path / "notify")
        self.socket.bind(path)
        self.environment = dict(os.environ, NOTIFY_SOCKET=path)

    def hear(self) -> list[str]:
        return self.socket.recv(4096).decode().splitlines()

    def hear_until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        while not holds(lines := self.hear()):
            pass
        return lines

    def close(self) -> None:
        self.socket.close()
        self.directory.close()


class Notifying(unittest.TestCase):
    def setUp(self) -> None:
        self.manager = Manager()
        self.addCleanup(self.manager.close)

    def test_life(self) -> None:
        with Broker(env=self.manager.environment) as broker:
            serving = f"STATUS=serving on 127.0.0.1:{broker.ports[0]}"
            self.assertEqual(self.manager.hear(), ["READY=1", serving])
            broker.signal(signal.SIGHUP)
            self.assertEqual(self.manager.hear()[0], "RELOADING=1")
            self.assertEqual(self.manager.hear(), ["READY=1", serving])
            broker.signal(signal.SIGUSR1)
            self.assertEqual(self.manager.hear(),
                             [serving.replace("serving", "draining")])
            broker.signal(signal.SIGTERM)
            self.assertEqual(self.manager.hear()[0], "STOPPING=1")
            self.assertEqual(broker.wait(), 0)

    def test_watchdog(self) -> None:
        environment = dict(self.manager.environment, WATCHDOG_USEC="200000")
        with Broker(env=environment):
            for _ in range(3):
                self.manager.hear_until(lambda lines: lines == ["WATCHDOG=1"])

    def test_no_watchdog_unasked(self) -> None:
        with Broker(env=self.manager.environment) as broker:
            self.assertEqual(self.manager.hear()[0], "READY=1")
            broker.signal(signal.SIGTERM)
            self.assertEqual(self.manager.hear()[0], "STOPPING=1")


class Activated:
    """A broker that is passed sockets, each with a name."""

    def __init__(self, sockets: dict[str, socket.socket], *flags: str) -> None:
        self.sockets = list(sockets.values())
        # Out of the way of the places where they go.
        high = [os.dup2(each.fileno(), 100 + place) for place, each in enumerate(self.sockets)]
        environment = dict(os.environ, LISTEN_FDS=str(len(high)), LISTEN_FDNAMES=":".join(sockets))
        self.broker = Broker(
            "-c", PASS_SOCKETS, ",".join(map(str, high)), BROKER, *flags, listen=(),
            program=sys.executable, env=environment, pass_fds=high)
        for fd in high:
            os.close(fd)


class Activation(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Directory()
        self.addCleanup(self.directory.close)

    def bound(self) -> socket.socket:
        server = socket.socket()
        self.addCleanup(server.close)
        server.bind(("127.0.0.1", 0))
        return server

    def speaks(self, broker: Broker, index: int) -> set[str]:
        """The protocols of an address, by what it answers to each one's first words."""
        spoken = set()
        for name, request, answer in (("beanstalk", b"list-tubes\r\n", b"OK "),
                                      ("gearman", b"getpid\r\n", b"OK ")):
            with broker.connect(index) as client:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                if client.recv(100).startswith(answer):
                    spoken.add(name)
        return spoken

    def test_passed_sockets_replace_those_of_the_configuration(self) -> None:
        server = self.bound()
        with Activated({"any": server}, "--listen", "127.0.0.1:1").broker as broker:
            self.assertEqual(broker.ports, [server.getsockname()[1]])
            self.assertEqual(broker.ask(b"list-tube-used\r\n"), b"USING default\r\n")

    def test_names_choose_the_protocol(self) -> None:
        servers = {"beanstalk": self.bound(), "gearman": self.bound(), "other": self.bound()}
        with Activated(servers).broker as broker:
            self.assertEqual(self.speaks(broker, 0), {"beanstalk"})
            self.assertEqual(self.speaks(broker, 1), {"gearman"})
            self.assertEqual(self.speaks(broker, 2), {"beanstalk", "gearman"})

    def test_the_entry_with_the_address_outweighs_the_name(self) -> None:
        server = self.bound()
        address = f"127.0.0.1:{server.getsockname()[1]},protocols=beanstalk"
        with Activated({"gearman": server}, "--listen", address).broker as broker:
            self.assertEqual(self.speaks(broker, 0), {"beanstalk"})

    def test_an_entry_whose_options_no_socket_gets_is_told(self) -> None:
        server = self.bound()
        address = f"127.0.0.1:{server.getsockname()[1]},protocols=beanstalk"
        with Activated({"any": server}, "--listen", address, "--listen", "127.0.0.1:1,tls=off",
                       "--listen", "127.0.0.1:2").broker as broker:
            self.assertEqual(re.findall("listen address '(.*)': no socket", broker.said),
                             ["127.0.0.1:1,tls=off"])

    @unittest.skipUnless(socket.has_dualstack_ipv6(), "no IPv6")
    def test_who_comes_by_ipv4_to_a_socket_for_both_is_known_by_that(self) -> None:
        server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.addCleanup(server.close)
        with Activated({"any": server}, "--limits-connections-per-address", "1").broker as broker:
            with broker.connect() as client, \
                    socket.create_connection(("::1", broker.ports[0]), PATIENCE) as other:
                other.sendall(b"list-tube-used\r\n")
                self.assertEqual(other.recv(100), b"USING default\r\n")
                client.sendall(b"shutdown\r\n")
                self.assertEqual(client.recv(100), b"OK\r\n")
            self.assertEqual(broker.wait(), 0)
            self.assertRegex(broker.said, r"shutdown client=127\.0\.0\.1:\d+ connection=1\n")

    def test_unix_socket_stays_with_the_manager(self) -> None:
        path = self.directory.path / "socket"
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(path))
        with Activated({"any": server}).broker as broker:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect(str(path))
                client.sendall(b"list-tube-used\r\n")
                self.assertEqual(client.recv(100), b"USING default\r\n")
            broker.signal(signal.SIGTERM)
            self.assertEqual(broker.wait(), 0)
        self.assertTrue(path.exists())

    def test_what_is_no_stream_socket_is_refused(self) -> None:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(server.close)
        server.bind(("127.0.0.1", 0))
        broker = Activated({"any": server}).broker
        self.addCleanup(broker.__exit__, None, None, None)
        self.assertEqual(broker.wait(), 1)
        self.assertIn("descriptor 3 is not a stream socket", broker.said)

    def refused(self, passed: socket.socket) -> str:
        broker = Activated({"any": passed}).broker
        self.addCleanup(broker.__exit__, None, None, None)
        self.assertEqual(broker.wait(), 1)
        return broker.said

    def test_abstract_unix_socket(self) -> None:
        name = f"gearstalkd-{os.getpid()}"
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind("\0" + name)
        with Activated({"any": server}).broker as broker:
            self.assertIn(f"ready unix:@{name}\n", broker.said)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect("\0" + name)
                client.sendall(b"list-tube-used\r\n")
                self.assertEqual(client.recv(100), b"USING default\r\n")

    def test_a_connection_is_refused(self) -> None:
        one, other = socket.socketpair()
        self.addCleanup(one.close)
        self.addCleanup(other.close)
        self.assertIn("descriptor 3 is a connection, not a socket to listen on: a socket unit needs "
                      "Accept=no", self.refused(one))

    def test_a_socket_without_an_address_is_refused(self) -> None:
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        self.assertIn("descriptor 3 is a socket without an address", self.refused(server))


if __name__ == "__main__":
    unittest.main()
