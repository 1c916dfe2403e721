"""Statements by the minute: their texts, and how many sessions and servers each kept busy (sampled by the polls)."""

from __future__ import annotations

from collections import OrderedDict, deque
from datetime import datetime
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from presman.analysis.facts.cursor_facts import why_no_text
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SqlSample
from presman.analysis.readings.statement_readings import RunningStatement
from presman.analysis.trends.statement_runs import StatementRun
from presman.rows.cursor_rows import SqlText

if TYPE_CHECKING:
    from presman.analysis.trends import Watch

KEPT = 120
"""Minutes kept: two hours, as long as the history."""

MOST = 60
"""Statements kept for a finished minute, the busiest ones."""

GAP = 120.0
"""The most seconds that a sample represents; the time of longer gaps is unknown."""


_NONE = (0.0, 0.0, 0.0)


class SqlActivity(NamedTuple):
    """A statement over an interval: average sessions active, on CPU and waiting, and servers (None: not known)."""

    con_id: int
    sql_id: str
    group: str
    user: str
    active: float
    on_cpu: float
    waiting: float
    servers: float | None


class _Minute(Struct):
    """The sums of one minute: seconds watched, and seconds on CPU, waiting and of servers by statement.

    `holding_seconds` are those in which V$PX_SESSION showed who held servers.
    """

    begin: float
    seconds: float = 0.0
    holding_seconds: float = 0.0
    sums: dict[tuple[int, str], list[float]] = {}
    owners: dict[tuple[int, str], tuple[str, str]] = {}

    def count(self, row: SqlSample | RunningStatement, *seconds: float) -> None:
        """Add seconds of each kind to a statement."""
        key = row.con_id, row.sql_id
        self.sums[key] = list(map(add, self.sums.get(key, _NONE), seconds))
        self.owners.setdefault(key, (row.group, row.user))

    def finish(self) -> None:
        """Keep the busiest statements only."""
        if len(self.sums) > MOST:
            busiest = sorted(self.sums, key=lambda key: -sum(self.sums[key]))[:MOST]
            self.sums = {key: self.sums[key] for key in busiest}
            self.owners = {key: self.owners[key] for key in busiest}


