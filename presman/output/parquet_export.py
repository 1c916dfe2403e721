"""Parquet export: the rows of CSV as a Parquet file, with types. It needs pyarrow, which is an extra.

A Parquet file can only be read once its end is written, so it is written beside its final name and renamed when it is
complete: at the end, at Ctrl-C and at SIGTERM. SIGKILL leaves no file; data that must survive that is recorded first.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any

from presman.analysis.readings.reading import Reading
from presman.figures.figure import COUNT, FLAG, INSTANT, NAME, NUMBER, TEXT, TOTAL, WORD, Figure
from presman.figures.measures import COMMON
from presman.output.cells import Cell, word
from presman.output.csv_export import TidyRows
from presman.output.csv_file import OutputError, reason

ROW_GROUP = 20_000
"""Rows of a row group: a few megabytes of memory."""


class ParquetExport:
    """Writes readings to a new Parquet file. Raises OutputError if it cannot be written, or if pyarrow is missing."""

    def __init__(self, path: Path, measure: str) -> None:
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ModuleNotFoundError:
            raise OutputError("Parquet needs pyarrow: pip install 'presman[parquet]'") from None
        if path.exists():
            raise OutputError(f"{path} exists, and a Parquet file cannot be continued: choose another name")
        self.name = str(path)
        self._arrow = arrow
        self._rows = TidyRows(measure)
        self._waiting: list[list[Cell]] = []
        self._has_begun = False
        self._schema = arrow.schema([(each.key, _type(arrow, each)) for each in (*COMMON, *self._rows.measure.figures)])
        self._path, self._temporary = path, path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self._file = os.fdopen(os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except OSError as error:
            raise OutputError(f"cannot write {path}: {reason(error)}") from error
        self._writer: Any = parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def begin(self) -> None:
        """Note that there will be a file, even if it has no rows."""
        self._has_begun = True

    def write(self, reading: Reading) -> int:
        """Take one reading and return the number of rows it has. Raises OutputError."""
        self.begin()
        rows = self._rows.of(reading)
        self._waiting += rows
        if len(self._waiting) >= ROW_GROUP:
            self._flush()
        return len(rows)

    def close(self) -> None:
        """Complete and rename the file, or remove it if nothing was begun. Raises OutputError."""
        if self._writer is None:
            return
        if not self._has_begun:
            self._temporary.unlink(missing_ok=True)
        try:
            self._waiting += self._rows.rest()
            self._flush()
            self._writer.close()
            self._file.close()
            if self._has_begun:
                self._temporary.rename(self._path)
        except (OSError, self._arrow.ArrowException) as error:
            raise OutputError(f"cannot write {self.name}: {_message(error)}") from error
        finally:
            self._writer = None
            self._file.close()
            self._temporary.unlink(missing_ok=True)

    def _flush(self) -> None:
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        try:
            columns = [
                self._arrow.array([_plain(value) for value in column], each.type)
                for column, each in zip(zip(*rows, strict=True), self._schema, strict=True)
            ]
            self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))
        except (OSError, self._arrow.ArrowException) as error:
            raise OutputError(f"cannot write {self.name}: {_message(error)}") from error


def _type(arrow: Any, figure: Figure[Any]) -> Any:
    if figure.unit in (TEXT, NAME, WORD):
        return arrow.string()
    if figure.unit is INSTANT:
        return arrow.timestamp("us", tz="UTC")
    return arrow.bool_() if figure.unit is FLAG else arrow.int64() if figure.unit in _WHOLE else arrow.float64()


_WHOLE: Sequence[Any] = (NUMBER, COUNT, TOTAL)


def _plain(value: Cell) -> str | int | float | bool | datetime | None:
    if isinstance(value, float) and not isfinite(value):
        return None
    return word(value) if isinstance(value, Enum) else value


def _message(error: BaseException) -> str:
    return reason(error) if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0][:200]
