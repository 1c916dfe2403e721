"""Limits that presman sets itself, so that no answer of a server can make it take all memory of the machine."""

from __future__ import annotations

from contextlib import suppress

MEMORY = 2 << 30
"""Bytes of data; a monitor of a large database has a tenth of that."""


def bound_memory() -> None:
    """Let what asks for more than MEMORY fail with MemoryError, unless less is allowed already."""
    import resource

    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY or soft > MEMORY:
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))
