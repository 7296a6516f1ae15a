#!/usr/bin/env python3
"""The pages for operators, asked of the real broker: pages_test.py BROKER."""

import re
import signal
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

BROKER = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        self.process = subprocess.Popen(
            [BROKER, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
            stderr=subprocess.PIPE, text=True)
        seen = ""
        for line in self.process.stderr:
            seen += line
            if line.startswith("ready"):
                break
        self.admin = re.search(r"admin (\S+)", seen).group(1)
        self.port = int(re.search(r"ready 127.0.0.1:(\d+)", seen).group(1))

    def tearDown(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(10), 0)
        self.process.stderr.close()

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_healthy_and_ready(self) -> None:
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))
        self.assertEqual(self.get("/readyz"), (200, "ready\n"))
        self.assertEqual(self.get("/other"), (404, "not found\n"))

    def test_not_ready_while_draining(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.sendall(b"shutdown graceful\r\n")
            self.assertEqual(client.recv(100), b"OK\r\n")
        self.assertEqual(self.get("/readyz"), (503, "draining\n"))
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))

    def test_metrics_follow_the_jobs(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.sendall(b"put 0 0 60 2\r\nhi\r\n")
            self.assertEqual(client.recv(100), b"INSERTED 1\r\n")
            status, text = self.get("/metrics")
        self.assertEqual(status, 200)
        self.assertIn('gearstalkd_jobs{state="ready"} 1\n', text)
        self.assertIn("gearstalkd_jobs_put_total 1\n", text)


if __name__ == "__main__":
    unittest.main()
