"""Limits that presman sets itself: no answer of a server takes all memory of the machine, and no service grows."""

from __future__ import annotations

from contextlib import suppress

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


def give_back_memory() -> None:
    """Have glibc give large blocks back at once, as a service of months needs it; elsewhere do nothing.

    By itself it learns to keep ever larger ones: what was free grew for hours, to as much as was in use.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for what, value in ((_MMAP_THRESHOLD, 1 << 16), (_TRIM_THRESHOLD, 1 << 17), (_ARENA_MAX, 2)):
            mallopt(what, value)
