#!/usr/bin/env python3
"""Alert rules and dashboard, against the metrics of the real broker: monitoring_test.py BROKER."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import SECONDS, Broker, Client, Metrics
from launched import Launched, NotReady

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"
ROOT = Path(__file__).resolve().parents[2]
# These are there with PostgreSQL alone: tests/postgres/tools_test.py asks for them.
OF_POSTGRES = "gearstalkd_postgres_"
ALERTS = ROOT / "admin/packaging/alerts.yml"
DASHBOARD = ROOT / "admin/packaging/dashboard.json"
OPERATIONS = ROOT / "docs/operations.md"

SELECTOR = re.compile(r"\b((?:gearstalkd|process)_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    rules = re.findall(r"^        expr: (?:>\n((?:          .*\n)+)|(.*)\n)", ALERTS.read_text(), re.M)
    return found + [" ".join((folded or plain).split()) for folded, plain in rules]


class Monitoring(unittest.TestCase):
    metrics: Metrics

    @classmethod
    def setUpClass(cls) -> None:
        directory = tempfile.mkdtemp(prefix="monitoring-")
        cls.addClassCleanup(shutil.rmtree, directory)
        certificate = f"{directory}/both.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=broker",
                        "-keyout", certificate, "-out", f"{directory}/certificate"],
                       check=True, capture_output=True)
        with open(certificate, "a") as both:
            both.write(Path(directory, "certificate").read_text())
        config = Path(directory, "config.yaml")
        config.write_text("schedules:\n  - name: nightly\n    cron: 0 3 * * *\n    tube: t\n")
        broker = Broker(BINARY, "--config", str(config), "--data-dir", f"{directory}/jobs",
                        "--tls-certificate", certificate)
        client = Client(broker.port)
        client.put("x")
        cls.metrics = broker.metrics()
        client.close()
        broker.stop()
        cls.add_replica()

    @classmethod
    def add_replica(cls) -> None:
        """What a broker says whose journal is in an etcd that does not answer."""
        broker = Launched(BINARY, "--admin", "127.0.0.1:0", "--etcd-endpoints", "127.0.0.1:1")
        with contextlib.suppress(NotReady):  # it was built without etcd
            with urllib.request.urlopen(f"http://{broker.admin}/metrics", timeout=SECONDS) as page:
                more = Metrics(page.read().decode())
            cls.metrics.values = more.values | cls.metrics.values
            cls.metrics.types |= more.types
        broker.kill()

    def test_expressions_are_found(self) -> None:
        self.assertGreater(len(expressions()), 50)

    def test_each_name_and_label_is_there(self) -> None:
        for expression in expressions():
            for name, labels in SELECTOR.findall(expression):
                if name.startswith(OF_POSTGRES):
                    continue
                with self.subTest(expression):
                    self.assertIn(name, self.metrics.names())
                    known = {key for series in self.metrics.values[name] for key, _ in series}
                    for label, _, _ in LABEL.findall(labels):
                        self.assertIn(label, known | {"instance", "job"}, name)

    def test_each_value_of_a_label_is_there(self) -> None:
        for expression in expressions():
            for name, labels in SELECTOR.findall(expression):
                for label, operator, value in LABEL.findall(labels):
                    if operator != "=" or label in ("instance", "job", "tube"):
                        continue
                    with self.subTest(expression):
                        values = {dict(series).get(label) for series in self.metrics.values[name]}
                        self.assertIn(value, values)

    def test_counters_are_rated_and_gauges_are_not(self) -> None:
        for expression in expressions():
            for name in re.findall(r"(?:rate|increase)\((\w+)", expression):
                base = re.sub(r"_bucket$", "", name)
                with self.subTest(expression):
                    self.assertIn(self.metrics.types[base], ("counter", "histogram"))

    def test_legends_name_labels_that_are_kept(self) -> None:
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            for target in panel["targets"]:
                by = re.search(r"sum by \(([\w, ]+)\)", target["expr"])
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    if by is not None:
                        with self.subTest(panel["title"]):
                            self.assertIn(label, by[1].split(", "))

    def test_prometheus_takes_the_rules(self) -> None:
        if shutil.which("promtool") is None:
            self.skipTest("promtool is missing: apt-get install prometheus")
        done = subprocess.run(["promtool", "check", "rules", str(ALERTS)], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_takes_the_rules_for_backups(self) -> None:
        if shutil.which("promtool") is None:
            self.skipTest("promtool is missing: apt-get install prometheus")
        rules = re.search(r"```yaml\n(groups:\n.*?)```", OPERATIONS.read_text(), re.S)[1]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write(rules)
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True,
                                  text=True, timeout=SECONDS, check=False)
        self.assertIn("2 rules found", done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_alerts_fire_as_long_as_their_reason_lasts(self) -> None:
        if shutil.which("promtool") is None:
            self.skipTest("promtool is missing: apt-get install prometheus")
        series = {'gearstalkd_jobs{state="buried"}': "0 3x89 2x30",  # a value a minute
                  # Those that are left at last were all moved to dead tubes.
                  "gearstalkd_buried_dead_jobs": "0 2x120",
                  'gearstalkd_attention{kind="draining"}': "1x120",
                  "gearstalkd_postgres_primaries": "1x99 2x20",
                  "gearstalkd_postgres_synchronous_standbys": "1x99 0x20",
                  # One, and later twelve a minute for a while.
                  "gearstalkd_jobs_failed_total": "0x30 1x9 13+12x25 313x60"}
        firing = {40: ["JobsBuried", "Drains"], 65: ["JobsBuried", "JobsFail", "Drains"],
                  85: ["JobsBuried", "Drains"], 110: ["Drains", "NoSynchronousStandby", "TwoPrimaries"]}
        tests = {
            "rule_files": [str(ALERTS)], "evaluation_interval": "1m",
            "tests": [{
                "interval": "1m",
                "input_series": [{"series": name, "values": values}
                                 for name, values in series.items()],
                "promql_expr_test": [{
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{minute}m",
                    "exp_samples": [{"labels": f'{{alertname="Gearstalkd{alert}"}}', "value": 1}
                                    for alert in alerts],
                } for minute, alerts in firing.items()]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(tests, file)
            file.flush()
            done = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True,
                                  text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_metric_is_explained(self) -> None:
        text = OPERATIONS.read_text()
        families = set(self.metrics.types)
        self.assertEqual({name for name in families if f"`{name}`" not in text and
                          f"`{name.replace('_tube_', '_')}`" not in text}, set())

    def test_every_alert_has_an_advice(self) -> None:
        table = " ".join(re.findall(r"^\| ([\w, ]+) \| ", OPERATIONS.read_text(), re.M))
        alerts = re.findall(r"alert: Gearstalkd(\w+)", ALERTS.read_text())
        self.assertGreater(len(alerts), 10)
        self.assertEqual([alert for alert in alerts if not re.search(rf"\b{alert}\b", table)], [])

    def test_no_metric_is_invented(self) -> None:
        named = {name for name in re.findall(r"`((?:gearstalkd|process)_[a-z_]+)`", OPERATIONS.read_text())
                 if not name.startswith(OF_POSTGRES)}
        self.assertEqual(named - set(self.metrics.types), set())


if __name__ == "__main__":
    unittest.main()
