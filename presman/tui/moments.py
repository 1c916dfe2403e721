"""Moments: what can be gone to in the past of a live database: times, and what happened. A replay has its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from presman.base.errors import InputError
from presman.base.formats import clock

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.trends.database_events import DatabaseEvent, EventHistory
    from presman.rows.snapshot import Snapshot
    from presman.tui.monitor import Monitor


_SAID = 4
"""Events of one poll that are named when one goes there."""


class Moments:
    """The moments of the polls that are kept, and the events that are found as polls come."""

    def __init__(self, monitor: Monitor, notify: Callable[..., None], repaint: Callable[[], None]) -> None:
        self.monitor = monitor
        self.notify = notify
        self.repaint = repaint

    @cached_property
    def _history(self) -> EventHistory:
        """Made when the first poll comes: it takes imports that the first frame does not wait for."""
        from presman.analysis.trends.database_events import EventHistory

        return EventHistory()

    def arrive(self, reading: Reading, snapshot: Snapshot | None) -> None:
        """Find what happened up to a poll."""
        if snapshot is not None:
            self._history.add(reading, snapshot)
            self.monitor.events = self._history.events

    def lose(self, text: str) -> None:
        """Note that the connection was lost after the newest poll."""
        if self.monitor.latest is not None:
            self._history.lose(self.monitor.latest.at, text)
            self.monitor.events = self._history.events

    @property
    def span(self) -> tuple[datetime, datetime] | None:
        """From when to when one can go; None before the first poll."""
        monitor = self.monitor
        first = None if monitor.latest is None else monitor.timeline.first()
        return None if first is None or monitor.latest is None else (first, monitor.latest.at)

    def jump(self, words: str) -> None:
        """Go to the time that words mean ("" for nowhere), or say that they mean none."""
        from presman.recording.time_words import instant_of

        if words and self.span is not None:
            try:
                self.go_to(instant_of(words, *self.span, note=partial(self.notify, timeout=8)))
            except InputError as error:
                self.notify(str(error), severity="error", timeout=8)

    def click(self, at: datetime) -> None:
        """Go to an instant of a chart, whose newest stretch ends after the newest poll."""
        if self.span is not None:
            self.go_to(min(at, self.span[1]))

    def go_to(self, at: datetime) -> None:
        """Show the last poll not after an instant; where there is none, say so."""
        from presman.recording.time_words import spelled_instant

        if self.span is None:
            return
        first, last = self.span
        self.monitor.look_back(self.monitor.timeline.behind(at))
        self.repaint()
        if at < first.replace(microsecond=0):  # a time is typed in whole seconds
            self.notify(f"No poll before {spelled_instant(first)}: this is the first.", timeout=8)
        elif at > last:
            self.notify(f"No poll after {spelled_instant(last)}: this is the newest.", timeout=8)

    def to_event(self, direction: int) -> None:
        """Go to what happened next (1) or before (-1)."""
        event = self.event(direction)
        if event is None:
            self.notify("Nothing else happened after this." if direction > 0 else self._nothing_before())
        else:
            self.show(event)

    def show(self, event: DatabaseEvent) -> None:
        """Go to what happened, and say what it was, with what else happened by that poll."""
        self.go_to(event.at)
        there = [each.text for each in self.monitor.events if each.at == event.at]
        more = [f"+{len(there) - _SAID} more: E lists them"] if len(there) > _SAID else []
        self.notify(" · ".join([*there[:_SAID], *more]), timeout=8)

    def event(self, direction: int) -> DatabaseEvent | None:
        """Return what happened next (1) or before (-1) the poll on show, as far back as polls are kept."""
        from presman.analysis.trends.database_events import beside

        reading, span = self.monitor.reading, self.span
        if reading is None or span is None:
            return None
        return beside(self.monitor.events, reading.at, direction, span[0])

    def _nothing_before(self) -> str:
        first = "" if self.span is None else f" The oldest poll kept is from {clock(self.span[0])}."
        return f"Nothing happened before this.{first}"
