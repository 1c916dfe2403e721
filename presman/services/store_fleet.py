"""Fleet of a central store: the newest rows of its recorders, without a connection to any database."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from presman.analysis.fleet import USUAL, ConnectionState, Member, Past, extended, is_late, is_silent
from presman.analysis.readings.reading import NO_ANSWER
from presman.base.formats import duration
from presman.base.text import clean, one_line
from presman.recording.fleet_rows import LIVE, LOST, STOPPED, FleetRow, PastPoll, past_of, read_fleet, read_past
from presman.recording.recording_source import RecordingSource
from presman.recording.store import MOST_DATABASES, Store, files_of, shown
from presman.recording.store_errors import DamagedStoreError, RecordingError

NEWEST_FILES = 2
"""Newest files to read in a folder of daily files: at midnight some recorders do not have the new one yet."""

PATIENCE = 0.4

_NAMED = 5
"""Databases to name if the patterns match none."""


class _Known(Struct, frozen=True):
    """A database that was read: its row, the monotonic time of the read, and its last polls."""

    row: FleetRow
    at: float
    past: Past


class StoreFleet:
    """Databases of a store, or those whose name matches one of `patterns`.

    See :class:`presman.services.live_fleet.Fleet`. One thread reads, so that a slow store blocks no caller.
    """

    def __init__(self, location: str, interval: float, patterns: Sequence[str] = ()) -> None:
        self.name = shown(location)
        self.interval = interval
        self._trouble = ""
        self._reads_since: float | None = None
        self.is_settled = False
        self._location, self._patterns = location, patterns
        self._known: dict[str, _Known] = {}
        self._stores: dict[str, Store] = {}
        self._past: dict[str, list[PastPoll]] = {}
        self._unreadable: list[Member] = []
        self._woken = threading.Condition()
        self._now = self._stopping = False
        self._thread = threading.Thread(target=self._run, name="presman-store", daemon=True)

    @property
    def trouble(self) -> str:
        """Why the store cannot be read now, "" if it can; a store that hangs raises no error for a minute."""
        since = self._reads_since  # the other thread may end the read at any moment
        silent = 0.0 if since is None else time.monotonic() - since
        is_hanging = not self._trouble and is_unread(silent, self.interval)
        return f"{self.name}: no answer for {duration(silent)}" if is_hanging else self._trouble

    def start(self) -> None:
        """Start to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; a read that hangs dies with the process."""
        with self._woken:
            self._stopping = True
            self._woken.notify_all()
        # Joining a thread that never started raises RuntimeError.
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)

    def set_interval(self, seconds: float) -> None:
        """Read every `seconds` from now on."""
        with self._woken:
            self.interval = seconds
            self._woken.notify_all()

    def poll_now(self) -> None:
        """Read at once."""
        with self._woken:
            self._now = True
            self._woken.notify_all()

    def to_do(self, _name: str) -> str:
        """Return nothing: advice needs all that was read, which only the recording has."""
        return ""

    def members(self) -> list[Member]:
        """Return the current state of all databases; it is not known once the store was not read for some intervals.

        If one of several files cannot be read, the file appears as a member in place of its databases.
        """
        now = time.monotonic()
        known = [_member(each.row, now - each.at, each.past, self.interval) for each in self._known.values()]
        return known + self._unreadable

    # ---- the thread

    def _run(self) -> None:
        try:
            while not self._stopping:
                begun = self._reads_since = time.monotonic()
                try:
                    self._read()
                    self._trouble = ""
                except RecordingError as error:
                    self._trouble = str(error)
                except Exception as error:
                    self._trouble = f"{self.name}: {type(error).__name__}: {one_line(clean(str(error)), 200)}"
                self._reads_since = None
                self.is_settled = True
                self._wait(begun)
        finally:
            for store in self._stores.values():
                store.close()

    def _wait(self, begun: float) -> None:
        with self._woken:
            while not (self._stopping or self._now) and (left := begun + self.interval - time.monotonic()) > 0:
                self._woken.wait(left)
            self._now = False

    def _read(self) -> None:
        found: dict[str, FleetRow] = {}
        stored: set[str] = set()
        unreadable: dict[str, RecordingError] = {}
        locations = self._locations()
        for location in locations:
            try:
                rows = self._rows(location)
            except RecordingError as error:
                unreadable[location] = error
                continue
            for row in rows:
                stored.add(row.target)
                before = found.get(row.target)
                is_wanted = not self._patterns or any(fnmatchcase(row.target, each) for each in self._patterns)
                # A database may be in yesterday's file and in today's. If both are as fresh, the later file counts.
                if is_wanted and (before is None or _freshness(row) <= _freshness(before)):
                    found[row.target] = row
        if len(unreadable) == len(locations):
            # Files are sorted by name, so this is the error of the newest one.
            raise unreadable[locations[-1]]
        now = time.monotonic()
        self._known = {name: _Known(row, now, self._past_of(row)) for name, row in found.items()}
        self._unreadable = [  # in place of the databases of each file, whose names are unknown
            Member(Path(each).name, ConnectionState.LOST, reason=f"the file{str(error).removeprefix(shown(each))}")
            for each, error in unreadable.items()
        ]
        # From now on each new poll is added to what is known: the earlier ones are not needed again.
        self._past = {}
        if stored and not found:
            raise RecordingError(self._no_match(sorted(stored)))

    def _rows(self, location: str) -> list[FleetRow]:
        """Return the rows of one store. At first also read what its databases did before, unless that is damaged."""
        store = self._opened(location)
        with store.reading() as connection:
            rows = read_fleet(connection)
        if len(rows) > MOST_DATABASES:
            raise RecordingError(f"{store.name} names more than {MOST_DATABASES:,} databases")
        if not self._known:
            with suppress(DamagedStoreError), store.reading() as connection:
                self._past |= read_past(connection)
        return rows

    def _past_of(self, row: FleetRow) -> Past:
        """Return the polls to draw: the earlier ones, and the newest one if it is new."""
        if (known := self._known.get(row.target)) is None:
            capacity = row.key_figures.capacity if row.key_figures else None
            return past_of(self._past.get(row.target, []), capacity)
        is_new = row.polled_at != known.row.polled_at
        return extended(known.past, row.key_figures) if is_new and row.key_figures is not None else known.past

    def _no_match(self, stored: Sequence[str]) -> str:
        """Return the error that the patterns match none of the store's databases, with the names of some of these."""
        more = f" and {len(stored) - _NAMED} more" if len(stored) > _NAMED else ""
        return (
            f"{self.name} has no database {' or '.join(self._patterns)}: it has {', '.join(stored[:_NAMED])}{more}; "
            "words after a recording choose among its databases; live databases need a fleet of their own"
        )

    def _locations(self) -> list[str]:
        """Return the stores to read, in a folder its newest files; close those that are no longer among them."""
        locations = files_of(self._location)[-NEWEST_FILES:]
        for location in self._stores.keys() - set(locations):
            self._stores.pop(location).close()
        return locations

    def _opened(self, location: str) -> Store:
        if location not in self._stores:
            self._stores[location] = Store(location, writing=False, alone=False)
        return self._stores[location]


