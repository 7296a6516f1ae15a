"""Replaces what must differ between two servers in written replies, after checking its shape."""

from __future__ import annotations

import os
import re
import socket

from servers import HANDLE_PREFIX

# Seconds a value that runs with the clock may be off on a slow machine.
_SLACK = 50

_JOB_LINE = re.compile(r"^(INSERTED|BURIED|RESERVED|FOUND) (\d+)(?= |$)")
_JOB_KEY = re.compile(r"^(id: )(\d{1,15})(?=\\n$)", re.MULTILINE)
_HANDLE = re.compile(re.escape(HANDLE_PREFIX) + r":(\d+)")
_REPLY_TUBE = re.compile(r"(?<=\$reply/)(\d+)")
_YAML_LENGTH = re.compile(r"^OK \d+(?=\n---\\n\n)")
_VERSION = re.compile(r"^OK \d+\.[\w.+~-]+\\n$")
_WORKER_LINE = re.compile(r"^\d+ (?=[0-9a-f.:]+ )")


class JobNumbers:
    """Numbers the jobs of a case in the order in which a server first names them."""

    def __init__(self) -> None:
        self._ids: list[int] = []

    def number(self, job_id: int) -> int:
        if job_id not in self._ids:
            self._ids.append(job_id)
        return self._ids.index(job_id) + 1

    def resolve(self, number: int, handle: bool) -> bytes:
        """The id or handle of a reference; one that names no job for a reference never seen."""
        known = 0 < number <= len(self._ids)
        job_id = self._ids[number - 1] if known else 999999999
        return (f"{HANDLE_PREFIX}:{job_id}" if handle else str(job_id)).encode()


class Normaliser:
    def __init__(self, jobs: JobNumbers, pid: int) -> None:
        self._jobs = jobs
        self._pid = pid

    def reply(self, text: str) -> str:
        """One reply."""
        text = _HANDLE.sub(lambda m: f"H#{self._jobs.number(int(m[1]))}", text)
        text = _REPLY_TUBE.sub(lambda m: f"#{self._jobs.number(int(m[1]))}", text)
        text = _JOB_LINE.sub(lambda m: f"{m[1]} #{self._jobs.number(int(m[2]))}", text)
        if _YAML_LENGTH.match(text):
            text = _JOB_KEY.sub(lambda m: f"{m[1]}#{self._jobs.number(int(m[2]))}", text)
            text = _YAML_LENGTH.sub("OK *", text)
            text = self._yaml(text)
        text = _VERSION.sub(r"OK <version>\\n", text)
        return text.replace(f"OK {self._pid}\\n", "OK <pid>\\n")

    def table(self, text: str) -> str:
        """An admin table; the order of its rows means nothing."""
        rows = self.reply(text).split("\n")
        end = [rows.pop()] if rows else []
        return "\n".join(sorted(_WORKER_LINE.sub("<fd> ", row) for row in rows) + end)

    def picked(self, text: str, keys: list[str]) -> str:
        """The named values of a statistics reply."""
        text = self.reply(text)
        if not text.startswith("OK *"):
            return text
        values = dict(_row(row) for row in text.split("\n"))
        return ", ".join(f"{key.strip()} {values.get(key.strip(), '(missing)')}" for key in keys)

    def _yaml(self, text: str) -> str:
        rows = text.split("\n")
        values = dict(_row(row) for row in rows)
        return "\n".join(self._yaml_row(row, values) for row in rows)

    def _yaml_row(self, row: str, values: dict[str, str]) -> str:
        key, value = _row(row)
        shape = self._shape(key, value, values)
        return row if shape is None else f"{key}: {shape}\\n"

    def _shape(self, key: str, value: str, values: dict[str, str]) -> str | None:
        """What stands for a value that has the right shape; None keeps the value."""
        quote = '"' if value.startswith('"') else ""
        bare = value.strip('"')
        if key == "pid" and value == str(self._pid):
            return "<pid>"
        if key == "version":
            return f"{quote}<version>{quote}"
        if key in ("rusage-utime", "rusage-stime") and re.fullmatch(r"\d+\.\d{6}", value):
            return "<seconds>"
        if key == "id" and re.fullmatch(r"[0-9a-f]{16}", bare):
            return f"{quote}<server id>{quote}"
        uname = os.uname()
        machine = {"hostname": socket.gethostname(), "os": uname.version,
                   "platform": uname.machine}
        if key in machine and bare.replace("\\#", "#") == machine[key]:
            return f"{quote}<{key}>{quote}"
        return _clock_shape(key, value, values)


def _row(row: str) -> tuple[str, str]:
    key, _, value = row.removesuffix("\\n").partition(": ")
    return key, value


def _clock_shape(key: str, value: str, values: dict[str, str]) -> str | None:
    if not re.fullmatch(r"\d+", value):
        return None
    seconds = int(value)
    if key in ("age", "uptime") and seconds <= _SLACK:
        return "<small>"
    limit_key = {"time-left": {"reserved": "ttr", "delayed": "delay"}.get(values.get("state", "")),
                 "pause-time-left": "pause"}.get(key)
    limit = values.get(limit_key or "", "")
    if limit.isdigit() and int(limit) > 0 and int(limit) - _SLACK <= seconds <= int(limit):
        return f"<up to {limit_key}>"
    return None
