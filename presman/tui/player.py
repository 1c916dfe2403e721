"""Player: a recording as a feed: played at any speed, stopped, stepped, jumped in. Its thread reads and analyses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from presman.analysis.readings.instance_readings import CLUSTER
from presman.base.errors import InputError
from presman.base.text import clean, one_line
from presman.tui.feed import Arrived, Failed, Lost, Post

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.recording.events import RecordedEvent
    from presman.recording.group_lines import GroupLines
    from presman.recording.recording_source import RecordingSource
    from presman.recording.tape import Tape
    from presman.recording.tape_values import Stretch
    from presman.records.breadth import Breadth
    from presman.records.commands import Command
    from presman.records.focus import Focus
    from presman.records.snapshot import Snapshot
    from presman.tui.timeline import Timeline
    from presman.watch.metric_minutes import Key
    from presman.watch.series import Series

SPEEDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""How many times as fast as it was; the second is usual."""

CHARTED = timedelta(minutes=62)
"""How much before a jump the charts show."""

CHARTED_FIGURES = ("used", "waiting", "io", "servers", "queued")

STRETCHES = 400
"""Stretches into which the whole recording is summed up for the scrub bar."""

_LONGEST_PAUSE = 2.0
"""Seconds between two polls at most, however long nothing was recorded."""

FOLLOWING = 1.0
"""Seconds between two looks whether a recording that is followed has grown."""

_SUMMED_UP = 60.0
"""Seconds between two times that the whole of a growing recording is summed up for the scrub bar."""

_LAST = 1 << 60
"""A place behind every end."""


class TapeLoaded(Message):
    """The recording is open: from when to when it is, what it holds in short, and what happened in what is replayed."""

    def __init__(
        self, first: datetime, last: datetime, strip: list[Stretch], events: list[RecordedEvent], told: str
    ) -> None:
        super().__init__()
        self.first = first
        self.last = last
        self.strip = strip
        self.events = events
        self.told = told


class Jumped(Message):
    """Another time is on show: the reading, what it was made of, and the charts before it.

    `told` says that there is no poll at the time that was asked for, "" where there is one.
    """

    def __init__(self, timeline: Timeline, reading: Reading, snapshot: Snapshot, told: str = "") -> None:
        super().__init__()
        self.told = told
        self.timeline = timeline
        self.reading = reading
        self.snapshot = snapshot


