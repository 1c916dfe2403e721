"""Snapshot: the Sections that one poll read, frozen. No meaning is given to anything here."""

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

    `code` is Oracle's or the driver's ("ORA-00942"), or "" where there is none; `view` what was asked; `cure`
    what would help, as one line (a grant, mostly), or "". `late` tells that no answer came in time: the section's
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
    """One query's answer: rows as records, the instant (UTC) they were read, seconds it took, its problem.

    A query that runs less often than the poll leaves its last section in the snapshots between.
    `absent` names record fields that the source cannot know (columns that a spooled file lacks); `rounded` those of
    them that it lacks because SQL*Plus rounded them.
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

    `at` is the database's instant in UTC (the simulated or recorded one for other sources); `number` counts polls
    from 1; `seconds` is what the poll took, `round_trips` what it cost the network. `epoch` changes when presman
    reconnects or a source jumps: counters of different epochs are never subtracted. `cloud_service` is "" outside the
    Autonomous Database. `notes` are the source's own: what of it is not used, what was assumed.
    `statements_to_come` counts the statements on show whose texts and plans have not been asked for yet: so many follow
    in the next polls. `lists_idle` tells whether all idle sessions are among the rows of sessions, or only those that
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
        """Return the section that `record`'s query filled; an empty one if it was never asked."""
        return self.sections.get(record, EMPTY)

    def rows(self, record: type[R]) -> tuple[R, ...]:
        """Return the rows of one kind, in the order they were read."""
        return self.section(record).rows

    def problems(self) -> dict[RecordType, Problem]:
        """Return what could not be read, by record."""
        return {record: section.problem for record, section in self.sections.items() if section.problem}


# ---- Forecasts that were shown: no database tells them. A recorder or a monitor adds them to what a poll read, so
# that whoever reads it shows the same. Seconds are in tenths.


class ShownStart(NamedTuple):
    """In how many tenths of a second a queued statement should start; `timeout` is 1 where its timeout comes before."""

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
    """How good the forecasts had been by then, one row: of `judged` starts `held` came within their range.

    They were judged `since` the first reading of whoever showed them.
    """

    judged: int
    held: int
    median_error: int | None
    since: datetime | None


class ShownEffect(NamedTuple):
    """What the end of a running statement, or of all with the same number of a `way` together, would do to the queue.

    So many more start at once, the last that is queued after `through` in place of `otherwise`: `sooner`, in 8 cases of
    10 from `sooner_low` to `sooner_high`. `proven` is 1 or 0.
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
    """A running statement of which polls had shown that its group does not count its servers."""

    inst_id: int
    sid: int
    serial: int
    sql_id: str


SHOWN = (ShownStart, ShownRecord, ShownEffect, ShownBypassed)


class GoneInstance(NamedTuple):
    """An instance that V$INSTANCE has no more, or not as open, and when it had; the poller adds it to what it read.

    `servers_target` is what V$RSRC_PLAN said then of its PARALLEL_SERVERS_TARGET, None where that is not known.
    """

    inst_id: int
    instance_name: str
    last_seen: datetime
    servers_target: int | None = None


class Quiescer(NamedTuple):
    """A session that was seen to quiesce the database, which still is; the poller adds it to what it read."""

    inst_id: int
    sid: int
    username: str


class CriticalQueue(NamedTuple):
    """A parallel queue that waits for too long and has not been much better since; the poller adds it to what it read.

    See :func:`presman.rows.session_state.long_queues`.
    """

    con_id: int
    consumer_group: str


REMEMBERED = (GoneInstance, Quiescer, CriticalQueue)
"""What no query reads: the poller knows it from polls before."""
