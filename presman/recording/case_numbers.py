"""Numbers that stand for what is long and comes again and again: cases, buckets, words."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from sqlalchemy import Connection, func, select

from presman.recording.row_commands import insert, run
from presman.recording.schema import WORDS

MOST_CASES = 4000
"""Cases remembered of each kind; one that was forgotten is written again."""

FORGOTTEN_AFTER = 2048
"""Polls after which all cases are forgotten, so that those which no row needs can be told by their numbers."""

_NEW_WORD = insert(WORDS)


class CaseNumbers:
    """The numbers of cases, the least recently used forgotten."""

    def __init__(self, connection: Connection, column: Any, database_id: int) -> None:
        highest = connection.execute(select(func.max(column)).where(column.table.c.database_id == database_id)).scalar()
        self._next = (highest or 0) + 1
        self._known: OrderedDict[Hashable, int] = OrderedDict()

    def forget(self) -> None:
        """Give new numbers from now on."""
        self._known.clear()

    def number(self, case: Hashable) -> tuple[int, bool]:
        """Return the number of a case, and whether it is new."""
        known = self._known.get(case)
        if known is not None:
            self._known.move_to_end(case)
            return known, False
        number = self._known[case] = self._next
        self._next += 1
        if len(self._known) > MOST_CASES:
            self._known.popitem(last=False)
        return number, True


class WordNumbers:
    """The numbers of the words of one database; a new word is written before what refers to it."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        self._database_id = database_id
        of = WORDS.c
        rows = connection.execute(select(of.word, of.word_id).where(of.database_id == database_id)).all()
        self._known = {str(word): int(number) for word, number in rows}
        self._new: list[tuple[int, int, str]] = []

    def number(self, word: str | None) -> int | None:
        """Return the number of a word."""
        if word is None or word in self._known:
            return None if word is None else self._known[word]
        number = self._known[word] = max(self._known.values(), default=0) + 1
        self._new.append((self._database_id, number, word))
        return number

    def write(self, connection: Connection) -> None:
        """Write the words that are new."""
        run(connection, _NEW_WORD, self._new)
        self._new = []
