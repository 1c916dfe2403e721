"""Garbage: what the process remembers without need, and when it lets go of it."""

from __future__ import annotations

import gc

from presman.base.collecting import collect_seldom
from presman.tui.textual_internals import forget_passing


def settle() -> None:
    """Take what was made so far out of the garbage collector's rounds: they cost a tenth of all CPU time.

    What is left is little. It is looked at when there is time, not while a poll is drawn: see :func:`tidy`.
    """
    gc.collect()
    gc.freeze()
    collect_seldom()


def tidy() -> None:
    """Forget what has passed, and collect: a strip of the screen refers to itself, and polls throw some twenty away."""
    forget_passing()
    gc.collect()
