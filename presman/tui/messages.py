"""Messages to the app: from panels, and from the player of a replay."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.trends.database_events import DatabaseEvent
    from presman.recording.tape_values import Stretch
    from presman.rows.snapshot import Snapshot
    from presman.tui.pages.content import Content
    from presman.tui.timeline import Timeline

_NONE: Mapping[str, str] = MappingProxyType({})


class QueryWanted(Message):
    """A query that runs on demand only is wanted: once, or (`lasting`) at each poll from now on."""

    def __init__(self, query: str, binds: Mapping[str, str] = _NONE, *, lasting: bool = False) -> None:
        super().__init__()
        self.query = query
        self.binds = binds
        self.lasting = lasting


class PageWanted(Message):
    """A page is to be read in place of the panel."""

    def __init__(self, content: Content) -> None:
        super().__init__()
        self.content = content


class TapeLoaded(Message):
    """The recording is open: from when to when it is, what it holds in short, and what happened in what is replayed."""

    def __init__(
        self, first: datetime, last: datetime, strip: list[Stretch], events: list[DatabaseEvent], message: str
    ) -> None:
        super().__init__()
        self.first = first
        self.last = last
        self.strip = strip
        self.events = events
        self.message = message


class Jumped(Message):
    """Another time is on show: the reading, what it was made of, and the charts before it.

    `message` says that no poll is at the time that was asked for, "" where there is one. So many `keys` asked for a
    poll before this one was shown.
    """

    def __init__(
        self, timeline: Timeline, reading: Reading, snapshot: Snapshot, message: str = "", keys: int = 0
    ) -> None:
        super().__init__()
        self.keys = keys
        self.message = message
        self.timeline = timeline
        self.reading = reading
        self.snapshot = snapshot


class Recalled(Message):
    """What of the time before the polls on show the figures do not tell, up to the newest; None if it cannot be had."""

    def __init__(self, timeline: Timeline | None) -> None:
        super().__init__()
        self.timeline = timeline


class Passed(Message):
    """Polls were passed over that cannot be read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Stopped(Message):
    """It plays no more: the end is reached, or what comes is damaged (`text`). So many `keys` asked for it before."""

    def __init__(self, text: str, keys: int = 0) -> None:
        super().__init__()
        self.keys = keys
        self.text = text
