"""Figure writer: the figures of each poll of one database, as rows, buckets of histograms and long texts."""

from collections import OrderedDict
from collections.abc import Hashable
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, select

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import Bucket
from presman.figures.measures import BucketRow
from presman.recording.measure_tables import BUCKET, PART, ROW_TABLES, SPAN, RowTable, kept
from presman.recording.schema import BUCKET_WAITS, BUCKETS, CASES, ROWS, TEXTS, WORDS, insert, next_number, run, update

# ---- Text keeper: long texts, each stored once for all databases of a recording, identified by a hash


_KEEP = insert(TEXTS, "ON CONFLICT (hash) DO UPDATE SET last_at = excluded.last_at")

HASH = 16
"""Bytes of the hash of a text."""


class TextKeeper:
    """Collects the long texts of a poll and writes them before the rows that refer to them."""

    def __init__(self) -> None:
        self._new: dict[bytes, str] = {}

    def keep(self, text: str) -> bytes:
        """Return the hash of a text that will be written."""
        found = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH).digest()
        self._new[found] = text
        return found

    def write(self, at: int, connection: Connection) -> None:
        """Write the collected texts; those already stored are marked as in use at the instant `at`."""
        if not self._new:
            return
        # In the order of their hashes: otherwise two recorders that write the same texts could deadlock.
        run(connection, _KEEP, [(key, self._new[key].replace("\0", ""), at) for key in sorted(self._new)])
        self._new = {}


# ---- Numbers in place of long values that recur: cases, buckets, words


MOST_CASES = 4000
"""Cases remembered of each kind; a forgotten one is written again."""

FORGOTTEN_AFTER = 2048
"""Polls after which all cases are forgotten, so that their numbers show which cases no row needs any more."""

_NEW_WORD = insert(WORDS)


class CaseNumbers:
    """The numbers of cases; the least recently used are forgotten."""

    def __init__(self, connection: Connection, column: Any, database_id: int) -> None:
        self._next = next_number(connection, column, database_id)
        self._known: OrderedDict[Hashable, int] = OrderedDict()

    def forget(self) -> None:
        """Forget all cases: they get new numbers from now on."""
        self._known.clear()

    def number(self, case: Hashable) -> tuple[int, bool]:
        """Return the number of a case, and whether it is new."""
        if (known := self._known.get(case)) is not None:
            self._known.move_to_end(case)
            return known, False
        number = self._known[case] = self._next
        self._next += 1
        if len(self._known) > MOST_CASES:
            self._known.popitem(last=False)
        return number, True


class WordNumbers:
    """The numbers of the words of one database; a new word is written before the rows that refer to it."""

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
        """Write the new words."""
        run(connection, _NEW_WORD, self._new)
        self._new = []


# ---- Row writer: the rows of one kind for each poll of a database; unchanged rows are not written again


SLACK = 50_000
"""Microseconds within which two instants count as the same: a poll reads its views one after the other."""


class _Open(NamedTuple):
    """A row that may continue: its first poll within the span, and its values."""

    first: int
    values: tuple[Any, ...]


class RowWriter:
    """Writes the rows of one kind. A row lasts to the end of its span unless it is ended earlier."""

    def __init__(self, table: RowTable, connection: Connection, database_id: int, words: WordNumbers) -> None:
        cases, self._rows = CASES[table.name], ROWS[table.name]
        self._table = table
        self._database_id = database_id
        self._words = words
        self._numbers = CaseNumbers(connection, cases.c.case_id, database_id)
        self._numbered = [index for index, each in enumerate(table.of_rows) if each.is_numbered]
        self._counting = [index for index, each in enumerate(table.of_rows) if each.counts]
        self._known: dict[tuple[Any, ...], int] = {}
        self._span = -1
        self._open: dict[int, _Open] = {}
        self._new_case, self._new_row = insert(cases), insert(self._rows)
        self._end = ending(self._rows, "case_id")

    def write(self, reading: Reading, poll: int, connection: Connection, texts: TextKeeper) -> None:
        """Write the rows of one poll; the owner of `words` writes the new words."""
        span, index = divmod(poll, SPAN)
        if poll % FORGOTTEN_AFTER == 0 or len(self._known) > MOST_CASES:
            self._known.clear()
        if poll % FORGOTTEN_AFTER == 0:
            self._numbers.forget()
        if self._span < 0 and index:  # a recorder before this one wrote its rows as lasting to the end of the span
            end_all(self._rows, self._database_id, span, index, connection)
        at = kept(reading.at)
        before = self._open if span == self._span else {}
        now: dict[int, _Open] = {}
        cases, rows = [], []
        for row in self._table.rows(reading):
            number, case = self._case(row)
            if number in now:  # the key of a row has its case: two rows of one case at a poll cannot be stored
                continue
            if case is not None:
                pairs = zip(self._table.of_cases, case, strict=True)
                stored = [texts.keep(value) if each.is_long and value is not None else value for each, value in pairs]
                cases.append((self._database_id, number, *stored))
            known = before.get(number)
            values = self._kept_values(row, at, known)
            if known is not None and known.values == values:
                now[number] = known
            else:
                now[number] = _Open(index, values)
                rows.append((self._database_id, span, index, number, SPAN - 1, *values))
        over = {number: known for number, known in before.items() if now.get(number) is not known}
        ended = [(index - 1, self._database_id, span, known.first, number) for number, known in over.items()]
        self._words.write(connection)
        run(connection, self._new_case, cases)
        run(connection, self._end, ended)
        run(connection, self._new_row, rows)
        self._span, self._open = span, now

    def _case(self, row: Any) -> tuple[int, list[Any] | None]:
        """Return the number of a row's case, and the values to store for it if it is new."""
        figures = self._table.of_cases
        raw = tuple([each.figure.value(row) for each in figures])
        if raw in self._known:
            return self._known[raw], None
        case = [each.keep(value) for each, value in zip(figures, raw, strict=True)]
        number, is_new = self._numbers.number(tuple(case))
        self._known[raw] = number
        return number, case if is_new else None

    def _kept_values(self, row: Any, at: int, known: _Open | None) -> tuple[Any, ...]:
        """Return the values of a row, with numbers for words and the instant they count from for growing seconds."""
        values = [each.kept(row) for each in self._table.of_rows]
        for index in self._numbered:
            values[index] = self._words.number(values[index])
        for index in self._counting:
            if values[index] is not None:
                values[index] = since = at - PART * values[index]
                before = known.values[index] if known is not None else None
                if before is not None and abs(since - before) < SLACK:
                    values[index] = before
        return tuple(values)


