"""The CSV file that the export key writes: the present measure, one reading after the other."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from presman.analysis.reading import Reading

if TYPE_CHECKING:
    from presman.output.export import CsvExport


class ExportError(Exception):
    """The file cannot be written; the text is one line that names it."""


class Export:
    """One growing CSV file. Raises ExportError."""

    def __init__(self, folder: Path, name: str, measure: str, at: datetime) -> None:
        from presman.output.export import CsvExport, OutputError

        safe = "".join(character if character.isascii() and character.isalnum() else "-" for character in name)[:40]
        self.measure = measure
        self.path = folder / f"presman-{safe.strip('-') or 'database'}-{measure}-{at.astimezone():%Y%m%d-%H%M%S}.csv"
        self._error: type[Exception] = OutputError
        try:
            self._csv: CsvExport = CsvExport(self.path, measure)
        except (OutputError, OSError) as error:
            raise ExportError(str(error)) from error

    def write(self, reading: Reading) -> None:
        """Append one reading."""
        try:
            self._csv.write(reading)
        except (self._error, OSError) as error:
            raise ExportError(str(error)) from error

    def close(self) -> None:
        """End the file."""
        self._csv.close()
