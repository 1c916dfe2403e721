"""Playback values: what a recording has besides polls, each built from a row of a store, which may be forged."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import TextClause, text

from presman.analysis.trends.database_events import DatabaseEvent
from presman.base.text import clean
from presman.recording.codec.shapes import instant
from presman.recording.store import Store

Row = dict[str, Any]
"""A row by column, as stored."""


NUMBERS, LARGEST = (int, float, Decimal), 1 << 63
"""The types of numbers, including PostgreSQL's, and the largest number that a column can store."""


class Stretch(NamedTuple):
    """An interval of a playback: its number of polls, the longest queue, the percent of CPU demand that had to wait.

    Either is None if no poll knows it.
    """

    polls: int
    queued: int | None
    throttled: float | None


class PlaybackPart(NamedTuple):
    """The polls of a playback in one store: the numbers of the database, of the first poll and of the last.

    Every `step`th span of 32 polls is read for groups and waits; 1 reads all.
    """

    store: Store
    database_id: int
    first: int
    last: int
    step: int = 1

    @property
    def binds(self) -> dict[str, Any]:
        """The binds of a query of these polls: `:database_id`, `:first`, `:last` and `:step`."""
        return {"database_id": self.database_id, "first": self.first, "last": self.last, "step": self.step}


class DamagedPolls(NamedTuple):
    """Consecutive polls some of which cannot be read; their figures can."""

    start: datetime
    end: datetime
    polls: int


SEEN_EVERY = timedelta(minutes=1)
"""How often a recorder updates `last_seen` of a statement that is still there; also at the end of a recording."""

_LAST_POLL = "(SELECT at FROM polls WHERE database_id = :database_id ORDER BY poll DESC LIMIT 1)"
_STILL_THERE = f"last_seen < {_LAST_POLL} AND {_LAST_POLL} < last_seen + {SEEN_EVERY // timedelta(microseconds=1)}"
_LIVES = (
    "SELECT *, COALESCE(queued_at, started_at, first_seen) AS came,"
    " COALESCE(started_at, CASE WHEN queued_at IS NULL THEN first_seen END) AS held_from,"
    f" COALESCE(ended_at, CASE WHEN {_STILL_THERE} THEN {_LAST_POLL} ELSE last_seen END) AS gone"
    " FROM statements WHERE database_id = :database_id"
)


THERE = "gone >= :start AND first_seen <= :end AND came <= :end"
"""The condition for `lives` that were there between two instants."""


def lives(chosen: str, columns: str = "*", more: str = "") -> TextClause:
    """Return the SELECT of `columns` of the parallel statements of `:database_id` that match the condition `chosen`.

    Only this query defines the life of a statement. It waits from its arrival until it holds servers, and holds them
    until it is gone. It ends halfway between the last poll that saw it and the next one. If no poll saw its end, it was
    there up to the last poll that saw it. A recorder that still runs, or was killed, may not have updated `last_seen`:
    then that is the last poll of all, if it came less than `SEEN_EVERY` after `last_seen`.

    If its group or its number of servers changes, another row with the same `first_seen` continues it. A statement that
    is there at midnight is in the files of both days. `whole` joins such rows.
    """
    return text(f"SELECT {columns} FROM ({_LIVES}) x WHERE {chosen} {more}")


class StatementLife(NamedTuple):
    """A parallel statement as far as it was seen; None for what had not happened yet or was not seen.

    It was there from `came` to `gone`, and held its servers from `held_from` on, None if it never did: see `lives`.
    It came in the group `came_to`; `group` is the last one.
    """

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    con_id: int
    group: str
    user: str
    servers: int
    queued_at: datetime | None
    started_at: datetime | None
    idle_at: datetime | None
    ended_at: datetime | None
    first_seen: datetime
    last_seen: datetime
    came: datetime
    held_from: datetime | None
    gone: datetime
    came_to: str = ""

    @property
    def phases(self) -> tuple[tuple[datetime | None, datetime], ...]:
        """When it waited, ran, and was idle: the begin and the end of each; the begin is None if it never did."""
        held, idle, gone = self.held_from, self.idle_at, self.gone
        return (self.queued_at, held or gone), (held, idle or gone), (idle, gone)


def is_number(value: Any) -> bool:
    """Whether a value is a number that a column can store; a forged file may have a text, bytes or infinity instead."""
    return isinstance(value, NUMBERS) and -LARGEST <= value <= LARGEST


def checked_number(value: Any) -> Any:
    """Return a number or None unchanged. Raises TypeError for anything else."""
    if value is not None and not is_number(value):
        raise TypeError("no number that a recorder writes")
    return value


def event_of(row: Row) -> DatabaseEvent:
    """Return a row of `events` as an event."""
    return DatabaseEvent(instant(row["at"]), *(clean(row[key]) for key in ("kind", "consumer_group", "sql_id", "text")))


def life_of(row: Row) -> StatementLife:
    """Return a row of `statements` as a life."""
    names = "queued_at", "started_at", "idle_at", "ended_at", "held_from"
    times: dict[str, Any] = {name: None if row[name] is None else instant(row[name]) for name in names}
    came, gone = instant(row["came"]), instant(row["gone"])
    group, user, sql_id = clean(row["consumer_group"]), clean(row["user"]), clean(row["sql_id"])
    # 0 + raises TypeError for the text that a forged file may have in place of a number: the row is then skipped.
    numbers = {name: 0 + row[name] for name in ("inst_id", "sid", "serial", "con_id", "servers")}
    return StatementLife(
        **numbers,
        **times,
        sql_id=sql_id,
        group=group,
        user=user,
        first_seen=instant(row["first_seen"]),
        last_seen=instant(row["last_seen"]),
        came=came,
        gone=max(came, gone),
        came_to=group,
    )


def whole(found: Iterable[StatementLife]) -> list[StatementLife]:
    """Return each statement as one life, joining the consecutive rows of it."""
    lives: dict[Any, StatementLife] = {}
    for life in sorted(found, key=lambda each: each.gone):
        key = (life.inst_id, life.sid, life.serial, life.sql_id, life.first_seen)
        before = lives.get(key, life)
        lives[key] = life._replace(
            queued_at=before.queued_at or life.queued_at,
            started_at=before.started_at or life.started_at,
            came=min(before.came, life.came),
            held_from=before.held_from or life.held_from,
            came_to=before.came_to,
        )
    return list(lives.values())
