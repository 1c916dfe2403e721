"""Durations as people write them: the same on the command line, in config.ini, in alerts and in scenarios."""

from __future__ import annotations

import re

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

_WRITTEN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(us|ms|s|m|h|d)?", re.IGNORECASE | re.ASCII)


def seconds_of(text: str, *, bare: bool = True) -> float:
    """Return the seconds of a duration: ``90``, ``90s``, ``20ms``, ``15m``, ``2h``, ``14d``.

    Raises ValueError for other texts, and for a number without a unit where it may not be `bare`.

    >>> seconds_of("1.5h"), seconds_of("90"), seconds_of("20 ms")
    (5400.0, 90.0, 0.02)
    """
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or not (found[2] or bare):
        raise ValueError(f"{text!r} is not a duration such as {'20ms, 90, ' if bare else ''}90s, 15m, 2h or 14d")
    return float(found[1]) * UNITS[(found[2] or "s").lower()]
