"""Parallel statement queue: which statements wait, how long, and for how many servers.

The queue counts DOP times server sets, and no view shows the number of sets for certain. The sources, most reliable
first:

1. V$RSRC_SESSION_INFO.PQ_SERVERS of the queued session, if it is the DOP or a small multiple of it;
2. the server sets of a running execution of the same cursor (V$PX_SESSION);
3. the server sets of its plan (V$SQL_PLAN): two for a data flow tree of two operations or more, else one. If there are
   several trees, the largest counts, not their sum: in a published test on 19c, statements of four trees with DOP 8
   were admitted as 16;
4. the DOP alone: one or two sets;
5. without a DOP, the mean that the group's queued statements wanted in the last minute (V$RSRCMGRMETRIC).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from presman.analysis.facts.cursor_facts import by_cursor, of_cursor
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.parallel.server_pools import old_limit
from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement, Servers, WantsSource
from presman.analysis.view_availability import unavailable
from presman.base.sums import maxima, summed
from presman.rows.cursor_rows import PxPlanLine
from presman.rows.group_rows import ConsumerGroup, GroupMetric, PlanDirective, RsrcPlan
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.session_state import NEXT_IN_LINE, is_by_session, time_queued
from presman.rows.snapshot import StartedSession


def queued(facts: Facts, running: Iterable[RunningStatement]) -> tuple[QueuedStatement, ...]:
    """Return the queue ordered by group and, within a group, oldest first."""
    running = tuple(running)
    waiting = _still_queued(facts, running)
    if not waiting:
        return ()
    wanted = WantedServers.of(facts, running)
    lines: dict[tuple[int, str], list[tuple[float | None, Session]]] = defaultdict(list)
    for session in waiting:
        info = facts.sessions.infos.get((session.inst_id, session.sid))
        lines[session.con_id, facts.sessions.group_of(session)].append((time_queued(session, info), session))
    found = []
    for key, line in sorted(lines.items(), key=lambda item: item[0]):
        # The wait event of the next statement shows that it is first; waits are compared at different instants.
        line.sort(key=lambda pair: (pair[1].event != NEXT_IN_LINE, -(pair[0] or 0.0), *pair[1][:4]))
        # In ascending order, so that the longest wait of each instance is the one that remains.
        waits = {session.inst_id: waited or 0.0 for waited, session in sorted(line, key=lambda pair: pair[0] or 0.0)}
        places = {inst_id: _GroupQueue.of(facts, inst_id, key, longest) for inst_id, longest in waits.items()}
        for position, (waited, session) in enumerate(line, start=1):
            found.append(_statement(facts, session, places[session.inst_id], position, waited, wanted))
    return tuple(found)


def _still_queued(facts: Facts, running: Iterable[RunningStatement]) -> Sequence[Session]:
    """Return the sessions that V$SESSION shows as queued, without those that newer answers of other views refute.

    V$PX_SESSION may show servers that a session got since, and V$RSRC_CONSUMER_GROUP an empty queue.
    """
    started: set[tuple[int, int, int]] = {*facts.snapshot.rows(StartedSession)}
    started |= {(each.inst_id, each.sid, each.serial) for each in running if not each.queued}
    empty, queued = _emptied(facts), facts.sessions.queued
    if started:
        queued = [each for each in queued if (each.inst_id, each.sid, each.serial) not in started]
    return [each for each in queued if (each.con_id, facts.sessions.group_of(each)) not in empty] if empty else queued


def _emptied(facts: Facts) -> set[Key]:
    """Return the groups that have nothing queued by an answer of V$RSRC_CONSUMER_GROUP newer than V$SESSION's."""
    unknown = unavailable(facts.snapshot, ConsumerGroup, ("current_pqs_queued",))
    if facts.snapshot.age_if_late(Session) is None or unknown:
        return set()
    rows = facts.snapshot.rows(ConsumerGroup)
    found = summed(((row.con_id, row.name), row.current_pqs_queued) for row in rows)
    return {key for key, queued in found.items() if not queued}


