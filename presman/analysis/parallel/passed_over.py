"""A head that had room at the poll before, too: what is counted does not explain why it waits.

Pure: the poll before is in the facts. Nothing is promised a second time after it did not come true.
"""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.server_pools import ServerBudget, ServerLimit, budget_of, pools, together
from presman.analysis.readings.statement_readings import QueuedStatement
from presman.rows.group_rows import ConsumerGroup
from presman.rows.session_state import is_queued


def passed_over(
    facts: Facts, head: QueuedStatement, system: ServerBudget, limits: Sequence[ServerLimit], *, contested: bool
) -> bool:
    """Whether a head that has room below `system` and `limits` was queued at the poll before and had room then.

    Where it is `contested`, others may have been chosen before it, so the counts must be the same.
    """
    if facts.deltas.previous is None or head.wants is None:
        return False
    before = Facts.of(None, facts.deltas.previous)
    session = before.sessions.find(head.inst_id, head.sid, head.serial)
    if session is None or not is_queued(session.event, session.state) or session.sql_id != head.sql_id:
        return False
    then, held = _system(before, system), [_held(before, limit) for limit in limits]
    if contested and (then.in_use != system.in_use or held != [limit.held for limit in limits]):
        return False
    rooms = [limit.allowed - number for limit, number in zip(limits, held, strict=True)]
    rooms += [] if then.free is None else [then.free]
    return bool(rooms) and head.wants.high <= min(rooms)


def _system(before: Facts, now: ServerBudget) -> ServerBudget:
    """Return the budget of the same instances at the poll before."""
    found = pools(before)
    if now.inst_ids:
        return budget_of(together(found[inst_id] for inst_id in now.inst_ids if inst_id in found))
    return budget_of(together(found[inst_id] for inst_id in before.system.inst_ids))


def _held(before: Facts, limit: ServerLimit) -> int:
    """Return the servers that were held under a limit at the poll before."""
    return sum(
        row.current_pq_servers_active
        for row in before.snapshot.rows(ConsumerGroup)
        if row.con_id == limit.con_id and limit.group in {"", row.name}
    )
