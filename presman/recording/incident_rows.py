"""Incident rows: events and parallel statements of a stretch of time, counted and chosen by the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import text

from presman.analysis.trends.database_events import QUEUE_BEGAN, QUEUE_ENDED, DatabaseEvent
from presman.base.text import clean
from presman.recording.codec.shapes import instant, microseconds
from presman.recording.measure_tables import MICRO
from presman.recording.playback import Playback
from presman.recording.playback_values import Row, StatementLife, event_of, life_of, lives, whole


class EventMark(NamedTuple):
    """Events of one kind close to each other: how many, the first and the last instant, what one of them says."""

    kind: str
    start: datetime
    end: datetime
    many: int
    text: str


class StatementSum(NamedTuple):
    """The parallel executions of a SQL_ID by a user and group: how many, seconds queued and run, servers x seconds run.

    `statements` are those that did not come out of another group: what was in several groups is an execution in each.
    `servers` is the most one had. What was outside of the stretch of time is not counted, but for `longest_wait`, in
    seconds: that of a statement that waited in this time, from when it came.
    """

    sql_id: str
    user: str
    group: str
    executions: int
    statements: int
    servers: int
    queued: float
    longest_wait: float
    ran: float
    server_seconds: float


_IN_TIME = "database_id = :database_id AND at BETWEEN :start AND :end"
_MARKS = text(
    "SELECT kind, (at - :start) / :width AS place, MIN(at) AS first_at, MAX(at) AS last_at, COUNT(*) AS many,"
    f" MIN(text) AS text FROM events WHERE {_IN_TIME} GROUP BY kind, (at - :start) / :width ORDER BY 3"
)
_LAST_OF_PART = text("SELECT at FROM polls WHERE database_id = :database_id AND poll = :last")
_EVENTS = (
    f"SELECT at, kind, consumer_group, sql_id, text FROM events WHERE {_IN_TIME}{{others}} ORDER BY at LIMIT :most"
)
_CALM = f" AND kind NOT IN ('{QUEUE_BEGAN}', '{QUEUE_ENDED}')"

_THERE = "gone >= :start AND first_seen <= :end"


def _within(start: str, end: str) -> str:
    """Return SQL for the microseconds between two columns, as far as they are in the stretch; 0 where none is."""
    low = f"CASE WHEN {start} < :start THEN :start ELSE {start} END"
    high = f"CASE WHEN {end} > :end THEN :end ELSE {end} END"
    return f"CASE WHEN {high} > {low} THEN {high} - {low} ELSE 0 END"


_WAITED_UNTIL = "COALESCE(held_from, gone)"
_WAITED = f"CASE WHEN {_WAITED_UNTIL} > :end THEN :end ELSE {_WAITED_UNTIL} END - queued_at"
_QUEUED = f"CASE WHEN queued_at IS NULL THEN 0 ELSE {_within('queued_at', _WAITED_UNTIL)} END"
_RAN = f"CASE WHEN held_from IS NULL THEN 0 ELSE {_within('held_from', 'gone')} END"
_MOST = lives(_THERE, more=f"ORDER BY servers * ({_within('came', 'gone')}) DESC LIMIT :most")
_SUMS = lives(
    _THERE,
    'sql_id, "user", consumer_group, SUM(CASE WHEN came > :new_from THEN 1 ELSE 0 END) AS executions,'
    " SUM(CASE WHEN came > :new_from AND came <= first_seen THEN 1 ELSE 0 END) AS statements,"
    f" MAX(servers) AS servers, SUM({_QUEUED}) AS queued, COALESCE(MAX(CASE WHEN {_QUEUED} > 0 THEN {_WAITED} END), 0)"
    f" AS longest, SUM({_RAN}) AS ran, SUM(servers * ({_RAN})) AS work",
    'GROUP BY sql_id, "user", consumer_group',
)


def event_marks(playback: Playback, start: datetime, end: datetime, stretches: int) -> list[EventMark]:
    """Return the events between two instants, those of a kind within one of `stretches` as one mark."""
    low, high = microseconds(start), microseconds(end)
    binds = {"start": low, "end": high, "width": max(1, (high - low) // stretches + 1)}
    return [each for part in playback.parts(start, end) for each in playback.made(_mark, part, _MARKS, **binds)]


def _mark(row: Row) -> EventMark:
    first, last = instant(row["first_at"]), instant(row["last_at"])
    return EventMark(clean(row["kind"]), first, last, row["many"], clean(row["text"]))


def told_events(playback: Playback, start: datetime, end: datetime, most: int, *, calm: bool) -> list[DatabaseEvent]:
    """Return the first events between two instants, at most so many; `calm` leaves out comings and goings of queues."""
    binds = {"start": microseconds(start), "end": microseconds(end), "most": most}
    statement = text(_EVENTS.format(others=_CALM if calm else ""))
    found = [each for part in playback.parts(start, end) for each in playback.made(event_of, part, statement, **binds)]
    return sorted(found)[:most]


def counted_kinds(marks: Sequence[EventMark]) -> Counter[str]:
    """Return how many events there are of each kind."""
    found: Counter[str] = Counter()
    for each in marks:
        found[each.kind] += each.many
    return found


def busiest_lives(playback: Playback, start: datetime, end: datetime, most: int) -> list[StatementLife]:
    """Return the statements that wanted or held most servers x time between two instants, at most so many."""
    binds = {"start": microseconds(start), "end": microseconds(end), "most": most}
    found = whole(each for part in playback.parts(start, end) for each in playback.made(life_of, part, _MOST, **binds))

    def work(life: StatementLife) -> float:
        return life.servers * (min(life.gone, end) - max(life.came, start)).total_seconds()

    return sorted(found, key=work, reverse=True)[:most]


def statement_sums(playback: Playback, start: datetime, end: datetime) -> list[StatementSum]:
    """Return what the parallel statements between two instants come to by SQL_ID, most server time first.

    A statement that was there at midnight is in the files of both days: the second tells of it from midnight on.
    """
    binds = {"start": microseconds(start), "end": microseconds(end), "new_from": 0}
    sums: dict[tuple[str, str, str], StatementSum] = {}
    for part in playback.parts(start, end):
        for own in playback.made(_sum, part, _SUMS, **binds):
            before = sums.get(own[:3])
            sums[own[:3]] = own if before is None else _added(before, own)
        for last in playback.made(itemgetter("at"), part, _LAST_OF_PART):
            binds |= {"start": last, "new_from": last}
    return sorted(sums.values(), key=lambda each: (-each.server_seconds, -each.queued, each.sql_id))


def _sum(row: Row) -> StatementSum:
    return StatementSum(
        clean(row["sql_id"]), clean(row["user"]), clean(row["consumer_group"]), row["executions"],
        row["statements"], 0 + row["servers"],
        *(float(row[each]) / MICRO for each in ("queued", "longest", "ran", "work")),
    )  # fmt: skip


def _added(one: StatementSum, other: StatementSum) -> StatementSum:
    """Return two sums of the same statement as one."""
    return StatementSum(
        *one[:3], one.executions + other.executions, one.statements + other.statements, max(one.servers, other.servers),
        one.queued + other.queued, max(one.longest_wait, other.longest_wait), one.ran + other.ran,
        one.server_seconds + other.server_seconds,
    )  # fmt: skip