class _GroupQueue(NamedTuple):
    """A group's queue on one instance: the facts that all its statements have in common.

    `timeout` is None without one, or if `no_timeout` says why it is not known; `timeout_by` is as in a reading.
    """

    group: str
    directive: PlanDirective | None
    timeout: float | None
    action: str
    no_timeout: str
    timeout_by: str

    @classmethod
    def of(cls, facts: Facts, inst_id: int, key: Key, longest: float) -> _GroupQueue:
        """Look up the directive and the timeout of a group on an instance, where one has waited for `longest` seconds.

        A timeout that it has outlived by two polls may not apply to those that wait.
        """
        con_id, group = key
        directive = facts.division.shares[inst_id].directives.get(key)
        timeout, action = queue_timeout(facts, directive) or (None, "")
        no_timeout = "" if timeout else _why_no_timeout(facts, inst_id, con_id)
        if outlived := facts.deltas.outlived(timeout, longest, f"one of {group}"):
            timeout, action, no_timeout = None, "", outlived
        old = old_limit(key, facts, inst_id)
        return cls(group, directive, timeout, action, no_timeout, "" if old is None else old.source)


def _statement(
    facts: Facts, session: Session, place: _GroupQueue, position: int, waited: float | None, wanted: WantedServers
) -> QueuedStatement:
    info = facts.sessions.infos.get((session.inst_id, session.sid))
    dop = facts.cursors.dop_facts(session.inst_id, session.sql_id, session.sql_child_number)
    requested = info.dop if info and info.dop and info.dop > 0 else None
    timeout = place.timeout
    return QueuedStatement(
        position=position,
        inst_id=session.inst_id,
        sid=session.sid,
        serial=session.serial,
        group=place.group,
        user=session.username,
        program=session.program,
        module=session.module,
        service=session.service_name,
        machine=session.machine,
        sql_id=session.sql_id,
        child=session.sql_child_number,
        waited=waited,
        waited_ago=facts.snapshot.age_if_late(Session if is_by_session(session, info) else SessionInfo),
        timeout_left=max(0.0, timeout - waited) if timeout and waited is not None else None,
        timeout_action=place.action,
        no_timeout=place.no_timeout,
        timeout_by=place.timeout_by,
        requested=requested,
        dop=dop,
        wants=wanted.by(session, info, place.group, degree(requested, dop.degree, place.directive)),
        event=session.event,
        sql_text=(text := facts.cursors.text(session.inst_id, session.sql_id, session.sql_child_number)),
        no_text="" if text else facts.cursors.no_text(session.sql_id),
        con_id=session.con_id,
        exec_id=session.sql_exec_id,
        status=session.status,
    )


def _why_no_timeout(facts: Facts, inst_id: int, con_id: int) -> str:
    """Return why it is not known whether a queue without a timeout has one, "" if it has none."""
    plan, book = facts.plans.plan_of(inst_id, con_id), facts.plans.books.of(con_id)
    if not plan:
        return unavailable(facts.snapshot, RsrcPlan)
    record = facts.plans.books.record_of(con_id)
    absent = facts.snapshot.section(record).absent
    if plan in book.directives and absent.isdisjoint({"group_or_subplan", "parallel_queue_timeout"}):
        return ""
    return unavailable(facts.snapshot, record, ("parallel_queue_timeout",))


def queue_timeout(facts: Facts, directive: PlanDirective | None) -> tuple[float, str] | None:
    """Return the seconds after which a directive's statements leave the queue, and the action then, "" if unknown.

    None without a timeout.
    """
    if directive is None or not directive.parallel_queue_timeout:
        return None
    usual = "" if "pq_timeout_action" in facts.snapshot.section(PlanDirective).absent else "CANCEL"
    return directive.parallel_queue_timeout, directive.pq_timeout_action or usual


def degree(requested: int | None, planned: int | None, directive: PlanDirective | None) -> int | None:
    """Return the DOP a statement will run with: Resource Manager's value, else the plan's; the group may cap it."""
    chosen = requested or planned
    ceiling = directive.parallel_degree_limit_p1 if directive else None
    return min(chosen, ceiling) if chosen and ceiling and ceiling > 0 else chosen


_TABLE_QUEUE = re.compile(r":Q(\d+)(\d{3})", re.ASCII)
"""V$SQL_PLAN.OBJECT_NODE: data flow tree and operation. Other nodes are names of database links."""

_MOST_SETS = 2
"""Server sets that a data flow tree uses, however many operations it has: producers and consumers."""

