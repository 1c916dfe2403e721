"""Search for memory that a test leaves behind."""

from __future__ import annotations

import gc


def forget_others() -> None:
    """Leave what other tests have left to itself from now on: to collect it, or to look through it, takes seconds."""
    gc.collect()
    gc.freeze()
