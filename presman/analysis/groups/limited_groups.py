"""Groups that are at their own limits: what holds a container where its own limit does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from presman.analysis.groups.entitlement import QUIET
from presman.analysis.readings.group_readings import GroupReading, Verdict

_NEARLY_ALL = 0.9


def held_by_own_limits(groups: Sequence[GroupReading], con_id: int, waiting: float | None) -> dict[str, Any]:
    """Return the verdict and limit of a container all of whose waiting groups are at limits of their own.

    `groups` are those of its instance, `waiting` the CPUs the container waits for: the groups must account for nearly
    all of them (groups count since another instant). Empty where something else holds it, or nobody knows.
    """
    inside = [group for group in groups if group.con_id == con_id and (group.waiting or 0.0) >= QUIET]
    held = [group for group in inside if group.verdict is not Verdict.NOT_THROTTLED]
    if not held or not waiting or sum(group.waiting or 0.0 for group in held) < _NEARLY_ALL * waiting:
        return {}
    if any(group.verdict is not Verdict.CAPPED or group.limited_by or group.limit is None for group in held):
        return {}
    return {
        "verdict": Verdict.CAPPED,
        "limited_by": held[0].title if len(held) == 1 else f"each of {', '.join(group.title for group in held)}",
        "limit_used": sum(group.used or 0.0 for group in held),
        "limit_allowed": sum(group.limit or 0.0 for group in held),
    }
