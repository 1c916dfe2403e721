"""Cost of this process: CPU and memory."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path


def cpu_seconds() -> float:
    """Return the CPU seconds used so far, of all threads, in user code and in the system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory_mb() -> float:
    """Return the memory that is in use, in MB; where the system does not tell, the most that ever was."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)
