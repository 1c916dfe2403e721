"""The user sessions: what each does, waits for and uses."""

from __future__ import annotations

from collections.abc import Mapping

from presman.analysis.facts import Facts
from presman.analysis.growth import of_sessions
from presman.analysis.queue import is_queued
from presman.analysis.reading import SessionReading
from presman.analysis.running import Coordinator, Holding
from presman.rows import Session, SessionInfo

COORDINATOR, SERVER, QUEUED = "QC", "server", "queued"
"""What a session is to parallel execution."""


def sessions(facts: Facts, holdings: Mapping[Coordinator, Holding]) -> tuple[SessionReading, ...]:
    """Return one reading per session, in the order they were read."""
    grown, interval = of_sessions(facts), facts.deltas.interval(SessionInfo)
    held = {coordinator: len(holding.rows) for coordinator, holding in holdings.items()}
    servers = {(row.inst_id, row.sid): row.serial for holding in holdings.values() for row in holding.rows}
    found = []
    for row in facts.snapshot.rows(Session):
        number = held.get((row.inst_id, row.sid, row.serial), 0)
        role = _role(row, number, servers)
        rates = grown.get((row.inst_id, row.sid))
        found.append(_session(facts, row, role, number, rates, interval or 0.0))
    return tuple(found)


def _role(row: Session, held: int, servers: Mapping[tuple[int, int], int]) -> str:
    if held:
        return COORDINATOR
    if (row.inst_id, row.sid) in servers and servers[row.inst_id, row.sid] in {row.serial, 0}:
        return SERVER
    return QUEUED if is_queued(row) else ""


def _session(
    facts: Facts, row: Session, role: str, held: int, grown: tuple[int, ...] | None, seconds: float
) -> SessionReading:
    info = facts.infos.get((row.inst_id, row.sid))
    used = waiting = megabytes = requests = None
    if grown is not None and seconds > 0:
        used, waiting = grown[0] / 1000 / seconds, grown[1] / 1000 / seconds
        megabytes, requests = sum(grown[2:6]) / seconds, sum(grown[6:10]) / seconds
    return SessionReading(
        inst_id=row.inst_id,
        con_id=row.con_id,
        sid=row.sid,
        serial=row.serial,
        user=row.username,
        group=facts.group_of(row),
        mapped_group=info.mapped_consumer_group if info else "",
        status=row.status,
        state=info.state if info else "",
        event=row.event,
        wait_class=row.wait_class,
        waited=row.wait_time_micro / 1e6 if row.state == "WAITING" else None,
        sql_id=row.sql_id,
        child=row.sql_child_number,
        used=used,
        waiting=waiting,
        io_mb=megabytes,
        io_requests=requests,
        last_call=float(row.last_call_et),
        px_role=role,
        px_servers=held,
        dop=info.dop if info else None,
        pq_status=info.pq_status if info else "",
        program=row.program,
        module=row.module,
        service=row.service_name,
        machine=row.machine,
        logon=row.logon_time,
    )
