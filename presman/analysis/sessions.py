"""The user sessions: what each does, waits for and uses."""

from __future__ import annotations

from collections.abc import Mapping

from presman.analysis.facts import Facts
from presman.analysis.growth import SessionRates, of_sessions
from presman.analysis.queue import is_queued
from presman.analysis.reading import SessionReading
from presman.analysis.running import Coordinator, Holding
from presman.events import QUEUE_WAITS
from presman.rows import Session, SessionInfo

COORDINATOR, SERVER, QUEUED = "QC", "server", "queued"
"""What a session is to parallel execution."""

NO_RATES = SessionRates()


def sessions(facts: Facts, holdings: Mapping[Coordinator, Holding]) -> tuple[SessionReading, ...]:
    """Return one reading per session, in the order they were read."""
    grown = of_sessions(facts)
    infos = facts.infos
    held = {coordinator: len(holding.rows) for coordinator, holding in holdings.items()}
    servers = {(row.inst_id, row.sid): row.serial for holding in holdings.values() for row in holding.rows}
    originals: dict[tuple[int, int], str] = {}
    found = []
    for row in facts.snapshot.rows(Session):
        place = row.inst_id, row.sid
        number = held.get((*place, row.serial), 0)
        role = _role(row, number, servers)
        info = infos.get(place)
        group, original = (info.current_consumer_group if info else ""), ""
        if info:
            known = (info.con_id, info.orig_consumer_group_id)
            if known not in originals:
                originals[known] = facts.original_group(info)
            original = originals[known]
        rates = grown.get(place, NO_RATES)
        found.append(_session(row, group or facts.group_of(row), original, info, role, number, rates))
    return tuple(found)


def _role(row: Session, held: int, servers: Mapping[tuple[int, int], int]) -> str:
    if held:
        return COORDINATOR
    serial = servers.get((row.inst_id, row.sid))
    if serial is not None and serial in {row.serial, 0}:
        return SERVER
    return QUEUED if row.event in QUEUE_WAITS and is_queued(row) else ""


def _session(
    row: Session, group: str, original: str, info: SessionInfo | None, role: str, held: int, rates: SessionRates
) -> SessionReading:
    return SessionReading(
        row.inst_id,
        row.con_id,
        row.sid,
        row.serial,
        row.username,
        group,
        info.mapped_consumer_group if info else "",
        row.status,
        info.state if info else "",
        row.event,
        row.wait_class,
        row.wait_time_micro / 1e6 if row.state == "WAITING" else None,
        row.sql_id,
        row.sql_child_number,
        *rates,
        float(row.last_call_et),
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
    )
