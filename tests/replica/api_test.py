#!/usr/bin/env python3
"""The API of brokers that share a journal on a node of etcd: api_test.py BROKER."""

import http.client
import select
import signal
import sys
import unittest
from pathlib import Path

from cluster import ETCD, Broker, Etcd, Shard, eventually

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from api_client import Api  # noqa: E402  # pylint: disable=wrong-import-position

BROKER = sys.argv.pop(1)


def setUpModule() -> None:  # pylint: disable=invalid-name
    if ETCD is None:
        raise unittest.SkipTest("there is no etcd")


def api(broker: Broker) -> Api:
    return Api(f"127.0.0.1:{broker.admin}")


class Replicas(unittest.TestCase):
    def setUp(self) -> None:
        self.etcd = Etcd(1)
        self.addCleanup(self.etcd.close)
        self.shard = self.enterContext(Shard(BROKER, self.etcd, "/api/"))
        self.active, self.standby = self.shard.broker("b1"), None
        self.active.wait_for("^ready ")
        self.standby = self.shard.broker("b2")
        self.standby.wait_for("^standby$")

    def test_a_standby_shows_its_copy_and_refuses_acts(self) -> None:
        active, standby = api(self.active), api(self.standby)
        job = active.put_job("t")
        eventually("its copy", lambda: standby.get("/server")["jobs"]["ready"] == 1)
        leader = {"name": "b1", "address": self.active.address}
        shown = active.get("/server")["replica"]
        self.assertEqual({**shown, "lease_left_seconds": None}, {
            "role": "active", "epoch": 1, "leader": leader, "behind_batches": 0,
            "lease_left_seconds": None, "takeovers_total": shown["takeovers_total"]})
        self.assertGreater(shown["lease_left_seconds"], 0)
        shown = standby.get("/server")
        self.assertEqual((shown["replica"]["role"], shown["replica"]["leader"],
                          shown["replica"]["lease_left_seconds"]), ("standby", leader, None))
        self.assertFalse(shown["ready"])
        self.assertEqual(standby.get(f"/jobs/{job}")["tube"], "t")
        self.assertEqual([tube["name"] for tube in standby.get("/tubes?only=jobs")["items"]], ["t"])
        for method, path, body in (("POST", "/tubes/t/jobs", {"body": "x"}),
                                   ("DELETE", f"/jobs/{job}", None),
                                   ("PUT", "/server/draining", {"draining": True}),
                                   ("POST", "/server/step-down", {})):
            answer = standby.ask(method, path, body)
            self.assertEqual((answer.status, answer.code), (503, "standby"), path)
            self.assertIn(self.active.address, answer.json["detail"])
        self.assertEqual(active.get("/server")["jobs"]["ready"], 1)

    def test_the_journal_is_one_that_is_synced(self) -> None:
        for broker in (self.active, self.standby):
            self.assertEqual(api(broker).get("/server")["journal"]["sync"], "always")

    def test_a_repeated_request_waits_until_the_first_is_durable(self) -> None:
        active = api(self.active)

        def post() -> http.client.HTTPConnection:
            connection = active.connection()
            self.addCleanup(connection.close)
            connection.request("POST", "/api/v1/tubes/t/jobs", '{"body": "x"}',
                               {"Content-Type": "application/json", "Idempotency-Key": "k"})
            return connection

        node = self.etcd.nodes[0]
        node.freeze()
        self.addCleanup(node.signal, signal.SIGCONT)
        post()
        eventually("the job", lambda: active.get("/server")["jobs"]["ready"] == 1)
        second = post()
        for _ in range(10):
            active.get("/server")
        if select.select([second.sock], [], [], 0)[0]:  # the broker gave etcd up meanwhile
            self.assertEqual(second.sock.recv(1), b"")

    def test_stepping_down(self) -> None:
        job = api(self.active).put_job("t")
        answer = api(self.active).ask("POST", "/server/step-down", {})
        self.assertEqual((answer.status, answer.json), (202, {"stepping_down": True}))
        self.assertEqual(self.active.wait(), 3)
        self.assertIs(self.shard.wait_active(), self.standby)
        shown = api(self.standby).get("/server")["replica"]
        self.assertEqual((shown["role"], shown["epoch"], shown["leader"]["name"]), ("active", 2, "b2"))
        self.assertEqual(api(self.standby).ask("DELETE", f"/jobs/{job}").status, 204)


if __name__ == "__main__":
    unittest.main()
