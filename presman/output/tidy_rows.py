"""Tidy rows: what a measure says of each poll, one row for each group, statement or bucket."""

from __future__ import annotations

from presman.analysis.readings.reading import Reading
from presman.analysis.trends.arrivals import ArrivalTracker
from presman.figures.late_views import late_among
from presman.figures.measures import MEASURES
from presman.output.cells import Cell


class TidyRows:
    """Makes the rows of one reading after the other. Raises KeyError for an unknown measure."""

    def __init__(self, measure: str) -> None:
        self.measure = MEASURES[measure]
        self.names = self.measure.header()
        self._following = ArrivalTracker() if measure == "arrivals" else None
        self._last: Reading | None = None

    def of(self, reading: Reading) -> list[list[Cell]]:
        """Return the rows of a reading; none where they are older than its time, which nothing in a file would tell."""
        if any(each.age is not None for each in late_among(self.measure.figures, reading)):
            return []
        followed = None if self._following is None else self._following.add(reading)
        self._last = reading
        return self.measure.tidy(reading, followed)

    def rest(self) -> list[list[Cell]]:
        """Return the rows of what is not over at the end."""
        if self._following is None or self._last is None:
            return []
        return self.measure.tidy(self._last, self._following.rest())
