"""The parallel statement queue: who waits, for how long, and for how many servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.wanted_servers import WantedServers
from presman.analysis.readings.statement_readings import DopStory, QueuedStatement, RunningStatement
from presman.rows.plan_rows import PlanDirective
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.session_state import NEXT_IN_LINE, is_queued


def queued(facts: Facts, running: Iterable[RunningStatement]) -> tuple[QueuedStatement, ...]:
    """Return the queue in the order of groups and, within a group, oldest first."""
    waiting = [each for each in facts.snapshot.rows(Session) if is_queued(each.event, each.state)]
    if not waiting:
        return ()
    wanted = WantedServers.of(facts, running)
    lines: dict[tuple[int, str], list[tuple[float | None, Session]]] = defaultdict(list)
    for session in waiting:
        info = facts.sessions.infos.get((session.inst_id, session.sid))
        lines[session.con_id, facts.sessions.group_of(session)].append((_waited(session, info), session))
    found = []
    for (con_id, group), line in sorted(lines.items(), key=lambda item: item[0]):
        line.sort(key=lambda pair: (pair[1].event != NEXT_IN_LINE, -(pair[0] or 0.0), *pair[1][:4]))
        for position, (waited, session) in enumerate(line, start=1):
            directive = facts.division.shares[session.inst_id].directives.get((con_id, group))
            found.append(_statement(facts, session, group, position, waited, directive, wanted))
    return tuple(found)


def _waited(session: Session, info: SessionInfo | None) -> float | None:
    """Return seconds in the queue, None where nothing tells.

    A wait may be renewed, so Resource Manager's own clock counts where it is longer.
    """
    managed = info.current_pq_queued_time / 1e3 if info else 0.0
    if session.wait_time_micro is None:
        return managed or None
    return max(0.0, session.wait_time_micro / 1e6, managed)


def _statement(
    facts: Facts,
    session: Session,
    group: str,
    position: int,
    waited: float | None,
    directive: PlanDirective | None,
    wanted: WantedServers,
) -> QueuedStatement:
    info = facts.sessions.infos.get((session.inst_id, session.sid))
    dop = facts.cursors.story(session.inst_id, session.sql_id, session.sql_child_number)
    requested = info.dop if info and info.dop and info.dop > 0 else None
    timeout = directive.parallel_queue_timeout if directive else None
    usual = "" if "pq_timeout_action" in facts.snapshot.section(PlanDirective).absent else "CANCEL"
    return QueuedStatement(
        position=position,
        inst_id=session.inst_id,
        sid=session.sid,
        serial=session.serial,
        group=group,
        user=session.username,
        program=session.program,
        module=session.module,
        service=session.service_name,
        machine=session.machine,
        sql_id=session.sql_id,
        child=session.sql_child_number,
        waited=waited,
        timeout_left=max(0.0, timeout - waited) if timeout and waited is not None else None,
        timeout_action=((directive.pq_timeout_action if directive else "") or usual) if timeout else "",
        requested=requested,
        dop=dop,
        wants=wanted.by(session, info, group, degree(requested, dop, directive)),
        event=session.event,
        sql_text=(text := facts.cursors.text(session.inst_id, session.sql_id, session.sql_child_number)),
        no_text="" if text else facts.cursors.no_text(session.sql_id),
        con_id=session.con_id,
        exec_id=session.sql_exec_id,
        status=session.status,
    )


def degree(requested: int | None, dop: DopStory, directive: PlanDirective | None) -> int | None:
    """Return the DOP a statement will run with: Resource Manager's figure, else the plan's; the group may cap it."""
    chosen = requested or dop.degree
    ceiling = directive.parallel_degree_limit_p1 if directive else None
    return min(chosen, ceiling) if chosen and ceiling and ceiling > 0 else chosen
