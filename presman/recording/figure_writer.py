"""Figure writer: the rows of the measures for each poll of one database."""

from __future__ import annotations

from collections import OrderedDict
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, func, select

from presman.analysis.readings.reading import Reading
from presman.figures.measures import MEASURES, BucketRow
from presman.recording.compiled_statements import run
from presman.recording.measure_tables import BUCKET, ROW_TABLES, SPAN, RowTable
from presman.recording.schema import BUCKET_WAITS, BUCKETS, CASES, ROWS
from presman.recording.text_keeper import TextKeeper

_CASES_KEPT = 4000
"""Cases remembered of each kind; one that was forgotten is written again."""

FORGOTTEN_AFTER = 2048
"""Polls after which all cases are forgotten, so that those which no row needs can be told by their numbers."""


class _Open(NamedTuple):
    """A row that may go on: its first poll within the span, and its values."""

    first: int
    values: tuple[Any, ...]


class _OpenBucket(NamedTuple):
    """A row of a bucket that may go on: its first poll within the span, and the total after the newest one."""

    first: int
    total: int


class _Numbers:
    """The numbers of cases, the least recently used forgotten."""

    def __init__(self, connection: Connection, column: Any, database_id: int) -> None:
        highest = connection.execute(select(func.max(column)).where(column.table.c.database_id == database_id)).scalar()
        self._next = (highest or 0) + 1
        self._known: OrderedDict[tuple[Any, ...], int] = OrderedDict()

    def forget(self) -> None:
        """Give new numbers from now on."""
        self._known.clear()

    def number(self, case: tuple[Any, ...]) -> tuple[int, bool]:
        """Return the number of a case, and whether it is new."""
        known = self._known.get(case)
        if known is not None:
            self._known.move_to_end(case)
            return known, False
        number = self._known[case] = self._next
        self._next += 1
        if len(self._known) > _CASES_KEPT:
            self._known.popitem(last=False)
        return number, True


_NEW_BUCKET, _NEW_WAITS = BUCKETS.insert(), BUCKET_WAITS.insert()


class _RowWriter:
    """The rows of one kind."""

    def __init__(self, table: RowTable, connection: Connection, database_id: int) -> None:
        self._table = table
        self._database_id = database_id
        self._cases, self._rows = CASES[table.name], ROWS[table.name]
        self._numbers = _Numbers(connection, self._cases.c.case_id, database_id)
        self._of_cases = [(each.key, each.kept, each.is_long) for each in table.of_cases]
        self._of_rows = [(each.key, each.kept) for each in table.of_rows]
        self._span = -1
        self._open: dict[int, _Open] = {}
        self._go_on = _going_on(self._rows, "case_id")
        self._new_case, self._new_row = self._cases.insert(), self._rows.insert()

    def write(self, reading: Reading, poll: int, connection: Connection, texts: TextKeeper) -> None:
        span, place = divmod(poll, SPAN)
        if poll % FORGOTTEN_AFTER == 0:
            self._numbers.forget()
        before = self._open if span == self._span else {}
        now: dict[int, _Open] = {}
        cases, rows, longer = [], [], []
        for row in self._table.rows(reading):
            case = tuple([kept(row) for _, kept, _ in self._of_cases])
            number, is_new = self._numbers.number(case)
            if number in now:
                continue
            if is_new:
                cases.append(self._case(number, case, texts))
            values = tuple([kept(row) for _, kept in self._of_rows])
            known = before.get(number)
            if known is not None and known.values == values:
                now[number] = known
                longer.append({"a_first": known.first, "a_number": number})
            else:
                now[number] = _Open(place, values)
                rows.append(dict(zip([key for key, _ in self._of_rows], values, strict=True)) | {
                    "database_id": self._database_id, "span": span, "first": place, "last": place, "case_id": number,
                })  # fmt: skip
        where = {"a_database": self._database_id, "a_span": span, "to": place}
        run(connection, self._new_case, cases)
        run(connection, self._new_row, sorted(rows, key=itemgetter("case_id")))
        run(connection, self._go_on, [where | each for each in longer])
        self._span, self._open = span, now

    def _case(self, number: int, case: tuple[Any, ...], texts: TextKeeper) -> dict[str, Any]:
        found: dict[str, Any] = {"database_id": self._database_id, "case_id": number}
        for (key, _, is_long), value in zip(self._of_cases, case, strict=True):
            found[key] = texts.keep(value) if is_long and value is not None else value
        return found