class SqlMinutes:
    """The last two hours of statements, fed by `add`. Each sample represents the time since the one before."""

    def __init__(self) -> None:
        self._minutes: deque[_Minute] = deque(maxlen=KEPT)
        self._last: float | None = None
        self._held: tuple[float, _Minute] | None = None

    def begin(self, at: datetime) -> None:
        """Begin after a reading at an instant: the first sample represents the time since then."""
        self._last = at.timestamp()

    def add(self, reading: Reading) -> None:
        """Add the next reading. A reading that is not newer than the last one resets everything."""
        at = reading.at.timestamp()
        if self._last is not None and at <= self._last:
            self._minutes.clear()
            self._last = None
        seconds = at - self._last if self._last is not None else 0.0
        self._last = at
        # A sample stands for the time since the one before: over a gap it would represent time that no poll saw.
        if reading.activity is None or not 0.0 < seconds <= GAP:
            return
        minute = self._minute(at // 60 * 60)
        minute.seconds += seconds
        for sample in reading.activity.statements:
            minute.count(sample, seconds * sample.on_cpu, seconds * sample.waiting, 0.0)
        if reading.why_unavailable("V$PX_SESSION"):
            return
        minute.holding_seconds += seconds
        for row in reading.running:
            if row.sql_id:
                minute.count(row, 0.0, 0.0, seconds * row.servers)

    def _minute(self, begin: float) -> _Minute:
        if not self._minutes or self._minutes[-1].begin != begin:
            if self._minutes:
                self._minutes[-1].finish()
            self._minutes.append(_Minute(begin))
        return self._minutes[-1]

    def hold(self) -> None:
        """Freeze the newest minute: a screen that stays at this instant does not see later additions to it."""
        if self._minutes and self._last is not None:
            last = self._minutes[-1]
            minute = _Minute(last.begin, last.seconds, last.holding_seconds, dict(last.sums), dict(last.owners))
            self._held = (self._last, minute)

    def _chosen(self, at: datetime, minutes: int) -> list[_Minute]:
        end = at.timestamp()
        found = [each for each in self._minutes if end - 60 * minutes < each.begin <= end]
        if self._held is not None and found and self._held[0] == end and self._held[1].begin == found[-1].begin:
            found[-1] = self._held[1]
        return found

    def watched(self, at: datetime, minutes: int) -> float:
        """Return the seconds that were watched within these minutes."""
        return sum(each.seconds for each in self._chosen(at, minutes))

    def top(self, at: datetime, minutes: int) -> tuple[SqlActivity, ...]:
        """Return the statements of the whole minutes up to that of an instant, in no order."""
        chosen = self._chosen(at, minutes)
        seconds, holding = sum(each.seconds for each in chosen), sum(each.holding_seconds for each in chosen)
        totals: dict[tuple[int, str], list[float]] = {}
        owners: dict[tuple[int, str], tuple[str, str]] = {}
        for minute in chosen:
            owners |= minute.owners
            for key, sums in minute.sums.items():
                totals[key] = list(map(add, totals.get(key, _NONE), sums))
        found = []
        for key, (cpu, wait, holds) in totals.items():
            means = (cpu + wait) / seconds, cpu / seconds, wait / seconds
            found.append(SqlActivity(*key, *owners[key], *means, holds / holding if holding else None))
        return tuple(found)


TEXTS_KEPT = 500
"""Statements whose texts are kept, those read last."""

LARGEST = 4_000_000
"""The most characters of texts that are kept."""


class SqlTexts:
    """The most recent texts by SQL_ID, fed by `add`. An SQL_ID is a hash of the text, so its text never changes."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, SqlText] = OrderedDict()
        self._size = 0

    def add(self, reading: Reading) -> None:
        """Add the texts of a reading; a text that V$SQL no longer has stays."""
        for row in reading.texts:
            known = self._rows.get(row.sql_id)
            if known is None or row.sql_text or not known.sql_text:
                self._size += len(row.sql_text) - len(known.sql_text if known else "")
                self._rows[row.sql_id] = row
            self._rows.move_to_end(row.sql_id)  # those read longest ago are dropped first
        while len(self._rows) > TEXTS_KEPT or (self._size > LARGEST and len(self._rows) > 1):
            self._size -= len(self._rows.popitem(last=False)[1].sql_text)

    def find(self, sql_id: str) -> SqlText | None:
        """Return the cursor whose text was read, None if none was queried; its text is "" if it was gone."""
        return self._rows.get(sql_id)

    def text(self, sql_id: str) -> str:
        """Return the text of a statement, "" if not known."""
        found = self._rows.get(sql_id)
        return found.sql_text if found else ""

    def why_none(self, sql_id: str, reading: Reading, *, recorded: bool = False) -> str:
        """Return why there is no text, in brackets, "" if there is one; `recorded` means that a recording is read."""
        row, can_read = self.find(sql_id), reading.reads_texts
        return why_no_text(sql_id, row, reading.kind, can_read=can_read, recorded=recorded)


LISTED = 8
"""Executions that are listed, the newest ones."""


class SqlPast(NamedTuple):
    """The past of a statement, as polls have shown it until an instant.

    It had `executions` in parallel, of which `queued` had to queue: for `mean_wait` seconds on average and
    `longest_wait` at most; an execution that still waits counts with its wait so far. `mean_run` is the mean run time
    of the finished executions, None without any. `servers` is the most servers that an execution held. `newest` are the
    last executions, newest first, as they were `at` the instant. `activity` is how busy the statement was over the
    `watched` seconds of the last two hours, None if it was idle.
    """

    executions: int
    queued: int
    mean_wait: float | None
    longest_wait: float | None
    mean_run: float | None
    servers: int
    newest: tuple[StatementRun, ...]
    activity: SqlActivity | None
    watched: float
    at: datetime


def sql_past(watch: Watch, sql_id: str, con_id: int | None, at: datetime) -> SqlPast:
    """Return the past of a statement of a container (None: of any) until an instant."""
    runs = (each for each in watch.runs.of(sql_id) if con_id in {None, each.con_id} and each.began <= at)
    found = [each.as_of(at) for each in runs]
    waits = [waited for each in found if (waited := each.waited(at)) is not None]
    times = [ran for each in found if each.ended and (ran := each.ran(at)) is not None]
    busy = [each for each in watch.sql_minutes.top(at, KEPT) if each.sql_id == sql_id]
    return SqlPast(
        executions=len(found),
        queued=len(waits),
        mean_wait=_mean(waits),
        longest_wait=max(waits, default=None),
        mean_run=_mean(times),
        servers=max((each.servers for each in found if each.started), default=0),
        newest=tuple(sorted(found, key=lambda each: each.began, reverse=True)[:LISTED]),
        activity=next((each for each in busy if con_id in {None, each.con_id}), None),
        watched=watch.sql_minutes.watched(at, KEPT),
        at=at,
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
