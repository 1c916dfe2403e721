"""Recording location and retention: where a recorder writes its polls, and which are removed as too old or too many.

A location is a file, a folder with a file for each day, or a database. The oldest polls are removed first, in whole
chains.
"""

import os
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, select, true

from presman.base.private_files import exists, expanded, is_folder
from presman.recording import schema
from presman.recording.codec.shapes import microseconds
from presman.recording.figure_writer import FORGOTTEN_AFTER
from presman.recording.measure_tables import SPAN
from presman.recording.sqlite_files import remove_recording
from presman.recording.store import SUFFIX, Store, is_url, shown
from presman.recording.store_errors import RecordingError
from presman.recording.writer import CHAIN

FILES_OPEN = 8
"""The most files of a folder open at a time: more than one because clocks of databases differ, but not a whole year."""


class RecordingLocation:
    """Opens the store for an instant. `location` is a file, a folder (it exists, or ends with a slash) or a URL.

    Thread-safe. Raises RecordingError.
    """

    def __init__(self, location: str) -> None:
        self.name = shown(location)
        self._location = location
        self._turn = threading.Lock()
        self._stores: dict[str, Store] = {}
        self._made: list[Path] = []
        try:
            self.is_daily = not is_url(location) and (location.endswith(os.sep) or is_folder(expanded(location)))
            if self.is_daily:
                expanded(location).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{self.name}: {error.strerror or error}") from error

    def store(self, at: datetime) -> Store:
        """Return the store for polls at an instant; it is opened when first needed."""
        location = str(self._day(at)) if self.is_daily else self._location
        with self._turn:
            before = self._stores.get(location)
            if before is None or before.was_removed():
                is_new = not is_url(location) and not exists(expanded(location))
                if before is not None:
                    # It is not closed: a thread still writing to it would create a new file.
                    before.abandon()
                self._stores[location] = Store(location, writing=True)
                if is_new:
                    self._made.append(expanded(location))
                if len(self._stores) > FILES_OPEN:
                    self._stores.pop(next(iter(self._stores))).close()
            found = self._stores[location] = self._stores.pop(location)  # the least recently used is first
            return found

    def stores(self) -> list[Store]:
        """Return the open stores."""
        with self._turn:
            return list(self._stores.values())

    @property
    def open_bytes(self) -> int:
        """The size of the open files, without their logs; 0 for a database."""
        size = 0
        with self._turn, suppress(OSError):
            for location in self._stores:
                size += 0 if is_url(location) else expanded(location).stat().st_size
        return size

    def days(self) -> list[Path]:
        """Return the files of a folder, the oldest first."""
        return sorted(expanded(self._location).glob(f"*{SUFFIX}")) if self.is_daily else []

    def close_store(self, location: Path) -> None:
        """Close the store of a file that is about to be removed."""
        with self._turn:
            store = self._stores.pop(str(location), None)
        if store is not None:
            store.close()

    def remove_empty(self) -> None:
        """Remove the files created here, once they are closed, if they contain no poll."""
        for path in self._made:
            with suppress(RecordingError, MemoryError):
                with closing(Store(str(path), writing=False)) as store:
                    has_polls = bool(store.rows(select(schema.POLLS.c.poll).limit(1)))
                if not has_polls:
                    remove_recording(path)

    def close(self) -> None:
        """Close all stores."""
        with self._turn:
            stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()

    def _day(self, at: datetime) -> Path:
        return expanded(self._location) / f"presman-{at.astimezone(UTC):%Y-%m-%d}{SUFFIX}"


_MOST_AT_ONCE = 20
"""Chains removed in one transaction, for which other writers of a file have to wait."""

_TEXTS_LAST = timedelta(days=1)
"""How old the mark of a text in use may be: it is marked when a case with it is written, not at each poll."""


class RetentionLimits(NamedTuple):
    """How much of a recording is kept: its age and its size in bytes; None for no limit."""

    age: timedelta | None = None
    size: int | None = None


NO_LIMITS = RetentionLimits()


