"""Player: a recording as a feed, with speeds, pause, steps and jumps. Its thread reads and analyses."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.message import Message

from presman.base.errors import InputError
from presman.base.formats import counted
from presman.base.text import clean, one_line
from presman.tui.feed import Arrived, Failed, Feed, Lost, Post
from presman.tui.monitor import beyond

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.trends.database_events import DatabaseEvent
    from presman.forecast.forecaster import ForecastBasis, Forecaster
    from presman.recording.playback import Pair, Playback
    from presman.recording.playback_values import Stretch
    from presman.recording.recording_source import RecordingSource
    from presman.rows.snapshot import Snapshot
    from presman.tui.past_timeline import Recall
    from presman.tui.timeline import Timeline

# ---- Messages of the player to the app.


@dataclass(eq=False)
class PlaybackLoaded(Message):
    """The recording is open: its first and last instant, its summary `strip`, and the events of the replayed part."""

    first: datetime
    last: datetime
    strip: list[Stretch]
    events: list[DatabaseEvent]
    message: str


@dataclass(eq=False)
class Jumped(Message):
    """Another time is on screen: the reading, its snapshot, and the timeline before it."""

    timeline: Timeline
    reading: Reading
    snapshot: Snapshot
    forecast_basis: ForecastBasis | None = None


@dataclass(eq=False)
class Recalled(Message):
    """The complete timeline before a jump, including what only polls contain; None if it cannot be read."""

    timeline: Timeline | None


class PlaybackNotice(Message):
    """A notice for the user; `how` are further arguments of `notify`."""

    def __init__(self, text: str, **how: Any) -> None:
        super().__init__()
        self.text, self.how = text, how


@dataclass(eq=False)
class Stopped(Message):
    """Playing has stopped at the end or at damaged polls (`text`)."""

    text: str


STRETCHES = 400
"""Stretches of the summary of the whole recording on the scrub bar."""

_SUMMED_UP = 10.0
"""Seconds between two summaries of a growing recording for the scrub bar."""


class GrowthCheck:
    """Checks whether a recording has grown, and posts its summary."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._summed_up = 0.0
        self.trouble = ""

    def post_summary(self, source: RecordingSource) -> None:
        """Post the summary of the recording."""
        playback = source.playback
        assert playback.first is not None
        assert playback.last is not None
        self._summed_up = time.monotonic()
        strip, events = playback.strip(STRETCHES), playback.events(*ends_of(source))
        message = " ".join([*source.notes, *source.damage])
        self._post(PlaybackLoaded(playback.first, playback.last, strip, events, message))

    def newest(self, source: RecordingSource, shown: datetime | None) -> int | None:
        """Look for polls; return the index of the poll on screen, which may have moved, None if none is newer."""
        from presman.sources import SourceError

        try:
            indexes = source.grow()
        except SourceError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        if time.monotonic() - self._summed_up > _SUMMED_UP:
            self.post_summary(source)
        if not indexes or shown is None or ends_of(source)[1] <= shown:
            return None
        return source.playback.index(shown)  # old polls may have been removed meanwhile


def ends_of(source: RecordingSource) -> tuple[datetime, datetime]:
    """Return the instants of the first and the last replayed poll."""
    playback, indexes = source.playback, source.indexes
    return playback.at(min(indexes.start, len(playback) - 1)), playback.at(max(0, indexes.stop - 1))


SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Factors of the original speed; the default is 1.0."""


_LONGEST_PAUSE = 2.0
"""Maximum number of seconds between two polls, even if nothing was recorded for longer."""

FOLLOWING = 1.0
"""Seconds between two checks whether a followed recording has grown."""

_PATIENCE = 0.5
"""Seconds that `stop` waits for a poll that is being read."""

_LATEST = 0.5
"""Maximum delay in seconds that playing catches up with."""

_CALM = 0.3
"""Seconds after a jump without other work, while the screen is being painted."""

_BREATH = 0.005
"""Seconds between two polls that are recalled after a jump, so that keys are answered."""


class Player(Feed):
    """A feed that plays a recording. Nothing heavy is imported before `start`.

    With `follow` it begins at the end and continues as the recording grows. Otherwise it stands at the time that the
    words `begin` describe or, if they are "", plays from the first poll on; past the last poll it looks once for polls
    that were written meanwhile. Other requests to a feed have no effect on the past.
    """

    def __init__(
        self, make_source: Callable[[], RecordingSource], post: Post, *, follow: bool = False, begin: str = ""
    ) -> None:
        self._follow, self._begin = follow, begin
        self._shown_at: datetime | None = None
        self.trouble = ""
        """Why a followed recording cannot be read, "" while it can."""
        self._at_end = False
        self._make_source, self._post = make_source, post
        self._asked = threading.Event()
        self._requests: deque[Callable[[], None]] = deque()
        self._stopping = False
        self._source: RecordingSource | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        """Set while there is no thread."""
        self._over.set()
        self._shown = self._aim = -1
        """The index of the poll on screen, and of the one to be shown next."""
        self._jumps = False
        """Whether that one is shown with the time before it although it may be the next one."""
        self._following = GrowthCheck(post)
        self._recall: Recall | None = None
        self._forecaster: Forecaster | None = None
        self._due_at = 0.0
        self.playing = not begin
        self.speed = 1.0

    # ---- called from the screen's thread

    @property
    def is_following(self) -> bool:
        """Whether the newest poll is on screen, and the next one will be shown when it arrives."""
        return self._follow and self._at_end and self.playing

    def start(self) -> None:
        """Start playing. Raises RuntimeError if no thread can be started."""
        self._over.clear()
        self._thread = threading.Thread(target=self._run, name="presman-player", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._over.set()
            raise

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        self._asked.set()
        if self._source is not None:
            self._source.cancel()
        self._over.wait(_PATIENCE)

    def play(self, *, on: bool) -> None:
        """Play, or stop at the current poll."""
        self.playing = on
        self._asked.set()

    def faster(self, direction: int) -> None:
        """Switch to the next higher (1) or lower (-1) speed."""
        self.speed = SPEEDS[min(max(0, SPEEDS.index(self.speed) + direction), len(SPEEDS) - 1)]
        self._asked.set()

    def ask(self, request: Callable[[], None]) -> None:
        """Have a request of a key run in the player's thread: it counts from the poll that earlier ones lead to."""
        if threading.current_thread() is self._thread:  # it is part of another request
            request()
            return
        self._requests.append(request)
        self._asked.set()

    def step(self, polls: int) -> None:
        """Move by `polls`, forward or back, and stop there."""
        self.playing = False
        self.ask(partial(self._move, polls))

    def jump(self, at: datetime | None) -> None:
        """Show the last poll not after an instant, and go on from there if it plays; None is the last poll of all.

        A followed recording then shows each new poll.
        """
        self.playing = self.playing or (self._follow and at is None)
        self.ask(partial(self._go_to, at))

    # ---- the thread

    def _run(self) -> None:
        from presman.recording.store_errors import RecordingError
        from presman.sources import SourceError

        try:
            source = self._source = self._make_source()
            source.open()
            try:
                self._play(source)
            finally:
                source.close()
        except (SourceError, RecordingError, InputError) as error:
            if not self._stopping:
                self._post(Lost(one_line(clean(str(error)), 500), None))
        except Exception as error:
            self._post(Failed(error))
        finally:
            self._over.set()

    def _play(self, source: RecordingSource) -> None:
        self._following.post_summary(source)
        self._aim = source.indexes.stop - 1 if self._follow else _first(source, self._begin)
        self._jumps = True
        while not self._stopping:
            if (self._aim != self._shown or self._jumps) and self._aim < source.indexes.stop:
                self._show(source, self._aim, jumped=self._jumps or self._aim != self._shown + 1)
            self._jumps = False
            self._wait(source)

    def _end(self, text: str) -> None:
        """Stop for a reason; "" for the last poll, of which the user is notified unless later ones cannot be read."""
        self.playing = False
        if not (text or self._following.trouble):
            self._post(PlaybackNotice("This is the last poll.", timeout=4))
        self._post(Stopped(text))

    def _wait(self, source: RecordingSource) -> None:
        """Wait until there is another poll to aim at, or until it ends. Recall the time before a jump meanwhile."""
        shown = max(self._due_at, time.monotonic() - _LATEST)  # the time for painting does not slow it down
        rest = _CALM
        while not self._stopping:
            self._asked.clear()  # first, so that any later request wakes it again
            if self._requests:
                while self._requests:
                    self._requests.popleft()()
                self._due_at = time.monotonic()
                return
            due = self._due(source.playback)
            left = None if due is None else shown + due - time.monotonic()
            if due is not None and left is not None and left <= 0:
                self._due_at = shown + due
                self._move(1)
                return
            if self._recall is None:
                self._asked.wait(left)
            elif not self._asked.wait(rest if left is None else min(rest, left)):
                rest = _BREATH
                self._recall_more()

    # ---- requests, in the order of the keys: each changes the index that the next one counts from

    @property
    def aimed_at(self) -> datetime | None:
        """The instant that the requests so far lead to; None before it is open. Only for requests."""
        return None if self._source is None else self._source.playback.at(self._aim)

    def _move(self, polls: int) -> None:
        """Aim at a poll before or after; past the end of a followed recording, at the newest that came meanwhile."""
        source = self._source
        assert source is not None
        if self._aim + polls >= source.indexes.stop and self._grow(source) and self._follow:
            self._aim = source.indexes.stop - 1
            return
        indexes, wanted = source.indexes, self._aim + polls
        if self._aim + 1 >= indexes.stop and polls > 0 and not self._follow:
            self._end("")
        last = max(self._aim, indexes.stop - 1)  # a file that was replaced may have fewer
        self._aim = max(indexes.start, min(wanted, last))

    def _go_to(self, at: datetime | None) -> None:
        """Aim at the last poll not after an instant, or (None) at the last of all; notify the user if there is none."""
        source = self._source
        assert source is not None
        if at is None or at > ends_of(source)[1]:
            self._grow(source)
        indexes, before = source.indexes, self._aim
        wanted = indexes.stop - 1 if at is None else source.playback.index(at)
        self._aim, self._jumps = max(indexes.start, min(wanted, indexes.stop - 1)), True
        if at is not None and (text := beyond(at, *ends_of(source), "the last")):
            self._post(PlaybackNotice(text, timeout=8))
        elif at is None and self._aim == before and not self._follow:
            self._end("")

    def _grow(self, source: RecordingSource) -> bool:
        """Look for newly written polls; return whether the newest is newer than that on screen."""
        found = self._following.newest(source, self._shown_at)
        if self._following.trouble != self.trouble:
            self.trouble = self._following.trouble
            self._post(Stopped(self.trouble))
        if found is None:
            return False
        # If old polls were removed, every poll has a smaller index now.
        moved = found - self._shown
        if self._recall is not None:
            self._recall.move(moved)
        self._shown, self._aim = found, self._aim + moved
        return True

    def _due(self, playback: Playback) -> float | None:
        """Return how many seconds the poll on screen stays, None until a key asks for another one."""
        if not self.playing:
            return None
        if self._shown + 1 < len(playback):
            gap = (playback.at(self._shown + 1) - playback.at(self._shown)).total_seconds()
            return min(_LONGEST_PAUSE, max(0.0, gap / self.speed))
        return FOLLOWING if self._follow else 0.0

    def _recall_more(self) -> None:
        """Recall one more poll of the time before a jump, and post the timeline after the last one."""
        from presman.recording.store_errors import RecordingError

        assert self._recall is not None
        try:
            if (timeline := self._recall.step(self._shown)) is None:
                return
        except RecordingError:  # the poll on screen stays
            timeline = None
        self._recall = None
        self._post(Recalled(timeline))

    def _show(self, source: RecordingSource, wanted: int, *, jumped: bool) -> None:
        """Show a poll. A damaged one is replaced by the nearest readable one in the direction of movement."""
        from presman.recording.statement_lives import forecaster_before, with_recorded_goals
        from presman.recording.store_errors import RecordingError
        from presman.tui.past_timeline import Recall, timeline_before

        playback = source.playback
        try:
            index, pair = _readable(source, wanted, back=wanted < self._shown)
            if pair is None or (not jumped and index < wanted):
                self._shown = wanted  # a followed recording keeps growing
                if not self._follow:
                    self._end("Every poll from here on is damaged.")
                return
            previous, current = pair
            reading = playback.meaning(pair)
            timeline = timeline_before(playback, previous, current.at) if jumped else None
            if jumped or self._forecaster is None:
                self._forecaster = forecaster_before(playback, previous)
            reading = self._forecaster.read(reading, previous, current, None)
            reading = with_recorded_goals(playback, source.goals, reading)
            forecast_basis = self._forecaster.forecast_basis
        except RecordingError as error:  # a lost store may come back: following continues
            self._shown = wanted
            if jumped or not self._follow:
                self._end(str(error))
            return
        self._shown = self._aim = index
        self._shown_at = current.at
        if jumped:
            self._recall = Recall(playback, index)
        self._at_end = index + 1 == len(playback)
        arrived = Arrived(reading, current, forecast_basis=forecast_basis)
        self._post(arrived if timeline is None else Jumped(timeline, reading, current, forecast_basis))
        if index != wanted:
            self._post(PlaybackNotice(_passed(wanted, index), severity="warning", timeout=12))


def _readable(source: RecordingSource, wanted: int, *, back: bool) -> tuple[int, Pair | None]:
    """Return the index of a poll, or of the nearest readable one, and its pair of snapshots, None if there is none."""
    from presman.recording.playback import LostPollError

    try:
        return wanted, source.playback.pair(wanted)
    except LostPollError:
        index = source.readable(wanted, back=back)
        return (wanted, None) if index is None else (index, source.playback.pair(index))


def _passed(wanted: int, shown: int) -> str:
    """Return a notice of how many polls between the requested one and the one on screen are damaged."""
    many, side = counted(abs(shown - wanted), "poll"), "before" if shown > wanted else "after"
    return f"{many} {side} this cannot be read: the recording is damaged there."


def _first(source: RecordingSource, words: str) -> int:
    """Return the index to begin at: that of the last poll not after the time that `words` name. Raises InputError."""
    from presman.recording.time_words import instant_of

    playback, indexes = source.playback, source.indexes
    if not words or playback.first is None or playback.last is None:
        return indexes.start
    at = instant_of(words, playback.first, playback.last, note=source.notes.append)
    return min(max(indexes.start, playback.index(at)), indexes.stop - 1)
