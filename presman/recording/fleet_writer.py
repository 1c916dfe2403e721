"""Writer of fleet rows: one for each database of a store, with the figures of its newest poll and how its recorder is.

They are written with each poll, so that hundreds of databases can be shown by one SELECT. Times are of the store's
clock, in microseconds since 1970: with PostgreSQL recorders and those who look may be on other machines.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, bindparam, select, text

from presman.analysis.fleet import vitals_of
from presman.analysis.readings.fleet_readings import Member, Presence
from presman.analysis.readings.reading import Reading
from presman.base.text import clean, one_line
from presman.recording.compiled_statements import run
from presman.recording.measure_tables import FLEET_FIGURES, MICRO
from presman.recording.schema import FLEET

LIVE, LOST, STOPPED = "live", "lost", "stopped"
"""What a recorder says of its database, and of itself when it was ended in good order."""

LONGEST = 400
"""Characters of a reason or of an alert."""

SERVER_NOW = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
"""The clock of PostgreSQL."""


def _updates(kind: str) -> tuple[Any, Any]:
    """Return the UPDATEs of a poll and of a mark."""
    now: Any = text(SERVER_NOW) if kind == "postgresql" else bindparam("now")
    of_one = FLEET.update().where(FLEET.c.database_id == bindparam("a_database"))
    names = ("every_us", "severity", "worst", *(each.key for each in FLEET_FIGURES))
    figures: dict[str, Any] = {name: bindparam(name) for name in names}
    polled = of_one.values(**figures, polled_at=now, link=text(f"'{LIVE}'"), link_at=now, reason=text("''"))
    return polled, of_one.values(link=bindparam("a_link"), link_at=now, reason=bindparam("a_reason"))


_UPDATES = {kind: _updates(kind) for kind in ("sqlite", "postgresql")}


class FleetRowWriter:
    """Writes the row of one database. `every` are the seconds between its polls, None where nobody knows."""

    def __init__(self, connection: Connection, database_id: int, every: float | None) -> None:
        self._database_id = database_id
        self._every = None if every is None else round(every * MICRO)
        self._polled, self._marked = _UPDATES[connection.dialect.name]
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
        self._run(self._polled, row, connection)

    def mark(self, link: str, reason: str, connection: Connection) -> None:
        """Note that the database was lost, or that the recorder was ended."""
        self._run(self._marked, {"a_link": link, "a_reason": one_line(clean(reason), LONGEST)}, connection)

    def _run(self, statement: Any, row: dict[str, Any], connection: Connection) -> None:
        if connection.dialect.name != "postgresql":
            row["now"] = round(time.time() * MICRO)
        run(connection, statement, [row | {"a_database": self._database_id}])
