"""cpu_of.py LOG COMMAND...: runs a compiler and appends a line to LOG: its CPU seconds, and its object."""

import resource
import subprocess
import sys
from pathlib import Path

log, *command = sys.argv[1:]
code = subprocess.run(command, check=False).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if "-o" in command:
    with Path(log).open("a") as lines:
        lines.write(f"{used.ru_utime + used.ru_stime:.1f}\t{command[command.index('-o') + 1]}\n")
sys.exit(code)
