"""Idle sessions that Oracle ends itself, by MAX_IDLE_BLOCKER_TIME and MAX_IDLE_TIME."""

from __future__ import annotations

from presman.analysis.facts.facts import Facts
from presman.rows.session_rows import Session
from presman.rows.session_state import is_queued

BLOCKER_TIME = "MAX_IDLE_BLOCKER_TIME"
"""Minutes (19c and later, 0: none) that a session may be idle while it keeps what others wait for: a lock, or parallel
servers while statements are queued. It has no effect on sessions of SYS (Reference)."""

IDLE_TIME = "MAX_IDLE_TIME"
"""Minutes (12.2 and later, 0: none) that any session may be idle."""


LATE = 60.0
"""Seconds behind such a limit after which a session that is still there is not taken to be ended by it."""


def minutes(facts: Facts, inst_id: int, con_id: int, name: str) -> int | None:
    """Return the minutes of one of the parameters for a container's sessions; 0 for none, None where not known."""
    own = facts.system.setting(inst_id, con_id, name.lower())
    return facts.system.number(inst_id, name.lower()) if own is None else own


def ends_in(facts: Facts, session: Session, idle: float) -> tuple[float | None, str]:
    """Return in how many seconds Oracle ends an idle holder of servers, and by which parameter; None if it does not."""
    if session.username == "SYS" or session.last_call_et is None:
        return None, ""
    found = []
    if any(is_queued(row.event, row.state) for row in facts.snapshot.rows(Session)):
        found.append((minutes(facts, session.inst_id, session.con_id, BLOCKER_TIME), BLOCKER_TIME))
    found.append((minutes(facts, session.inst_id, session.con_id, IDLE_TIME), IDLE_TIME))
    times = [(max(0.0, 60.0 * limit - idle), name) for limit, name in found if limit and idle <= 60.0 * limit + LATE]
    return min(times, default=(None, ""))