def trim(
    location: RecordingLocation, limits: RetentionLimits, now: datetime, targets: Sequence[str] | None = None
) -> int:
    """Remove what exceeds the limits; return the number of polls removed, for a folder the number of files.

    `targets` are the databases that the limits apply to, None for all: PostgreSQL also holds those of other recorders,
    with their own limits. In files, the limits apply to all databases. Raises RecordingError.
    """
    if location.is_daily:
        return _trim_days(location, limits, now)
    stores = location.stores()
    return sum(_trim_store(each, limits, now, None if each.kind == "sqlite" else targets) for each in stores)


def _trim_days(location: RecordingLocation, limits: RetentionLimits, now: datetime) -> int:
    removed = 0
    days = location.days()[:-1]  # today's file stays, whatever its size
    try:
        total = sum(path.stat().st_size for path in location.days())
        for path in days:
            size = path.stat().st_size
            # The name of a file ends with its day.
            is_old = limits.age is not None and path.stem[-10:] < f"{now - limits.age:%Y-%m-%d}"
            if is_old or (limits.size is not None and total > limits.size):
                location.close_store(path)
                path.unlink()
                total -= size
                removed += 1
    except OSError as error:
        raise RecordingError(f"{location.name}: {error.strerror or error}") from error
    return removed


def _trim_store(store: Store, limits: RetentionLimits, now: datetime, targets: Sequence[str] | None) -> int:
    before = microseconds(now - limits.age) if limits.age is not None else None
    removed = 0
    least: int | None = None
    chains: deque[_StoredChain] | None = None
    while True:
        size = store.size(limits.size, targets) if limits.size is not None else None
        over = max(0.0, 1 - limits.size / size) if size and limits.size is not None else 0.0
        if least is not None and size is not None and size >= least:
            over = 0.0  # removing did not make it smaller: no more is removed for its size
        if before is None and not over:
            return removed
        with store.transaction() as connection:
            chains = _oldest_first(connection, targets) if chains is None else chains
            went = _remove_oldest(connection, chains, before, over)
            removed += went
            if went:
                _remove_unused(connection, now, targets)
        if not went:
            return removed
        store.shrink()
        least = size if over else least


def _is_of(database_id: Any, targets: Sequence[str] | None) -> ColumnElement[bool]:
    """Return the condition that a row belongs to one of the databases `targets`, None for any."""
    if targets is None:
        return true()
    c = schema.DATABASES.c
    condition: ColumnElement[bool] = database_id.in_(select(c.database_id).where(c.target.in_(targets)))
    return condition


