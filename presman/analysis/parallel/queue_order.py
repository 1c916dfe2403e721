"""Order of the parallel queue: whether one queue serves all groups, and which statements waited alike."""

from __future__ import annotations

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.statement_readings import QueuedStatement

SAME_WAIT = 1.0
"""Seconds by which two waits must differ to tell who came first: sessions are not all read at one instant."""


def is_one_queue(managed: str) -> bool | None:
    """Whether one queue serves all groups by the time they have waited: V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED.

    None where that is neither FIFO, OFF nor FULL.
    """
    return {"FIFO": True, "OFF": True, "FULL": False}.get(managed.upper())


def has_one_queue(facts: Facts, inst_id: int, con_id: int) -> bool | None:
    """Whether one queue serves all groups of a container, None where that is not known."""
    row = facts.plans.plan_rows.get((inst_id, con_id)) or facts.plans.top_rows.get(inst_id)
    return None if row is None else is_one_queue(row.parallel_execution_managed)


def has_waited_alike(each: QueuedStatement, first: QueuedStatement) -> bool:
    """Whether it is the other one, or has waited as long, so that which of them is first is not known."""
    if each.executing() == first.executing():
        return True
    return each.waited is not None and first.waited is not None and abs(each.waited - first.waited) < SAME_WAIT


def may_be_first(each: QueuedStatement, first: QueuedStatement) -> bool:
    """Whether it may be the first as well: it has waited as long, or of one of the two it is not known for how long."""
    return each.waited is None or first.waited is None or has_waited_alike(each, first)
