"""Exports started by keys: a CSV file of a measure, and a recording written by a thread."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TextIO

from presman.analysis.readings.reading import Reading
from presman.base.text import clean
from presman.rows.queries import DetailLevel

if TYPE_CHECKING:
    from presman.output.csv_export import CsvExport
    from presman.rows.snapshot import Snapshot
    from presman.tui.monitor import Monitor


class CsvRecording:
    """One growing CSV file at a time, in a folder (None: the working directory)."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: CsvExport | None = None
        self._path = Path()
        self.measure = ""
        """The measure that is being written, "" for none."""

    @property
    def detail_level(self) -> DetailLevel:
        """The level of detail that each poll needs for the measure that is being written."""
        return DetailLevel.NARROW if self._file is None else self._file.detail_level

    def toggle(self, name: str, measure: str, reading: Reading) -> tuple[str, bool]:
        """Start with this reading of the database `name`, or stop; return a notice, and whether it succeeded."""
        if self._file is not None:
            return self.end(), True
        from presman.output.csv_export import CsvExport
        from presman.output.csv_file import OutputError

        try:
            self._file = CsvExport(self._open(file_name(name, measure, datetime.now(UTC))), measure)
        except (OutputError, OSError) as error:
            return f"CSV export: {error}", False
        self.measure = measure
        if problem := self.write(reading):
            return problem, False
        return self._begun(), True

    def end(self) -> str:
        """End the file, and return a notice."""
        self.close()
        return f"CSV export ended: {self._path}"

    def _open(self, name: str) -> Path | TextIO:
        """Return the file to write to, or its path. Raises OSError."""
        self._path = (self._folder or Path.cwd()) / name
        return self._path

    def _begun(self) -> str:
        return f"Appending {self.measure} to {self._path} at each poll; e ends it"

    def write(self, reading: Reading) -> str:
        """Append a reading; if that fails, end the file and return a notice."""
        if self._file is None:
            return ""
        from presman.output.csv_file import OutputError

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


_CHOSEN = re.compile(r"[?&]database=([^&]+)")
"""The database of a recording or store with several, in the name of the target."""


def file_name(database: str, measure: str, at: datetime, kind: str = "csv") -> str:
    """Return the name of a new file: ``presman-DWPROD-cpu-20261120-031240.csv``, in local time. `measure` may be "".

    The name of a recording or spool is used without its folders, or that of the database chosen in it.

    >>> file_name("recording:/var/lib/presman/erp.presman", "report", datetime(2026, 11, 20).astimezone(), "html")
    'presman-erp-report-20261120-000000.html'
    >>> file_name("recording:presman-2026-11-20.presman?database=erp", "", datetime(2026, 11, 20).astimezone(), "html")
    'presman-erp-20261120-000000.html'
    """
    kind_of_source, colon, path = database.partition(":")
    if chosen := _CHOSEN.search(database):
        database = chosen[1]
    elif colon and kind_of_source in {"recording", "spool"}:
        database = path.rstrip("/").rpartition("/")[2].removesuffix(".presman").removeprefix("presman-")
    safe = "".join(character if character.isascii() and character.isalnum() else "-" for character in database)[:40]
    name = "-".join(part for part in (safe.strip("-") or "database", measure) if part)
    return f"presman-{name}-{at.astimezone():%Y%m%d-%H%M%S}.{kind}"


Pair = tuple["Snapshot | None", "Snapshot"]

MOST_WAITING = 16
"""Most polls of the past that wait in memory to be written: an hour of them may be gigabytes."""

_PATIENCE = 5.0
"""Seconds that closing waits for unwritten polls."""


class PollRecording:
    """One growing file at a time, in a folder (None: the working directory).

    `notify` is called in its thread with notices for the user.
    """

    def __init__(self, folder: Path | None, notify: Callable[[str], object]) -> None:
        self._folder, self._notify = folder, notify
        self._queue: SimpleQueue[Pair | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_loading = False
        self._last: Snapshot | None = None
        self.number = 0
        """Number of files so far: shows whether the file is still the one that was started."""
        self.path: Path | None = None
        """The path of the file, None while none is written."""

    @property
    def is_on(self) -> bool:
        """Whether polls are being written."""
        return self._thread is not None

    @property
    def is_behind(self) -> bool:
        """Whether too many polls wait in memory to be written: each may have megabytes."""
        return self._queue.qsize() >= MOST_WAITING

    def begin(self, name: str, kind: str) -> Path:
        """Start a file for the database `name`. Until `loaded` is called, polls that arrive belong to `past`."""
        self.path = (self._folder or Path.cwd()) / file_name(name, "", datetime.now(UTC), "presman")
        self._queue, self._is_loading, self._last = SimpleQueue(), True, None
        self.number += 1
        write = partial(self._write_all, self.path, name, kind, self._queue)
        self._thread = threading.Thread(target=write, name="presman-recording", daemon=True)
        self._thread.start()
        return self.path

    def past(self, pair: Pair) -> None:
        """Write a poll of the past; call it in order."""
        if self.is_on:
            self._last = pair[1]
            self._queue.put(pair)

    def loaded(self) -> None:
        """Write polls as they arrive from now on: all earlier ones have been passed to `past`."""
        self._is_loading = False

    def write(self, snapshot: Snapshot | None, reading: Reading) -> None:
        """Write a poll that arrived, with its forecasts."""
        from presman.forecast.shown import with_shown

        if self.is_on and snapshot is not None and not self._is_loading:
            self._queue.put((self._last, with_shown(snapshot, reading)))
            self._last = snapshot

    def close(self) -> None:
        """End the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(_PATIENCE)
        self.path = None

    def _write_all(self, path: Path, name: str, kind: str, queue: SimpleQueue[Pair | None]) -> None:
        from presman.analysis.assemble import analyse
        from presman.recording.store import Store
        from presman.recording.store_errors import RecordingError
        from presman.recording.writer import RecordingWriter

        try:
            store = Store(str(path), writing=True)
            writer = RecordingWriter(store, name, kind)
            while (pair := queue.get()) is not None:
                writer.append(pair[1], analyse(*pair))
            writer.close()
            store.close()
        except RecordingError as error:
            self._thread = None
            self._notify(f"Recording ended: {clean(str(error))}")


def taking(measure: str, poll_recording: PollRecording) -> str:
    """Return what is being written, for the top line: the `measure` of a CSV file, a recording, or ""."""
    parts = (f"CSV {measure}" if measure else "", "recording" if poll_recording.is_on else "")
    return " + ".join(each for each in parts if each)


SOON = 0.05
"""Seconds between checks whether there is room for more polls to write."""


async def write_past(monitor: Monitor, poll_recording: PollRecording, latest: Reading) -> tuple[int, datetime] | None:
    """Write the polls of the past minutes up to the newest one, including those that arrive meanwhile.

    Return how many were written and the instant of the first, None if the file was ended meanwhile.
    """
    mine = poll_recording.number
    earliest = latest.at - timedelta(minutes=monitor.choices.window)
    number, kept, first = monitor.timeline.first_number(), 0, latest.at
    while (newest := monitor.latest) is not None and number <= newest.number:
        pair = monitor.timeline.numbered(number)
        number += 1
        if pair is not None and pair[1].at >= earliest:
            poll_recording.past(pair)
            first = min(first, pair[1].at)
            kept += 1
            # Keys and polls have their turn between two polls that are written.
            await asyncio.sleep(0)
        while poll_recording.is_behind and poll_recording.number == mine and poll_recording.is_on:
            await asyncio.sleep(SOON)
        if poll_recording.number != mine or not poll_recording.is_on:
            return None
    return kept, first
