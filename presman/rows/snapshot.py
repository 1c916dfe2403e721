"""Snapshot: the sections that one poll read, immutable and not interpreted."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, field

from presman.base.release import Release
from presman.rows.queries import RecordType, Scope

R = TypeVar("R", bound=tuple[Any, ...])


class Problem(Struct, frozen=True):
    """Why a section could not be filled.

    `code` is Oracle's or the driver's ("ORA-00942"), or "" where there is none; `view` is the view that was queried;
    `cure` is a line that would help (usually a grant), or "". `late` means that the query timed out: the section's
    rows, if it has any, are those of an earlier poll.
    """

    code: str
    text: str
    view: str = ""
    cure: str = ""
    late: bool = False

    def __str__(self) -> str:
        head = " ".join(part for part in (self.code, self.view) if part)
        return f"{head}: {self.text}" if head else self.text


class Section(Struct, frozen=True):
    """The answer to one query: its rows as records, the instant (UTC) they were read, the seconds it took, its problem.

    If a query runs less often than polls do, the snapshots in between contain its last section.
    `absent` names record fields that the source does not have (columns that a spooled file lacks); `rounded` names
    those of them that are missing because SQL*Plus rounded them.
    """

    rows: tuple[Any, ...] = ()
    at: datetime | None = None
    seconds: float = 0.0
    problem: Problem | None = None
    absent: frozenset[str] = frozenset()
    rounded: frozenset[str] = frozenset()


EMPTY = Section()


class Snapshot(Struct, frozen=True):
    """Everything read in one poll of one database.

    `at` is the database's time in UTC (the simulated or recorded time for other sources); `number` counts polls
    from 1; `seconds` is the duration of the poll, `round_trips` its network round trips. `epoch` changes when presman
    reconnects or the source's time jumps: counters of different epochs are never subtracted. `cloud_service` is ""
    outside an Autonomous Database. `notes` are the source's remarks on ignored data and assumptions.
    `statements_to_come` is the number of statements on show whose texts and plans have not been looked up yet; they
    follow in the next polls. `lists_idle` is whether the rows of sessions include all idle sessions, or only those that
    others name.
    """

    target: str
    kind: str
    release: Release
    scope: Scope
    at: datetime
    number: int
    epoch: int
    seconds: float
    round_trips: int
    sections: Mapping[RecordType, Section] = field(default_factory=lambda: MappingProxyType({}))
    cloud_service: str = ""
    notes: tuple[str, ...] = ()
    statements_to_come: int = 0
    lists_idle: bool = True

    def section(self, record: RecordType) -> Section:
        """Return the section of `record`'s query; an empty one if it never ran."""
        return self.sections.get(record, EMPTY)

    def rows(self, record: type[R]) -> tuple[R, ...]:
        """Return the rows of one record, in the order they were read."""
        return self.section(record).rows

    def age_if_late(self, record: RecordType) -> float | None:
        """Return how many seconds old the rows of a record are if its view did not answer in time; else None."""
        section = self.section(record)
        if section.problem is None or not section.problem.late or section.at is None:
            return None
        return max(0.0, (self.at - section.at).total_seconds())

    def problems(self) -> dict[RecordType, Problem]:
        """Return the problem of each section that has one, by record."""
        return {record: section.problem for record, section in self.sections.items() if section.problem}


# ---- Forecasts that were shown: they come from no database. A recorder or a monitor adds them to a snapshot, so that
# every reader of it shows the same. Times are in tenths of a second.


class ShownStart(NamedTuple):
    """The forecast start of a queued statement, in tenths of a second; `timeout` is 1 if its timeout comes first."""

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    median: int | None
    low: int | None
    high: int | None
    timeout: int
    why_none: str


class ShownRecord(NamedTuple):
    """The accuracy of the forecasts so far, in one row: `held` of `judged` starts came within their range.

    `since` is the first reading of the monitor or recorder that made the forecasts.
    """

    judged: int
    held: int
    median_error: int | None
    since: datetime | None


class ShownEffect(NamedTuple):
    """The effect on the queue if a running statement ended, or if all statements with the same `way` ended together.

    `starts` more statements start at once. The last statement in the queue starts after `through` instead of
    `otherwise`, which is `sooner` by so much, in 8 of 10 cases between `sooner_low` and `sooner_high`. `proven` is 1
    or 0.
    """

    way: int
    inst_id: int
    sid: int
    serial: int
    sql_id: str
    starts: int
    through: int | None
    otherwise: int | None
    proven: int
    sooner: int | None = None
    sooner_low: int | None = None
    sooner_high: int | None = None


class ShownBypassed(NamedTuple):
    """A running statement whose servers its group does not count, as earlier polls had shown."""

    inst_id: int
    sid: int
    serial: int
    sql_id: str


SHOWN = (ShownStart, ShownRecord, ShownEffect, ShownBypassed)


class GoneInstance(NamedTuple):
    """An instance that V$INSTANCE no longer lists, or not as open, and when it last did; added by the poller.

    `servers_target` is its PARALLEL_SERVERS_TARGET by V$RSRC_PLAN at that time, None if not known.
    """

    inst_id: int
    instance_name: str
    last_seen: datetime
    servers_target: int | None = None


class MissingInstance(GoneInstance):
    """An instance that V$RSRC_PLAN listed within the last hour and lists no more while V$INSTANCE does not answer.

    It may be gone; added by the poller. The fields are those of an instance that is gone.
    """

    __slots__ = ()


class Quiescer(NamedTuple):
    """A session that was seen to quiesce the database, which is still quiesced; added by the poller."""

    inst_id: int
    sid: int
    username: str


class CriticalQueue(NamedTuple):
    """A parallel queue that has waited too long and has not much improved since; added by the poller.

    See :func:`presman.rows.session_state.long_queues`.
    """

    con_id: int
    consumer_group: str


class StartedSession(NamedTuple):
    """A session that V$PX_SESSION showed with servers since V$SESSION last answered, and not then; added by the poller.

    If V$SESSION showed it as queued then, it no longer is, even when its servers are gone again. If it was idle then,
    it has executed a statement since.
    """

    inst_id: int
    sid: int
    serial: int


class UnexplainedWait(NamedTuple):
    """A queued statement that was first and did not start while at least `servers` were free for it.

    It is added from earlier readings as long as the statement is queued: no view shows why it waited then.
    """

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    servers: int


class PromisedEnd(NamedTuple):
    """A running statement that a reading predicted to end at about `until`, with an operation (V$SESSION_LONGOPS).

    `by_plan` is 1 if its plan has nothing to do after that, so that it should have ended, and 0 if it only might. It is
    added from earlier readings as long as the statement runs.
    """

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    opname: str
    target: str
    until: datetime
    by_plan: int


class PromisedStart(NamedTuple):
    """A queued statement that was first and whose forecast had it start soon, within the time up to `until`.

    It is added from earlier readings as long as the statement is queued.
    """

    inst_id: int
    sid: int
    serial: int
    sql_id: str
    until: datetime


REMEMBERED = (
    *(GoneInstance, MissingInstance, Quiescer, CriticalQueue, StartedSession),
    *(UnexplainedWait, PromisedEnd, PromisedStart),
)
"""Records that no query fills: they are added from earlier polls, most of them by the poller."""
