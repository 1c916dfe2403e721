"""Waits for a condition, with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds: a busy machine takes some, and nothing takes as many."""


def until(true: Callable[[], object], what: str, look: Callable[[], object] = lambda: time.sleep(0.005)) -> None:
    """Wait until something is true, and look meanwhile; `what` did not happen if it takes too long."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"not within {PATIENCE:g} s: {what}"
        look()
