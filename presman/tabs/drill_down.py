"""Drill-down: the scope that a row of a table opens (a group, event, instance, PDB or statement), and its list."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.caches import once
from presman.analysis.collapsed_rows import CollapsedStatements, collapse_queue, collapse_sessions, kind_of
from presman.analysis.groups.verdicts import in_words
from presman.analysis.latency.histograms import EventLatency
from presman.analysis.parallel.counted_servers import holdings
from presman.analysis.plans.plan_view import CONTAINER, GROUP, PlanRow
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import CLUSTER, InstanceReading, Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import (
    ParallelStatement,
    QueuedStatement,
    RunningStatement,
    running_in_words,
)
from presman.analysis.readings.wait_readings import WaitReading
from presman.analysis.session_list import SERVER, CpuWaiter
from presman.analysis.trends.sql_minutes import SqlTexts
from presman.analysis.trends.statement_runs import StatementRun
from presman.base.formats import counted
from presman.figures.drawing.lines import Line
from presman.figures.group_figures import OVERVIEW
from presman.figures.session_figures import SESSIONS
from presman.figures.statement_figures import QUEUE, RUNNING, stands_for
from presman.figures.top_figures import TOP_OF_SCOPE, TopStatement
from presman.rows.queries import DetailLevel
from presman.rows.session_rows import SessionCount
from presman.rows.session_state import POOL_WAIT, comma_serial
from presman.tabs import title, top
from presman.tabs.alerts import queue_unavailable
from presman.tabs.choices import DrillScope, breadcrumb
from presman.tabs.parts import Lines, Moment, Rows, Tab, alike_in_groups, on_one_instance, servers_scale
from presman.tabs.sessions import folded_and_not_listed, without_blockers
from presman.tabs.table_notes import CPU_LEGEND, statements_folded, unavailable


class ScopeContents(Struct, frozen=True):
    """The contents of a scope at an instant."""

    groups: tuple[GroupReading, ...]
    queue: tuple[QueuedStatement, ...]
    running: tuple[RunningStatement, ...]
    sessions: tuple[SessionReading, ...]


def scope_of(row: Any) -> DrillScope | None:
    """Return the scope that a row opens, None for rows that only have a page: a session, a statement, a finding."""
    found = None
    # Instance 0 is the cluster: the scope of its row is on any instance (None).
    if isinstance(row, GroupReading):
        found = DrillScope(row.title, inst_id=row.inst_id or None, con_id=row.con_id, group=row.name)
    elif isinstance(row, PlanRow) and row.kind in {GROUP, CONTAINER}:
        found = DrillScope(row.name, con_id=row.con_id, group=row.name if row.kind == GROUP else "")
    elif isinstance(row, WaitReading | EventLatency):
        found = DrillScope(row.event, inst_id=row.inst_id or None, event=row.event)
    elif isinstance(row, InstanceReading):
        found = DrillScope(f"instance {row.inst_id}", inst_id=row.inst_id)
    elif isinstance(row, PdbReading):
        found = DrillScope(row.name, inst_id=row.inst_id or None, con_id=row.con_id)
    elif isinstance(row, TopStatement):
        found = DrillScope(row.activity.sql_id, con_id=row.activity.con_id, sql_id=row.activity.sql_id)
    elif isinstance(row, CpuWaiter | CollapsedStatements) and row.sql_id:
        alike = kind_of(row) if isinstance(row, CollapsedStatements) else ()
        found = DrillScope(row.sql_id, con_id=row.con_id, group=row.group, sql_id=row.sql_id, alike=alike)
    return found


def name_of(row: Any) -> str:
    """Return the name of a row in the breadcrumb."""
    if isinstance(row, SessionReading):
        return f"{row.inst_id}:{row.sid}{comma_serial(row.serial)}"
    if isinstance(row, ParallelStatement):
        return row.sql_id or f"{row.inst_id}:{row.sid}{comma_serial(row.serial)}"
    scope = scope_of(row)
    return scope.title if scope is not None else ""


def contents_of(scope: DrillScope, reading: Reading) -> ScopeContents:
    """Return the contents of a scope. A statement belongs to it by its coordinator or, for an event, by a server."""
    sessions = tuple(row for row in reading.sessions if _has(scope, row) and scope.event in {"", row.event})
    at_work = {_coordinator(row) for row in sessions} if scope.event else None
    queue = tuple(row for row in reading.queue if _has(scope, row) and _is_one_of(row, at_work))
    running = tuple(row for row in reading.running if _has(scope, row) and _is_one_of(row, at_work))
    if scope.alike:  # the other queued statements of that SQL_ID have rows of their own
        others = {(row.inst_id, row.sid, row.serial) for row in queue if kind_of(row) != scope.alike}
        queue = tuple(row for row in queue if kind_of(row) == scope.alike)
        sessions = tuple(row for row in sessions if _coordinator(row) not in others)
    return ScopeContents(_groups(scope, reading), queue, running, sessions)


def counted_sessions(scope: DrillScope, counts: Sequence[SessionCount]) -> int | None:
    """Return how many sessions of a scope the database counted, None if its count does not apply.

    The database counts by instance, container and group, not by event or statement.
    """
    if scope.event or scope.sql_id:
        return None
    here = (row for row in counts if scope.inst_id in {None, row.inst_id} and scope.con_id in {None, row.con_id})
    return sum(row.sessions for row in here if scope.group in {"", row.resource_consumer_group})


def _is_one_of(row: ParallelStatement, sessions: Collection[tuple[int, int, int]] | None) -> bool:
    return sessions is None or (row.inst_id, row.sid, row.serial) in sessions


def _has(scope: DrillScope, row: ParallelStatement | SessionReading) -> bool:
    """Return whether a session or statement is in a scope, ignoring events; a statement is where it has servers."""
    on = {row.inst_id, *(row.servers_by_instance if isinstance(row, RunningStatement) else ())}
    is_there = scope.inst_id in {None, *on} and scope.con_id in {None, row.con_id}
    return is_there and scope.group in {"", row.group} and scope.sql_id in {"", row.sql_id}


def _coordinator(row: SessionReading) -> tuple[int, int, int]:
    session = row.inst_id, row.sid, row.serial
    return (row.coordinator or session) if row.px_role == SERVER else session


def _groups(scope: DrillScope, reading: Reading) -> tuple[GroupReading, ...]:
    """Return the groups of an instance or a container, () for a scope within a group."""
    if not scope.is_location:
        return ()
    rows: Sequence[GroupReading] = reading.instance_groups(scope.inst_id or CLUSTER)
    found = tuple(row for row in rows if scope.con_id in {None, row.con_id})
    # So that a group of an instance stays one of that instance, even if it is the only instance.
    return found if scope.inst_id is None else tuple(row._replace(inst_id=scope.inst_id) for row in found)


def within(outer: Sequence[DrillScope], scope: DrillScope) -> DrillScope:
    """Return a scope restricted by the scope from which it was opened."""
    if not outer:
        return scope
    last = outer[-1]
    return replace(
        scope,
        inst_id=scope.inst_id or last.inst_id,
        con_id=last.con_id if scope.con_id is None else scope.con_id,
        group=scope.group or last.group,
        event=scope.event or last.event,
        sql_id=scope.sql_id or last.sql_id,
        alike=scope.alike or last.alike,
    )


_NOTHING = ScopeContents((), (), (), ())


@once
def contents(moment: Moment) -> ScopeContents:
    """Return the contents of the scope on screen."""
    scope = moment.choices.scope
    return contents_of(scope, moment.reading) if scope else _NOTHING


def groups_unavailable(moment: Moment) -> str:
    """Return why the groups of an instance or a container cannot be seen, "" if they can or if none are listed."""
    scope = moment.choices.scope
    return unavailable("V$RSRC_CONSUMER_GROUP")(moment) if scope is not None and scope.is_location else ""


@once
def queue(moment: Moment) -> tuple[QueuedStatement, ...]:
    """Return its queued statements. In the scope of a statement they are its executions, never folded."""
    rows = contents(moment).queue
    return rows if moment.choices.unfolded or _is_statement(moment) else collapse_queue(rows)


@once
def sessions(moment: Moment) -> tuple[SessionReading, ...]:
    """Return its sessions."""
    return collapse_sessions(contents(moment).sessions, unfolded=moment.choices.unfolded)


@once
def busiest(moment: Moment) -> tuple[TopStatement, ...]:
    """Return the busiest statements of a group or a container in the window; those of an instance are not known."""
    scope = moment.choices.scope
    several = len(moment.reading.header.instances) > 1
    if scope is None or scope.event or scope.sql_id or (several and scope.inst_id is not None):
        return ()
    rows = (row for row in top.statements(moment) if scope.con_id in {None, row.activity.con_id})
    return tuple(row for row in rows if scope.group in {"", row.activity.group})


def session_note(moment: Moment) -> str:
    """Return the note after the title of the sessions: how many are folded, and how many are not listed."""
    total = _counted(moment)
    unlisted = None if total is None else total - len(contents(moment).sessions)
    return folded_and_not_listed(moment, sessions(moment), unlisted)


@once
def _counted(moment: Moment) -> int | None:
    """Return how many sessions are in the scope, listed or not; None if that is not known."""
    snapshot, listed = moment.snapshot, len(contents(moment).sessions)
    if moment.reading.unlisted == 0:
        return listed
    if moment.reading.unlisted is None or snapshot is None or moment.choices.scope is None:
        return None
    number = counted_sessions(moment.choices.scope, snapshot.rows(SessionCount))
    return None if number is None else max(number, listed)


def _is_statement(moment: Moment) -> bool:
    return moment.choices.scope is not None and bool(moment.choices.scope.sql_id)


def about(moment: Moment) -> list[Line]:
    """Return the lines above the tables: the path to the scope, the counts of its contents, and notes on its group."""
    found, scopes = contents(moment), moment.choices.scopes
    counts = [_sessions_in_words(found.sessions, _counted(moment))]
    if held := running_in_words(found.running):
        counts.append(f"{', '.join(held)}{_not_counted(moment)}")
    if found.queue:
        counts.append(f"{sum(map(stands_for, found.queue))} queued")
    where = breadcrumb(title(moment.choices.tab), scopes, several=len(moment.reading.header.instances) > 1)
    lines: list[Line] = [((f" {where}", "title"), (f"   {'; '.join(counts)}", ""))]
    return lines + [((f" {in_words(moment.reading, row)}", ""),) for row in _own_group(moment)]


def _sessions_in_words(listed: Sequence[SessionReading], total: int | None) -> str:
    """Return how many sessions there are, how many of them have no row, and how many are active.

    A session that Resource Manager makes wait is ACTIVE in V$SESSION, but not among the active sessions of its group.
    """
    in_call = [row for row in listed if row.status == "ACTIVE"]
    waiting = sum(row.event == POOL_WAIT for row in in_call)
    number = f"{counted(len(listed), 'session')} listed" if total is None else counted(total, "session")
    idle = (total or 0) - len(listed)
    number += f" ({idle} idle, not listed)" if idle > 0 else ""
    return f"{number}, {len(in_call) - waiting} active" + (f", {waiting} waiting to become active" if waiting else "")


def _not_counted(moment: Moment) -> str:
    """Return how many servers of a group's statements are missing from the group's count, which the tables show."""
    rows = [row for row in _own_group(moment) if row.inst_id == CLUSTER or len(moment.reading.header.instances) < 2]
    beside = sum(holdings(moment.reading, row.con_id, row.name).uncounted for row in rows)
    return f", {beside} of them not counted (did not queue)" if beside else ""


def no_sessions(moment: Moment) -> str:
    """Return the sentence shown if there are no sessions."""
    if _is_statement(moment):
        return "No session runs it at this moment; Esc, then Enter on the statement shows all about it."
    return "No session is in it now."


def alike_in_scope(moment: Moment) -> frozenset[str]:
    """Return the columns of statements with the same text in every row: the name of the group in its scope."""
    return frozenset({"consumer_group"} if moment.choices.scope and moment.choices.scope.group else ())


def _own_group(moment: Moment) -> list[GroupReading]:
    """Return the group of the scope, [] if the scope is not exactly one group."""
    scope = moment.choices.scope
    if scope is None or not scope.group or scope.event or scope.sql_id:
        return []
    rows = moment.reading.instance_groups(scope.inst_id or 0)
    return [row for row in rows if row.name == scope.group and scope.con_id in {None, row.con_id}]


TAB = Tab(
    parts=(
        Lines("drill-down-about", about),
        Rows(
            OVERVIEW,
            lambda moment: contents(moment).groups,
            alike_in_groups,
            note=lambda _: CPU_LEGEND,
            least=servers_scale,
            optional=True,
            unavailable=groups_unavailable,
        ),
        Rows(
            QUEUE,
            queue,
            on_one_instance,
            lambda moment: statements_folded(queue(moment)),
            measure="queue",
            optional=True,
            unavailable=lambda moment: queue_unavailable(moment.reading),
        ),
        Rows(
            RUNNING,
            lambda moment: contents(moment).running,
            on_one_instance,
            measure="parallel",
            optional=True,
            unavailable=unavailable("V$PX_SESSION"),
        ),
        Rows(TOP_OF_SCOPE, busiest, alike_in_scope, note=top.over, optional=True),
        Rows(
            SESSIONS,
            sessions,
            without_blockers,
            session_note,
            unavailable=lambda moment: unavailable("V$SESSION")(moment) or no_sessions(moment),
        ),
    ),
    notes=(
        "Listed are the sessions and statements that match everything in the breadcrumb: a statement is on an instance "
        "where it has servers, and at an event while its coordinator or one of its servers waits for it.",
    ),
    panel="presman.tui.panels.shared_panel:SharedPanel",
    over_time=True,
    progress=True,
    detail_level=DetailLevel.IDLE_SESSIONS,
    measure="session_io",
)


# ---- The statement of a table row: its SQL_ID, and its cursor and session if the row has them.


class Statement(NamedTuple):
    """A statement in a container (None: in any). Instance 0 and child None mean not known.

    `session` is the SID and SERIAL# of the session that runs it, None if the row is not about a session.
    """

    sql_id: str
    con_id: int | None = None
    inst_id: int = 0
    child: int | None = None
    session: tuple[int, int] | None = None

    @property
    def session_name(self) -> str:
        """The session in the form that ALTER SYSTEM KILL SESSION takes, ``503,7,@1``, or ""."""
        return f"{self.session[0]},{self.session[1]},@{self.inst_id}" if self.session else ""


def statement_of(row: Any) -> Statement | None:
    """Return the statement that a row is about, None if about none."""
    found = row if isinstance(row, Statement) else None
    if isinstance(row, TopStatement):
        found = Statement(row.activity.sql_id, row.activity.con_id)
    elif isinstance(row, CpuWaiter):
        found = Statement(row.sql_id, row.con_id)
    elif isinstance(row, CollapsedStatements):
        found = statement_of(row.same[0])
    elif isinstance(row, ParallelStatement | SessionReading):
        found = Statement(row.sql_id, row.con_id, row.inst_id, row.child, (row.sid, row.serial))
    elif isinstance(row, StatementRun):
        found = Statement(row.sql_id, row.con_id, row.inst_id)
    return found if found is not None and (found.sql_id or found.session) else None


def has_cursor_page(row: Any) -> bool:
    """Return whether a row is about a statement, running or not. Executions have pages of their own."""
    return isinstance(row, TopStatement | CpuWaiter | StatementRun | Statement) and bool(statement_of(row))


def with_cursor(statement: Statement, reading: Reading, texts: SqlTexts) -> Statement:
    """Return a statement with a cursor to show: its own, else that of an execution, else where its text was read."""
    if statement.inst_id and statement.child is not None:
        return statement
    rows = (row for rows in (reading.running, reading.queue, reading.sessions) for row in rows)
    cursors = [row for row in rows if row.sql_id == statement.sql_id and statement.con_id in {None, row.con_id}]
    cursors.sort(key=lambda row: statement.inst_id not in {0, row.inst_id})
    if cursors:
        return statement._replace(inst_id=cursors[0].inst_id, child=cursors[0].child or 0)
    read = texts.find(statement.sql_id)
    if read is not None:
        return statement._replace(inst_id=read.inst_id, child=read.child_number)
    first = reading.header.instances[0].inst_id if reading.header.instances else 1
    return statement._replace(inst_id=statement.inst_id or first, child=0)
