"""Limits that presman sets itself, so that no answer takes all memory, and the machine's limits for many databases."""

import os
import threading
from contextlib import suppress
from typing import NamedTuple

from presman.base.formats import counted
from presman.cli import exit_codes
from presman.cli.exit_codes import Failure

MEMORY = 2 << 30
"""Bytes of data; a monitor of a large database uses a tenth of that."""


EACH = 8 << 20
"""Additional bytes for each further database of a fleet, its thread included."""


def bound_memory(databases: int = 1) -> None:
    """Limit memory to MEMORY plus EACH per further database unless a lower limit is set; beyond it, MemoryError."""
    import resource

    most = MEMORY + (databases - 1) * EACH
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        # MEMORY is what an earlier call set for one database: it may be raised for more.
        if soft == resource.RLIM_INFINITY or soft > most or soft == MEMORY:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


MOST = 500
"""Databases that one process watches, each with a thread and a connection; for more, use several processes."""

STACK = 1 << 20
"""Bytes of a thread's stack. The usual 8 MB count as memory although almost none is ever touched: the threads of 200
databases alone would exceed MEMORY.
"""


class Need(NamedTuple):
    """The need of databases for something that the machine limits: `least` for one, else `base` and `each` of them."""

    limit: str
    what: str
    option: str
    least: int
    base: int
    each: int
    unit: int = 1


NEEDS = (
    Need("RLIMIT_NOFILE", "open files", "ulimit -n", 12, 112, 4),  # an event loop needs three, its connection one
    Need("RLIMIT_NPROC", "threads", "ulimit -u", 6, 16, 2),  # one that polls, and in a recorder one that writes
    Need("RLIMIT_AS", "MB of memory", "ulimit -v", 110, 110, 4, 1 << 20),
)


def make_room(databases: int, *, server: bool) -> None:
    """Prepare for `databases` in one process; a `server` also answers requests. Raises Failure if they are too many.

    Limits that the user may raise are raised. A limit that is too low is reported before it is reached.
    """
    if databases > MOST:
        what = f"{databases} databases are too many for one process, which watches {MOST}"
        raise Failure(f"{what}: use several processes, or let recorders write to a central store and watch that")
    for need in NEEDS:
        if need.limit != "RLIMIT_NPROC" or os.geteuid():  # root has no limit
            _raise_limit(need, databases)
    if databases > 1:
        threading.stack_size(STACK)
    if server:
        bound_memory(databases)


def _raise_limit(need: Need, databases: int) -> None:
    """Raise a limit as far as the databases need it. Raises Failure."""
    import resource

    which = getattr(resource, need.limit)
    wanted = need.least if databases == 1 else need.base + need.each * databases
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or soft >= wanted * need.unit:
        return
    most = wanted * need.unit if hard == resource.RLIM_INFINITY else min(wanted * need.unit, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(which, (most, hard))
        soft = most
    if (allowed := soft // need.unit) < wanted:
        limit = f"{need.what}, and {allowed} are allowed ({need.option})"
        room = max(0, (allowed - need.base) // need.each)
        many = f"{counted(databases, 'database')} in one process need {wanted} {limit}: enough for {room}"
        raise Failure(f"this takes {wanted} {limit}" if databases == 1 else many, exit_codes.SOURCE)


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of mallopt(3)."""


def give_back_memory() -> None:
    """Have glibc return large blocks to the system at once, for services that run for months; without glibc do nothing.

    By default glibc keeps ever larger blocks: free memory grew for hours, until it was as much as was in use.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 1 << 16)
        mallopt(_TRIM_THRESHOLD, 1 << 17)
        mallopt(_ARENA_MAX, 2)