def how_many(chains: int, over: float, *, is_file: bool) -> int:
    """Return how many of the oldest chains to remove at once if the share `over` is too much: never the newest.

    >>> how_many(10, 0.35, is_file=False), how_many(10, 0.01, is_file=False), how_many(10, 1.0, is_file=False)
    (3, 1, 9)
    """
    share = max(1, int(over * chains))
    most = min(share, _MOST_AT_ONCE // 4) if is_file else share
    return max(0, min(most, chains - 1))


class _StoredChain(NamedTuple):
    """A chain of a database: the number of its first poll, how many it has, and the latest instant up to its end."""

    database_id: int
    first: int
    polls: int
    end: int


def _oldest_first(connection: Connection, targets: Sequence[str] | None) -> deque[_StoredChain]:
    """Return all chains in the order in which they ended; those of one database in the order of their polls.

    Where the clock went back a later chain may have ended earlier. Rows are removed up to a poll, so it must not go
    before the chains in front of it.
    """
    c = schema.BLOCKS.c
    ends = select(c.database_id, c.chain, func.sum(c.polls), func.max(c.last_at)).where(_is_of(c.database_id, targets))
    latest: dict[int, int] = {}
    found: list[_StoredChain] = []
    for database_id, first, polls, end in connection.execute(ends.group_by(c.database_id, c.chain).order_by(c.chain)):
        latest[database_id] = max(end, latest.get(database_id, end))
        found.append(_StoredChain(database_id, first, int(polls), latest[database_id]))
    return deque(sorted(found, key=lambda each: each.end))


def _remove_oldest(connection: Connection, chains: deque[_StoredChain], before: int | None, over: float) -> int:
    """Remove the oldest chains that ended before an instant, or the very oldest if the share `over` is too much.

    From a file only a few of them at once, as its size is known after each step; from PostgreSQL the whole share, as
    getting its size takes long. Return the number of polls removed; the chains removed are no longer in `chains`.
    """
    is_file, removed = connection.dialect.name == "sqlite", 0
    for _ in range(how_many(len(chains), over, is_file=is_file) if over else min(len(chains), _MOST_AT_ONCE)):
        if not over and (before is None or chains[0].end >= before):
            break
        removed += _remove(connection, chains.popleft())
    return removed


def _remove(connection: Connection, chain: _StoredChain) -> int:
    """Remove a chain and return the number of its polls: 0 if it has grown or gone meanwhile, because then it stays."""
    database_id, first, known, _ = chain
    c = schema.BLOCKS.c
    own = c.database_id == database_id, c.chain == first, c.poll.between(first, first + known + CHAIN)
    polls, end = connection.execute(select(func.coalesce(func.sum(c.polls), 0), func.max(c.last_at)).where(*own)).one()
    if not polls or polls > known:
        return 0
    others = select(func.min(c.first_at)).where(c.database_id == database_id, c.chain != first)
    if (rest := connection.execute(others).scalar()) is not None:
        end = min(end, rest - 1)  # events of those that stay, if the clock went back
    after = first + int(polls)
    # Rows of a span stay until all of its polls are gone: a row is for several polls, some of which may stay.
    for table, is_gone in (
        (schema.BLOCKS, and_(*own)),
        (schema.POLLS, schema.POLLS.c.poll < after),
        *((table, table.c.span < after // SPAN) for table in (*schema.ROWS.values(), schema.BUCKET_WAITS)),
        (schema.ARRIVED, schema.ARRIVED.c.poll < after),
        (schema.EVENTS, schema.EVENTS.c.at <= end),
        (schema.STATEMENTS, schema.STATEMENTS.c.last_seen <= end),
    ):
        connection.execute(delete(table).where(table.c.database_id == database_id, is_gone))
    return int(polls)


def _remove_unused(connection: Connection, now: datetime, targets: Sequence[str] | None) -> None:
    """Remove texts last needed more than a day before the oldest poll, and cases without rows.

    All databases share the texts. They are locked in the order in which recorders write them, to avoid deadlocks.
    """
    if (oldest := connection.execute(select(func.min(schema.BLOCKS.c.first_at))).scalar()) is not None:
        last = min(oldest, microseconds(now)) - _TEXTS_LAST // timedelta(microseconds=1)
        c = schema.TEXTS.c
        unused = select(c.hash).where(c.last_at < last).order_by(c.hash).with_for_update()
        connection.execute(delete(schema.TEXTS).where(c.hash.in_(unused)))
    for name, cases in schema.CASES.items():
        _remove_cases(connection, cases, schema.ROWS[name], "case_id", targets)
    _remove_cases(connection, schema.BUCKETS, schema.BUCKET_WAITS, "bucket_id", targets)


def _remove_cases(connection: Connection, cases: Table, rows: Table, key: str, targets: Sequence[str] | None) -> None:
    """Remove cases, identified by `key`, that no row refers to.

    A writer forgets its cases every `FORGOTTEN_AFTER` polls and then uses higher numbers, so cases below those of the
    oldest rows are unused. If fewer than twice that many polls are kept, a writer might still know a case: then none is
    removed.
    """
    of_rows = select(rows.c.database_id, func.min(rows.c.span), func.max(rows.c.span))
    of_rows = of_rows.where(_is_of(rows.c.database_id, targets)).group_by(rows.c.database_id)
    for database_id, first, last in connection.execute(of_rows).all():
        period = 2 * FORGOTTEN_AFTER // SPAN
        if last - first > period:
            early = rows.c.span.between(first, first + period)
            oldest = select(func.min(rows.c[key])).where(rows.c.database_id == database_id, early)
            least = connection.execute(oldest).scalar()
            connection.execute(delete(cases).where(cases.c.database_id == database_id, cases.c[key] < least))
