#!/usr/bin/env python3
"""Manifests for Kubernetes, against the image and the real broker: kubernetes_test.py BROKER."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import SECONDS, Broker, Client

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"
ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "admin/packaging/kubernetes"


def documents(name: str) -> list[dict]:
    return list(yaml.safe_load_all((MANIFESTS / name).read_text()))


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        (cls.single,) = documents("broker/statefulset.yaml")
        (cls.replicated,) = documents("replicated/brokers.yaml")

    def container(self) -> dict:
        (container,) = self.single["spec"]["template"]["spec"]["containers"]
        return container

    def test_every_file_is_used(self) -> None:
        for folder in ("broker", "replicated", "monitoring"):
            (plan,) = documents(f"{folder}/kustomization.yaml")
            named = [*plan["resources"], *(patch["path"] for patch in plan.get("patches", []))]
            for generator in ("configMapGenerator", "secretGenerator"):
                for each in plan.get(generator, []):
                    named += each["files"]
            here = {path.name for path in (MANIFESTS / folder).iterdir()} - {"kustomization.yaml"}
            self.assertEqual({name for name in named if "/" not in name}, here, folder)

    def test_rules_are_those_of_the_alerts_file(self) -> None:
        (rules,) = documents("monitoring/rules.yaml")
        self.assertEqual(rules["spec"], yaml.safe_load((MANIFESTS.parent / "alerts.yml").read_text()),
                         "run scripts/generate")

    def test_ports_are_the_images(self) -> None:
        exposed = re.search(r"^EXPOSE (.*)$", (ROOT / "Dockerfile").read_text(), re.M)[1].split()
        ports = {port["name"]: port["containerPort"] for port in self.container()["ports"]}
        self.assertEqual(sorted(map(str, ports.values())), sorted(exposed))
        for service in documents("broker/services.yaml"):
            self.assertEqual({port["targetPort"]: port["port"] for port in service["spec"]["ports"]}, ports)

    def test_the_user_is_the_images(self) -> None:
        user = re.search(r"^USER (\d+):(\d+)$", (ROOT / "Dockerfile").read_text(), re.M)
        context = self.single["spec"]["template"]["spec"]["securityContext"]
        self.assertEqual((context["runAsUser"], context["runAsGroup"]), (int(user[1]), int(user[2])))

    def check(self, *containers: dict) -> subprocess.CompletedProcess[str]:
        """What the broker says of the file and of the variables, the later container's winning."""
        image = dict(re.findall(r"(GEARSTALKD_\w+)=\"?([^\"\n\\]+?)\"?(?: \\)?$",
                                (ROOT / "Dockerfile").read_text(), re.M))
        self.assertIn("GEARSTALKD_DATA_DIR", image)
        given = {each["name"]: each.get("value", "pod-0") for container in containers
                 for each in container["env"]}
        with tempfile.TemporaryDirectory() as directory:
            users = Path(directory, "users")
            users.write_text((MANIFESTS / "broker/users").read_text() + f"ann admin sha256:{'a5' * 32}\n")
            environment = {**image, "GEARSTALKD_DATA_DIR": directory, **given,
                           "GEARSTALKD_CONSOLE_USERS_FILE": str(users)}
            return subprocess.run(
                [BROKER, "--config", str(MANIFESTS / "broker/gearstalkd.yaml"), "--check-config"],
                env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS,
                check=False)

    def test_the_broker_takes_file_and_variables(self) -> None:
        self.assert_good(self.check(self.container()))

    def assert_good(self, done: subprocess.CompletedProcess[str]) -> None:
        others = [line for line in done.stderr.splitlines()
                  if not line.endswith("use tls=required, rights or a firewall")]
        self.assertEqual((done.returncode, others), (0, []))

    def test_a_broker_of_two_takes_them(self) -> None:
        (replica,) = self.replicated["spec"]["template"]["spec"]["containers"]
        replica["env"] = [{**each, "value": "127.0.0.1:2379"} if each["name"].endswith("ENDPOINTS") else each
                          for each in replica["env"]]
        self.assert_good(self.check(self.container(), replica))

    def test_a_pod_stops_when_its_workers_are_done(self) -> None:
        command = self.container()["lifecycle"]["preStop"]["exec"]["command"]
        self.assertLess(int(command[-1].rpartition("sleep ")[2]),
                        self.single["spec"]["template"]["spec"]["terminationGracePeriodSeconds"])
        with tempfile.TemporaryDirectory() as directory:
            broker = Broker(BROKER, "--data-dir", f"{directory}/jobs")
            self.addCleanup(broker.kill)
            client = Client(broker.port)
            self.addCleanup(client.close)
            job = client.put("held")
            self.assertEqual(client.say("reserve"), f"RESERVED {job} 4")
            here = [word.replace("/4730", f"/{broker.port}").replace("sleep 60", "true")
                    for word in command]
            subprocess.run(here, check=True, timeout=SECONDS)
            client.send(b"put 0 0 60 1\r\nx\r\n")
            self.assertEqual(client.line(), "DRAINING")
            self.assertEqual(client.say(f"delete {job}"), "DELETED")
            self.assertEqual(broker.wait(), 0)


if __name__ == "__main__":
    unittest.main()
