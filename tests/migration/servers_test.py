#!/usr/bin/env python3
"""Which server an address leads to: the wrong kind of server, one server at two addresses, the broker
itself: servers_test.py BROKER CTL."""

import socket
import sys
import unittest

from fake_beanstalkd import FakeBeanstalkd, Session
from fake_gearmand import FakeGearmand
from fake_server import Death
from gearman import COMPLETE, CREATED, SUBMIT_BG, Peer
from tools import Broker, Folder, ctl, exported, jobs


class WrongKind(unittest.TestCase):
    """It is told at once, not after a time of silence, and not asked again."""

    def test_a_gearmand_that_is_none(self) -> None:
        with Broker() as broker:
            old = FakeBeanstalkd()
            url = old.url.replace("beanstalk:", "gearman:")
            here = f"gearman://{broker.address}"
            for line in (("take-over", url, "--to", broker.address),
                         ("take-over", url, "--to", broker.address, "--follow"),
                         ("bridge", "--from", url, "--to", here, "--function", "f"),
                         ("bridge", "--from", here, "--to", url, "--function", "f")):
                with self.subTest(line):
                    self.assertIn("no Gearman server: it answers 'UNKNOWN_COMMAND'",
                                  ctl(*line, code=2))
            old.close()

    def test_a_beanstalkd_that_is_none(self) -> None:
        with Broker() as broker:
            old = FakeGearmand()
            url = old.url.replace("gearman:", "beanstalk:")
            for line in (("take-over", url, "--to", broker.address),
                         ("take-over", url, "--to", broker.address, "--follow")):
                with self.subTest(line):
                    self.assertIn("no beanstalkd: it answers 'ERR UNKNOWN_COMMAND",
                                  ctl(*line, code=2))
            old.close()

    def test_a_broker_that_is_none(self) -> None:
        old, other = FakeBeanstalkd(), FakeBeanstalkd()
        said = ctl("take-over", old.url, "--to", f"127.0.0.1:{other.port}", "--follow", code=2)
        self.assertIn("no gearstalkd", said)
        old.close()
        other.close()


class Silent(unittest.TestCase):
    def test_a_broker_that_says_nothing(self) -> None:
        """It counts as dead after a time."""
        old = FakeBeanstalkd()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            here = f"127.0.0.1:{silent.getsockname()[1]}"
            self.assertIn(f"{here} is silent", ctl("take-over", old.url, "--to", here, code=1))
        old.close()


class Itself(unittest.TestCase):
    """Jobs would be moved without end."""

    def test_all_commands(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            port = broker.ports[0]
            for line in (("take-over", f"beanstalk://localhost:{port}", "--to", broker.address),
                         ("take-over", f"gearman://localhost:{port}", "--to", broker.address),
                         ("bridge", "--from", f"gearman://localhost:{port}", "--to",
                          f"gearman://{broker.address}", "--function", "f")):
                with self.subTest(line):
                    self.assertIn("are one server", ctl(*line, code=2))
            self.assertEqual(ctl("transfers", "--to", broker.address), "")


class DyingBeanstalkd(FakeBeanstalkd):
    """Drops the connection that deletes the first job."""

    alive = True

    class Session(Session):
        def delete(self, number: str) -> bytes:
            if self.server.alive and self.server.jobs[int(number)].body:
                self.server.alive = False
                raise Death
            return super().delete(number)

    def session(self, connection: socket.socket) -> Session:
        return self.Session(self, connection)


class DyingGearmand(FakeGearmand):
    """Drops the connection that completes or submits the first job."""

    alive = True

    def before(self, kind: int) -> None:
        if kind in (COMPLETE, SUBMIT_BG) and self.alive:
            self.alive = False
            raise Death


class AnotherAddress(unittest.TestCase):
    """An interrupted take-over goes on at another address of the same server."""

    def check(self, make: type, host: str) -> None:
        old = make()
        old.add("work", "a")
        old.add("work", "b")
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            ctl("take-over", old.url, "--to", broker.address, code=1)
            old.live()
            if host != "localhost":
                old.listen_at(host)
            self.assertEqual(jobs(exported("--from", broker.address)), [])
            said = ctl("take-over", old.url.replace("127.0.0.1", host), "--to", broker.address)
            self.assertIn(f"the same server as {old.url}", said)
            self.assertEqual([(job["body"], job["state"])
                              for job in jobs(exported("--from", broker.address))],
                             [("a", "ready"), ("b", "ready")])
            transfers = ctl("transfers", "--to", broker.address).splitlines()
            self.assertEqual(len(transfers), 1)
            self.assertIn(" 0 held", transfers[0])
            old.close()

    def test_a_beanstalkd(self) -> None:
        for host in ("localhost", "127.0.0.2"):
            with self.subTest(host):
                self.check(DyingBeanstalkd, host)

    def test_a_gearmand(self) -> None:
        for host in ("localhost", "127.0.0.2"):
            with self.subTest(host):
                self.check(DyingGearmand, host)

    def test_the_way_back(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "d") as broker:
            with Peer(broker.address) as client:
                self.assertEqual(client.ask(SUBMIT_BG, "work", "", "a")[0], CREATED)
            old = DyingGearmand()
            ctl("hand-back", old.url, "--from", broker.address, code=1)
            old.live()
            ctl("hand-back", old.url.replace("127.0.0.1", "localhost"), "--from", broker.address,
                code=3)
            self.assertEqual([job.body for job in old.jobs.values()], [b"a"])
            transfers = ctl("transfers", "--to", broker.address).splitlines()
            self.assertEqual(len(transfers), 1)
            self.assertIn(" 1 uncertain, 0 held", transfers[0])
            old.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