class Stopped(Message):
    """It plays no more: the end is reached, or what comes is damaged (`text`)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class _Wanted(NamedTuple):
    """What is to be shown next, whether that is a jump, and the time that was asked for, if one was."""

    place: int
    jumped: bool
    at: datetime | None = None


class Player:
    """A feed that plays a recording. Nothing heavy is imported before `start`.

    With `follow` it begins at the end, and goes on as the recording grows; else at the time that the words `begin`
    name, "" for the first poll.
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
        self._woken = threading.Condition()
        self._stopping = False
        self._target: int | datetime | None = None
        self._place = -1
        self.playing = True
        self.speed = 1.0
        self._thread = threading.Thread(target=self._run, name="presman-player", daemon=True)

    # ---- called from the screen's thread

    @property
    def is_following(self) -> bool:
        """Whether the newest poll is on show, and the next one will be."""
        return self._follow and self._at_end and self.playing

    def start(self) -> None:
        """Begin to play."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        with self._woken:
            self._stopping = True
            self._woken.notify_all()
        if self._thread.is_alive():
            self._thread.join(0.5)

    def play(self, *, on: bool) -> None:
        """Play on, or stop where it is."""
        with self._woken:
            self.playing = on
            self._woken.notify_all()

    def faster(self, direction: int) -> None:
        """Choose the next speed up (1) or down (-1)."""
        place = min(max(0, SPEEDS.index(self.speed) + direction), len(SPEEDS) - 1)
        with self._woken:
            self.speed = SPEEDS[place]
            self._woken.notify_all()

    def step(self, polls: int) -> None:
        """Go so many polls on or back, and stay there."""
        with self._woken:
            base = self._target if isinstance(self._target, int) and self._target != _LAST else self._place
            self._target, self.playing = max(0, base + polls), False
            self._woken.notify_all()

    def jump(self, at: datetime) -> None:
        """Show the last poll not after an instant; go on playing if it does."""
        with self._woken:
            self._target = at
            self._woken.notify_all()

    def to_end(self) -> None:
        """Show the last poll; of a recording that is followed, from then on each that comes."""
        with self._woken:
            self._target = _LAST
            self.playing = self.playing or self._follow
            self._woken.notify_all()

    def set_refresh(self, seconds: float) -> None:
        """Do nothing: a recording has its own intervals."""

    def poll_now(self) -> None:
        """Do nothing: there is nobody to ask."""

    def act(self, command: Command) -> None:  # noqa: ARG002
        """Refuse: what is on show has passed."""
        raise PermissionError("this is a recording: nothing can be done with what has passed")

    def focus(self, focus: Focus | None) -> None:
        """Do nothing: what was not asked then is not known."""

    def widen(self, breadth: Breadth) -> None:
        """Do nothing: what was not asked then is not known."""

    def request(self, name: str, binds: Mapping[str, str], *, lasting: bool) -> None:
        """Do nothing: what was not asked then is not known."""

    # ---- the thread

    def _run(self) -> None:
        from presman.recording.store import RecordingError
        from presman.sources import SourceError

        try:
            source = self._make_source()
            source.open()
            try:
                self._play(source)
            finally:
                source.close()
        except (SourceError, RecordingError, InputError) as error:
            self._post(Lost(one_line(clean(str(error)), 500), None))
        except Exception as error:
            self._post(Failed(error))

    def _play(self, source: RecordingSource) -> None:
        following = _Following(self._post)
        following.sum_up(source)
        places = source.places
        self._show(source.tape, places.stop - 1 if self._follow else _first(source, self._begin), jumped=True)
        while (wanted := self._next(source.tape)) is not None:
            target, jumped, at = wanted
            if self._follow and target >= places.stop:
                found = following.newest(source, self._shown_at)
                if following.trouble != self.trouble:
                    self.trouble = following.trouble
                    self._post(Stopped(self.trouble))
                if found is not None:
                    self._place, target = found
                    jumped = jumped or target > self._place + 1
            places = source.places
            if target == _LAST or at is not None:
                target = min(target, places.stop - 1)
            if target < places.stop:
                told = _beyond(source, at) if at is not None else ""
                self._show(source.tape, max(target, places.start), jumped=jumped, told=told)
            elif not self._follow:
                self._end("")

    def _end(self, text: str) -> None:
        with self._woken:
            self.playing = False
        self._post(Stopped(text))

    def _next(self, tape: Tape) -> _Wanted | None:
        """Wait for what is to be shown next; None at the end."""
        with self._woken:
            pause: float | None = None
            if self.playing and self._target is None and self._place + 1 < len(tape):
                gap = (tape.at(self._place + 1) - tape.at(self._place)).total_seconds()
                pause = min(_LONGEST_PAUSE, max(0.0, gap / self.speed))
            elif self.playing and self._follow and self._target is None:
                pause = FOLLOWING
            while not self._stopping and self._target is None:
                if self.playing and pause is None:
                    return _Wanted(self._place + 1, jumped=False)
                speed, playing = self.speed, self.playing
                woken = self._woken.wait(pause if playing else None)
                if playing and not woken:
                    return _Wanted(self._place + 1, jumped=False)
                if (speed, playing) != (self.speed, self.playing):
                    pause = 0.0 if pause is None else min(pause, _LONGEST_PAUSE / self.speed)
            if self._stopping:
                return None
            target, self._target = self._target, None
        assert target is not None
        if isinstance(target, int):
            return _Wanted(target, jumped=True)
        is_later = tape.last is not None and target > tape.last
        return _Wanted(_LAST if is_later else tape.place(target), jumped=True, at=target)

    def _show(self, tape: Tape, place: int, *, jumped: bool, told: str = "") -> None:
        from presman.recording.store import RecordingError

        try:
            previous, current = pair = tape.pair(place)
            reading = tape.meaning(pair)
            timeline = timeline_before(tape, previous, current.at) if jumped else None
        except RecordingError as error:
            self._place = place
            if jumped:
                self._end(str(error))
            return
        self._place, self._shown_at = place, current.at
        self._at_end = place + 1 == len(tape)
        self._post(Arrived(reading, current) if timeline is None else Jumped(timeline, reading, current, told))


def _first(source: RecordingSource, words: str) -> int:
    """Return the place to begin at: of the last poll not after the time that was named. Raises InputError."""
    from presman.recording.time_words import instant_of

    tape, places = source.tape, source.places
    if not words or tape.first is None or tape.last is None:
        return places.start
    return min(max(places.start, tape.place(instant_of(words, tape.first, tape.last))), places.stop - 1)


def _beyond(source: RecordingSource, at: datetime) -> str:
    """Say that nothing is replayed of an instant, which is before the first poll or after the last; else ""."""
    from presman.recording.time_words import spelled_instant

    first, last = _ends(source)
    if at < first.replace(microsecond=0):  # a time is typed in whole seconds
        return f"No poll before {spelled_instant(first)}: this is the first."
    return f"No poll after {spelled_instant(last)}: this is the last." if at > last else ""


def _ends(source: RecordingSource) -> tuple[datetime, datetime]:
    """Return the instants of the first and the last poll that are replayed."""
    tape, places = source.tape, source.places
    return tape.at(min(places.start, len(tape) - 1)), tape.at(max(0, places.stop - 1))


class _Following:
    """Looks whether a recording has grown, and tells what it holds."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._summed_up = 0.0
        self.trouble = ""

    def sum_up(self, source: RecordingSource) -> None:
        """Tell what the recording holds."""
        tape = source.tape
        assert tape.first is not None
        assert tape.last is not None
        self._summed_up = time.monotonic()
        told = " ".join(source.damage)
        self._post(TapeLoaded(tape.first, tape.last, tape.strip(STRETCHES), tape.events(*_ends(source)), told))

    def newest(self, source: RecordingSource, shown: datetime | None) -> tuple[int, int] | None:
        """Return the places of the poll on show, which may have moved, and of the newest; None where none is newer."""
        from presman.sources import SourceError

        try:
            places = source.grow()
        except SourceError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        if time.monotonic() - self._summed_up > _SUMMED_UP:
            self.sum_up(source)
        last = source.tape.last
        if not places or shown is None or last is None or last <= shown:
            return None
        return source.tape.place(shown), places.stop - 1  # what is too old may have been removed meanwhile


