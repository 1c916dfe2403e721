"""Offers of the dialog: the commands for a row of a table."""

from __future__ import annotations

from typing import Any

from presman.analysis.advice.unblock import commands_to_end, release_of
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement
from presman.analysis.session_list import GV_QUERY
from presman.records.commands import Command, Victim, for_queued, switch, to_end

_Row = QueuedStatement | RunningStatement | SessionReading

MOST = 9
"""Commands offered for one row: each has a digit."""


def offers(row: Any, reading: Reading) -> tuple[Command, ...]:
    """Return the commands for a row, the gentlest first; none for rows that are no session's, or are a server's."""
    if not isinstance(row, QueuedStatement | RunningStatement | SessionReading):
        return ()
    if isinstance(row, SessionReading) and row.px_role in {"server", GV_QUERY}:
        return ()  # what is done to a server, is done to its coordinator; and a monitor is nobody's trouble
    release = release_of(reading)
    if isinstance(row, RunningStatement):
        victim = Victim(row.inst_id, row.sid, row.serial, row.session_sql_id)
        own = commands_to_end(row, release) if row.certain else ()
    else:
        victim = Victim(row.inst_id, row.sid, row.serial, row.sql_id)
        if isinstance(row, QueuedStatement) or row.px_role == "queued":
            own = for_queued(victim, release)
        else:
            own = to_end(victim, release, idle=row.status != "ACTIVE")
    return (*own, *_switches(victim, row, reading))[:MOST]


def _switches(
    victim: Victim, row: QueuedStatement | RunningStatement | SessionReading, reading: Reading
) -> list[Command]:
    """Return a switch to each other group of the active plan; a name that is not a plain one is left out."""
    found = []
    for group in reading.cluster_groups():
        if group.in_plan and group.con_id == row.con_id and group.name != row.group:
            try:
                found.append(switch(victim, group.name))
            except ValueError:
                continue
    return found
