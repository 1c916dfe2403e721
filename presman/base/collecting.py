"""Collecting garbage seldom: what it costs to look around, and when that is worth it."""

from __future__ import annotations

import gc

SELDOM = (20_000, 20, 20)
"""Objects, and rounds, after which the garbage collector looks around."""


def collect_seldom() -> None:
    """Have the garbage collector look around seldom.

    Of what is imported nothing is garbage, and to look for some takes a tenth of that time; polls leave next to
    nothing, and with fifty databases the rounds over all that is known of them took a seventh of the CPU time.
    """
    gc.set_threshold(*SELDOM)