def is_unread(seconds: float, interval: float) -> bool:
    """Whether a store that is read every `interval` seconds was not read for too long, so that its state is unknown.

    >>> is_unread(11.0, 1.0), is_unread(11.1, 1.0), is_unread(20.0, 10.0)
    (False, True, False)
    """
    return is_late(seconds, max(interval, USUAL))


def _freshness(row: FleetRow) -> float:
    """Return the seconds since the newest poll of a database or the newest change of its connection."""
    return min((each for each in (row.age, row.since) if each is not None), default=float("inf"))


def why_old(source: RecordingSource) -> str:
    """Return why the newest poll of an open recording says nothing about now, "" if it does.

    The fleet's rule for its row; by the time of the poll itself if its recorder kept no row. Raises RecordingError.
    """
    playback = source.playback
    rows: list[FleetRow] = []
    for store in playback.newest_stores(NEWEST_FILES):
        with suppress(DamagedStoreError), store.reading() as connection:
            rows += [row for row in read_fleet(connection) if row.target == playback.target and row.age is not None]
    old = (datetime.now(UTC) - playback.at(source.indexes.stop - 1)).total_seconds()
    unwritten = FleetRow(playback.target, LIVE, None, old, None, None, "", None)
    found = _member(min(rows, key=_freshness, default=unwritten), 0.0, Past(), 0.0)
    if found.connection is ConnectionState.LIVE or found.age is None:
        return ""
    reason = found.reason if found.connection in {ConnectionState.LOST, ConnectionState.STOPPED} else ""
    return "; ".join(filter(None, (f"its newest poll is {duration(found.age)} old", reason)))


def _member(row: FleetRow, passed: float, past: Past, interval: float) -> Member:
    """Return a database of a store `passed` seconds after its row was read; rows are read every `interval` seconds."""
    age = None if row.age is None else row.age + passed
    since = None if row.since is None else row.since + passed
    every = max(row.every or USUAL, interval)  # nothing can be newer than the last read
    if row.link == LOST:
        connection, reason = ConnectionState.LOST, f"its recorder lost the connection: {row.reason}"
    elif row.link == STOPPED or age is None:
        connection, reason = ConnectionState.STOPPED, row.reason or "nothing was recorded since this format"
    elif is_unread(passed, interval):  # its recorder may write all the same
        connection, since = ConnectionState.LOST, passed
        reason = f"not known: its store was not read for {duration(passed)}"
    elif is_silent(age, every):
        connection, reason, since = ConnectionState.LOST, f"its recorder has written nothing for {duration(age)}", age
    elif row.reason == NO_ANSWER:
        return Member(row.target, ConnectionState.LATE, reason=NO_ANSWER, past=past)
    else:
        connection = ConnectionState.LATE if is_late(age, every) else ConnectionState.LIVE
        return Member(row.target, connection, row.key_figures, age, past=past)
    return Member(row.target, connection, None, age, since, reason, past=past)
