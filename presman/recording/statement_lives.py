"""Lives of parallel statements: queued, running, idle, gone; written when something changes.

:mod:`presman.recording.playback_values` defines what readers take for the life of a statement. `past_runs` returns the
statements as a monitor that ran until an instant would know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from presman.analysis.goals import Goal, GoalReading
from presman.analysis.parallel.usual import MINUTE, QueueMarks
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.goal_counts import recorded_goals, with_goals
from presman.analysis.trends.statement_runs import ArrivalTracker, StatementRun, StatementRuns, longest_step
from presman.forecast.forecaster import LEADING_POLLS, MOST_STEPS, ONE_LOOK, Forecaster
from presman.forecast.statement_history import HOUR
from presman.recording.codec.shapes import instant
from presman.recording.measure_tables import ARRIVALS, kept
from presman.recording.playback import LostPollError, Playback
from presman.recording.playback_values import SEEN_EVERY, StatementLife, life_of, lives
from presman.recording.schema import ARRIVED, POLLS, STATEMENTS, insert, next_number, run_named, update
from presman.recording.time_bins import gaps, usual_interval
from presman.rows.snapshot import Snapshot

_CHANGING = ("consumer_group", "servers", "queued_at", "started_at", "idle_at", "ended_at", "first_seen", "last_seen")
_NEW_LIFE, _NEW_ARRIVAL = insert(STATEMENTS), insert(ARRIVED)
_CHANGE = update(STATEMENTS, _CHANGING, ("database_id", "statement"))


class _Written(NamedTuple):
    """A row as it was last written, with its `life` by column; `seen` is its `last_seen`.

    `since` is None for the first row of a statement, otherwise when its group or number of servers changed.
    """

    run: StatementRun
    number: int
    life: dict[str, Any]
    seen: datetime
    since: datetime | None = None

    def now(self) -> dict[str, Any]:
        """Return the current values of the row."""
        life, since, started = _life(self.run), self.since, self.run.started
        if since is None:
            return life
        waits = started is None or started > since
        return life | ({"queued_at": kept(since)} if waits else {"queued_at": None, "started_at": kept(since)})


class StatementLives:
    """Writes the statements of one database, and the arrivals: what is known of each statement that has ended.

    It continues the lives that the previous recorder left open, in this store or, in a new day's file, in the store of
    `before`. A statement that ended with its instance, or during an unusually long gap between polls, has no known end.
    When the group or the number of servers of a statement changes, a new row begins at that poll.
    """

    def __init__(
        self, connection: Connection, database_id: int, every: float | None = None, before: StatementLives | None = None
    ) -> None:
        self._database_id = database_id
        self._longest_step = longest_step(every or 0.0)
        self._runs = StatementRuns()
        self._tracker = ArrivalTracker()
        self._next = next_number(connection, STATEMENTS.c.statement, database_id)
        self._next_arrived = next_number(connection, ARRIVED.c.statement, database_id)
        self._last = _last_poll(connection, database_id)
        self._open = _left_open(connection, database_id, self._last) if self._last is not None else {}
        runs: Iterable[StatementRun] = [each.run for each in self._open.values()]
        if self._last is None and before is not None:
            self._last, runs = before._last, before._runs.open
        if self._last is not None:
            self._runs.begin(self._last, runs)

    def write(self, reading: Reading, poll: int, connection: Connection) -> None:
        """Write the changes of this reading."""
        before, self._last = self._last, reading.at
        self._runs.add(reading)
        new, changed = [], []
        over = [each for each in self._open.values() if each.run.ended is not None]
        is_gap = before is not None and reading.at - before > self._longest_step
        # After a gap, or if its instance ended, too, it is known when a statement was last seen, but not when it ended.
        for each in over:
            if before is None or not (is_gap or each.run.cut):
                changed.append(self._row(each._replace(life=each.now()), reading.at))
            elif each.seen < before:
                changed.append(self._row(each, before))
        still_open: dict[int, _Written] = {}
        for run in self._runs.open:
            known, since = self._open.get(id(run)), None
            if known is not None and before is not None and _has_changed(known):
                since = _changed_at(known, before, reading.at)
                changed.append(self._row(known._replace(life=known.life | {"ended_at": kept(since)}), reading.at))
                known = None
            if known is None:
                known = _Written(run, self._next, {}, reading.at, since)
                known = known._replace(life=known.now())
                self._next += 1
                new.append(_identity(run) | self._row(known, reading.at))
            elif known.life != (life := known.now()) or reading.at - known.seen >= SEEN_EVERY:
                known = known._replace(life=life, seen=reading.at)
                changed.append(self._row(known, reading.at))
            still_open[id(run)] = known
        self._open = still_open
        run_named(connection, _NEW_LIFE, new)
        run_named(connection, _CHANGE, changed)
        self._arrive(reading, poll, connection)

    def close(self, connection: Connection) -> None:
        """Write that all present statements were seen at the last poll."""
        if (last := self._last) is not None:
            run_named(connection, _CHANGE, [self._row(each, last) for each in self._open.values() if each.seen < last])

    def _row(self, written: _Written, seen: datetime) -> dict[str, Any]:
        keys = {"last_seen": kept(seen), "database_id": self._database_id, "statement": written.number}
        return written.life | keys

    def _arrive(self, reading: Reading, poll: int, connection: Connection) -> None:
        rows = []
        for arrival in self._tracker.add(reading):
            values = {each.key: each.kept(arrival) for each in ARRIVALS}
            rows.append(values | {"database_id": self._database_id, "statement": self._next_arrived, "poll": poll})
            self._next_arrived += 1
        run_named(connection, _NEW_ARRIVAL, rows)


def run_until(life: StatementLife, at: datetime) -> StatementRun:
    """Return a statement without what happened to it after `at`."""
    times = (life.queued_at, life.started_at, life.idle_at, life.gone if life.gone < at else life.ended_at)
    queued, started, idle, ended = (when if when is not None and when <= at else None for when in times)
    return StatementRun(
        *life[:8],  # up to its servers both have the same fields
        queued=queued,
        started=started,
        idle=idle,
        ended=ended,
        first_seen=life.first_seen,
        waiting_at=at if started is None else None,
        cut=ended is not None and life.ended_at is None,
        came_to=life.came_to,
    )


def _has_changed(known: _Written) -> bool:
    """Whether a statement has changed its group since it was last written, or the number of servers that it held."""
    life, run = known.life, known.run
    return bool(life["consumer_group"] != run.group or (life["started_at"] and life["servers"] != run.servers))


def _changed_at(known: _Written, before: datetime, at: datetime) -> datetime:
    """Return when a statement changed between two polls: when it started, if it did, else halfway."""
    started = known.run.started
    return started if started is not None and known.life["started_at"] is None else before + (at - before) / 2


def _last_poll(connection: Connection, database_id: int) -> datetime | None:
    of = POLLS.c
    newest = select(of.at).where(of.database_id == database_id).order_by(of.poll.desc()).limit(1)
    found = connection.execute(newest).scalar()
    return None if found is None else instant(found)


def _left_open(connection: Connection, database_id: int, last: datetime) -> dict[int, _Written]:
    """Return the lives that had not ended at the last poll, by the id() of their runs."""
    # Those that were there at the last poll, by the rule of `lives`.
    chosen = lives("ended_at IS NULL AND gone = :last")
    found: dict[int, _Written] = {}
    for row in connection.execute(chosen, {"database_id": database_id, "last": kept(last)}).mappings():
        life = life_of(dict(row))
        run = run_until(life, last)
        if run.queued or run.started:  # a damaged file may have neither
            found[id(run)] = _Written(run, row["statement"], _life(run), life.last_seen)
    return found


def _identity(run: StatementRun) -> dict[str, Any]:
    return {name: getattr(run, name) for name in ("inst_id", "sid", "serial", "sql_id", "con_id", "user")}


def _life(run: StatementRun) -> dict[str, Any]:
    # The start of idleness is computed from a moving clock: rounded, it stays the same.
    idle = None if run.idle is None else round(kept(run.idle) / 10_000_000) * 10_000_000
    return {
        "consumer_group": run.group,
        "servers": run.servers,
        "queued_at": kept(run.queued),
        "started_at": kept(run.started),
        "idle_at": idle,
        "ended_at": kept(run.ended),
        "first_seen": kept(run.first_seen),
    }


def past_runs(playback: Playback, start: datetime, at: datetime) -> list[StatementRun]:
    """Return the parallel statements between two instants, as they were known at the second one."""
    known = [run_until(life, at) for life in playback.statements(start, at)]
    return [run for run in known if run.queued or run.started]  # a damaged file may have neither


def goals_between(playback: Playback, goals: Sequence[Goal], start: datetime, end: datetime) -> tuple[GoalReading, ...]:
    """Return the results of service goals between two instants of a recording."""
    if not goals:
        return ()
    step, unwatched = usual_interval(playback, start, end), sum(each.seconds for each in gaps(playback, start, end))
    return recorded_goals(goals, past_runs(playback, start, end), start, end, step, unwatched)


def with_recorded_goals(playback: Playback, goals: Sequence[Goal], reading: Reading) -> Reading:
    """Return the reading of a poll with the results of service goals since the beginning of the recording."""
    if not goals:
        return reading
    return with_goals(reading, goals_between(playback, goals, playback.first or reading.at, reading.at))


WATCHED = timedelta(minutes=62)
"""How far back polls are read to reproduce what a monitor that ran until a poll would have seen."""

RECALLED = 1000
"""The most polls that are read for that, the newest ones."""


def first_recalled(playback: Playback, index: int) -> int:
    """Return the index of the first poll that is read to know the state at poll `index`."""
    return max(0, playback.index(playback.at(index) - WATCHED), index - RECALLED)


def queue_marks_before(playback: Playback, index: int) -> QueueMarks:
    """Return the marks of the queue in the hour before a poll, as a monitor that ran until then would have them."""
    found, due = QueueMarks(), playback.first
    for each in range(first_recalled(playback, index), index):
        with suppress(LostPollError):
            if due is None or playback.at(each) >= due:
                found.add(playback.reading(each))
                due = playback.at(each) + MINUTE
    return found


def forecaster_before(playback: Playback, previous: Snapshot | None, steps: float = MOST_STEPS) -> Forecaster:
    """Return a forecaster of the queue after a poll that has learned from the hour recorded before it."""
    found = Forecaster(steps=steps)
    first = playback.first
    if previous is not None and first is not None:
        begin = max(first, previous.at - HOUR)
        found.begin(previous.at, previous.at - begin, past_runs(playback, begin, previous.at))
    return found


def with_forecasts(playback: Playback, index: int) -> Reading | None:
    """Return the reading of a poll with forecasts of its queue, None if it is damaged."""
    found: Reading | None = None
    forecaster: Forecaster | None = None
    for each in range(max(0, index - LEADING_POLLS), index + 1):
        found = None
        with suppress(LostPollError):
            previous, current = playback.pair(each)
            forecaster = forecaster or forecaster_before(playback, previous, ONE_LOOK)
            found = forecaster.read(playback.meaning((previous, current)), previous, current, None)
    return found
