"""The wait events by which Resource Manager shows: in the parallel queue, and held off CPU; as V$SESSION names them."""

from __future__ import annotations

NEXT_IN_LINE = "PX Queuing: statement queue"
"""What the first of the queue waited for before 11.2.0.2."""

QUEUE_WAITS = frozenset({"resmgr:pq queued", NEXT_IN_LINE, "enq: JX - SQL statement queue"})
"""What sessions in the parallel queue wait for: the first since 11.2.0.2; before, the next in line and the others."""

_QUANTUM = "resmgr:cpuquantum"


def is_quantum(event: str) -> bool:
    """Tell whether an event is that of sessions held off CPU: manuals and views write it with and without a blank."""
    return event.startswith("resmgr:") and event.replace(" ", "") == _QUANTUM
