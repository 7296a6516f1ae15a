"""File systems of their own, so that they can get full or lose their power."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import time
from pathlib import Path

# EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32), and its flag that nothing is to be flushed.
_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = struct.pack("=I", 2)
_UNMOUNT_SECONDS = 30.0


class CannotMount(RuntimeError):
    """The machine does not allow it."""


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotMount(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        raise CannotMount(f"{' '.join(command)}: {error.stderr.strip()}") from error


class _Mounted:
    """`path` is where."""

    def __init__(self, directory: Path) -> None:
        if os.geteuid() != 0:
            raise CannotMount("only root may mount")
        self.path = directory / "disk"
        self.path.mkdir()
        self._mounted = False

    def unmount(self) -> None:
        deadline = time.monotonic() + _UNMOUNT_SECONDS
        while self._mounted:
            try:
                _run("umount", str(self.path))
                self._mounted = False
            except CannotMount:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


class MemoryDisk(_Mounted):
    """A tmpfs, mounted from the start."""

    def __init__(self, directory: Path, megabytes: int) -> None:
        super().__init__(directory)
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "gearstalk-test", str(self.path))
        self._mounted = True


class Disk(_Mounted):
    """An ext4 in an image file, mounted from the start."""

    def __init__(self, directory: Path, megabytes: int, options: str = "data=ordered") -> None:
        super().__init__(directory)
        self._image = directory / "image"
        with self._image.open("wb") as image:
            image.truncate(megabytes << 20)
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        _run("mkfs.ext4", "-q", "-F", "-m", "0", str(self._image))
        self.mount(options)

    def mount(self, options: str = "data=ordered") -> None:
        _run("mount", "-t", "ext4", "-o", f"loop,{options}", str(self._image), str(self.path))
        self._mounted = True

    def cut_power(self) -> None:
        """From now on nothing reaches the disk, and what has not is gone at the next mount."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, _NO_LOG_FLUSH)
        except OSError as error:
            raise CannotMount(f"the file system cannot be shut down: {error}") from error
        finally:
            os.close(descriptor)
