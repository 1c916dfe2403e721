"""Looking for what a test leaves in memory."""

from __future__ import annotations

import gc


def forget_others() -> None:
    """Leave what other tests have left out of `gc.get_objects` from now on: to look through all of it takes seconds."""
    gc.collect()
    gc.freeze()
