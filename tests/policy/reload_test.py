#!/usr/bin/env python3
"""New policies under load: reload_test.py BROKER."""

import re
import signal
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "admin"))
from broker import SECONDS, Broker, Client  # noqa: E402

BINARY = sys.argv.pop(1)
# Two values of each key that lets the traffic of the test go on.
KEYS = {
    "attempts": ("7", "9"), "retry_on": ("lost", "timeout,lost"), "backoff": ("1h", "2h"),
    "jitter": ("0", "50"), "on_failure": ("move", "bury"), "dead_tube": ("a", "b"),
    "dead_state": ("ready", "buried"), "expire_after": ("1h", "2h"),
    "on_expiry": ("bury", "move"), "keep_buried": ("1h", "2h"), "keep_buried_jobs": ("5", "6"),
    "unique": ("none", "json:/none"), "unique_until": ("end", "start"),
    "unique_for": ("1m", "2m"), "max_running": ("50", "60"), "rate": ("1000000/s", "500000/s"),
    "burst": ("1000000", "900000"), "weight": ("2", "3"), "ttr": ("100", "200"),
    "ttr_min": ("1", "2"), "ttr_max": ("3600", "7200"), "max_jobs": ("1000", "2000"),
    "max_bytes": ("1000000", "2000000"), "max_job_size": ("1000", "2000"),
    "copy_to": ("none", "copies"), "group": ("line", "unique"), "group_order": ("fifo", "age"),
    "group_running": ("40", "30"), "group_rate": ("900000/s", "800000/s"),
    "group_burst": ("900000", "800000"), "group_max_jobs": ("2000", "3000"),
    "group_missing": ("refuse", "allow"), "group_on_failure": ("hold", "next"),
}
RELOADS = 20


class Traffic(threading.Thread):
    """One connection that puts, reserves and deletes until it is told to end."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.client = Client(port)
        self.ends = threading.Event()
        self.done = 0
        self.wrong = ""

    def run(self) -> None:
        try:
            self.client.say("use t")
            self.client.say("watch t")
            while not self.ends.is_set():
                for command, good in (("put 0 0 60 1\r\nx", "INSERTED"),
                                      ("reserve-with-timeout 10", "RESERVED")):
                    line = self.client.say(command)
                    if not line.startswith(good):
                        raise RuntimeError(f"{command!r}: {line}")
                if (line := self.client.say(f"delete {line.split()[1]}")) != "DELETED":
                    raise RuntimeError(line)
                self.done += 1
        except (OSError, RuntimeError, IndexError) as error:
            self.wrong = repr(error)


class Reload(unittest.TestCase):
    def setUp(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="policies-"))
        self.config = Path(directory, "gearstalkd.yaml")
        self.write(0)
        self.broker = Broker(BINARY, "--config", str(self.config))
        self.admin = Client(self.broker.port)

    def tearDown(self) -> None:
        self.admin.close()
        self.assertEqual(self.broker.stop(), 0)

    def write(self, which: int, more: str = "") -> None:
        lines = "".join(f'    {key}: "{values[which]}"\n' for key, values in KEYS.items())
        self.config.write_text(f"tubes:\n  - match: t\n{lines}{more}")

    def policy(self) -> dict[str, str]:
        lines = self.admin.admin("policy t", table=True)[:-1]
        return {line.split("\t")[0]: line.split("\t")[1] for line in lines}

    def reload(self, which: int) -> None:
        self.write(which)
        self.broker.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + SECONDS
        while self.policy()["attempts"] != KEYS["attempts"][which]:
            self.assertLess(time.monotonic(), until)

    def test_every_key_changes_under_load(self) -> None:
        self.assertEqual(set(self.policy()), set(KEYS))
        traffic = [Traffic(self.broker.port) for _ in range(4)]
        for each in traffic:
            each.start()
        policies = []
        for turn in range(RELOADS):
            self.reload((turn + 1) % 2)
            policies.append(self.policy())
            before = [each.done for each in traffic]
            while any(each.done == done and each.is_alive()
                      for each, done in zip(traffic, before)):
                time.sleep(0.001)
        for each in traffic:
            each.ends.set()
        for each in traffic:
            each.join()
            self.assertEqual(each.wrong, "")
            self.assertGreater(each.done, 0)
            each.client.close()
        self.assertEqual(policies[0], policies[-2])
        for key in KEYS:
            self.assertNotEqual(policies[0][key], policies[1][key], key)

    def test_a_bad_file_changes_nothing(self) -> None:
        before = self.policy()
        refused = rf" error .*{re.escape(str(self.config))}"
        for more in ("    nonsense: 1\n", "    weight: 5000\n", "  - attempts: 1\n",
                     "  - match: u\n", "schedules:\n  - name: s\n    cron: never\n    tube: t\n"):
            self.write(1, more)
            seen = len(re.findall(refused, self.broker.said))
            self.broker.signal(signal.SIGHUP)
            self.broker.wait_for(refused, seen + 1)
            self.assertEqual(self.policy(), before, more)


if __name__ == "__main__":
    unittest.main()
