"""Texts of statements that were read once, for as long as anybody may ask for them; why there is none of one."""

from __future__ import annotations

from collections import OrderedDict

from presman.analysis.facts.cursor_facts import why_no_text
from presman.analysis.readings.reading import Reading
from presman.rows.cursor_rows import SqlText

KEPT = 500
"""Statements whose texts are kept, those that were read last."""

LARGEST = 4_000_000
"""Characters of texts that are kept."""


class SqlTexts:
    """The texts of the last while by SQL_ID, fed by `add`. An SQL_ID is a hash of the text: it never gets another."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, SqlText] = OrderedDict()
        self._size = 0

    def add(self, reading: Reading) -> None:
        """Take the texts of a reading; one that V$SQL has no longer stays."""
        for row in reading.texts:
            known = self._rows.get(row.sql_id)
            if known is None or row.sql_text or not known.sql_text:
                self._size += len(row.sql_text) - len(known.sql_text if known else "")
                self._rows[row.sql_id] = row
            self._rows.move_to_end(row.sql_id)
        while len(self._rows) > KEPT or (self._size > LARGEST and len(self._rows) > 1):
            self._size -= len(self._rows.popitem(last=False)[1].sql_text)

    def find(self, sql_id: str) -> SqlText | None:
        """Return the cursor that a text was read of, None where none was asked about; its text is "" if it had gone."""
        return self._rows.get(sql_id)

    def text(self, sql_id: str) -> str:
        """Return the text of a statement, "" where it is not known."""
        found = self._rows.get(sql_id)
        return found.sql_text if found else ""

    def why_none(self, sql_id: str, reading: Reading, *, recorded: bool = False) -> str:
        """Return why there is no text, in brackets, "" where there is one; `recorded` is of who reads a recording."""
        return why_no_text(
            sql_id, self._rows.get(sql_id), reading.kind, can_read=reading.reads_texts, recorded=recorded
        )
