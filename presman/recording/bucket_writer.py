"""Bucket writer: the waits of the buckets of histograms, the polls of a span side by side."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import Bucket
from presman.figures.measures import BucketRow
from presman.recording.case_numbers import FORGOTTEN_AFTER, CaseNumbers
from presman.recording.measure_tables import BUCKET, SPAN
from presman.recording.row_commands import insert, run, update
from presman.recording.row_writer import end_all, ending
from presman.recording.schema import BUCKET_WAITS, BUCKETS

_KEY = ("database_id", "span", "first", "bucket_id")
_NEW_BUCKET, _NEW_WAITS = insert(BUCKETS), insert(BUCKET_WAITS)
_END = ending(BUCKET_WAITS, "bucket_id")
_ADD = tuple(update(BUCKET_WAITS, (f"waits_{place}",), _KEY) for place in range(SPAN))


class _OpenBucket(NamedTuple):
    """A row of a bucket that may go on: its number, its first poll within the span, the total after the newest one."""

    number: int
    first: int
    total: int


_Key = tuple[int, str, int]
"""Instance, event, upper bound."""


class BucketWriter:
    """Writes the waits of all histograms. After a transaction that failed a new one is needed."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        self._database_id = database_id
        self._numbers = CaseNumbers(connection, BUCKETS.c.bucket_id, database_id)
        self._span = -1
        self._open: dict[_Key, _OpenBucket] = {}

    def write(self, reading: Reading, poll: int, connection: Connection) -> None:
        """Write the waits of one poll."""
        span, place = divmod(poll, SPAN)
        if poll % FORGOTTEN_AFTER == 0:
            self._numbers.forget()
        if self._span < 0 and place:
            end_all(BUCKET_WAITS, self._database_id, span, place, connection)
        before = self._open if span == self._span else {}
        now: dict[_Key, _OpenBucket] = {}
        buckets, begun, added = [], [], []
        for histogram in reading.histograms:
            for bucket in histogram.buckets:
                key = (histogram.inst_id, histogram.event, bucket.upper_us)
                known, waits, total = before.get(key), bucket.delta, bucket.count
                if key in now:
                    continue
                if known is not None and waits is not None and known.total + waits == total:
                    if waits:
                        known = known._replace(total=total)
                        added.append((waits, self._database_id, span, known.first, known.number))
                    now[key] = known
                    continue
                number, is_new = self._numbers.number(key)
                now[key] = _OpenBucket(number, place, total)
                begun.append(self._row(number, span, place, bucket))
                if is_new:
                    row = BucketRow(histogram, bucket)
                    buckets.append((self._database_id, number, *(each.kept(row) for each in BUCKET)))
        run(connection, _NEW_BUCKET, buckets)
        run(connection, _END, [
            (place - 1, self._database_id, span, known.first, known.number)
            for key, known in before.items()
            if key not in now or now[key].first != known.first
        ])  # fmt: skip
        run(connection, _NEW_WAITS, begun)
        run(connection, _ADD[place], added)
        self._span, self._open = span, now

    def _row(self, number: int, span: int, place: int, bucket: Bucket) -> list[int | None]:
        places: list[int | None] = [None] * SPAN
        places[place] = bucket.delta or None
        before, is_known = bucket.count - (bucket.delta or 0), int(bucket.delta is not None)
        return [self._database_id, span, place, number, SPAN - 1, is_known, before, *places]
