"""Lookups of texts and plans: for which statements to fetch them, and what is known of them.

V$SQL and V$SQL_PLAN are dear to search, so they are asked only for statements on show, by full key, a few at each
poll (where that goes to a database), and once: answers are kept, and what was not found or failed is not asked again
for a minute.

The queue and what runs in parallel are looked up one by one. Of the other statements, those that are active most, only
the text is wanted, so several are asked for together: one statement in one round trip, at most once a minute.
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
"""Statements whose texts are asked for together."""

MOST_RANKED = 40
"""Statements whose texts go along with each poll: those of the queue and of what runs come besides."""

MOST_COUNTED = 500
"""Statements that are counted; beyond that the least busy half is forgotten."""

EVERY = timedelta(seconds=60)
"""How often texts are asked for, and how often older samples come to count half."""

COUNTED = timedelta(seconds=5)
"""How long is counted before texts are asked for at first: one sample says little of who is busy."""

LONGEST_REST = timedelta(hours=1)
"""How long nothing is asked at most where V$SQL takes too long to be searched for several statements."""

_LEAST = 0.25
"""Samples below which a statement is no longer busy: two to three minutes after it was seen once."""


class CursorKey(NamedTuple):
    """The key of one cursor in V$SQL and V$SQL_PLAN."""

    inst_id: int
    sql_id: str
    child_number: int


class TextsLookup(NamedTuple):
    """One question about the texts of several statements of one instance."""

    statements: tuple[CursorKey, ...]
    request: Request


class BusyTexts:
    """Counts in how many sessions each statement is active, and says whose texts to ask for, and when.

    A statement is counted once for all its cursors: they have the same text. With `at_once` there is nobody whom
    asking costs anything, and no minute to wait for.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._samples: Counter[str] = Counter()
        self._cursors: dict[str, CursorKey] = {}
        self._faded: datetime | None = None
        self._asked: datetime | None = None
        self._rest = COUNTED

    def add(self, sessions: Iterable[Session], now: datetime) -> None:
        """Count the sessions that are active, parallel servers among them."""
        for row in sessions:
            if row.status == "ACTIVE" and row.sql_id and row.type != BACKGROUND:
                self._samples[row.sql_id] += 1
                self._cursors.setdefault(row.sql_id, _present(row))
        self._asked = self._asked or now
        if self._faded is None or now - self._faded >= EVERY or now < self._faded:
            self._fade()
            self._faded = now
        elif len(self._samples) > MOST_COUNTED:
            self._keep(self._samples.most_common(MOST_COUNTED // 2))

    def _fade(self) -> None:
        halved = ((sql_id, samples / 2) for sql_id, samples in self._samples.most_common(MOST_COUNTED))
        self._keep([(sql_id, left) for sql_id, left in halved if left >= _LEAST])

    def _keep(self, samples: Iterable[tuple[str, float]]) -> None:
        self._samples = Counter(dict(samples))
        self._cursors = {sql_id: self._cursors[sql_id] for sql_id in self._samples}

    @property
    def ranked(self) -> list[CursorKey]:
        """The busiest statements, the first before the others."""
        return [self._cursors[sql_id] for sql_id, _ in self._samples.most_common(MOST_RANKED)]

    def is_due(self, now: datetime | None) -> bool:
        """Return whether texts may be asked for at `now` (None: not known)."""
        since = None if now is None or self._asked is None else now - self._asked
        return self._at_once or (since is not None and since >= self._rest)

    def lookup(self, wanted: Sequence[CursorKey], query: Query, now: datetime) -> TextsLookup:
        """Return the question about the first of the statements `wanted` and others on its instance."""
        self._asked = now
        chosen = tuple(each for each in wanted if each.inst_id == wanted[0].inst_id)[:AT_ONCE]
        binds: dict[str, object] = {"at_inst_id": chosen[0].inst_id}
        for number in range(AT_ONCE):  # the last one again in place of those that are missing: one text for all numbers
            each = chosen[min(number, len(chosen) - 1)]
            binds |= {f"sql_id_{number}": each.sql_id, f"child_number_{number}": each.child_number}
        return TextsLookup(chosen, Request(for_several(query, AT_ONCE), binds))

    def answered(self, section: Section) -> None:
        """Take note of an answer: a view that takes too long is left alone, ever longer."""
        late = section.problem is not None and section.problem.late
        self._rest = min(LONGEST_REST, 2 * max(EVERY, self._rest)) if late else EVERY


def text_of(statement: CursorKey, rows: Iterable[SqlText]) -> tuple[SqlText, ...]:
    """Return the text of a statement among those of several: its own cursor's, or else that of another of its own."""
    texts = [row for row in rows if row.sql_id == statement.sql_id]
    return tuple(sorted(texts, key=lambda row: row.child_number != statement.child_number)[:1])


MOST_HELD = 5
"""Statements held off CPU that are looked up: those of most sessions."""

RETRY = timedelta(seconds=60)
"""When a statement that was not found, or a view that could not be read, is asked again."""
STALE = timedelta(hours=1)
"""When a known statement is asked again: a child number may have got another plan since."""


def statements_on_show(
    sessions: Iterable[Session], px_sessions: Iterable[PxSession], servers: ServerProcesses = ALL_STATEMENTS
) -> list[CursorKey]:
    """Return what the queue and the running parallel statements execute, each once, what matters most first.

    First come the heads of the queues, then who holds most servers, then the rest of the queue, the longest waiting
    first, last the few statements whose sessions are held off CPU most. `servers` tells whose servers are a GV$
    query's. What a running statement is, its servers tell; where theirs cannot be seen, its coordinator, which shows
    the statement it ran last if it is idle. A child number that is not known is taken for 0.
    """
    coordinators = {
        (row.inst_id, row.sid): (row.qcinst_id or row.inst_id, row.qcsid)
        for row in px_sessions
        if row.qcsid and not servers.serves_gv_query(row.inst_id, row.sid, row.serial)
    }
    shown: dict[tuple[int, int], list[CursorKey]] = {session_key: [] for session_key in coordinators.values()}
    present: dict[tuple[int, int], CursorKey] = {}
    waiting: list[Session] = []
    held: Counter[CursorKey] = Counter()
    for session in sessions:
        session_key = (session.inst_id, session.sid)
        if session.sql_id and is_queued(session.event, session.state):
            waiting.append(session)
        elif session_key in shown:
            shown[session_key] = _shown_by(session)
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
    """Return these statements behind the one that a page is about, if it is about one: that is looked up first."""
    if page is None or not page.inst_id or not page.sql_id:
        return shown
    about = CursorKey(page.inst_id, page.sql_id, page.child or 0)
    return [about, *(each for each in shown if each != about)]


def _heads_and_others(waiting: Iterable[Session]) -> tuple[list[CursorKey], list[CursorKey]]:
    """Return what the first of each group's queue executes, and what the others do; the longest waiting first."""
    heads: dict[tuple[int, str], CursorKey] = {}
    others = []
    for session in sorted(waiting, key=lambda each: (each.event != NEXT_IN_LINE, -(each.wait_time_micro or 0))):
        statement, group = _present(session), (session.con_id, session.resource_consumer_group)
        if heads.setdefault(group, statement) is not statement:
            others.append(statement)
    return list(heads.values()), others


def _held_for(shown: Sequence[CursorKey], present: CursorKey | None) -> CursorKey | None:
    """Return the statement that servers are held for: theirs, as the cursor of their coordinator's instance."""
    if present is None:
        return shown[0] if shown else None
    return next((each for each in shown if each.sql_id == present.sql_id), present)


def _shown_by(session: Session) -> list[CursorKey]:
    """Return what a coordinator executes, and what it executed before."""
    found = [_present(session)] if session.sql_id else []
    return [*found, _previous(session)] if session.prev_sql_id else found


def _present(session: Session) -> CursorKey:
    return CursorKey(session.inst_id, session.sql_id, session.sql_child_number or 0)


def _previous(session: Session) -> CursorKey:
    return CursorKey(session.inst_id, session.prev_sql_id, session.prev_child_number or 0)


class Lookup(NamedTuple):
    """One question about one statement; `record` is PlanXml, PxPlanLine or SqlText."""

    record: type[Any]
    statement: CursorKey
    request: Request


class _Known(Struct, frozen=True):
    at: datetime
    rows: tuple[Any, ...]
    size: int
    failed: bool = False


PER_POLL = 8
"""Statements that a database is asked about at each poll."""


FEW_ANSWERS, FEW_KEPT = 90, 200_000
"""Answers and characters that one of many databases keeps, beside those on show."""


class Lookups:
    """What is known of the statements on show. Asks for `per_poll` statements at once, for all if that is None.

    `needs` say how many answers and characters of them are kept at most, the ones on show longest; with `few` hardly
    more than those on show, which it never lets go of before the others: they would be asked for at each poll.
    """

    def __init__(self, per_poll: int | None = PER_POLL, needs: PollNeeds = EVERYTHING) -> None:
        self.RECORDS: tuple[type[Any], ...] = (PlanXml, PxPlanLine, *([SqlText] if needs.texts else []))
        self._per_poll = per_poll
        self._needs = needs
        self._shown: frozenset[CursorKey] = frozenset()
        self._size = 0
        self._known: OrderedDict[tuple[type[Any], CursorKey], _Known] = OrderedDict()
        self._failed: dict[type[Any], tuple[datetime, Problem]] = {}

    def wanted(self, shown: Sequence[CursorKey], queries: Mapping[type[Any], Query], now: datetime) -> list[Lookup]:
        """Return what to ask at `now` about the statements `shown`, the first few that are not known yet."""
        self._shown = frozenset(shown) if self._needs.few else self._shown
        found: list[Lookup] = []
        asked = 0
        for statement in shown:
            lookups = [
                Lookup(record, statement, _request(queries[record], statement))
                for record in self.RECORDS
                if record in queries and self._is_due(record, statement, now)
            ]
            asked += bool(lookups)
            if self._per_poll is not None and asked > self._per_poll:
                break
            found += lookups
        return found

    def texts_due(self, statements: Iterable[CursorKey], now: datetime) -> list[CursorKey]:
        """Return those of the statements whose texts are to be asked for at `now`."""
        return [each for each in statements if self._is_due(SqlText, each, now)]

    def learn_texts(self, lookup: TextsLookup, section: Section, now: datetime) -> None:
        """Keep the texts of several statements. That V$SQL took too long for all of them says nothing of one."""
        if section.problem is None:
            for each in lookup.statements:
                rows = text_of(each, section.rows)
                self._keep((SqlText, each), _Known(now, rows, _size(rows)))
        elif not section.problem.late:
            self._failed[SqlText] = (now, section.problem)

    def to_come(self, shown: Sequence[CursorKey], queries: Mapping[type[Any], Query]) -> int:
        """Return how many of the statements `shown` have not been asked about yet; views that failed do not count."""
        records = [record for record in self.RECORDS if record in queries and record not in self._failed]
        return sum(any((record, statement) not in self._known for record in records) for statement in shown)

    def learn(self, lookups: Sequence[Lookup], sections: Sequence[Section], now: datetime) -> None:
        """Keep the answers to `lookups`. A view fails as a whole if none of its questions was answered."""
        pairs = list(zip(lookups, sections, strict=True))
        for lookup, section in pairs:
            known = _Known(now, section.rows, _size(section.rows), section.problem is not None)
            self._keep((lookup.record, lookup.statement), known)
        for record in self.RECORDS:
            problems = [section.problem for lookup, section in pairs if lookup.record is record]
            if problems and all(problems):
                self._failed[record] = (now, next(problem for problem in problems if problem))
            elif problems:
                self._failed.pop(record, None)

    def _keep(self, key: tuple[type[Any], CursorKey], known: _Known) -> None:
        """Keep an answer, and let go of those that were on show longest ago."""
        before = self._known.pop(key, None)
        self._known[key] = known
        self._size += known.size - (before.size if before else 0)
        while self._has_too_many():
            self._size -= self._known.popitem(last=False)[1].size

    def _has_too_many(self) -> bool:
        if len(self._known) > self._needs.most or (self._size > self._needs.largest and len(self._known) > 1):
            return True
        if not self._needs.few or (len(self._known) <= FEW_ANSWERS and self._size <= FEW_KEPT):
            return False
        _, oldest = next(iter(self._known))
        return oldest not in self._shown

    def sections(self, shown: Sequence[CursorKey], busy: Sequence[CursorKey] = ()) -> dict[type[Any], Section]:
        """Return all that is known of the statements `shown`, by record, and the texts of the `busy` ones."""
        texts = list(dict.fromkeys([*shown, *busy]))
        return {record: self._section(record, texts if record is SqlText else shown) for record in self.RECORDS}

    def _section(self, record: type[Any], shown: Sequence[CursorKey]) -> Section:
        known = {statement: found for statement in shown if (found := self._known.get((record, statement)))}
        for statement in known:
            self._known.move_to_end((record, statement))
        failure = self._failed.get(record)
        rows: list[Any] = []
        for statement, found in known.items():
            rows += found.rows
            if record is SqlText and not found.rows and not found.failed:
                rows.append(SqlText(*statement, sql_text=""))
        return Section(
            tuple(rows),
            at=max((found.at for found in known.values()), default=None),
            problem=failure[1] if failure else None,
        )

    def _is_due(self, record: type[Any], statement: CursorKey, now: datetime) -> bool:
        failure = self._failed.get(record)
        if failure and now - failure[0] < RETRY:
            return False
        known = self._known.get((record, statement))
        return known is None or now - known.at >= (STALE if known.rows else RETRY)


def _size(rows: tuple[Any, ...]) -> int:
    return sum(len(value) for row in rows for value in row if isinstance(value, str))


def _request(query: Query, statement: CursorKey) -> Request:
    return Request(
        query, {"at_inst_id": statement.inst_id, "sql_id": statement.sql_id, "child_number": statement.child_number}
    )
