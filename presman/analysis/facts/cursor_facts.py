"""Cursors of a snapshot: the texts of statements, and what their plans say of their DOP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from presman.analysis.facts.dop import story
from presman.analysis.readings.statement_readings import DopStory
from presman.records.cursor_rows import PlanXml, PxPlanLine, SqlText
from presman.records.snapshot import Snapshot


class CursorFacts(Struct, frozen=True, dict=True):
    """Lookups into what a snapshot says of cursors."""

    snapshot: Snapshot

    def story(self, inst_id: int, sql_id: str, child: int | None) -> DopStory:
        """Return what the cursor's plan says of its DOP, silent where it was not read."""
        return of_cursor(self._stories, inst_id, sql_id, child) or SILENT

    def text(self, inst_id: int, sql_id: str, child: int | None) -> str:
        """Return the statement's text, "" where it was not read. All children of a statement have the same."""
        return of_cursor(self._texts, inst_id, sql_id, child) or self._texts.get(sql_id, "")

    def lines(self, inst_id: int, sql_id: str, child: int | None) -> tuple[PxPlanLine, ...]:
        """Return the lines of the cursor's plan that were read, none where it was not."""
        return of_cursor(self._lines, inst_id, sql_id, child) or ()

    @cached_property
    def plans(self) -> tuple[tuple[PxPlanLine, ...], ...]:
        """The lines of each plan that was read."""
        found: dict[tuple[int, str, int], list[PxPlanLine]] = defaultdict(list)
        for line in self.snapshot.rows(PxPlanLine):
            found[line.inst_id, line.sql_id, line.child_number].append(line)
        return tuple(map(tuple, found.values()))

    @cached_property
    def _lines(self) -> Mapping[Any, tuple[PxPlanLine, ...]]:
        return by_cursor((lines[0], lines) for lines in self.plans)

    @cached_property
    def _stories(self) -> Mapping[Any, DopStory]:
        return by_cursor((row, story(row.other_xml)) for row in self.snapshot.rows(PlanXml))

    @cached_property
    def _texts(self) -> Mapping[Any, str]:
        return by_cursor((row, row.sql_text) for row in self.snapshot.rows(SqlText))


def of_cursor(index: Mapping[Any, Any], inst_id: int, sql_id: str, child: int | None) -> Any:
    """Look a cursor up, on another instance if need be; any child where the session does not say which."""
    if child is None:
        return index.get(sql_id)
    return index.get((inst_id, sql_id, child)) or index.get((sql_id, child))


SILENT = DopStory()


def by_cursor(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Index by (instance, SQL_ID, child) and, for a cursor read on another instance, by what is left of that."""
    index: dict[Any, Any] = {}
    for row, value in pairs:
        index[row.inst_id, row.sql_id, row.child_number] = value
        index.setdefault((row.sql_id, row.child_number), value)
        index.setdefault(row.sql_id, value)
    return index
