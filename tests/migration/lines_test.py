#!/usr/bin/env python3
"""Lines of a tube (group_order: fifo) that move to another broker: lines_test.py BROKER CTL."""

import json
import sys
import unittest
from pathlib import Path

from tools import Broker, Folder, ctl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import Client  # noqa: E402

CAN_DO, NO_JOB, GRAB_JOB, JOB_ASSIGN, WORK_COMPLETE, SUBMIT_JOB_BG, ECHO_REQ = 1, 10, 9, 11, 13, 18, 16
POLICY = """
tubes:
  - {match: lines, group: "json:/order", group_order: fifo, attempts: 9, backoff: 0s}
"""


class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = self.enterContext(Folder())
        (self.folder / "lines.yaml").write_text(POLICY)
        self.old, self.new = (self.broker(name) for name in ("old", "new"))

    def broker(self, name: str) -> Broker:
        return self.enterContext(Broker("--config", self.folder / "lines.yaml",
                                        "--data-dir", self.folder / name))

    def connect(self, broker: Broker) -> Client:
        client = Client(broker.ports[0])
        self.addCleanup(client.close)
        return client

    def beanstalk(self, broker: Broker) -> Client:
        worker = self.connect(broker)
        worker.say("use lines")
        worker.say("watch lines")
        return worker

    def gearman(self, broker: Broker) -> Client:
        worker = self.connect(broker)
        worker.packet(CAN_DO, b"lines")
        return worker

    def fill(self, broker: Broker, orders: str = "xyz", jobs: int = 4) -> None:
        """Every other job of an order comes over Gearman."""
        put, submit = self.beanstalk(broker), self.connect(broker)
        for n in range(jobs):
            for order in orders:
                body = json.dumps({"order": order, "n": n})
                if n % 2 == 0:
                    put.put(body)
                else:
                    submit.ask(SUBMIT_JOB_BG, b"lines", b"", body.encode())

    def reserve(self, worker: Client) -> tuple[int, str]:
        """Id and job, as order and number; (0, ""): none."""
        worker.send(b"reserve-with-timeout 0\r\n")
        word, *rest = worker.line().split()
        if word != "RESERVED":
            return 0, ""
        return int(rest[0]), self.named(worker.body(int(rest[1]) + 2))

    def grab(self, worker: Client) -> tuple[bytes, str]:
        kind, parts = worker.ask(GRAB_JOB)
        if kind == NO_JOB:
            return b"", ""
        self.assertEqual(kind, JOB_ASSIGN)
        return parts[0], self.named(parts[2])

    @staticmethod
    def named(body: bytes) -> str:
        job = json.loads(body)
        return f"{job['order']}{job['n']}"

    def work_off(self, broker: Broker) -> list[str]:
        """Ends all jobs in turn, by workers of both protocols that hold as many as they get."""
        bean, gear, ended = self.beanstalk(broker), self.gearman(broker), []
        while True:
            held = []
            while (job := self.reserve(bean))[0]:
                held.append(job)
                if (other := self.grab(gear))[0]:
                    held.append(other)
            if not held:
                return ended
            orders = [name[0] for _, name in held]
            self.assertEqual(len(set(orders)), len(orders), "one of each order at a time")
            for job, name in held:
                ended.append(name)
                if isinstance(job, int):
                    self.assertEqual(bean.say(f"delete {job}"), "DELETED")
                else:
                    gear.packet(WORK_COMPLETE, job, b"")

    def of(self, order: str, ended: list[str]) -> list[str]:
        return [name for name in ended if name[0] == order]

    def all_of(self, orders: str = "xyz", jobs: range = range(4)) -> dict[str, list[str]]:
        return {order: [f"{order}{n}" for n in jobs] for order in orders}

    def move(self) -> None:
        ctl("export", "--from", self.old.address, "--out", self.folder / "jobs")
        ctl("import", f"jobs:{self.folder / 'jobs'}", "--to", self.new.address)

    def test_an_import_keeps_the_order_of_each_line(self) -> None:
        self.fill(self.old)
        worker = self.beanstalk(self.old)
        self.assertEqual(self.reserve(worker)[1], "x0")  # it is reserved during the export
        second, name = self.reserve(worker)
        self.assertEqual((name, worker.say(f"release {second} 0 3600")), ("y0", "RELEASED"))
        third, name = self.reserve(worker)
        self.assertEqual((name, worker.say(f"bury {third} 0")), ("z0", "BURIED"))
        self.move()
        ended = self.work_off(self.new)
        self.assertEqual(self.of("x", ended), ["x0", "x1", "x2", "x3"])
        self.assertEqual(self.of("y", ended), [], "it waits for its first job")
        self.assertEqual(self.of("z", ended), ["z1", "z2", "z3"], "the first was set aside")
        seen = self.beanstalk(self.new)
        seen.say(f"kick-job {second}")
        self.assertEqual(self.work_off(self.new), ["y0", "y1", "y2", "y3"])
        seen.say(f"kick-job {third}")
        self.assertEqual(self.work_off(self.new), ["z0"])

    def test_an_import_beside_jobs_of_the_same_lines(self) -> None:
        self.fill(self.new, jobs=2)
        worker = self.beanstalk(self.new)
        job, name = self.reserve(worker)
        self.assertEqual(name, "x0")
        self.fill(self.old)
        self.move()
        self.assertEqual(self.of("x", self.work_off(self.new)), [])
        self.assertEqual(worker.say(f"delete {job}"), "DELETED")
        self.assertEqual(self.of("x", self.work_off(self.new)), ["x1", "x0", "x1", "x2", "x3"])

    def test_a_line_stays_while_its_job_runs(self) -> None:
        self.fill(self.old)
        bean, gear = self.beanstalk(self.old), self.gearman(self.old)
        job, name = self.reserve(bean)
        handle, other = self.grab(gear)
        self.assertEqual((name, other), ("x0", "y0"))
        back = ("hand-back", f"beanstalk://{self.new.address}", "--from", self.old.address, "--tube", "lines")
        self.assertIn("4 moved", ctl(*back, code=3))
        self.assertEqual(self.work_off(self.new), ["z0", "z1", "z2", "z3"])
        self.assertEqual(bean.say(f"delete {job}"), "DELETED")
        gear.packet(WORK_COMPLETE, handle, b"")
        gear.ask(ECHO_REQ, b"x")  # after what it said before
        ctl(*back)
        ended = self.work_off(self.new)
        self.assertEqual({order: self.of(order, ended) for order in "xy"}, self.all_of("xy", range(1, 4)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
