"""Row files: what `presman export` writes as rows of cells with a header, whether it is CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from presman.base.errors import InputError
from presman.base.text import clean, one_line

_PARQUET, _JSON, _SQLITE = b"PAR1", b"{", b"SQLite format 3"
"""How files of a kind begin. No CSV file of presman begins so."""


class ChartError(InputError):
    """A file cannot be drawn; the text is one line that says where and why."""


class FileRows(ABC):
    """The header and then the rows of a file, as cells of text; `number` is the line of the newest.

    `cut` is what is wrong with a last line that is cut short and was left out. Iterating raises ChartError.
    """

    unit = "line"

    def __init__(self, path: Path) -> None:
        self.name = clean(str(path))
        self.number = 0
        self.cut: ChartError | None = None

    @abstractmethod
    def __iter__(self) -> Iterator[list[str]]:
        """Yield the header and then the rows. Raises ChartError."""

    def error(self, text: str) -> ChartError:
        """Return an error that names the line."""
        where = f", {self.unit} {self.number}" if self.number else ""
        return ChartError(f"{self.name}{where}: {text}")


@contextmanager
def opened(path: Path) -> Iterator[FileRows]:
    """Open a file by what it begins with. Raises OSError, ChartError."""
    with path.open("rb") as file:
        begin = file.peek(len(_SQLITE))[: len(_SQLITE)]
        if begin == _SQLITE:
            name = clean(str(path))
            raise ChartError(
                f"{name} is a recording: presman export {name} -o FILE.csv writes a file that can be charted"
            )
        if begin[:4] == _PARQUET:
            yield _ParquetRows(path, file)
            return
        # What is no UTF-8 is kept as it is and cleaned where it is shown: so a damaged cell is told by its line.
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        yield _JsonRows(path, text) if begin[:1] == _JSON else _CsvRows(path, text)


class _CsvRows(FileRows):
    def __init__(self, path: Path, file: io.TextIOWrapper) -> None:
        super().__init__(path)
        self._reader = csv.reader(file, strict=True)

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            self.number = self._reader.line_num + 1
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self.error(one_line(clean(str(error)), 80)) from None
            if row:
                yield row


class _JsonRows(FileRows):
    """Objects with the same names on each line, as `presman export --format jsonl` writes them."""

    def __init__(self, path: Path, file: io.TextIOWrapper) -> None:
        super().__init__(path)
        self._file = file

    def __iter__(self) -> Iterator[list[str]]:
        names: list[str] = []
        for line in self._file:
            self.number += 1
            found = _object(line)
            if found is None:
                said = self.error("it is not a JSON object")
                if line.endswith("\n"):
                    raise said
                self.cut = said
                return
            if not names:
                names = list(found)
                yield names
            if list(found) != names:
                raise self.error("its names differ from the first line")
            yield [_text(each) for each in found.values()]


class _ParquetRows(FileRows):
    unit = "row"

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(path)
        try:
            from pyarrow import ArrowException, parquet
        except ModuleNotFoundError:
            raise ChartError(f"{self.name}: Parquet needs pyarrow: pip install 'presman[parquet]'") from None
        self._damages = (ArrowException, OSError)
        try:
            self._file = parquet.ParquetFile(file)
        except self._damages as error:
            raise self._damage(error) from None

    def __iter__(self) -> Iterator[list[str]]:
        yield [str(name) for name in self._file.schema_arrow.names]
        try:
            for batch in self._file.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    self.number += 1
                    yield [_text(each) for each in row]
        except self._damages as error:
            raise self._damage(error) from None

    def _damage(self, error: Exception) -> ChartError:
        return ChartError(f"{self.name}: {one_line(clean(str(error)), 120)}")


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: Any) -> str:
    """Return a value as CSV has it."""
    return "" if value is None else value.isoformat() if isinstance(value, datetime) else str(value)
