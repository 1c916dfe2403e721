"""Player: a recording as a feed: played at any speed, stopped, stepped, jumped in. Its thread reads and analyses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from presman.base.errors import InputError
from presman.base.formats import counted
from presman.base.text import clean, one_line
from presman.tui.feed import Arrived, Failed, Feed, Lost, Post
from presman.tui.monitor import beyond

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.trends.database_events import DatabaseEvent
    from presman.forecast.forecaster import Forecaster, Foresight
    from presman.recording.playback import Pair, Playback
    from presman.recording.playback_values import Stretch
    from presman.recording.recording_source import RecordingSource
    from presman.rows.commands import Command
    from presman.rows.snapshot import Snapshot
    from presman.tui.past_timeline import Recall
    from presman.tui.timeline import Timeline

# ---- What the player tells the app.


@dataclass(eq=False)
class PlaybackLoaded(Message):
    """The recording is open: from when to when it is, what it holds in short, and what happened in what is replayed."""

    first: datetime
    last: datetime
    strip: list[Stretch]
    events: list[DatabaseEvent]
    message: str


@dataclass(eq=False)
class Jumped(Message):
    """Another time is on show: the reading, what it was made of, and the charts before it.

    `message` says that no poll is at the time that was asked for, "" where there is one. `keys` counts the keys that
    asked for a poll until this one was shown.
    """

    timeline: Timeline
    reading: Reading
    snapshot: Snapshot
    message: str = ""
    keys: int = 0
    foresight: Foresight | None = None


@dataclass(eq=False)
class Recalled(Message):
    """What of the time before the polls on show the figures do not tell, up to the newest; None if it cannot be had."""

    timeline: Timeline | None


@dataclass(eq=False)
class Passed(Message):
    """Polls were passed over that cannot be read."""

    text: str


@dataclass(eq=False)
class Stopped(Message):
    """It plays no more: the end is reached, or what comes is damaged (`text`); `keys` counts those that asked."""

    text: str
    keys: int = 0


STRETCHES = 400
"""Stretches into which the whole recording is summed up for the scrub bar."""

_SUMMED_UP = 10.0
"""Seconds between two times that the whole of a growing recording is summed up for the scrub bar."""


class Following:
    """Looks whether a recording has grown, and tells what it holds."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._summed_up = 0.0
        self.trouble = ""

    def sum_up(self, source: RecordingSource) -> None:
        """Tell what the recording holds."""
        playback = source.playback
        assert playback.first is not None
        assert playback.last is not None
        self._summed_up = time.monotonic()
        strip, events = playback.strip(STRETCHES), playback.events(*ends_of(source))
        message = " ".join([*source.notes, *source.damage])
        self._post(PlaybackLoaded(playback.first, playback.last, strip, events, message))

    def newest(self, source: RecordingSource, shown: datetime | None) -> tuple[int, int] | None:
        """Return the indexes of the poll on show, which may have moved, and of the newest; None where none is newer."""
        from presman.sources import SourceError

        try:
            indexes = source.grow()
        except SourceError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        if time.monotonic() - self._summed_up > _SUMMED_UP:
            self.sum_up(source)
        last = source.playback.last
        if not indexes or shown is None or last is None or last <= shown:
            return None
        return source.playback.index(shown), indexes.stop - 1  # what is too old may have been removed meanwhile


def ends_of(source: RecordingSource) -> tuple[datetime, datetime]:
    """Return the instants of the first and the last poll that are replayed."""
    playback, indexes = source.playback, source.indexes
    return playback.at(min(indexes.start, len(playback) - 1)), playback.at(max(0, indexes.stop - 1))


SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""How many times as fast as it was; the second is usual."""


_LONGEST_PAUSE = 2.0
"""Seconds between two polls at most, however long nothing was recorded."""

FOLLOWING = 1.0
"""Seconds between two looks whether a recording that is followed has grown."""

_PATIENCE = 0.5
"""Seconds that the end waits for what is being read."""

_LATEST = 0.5
"""Seconds by which polls may be late and be caught up with."""

_CALM = 0.3
"""Seconds after a jump in which nothing else is done: it is being painted."""

_BREATH = 0.005
"""Seconds between two polls that are taken up behind a jump: keys are answered meanwhile."""


_LAST = 1 << 60
"""An index behind every end."""


class _Wanted(NamedTuple):
    """What is to be shown next, whether that is a jump, and the time that was asked for, if one was.

    Where the target is the last poll, `more` counts the polls to go on, or back, from there.
    """

    target: int
    jumped: bool
    at: datetime | None = None
    more: int = 0


class Player(Feed):
    """A feed that plays a recording. Nothing heavy is imported before `start`.

    With `follow` it begins at the end, and goes on as the recording grows; else at the time that the words `begin`
    name, and stands there, or with "" plays from the first poll on. What is asked of a feed but to play has no meaning
    where all has passed.
    """

    def __init__(
        self, make_source: Callable[[], RecordingSource], post: Post, *, follow: bool = False, begin: str = ""
    ) -> None:
        self._follow = follow
        self._begin = begin
        self._shown_at: datetime | None = None
        self.trouble = ""
        """Why a recording that is followed cannot be read, "" while it can."""
        self._at_end = False
        self._make_source = make_source
        self._post = post
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._stopping = False
        self._source: RecordingSource | None = None
        self._over = threading.Event()
        """There is no thread yet, or none any more."""
        self._over.set()
        self._target: int | datetime | None = None
        self._more = 0
        """Where the last keys lead to, and how many polls on from there; None once that is being shown."""
        self._shown = self._aim = -1
        """The index of the poll on show, and of the one that is being shown next."""
        self.keys = self._keys = 0
        """Keys that asked for another poll, and those of them that what is on show answers."""
        self.heading: datetime | None = None
        """The instant that the last key leads to, None where it is on show or a step leads there."""
        self._recall: Recall | None = None
        self._forecaster: Forecaster | None = None
        self._due_at = 0.0
        self.playing = not begin
        self.speed = 1.0

    # ---- called from the screen's thread

    @property
    def is_following(self) -> bool:
        """Whether the newest poll is on show, and the next one will be."""
        return self._follow and self._at_end and self.playing

    def start(self) -> None:
        """Begin to play. Raises RuntimeError where no thread can be had."""
        self._over.clear()
        try:
            threading.Thread(target=self._run, name="presman-player", daemon=True).start()
        except RuntimeError:
            self._over.set()
            raise

    def stop(self) -> None:
        """End."""
        self._stopping = True
        self._asked.set()
        if self._source is not None:
            self._source.cancel()
        self._over.wait(_PATIENCE)

    def act(self, command: Command) -> None:  # noqa: ARG002
        """Refuse: what is on show has passed."""
        raise PermissionError("this is a recording: no actions on the past")

    def play(self, *, on: bool) -> None:
        """Play on, or stop where it is."""
        with self._lock:
            self.playing = on
        self._asked.set()

    def faster(self, direction: int) -> None:
        """Choose the next speed up (1) or down (-1)."""
        index = min(max(0, SPEEDS.index(self.speed) + direction), len(SPEEDS) - 1)
        with self._lock:
            self.speed = SPEEDS[index]
        self._asked.set()

    def step(self, polls: int) -> None:
        """Go some polls forward or back, and stay there."""
        with self._lock:
            # Of many presses at once each counts from where the one before leads.
            if isinstance(self._target, datetime) or self._target == _LAST:
                self._more += polls
            else:
                self._target = max(0, (self._aim if self._target is None else self._target) + polls)
            self.playing = False
            self._head_for(None)

    def jump(self, at: datetime) -> None:
        """Show the last poll not after an instant; go on playing if it does."""
        with self._lock:
            self._target, self._more = at, 0
            self._head_for(at)

    def to_end(self, at: datetime | None = None) -> None:
        """Show the last poll, of about an instant; of a recording that is followed, from then on each that comes."""
        with self._lock:
            self._target, self._more = _LAST, 0
            self.playing = self.playing or self._follow
            self._head_for(at)

    def _head_for(self, at: datetime | None) -> None:
        self.heading = at
        self.keys += 1
        self._asked.set()

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
        indexes = source.indexes
        begin = indexes.stop - 1 if self._follow else _first(source, self._begin)
        following = Following(self._post)
        following.sum_up(source)
        self._show(source, begin, jumped=True)
        while (wanted := self._next(source.playback)) is not None:
            target, jumped, at, more = wanted
            if self._follow and target >= indexes.stop:
                found = following.newest(source, self._shown_at)
                if following.trouble != self.trouble:
                    self.trouble = following.trouble
                    self._post(Stopped(self.trouble, self._keys))
                if found is not None:
                    if self._recall is not None:
                        self._recall.move(found[0] - self._shown)
                    self._shown, target = found
                    jumped = jumped or target > self._shown + 1
            indexes = source.indexes
            if target == _LAST or at is not None:
                target = min(target, indexes.stop - 1) + more
            if target < indexes.stop:
                message = beyond(at, *ends_of(source), "the last") if at is not None else ""
                self._show(source, max(target, indexes.start), jumped=jumped, message=message)
            elif not self._follow:
                self._end("")

    def _end(self, text: str) -> None:
        with self._lock:
            self.playing = False
        self._post(Stopped(text, self._keys))

    def _next(self, playback: Playback) -> _Wanted | None:
        """Wait for what is to be shown next; None at the end. Meanwhile what was before a jump is recalled."""
        shown = max(self._due_at, time.monotonic() - _LATEST)  # what painting took does not slow it down
        rest = _CALM
        while True:
            self._asked.clear()  # first: whoever asks from now on wakes it again
            if self._stopping:
                return None
            if (wanted := self._take_wanted(playback)) is not None:
                self._due_at = time.monotonic()
                return wanted
            due = self._due(playback)
            left = None if due is None else shown + due - time.monotonic()
            if due is not None and left is not None and left <= 0:
                self._due_at = shown + due
                return _Wanted(self._shown + 1, jumped=False)
            if self._recall is None:
                self._asked.wait(left)
            elif not self._asked.wait(rest if left is None else min(rest, left)):
                rest = _BREATH
                self._recall_more()

    def _take_wanted(self, playback: Playback) -> _Wanted | None:
        """Return where the keys until now lead to: from now on others count from there."""
        with self._lock:
            self._keys = self.keys
            if self._target is None:
                return None
            wanted = _wanted(self._target, self._more, playback, self._shown)
            self._target, self._more = None, 0
            self._aim = min(wanted.target, len(playback) - 1) + wanted.more
        return wanted

    def _due(self, playback: Playback) -> float | None:
        """Return how many seconds the poll on show stays there, None: until somebody asks for another."""
        if not self.playing:
            return None
        if self._shown + 1 < len(playback):
            gap = (playback.at(self._shown + 1) - playback.at(self._shown)).total_seconds()
            return min(_LONGEST_PAUSE, max(0.0, gap / self.speed))
        return FOLLOWING if self._follow else 0.0

    def _recall_more(self) -> None:
        """Take up one more poll of the time before a jump, and tell when that was the last."""
        from presman.recording.store_errors import RecordingError

        assert self._recall is not None
        try:
            timeline = self._recall.step(self._shown)
        except RecordingError:  # what is on show stays there
            self._recall = None
            self._post(Recalled(None))
            return
        if timeline is not None:
            self._recall = None
            self._post(Recalled(timeline))

    def _show(self, source: RecordingSource, wanted: int, *, jumped: bool, message: str = "") -> None:
        """Show a poll; in place of a damaged one the nearest that can be read, in the direction one goes."""
        from presman.recording.statement_lives import forecaster_before, with_recorded_goals
        from presman.recording.store_errors import RecordingError
        from presman.tui.past_timeline import Recall, timeline_before

        playback = source.playback
        try:
            index, pair = _readable(source, wanted, back=wanted < self._shown)
            if pair is None or (not jumped and index < wanted):
                self._shown = wanted  # one that is followed grows on
                if not self._follow:
                    self._end("Every poll from here on is damaged.")
                return
            previous, current = pair
            reading = playback.meaning(pair)
            timeline = timeline_before(playback, previous, current.at) if jumped else None
            if jumped or self._forecaster is None:
                self._forecaster = forecaster_before(playback, previous)
            reading = self._forecaster.read(reading, previous, current, None)
            reading, foresight = with_recorded_goals(playback, source.goals, reading), self._forecaster.foresight
        except RecordingError as error:  # a store that is lost may return: who follows goes on looking
            self._shown = wanted
            if jumped or not self._follow:
                self._end(str(error))
            return
        with self._lock:
            self._shown = self._aim = index
        self._shown_at = current.at
        if jumped:
            self._recall = Recall(playback, index)
        self._at_end = index + 1 == len(playback)
        keys = self._keys
        if timeline is None:
            self._post(Arrived(reading, current, keys=keys, foresight=foresight))
        else:
            self._post(Jumped(timeline, reading, current, message, keys, foresight))
        if index != wanted:
            self._post(Passed(_passed(wanted, index)))


def _wanted(target: int | datetime, more: int, playback: Playback, index: int) -> _Wanted:
    """Return what is to be shown when somebody asks for an index or an instant, or polls on from there (`more`).

    `index` is on show meanwhile.
    """
    if isinstance(target, int):
        return _Wanted(target, jumped=target != index + 1, more=more)
    if playback.last is not None and target > playback.last:
        return _Wanted(_LAST, jumped=True, at=None if more else target, more=more)
    return _Wanted(playback.index(target) + more, jumped=True, at=None if more else target)


def _readable(source: RecordingSource, wanted: int, *, back: bool) -> tuple[int, Pair | None]:
    """Return a poll behind the one before it, or the nearest that can be read, and its index; None where none can."""
    from presman.recording.playback import LostPollError

    try:
        return wanted, source.playback.pair(wanted)
    except LostPollError:
        index = source.readable(wanted, back=back)
        return (wanted, None) if index is None else (index, source.playback.pair(index))


def _passed(wanted: int, shown: int) -> str:
    """Say how many polls are damaged between the one that was wanted and the one on show."""
    many = counted(abs(shown - wanted), "poll")
    return f"{many} {'before' if shown > wanted else 'after'} this cannot be read: the recording is damaged there."


def _first(source: RecordingSource, words: str) -> int:
    """Return the index to begin at: of the last poll not after the time that was named. Raises InputError."""
    from presman.recording.time_words import instant_of

    playback, indexes = source.playback, source.indexes
    if not words or playback.first is None or playback.last is None:
        return indexes.start
    at = instant_of(words, playback.first, playback.last, note=source.notes.append)
    return min(max(indexes.start, playback.index(at)), indexes.stop - 1)
