"""Parallel statements that hold servers, by coordinator (V$PX_SESSION), with their progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.server_pools import is_coordinator
from presman.analysis.parallel.statement_end import course, ends_in, has_gone_on
from presman.analysis.readings.statement_readings import DopFacts, RunningStatement
from presman.analysis.view_availability import view_of
from presman.rows.group_rows import ConsumerGroup, RsrcPlan
from presman.rows.queries import null_row
from presman.rows.session_rows import IDLE_STATUSES, FastStartTransaction, PxProcessSysstat, PxSession, Session
from presman.rows.session_state import blocker, doing, is_queued, session_kind, time_queued
from presman.rows.snapshot import StartedSession

SAME_CLOCK = 2.0
"""Seconds by which an execution may begin after the poll: SQL_EXEC_START has whole seconds, and clocks differ a little.
"""

_OF_ONE_MOMENT = (PxSession, Session, ConsumerGroup, RsrcPlan, PxProcessSysstat)
"""Records that must be of one moment to show who holds servers, and whether ending a holder lets a statement start."""

Coordinator = tuple[int, int, int]
"""A query coordinator: instance, SID, SERIAL#. The serial number distinguishes it from a later session with its SID."""

Cursor = tuple[str, int | None]
"""SQL_ID, and the child number on the coordinator's instance."""

Kinds = frozenset[tuple[int | None, int | None, int | None, int | None]]

_kind = itemgetter(*map(PxSession._fields.index, ("server_group", "server_set", "degree", "req_degree")))


class Holding(NamedTuple):
    """The server rows of one coordinator; values that many rows share are evaluated once."""

    coordinator: Coordinator
    rows: tuple[PxSession, ...]
    certain: bool
    """Whether it is proven that these servers belong to a statement, not to a GV$ query."""
    kinds: Kinds
    """Server group, server set, degree and requested degree of the rows."""

    @classmethod
    def of(cls, coordinator: Coordinator, rows: Iterable[PxSession], *, certain: bool = True) -> Holding:
        """Return the holding of a coordinator."""
        held = tuple(rows)
        return cls(coordinator, held, certain, frozenset(map(_kind, held)))


class Holdings(NamedTuple):
    """Parallel servers in V$PX_SESSION by coordinator: those of `statements`, and the number of each of `monitors`.

    A monitor is a session that queries a GV$ view of a cluster.
    """

    statements: Mapping[Coordinator, Holding]
    monitors: Mapping[Coordinator, int]

    def of(self, found: Iterable[RunningStatement]) -> Holdings:
        """Return the holdings without the servers of statements that are not in `found`: these have ended since."""
        still = {(each.inst_id, each.sid) for each in found}
        return self._replace(statements={key: each for key, each in self.statements.items() if key[:2] in still})


def holdings(facts: Facts) -> Holdings:
    """Return the servers that each coordinator holds. Servers of GV$ queries are counted separately.

    On a cluster, a coordinator whose servers are in no other view started or ended between two reads: it is left out if
    V$PX_PROCESS could be read.
    """
    known, held = facts.sessions.servers, _by_coordinator(facts.snapshot.rows(PxSession))
    if not known.clustered:
        return Holdings({coordinator: Holding.of(coordinator, rows) for coordinator, rows in held.items()}, {})
    statements: dict[Coordinator, Holding] = {}
    monitors: dict[Coordinator, int] = {}
    for coordinator, rows in held.items():
        of_gv_query = [known.serves_gv_query(row.inst_id, row.sid, row.serial) for row in rows]
        if True in of_gv_query and False not in of_gv_query:
            monitors[coordinator] = len(rows)
        elif False in of_gv_query:
            servers = [row for row, gv in zip(rows, of_gv_query, strict=True) if not gv]
            statements[coordinator] = Holding.of(coordinator, servers)
        elif not known.complete:  # without V$PX_PROCESS it may be a statement or a GV$ query
            statements[coordinator] = Holding.of(coordinator, rows, certain=False)
    return Holdings(statements, monitors)


def _by_coordinator(rows: Iterable[PxSession]) -> dict[Coordinator, list[PxSession]]:
    """Group the servers of V$PX_SESSION by coordinator. A spool may lack QCSERIAL#; then the coordinator's row has it.

    Servers without QCSID have no known coordinator: there is no session 0.
    """
    serials: dict[tuple[int, int], int] = {}
    servers: list[PxSession] = []
    for row in rows:
        if row.degree is None and is_coordinator(row):
            serials[row.inst_id, row.sid] = row.serial
        elif row.qcsid:
            servers.append(row)
    found: dict[Coordinator, list[PxSession]] = defaultdict(list)
    for row in servers:
        serial = row.qcserial if row.qcserial is not None else serials.get(row.coordinator, 0)
        found[*row.coordinator, serial].append(row)
    return found


