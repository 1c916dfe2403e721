"""Recording as a source: its polls one after the other, as they were recorded."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain, islice

from msgspec.structs import replace

from presman.analysis.goals import Goal
from presman.analysis.readings.reading import Reading
from presman.base.formats import counted, duration
from presman.base.release import Release
from presman.recording.playback import Playback
from presman.recording.reader import Recording
from presman.recording.sqlite_files import REST_IS_READ
from presman.recording.store_errors import RecordingError
from presman.recording.time_words import TimeError, instant_of, nothing_in, span_of, spelled_instant, spelled_span
from presman.rows.queries import Scope
from presman.rows.snapshot import Section, Snapshot
from presman.sources import Answer, Exhausted, Request, SourceError

_NOT_FAR = timedelta(minutes=1)
"""How far a window may extend beyond the recording without a note: polls are not at full minutes."""


def _not_recorded(start: datetime | None, end: datetime | None, playback: Playback) -> list[str]:
    """Return sentences about the parts of a window outside of the recording."""
    first, last = playback.first, playback.last
    found = []
    if start is not None and first is not None and start < first - _NOT_FAR:
        found.append(f"nothing was recorded before {spelled_instant(first)}")
    if end is not None and last is not None and end > last + _NOT_FAR:
        found.append(f"nothing was recorded after {spelled_instant(last)}")
    return found


class RecordingSource:
    """The polls of one recorded database between two instants, in order.

    `location` is a file, a folder or a URL; `database` chooses one of several. `at` ends it at the poll of that
    instant; `at`, `start` and `end` are words that :func:`presman.recording.time_words.instant_of` understands.
    """

    kind = "recording"

    def __init__(
        self, location: str, *, name: str, database: str | None = None, at: str = "", start: str = "", end: str = ""
    ) -> None:
        self.name = name
        self.scope = Scope.CLUSTER
        self._location = location
        self._database = database
        self._start, self._at, self._end_at = start, at, end
        self.goals: tuple[Goal, ...] = ()
        """Service goals that readers of this source evaluate."""
        self.notes: list[str] = []
        """Sentences about the choice between two instants with the same clock time, and about unrecorded time."""
        self._unread = -1, ""
        """The newest readable poll, if later ones are damaged, and the sentence that says so."""
        self._recording: Recording | None = None
        self._playback: Playback | None = None
        self.indexes = range(0)
        """The indexes of the polls that are replayed."""
        self._next = 0
        self._is_cancelled = False

    @property
    def playback(self) -> Playback:
        """The playback of the chosen database. Raises SourceError before `open`."""
        if self._playback is None:
            raise SourceError(f"{self.name} is not open", retry=False)
        return self._playback

    @property
    def recording(self) -> Recording:
        """The recording that contains the playback. Raises SourceError before `open`."""
        if self._recording is None:
            raise SourceError(f"{self.name} is not open", retry=False)
        return self._recording

    def open(self) -> Release:
        """Open the recording and return the release of its first poll. Raises SourceError."""
        try:
            self._recording = Recording(self._location, lambda: self._is_cancelled)
            self._playback = playback = self._recording.playback(self._database)
            if not len(playback):
                raise self.refused(f"{self.name} has no polls", nothing_left=True)
            start, end = self._bounds(playback)
            self.indexes = playback.indexes(start, end)
            self._next = self.indexes.start
            if not self.indexes:
                empty = nothing_in(self.name, spelled_span(start, end), playback.first, playback.last)
                raise self.refused(str(empty))
            self.notes += _not_recorded(start, end, playback)
            for one, other in playback.went_back(self.indexes):
                back = f"the clock went back from {spelled_instant(one)} to {spelled_instant(other)}"
                self.notes.append(f"{back}: times that begin before that and end after it are wrong")
            first = self.readable(self._next)
            if first is None:
                which = f"every poll {spelled_span(start, end)}" if len(self.indexes) < len(playback) else "every poll"
                self._playback = None  # the error reports its damage
                lost = len(self.indexes) == len(playback)
                raise self.refused(f"{self.name}: {which} is damaged: {', '.join(playback.reasons)}", nothing_left=lost)
            return playback.snapshot(first).release
        except RecordingError as error:
            raise SourceError(str(error), retry=False) from error

    def refused(self, text: str, *, nothing_left: bool = False) -> SourceError:
        """Return an error with the reason and all other damage in one line, so that it is not reported again.

        With `nothing_left` no damage is said to leave something that is read.
        """
        names = f"{self.recording.name}: ", f"{self.recording.name} "
        damage = [each.removeprefix(names[0]).removeprefix(names[1]) for each in self.damage]
        damage = [each.replace(REST_IS_READ, "nothing is left") for each in damage] if nothing_left else damage
        self.close()
        return SourceError("; ".join([text, *damage]), retry=False)

    def grow(self) -> range:
        """Look for newly written polls, unless an end was given; return the indexes of all.

        Raises SourceError.
        """
        if self._at or self._end_at:
            return self.indexes
        recording = self.recording
        try:
            if recording.is_folder or recording.was_replaced():  # each day has its own file
                grown = Recording(self._location, lambda: self._is_cancelled)
                recording.close()
                self._recording, self._playback = grown, grown.playback(self._database)
            else:
                self.playback.refresh()
        except RecordingError as error:
            raise SourceError(str(error)) from error
        self.indexes = range(self.indexes.start, len(self.playback))
        return self.indexes

    def _bounds(self, playback: Playback) -> tuple[datetime | None, datetime | None]:
        """Return the first and the last instant to replay, None for open ends. Raises TimeError."""
        if playback.first is None or playback.last is None:
            return None, None
        self.notes.clear()
        note = self.notes.append
        try:
            if not self._at:
                return span_of(self._start, self._end_at, playback.first, playback.last, note=note)
            start, _ = span_of(self._start, "", playback.first, playback.last, note=note)
            return start, instant_of(self._at, playback.first, playback.last, note=note, since=start)
        except TimeError as error:
            raise TimeError(f"{self.name}: {error}") from None

    def readable(self, index: int, *, back: bool = False) -> int | None:
        """Return the index of the nearest readable poll: from an index on, otherwise before it.

        With `back`, the search goes backwards first. None if every poll is damaged.
        """
        first, end = self.indexes.start, self.indexes.stop
        on, before = range(index, end), range(min(index, end) - 1, first - 1, -1)
        ways = (range(index, first - 1, -1), range(index + 1, end)) if back else (on, before)
        return next(chain.from_iterable(map(self.playback.readable, ways)), None)

    def leave_only(self, newest: int) -> None:
        """Skip all polls still to come except the last `newest` that can be read."""
        found = list(islice(self.playback.readable(range(self.indexes.stop - 1, self._next - 1, -1)), newest))
        if len(found) == newest:
            self._next = found[-1]

    def find_newest(self) -> str:
        """Find the newest readable poll; return a sentence about its age if later ones are damaged, "" if none is."""
        last = self.indexes.stop - 1
        newest = self.readable(last, back=True)
        if newest is None or newest == last:
            return ""
        wanted, there = self.playback.at(last), self.playback.at(newest)
        polls = "The last poll, of" if last - newest == 1 else f"The last {counted(last - newest, 'poll')}, up to"
        older = f"{spelled_instant(there)}, {duration((wanted - there).total_seconds())} older"
        unread = (
            f"{polls} {spelled_instant(wanted)}, cannot be read: the recording is damaged there. The newest before is"
            f" of {older}."
        )
        self._unread = newest, unread
        return unread

    def advance(self) -> None:
        """Go to the next poll that can be read. Raises Exhausted."""
        end = self.indexes.stop
        found = next(self.playback.readable(range(self._next, end)), end)
        self._next = found + 1
        if found == end:
            raise Exhausted

    def snapshot(self) -> Snapshot:
        """Return the current poll, with the sentence of `find_newest` as a note if that is about it."""
        found = self.playback.snapshot(self._next - 1)
        newest, unread = self._unread
        return replace(found, notes=(*found.notes, unread)) if newest == self._next - 1 else found

    def before(self) -> Snapshot | None:
        """Return the poll that the rates of the current one were computed from, None without one."""
        return self.playback.pair(self._next - 1)[0]

    def reading_before(self) -> Reading | None:
        """Return the reading with the alerts that the current poll may be unable to check, None without any."""
        return self.playback.before(self.playback.pair(self._next - 1))

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:  # noqa: ARG002 - never slow
        """Answer requests with the sections of the current poll."""
        snapshot = self.snapshot()
        sections = tuple(snapshot.sections.get(each.query.record, Section()) for each in requests)
        return Answer(snapshot.at, sections, 0, snapshot.cloud_service, snapshot.notes)

    def cancel(self) -> None:
        """Abort all reading of files: a poll takes milliseconds, but a forged one may take much longer."""
        self._is_cancelled = True

    def close(self) -> None:
        """Close the recording; if it is opened again, its damage is reported again."""
        recording, self._recording, self._playback = self._recording, None, None
        if recording is not None:
            recording.close()

    @property
    def damage(self) -> Sequence[str]:
        """Sentences about what could not be read so far."""
        if self._recording is None:
            return []
        return self._recording.damage if self._playback is None else self._recording.damage_of(self._playback)
