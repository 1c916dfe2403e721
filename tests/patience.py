"""Patience of tests: waits for a condition, with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds: even a busy machine needs fewer."""


def until(true: Callable[[], object], what: str, look: Callable[[], object] = lambda: time.sleep(0.005)) -> None:
    """Call `look` until `true()` holds; after PATIENCE fail with `what` as that which did not happen."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"not within {PATIENCE:g} s: {what}"
        look()
