"""Views that figures are read from, and what of them did not come in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from presman.analysis.readings.reading import LateView, Reading
from presman.base.formats import duration
from presman.figures.figure import Figure, Table

_VIEW = re.compile(r"V\$\w+")


@cache
def views_of(figures: Sequence[Figure[Any]]) -> frozenset[str]:
    """Return the views that the figures' helps name, in the form V$NAME."""
    return frozenset(view for figure in figures for view in _VIEW.findall(figure.help))


def late_among(figures: Sequence[Figure[Any]], reading: Reading) -> tuple[LateView, ...]:
    """Return the late views that any of the figures is read from."""
    if not reading.late:
        return ()
    views = views_of(figures)
    return tuple(each for each in reading.late if each.view.removeprefix("G") in views)


def late_note(table: Table[Any], reading: Reading) -> str:
    """Say how old the oldest rows behind a table were when the poll came, "" if they are as new as they should be."""
    found = late_among(table.columns, reading)
    ages = [each.age for each in found if each.age is not None]
    if ages:
        return f"◌ {duration(max(ages) + reading.poll_seconds)} old"
    return "◌ no answer" if found else ""
