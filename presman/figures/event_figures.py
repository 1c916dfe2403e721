"""Figures of events: what changed, and when."""

from __future__ import annotations

from presman.analysis.trends.database_events import (
    ALERT_BEGAN,
    ALERT_WORSE,
    LOST,
    TIMEOUT,
    DatabaseEvent,
    kind_in_words,
)
from presman.figures.figure import INSTANT, TEXT, Figure, State, Table

Event = Figure[DatabaseEvent]

_GRAVE = frozenset({ALERT_BEGAN, ALERT_WORSE, LOST, TIMEOUT})


def _state(row: DatabaseEvent) -> State:
    return "warn" if row.kind in _GRAVE else ""


# fmt: off
EVENTS: Table[DatabaseEvent] = Table(
    "event_list", "Events",
    (
        Event("at", "At", INSTANT, "The first poll that showed it; before the first poll, the time in "
              "V$RSRC_PLAN_HISTORY or V$INSTANCE.STARTUP_TIME. The newest is on top.", "at",
              text=lambda row: row.at.astimezone().strftime("%m-%d %H:%M:%S"), width=14),
        Event("event", "Event", TEXT, "The kind of event: a queue began or ended, a plan, directive, parameter, "
              "instance or CPU state changed, a downgrade, a queue timeout, an alert that began, grew worse or ended, "
              "a "
              "connection that came back.", "kind",
              text=lambda row: kind_in_words(row.kind), width=17, state=_state),
        Event("consumer_group", "Group", TEXT, "Consumer group it is about.", "group", width=12, most=22,
              narrow=False),
        Event("what", "What", TEXT, "What happened, in words.", "text", width=30, flexible=True, vital=True),
    ),
    tuple, "No event was seen.",
    order="at", descending=True,
)
