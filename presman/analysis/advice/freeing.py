"""Servers that the end of a running statement frees for the head of a queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from presman.analysis.advice.counted import Counted
from presman.analysis.advice.ending import ends_in
from presman.analysis.readings.statement_readings import RunningStatement, Shortage


class Freeing(Struct, frozen=True, eq=False):
    """What the end of a statement frees of each shortage, at least and at most."""

    statement: RunningStatement
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def idle(self) -> bool:
        """Whether it holds servers and does nothing, and is a user's ordinary session."""
        return self.statement.idle is not None and self.statement.kind is None

    @property
    def ends_in(self) -> float | None:
        """Seconds after which it should end by itself, None unless that is soon."""
        return ends_in(self.statement)


def freeing(statement: RunningStatement, shortages: Sequence[Shortage], counts: Counted) -> Freeing | None:
    """Return what the end of a statement frees of each shortage, None if nothing of any."""
    low, high = [], []
    for shortage in shortages:
        helps = _concerns(statement, shortage)
        counted = counts.of_statement(statement, everybody=shortage.everybody)
        servers = _held(statement, shortage)
        low.append(servers if helps and counted else 0)
        high.append(servers if helps and counted is not False else 0)
    return Freeing(statement, tuple(low), tuple(high)) if any(high) else None


def _held(statement: RunningStatement, shortage: Shortage) -> int:
    """Return the servers a statement holds where the head's may run."""
    if not shortage.inst_ids:
        return statement.servers
    return sum(held for inst_id, held in statement.servers_by_instance.items() if inst_id in shortage.inst_ids)


def _concerns(statement: RunningStatement, shortage: Shortage) -> bool:
    if shortage.everybody:
        return True
    return statement.con_id == shortage.con_id and shortage.group in {"", statement.group}


def is_blocker(statement: RunningStatement, blocked: Iterable[RunningStatement]) -> bool:
    """Whether any of these waits for a statement's session."""
    return f"{statement.inst_id}:{statement.sid}" in {each.blocker for each in blocked}
