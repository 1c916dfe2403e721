"""Which statements' texts and plans to fetch, and what is known of them.

V$SQL and V$SQL_PLAN are dear to search, so they are asked only for statements on show, by full key, a few at each
poll, and once: answers are kept, and what was not found or failed is not asked again for a minute.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from presman.events import QUEUE_WAITS, is_quantum
from presman.queries import Query
from presman.rows import PlanXml, PxSession, Session, SqlText
from presman.snapshot import Problem, Section
from presman.sources import Request

MOST_HELD = 5
"""Statements held off CPU that are looked up: those of most sessions."""

RETRY = timedelta(seconds=60)
"""When a statement that was not found, or a view that could not be read, is asked again."""
STALE = timedelta(hours=1)
"""When a known statement is asked again: a child number may have got another plan since."""


class Statement(NamedTuple):
    """The key of one cursor in V$SQL and V$SQL_PLAN."""

    inst_id: int
    sql_id: str
    child_number: int


def statements_on_show(sessions: Iterable[Session], px_sessions: Iterable[PxSession]) -> list[Statement]:
    """Return what the queue and the running parallel statements execute: queued ones first, each once.

    Last come the few statements whose sessions are held off CPU most.
    A coordinator that is idle but holds its servers shows the statement it ran last. A child number that is not
    known is taken for 0.
    """
    coordinators = {(row.qcinst_id or row.inst_id, row.qcsid) for row in px_sessions}
    queued, running = [], []
    held: Counter[Statement] = Counter()
    for session in sessions:
        if session.event in QUEUE_WAITS and session.sql_id:
            queued.append(_present(session))
        elif (session.inst_id, session.sid) in coordinators and (session.sql_id or session.prev_sql_id):
            running.append(_present(session) if session.sql_id else _previous(session))
        elif session.sql_id and is_quantum(session.event):
            held[_present(session)] += 1
    return list(dict.fromkeys(queued + running + [statement for statement, _ in held.most_common(MOST_HELD)]))


def _present(session: Session) -> Statement:
    return Statement(session.inst_id, session.sql_id, session.sql_child_number or 0)


def _previous(session: Session) -> Statement:
    return Statement(session.inst_id, session.prev_sql_id, session.prev_child_number or 0)


class Lookup(NamedTuple):
    """One question about one statement; `record` is PlanXml or SqlText."""

    record: type[Any]
    statement: Statement
    request: Request


@dataclass(frozen=True, slots=True)
class _Known:
    at: datetime
    rows: tuple[Any, ...]


class Lookups:
    """What is known of the statements on show. Keeps at most `most` answers, asks for `per_poll` statements at once."""

    RECORDS = (PlanXml, SqlText)

    def __init__(self, per_poll: int = 8, most: int = 1000) -> None:
        self._per_poll = per_poll
        self._most = most
        self._known: OrderedDict[tuple[type[Any], Statement], _Known] = OrderedDict()
        self._failed: dict[type[Any], tuple[datetime, Problem]] = {}

    def wanted(self, shown: Sequence[Statement], queries: Mapping[type[Any], Query], now: datetime) -> list[Lookup]:
        """Return what to ask at `now` about the statements `shown`, the first few that are not known yet."""
        found: list[Lookup] = []
        asked = 0
        for statement in shown:
            lookups = [
                Lookup(record, statement, _request(queries[record], statement))
                for record in self.RECORDS
                if record in queries and self._is_due(record, statement, now)
            ]
            asked += bool(lookups)
            if asked > self._per_poll:
                break
            found += lookups
        return found

    def learn(self, lookups: Sequence[Lookup], sections: Sequence[Section], now: datetime) -> None:
        """Keep the answers to `lookups`. A view fails as a whole if none of its questions was answered."""
        pairs = list(zip(lookups, sections, strict=True))
        for lookup, section in pairs:
            key = (lookup.record, lookup.statement)
            self._known[key] = _Known(now, section.rows)
            self._known.move_to_end(key)
        for record in self.RECORDS:
            problems = [section.problem for lookup, section in pairs if lookup.record is record]
            if problems and all(problems):
                self._failed[record] = (now, next(problem for problem in problems if problem))
            elif problems:
                self._failed.pop(record, None)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def sections(self, shown: Sequence[Statement]) -> dict[type[Any], Section]:
        """Return all that is known of the statements `shown`, by record."""
        return {record: self._section(record, shown) for record in self.RECORDS}

    def _section(self, record: type[Any], shown: Sequence[Statement]) -> Section:
        known = [found for statement in shown if (found := self._known.get((record, statement)))]
        for statement in shown:
            if (record, statement) in self._known:
                self._known.move_to_end((record, statement))
        failure = self._failed.get(record)
        return Section(
            tuple(row for found in known for row in found.rows),
            at=max((found.at for found in known), default=None),
            problem=failure[1] if failure else None,
        )

    def _is_due(self, record: type[Any], statement: Statement, now: datetime) -> bool:
        failure = self._failed.get(record)
        if failure and now - failure[0] < RETRY:
            return False
        known = self._known.get((record, statement))
        return known is None or now - known.at >= (STALE if known.rows else RETRY)


def _request(query: Query, statement: Statement) -> Request:
    return Request(
        query,
        {
            "at_inst_id": statement.inst_id,
            "sql_id": statement.sql_id,
            "child_number": statement.child_number,
        },
    )
