"""The user sessions: what each does, waits for and uses."""

from __future__ import annotations

from collections.abc import Mapping

from presman.analysis.facts.facts import Facts
from presman.analysis.groups.counter_deltas import SessionRates, of_sessions
from presman.analysis.parallel.running import Coordinator, Holdings
from presman.analysis.readings.session_readings import SessionReading
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.session_state import ON_CPU, blocker, doing, is_held, is_queued

COORDINATOR, SERVER, QUEUED, GV_QUERY = "QC", "server", "queued", "GV$"
"""What a session is to parallel execution."""

NO_RATES = SessionRates()


def sessions(facts: Facts, holdings: Holdings) -> tuple[SessionReading, ...]:
    """Return one reading per session, in the order they were read."""
    grown = of_sessions(facts)
    infos = facts.sessions.infos
    statements = holdings.statements
    held = {coordinator: len(holding.rows) for coordinator, holding in statements.items()}
    servers = {
        (row.inst_id, row.sid): (row.serial, coordinator)
        for coordinator, holding in statements.items()
        for row in holding.rows
    }
    originals: dict[tuple[int, int], str] = {}
    found = []
    for row in facts.snapshot.rows(Session):
        place = row.inst_id, row.sid
        number = held.get((*place, row.serial), 0)
        role = _role(row, number, servers) or _monitors(facts, holdings, row)
        info = infos.get(place)
        group, original = (info.current_consumer_group if info else ""), ""
        if info:
            known = (info.con_id, info.orig_consumer_group_id)
            if known not in originals:
                originals[known] = facts.sessions.original_group(info)
            original = originals[known]
        rates = grown.get(place, NO_RATES)
        session = _session(row, group or facts.sessions.group_of(row), original, info, role, number, rates)
        found.append(session._replace(coordinator=servers[place][1]) if role == SERVER else session)
    return tuple(found)


def _role(row: Session, held: int, servers: Mapping[tuple[int, int], tuple[int, Coordinator]]) -> str:
    if held:
        return COORDINATOR
    server = servers.get((row.inst_id, row.sid))
    if server is not None and server[0] in {row.serial, 0}:
        return SERVER
    return QUEUED if is_queued(row.event, row.state) else ""


def _monitors(facts: Facts, holdings: Holdings, row: Session) -> str:
    """Return the role of a session that queries a GV$ view, or that is a server of such a query."""
    place = row.inst_id, row.sid, row.serial
    return GV_QUERY if place in holdings.monitors or facts.sessions.servers.serves_gv_query(*place) else ""


def _session(
    row: Session, group: str, original: str, info: SessionInfo | None, role: str, held: int, rates: SessionRates
) -> SessionReading:
    event = doing(row.event, row.state, row.status)
    managed = info.state if info else ""
    return SessionReading(
        row.inst_id,
        row.con_id,
        row.sid,
        row.serial,
        row.username,
        group,
        info.mapped_consumer_group if info else "",
        row.status,
        managed,
        event,
        row.wait_class if event != ON_CPU else "",
        row.wait_time_micro / 1e6 if row.state == "WAITING" and row.wait_time_micro is not None else None,
        row.sql_id,
        row.sql_child_number,
        *rates,
        None if row.last_call_et is None else float(row.last_call_et),
        role,
        held,
        info.dop if info else None,
        info.pq_status if info else "",
        row.program,
        row.module,
        row.service_name,
        row.machine,
        row.logon_time,
        original,
        info.mapping_attribute if info else "",
        info.last_action if info else "",
        info.last_action_reason if info else "",
        info.last_action_time if info else None,
        is_held(row.event, row.state, managed),
        blocker(row.state, row.inst_id, row.blocking_instance, row.blocking_session),
        row.client_identifier,
        row.osuser,
        row.action,
        row.sql_exec_id,
        None,
        row.type,
    )
