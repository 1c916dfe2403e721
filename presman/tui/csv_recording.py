"""The CSV file that the export key writes: the present measure, one reading after the other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from presman.analysis.readings.reading import Reading

if TYPE_CHECKING:
    from presman.output.csv_export import CsvExport


class CsvRecording:
    """One growing CSV file at a time, in a folder (None: where presman was started)."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: CsvExport | None = None
        self._path = Path()
        self.measure = ""
        """What is being written, "" while nothing is."""

    def toggle(self, name: str, measure: str, reading: Reading) -> tuple[str, bool]:
        """Begin with this reading of the database `name`, or end; return what there is to tell, and if it went well."""
        if self._file is not None:
            return self.end(), True
        from presman.output.csv_export import CsvExport, OutputError

        try:
            self._file = CsvExport(self._open(file_name(name, measure, datetime.now(UTC))), measure)
        except (OutputError, OSError) as error:
            return f"CSV export: {error}", False
        self.measure = measure
        if problem := self.write(reading):
            return problem, False
        return self._begun(), True

    def end(self) -> str:
        """End the file, and return what there is to tell."""
        self.close()
        return f"CSV export ended: {self._path}"

    def _open(self, name: str) -> Path | TextIO:
        """Return what is written to. Raises OSError."""
        self._path = (self._folder or Path.cwd()) / name
        return self._path

    def _begun(self) -> str:
        return f"Appending {self.measure} to {self._path} at each poll; e ends it"

    def write(self, reading: Reading) -> str:
        """Append a reading; if that fails, end, and return what there is to tell."""
        if self._file is None:
            return ""
        from presman.output.csv_export import OutputError

        try:
            self._file.write(reading)
        except (OutputError, OSError) as error:
            self.close()
            return f"CSV export ended: {error}"
        return ""

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()
        self._file, self.measure = None, ""


def file_name(database: str, measure: str, at: datetime, kind: str = "csv") -> str:
    """Return the name of a new file: ``presman-DWPROD-cpu-20261120-031240.csv``, in local time."""
    safe = "".join(character if character.isascii() and character.isalnum() else "-" for character in database)[:40]
    return f"presman-{safe.strip('-') or 'database'}-{measure}-{at.astimezone():%Y%m%d-%H%M%S}.{kind}"
