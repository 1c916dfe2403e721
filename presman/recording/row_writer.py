"""Row writer: the rows of one kind for each poll of a database; what did not change is not written again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table

from presman.analysis.readings.reading import Reading
from presman.recording.case_numbers import FORGOTTEN_AFTER, MOST_CASES, CaseNumbers, WordNumbers
from presman.recording.measure_tables import PART, SPAN, RowTable, kept
from presman.recording.raw_values import RawValues, Values
from presman.recording.row_commands import insert, run, update
from presman.recording.schema import CASES, ROWS
from presman.recording.text_keeper import TextKeeper

SLACK = 50_000
"""Microseconds by which two instants may differ that are one: a poll reads its views one after the other."""


class _Open(NamedTuple):
    """A row that may go on: its first poll within the span, and its values."""

    first: int
    values: tuple[Any, ...]


class RowWriter:
    """The rows of one kind. A row lasts to the end of its span unless it is ended before."""

    def __init__(self, table: RowTable, connection: Connection, database_id: int, words: WordNumbers) -> None:
        cases, self._rows = CASES[table.name], ROWS[table.name]
        self._table = table
        self._database_id = database_id
        self._words = words
        self._numbers = CaseNumbers(connection, cases.c.case_id, database_id)
        self._long = [place for place, each in enumerate(table.of_cases) if each.is_long]
        self._numbered = [place for place, each in enumerate(table.of_rows) if each.is_numbered]
        self._counting = [place for place, each in enumerate(table.of_rows) if each.counts]
        self._cases, self._values = RawValues(table.of_cases), RawValues(table.of_rows)
        self._known: dict[Values, int] = {}
        self._span = -1
        self._open: dict[int, _Open] = {}
        self._new_case, self._new_row = insert(cases), insert(self._rows)
        self._end = ending(self._rows, "case_id")

    def write(self, reading: Reading, poll: int, connection: Connection, texts: TextKeeper) -> None:
        """Write the rows of one poll; words that are new are left to whoever gave `words`."""
        span, place = divmod(poll, SPAN)
        if poll % FORGOTTEN_AFTER == 0 or len(self._known) > MOST_CASES:
            self._known.clear()
        if poll % FORGOTTEN_AFTER == 0:
            self._numbers.forget()
        if self._span < 0 and place:
            end_all(self._rows, self._database_id, span, place, connection)
        at = kept(reading.at)
        before = self._open if span == self._span else {}
        now: dict[int, _Open] = {}
        cases, rows = [], []
        for row in self._table.rows(reading):
            number, case = self._case(row)
            if number in now:
                continue
            if case is not None:
                cases.append((self._database_id, number, *self._with_hashes(case, texts)))
            known = before.get(number)
            values = self._kept_values(row, at, known)
            if known is not None and known.values == values:
                now[number] = known
            else:
                now[number] = _Open(place, values)
                rows.append((self._database_id, span, place, number, SPAN - 1, *values))
        ended = [
            (place - 1, self._database_id, span, known.first, number)
            for number, known in before.items()
            if now.get(number) is not known
        ]
        self._words.write(connection)
        run(connection, self._new_case, cases)
        run(connection, self._end, ended)
        run(connection, self._new_row, rows)
        self._span, self._open = span, now

    def _case(self, row: Any) -> tuple[int, Sequence[Any] | None]:
        """Return the number of a row's case, and what is kept of that if it is new."""
        raw = self._cases.read(row)
        if raw in self._known:
            return self._known[raw], None
        case = self._cases.kept(raw)
        number, is_new = self._numbers.number(tuple(case))
        self._known[raw] = number
        return number, case if is_new else None

    def _with_hashes(self, case: Sequence[Any], texts: TextKeeper) -> Sequence[Any]:
        """Return the values of a case with hashes in place of long texts."""
        found = list(case)
        for place in self._long:
            if found[place] is not None:
                found[place] = texts.keep(found[place])
        return found

    def _kept_values(self, row: Any, at: int, known: _Open | None) -> tuple[Any, ...]:
        """Return the values of a row with numbers in place of words, instants in place of seconds that count."""
        values = self._values.kept(self._values.read(row))
        for place in self._numbered:
            values[place] = self._words.number(values[place])
        for place in self._counting:
            if values[place] is not None:
                values[place] = since = at - PART * values[place]
                before = known.values[place] if known is not None else None
                if before is not None and abs(since - before) < SLACK:
                    values[place] = before
        return tuple(values)


def ending(table: Table, number: str) -> Any:
    """Return the command by which a row that was to last to the end of its span ends before; `number` is of its key."""
    return update(table, ("last",), ("database_id", "span", "first", number))


def end_all(table: Table, database_id: int, span: int, place: int, connection: Connection) -> None:
    """End the rows that the recorder before this one left open."""
    c = table.c
    left = (c.database_id == database_id, c.span == span, c.last >= place)
    connection.execute(table.update().where(*left).values(last=place - 1))
