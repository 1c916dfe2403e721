"""Writer of fleet rows: one for each database of a store, with the figures of its newest poll and how its recorder is.

They are written with each poll, so that hundreds of databases can be shown by one SELECT. Times are of the store's
clock, in microseconds since 1970: with PostgreSQL recorders and those who look may be on other machines.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from presman.analysis.fleet import vitals_of
from presman.analysis.readings.fleet_readings import Member, Presence
from presman.analysis.readings.reading import Reading
from presman.base.text import clean, one_line
from presman.recording.measure_tables import FLEET_FIGURES, MICRO
from presman.recording.row_commands import run_named, update
from presman.recording.schema import FLEET

LIVE, LOST, STOPPED = "live", "lost", "stopped"
"""What a recorder says of its database, and of itself when it was ended in good order."""

LONGEST = 400
"""Characters of a reason or of an alert."""

_OF_ONE = ("database_id",)
_POLLED = update(
    FLEET,
    ("every_us", "severity", "worst", "link", "reason", *(each.key for each in FLEET_FIGURES)),
    _OF_ONE,
    clocks=("polled_at", "link_at"),
)
_MARKED = update(FLEET, ("link", "reason"), _OF_ONE, clocks=("link_at",))


class FleetRowWriter:
    """Writes the row of one database. `every` are the seconds between its polls, None where nobody knows."""

    def __init__(self, connection: Connection, database_id: int, every: float | None) -> None:
        self._database_id = database_id
        self._every = None if every is None else round(every * MICRO)
        here = FLEET.c.database_id == database_id
        if connection.execute(select(FLEET.c.database_id).where(here)).first() is None:
            blank = {"link": STOPPED, "link_at": 0, "reason": "", "severity": "good", "worst": ""}
            connection.execute(FLEET.insert().values(database_id=database_id, **blank))

    def write(self, reading: Reading, connection: Connection) -> None:
        """Write the figures of a poll."""
        vitals = vitals_of(reading)
        member = Member("", Presence.LIVE, vitals)
        row: dict[str, Any] = {each.key: each.kept(member) for each in FLEET_FIGURES}
        row |= {"every_us": self._every, "severity": vitals.severity, "worst": one_line(vitals.worst, LONGEST)}
        row |= {"link": LIVE, "reason": "", "database_id": self._database_id}
        run_named(connection, _POLLED, [row])

    def mark(self, link: str, reason: str, connection: Connection) -> None:
        """Note that the database was lost, or that the recorder was ended."""
        told = one_line(clean(reason), LONGEST)
        run_named(connection, _MARKED, [{"link": link, "reason": told, "database_id": self._database_id}])
