"""What tests of bodies in the journal alone have in common."""

import hashlib
import os
import pathlib
import shutil
import tempfile

from api_case import BINARY, WithBroker
from api_client import Api
from broker import Broker, Client, eventually


def body_of(number: int, size: int) -> bytes:
    seed = hashlib.sha256(str(number).encode()).hexdigest().encode()
    return (b"%d:" % number + seed * (size // 64 + 1))[:size]


class Cold(WithBroker):
    MORE: tuple[str, ...] = ()
    POLICIES = ""

    def setUp(self) -> None:
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="gearstalk-cold-"))
        self.config = self.data / "config.yaml"
        self.limit_bodies(1)
        self.OPTIONS = ("--console-rate", "0", "--data-dir", str(self.data / "data"),
                        "--config", str(self.config), *self.MORE)
        super().setUp()

    def tearDown(self) -> None:
        super().tearDown()
        shutil.rmtree(self.data)

    def limit_bodies(self, limit: int) -> None:
        self.config.write_text(f"limits:\n  bodies: {limit}\n{self.POLICIES}")

    def start_again(self) -> None:
        """After a kill."""
        self.client.close()
        self.broker.process.kill()
        self.broker.process.wait()
        self.broker = Broker(BINARY, *self.OPTIONS)
        self.api, self.client = Api(self.broker.admin), Client(self.broker.port)

    def put(self, number: int, size: int = 400) -> int:
        self.client.send(b"put 10 0 600 %d\r\n%s\r\n" % (size, body_of(number, size)))
        return int(self.client.line().removeprefix("INSERTED "))

    def await_cold(self, jobs: int) -> None:
        eventually("bodies leave",
                   lambda: self.api.get("/server")["memory"]["bodies_in_journal"] == jobs)

    def take(self, client: Client | None = None) -> tuple[int, bytes]:
        client = client or self.client
        word, number, size = client.line().split()
        self.assertEqual(word, "RESERVED")
        return int(number), client.body(int(size) + 2)[:-2]

    def segment(self) -> pathlib.Path:
        return next((self.data / "data").glob("*.wal"))

    def flip(self, body: bytes) -> None:
        """Flips a bit in the middle of that body in the journal."""
        with open(self.segment(), "r+b") as file:
            at = file.read().index(body) + len(body) // 2
            file.seek(at)
            byte = file.read(1)[0]
            os.pwrite(file.fileno(), bytes([byte ^ 4]), at)
