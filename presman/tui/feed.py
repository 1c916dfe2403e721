"""Feed from the sampler's thread to the screen: turns snapshots into readings there, posts messages here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

if TYPE_CHECKING:
    from presman.analysis.facts.row_cache import RowCache
    from presman.analysis.readings.reading import Reading
    from presman.polling.sampler import Event, Sampler
    from presman.records.commands import Command
    from presman.records.focus import Focus
    from presman.records.queries import Breadth
    from presman.records.snapshot import Snapshot

Post = Callable[[Message], object]


class Arrived(Message):
    """A poll succeeded. `snapshot` is what the reading was made of.

    `whole` is not so for the very first, when it has come so far that there is something to see; that began to be
    read `age` seconds ago. In a replay so many `keys` asked for a poll before this one was shown.
    """

    def __init__(
        self, reading: Reading, snapshot: Snapshot | None = None, *, whole: bool = True, age: float = 0.0, keys: int = 0
    ) -> None:
        super().__init__()
        self.keys = keys
        self.whole = whole
        self.age = age
        self.reading = reading
        self.snapshot = snapshot


class Lost(Message):
    """The source is lost, and has been for so many seconds; `retry_in` seconds to the next attempt, None for none."""

    def __init__(self, text: str, retry_in: float | None, lasting: float = 0.0) -> None:
        super().__init__()
        self.text = text
        self.retry_in = retry_in
        self.lasting = lasting


class Ended(Message):
    """A finite source has been read to its end."""


class Failed(Message):
    """A snapshot could not be turned into a reading; the ones before stay on screen."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Acted(Message):
    """A command was carried out, or was not; `text` says what became of it. One that was not `tried` is in no log."""

    def __init__(self, command: Command, done: bool, text: str, *, tried: bool = True) -> None:
        super().__init__()
        self.tried = tried
        self.command = command
        self.done = done
        self.text = text


class Feed(Protocol):
    """What the app needs of whatever brings the readings."""

    def start(self) -> None:
        """Begin to post."""

    def stop(self) -> None:
        """End within half a second."""

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""

    def poll_now(self) -> None:
        """Poll at once."""

    def act(self, command: Command) -> None:
        """Have a command carried out. Raises PermissionError where actions are not allowed."""

    def focus(self, focus: Focus | None) -> None:
        """Read one session closely from now on, at once; None ends that."""

    def widen(self, breadth: Breadth) -> None:
        """Read so much at each poll from now on."""

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Ask the query of that name, which runs on demand only, at once, or (`lasting`) at each poll from now on."""


class Attending(Protocol):
    """What judges readings by thresholds and runs a command at alerts; `breadth` is what it needs of each poll."""

    breadth: Breadth

    def read(self, reading: Reading) -> Reading:
        """Return the reading with its alerts."""

    def look(self, reading: Reading) -> Reading:
        """Return the beginning of a reading with its alerts."""

    def lost(self, text: str) -> None:
        """Take it that the database cannot be reached."""


MakeSampler = Callable[[Callable[["Event"], None], float, "Breadth | None"], "Sampler"]
"""Makes a sampler that runs, from where it posts to, the refresh interval and how much each poll reads."""

MakeFeed = Callable[[Post, float], Feed]
"""Makes a feed from where it posts to and the refresh interval."""


class SamplerFeed:
    """A feed of readings from a sampler's snapshots. Nothing heavy is imported before `start`."""

    def __init__(
        self, make_sampler: MakeSampler, post: Post, refresh: float, attention: Attending | None = None
    ) -> None:
        self._attention = attention
        self._make_sampler = make_sampler
        self._post = post
        self._refresh = refresh
        self._breadth: Breadth | None = None
        self._sampler: Sampler | None = None
        self._previous: Snapshot | None = None
        self._cache: RowCache | None = None
        self._reading: Reading | None = None

    def start(self) -> None:
        """Begin to listen to the sampler."""
        self._sampler = self._make_sampler(self._receive, self._refresh, self._breadth)

    def stop(self) -> None:
        """End the thread."""
        if self._sampler is not None:
            self._sampler.stop()

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds`."""
        self._refresh = seconds
        if self._sampler is not None:
            self._sampler.set_refresh(seconds)

    def poll_now(self) -> None:
        """Poll, or try to reconnect, at once."""
        if self._sampler is not None:
            self._sampler.poll_now()

    def act(self, command: Command) -> None:
        """Have a command carried out."""
        if self._sampler is not None:
            self._sampler.act(command)

    def focus(self, focus: Focus | None) -> None:
        """Read one session closely."""
        if self._sampler is not None:
            self._sampler.focus(focus)

    def widen(self, breadth: Breadth) -> None:
        """Read so much at each poll from now on."""
        if self._attention is not None:
            breadth |= self._attention.breadth
        self._breadth = breadth
        if self._sampler is not None:
            self._sampler.widen(breadth)

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Ask a query that runs on demand only."""
        if self._sampler is not None:
            from presman.records.rows import by_query

            self._sampler.request(by_query()[name], binds, lasting=lasting)

    def _receive(self, event: Event) -> None:
        """Called in the sampler's thread, so that the screen does not wait for the analysis."""
        from presman.polling import sampler

        if isinstance(event, sampler.Polled):
            self._post(self._read(event.snapshot))
        elif isinstance(event, sampler.FirstLook):
            self._post(self._see(event.snapshot))
        elif isinstance(event, sampler.Glimpse):
            self._post(self._glimpse(event.seen, time.monotonic() - event.begun))
        elif isinstance(event, sampler.SourceLost):
            if self._attention is not None:
                self._attention.lost(event.line)
            self._post(Lost(event.line, event.retry_in))
        elif isinstance(event, sampler.ActionResult):
            self._post(Acted(event.command, event.done, event.text, tried=event.tried))
        else:
            self._post(Ended())

    def _read(self, snapshot: Snapshot) -> Message:
        from presman.analysis import analyse
        from presman.analysis.facts.row_cache import RowCache
        from presman.analysis.lazy_rows import prepare

        self._cache = self._cache or RowCache()
        previous, self._previous = self._previous, snapshot
        try:
            reading = analyse(previous, snapshot, self._cache)
            if self._attention is not None:
                reading = self._attention.read(reading)
            before, self._reading = self._reading, reading
            prepare(before.sessions if before else None, self._reading.sessions)
            return Arrived(self._reading, snapshot)
        except Exception as error:
            return Failed(error)

    def _see(self, snapshot: Snapshot) -> Message:
        from presman.analysis import analyse

        try:
            return self._glimpse(analyse(None, snapshot), snapshot.seconds)
        except Exception as error:
            return Failed(error)

    def _glimpse(self, reading: Reading, age: float) -> Message:
        try:
            seen = reading if self._attention is None else self._attention.look(reading)
            return Arrived(seen, whole=False, age=age)
        except Exception as error:
            return Failed(error)
