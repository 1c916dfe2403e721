"""Limits that presman sets itself, so that no answer takes all memory, and those of the machine that many reach."""

import os
import threading
from contextlib import suppress
from typing import NamedTuple

from presman.base.formats import counted
from presman.cli import exit_codes
from presman.cli.exit_codes import Failure

MEMORY = 2 << 30
"""Bytes of data; a monitor of a large database has a tenth of that."""


EACH = 8 << 20
"""Bytes more for each further database of a fleet, its thread included."""


def bound_memory(databases: int = 1) -> None:
    """Let what asks for more than MEMORY, and EACH, fail with MemoryError, unless less is allowed already."""
    import resource

    most = MEMORY + (databases - 1) * EACH
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY or soft > most or soft == MEMORY:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Of mallopt(3)."""


MOST = 500
"""Databases that one process watches: each is a thread and a connection. For more there are several processes."""

STACK = 1 << 20
"""Bytes of a thread's stack. The usual 8 MB count as memory though nearly all of them are never touched: the threads of
200 databases alone would be more than MEMORY."""


class Need(NamedTuple):
    """What many databases need of something that the machine limits: `base` in any case, and `each` more for each."""

    limit: str
    what: str
    option: str
    base: int
    each: int


NEEDS = (
    Need("RLIMIT_NOFILE", "open files", "ulimit -n", 64, 4),  # an event loop has three, its connection one
    Need("RLIMIT_NPROC", "threads", "ulimit -u", 16, 2),  # one that polls, and of a recorder one that writes
)


def make_room(databases: int, *, server: bool) -> None:
    """Prepare for `databases` in one process; a `server` also answers requests. Raises Failure if they are too many.

    What the user may raise of the machine's limits is raised. That a limit is too low is told before it is reached.
    """
    if databases > MOST:
        what = f"{databases} databases are too many for one process, which watches {MOST}"
        raise Failure(f"{what}: use several processes, or let recorders write to a central store and watch that")
    for need in NEEDS if databases > 1 else ():
        if need.limit != "RLIMIT_NPROC" or os.geteuid():  # root may have as many as it likes
            _raise_limit(need, databases)
    if databases > 1:
        threading.stack_size(STACK)
    if server:
        bound_memory(databases)


def _raise_limit(need: Need, databases: int) -> None:
    """Raise a limit as far as the databases need it. Raises Failure."""
    import resource

    which = getattr(resource, need.limit)
    wanted = need.base + need.each * databases
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(which, (most, hard))
        soft = most
    if soft < wanted:
        room = max(0, (soft - need.base) // need.each)
        many = f"{counted(databases, 'database')} in one process need {wanted} {need.what}, and {soft} are allowed"
        raise Failure(f"{many} ({need.option}): enough for {room}", exit_codes.SOURCE)


def give_back_memory() -> None:
    """Have glibc give large blocks back at once, as a service of months needs it; elsewhere do nothing.

    By itself it learns to keep ever larger ones: what was free grew for hours, to as much as was in use.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for what, value in ((_MMAP_THRESHOLD, 1 << 16), (_TRIM_THRESHOLD, 1 << 17), (_ARENA_MAX, 2)):
            mallopt(what, value)