def running(facts: Facts, found: Mapping[Coordinator, Holding]) -> tuple[RunningStatement, ...]:
    """Return the statements: idle holders first, then most servers first, those of gone instances last."""
    statements = _of_one_moment(facts, [_statement(facts, holding) for holding in found.values()])
    statements.sort(key=lambda s: (s.orphaned, s.idle is None, -s.servers, s.inst_id, s.sid, s.serial))
    return tuple(statements)


def outdated_view(facts: Facts) -> str:
    """Return the first view that did not answer at this poll, of those that must be of one moment; "" if all did."""
    records = list(_OF_ONE_MOMENT)
    tops = facts.plans.top_rows.values()
    if tops and all(each.parallel_servers_active is not None for each in tops):
        records.remove(PxProcessSysstat)  # the queue is counted by V$RSRC_PLAN then
    problems = ((record, facts.snapshot.section(record).problem) for record in records)
    late = next((record for record, problem in problems if problem is not None and problem.late), None)
    return "" if late is None else view_of(facts.snapshot, late)


def _of_one_moment(facts: Facts, found: list[RunningStatement]) -> list[RunningStatement]:
    """Return the statements, marked with a view that did not answer.

    A statement is left out if its coordinator became INACTIVE, began to queue or to execute, or ended, after its
    servers were read: it has ended or is an idle holder, and no view shows which. If servers were read after the
    session, it is no longer queued; and if it got them since, it is no longer idle and has another statement.
    """
    if not (view := outdated_view(facts)):
        return found
    servers, sessions = (facts.snapshot.section(record).at for record in (PxSession, Session))
    since = 0.0 if servers is None or sessions is None else (sessions - servers).total_seconds()
    if since > 0:
        found = [each for each in found if each.seen and _is_as_before(facts, each, since)]
    elif since < 0:
        started: set[Coordinator] = {*facts.snapshot.rows(StartedSession)}
        found = [_since_its_session(each, started) for each in found]
    return [replace(each, outdated=view) for each in found]


def _since_its_session(each: RunningStatement, started: Collection[Coordinator]) -> RunningStatement:
    """Return a statement without the facts of its session that are older than its servers."""
    if each.idle is not None and (each.inst_id, each.sid, each.serial) in started:
        unknown = {"sql_id": "", "child": None, "sql_text": "", "dop": DopFacts(), "elapsed": None, "status": ""}
        return replace(each, idle=None, idle_known=True, oracle_ends_in=None, ended_by="", event="", **unknown)
    return replace(each, queued=False, event="") if each.queued else each


def _is_as_before(facts: Facts, each: RunningStatement, since: float) -> bool:
    """Whether a coordinator is idle, executes, or is queued with another statement, for at least `since` seconds."""
    if each.idle is not None:
        return each.idle >= since
    session = facts.sessions.find(each.inst_id, each.sid, each.serial) if each.queued else None
    if session is None:
        return each.elapsed is None or each.elapsed >= since - SAME_CLOCK
    queued = time_queued(session, facts.sessions.infos.get((each.inst_id, each.sid)))
    return queued is not None and queued >= since


def _statement(facts: Facts, holding: Holding) -> RunningStatement:
    inst_id, sid, serial = holding.coordinator
    session, server = facts.sessions.find(inst_id, sid, serial), _server_session(facts, holding)
    witness = session or server or null_row(Session)
    cursor = sql_id, child = _cursor(session, server)
    # If the coordinator executes another statement by now, its SQL_EXEC_START is not of this one.
    current = session if session is not None and session.sql_id == sql_id else None
    text, blocked = facts.cursors.text(inst_id, sql_id, child), _blocker(facts, holding)
    fields = _of_coordinator(facts, session)
    if fields["idle"] is None:
        fields |= _of_work(facts, holding, cursor, is_blocked=bool(blocked))
    return RunningStatement(
        inst_id=inst_id,
        sid=sid,
        serial=serial or (session.serial if session else 0),
        con_id=witness.con_id,
        group=facts.sessions.group_of(witness),
        user=witness.username,
        module=witness.module,
        service=witness.service_name,
        sql_id=sql_id,
        child=child,
        dop=facts.cursors.dop_facts(inst_id, sql_id, child),
        sql_text=text,
        no_text="" if text else facts.cursors.no_text(sql_id),
        elapsed=_elapsed(facts, current or server, is_own=current is not None),
        blocker=blocked,
        orphaned=session is None and facts.system.is_away(inst_id),
        **_of_servers(holding),
        **fields,
    )


