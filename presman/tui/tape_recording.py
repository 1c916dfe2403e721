"""The recording that a key begins: the polls of the last minutes, and each from then on, written by a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from presman.base.text import clean

if TYPE_CHECKING:
    from presman.records.snapshot import Snapshot

Pair = tuple["Snapshot | None", "Snapshot"]

_PATIENCE = 5.0
"""Seconds that the end waits for what is not written yet."""


class TapeRecording:
    """One growing file at a time, in a folder (None: where presman was started).

    `say` is told from the thread what somebody should know.
    """

    def __init__(self, folder: Path | None, say: Callable[[str], object]) -> None:
        self._folder = folder
        self._say = say
        self._queue: SimpleQueue[Pair | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loading: list[Pair] | None = None
        self._last: Snapshot | None = None
        self.path: Path | None = None
        """Where it is written, None while nothing is."""

    @property
    def is_on(self) -> bool:
        """Whether polls are written."""
        return self._thread is not None

    def begin(self, name: str, kind: str) -> Path:
        """Begin a file for the database `name`; what arrives waits until `loaded` is called."""
        safe = "".join(each if each.isascii() and each.isalnum() else "-" for each in name)[:40].strip("-")
        self.path = (
            self._folder or Path.cwd()
        ) / f"presman-{safe}-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}.presman"
        self._queue, self._loading, self._last = SimpleQueue(), [], None
        self._thread = threading.Thread(
            target=self._write_all, args=(self.path, name, kind, self._queue), name="presman-tape", daemon=True
        )
        self._thread.start()
        return self.path

    def past(self, pair: Pair) -> None:
        """Write a poll of the past; they come in order."""
        if self.is_on:
            self._last = pair[1]
            self._queue.put(pair)

    def loaded(self) -> None:
        """Write what has arrived meanwhile: the past is written."""
        waiting, self._loading = self._loading or [], None
        for pair in waiting:
            self._queue.put(pair)

    def write(self, snapshot: Snapshot | None) -> None:
        """Write a poll that arrived."""
        if not self.is_on or snapshot is None:
            return
        pair = (self._last, snapshot)
        self._last = snapshot
        if self._loading is None:
            self._queue.put(pair)
        else:
            self._loading.append(pair)

    def close(self) -> None:
        """End the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self.loaded()
            self._queue.put(None)
            thread.join(_PATIENCE)
        self.path = None

    def _write_all(self, path: Path, name: str, kind: str, queue: SimpleQueue[Pair | None]) -> None:
        from presman.analysis import analyse
        from presman.recording.store import RecordingError, Store
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
            self._say(f"Recording ended: {clean(str(error))}")


def taking(measure: str, tape: TapeRecording) -> str:
    """Return what is being written, for the top line: the `measure` of a CSV file, a recording; "" for nothing."""
    parts = (f"CSV {measure}" if measure else "", "recording" if tape.is_on else "")
    return " + ".join(each for each in parts if each)
