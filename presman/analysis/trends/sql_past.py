"""The past of one statement: what was seen of its parallel executions, and how busy it was."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from presman.analysis.trends import Watch
from presman.analysis.trends.sql_minutes import KEPT as MINUTES
from presman.analysis.trends.sql_minutes import SqlActivity
from presman.analysis.trends.statement_runs import StatementRun

LISTED = 8
"""Executions that are listed, the newest ones."""


class SqlExecution(NamedTuple):
    """One parallel execution: since when, seconds in the queue and running (None: not at all), most servers.

    `ended` tells that it is over; `idle` are the seconds that it has kept its servers idle, None while it works.
    """

    began: datetime
    group: str
    user: str
    queued: float | None
    ran: float | None
    servers: int
    ended: bool
    idle: float | None = None


class SqlPast(NamedTuple):
    """What was seen of a statement until an instant.

    `executions` parallel ones, of which `queued` had to queue: for `mean_wait` seconds on average and `longest_wait` at
    most, those that still wait counted as long as they have waited. `mean_run` is of those that are over; None where
    there is none. `servers` is the most that one held. `newest` are the last of them, the newest first. `activity` is
    how busy it was over the `watched` seconds of the last two hours, None where it was not.
    """

    executions: int
    queued: int
    mean_wait: float | None
    longest_wait: float | None
    mean_run: float | None
    servers: int
    newest: tuple[SqlExecution, ...]
    activity: SqlActivity | None
    watched: float


def sql_past(watch: Watch, sql_id: str, con_id: int | None, at: datetime) -> SqlPast:
    """Return what was seen of a statement of a container (None: of any) until an instant."""
    seen = (each for each in watch.runs.of(sql_id) if con_id in {None, each.con_id} and each.began <= at)
    found = [_execution(each, at) for each in seen]
    waits = [each.queued for each in found if each.queued is not None]
    times = [each.ran for each in found if each.ran is not None and each.ended]
    busy = [each for each in watch.sql_minutes.top(at, MINUTES) if each.sql_id == sql_id]
    return SqlPast(
        executions=len(found),
        queued=len(waits),
        mean_wait=_mean(waits),
        longest_wait=max(waits, default=None),
        mean_run=_mean(times),
        servers=max((each.servers for each in found if each.ran is not None), default=0),
        newest=tuple(sorted(found, key=lambda each: each.began, reverse=True)[:LISTED]),
        activity=next((each for each in busy if con_id in {None, each.con_id}), None),
        watched=watch.sql_minutes.watched(at, MINUTES),
    )


def _execution(run: StatementRun, at: datetime) -> SqlExecution:
    ended = run.ended is not None and run.ended <= at
    end = run.ended if run.ended is not None and ended else at
    started = run.started if run.started is not None and run.started <= at else None
    return SqlExecution(
        began=run.began,
        group=run.group,
        user=run.user,
        queued=None if run.queued is None else max(0.0, ((started or end) - run.queued).total_seconds()),
        ran=None if started is None else max(0.0, (end - started).total_seconds()),
        servers=run.servers,
        ended=ended,
        idle=None if ended or run.idle is None or run.idle > at else (at - run.idle).total_seconds(),
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
