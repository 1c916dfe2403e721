"""Focus of a screen: what it looks at closely, and the questions asked at each poll for as long as it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from presman.rows.cursor_rows import CursorTotals, PlanLine
from presman.rows.parallel_rows import PxStatistic
from presman.rows.session_rows import SessionLongops, SessionStatistic, StatisticName

CPU, LOGICAL_READS, BYTES_READ = "CPU used by this session", "session logical reads", "physical read total bytes"
"""The statistics by which the work of parallel servers is compared (names as in V$STATNAME)."""

RECORDS: tuple[type[Any], ...] = (SessionLongops, PlanLine, CursorTotals, SessionStatistic, PxStatistic)
"""What a focus may ask."""


class Focus(Struct, frozen=True):
    """One session and the cursor it executes; without a session only the progress of operations is followed.

    `coordinator` tells that it may have parallel servers; `child` None is taken for 0.
    """

    inst_id: int = 0
    sid: int = 0
    sql_id: str = ""
    child: int | None = None
    coordinator: bool = True

    def questions(self, names: Iterable[StatisticName]) -> dict[type[Any], Mapping[str, Any]]:
        """Return the binds of each question; `names` gives the numbers of the statistics in this release."""
        found: dict[type[Any], Mapping[str, Any]] = {SessionLongops: {}}
        if self.sql_id:
            cursor = {"at_inst_id": self.inst_id, "sql_id": self.sql_id, "child_number": self.child or 0}
            found |= {PlanLine: cursor, CursorTotals: cursor}
        if self.sid:
            found[SessionStatistic] = {"at_inst_id": self.inst_id, "sid": self.sid}
        numbers = {row.name: row.statistic for row in names}
        if self.sid and self.coordinator and numbers:
            found[PxStatistic] = {
                "sid": self.sid,
                "cpu_number": numbers.get(CPU, -1),
                "logical_number": numbers.get(LOGICAL_READS, -1),
                "read_number": numbers.get(BYTES_READ, -1),
            }
        return found
