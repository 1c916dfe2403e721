"""Breadth of a poll: what it reads besides what each refresh needs."""

from __future__ import annotations

from enum import Flag


class Breadth(Flag):
    """What of a database's many rows is read at each poll; without it, once a minute.

    Tens of thousands of sessions may be connected that do nothing: each refresh counts them and reads those that do
    something or that others name. Whoever shows or writes more says so with this.
    """

    NARROW = 0
    IDLE_SESSIONS = 1
    HISTOGRAMS = 2
    WHOLE = IDLE_SESSIONS | HISTOGRAMS


def of_measure(name: str) -> Breadth:
    """Return what has to be read for a measure to be written; "" is none."""
    return Breadth.HISTOGRAMS if name == "latency" else Breadth.NARROW
