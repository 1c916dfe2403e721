"""Heat map: how long the waits for an event took over time, the more the darker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from presman.base.formats import count, microseconds
from presman.base.markup import BLANK, Markup, drawing, element, label
from presman.reports.report.time_axis import LEFT, TimeAxis, below, between

_LINE, _TOP = 12.0, 4.0
_SHADES = ("#e8f1f8", "#c6dcec", "#92c0de", "#5a9fcc", "#2a7ab5", "#0b559f", "#08306b")


class HeatColumn(Struct, frozen=True):
    """A stretch of time: waits by the upper bound of their bucket in microseconds."""

    start: datetime
    end: datetime
    waits: Mapping[int, int]


def heat_map(event: str, columns: Sequence[HeatColumn], axis: TimeAxis) -> Markup:
    """Return the map of one event: a line for each bucket, the slowest on top."""
    uppers = sorted({upper for each in columns for upper in each.waits}, reverse=True)
    most = max((waits for each in columns for waits in each.waits.values()), default=1)
    bottom = _TOP + _LINE * len(uppers)
    parts = [
        label(LEFT - 6, _TOP + _LINE * place + 10, f"< {microseconds(upper)}", "end")
        for place, upper in enumerate(uppers)
    ]
    places = {upper: place for place, upper in enumerate(uppers)}
    for column in columns:
        left, right = axis.x(column.start), axis.x(column.end)
        total = sum(column.waits.values())
        for upper, waits in column.waits.items():
            told = (
                f"{between(column.start, column.end)}\n{count(waits)} of {count(total)} waits took less than"
                f" {microseconds(upper)}, and no less than the bucket below"
            )
            parts.append(
                element(
                    "rect", element("title", told), x=left, y=_TOP + _LINE * places[upper],
                    width=max(1.0, right - left), height=_LINE, fill=shade(waits, most),
                )
            )  # fmt: skip
    return drawing(bottom + 24, f"Latency of {event} over time", [below(axis, _TOP, bottom), *parts])


def shade(waits: int, most: int) -> str:
    """Return the colour of so many waits, on a logarithmic scale up to the `most` of a cell."""
    if waits <= 0:
        return BLANK
    share = math.log(1 + waits) / math.log(1 + max(most, waits))
    return _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]
