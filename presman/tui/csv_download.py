"""The CSV file that the export key makes in a browser: gathered where presman runs, then sent to who looks."""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryFile
from typing import TextIO

from presman.analysis.readings.reading import Reading
from presman.tui.csv_recording import CsvRecording

LARGEST = 32_000_000
"""Bytes after which a file is sent as it is: it is held in memory on its way."""


class CsvDownload(CsvRecording):
    """One growing CSV file at a time, without a name on disk; at its end `send` is given it and its name."""

    def __init__(self, send: Callable[[TextIO, str], object]) -> None:
        super().__init__()
        self._send = send
        self._content: TextIO | None = None
        self._name = ""

    def write(self, reading: Reading) -> str:
        """Append a reading; if that fails or the file is full, end, and return what there is to tell."""
        problem = super().write(reading)
        if not problem and self._content is not None and self._content.tell() > LARGEST:
            return f"{LARGEST // 1_000_000} MB are reached. {self.end()}"
        return problem

    def end(self) -> str:
        """End the file and send it."""
        content, self._content = self._content, None
        self.close()
        if content is None:
            return "CSV export ended"
        self._send(content, self._name)
        return f"CSV export ended: your browser downloads {self._name}"

    def close(self) -> None:
        """End the file; what was not sent is gone."""
        super().close()
        if self._content is not None:
            self._content.close()
        self._content = None

    def _open(self, name: str) -> TextIO:
        self._name = name
        self._content = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115 - it is open until the end
        return self._content

    def _begun(self) -> str:
        return f"Recording {self.measure} at each poll; e ends it, and your browser downloads the file"
