"""The broker as a process of its own, on a data directory that outlives it."""

from __future__ import annotations

import http.client
import re
import subprocess
import time
from pathlib import Path

from wire import REPLY_SECONDS

START_SECONDS = 120.0
STOP_SECONDS = 60.0
SERVER_NAME = "crash"
MAX_JOB_SIZE = 60000


class BrokerError(RuntimeError):
    """A broker that does not start or end as it should."""


class Broker:
    """Starts at once; is ready after wait_ready. Ends with the process that started it."""

    def __init__(self, binary: str, data_dir: Path, log: Path, sync: str = "always",
                 args: tuple[str, ...] = ()) -> None:
        self.port = 0
        self._log = log
        self._log_start = log.stat().st_size if log.exists() else 0
        command = ["setpriv", "--pdeathsig", "KILL", binary, "--listen", "127.0.0.1:0",
                   "--server-name", SERVER_NAME, "--max-job-size", str(MAX_JOB_SIZE),
                   "--data-dir", str(data_dir), "--sync", sync, *args]
        with log.open("ab") as out:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=out)

    def log(self) -> str:
        with self._log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def logs(self, text: str) -> bool:
        """Whether the log has this text, now or soon: a thread of its own writes it."""
        deadline = time.monotonic() + REPLY_SECONDS
        while text not in self.log() and time.monotonic() < deadline:
            time.sleep(0.003)
        return text in self.log()

    def is_ready(self) -> bool:
        ready = re.search(r"^ready\b.*?127\.0\.0\.1:(\d+)\n", self.log(), re.MULTILINE)
        if ready:
            self.port = int(ready[1])
        return ready is not None

    def wait_ready(self) -> Broker:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.is_ready():
                return self
            if self._process.poll() is not None:
                break
            time.sleep(0.003)
        code = self._process.poll()
        self.kill()
        raise BrokerError(f"the broker is not ready (exit code {code}):\n{self.log()[-3000:]}")

    def readiness(self) -> tuple[int, str]:
        """What /readyz answers. The arguments have an address for it."""
        port = int(re.findall(r"\badmin 127\.0\.0\.1:(\d+)$", self.log(), re.MULTILINE)[-1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REPLY_SECONDS)
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def wait_exit(self) -> int:
        """Exit code; negative is the signal that ended it."""
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerError(f"the broker does not end:\n{self.log()[-3000:]}") from None

    def exit_code(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        self._process.terminate()
        return self.wait_exit()
