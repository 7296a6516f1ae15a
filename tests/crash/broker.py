"""The broker as a process of its own, on a data directory that outlives it."""

from __future__ import annotations

import http.client
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import Launched, NotReady  # noqa: E402
from wire import REPLY_SECONDS  # noqa: E402

SERVER_NAME = "crash"
MAX_JOB_SIZE = 60000


class Broker(Launched):
    """Starts at once; is ready after wait_ready."""

    def __init__(self, binary: str, data_dir: Path, log: Path, sync: str = "always",
                 args: tuple[str, ...] = ()) -> None:
        super().__init__(binary, "--server-name", SERVER_NAME, "--max-job-size", MAX_JOB_SIZE,
                         "--data-dir", data_dir, "--sync", sync, *args, log=log)

    @property
    def port(self) -> int:
        return self.ports[0]

    def logs(self, text: str) -> bool:
        """Whether the log has this text, now or soon."""
        try:
            self.wait_for(re.escape(text))
        except NotReady:
            return False
        return True

    def wait_ready(self) -> Broker:
        super().wait_ready()
        return self

    def readiness(self) -> tuple[int, str]:
        """What /readyz answers. The arguments have an address for it."""
        return self._get("/readyz")

    def number(self, metric: str) -> int:
        text = self._get("/metrics")[1]
        return int(float(re.search(rf"^{metric} (\S+)$", text, re.MULTILINE)[1]))

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.admin, timeout=REPLY_SECONDS)
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text
