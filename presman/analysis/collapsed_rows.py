"""Collapsed rows: identical queued statements as one, parallel servers under their coordinator. `u` unfolds them."""

from collections.abc import Hashable, Iterable, Sequence

from msgspec.structs import asdict

from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import QueuedStatement
from presman.analysis.session_list import COORDINATOR, SERVER, together
from presman.base.sums import grouped, sum_of_known


class CollapsedStatements(QueuedStatement, frozen=True):
    """Several queued statements that differ only in session and times: the fields are those of the first."""

    same: tuple[QueuedStatement, ...] = ()


def collapse_queue(rows: Sequence[QueuedStatement]) -> tuple[QueuedStatement, ...]:
    """Return the queue with identical statements in one row, at the position of the first.

    They have the same SQL_ID, user, group, DOP, number of servers wanted and end of waiting.
    """
    alike = grouped(rows, kind_of).values()
    return tuple(CollapsedStatements(**asdict(first), same=(first, *more)) if more else first for first, *more in alike)


def kind_of(row: QueuedStatement) -> Hashable:
    """Return the common fields of identical statements."""
    if not row.sql_id:
        return row.inst_id, row.sid, row.serial
    wants = (row.wants.low, row.wants.high) if row.wants else None
    return row.con_id, row.group, row.user, row.sql_id, row.requested, row.dop.degree, wants, row.timeout_action


class ServerBelow(SessionReading):
    """A parallel server listed below its coordinator, whose row already includes it."""

    __slots__ = ()


def collapse_sessions(rows: Iterable[SessionReading], *, unfolded: bool = False) -> tuple[SessionReading, ...]:
    """Return the sessions without servers whose coordinator is among them: its row has their sums, and shows that.

    CPU and I/O are the sums; its activity is the coordinator's. With `unfolded` the servers are listed, too.
    """
    found = list(rows)
    below = (row for row in found if row.px_role == SERVER and row.coordinator is not None)
    servers = grouped(below, lambda row: row.coordinator)
    if not servers:
        return tuple(found)
    coordinators = {key for row in found if (key := (row.inst_id, row.sid, row.serial)) in servers}
    shown: list[SessionReading] = []
    for row in found:
        key = row.inst_id, row.sid, row.serial
        if row.px_role != SERVER or row.coordinator not in coordinators:
            shown.append(_with_servers(row, servers[key]) if key in coordinators else row)
        elif unfolded:
            shown.append(ServerBelow(*row))
    return tuple(shown)


def _with_servers(row: SessionReading, servers: Sequence[SessionReading]) -> SessionReading:
    every = (row, *servers)

    def total(name: str) -> float | None:
        return sum_of_known(getattr(each, name) for each in every)

    return row._replace(
        used=total("used"),
        waiting=total("waiting"),
        io_mb=total("io_mb"),
        io_requests=total("io_requests"),
        amounts=together(each.amounts for each in every),
        px_role=f"{row.px_role or COORDINATOR} +{len(servers)}",
    )


def collapsed_servers(row: SessionReading) -> int:
    """Return how many servers are folded under a session."""
    _, plus, number = row.px_role.partition(" +")
    return int(number) if plus and number.isdigit() else 0
