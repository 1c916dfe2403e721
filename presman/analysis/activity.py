"""Activity: what the user sessions did at the instant of a poll, by wait class and by statement. A sample, no history.

It is taken from V$SESSION at each poll. Views that keep such samples (V$ACTIVE_SESSION_HISTORY) need a licensed pack
and are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import MappingProxyType

from presman.analysis.readings.activity_readings import CLASSES, OTHER, Activity, SqlSample
from presman.records.session_rows import Session
from presman.records.wait_events import ON_CPU, doing

IDLE = "Idle"
_KNOWN = frozenset(CLASSES)


def activity(rows: Iterable[Session]) -> Activity:
    """Return what the sessions of V$SESSION do: active are those in a call that do not wait for something idle."""
    classes: Counter[str] = Counter()
    statements: dict[tuple[int, str], list[int]] = {}
    who: dict[tuple[int, str], tuple[str, str]] = {}
    for row in rows:
        if row.status != "ACTIVE":
            continue
        on_cpu = doing(row.event, row.state, row.status) == ON_CPU
        if not on_cpu and row.wait_class == IDLE:
            continue
        name = ON_CPU if on_cpu else row.wait_class if row.wait_class in _KNOWN else OTHER
        classes[name] += 1
        if row.sql_id:
            key = row.con_id, row.sql_id
            statements.setdefault(key, [0, 0])[not on_cpu] += 1
            who.setdefault(key, (row.resource_consumer_group, row.username))
    samples = (SqlSample(*key, *who[key], *counts) for key, counts in statements.items())
    return Activity(classes.total(), MappingProxyType(dict(classes)), tuple(samples))
