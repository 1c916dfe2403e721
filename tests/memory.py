"""Memory of other tests, which a test that looks for garbage must ignore."""

from __future__ import annotations

import gc


def forget_others() -> None:
    """Freeze the objects that other tests have left: to collect or to search them takes seconds."""
    gc.collect()
    gc.freeze()
