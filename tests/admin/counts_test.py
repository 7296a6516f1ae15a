#!/usr/bin/env python3
"""Every number of /metrics against what was done to the real broker: counts_test.py BROKER."""

import shutil
import subprocess
import sys
import tempfile
import unittest

from broker import SECONDS, Broker, Client, Metrics

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"

CAN_DO, PRE_SLEEP, NOOP, JOB_CREATED, GRAB_JOB, NO_JOB, JOB_ASSIGN = 1, 4, 6, 8, 9, 10, 11
SUBMIT_JOB, WORK_COMPLETE, WORK_FAIL, ECHO_REQ, SUBMIT_JOB_BG = 7, 13, 14, 16, 18


class Counts(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="counts-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.broker = Broker(BINARY, "--data-dir", self.directory)
        self.clients: list[Client] = []

    def tearDown(self) -> None:
        for client in self.clients:
            client.close()
        self.assertEqual(self.broker.stop(), 0)

    def connect(self) -> Client:
        self.clients.append(Client(self.broker.port))
        return self.clients[-1]

    def tube_client(self, tube: str) -> Client:
        client = self.connect()
        client.say(f"use {tube}")
        client.say(f"watch {tube}")
        client.say("ignore default")
        return client

    def run_beanstalk(self) -> None:
        client = self.tube_client("b")
        kept = client.put("kept")
        done = client.put("done")
        later = client.put("later", delay=1000)
        self.assertEqual(client.say("reserve"), f"RESERVED {kept} 4")
        client.say(f"release {kept} 20 0")
        client.say("reserve")
        client.say(f"delete {done}")
        client.say("reserve-with-timeout 0")
        client.say(f"bury {kept} 5")
        client.say("kick 10")
        client.say(f"kick-job {later}")
        client.say(f"delete {later}")
        client.say("reserve-with-timeout 0")
        client.say(f"touch {kept}")
        client.say("peek-ready")
        short = client.put("short", ttr=1)
        other = self.tube_client("b")
        self.assertEqual(other.say("reserve"), f"RESERVED {short} 5")
        while self.broker.metrics().get("gearstalkd_jobs_timed_out_total") == 0:
            pass
        client.say(f"delete {short}")
        solid = client.put("solid")
        self.assertEqual(other.say("reserve"), f"RESERVED {solid} 5")
        other.close()
        self.clients.remove(other)
        client.say("no-such-command")
        client.say("put x")

    def run_gearman(self) -> None:
        worker, client, leaver = self.connect(), self.connect(), self.connect()
        worker.packet(CAN_DO, b"g")
        handles = [client.ask(SUBMIT_JOB_BG, b"g", b"", b"x")[1][0] for _ in range(3)]
        self.assertEqual(client.ask(ECHO_REQ, b"hello")[1], [b"hello"])
        self.assertEqual(worker.ask(GRAB_JOB)[0], JOB_ASSIGN)
        worker.packet(WORK_COMPLETE, handles[0], b"")
        self.assertEqual(worker.ask(GRAB_JOB)[0], JOB_ASSIGN)
        worker.packet(WORK_FAIL, handles[1])
        self.assertEqual(client.admin(f"cancel job {handles[2].decode()}"), ["OK"])
        self.assertEqual(worker.ask(GRAB_JOB)[0], NO_JOB)
        self.assertEqual(leaver.ask(SUBMIT_JOB, b"nobody", b"", b"x")[0], JOB_CREATED)
        leaver.close()
        self.clients.remove(leaver)
        worker.packet(PRE_SLEEP)
        self.assertEqual(client.ask(SUBMIT_JOB_BG, b"g", b"", b"y")[0], JOB_CREATED)
        self.assertEqual(worker.response()[0], NOOP)
        self.assertEqual(client.admin("maxqueue g 1"), ["OK"])
        self.assertEqual(client.ask(SUBMIT_JOB_BG, b"g", b"", b"z")[0], 19)
        client.admin("status", table=True)

    def settled(self) -> Metrics:
        """The numbers once the clients that left are gone."""
        while True:
            metrics = self.broker.metrics()
            open_ones = sum(metrics.values["gearstalkd_connections"].values())
            if open_ones == len(self.clients):
                return metrics

    def test_everything_is_counted_once(self) -> None:
        self.run_beanstalk()
        self.run_gearman()
        metrics = self.settled()
        by_tube = {
            "put": {"b": 5, "g": 4, "nobody": None}, "reserved": {"b": 6, "g": 2},
            "completed": {"b": 1, "g": 1}, "failed": {"b": 0, "g": 1},
            "deleted": {"b": 3, "g": 0}, "cancelled": {"b": 0, "g": 1},
            "dropped": {"b": 0, "g": 0}, "released": {"b": 1, "g": 0},
            "timed_out": {"b": 1, "g": 0}, "lost": {"b": 1, "g": 0},
            "buried": {"b": 1, "g": 0}, "kicked": {"b": 2, "g": 0}}
        gone = {"put": 1, "dropped": 1}  # the tube "nobody" went with its job
        for what, tubes in by_tube.items():
            with self.subTest(what):
                for tube, count in tubes.items():
                    if count is not None:
                        self.assertEqual(
                            metrics.get(f"gearstalkd_tube_jobs_{what}_total", tube=tube), count)
                total = sum(count or 0 for count in tubes.values()) + gone.get(what, 0)
                self.assertEqual(metrics.get(f"gearstalkd_jobs_{what}_total"), total)
        self.compare_jobs(metrics)
        self.compare_connections(metrics)
        self.compare_histograms(metrics)

    def compare_jobs(self, metrics: Metrics) -> None:
        for tube, jobs in {"b": (1, 1, 0, 0), "g": (1, 0, 0, 0)}.items():
            for state, count in zip(("ready", "reserved", "delayed", "buried"), jobs):
                self.assertEqual(metrics.get("gearstalkd_tube_jobs", tube=tube, state=state),
                                 count, f"{tube} {state}")
        for state in ("ready", "reserved", "delayed", "buried"):
            tubes = metrics.values["gearstalkd_tube_jobs"]
            self.assertEqual(sum(value for labels, value in tubes.items()
                                 if ("state", state) in labels),
                             metrics.get("gearstalkd_jobs", state=state))
        self.assertEqual(metrics.get("gearstalkd_refused_total", reason="maxqueue"), 1)
        self.assertEqual(sum(metrics.values["gearstalkd_refused_total"].values()), 1)

    def compare_connections(self, metrics: Metrics) -> None:
        for protocol, count in {"beanstalk": 1, "gearman": 2, "undecided": 0}.items():
            self.assertEqual(metrics.get("gearstalkd_connections", protocol=protocol), count)
        self.assertEqual(metrics.get("gearstalkd_connections_accepted_total"), 5)
        for role, count in {"producer": 2, "worker": 2, "waiting": 0}.items():
            self.assertEqual(metrics.get("gearstalkd_connections_by_role", role=role), count, role)

    def compare_histograms(self, metrics: Metrics) -> None:
        reserved = metrics.get("gearstalkd_jobs_reserved_total")
        for name in ("gearstalkd_reserve_wait_seconds", "gearstalkd_job_age_at_reserve_seconds"):
            self.assertEqual(metrics.get(f"{name}_count"), reserved)
            self.assertEqual(metrics.get(f"{name}_bucket", le="+Inf"), reserved)

    def test_commands_by_protocol_and_verb(self) -> None:
        self.run_beanstalk()
        self.run_gearman()
        commands = self.broker.metrics().values["gearstalkd_commands_total"]
        said = {(dict(labels)["protocol"], dict(labels)["verb"]): int(count)
                for labels, count in commands.items() if count > 0}
        self.assertEqual(said, {
            ("beanstalk", "use"): 2, ("beanstalk", "watch"): 2, ("beanstalk", "ignore"): 2,
            ("beanstalk", "put"): 5, ("beanstalk", "reserve"): 4,
            ("beanstalk", "reserve-with-timeout"): 2, ("beanstalk", "release"): 1,
            ("beanstalk", "delete"): 3, ("beanstalk", "bury"): 1, ("beanstalk", "kick"): 1,
            ("beanstalk", "kick-job"): 1, ("beanstalk", "touch"): 1,
            ("beanstalk", "peek-ready"): 1,
            ("gearman", "CAN_DO"): 1, ("gearman", "SUBMIT_JOB_BG"): 5, ("gearman", "ECHO_REQ"): 1,
            ("gearman", "GRAB_JOB"): 3, ("gearman", "WORK_COMPLETE"): 1,
            ("gearman", "WORK_FAIL"): 1, ("gearman", "cancel"): 1, ("gearman", "SUBMIT_JOB"): 1,
            ("gearman", "PRE_SLEEP"): 1, ("gearman", "maxqueue"): 1, ("gearman", "status"): 1})
        self.assertEqual(len(commands), 25 + 30 + 16)

    def test_statistics_say_the_same(self) -> None:
        self.run_beanstalk()
        self.run_gearman()
        metrics = self.settled()
        client = self.clients[0]
        stats = client.yaml("stats")
        for key, name, labels in (
                ("current-jobs-urgent", "gearstalkd_jobs_urgent", {}),
                ("current-jobs-ready", "gearstalkd_jobs", {"state": "ready"}),
                ("current-jobs-reserved", "gearstalkd_jobs", {"state": "reserved"}),
                ("current-jobs-delayed", "gearstalkd_jobs", {"state": "delayed"}),
                ("current-jobs-buried", "gearstalkd_jobs", {"state": "buried"}),
                ("job-timeouts", "gearstalkd_jobs_timed_out_total", {}),
                ("total-jobs", "gearstalkd_jobs_put_total", {}),
                ("current-tubes", "gearstalkd_tubes", {}),
                ("current-producers", "gearstalkd_connections_by_role", {"role": "producer"}),
                ("current-workers", "gearstalkd_connections_by_role", {"role": "worker"}),
                ("total-connections", "gearstalkd_connections_accepted_total", {}),
                ("binlog-records-written", "gearstalkd_journal_appended_records_total", {})):
            self.assertEqual(int(stats[key]), metrics.get(name, **labels), key)
        status = {line.split("\t")[0]: [int(cell) for cell in line.split("\t")[1:]]
                  for line in client.admin("status", table=True)[:-1]}
        for tube in ("b", "g"):
            of = client.yaml(f"stats-tube {tube}")
            jobs = {state: metrics.get("gearstalkd_tube_jobs", tube=tube, state=state)
                    for state in ("ready", "reserved", "delayed", "buried")}
            for state, count in jobs.items():
                self.assertEqual(int(of[f"current-jobs-{state}"]), count)
            for key, what in (("total-jobs", "put"), ("cmd-delete", "deleted")):
                self.assertEqual(
                    int(of[key]), metrics.get(f"gearstalkd_tube_jobs_{what}_total", tube=tube))
            self.assertEqual(status[tube], [
                jobs["ready"] + jobs["reserved"] + jobs["delayed"], jobs["reserved"],
                metrics.get("gearstalkd_tube_workers", tube=tube)])

    def test_bytes_are_those_on_the_wire(self) -> None:
        client = self.tube_client("b")
        client.put("x" * 5000)
        client.say("reserve")
        metrics = self.broker.metrics()
        self.assertEqual(metrics.get("gearstalkd_received_bytes_total"), client.sent)
        self.assertEqual(metrics.get("gearstalkd_sent_bytes_total"), client.received)

    def test_a_wait_is_measured(self) -> None:
        name = "gearstalkd_reserve_wait_seconds"
        waiter, producer = self.tube_client("b"), self.tube_client("b")
        producer.put("there")
        waiter.say("reserve")
        self.assertEqual(self.broker.metrics().get(f"{name}_sum"), 0, "it was there")
        waiter.send(b"reserve\r\n")
        while self.broker.metrics().get("gearstalkd_connections_by_role", role="waiting") == 0:
            pass
        producer.put("later")
        waiter.answer()
        metrics = self.broker.metrics()
        self.assertGreater(metrics.get(f"{name}_sum"), 0)
        self.assertEqual(metrics.get(f"{name}_count"), 2)

    def test_the_journal_counts_what_it_keeps(self) -> None:
        client = self.tube_client("b")
        before = self.broker.metrics()
        for i in range(10):
            client.put(f"job {i}")
        client.say("reserve")
        client.say("delete 1")
        after = self.broker.metrics()
        name = "gearstalkd_journal_appended_records_total"
        self.assertEqual(after.get(name) - before.get(name), 11)
        self.assertEqual(after.get("gearstalkd_journal_failed"), 0)
        self.assertEqual(after.get("gearstalkd_journal_full"), 0)
        self.assertGreater(after.get("gearstalkd_journal_disk_bytes"),
                           after.get("gearstalkd_journal_live_bytes"))
        syncs = after.get("gearstalkd_journal_sync_seconds_count")
        self.assertGreaterEqual(syncs - before.get("gearstalkd_journal_sync_seconds_count"), 11,
                                "each reply came after a sync of its own")
        self.assertGreater(after.get("gearstalkd_journal_sync_seconds_sum"), 0)

    def test_the_process_is_described(self) -> None:
        metrics = self.broker.metrics()
        version = subprocess.run([BINARY, "--version"], capture_output=True, text=True,
                                 check=True).stdout
        (labels, one), = metrics.values["gearstalkd_build_info"].items()
        self.assertEqual(one, 1)
        self.assertIn(dict(labels)["version"], version)
        self.assertRegex(dict(labels)["commit"], r"^([0-9a-f]{12}|unknown)$")
        self.assertGreater(metrics.get("process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(metrics.get("process_start_time_seconds"), 1.6e9)
        self.assertGreater(metrics.get("process_open_fds"), 3)
        self.assertGreater(metrics.get("gearstalkd_job_memory_bytes"), -1)

    def test_limits_are_told(self) -> None:
        broker = Broker(BINARY, "--limits-memory", "5000000", "--limits-tubes", "7",
                        "--limits-connections", "9", "--limits-connections-per-address", "5",
                        "--limits-output", "70000")
        clients = [Client(broker.port) for _ in range(3)]
        for client in clients:
            client.say("list-tube-used")
        metrics = broker.metrics()
        self.assertEqual(metrics.get("gearstalkd_job_memory_limit_bytes"), 5000000)
        self.assertEqual(metrics.get("gearstalkd_tubes_limit"), 7)
        self.assertEqual(metrics.get("gearstalkd_connections_limit"), 9)
        self.assertEqual(metrics.get("gearstalkd_connections_per_address_limit"), 5)
        self.assertEqual(metrics.get("gearstalkd_connections_of_busiest_address"), 3)
        self.assertEqual(metrics.get("gearstalkd_output_limit_bytes"), 70000)
        for client in clients:
            client.close()
        self.assertEqual(broker.stop(), 0)
        metrics = self.broker.metrics()
        self.assertGreater(metrics.get("gearstalkd_job_memory_limit_bytes"), 1_000_000)
        self.assertLess(metrics.get("gearstalkd_connections_limit"),
                        metrics.get("process_max_fds"))

    def test_the_loop_is_looked_at(self) -> None:
        while self.broker.metrics().get("gearstalkd_loop_lag_seconds_count") == 0:
            pass

    def test_prometheus_has_no_complaint(self) -> None:
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is missing: apt-get install prometheus")
        self.run_beanstalk()
        self.run_gearman()
        for query in ("", "?tubes=all"):
            with self.subTest(query):
                done = subprocess.run([promtool, "check", "metrics"], text=True, timeout=SECONDS,
                                      input=self.broker.metrics(query).text, check=False,
                                      capture_output=True)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
