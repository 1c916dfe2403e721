"""Scrub bar: the whole recording on two lines, queue and throttle over time, with the place on show and the events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from presman.drawing.bars import spark
from presman.drawing.lines import Line, Run, merge
from presman.recording.events import RecordedEvent
from presman.recording.tape_values import Stretch
from presman.tui.widgets.line_view import LineView

_HEADS = ("queue ", "throt ")


class ScrubBar(LineView):
    """Two lines over the keys; `show` draws them for an instant."""

    ground = "panel"

    def __init__(self) -> None:
        super().__init__(id="scrub")
        self._strip: Sequence[Stretch] = ()
        self._events: Sequence[RecordedEvent] = ()
        self._span: tuple[datetime, datetime] | None = None

    def load(self, first: datetime, last: datetime, strip: Sequence[Stretch], events: Sequence[RecordedEvent]) -> None:
        """Take what the recording holds."""
        self._span, self._strip, self._events = (first, last), strip, events

    def show(self, at: datetime) -> None:
        """Draw both lines with the mark at an instant."""
        if self._span is not None:
            self.show_lines(scrub_lines(self._strip, self._span, self._events, at, self.size.width))


def scrub_lines(
    strip: Sequence[Stretch],
    span: tuple[datetime, datetime],
    events: Sequence[RecordedEvent],
    at: datetime,
    width: int,
) -> list[Line]:
    """Return the two lines: the longest queue and the throttled percent of each stretch, the mark, the bounds."""
    first, last = span
    bounds = f" {first.astimezone():%m-%d %H:%M} – {last.astimezone():%m-%d %H:%M} "
    happened = sum(each.at <= at for each in events)
    counts = f" event {happened} of {len(events)}".ljust(len(bounds))
    room = max(10, width - len(_HEADS[0]) - len(bounds) - 1)
    whole = max(1.0, (last - first).total_seconds())
    place = min(room - 1, max(0, int((at - first).total_seconds() / whole * room)))
    queued = _fitted([float(each.queued) if each.polls else None for each in strip], room)
    throttled = _fitted([each.throttled if each.polls else None for each in strip], room)
    lines = []
    for head, values, highest, tail in zip(_HEADS, (queued, throttled), (None, 100.0), (bounds, counts), strict=True):
        text = spark(values, room, highest).ljust(room)
        runs: list[Run] = [
            (head, "dim"),
            (text[:place], "note"),
            ("┃", "title"),
            (text[place + 1 :], "dim"),
            (tail, "dim"),
        ]
        lines.append(merge(runs))
    return lines


def _fitted(values: Sequence[float | None], width: int) -> list[float | None]:
    """Return the highest of the values that fall into each of `width` cells."""
    found: list[float | None] = []
    for cell in range(width):
        start = cell * len(values) // width
        own = values[start : max(start + 1, (cell + 1) * len(values) // width)]
        known = [value for value in own if value is not None]
        found.append(max(known) if known else None)
    return found
