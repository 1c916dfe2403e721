"""The parallel statements that hold servers, by their coordinators (V$PX_SESSION)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from presman.analysis.facts import Facts
from presman.analysis.reading import RunningStatement
from presman.analysis.servers import is_coordinator
from presman.rows import PxSession, Session

Coordinator = tuple[int, int, int]
"""A query coordinator: instance, SID, serial. The serial tells it from a later user of the SID."""


class Holding(NamedTuple):
    """The server rows of one coordinator; what is equal in many of them is looked at once."""

    coordinator: Coordinator
    rows: tuple[PxSession, ...]
    kinds: frozenset[tuple[int | None, int | None, int | None, int | None]]
    """Server group, server set, degree and requested degree of the rows."""

    @classmethod
    def of(cls, coordinator: Coordinator, rows: Iterable[PxSession]) -> Holding:
        """Return the holding of a coordinator."""
        held = tuple(rows)
        kinds = frozenset([(row.server_group, row.server_set, row.degree, row.req_degree) for row in held])
        return cls(coordinator, held, kinds)

    @property
    def sets(self) -> int:
        """Server sets, over all parallelizers of the statement."""
        return max(1, len({kind[:2] for kind in self.kinds}))

    @property
    def degree(self) -> int | None:
        """The largest degree over the server sets."""
        return max((degree for _, _, degree, _ in self.kinds if degree is not None), default=None)

    @property
    def requested(self) -> int | None:
        """The largest degree asked for."""
        return max((requested for *_, requested in self.kinds if requested is not None), default=None)

    @property
    def downgraded(self) -> float:
        """Percent of the degree lost, at the parallelizer that lost most."""
        lost = (
            100.0 * (1 - degree / requested)
            for _, _, degree, requested in self.kinds
            if degree is not None and requested and 0 <= degree < requested
        )
        return max(lost, default=0.0)


def holdings(rows: Iterable[PxSession]) -> dict[Coordinator, Holding]:
    """Group the servers of V$PX_SESSION by coordinator.

    A spool may lack QCSERIAL#; then the coordinator's own row tells it.
    """
    serials: dict[tuple[int, int], int] = {}
    servers: list[PxSession] = []
    for row in rows:
        if row.degree is None and is_coordinator(row):
            serials[row.inst_id, row.sid] = row.serial
        else:
            servers.append(row)
    found: dict[Coordinator, list[PxSession]] = {}
    for row in servers:
        inst_id = row.qcinst_id if row.qcinst_id is not None else row.inst_id
        serial = row.qcserial if row.qcserial is not None else serials.get((inst_id, row.qcsid), 0)
        place = (inst_id, row.qcsid, serial)
        held = found.get(place)
        if held is None:
            found[place] = [row]
        else:
            held.append(row)
    return {coordinator: Holding.of(coordinator, held) for coordinator, held in found.items()}


def running(facts: Facts, found: Mapping[Coordinator, Holding]) -> tuple[RunningStatement, ...]:
    """Return the statements with most servers first."""
    statements = [_statement(facts, holding) for holding in found.values()]
    statements.sort(key=lambda each: (-each.servers, each.inst_id, each.sid, each.serial))
    return tuple(statements)


def _statement(facts: Facts, holding: Holding) -> RunningStatement:
    inst_id, sid, serial = holding.coordinator
    session = facts.session(inst_id, sid, serial)
    witness = session or _server_session(facts, holding)
    sql_id, child = _cursor(session, witness)
    idle = float(session.last_call_et) if session and session.status == "INACTIVE" else None
    work = next(iter(facts.operations.get((sid, sql_id), ())), None) if idle is None else None
    return RunningStatement(
        inst_id=inst_id,
        sid=sid,
        serial=serial or (session.serial if session else 0),
        group=facts.group_of(witness) if witness else "",
        user=witness.username if witness else "",
        program=session.program if session else "",
        module=witness.module if witness else "",
        service=witness.service_name if witness else "",
        machine=session.machine if session else "",
        sql_id=sql_id,
        child=child,
        servers=len(holding.rows),
        sets=holding.sets,
        degree=holding.degree,
        requested=holding.requested,
        downgraded=holding.downgraded,
        elapsed=_elapsed(facts, witness),
        idle=idle,
        status=session.status if session else "",
        event=session.event if session else "",
        servers_by_instance=MappingProxyType(dict(sorted(Counter([row.inst_id for row in holding.rows]).items()))),
        dop=facts.story(inst_id, sql_id, child),
        sql_text=facts.text(inst_id, sql_id, child),
        con_id=witness.con_id if witness else 0,
        progress=work.progress if work else None,
        remaining=work.remaining if work else None,
        operation=" of ".join(part for part in (work.name, work.target) if part) if work else "",
    )


def _server_session(facts: Facts, holding: Holding) -> Session | None:
    """Return the session of a server: it runs its coordinator's statement in the coordinator's group."""
    sessions = (facts.session(row.inst_id, row.sid, row.serial) for row in holding.rows)
    return next((session for session in sessions if session is not None), None)


def _cursor(session: Session | None, witness: Session | None) -> tuple[str, int | None]:
    """Return the statement; a coordinator that waits for its client shows it as the previous one."""
    if session is not None and not session.sql_id:
        return session.prev_sql_id, session.prev_child_number
    return (witness.sql_id, witness.sql_child_number) if witness else ("", None)


def _elapsed(facts: Facts, session: Session | None) -> float | None:
    if session is None or session.sql_exec_start is None:
        return None
    now = facts.snapshot.section(Session).at or facts.snapshot.at
    return max(0.0, (now - session.sql_exec_start).total_seconds())
