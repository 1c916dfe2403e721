"""Activity: what the user sessions did at the instant of a poll, by wait class and by statement. A sample, no history.

It is taken from V$SESSION at each poll. Views that keep such samples (V$ACTIVE_SESSION_HISTORY) need a licensed pack
and are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from types import MappingProxyType

from presman.analysis.readings.activity_readings import CLASSES, OTHER, Activity, SqlSample
from presman.rows.session_rows import Session
from presman.rows.session_state import ON_CPU

IDLE = "Idle"
_KNOWN = frozenset(CLASSES)

_alike = itemgetter(
    *(
        Session._fields.index(name)
        for name in ("con_id", "sql_id", "status", "state", "wait_class", "resource_consumer_group", "username")
    )
)
"""What sessions that count alike have in common: of thousands there are few kinds."""


def activity(rows: Iterable[Session]) -> Activity:
    """Return what the sessions of V$SESSION do: active are those in a call that do not wait for something idle."""
    classes: Counter[str] = Counter()
    statements: dict[tuple[int, str], list[int]] = {}
    who: dict[tuple[int, str], tuple[str, str]] = {}
    for (con_id, sql_id, status, state, wait_class, group, user), count in Counter(map(_alike, rows)).items():
        # Without STATE (a listing that lacks the column) the wait named is taken to be one of now.
        on_cpu = state not in {"WAITING", ""} or (not state and not wait_class)
        if status != "ACTIVE" or (wait_class == IDLE and not on_cpu):
            continue
        classes[ON_CPU if on_cpu else wait_class if wait_class in _KNOWN else OTHER] += count
        if sql_id:
            key = con_id, sql_id
            statements.setdefault(key, [0, 0])[not on_cpu] += count
            who.setdefault(key, (group, user))
    samples = (SqlSample(*key, *who[key], *counts) for key, counts in statements.items())
    return Activity(classes.total(), MappingProxyType(dict(classes)), tuple(samples))