def ending(table: Table, number: str) -> Any:
    """Return the command that ends a row before the end of its span; `number` is a column of its key."""
    return update(table, ("last",), ("database_id", "span", "first", number))


def end_all(table: Table, database_id: int, span: int, index: int, connection: Connection) -> None:
    """End the rows that the previous recorder left open."""
    c = table.c
    left = (c.database_id == database_id, c.span == span, c.last >= index)
    connection.execute(table.update().where(*left).values(last=index - 1))


# ---- Figure writer: the figures of each poll of one database


class FigureWriter:
    """Writes the figures of each reading. After a failed transaction, create a new one."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        words = WordNumbers(connection, database_id)
        self._rows = [RowWriter(table, connection, database_id, words) for table in ROW_TABLES]
        self._buckets = BucketWriter(connection, database_id)

    def write(self, reading: Reading, poll: int, connection: Connection, texts: TextKeeper) -> None:
        """Write the rows of one poll."""
        for each in self._rows:
            each.write(reading, poll, connection, texts)
        self._buckets.write(reading, poll, connection)


# ---- Bucket writer: the waits in the buckets of histograms, with the polls of a span side by side


_KEY = ("database_id", "span", "first", "bucket_id")
_NEW_BUCKET, _NEW_WAITS = insert(BUCKETS), insert(BUCKET_WAITS)
_END = ending(BUCKET_WAITS, "bucket_id")
_ADD = tuple(update(BUCKET_WAITS, (f"waits_{index}",), _KEY) for index in range(SPAN))


class _OpenBucket(NamedTuple):
    """A row of a bucket that may continue: its number, its first poll within the span, the total after the newest."""

    number: int
    first: int
    total: int


_Key = tuple[int, str, int]
"""Instance, event, upper bound."""


class BucketWriter:
    """Writes the waits of all histograms. After a failed transaction, create a new one."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        self._database_id = database_id
        self._numbers = CaseNumbers(connection, BUCKETS.c.bucket_id, database_id)
        self._span = -1
        self._open: dict[_Key, _OpenBucket] = {}

    def write(self, reading: Reading, poll: int, connection: Connection) -> None:
        """Write the waits of one poll."""
        span, index = divmod(poll, SPAN)
        if poll % FORGOTTEN_AFTER == 0:
            self._numbers.forget()
        if self._span < 0 and index:
            end_all(BUCKET_WAITS, self._database_id, span, index, connection)
        before = self._open if span == self._span else {}
        now: dict[_Key, _OpenBucket] = {}
        buckets, begun, added = [], [], []
        for histogram in reading.histograms:
            for bucket in histogram.buckets:
                key = (histogram.inst_id, histogram.event, bucket.upper_us)
                known, waits, total = before.get(key), bucket.delta, bucket.count
                if key in now:
                    continue
                # Else its counter was reset, or a poll is missing: another row begins, with the total before it.
                if known is not None and waits is not None and known.total + waits == total:
                    if waits:
                        known = known._replace(total=total)
                        added.append((waits, self._database_id, span, known.first, known.number))
                    now[key] = known
                    continue
                number, is_new = self._numbers.number(key)
                now[key] = _OpenBucket(number, index, total)
                begun.append(self._row(number, span, index, bucket))
                if is_new:
                    row = BucketRow(histogram, bucket)
                    buckets.append((self._database_id, number, *(each.kept(row) for each in BUCKET)))
        run(connection, _NEW_BUCKET, buckets)
        ended = [
            (index - 1, self._database_id, span, known.first, known.number)
            for key, known in before.items()
            if key not in now or now[key].first != known.first
        ]
        run(connection, _END, ended)
        run(connection, _NEW_WAITS, begun)
        run(connection, _ADD[index], added)
        self._span, self._open = span, now

    def _row(self, number: int, span: int, index: int, bucket: Bucket) -> list[int | None]:
        indexes: list[int | None] = [None] * SPAN
        indexes[index] = bucket.delta or None
        before, is_known = bucket.count - (bucket.delta or 0), int(bucket.delta is not None)
        return [self._database_id, span, index, number, SPAN - 1, is_known, before, *indexes]
