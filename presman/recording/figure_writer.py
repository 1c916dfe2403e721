"""Figure writer: what the measures say of each poll of one database."""

from __future__ import annotations

from sqlalchemy import Connection

from presman.analysis.readings.reading import Reading
from presman.recording.bucket_writer import BucketWriter
from presman.recording.case_numbers import WordNumbers
from presman.recording.measure_tables import ROW_TABLES
from presman.recording.row_writer import RowWriter
from presman.recording.text_keeper import TextKeeper


class FigureWriter:
    """Writes what the measures say of each reading. After a transaction that failed a new one is needed."""

    def __init__(self, connection: Connection, database_id: int) -> None:
        words = WordNumbers(connection, database_id)
        self._rows = [RowWriter(table, connection, database_id, words) for table in ROW_TABLES]
        self._buckets = BucketWriter(connection, database_id)

    def write(self, reading: Reading, poll: int, connection: Connection, texts: TextKeeper) -> None:
        """Write the rows of one poll."""
        for each in self._rows:
            each.write(reading, poll, connection, texts)
        self._buckets.write(reading, poll, connection)