def _of_servers(holding: Holding) -> dict[str, Any]:
    """Return the fields that come from V$PX_SESSION."""
    places = [row.inst_id for row in holding.rows]
    return {
        "servers": len(places),
        "servers_by_instance": MappingProxyType({inst_id: places.count(inst_id) for inst_id in sorted(set(places))}),
        "certain": holding.certain,
        **sets_and_degrees(holding.kinds),
    }


@lru_cache(maxsize=256)
def sets_and_degrees(kinds: Kinds) -> Mapping[str, Any]:
    """Return the server sets and degrees of a statement, with the percent of the degree lost: many have the same.

    There may be several parallelizers: `sets` is over all of them, the others are those of the one with the most.
    """
    sets = {kind[:2] for kind in kinds}
    groups = [group for group, number in sets if number is not None]
    known = ((degree, requested) for *_, degree, requested in kinds if degree is not None and requested)
    return {
        "sets": max(1, len(sets)),
        "tree_sets": max(map(groups.count, groups), default=None),  # None if not known
        "degree": max((degree for _, _, degree, _ in kinds if degree is not None), default=None),
        "requested": max((requested for *_, requested in kinds if requested is not None), default=None),
        "downgraded": max((100.0 * (1 - got / wanted) for got, wanted in known if 0 <= got < wanted), default=0.0),
    }


def _of_coordinator(facts: Facts, session: Session | None) -> dict[str, Any]:
    """Return the fields that come from the coordinator's row of V$SESSION; for a process, its rollback progress."""
    row = session or null_row(Session)
    if (row.last_call_et or 0) < 0:  # the clock of its host went back: how long ago its call ended is not known
        row = row._replace(last_call_et=None)
    kind = session_kind(row.type, row.username, row.program, row.module, row.service_name)
    idle = _idle(facts, row)
    queued = is_queued(row.event, row.state)
    # Its row of V$SESSION is of another moment than its servers: what it waited for then is not shown.
    unseen = (queued and _has_started(facts, row)) or (row.status in IDLE_STATUSES and idle is None)
    oracle_ends_in, ended_by = ends_in(facts, row, idle) if idle is not None else (None, "")
    return {
        "seen": session is not None,
        "seen_ago": facts.snapshot.age_if_late(Session),
        "program": row.program,
        "machine": row.machine,
        "kind": kind,
        "progress": _rolled_back(facts, row.inst_id) if kind and kind.is_background else None,
        "status": row.status,
        "event": "" if unseen else doing(row.event, row.state, row.status),
        "queued": queued and not unseen,
        "idle": idle,
        "idle_known": session is None or row.last_call_et is not None,
        "last_call": None if row.last_call_et is None else float(row.last_call_et),
        "oracle_ends_in": oracle_ends_in,
        "ended_by": ended_by,
        "exec_id": row.sql_exec_id,
        "session_sql_id": row.sql_id or row.prev_sql_id,
    }


def _has_started(facts: Facts, session: Session) -> bool:
    """Whether a session that seems queued got its servers since: nobody gets servers while queued.

    They came after the last poll, and V$SESSION shows a wait that is longer: its row is older.
    """
    key = (session.inst_id, session.sid)
    queued, since = time_queued(session, facts.sessions.infos.get(key)), facts.deltas.interval(PxSession)
    if queued is None or since is None or queued <= since:
        return False
    before = facts.deltas.before(PxSession)
    return key not in {row.coordinator for row in before}


def _idle(facts: Facts, session: Session) -> float | None:
    """Return for how long a coordinator has been idle with its servers, None if it worked when they were read.

    V$SESSION is read after V$PX_SESSION, and idle sessions last: a statement may have ended in between.
    """
    if session.status not in IDLE_STATUSES:
        return None
    idle, snapshot = float(session.last_call_et or 0), facts.snapshot
    servers, sessions = (snapshot.section(record) for record in (PxSession, Session))
    if session.last_call_et is None or servers.at is None or sessions.at is None:
        return idle
    if servers.problem or sessions.problem:  # rows of earlier polls: see _of_one_moment
        return idle
    # A session whose call ended between the two reads has been idle for less than the time between them.
    apart = max(snapshot.seconds, (sessions.at - servers.at).total_seconds())
    return None if idle < apart else idle