_SMALL = 4
"""The largest multiple of the DOP for which PQ_SERVERS is taken to belong to the queued statement."""

Cursor = tuple[str, int | None]


class WantedServers(Struct, frozen=True, dict=True):
    """The server sets of cursors: those of `running` executions, else those found in plans and metrics.

    On an Autonomous Database one set also takes twice its DOP, so the number is exact there (published for 19c).
    """

    facts: Facts
    running: Mapping[Cursor, int]

    @classmethod
    def of(cls, facts: Facts, running: Iterable[RunningStatement]) -> WantedServers:
        """Collect the server sets from one snapshot."""
        known = ((each, each.tree_sets) for each in running if each.sql_id)
        return cls(facts, maxima(((each.sql_id, each.child), sets) for each, sets in known if sets))

    @cached_property
    def plans(self) -> Mapping[Any, int]:
        """The server sets that the plans of cursors need, by cursor."""
        plans, dop_facts = self.facts.cursors.plans, self.facts.cursors.dop_facts
        return by_cursor((lines[0], server_sets(lines, dop_facts(*lines[0][:3]).skipped)) for lines in plans)

    @cached_property
    def means(self) -> Mapping[tuple[int, str], float]:
        """The mean number of servers that a queued statement of each group wanted in the last minute."""
        return means(self.facts.snapshot.rows(GroupMetric))

    def by(self, session: Session, info: SessionInfo | None, group: str, dop: int | None) -> Servers | None:
        """Return the servers that a queued session wants for its statement of degree `dop`, None if not known."""
        if dop is None:
            mean = round(self.means.get((session.con_id, group), 0.0))
            return Servers(mean, mean, WantsSource.MEAN) if mean > 1 else None
        if dop < 2:
            return None
        # No document says what PQ_SERVERS is while a session is queued, so only a plausible number counts.
        reported = info.pq_servers if info else None
        if reported and reported % dop == 0 and reported <= _SMALL * dop:
            return Servers(reported, reported, WantsSource.PQ_SERVERS)
        child = session.sql_child_number
        least = 2 if self.facts.plans.autonomous else 1
        if sets := self.running.get((session.sql_id, child)):
            return by_sets(dop, max(least, sets), WantsSource.RUNNING)
        if sets := of_cursor(self.plans, session.inst_id, session.sql_id, child):
            return by_sets(dop, max(least, sets), WantsSource.PLAN)
        return by_sets(dop, least, WantsSource.DEGREE)


def by_sets(dop: int, sets: int, source: WantsSource) -> Servers:
    """Return DOP x sets. One set gives a range: it is not known whether the queue counts the DOP or twice the DOP."""
    return Servers(dop, 2 * dop, source) if sets == 1 else Servers(dop * sets, dop * sets, source)


def server_sets(lines: Iterable[PxPlanLine], skipped: Collection[int] = ()) -> int:
    """Return the server sets of the largest data flow tree of a plan, 0 if it has none.

    Lines that the display map skips do not count, nor do lines below a coordinator that is forced to run serially.
    """
    trees: dict[str, set[str]] = defaultdict(set)
    serial: int | None = None
    for line in sorted(lines, key=lambda line: line.id):
        if serial is not None and line.depth <= serial:  # it is not below the serial coordinator any more
            serial = None
        if line.id in skipped:
            continue
        if serial is None and line.operation == "PX COORDINATOR" and line.options == "FORCED SERIAL":
            serial = line.depth
        node = _TABLE_QUEUE.fullmatch(line.object_node)
        if node and serial is None:
            tree, operation = node.groups()
            trees[tree].add(operation)
    return max((min(_MOST_SETS, len(operations)) for operations in trees.values()), default=0)


def means(rows: Iterable[GroupMetric]) -> dict[tuple[int, str], float]:
    """Return the servers per queued statement of each container's groups in the last minute, over all instances."""
    known = [
        ((row.con_id, row.consumer_group_name), row.avg_queued_parallel_servers, row.avg_queued_parallel_stmts)
        for row in rows
        if row.avg_queued_parallel_stmts is not None and row.avg_queued_parallel_servers is not None
    ]
    servers, statements = summed((key, of) for key, of, _ in known), summed((key, of) for key, _, of in known)
    return {key: servers[key] / number for key, number in statements.items() if number > 0}
