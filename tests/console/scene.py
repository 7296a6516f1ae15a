"""A broker on which something is stuck, runs, has failed, and was left out: what the five questions ask for."""

import sys
from pathlib import Path

from case import ConsoleTest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "admin"))
from broker import Client  # noqa: E402

CONFIGURATION = """
schedules:
  - {name: nightly, tube: reports, cron: "0 3 * * *", body: x}
  - {name: hasty, tube: never.finished, every: 1s, delay: 1h, body: x}
tubes:
  - {match: narrow, max_running: 1}
  - {match: mail, on_failure: bury}
"""


class Scene(ConsoleTest):
    CONFIGURATION = CONFIGURATION

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.clients = []
        for number in range(3):
            cls.served.put("alone", str(number))
        cls.served.put("stopped", "x")
        cls.served.ask("POST", "tubes/stopped/pause", {"seconds": 3600})
        cls.running = cls.served.put("narrow", "x", ttr_seconds=600)
        cls.served.put("narrow", "x")
        cls.take("narrow")
        cls.failed = [cls.failing("mail", b"timeout of smtp.example.net") for _ in range(3)]
        cls.failed.append(cls.served.bury("orders", "x"))

    @classmethod
    def tearDownClass(cls) -> None:
        for client in cls.clients:
            client.close()
        super().tearDownClass()

    @classmethod
    def take(cls, tube: str) -> None:
        client = Client(cls.served.port)
        client.say(f"watch {tube}")
        client.say("ignore default")
        client.say("reserve")
        cls.clients.append(client)

    @classmethod
    def failing(cls, tube: str, text: bytes) -> int:
        """A job whose worker, which has a name, throws an exception."""
        job = cls.served.put(tube, "x")
        worker = Client(cls.served.port)
        worker.packet(22, b"mailer-1")
        worker.packet(1, tube.encode())
        worker.packet(9)
        _, (handle, *_) = worker.response()
        worker.packet(25, handle, text)
        worker.ask(16, b"done")
        worker.close()
        return job

    def concern(self, kind: str) -> str:
        """What the overview says, when a survey has found it."""
        selector = f'[data-testid="attention-item"][data-kind="{kind}"]'
        return str(self.browser.until(kind, lambda: self.browser.css(selector)[0].text if self.browser.css(selector) else ""))