def _of_work(facts: Facts, holding: Holding, cursor: Cursor, *, is_blocked: bool) -> dict[str, Any]:
    """Return the fields of a working statement that come from V$SESSION_LONGOPS."""
    (inst_id, sid, _), (sql_id, child) = holding.coordinator, cursor
    unfinished = facts.sessions.operations.get((inst_id, sid, sql_id), ())
    work = next(iter(unfinished), None)
    if work is None:
        return {}
    found = {
        "progress": work.progress,
        "remaining": None if is_blocked else work.remaining,
        "operation": " of ".join(part for part in (work.name, work.target) if part),
    }
    goes = course(facts, work, (inst_id, sid), sql_id)
    by_plan = work.name in facts.cursors.last_operations(inst_id, sql_id, child)
    is_broken = goes.overdue or has_gone_on(facts, (*holding.coordinator, sql_id), unfinished, by_plan=by_plan)
    found["comes_nearer"] = goes.comes_nearer and not is_broken
    if by_plan:
        found |= {"is_last": found["comes_nearer"], "overdue": is_broken}
    return found


def _rolled_back(facts: Facts, inst_id: int) -> float | None:
    """Return the part (0..1) of SMON's parallel rollback on an instance that is done, None if not known."""
    rows = [row for row in facts.snapshot.rows(FastStartTransaction) if row.inst_id == inst_id]
    total = sum(row.undoblockstotal for row in rows)
    return sum(row.undoblocksdone for row in rows) / total if total else None


def _blocker(facts: Facts, holding: Holding) -> str:
    """Return the session that the coordinator or one of its servers waits for, the last of that chain.

    Servers of parallel DML wait for a row lock themselves while their coordinator waits for them. Sessions that work
    for the same statement are skipped.
    """
    blocked = facts.sessions.blocked
    if not blocked:
        return ""
    inst_id, sid, _ = holding.coordinator
    sessions = {(inst_id, sid), *((row.inst_id, row.sid) for row in holding.rows)}
    names = {f"{inst}:{each}" for inst, each in sessions}
    for key in sorted(sessions & blocked.keys(), key=lambda each: (each != (inst_id, sid), each)):
        row = blocked[key]
        final = blocker(row.state, row.inst_id, row.final_blocking_instance, row.final_blocking_session)
        near = blocker(row.state, row.inst_id, row.blocking_instance, row.blocking_session)
        found = next((each for each in (final, near) if each and each not in names), "")
        if found:
            return found
    return ""


def _server_session(facts: Facts, holding: Holding) -> Session | None:
    """Return the session of a server, preferably one that shows its statement.

    A server runs its coordinator's statement in the coordinator's group.
    """
    first = None
    for row in holding.rows:  # there may be thousands of rows, and nearly always the first shows it
        session = facts.sessions.find(row.inst_id, row.sid, row.serial)
        if session is not None and session.sql_id:
            return session
        first = first or session
    return first


def _cursor(session: Session | None, server: Session | None) -> Cursor:
    """Return the statement that the servers are held for.

    The servers' own sessions show it. The coordinator may already execute another statement while an open cursor keeps
    the servers. A coordinator that waits for its client shows its last statement as the previous one.
    """
    row = session or null_row(Session)
    shown = ((row.sql_id, row.sql_child_number), (row.prev_sql_id, row.prev_child_number))
    last = [cursor for cursor in shown if cursor[0]]
    if server is not None and server.sql_id:
        # Child numbers differ between instances: the lookup needs the coordinator's.
        return next((cursor for cursor in last if cursor[0] == server.sql_id), (server.sql_id, server.sql_child_number))
    return last[0] if last else ("", None)


def _elapsed(facts: Facts, session: Session | None, *, is_own: bool) -> float | None:
    """Return the seconds since the execution began, None if not known: the clocks of instances may differ.

    Nor is it if the coordinator's own execution seems to begin before its logon, which is impossible.
    """
    if session is None or session.sql_exec_start is None:
        return None
    logon = session.logon_time if is_own else None
    if logon is not None and (logon - session.sql_exec_start).total_seconds() > SAME_CLOCK:
        return None
    now = facts.snapshot.section(Session).at or facts.snapshot.at
    seconds = (now - session.sql_exec_start).total_seconds()
    return max(0.0, seconds) if seconds > -SAME_CLOCK else None
