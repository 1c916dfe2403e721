"""Scrub bar: the whole recording on two lines, queue and throttle over time, the poll on show and the events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from presman.analysis.trends.database_events import DatabaseEvent
from presman.figures.drawing.bars import spark
from presman.figures.drawing.lines import Line, Run, merge
from presman.recording.playback_values import Stretch
from presman.tui.widgets.line_view import LineView

_HEADS = ("queue     ", "throttled ")


class ScrubBar(LineView):
    """Two lines over the keys; `show` draws them for an instant."""

    ground = "panel"

    def __init__(self) -> None:
        super().__init__(id="scrub")
        self._strip: Sequence[Stretch] = ()
        self._events: Sequence[DatabaseEvent] = ()
        self._span: tuple[datetime, datetime] | None = None

    def load(self, first: datetime, last: datetime, strip: Sequence[Stretch], events: Sequence[DatabaseEvent]) -> None:
        """Take what the recording holds."""
        self._span, self._strip, self._events = (first, last), strip, events

    def show(self, at: datetime, *, reads_past: bool = False) -> None:
        """Draw both lines with the mark at an instant; `reads_past` while the hour before it is being read."""
        if self._span is not None:
            self.show_lines(scrub_lines(self._strip, self._span, self._events, at, self.size.width, reads_past))


def scrub_lines(
    strip: Sequence[Stretch],
    span: tuple[datetime, datetime],
    events: Sequence[DatabaseEvent],
    at: datetime,
    width: int,
    reads_past: bool = False,
) -> list[Line]:
    """Return the two lines: the longest queue and the throttled percent of each stretch, the mark, the bounds."""
    first, last = span
    bounds = f" {first.astimezone():%m-%d %H:%M} – {last.astimezone():%m-%d %H:%M} "
    happened = bisect_right(events, at, key=lambda each: each.at)
    counts = (" reading the last hour" if reads_past else f" event {happened} of {len(events)}").ljust(len(bounds))
    room = max(10, width - len(_HEADS[0]) - len(bounds) - 1)
    whole = max(1.0, (last - first).total_seconds())
    index = min(room - 1, max(0, int((at - first).total_seconds() / whole * room)))
    lines = []
    for head, text, tail in zip(_HEADS, _sparks(tuple(strip), room), (bounds, counts), strict=True):
        runs: list[Run] = [
            (head, "dim"),
            (text[:index], "note"),
            ("┃", "title"),
            (text[index + 1 :], "dim"),
            (tail, "dim"),
        ]
        lines.append(merge(runs))
    return lines


@lru_cache(maxsize=2)
def _sparks(strip: tuple[Stretch, ...], room: int) -> tuple[str, str]:
    """Return queue and throttle in `room` cells each: they stay while the mark moves."""
    queued = _fitted([float(each.queued) if each.polls else None for each in strip], room)
    throttled = _fitted([each.throttled if each.polls else None for each in strip], room)
    return spark(queued, room).ljust(room), spark(throttled, room, 100.0).ljust(room)


def _fitted(values: Sequence[float | None], width: int) -> list[float | None]:
    """Return the highest of the values that fall into each of `width` cells."""
    found: list[float | None] = []
    for cell in range(width):
        start = cell * len(values) // width
        own = values[start : max(start + 1, (cell + 1) * len(values) // width)]
        known = [value for value in own if value is not None]
        found.append(max(known) if known else None)
    return found
