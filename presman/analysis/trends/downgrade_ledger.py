"""Ledger of observed downgrades: which statement got fewer servers than it asked for, when, and how many fewer."""

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing
from presman.analysis.totals import downgraded

KEPT = 500
"""Downgrades remembered."""

_SAME_START = timedelta(seconds=5)
"""The start of an execution is known to the second, and read off a moving clock."""


class Downgrade(NamedTuple):
    """One execution that got `degree` of the `requested` degree; `downgraded` percent of it were lost."""

    at: datetime
    inst_id: int
    sid: int
    serial: int
    con_id: int
    group: str
    user: str
    program: str
    sql_id: str
    degree: int | None
    requested: int | None
    downgraded: float


_of_statement = attrgetter(*Downgrade._fields[1:])


class DowngradeLedger:
    """The downgrades seen, newest first; each execution is entered once."""

    def __init__(self, kept: int = KEPT) -> None:
        self._entries: deque[Downgrade] = deque(maxlen=kept)
        self._running: dict[Executing, datetime | None] = {}
        self._last: datetime | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Downgrade]:
        return reversed(self._entries)

    def add(self, reading: Reading) -> None:
        """Enter the downgrades of this reading that were not there in the one before."""
        if self._last is not None and reading.at < self._last:
            self._running.clear()
        self._last = reading.at
        now: dict[Executing, datetime | None] = {}
        for each in downgraded(reading.running):
            who = each.executing()
            start = None if each.elapsed is None else reading.at - timedelta(seconds=each.elapsed)
            now[who] = start
            if not self._is_known(who, start):
                self._entries.append(Downgrade(reading.at, *_of_statement(each)))
        self._running = now

    def _is_known(self, who: Executing, start: datetime | None) -> bool:
        """Whether the same execution was there at the reading before; another one of the same SQL starts later."""
        if who not in self._running:
            return False
        before = self._running[who]
        return before is None or start is None or start - before < _SAME_START

    def since(self, at: datetime) -> list[Downgrade]:
        """Return the downgrades seen at `at` or later, newest first."""
        return [entry for entry in self if entry.at >= at]