def timeline_before(tape: Tape, previous: Snapshot | None, at: datetime) -> Timeline:
    """Return a timeline whose charts show the hour before an instant, from the figures: nothing is analysed again."""
    from presman.recording.group_lines import group_lines
    from presman.recording.past_spans import past_spans
    from presman.tui.timeline import Timeline

    found = Timeline()
    found.begin(previous)
    if previous is not None:
        found.watch.begin(previous.at, past_spans(tape, at - CHARTED, previous.at))
    fill(found.series, group_lines(tape, at - CHARTED, at - timedelta(microseconds=1), CHARTED_FIGURES))
    return found


def fill(series: Series, lines: GroupLines) -> None:
    """Fill empty charts with the lines of groups; the cluster's are the sums over its instances."""
    instances = {inst_id for _, (inst_id, _, _) in lines.values}
    several = len(instances) > 1
    found: dict[Key, Sequence[float]] = {}
    for (measure, (inst_id, con_id, name)), values in lines.values.items():
        if several:
            found[measure, inst_id, con_id, name] = values
        whole = (measure, CLUSTER, con_id, name)
        found[whole] = summed(found[whole], values) if whole in found else values
        total = {"servers": "in_use", "queued": "queued"}.get(measure)
        if total is not None:
            every = (total, CLUSTER, 0, "")
            found[every] = summed(found[every], values) if every in found else values
    series.fill_groups(instances if several else set(), lines.times, found)


def summed(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return two lines as one; where only one has a value (the other is NaN) that one."""
    return [b if isnan(a) else a if isnan(b) else a + b for a, b in zip(one, other, strict=True)]
