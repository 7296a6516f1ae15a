"""The clocks of one process, which clocks.cc moves."""

import struct
from pathlib import Path


class Clocks:
    """A file that says how far a process's clocks are from the host's."""

    _LAYOUT = struct.Struct("=5q")

    def __init__(self, library: Path | str, file: Path) -> None:
        self._file = file
        self.before = ["env", f"LD_PRELOAD={library}", f"GEARSTALK_CLOCKS={file}",
                       "ASAN_OPTIONS=verify_asan_link_order=0"]  # the command that starts it
        file.write_bytes(bytes(self._LAYOUT.size))

    def set(self, wall: float = 0, boot: float = 0, monotonic: float = 0, percent: int = 0,
            delay: float = 0) -> None:
        """In seconds. `percent`: how much wall and boot run fast, -100 if they stand still;
        `delay`: of each reading of wall."""
        moved = [round(seconds * 10**9) for seconds in (wall, boot, monotonic)]
        with self._file.open("r+b") as file:
            file.write(self._LAYOUT.pack(*moved, percent * 10_000, round(delay * 10**9)))