class _BucketWriter:
    """The waits of the buckets of histograms, the polls of a span side by side."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        self._database_id = database_id
        self._numbers = _Numbers(connection, BUCKETS.c.bucket_id, database_id)
        self._span = -1
        self._open: dict[int, _OpenBucket] = {}
        self._end = _going_on(BUCKET_WAITS, "bucket_id")
        self._add = [
            _at_row(BUCKET_WAITS, "bucket_id").values({f"waits_{place}": bindparam("waits")}) for place in range(SPAN)
        ]

    def write(self, reading: Reading, poll: int, connection: Connection) -> None:
        span, place = divmod(poll, SPAN)
        if poll % FORGOTTEN_AFTER == 0:
            self._numbers.forget()
        if self._span < 0 and place:  # the recorder before this one left its rows open
            c = BUCKET_WAITS.c
            left = (c.database_id == self._database_id, c.span == span, c.last >= place)
            connection.execute(BUCKET_WAITS.update().where(*left).values(last=place - 1))
        before = self._open if span == self._span else {}
        now: dict[int, _OpenBucket] = {}
        buckets, begun, added, ended = [], [], [], []
        for row in MEASURES["latency"].rows(reading):
            number, is_new = self._numbers.number((row.histogram.inst_id, row.histogram.event, row.bucket.upper_us))
            if number in now:
                continue
            if is_new:
                keys = {each.key: each.kept(row) for each in BUCKET}
                buckets.append(keys | {"database_id": self._database_id, "bucket_id": number})
            known, waits, total = before.get(number), row.bucket.delta, row.bucket.count
            if known is not None and waits is not None and known.total + waits == total:
                now[number] = _OpenBucket(known.first, total)
                if waits:
                    added.append({"a_first": known.first, "a_number": number, "waits": waits})
            else:
                if known is not None:
                    ended.append({"a_first": known.first, "a_number": number})
                now[number] = _OpenBucket(place, total)
                begun.append(self._row(number, span, place, row))
        gone = before.keys() - now.keys()
        ended += [{"a_first": before[number].first, "a_number": number} for number in gone]
        where = {"a_database": self._database_id, "a_span": span}
        run(connection, _NEW_BUCKET, buckets)
        run(connection, _NEW_WAITS, begun)
        run(connection, self._add[place], [where | each for each in added])
        run(connection, self._end, [where | each | {"to": place - 1} for each in ended])
        self._span, self._open = span, now

    def _row(self, number: int, span: int, place: int, row: BucketRow) -> dict[str, Any]:
        waits = row.bucket.delta
        found: dict[str, Any] = dict.fromkeys((f"waits_{each}" for each in range(SPAN)), None)
        found |= {
            "database_id": self._database_id, "span": span, "first": place, "bucket_id": number, "last": SPAN - 1,
            "known": int(waits is not None), "waits_before": row.bucket.count - (waits or 0),
        }  # fmt: skip
        return found | {f"waits_{place}": waits or None}


class FigureWriter:
    """Writes what the measures say of each reading. After a transaction that failed a new one is needed."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        self._rows = [_RowWriter(table, connection, database_id) for table in ROW_TABLES]
        self._buckets = _BucketWriter(connection, database_id)

    def write(self, reading: Reading, poll: int, connection: Connection, texts: TextKeeper) -> None:
        """Write the rows of one poll."""
        for each in self._rows:
            each.write(reading, poll, connection, texts)
        self._buckets.write(reading, poll, connection)


def _at_row(table: Table, number: str) -> Any:
    """Return an update of one row of a span, found by its key."""
    c = table.c
    return table.update().where(
        c.database_id == bindparam("a_database"), c.span == bindparam("a_span"), c.first == bindparam("a_first"),
        c[number] == bindparam("a_number"),
    )  # fmt: skip


def _going_on(table: Table, number: str) -> Any:
    """Return the update by which a row lasts up to a poll."""
    return _at_row(table, number).values({"last": bindparam("to")})
