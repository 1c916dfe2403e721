"""Lookups of SQL texts and plans: the statements to fetch them for, and the answers so far.

V$SQL and V$SQL_PLAN are expensive to search, so they are queried only for statements on show, by full key, and once.
A poll of a database looks up only a few statements. Answers are kept; a statement that was not found, or whose lookup
failed, is retried after a minute.

Queued and parallel statements are looked up one by one. Of the busiest other statements only the text is needed, so one
query, in one round trip and at most once a minute, fetches several texts.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec import Struct

from presman.polling.cadence import EVERYTHING, PollNeeds
from presman.rows.cursor_rows import PlanXml, PxPlanLine, SqlText
from presman.rows.queries import Focus, Query, for_several
from presman.rows.session_rows import BACKGROUND, PxSession, Session
from presman.rows.session_state import ALL_STATEMENTS, NEXT_IN_LINE, ServerProcesses, is_held, is_queued
from presman.rows.snapshot import Problem, Section
from presman.sources import Request

AT_ONCE = 20
"""Statements whose texts one query fetches."""

MOST_RANKED = 40
"""Busiest statements whose texts each snapshot contains, besides those of queued and running parallel statements."""

MOST_COUNTED = 500
"""Statements that are counted; beyond this limit the least busy half is dropped."""

EVERY = timedelta(seconds=60)
"""How often texts are fetched, and how often the weight of older samples is halved."""

COUNTED = timedelta(seconds=5)
"""How long sessions are counted before texts are first fetched: one sample says little about which are busy."""

LONGEST_REST = timedelta(hours=1)
"""Longest pause between fetches where searching V$SQL for several statements takes too long."""

_LEAST = 0.25
"""Samples below which a statement no longer counts as busy: reached two to three minutes after a single sample."""


class CursorKey(NamedTuple):
    """The key of one cursor in V$SQL and V$SQL_PLAN."""

    inst_id: int
    sql_id: str
    child_number: int


class TextsLookup(NamedTuple):
    """One request for the texts of several statements on one instance."""

    statements: tuple[CursorKey, ...]
    request: Request


class BusyTexts:
    """Counts the sessions in which each statement is active, and decides which texts to fetch, and when.

    All cursors of a statement are counted together, because they have the same text. With `at_once` fetching is free
    (no database is queried), so there is no pause between fetches.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._samples: Counter[str] = Counter()
        self._cursors: dict[str, CursorKey] = {}
        self._halved_at: datetime | None = None
        self._asked: datetime | None = None
        self._rest = COUNTED

    def add(self, sessions: Iterable[Session], now: datetime) -> None:
        """Count the active sessions, including parallel servers."""
        for row in sessions:
            if row.status == "ACTIVE" and row.sql_id and row.type != BACKGROUND:
                self._samples[row.sql_id] += 1
                self._cursors.setdefault(row.sql_id, _present(row))
        self._asked = self._asked or now
        # A clock that went back must not keep the samples from being halved.
        if self._halved_at is None or now - self._halved_at >= EVERY or now < self._halved_at:
            halved = ((sql_id, samples / 2) for sql_id, samples in self._samples.most_common(MOST_COUNTED))
            self._keep([(sql_id, left) for sql_id, left in halved if left >= _LEAST])
            self._halved_at = now
        elif len(self._samples) > MOST_COUNTED:
            self._keep(self._samples.most_common(MOST_COUNTED // 2))

    def _keep(self, samples: Iterable[tuple[str, float]]) -> None:
        self._samples = Counter(dict(samples))
        self._cursors = {sql_id: self._cursors[sql_id] for sql_id in self._samples}

    @property
    def ranked(self) -> list[CursorKey]:
        """The busiest statements, in descending order of activity."""
        return [self._cursors[sql_id] for sql_id, _ in self._samples.most_common(MOST_RANKED)]

    def is_due(self, now: datetime | None) -> bool:
        """Return whether texts may be fetched at `now` (None: not known)."""
        since = None if now is None or self._asked is None else now - self._asked
        return self._at_once or (since is not None and since >= self._rest)

    def lookup(self, wanted: Sequence[CursorKey], query: Query, now: datetime) -> TextsLookup:
        """Return the request for the first statement in `wanted` and for others on the same instance."""
        self._asked = now
        chosen = tuple(each for each in wanted if each.inst_id == wanted[0].inst_id)[:AT_ONCE]
        binds: dict[str, object] = {"at_inst_id": chosen[0].inst_id}
        for number in range(AT_ONCE):  # padded with the last statement, so that the SQL text is always the same
            each = chosen[min(number, len(chosen) - 1)]
            binds |= {f"sql_id_{number}": each.sql_id, f"child_number_{number}": each.child_number}
        return TextsLookup(chosen, Request(for_several(query, AT_ONCE), binds))

    def answered(self, section: Section) -> None:
        """Record an answer: each timeout doubles the pause before the next fetch."""
        late = section.problem is not None and section.problem.late
        self._rest = min(LONGEST_REST, 2 * max(EVERY, self._rest)) if late else EVERY


def text_of(statement: CursorKey, rows: Iterable[SqlText]) -> tuple[SqlText, ...]:
    """Return the row with the text of `statement`: of its cursor if possible, else of another child; () if none."""
    texts = [row for row in rows if row.sql_id == statement.sql_id]
    return tuple(sorted(texts, key=lambda row: row.child_number != statement.child_number)[:1])


MOST_HELD = 5
"""Statements held off CPU that are looked up: those with the most such sessions."""

RETRY = timedelta(seconds=60)
"""Time until a statement that was not found, or a view that could not be read, is queried again."""
STALE = timedelta(hours=1)
"""Time until a statement that was found is looked up again: its child number may have another plan by then."""


def statements_on_show(
    sessions: Iterable[Session], px_sessions: Iterable[PxSession], servers: ServerProcesses = ALL_STATEMENTS
) -> list[CursorKey]:
    """Return the cursors of the queued and the running parallel statements, each once, the most important first.

    First come the heads of the queues, then the running statements by the servers they hold, then the other queued
    statements by their wait, last the few statements with the most sessions held off CPU. `servers` identifies the
    servers of GV$ queries, which are left out. A running statement is identified by its servers; where their SQL_ID is
    not known, by its coordinator, which shows its previous statement if it is idle. An unknown child number counts
    as 0.
    """
    rows = (row for row in px_sessions if not servers.serves_gv_query(row.inst_id, row.sid, row.serial))
    coordinators = {(row.inst_id, row.sid): (row.qcinst_id or row.inst_id, row.qcsid) for row in rows if row.qcsid}
    shown: dict[tuple[int, int], list[CursorKey]] = {session_key: [] for session_key in coordinators.values()}
    present: dict[tuple[int, int], CursorKey] = {}
    waiting: list[Session] = []
    held: Counter[CursorKey] = Counter()
    for session in sessions:
        session_key = (session.inst_id, session.sid)
        if session.sql_id and is_queued(session.event, session.state):
            waiting.append(session)
        elif session_key in shown:  # the statement that a coordinator executes, and the one before
            both = (session.sql_id, session.sql_child_number), (session.prev_sql_id, session.prev_child_number)
            shown[session_key] = [CursorKey(session.inst_id, sql_id, child or 0) for sql_id, child in both if sql_id]
        elif session_key in coordinators:
            if session.sql_id:
                present.setdefault(coordinators[session_key], _present(session))
        elif session.sql_id and is_held(session.event, session.state, ""):
            held[_present(session)] += 1
    largest = [session_key for session_key, _ in Counter(coordinators.values()).most_common()]
    running = [cursor for session_key in largest if (cursor := _held_for(shown[session_key], present.get(session_key)))]
    heads, queued = _heads_and_others(waiting)
    most_held = [statement for statement, _ in held.most_common(MOST_HELD)]
    return list(dict.fromkeys([*heads, *running, *queued, *most_held]))


def behind_page(shown: Sequence[CursorKey], page: Focus | None) -> Sequence[CursorKey]:
    """Return `shown` with the statement of an open page, if there is one, moved to the front: it is looked up first."""
    if page is None or not page.inst_id or not page.sql_id:
        return shown
    about = CursorKey(page.inst_id, page.sql_id, page.child or 0)
    return [about, *(each for each in shown if each != about)]


def _heads_and_others(waiting: Iterable[Session]) -> tuple[list[CursorKey], list[CursorKey]]:
    """Return the statements at the head of each group's queue, and the other queued ones; longest wait first."""
    heads: dict[tuple[int, str], CursorKey] = {}
    others = []
    for session in sorted(waiting, key=lambda each: (each.event != NEXT_IN_LINE, -(each.wait_time_micro or 0))):
        statement, group = _present(session), (session.con_id, session.resource_consumer_group)
        if heads.setdefault(group, statement) is not statement:
            others.append(statement)
    return list(heads.values()), others


def _held_for(shown: Sequence[CursorKey], present: CursorKey | None) -> CursorKey | None:
    """Return the statement that servers are held for: `present` is theirs, `shown` lists their coordinator's.

    The coordinator's cursor of the same SQL_ID is preferred, because it is the one on the coordinator's instance.
    """
    if present is None:
        return shown[0] if shown else None
    return next((each for each in shown if each.sql_id == present.sql_id), present)


def _present(session: Session) -> CursorKey:
    return CursorKey(session.inst_id, session.sql_id, session.sql_child_number or 0)


class Lookup(NamedTuple):
    """One request about one statement; `record` is PlanXml, PxPlanLine or SqlText."""

    record: type[Any]
    statement: CursorKey
    request: Request


class _Answer(Struct, frozen=True):
    at: datetime
    rows: tuple[Any, ...]
    size: int
    failed: bool = False


PER_POLL = 8
"""Statements that one poll of a database looks up."""


FEW_ANSWERS, FEW_KEPT = 90, 200_000
"""Answers and characters that are kept for one of many databases, besides those about statements on show."""


class Lookups:
    """The answers about the statements on show. At most `per_poll` statements are looked up at a time; None: all.

    `needs` limits the answers that are kept and their characters; the least recently shown are dropped first. With
    `few`, hardly more is kept than the answers about statements on show. Those are never dropped, because they would be
    looked up again at each poll.
    """

    def __init__(self, per_poll: int | None = PER_POLL, needs: PollNeeds = EVERYTHING) -> None:
        self.RECORDS: tuple[type[Any], ...] = (PlanXml, PxPlanLine, *([SqlText] if needs.texts else []))
        self._per_poll = per_poll
        self._needs = needs
        self._shown: frozenset[CursorKey] = frozenset()
        self._size = 0
        self._answers: OrderedDict[tuple[type[Any], CursorKey], _Answer] = OrderedDict()
        self._failed: dict[type[Any], tuple[datetime, Problem]] = {}

    def wanted(self, shown: Sequence[CursorKey], queries: Mapping[type[Any], Query], now: datetime) -> list[Lookup]:
        """Return the lookups to make at `now` for the first few of the statements `shown` that lack an answer."""
        self._shown = frozenset(shown) if self._needs.few else self._shown
        found: list[Lookup] = []
        asked = 0
        for statement in shown:
            binds = {
                "at_inst_id": statement.inst_id,
                "sql_id": statement.sql_id,
                "child_number": statement.child_number,
            }
            due = (each for each in self.RECORDS if each in queries and self._is_due(each, statement, now))
            lookups = [Lookup(record, statement, Request(queries[record], binds)) for record in due]
            asked += bool(lookups)
            if self._per_poll is not None and asked > self._per_poll:
                break
            found += lookups
        return found

    def texts_due(self, statements: Iterable[CursorKey], now: datetime) -> list[CursorKey]:
        """Return the statements whose texts are due at `now`."""
        return [each for each in statements if self._is_due(SqlText, each, now)]

    def learn_texts(self, lookup: TextsLookup, section: Section, now: datetime) -> None:
        """Keep the texts of several statements. A timeout is ignored: a search for one statement may still succeed."""
        if section.problem is None:
            for each in lookup.statements:
                rows = text_of(each, section.rows)
                self._keep((SqlText, each), _Answer(now, rows, _size(rows)))
        elif not section.problem.late:
            self._failed[SqlText] = (now, section.problem)

    def to_come(self, shown: Sequence[CursorKey], queries: Mapping[type[Any], Query]) -> int:
        """Return how many of the statements `shown` have not been looked up yet; views that failed do not count."""
        records = [record for record in self.RECORDS if record in queries and record not in self._failed]
        return sum(any((record, statement) not in self._answers for record in records) for statement in shown)

    def learn(self, lookups: Sequence[Lookup], sections: Sequence[Section], now: datetime) -> None:
        """Keep the answers to `lookups`. A view counts as failed if all its lookups failed."""
        pairs = list(zip(lookups, sections, strict=True))
        for lookup, section in pairs:
            answer = _Answer(now, section.rows, _size(section.rows), section.problem is not None)
            self._keep((lookup.record, lookup.statement), answer)
        for record in self.RECORDS:
            problems = [section.problem for lookup, section in pairs if lookup.record is record]
            if problems and all(problems):
                self._failed[record] = (now, next(problem for problem in problems if problem))
            elif problems:
                self._failed.pop(record, None)

    def _keep(self, key: tuple[type[Any], CursorKey], answer: _Answer) -> None:
        """Keep an answer, and drop those that have not been shown for the longest time."""
        before = self._answers.pop(key, None)
        self._answers[key] = answer
        self._size += answer.size - (before.size if before else 0)
        while self._has_too_many():
            self._size -= self._answers.popitem(last=False)[1].size

    def _has_too_many(self) -> bool:
        # A single answer stays, however large: without it the statement would be looked up at each poll.
        if len(self._answers) > self._needs.most or (self._size > self._needs.largest and len(self._answers) > 1):
            return True
        if not self._needs.few or (len(self._answers) <= FEW_ANSWERS and self._size <= FEW_KEPT):
            return False
        _, oldest = next(iter(self._answers))
        return oldest not in self._shown

    def sections(self, shown: Sequence[CursorKey], busy: Sequence[CursorKey] = ()) -> dict[type[Any], Section]:
        """Return all answers about the statements `shown`, by record, and the texts of the `busy` ones."""
        texts = list(dict.fromkeys([*shown, *busy]))
        return {record: self._section(record, texts if record is SqlText else shown) for record in self.RECORDS}

    def _section(self, record: type[Any], shown: Sequence[CursorKey]) -> Section:
        answers = {statement: found for statement in shown if (found := self._answers.get((record, statement)))}
        for statement in answers:
            self._answers.move_to_end((record, statement))
        failure = self._failed.get(record)
        rows: list[Any] = []
        for statement, found in answers.items():
            rows += found.rows
            # An empty text says that the statement was looked up and not found.
            if record is SqlText and not found.rows and not found.failed:
                rows.append(SqlText(*statement, sql_text=""))
        return Section(
            tuple(rows),
            at=max((found.at for found in answers.values()), default=None),
            problem=failure[1] if failure else None,
        )

    def _is_due(self, record: type[Any], statement: CursorKey, now: datetime) -> bool:
        if (failure := self._failed.get(record)) and now - failure[0] < RETRY:
            return False
        answer = self._answers.get((record, statement))
        return answer is None or now - answer.at >= (STALE if answer.rows else RETRY)


def _size(rows: tuple[Any, ...]) -> int:
    return sum(len(value) for row in rows for value in row if isinstance(value, str))
