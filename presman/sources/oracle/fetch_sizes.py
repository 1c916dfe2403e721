"""Fetch sizes: all rows of a query in one round trip, unless they are so large that it takes several.

A row of a V$ view has some hundred bytes. Should one have a million, as a hostile or broken server may send, then rows
come a few at a time and are shortened as they come (rows.conversion.shortened), so that memory stays bounded.
"""

from __future__ import annotations

from presman.rows.queries import Query
from presman.sources.oracle.guard import MOST

FEWEST_ROWS, FIRST_ROWS = 64, 512
"""Rows asked for at once: at least, and as long as nothing is known."""

FEW = 2
"""Rows asked for at once while it is not known which query's rows are huge."""

AT_ONCE = MOST // 8
"""Bytes of huge rows asked for at once."""


class FetchSizes:
    """What is known of the queries' answers. `wary` for as long as it is not known whose answer was too large."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._huge: dict[str, int] = {}
        self._refused: set[str] = set()
        self.wary = False

    def rows(self, query: Query) -> int:
        """Return how many rows to ask for at once."""
        if query.name in self._huge:
            return self._huge[query.name]
        return FEW if self.wary else self._rows.get(query.name, FIRST_ROWS)

    def is_huge(self, query: Query) -> bool:
        """Say whether the rows of this query may be huge: it is not asked together with others."""
        return self.wary or query.name in self._huge

    def learn(self, query: Query, count: int, received: int = 0) -> None:
        """Take note that an answer had `count` rows, and how many bytes if it was asked alone."""
        self._rows[query.name] = max(FEWEST_ROWS, 1 << (count + count // 4).bit_length())
        if received:
            fit = AT_ONCE * max(1, count) // received
            if fit < FEWEST_ROWS:
                self._huge[query.name] = max(FEW, fit)
            else:
                self._huge.pop(query.name, None)

    def refuse(self, query: Query) -> None:
        """Take note that not even a few rows can be taken."""
        self._refused.add(query.name)

    def is_refused(self, query: Query) -> bool:
        """Say whether there is no use in asking."""
        return query.name in self._refused
