"""Limits that presman sets itself, so that no answer of a server can make it take all memory of the machine."""

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
