"""Cursors of a snapshot: the texts of statements, and what their plans say of their DOP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from presman.analysis.facts.dop import story
from presman.analysis.readings.statement_readings import DopStory
from presman.rows.cursor_rows import PlanXml, PxPlanLine, SqlText
from presman.rows.snapshot import Snapshot


class CursorFacts(Struct, frozen=True, dict=True):
    """Lookups into what a snapshot says of cursors."""

    snapshot: Snapshot

    def story(self, inst_id: int, sql_id: str, child: int | None) -> DopStory:
        """Return what the cursor's plan says of its DOP, silent where it was not read."""
        return of_cursor(self._stories, inst_id, sql_id, child) or SILENT

    def text(self, inst_id: int, sql_id: str, child: int | None) -> str:
        """Return the statement's text, "" where it was not read. All children of a statement have the same."""
        return of_cursor(self._texts, inst_id, sql_id, child) or self._texts.get(sql_id, "")

    def no_text(self, sql_id: str) -> str:
        """Return why a statement that has no text has none."""
        return why_no_text(sql_id, self._asked.get(sql_id), self.snapshot.kind, can_read=reads_texts(self.snapshot))

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
        return by_cursor((row, row.sql_text) for row in self.snapshot.rows(SqlText) if row.sql_text)

    @cached_property
    def _asked(self) -> Mapping[str, SqlText]:
        return {row.sql_id: row for row in sorted(self.snapshot.rows(SqlText), key=lambda row: bool(row.sql_text))}


def reads_texts(snapshot: Snapshot) -> bool:
    """Tell whether V$SQL can be read, as far as is known."""
    return snapshot.section(SqlText).problem is None


def why_no_text(sql_id: str, asked: SqlText | None, kind: str, *, can_read: bool, recorded: bool = False) -> str:
    """Return why a statement has no text, in brackets, "" where it has one or is none.

    `asked` is what came back for it, None where nobody asked; `kind` that of the source, of which a spool has what
    somebody chose to write; `recorded` tells that it is looked for in a recording.
    """
    if not sql_id or (asked is not None and asked.sql_text):
        return ""
    if kind == "spool":
        return "(not in the spool)"
    if asked is not None:
        return "(no longer in V$SQL)"
    if not can_read:
        return "(V$SQL cannot be read)"
    return "(not recorded)" if recorded else "(not read)"


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
