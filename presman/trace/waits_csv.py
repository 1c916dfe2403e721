"""Every wait as a line of CSV: its number within file and event, and how long it took."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Protocol

from presman.text import clean
from presman.trace.parser import Waits

HEADER = ("count", "elapsed_us", "blocks", "event", "file")


class Writable(Protocol):
    """Takes text."""

    def write(self, text: str, /) -> object:
        """Write `text`."""


class WaitsCsv:
    """Writes waits as they are found; nothing but the counters stays in memory."""

    def __init__(self, target: Writable) -> None:
        self._target = target
        self._counts: Counter[str] = Counter()
        self._file = ""
        target.write(",".join(HEADER) + "\n")

    def start(self, file: str) -> None:
        """Begin the waits of another file: counting starts anew."""
        self._file = clean(file)
        self._counts.clear()

    def add(self, waits: Waits) -> None:
        """Write waits in their order."""
        if not waits.elapsed:
            return
        text = io.StringIO()
        write = csv.writer(text, lineterminator="\n").writerow
        for event, elapsed, blocks in zip(waits.events, waits.elapsed, waits.blocks, strict=True):
            self._counts[event] += 1
            write((self._counts[event], elapsed, blocks, event, self._file))
        self._target.write(text.getvalue())
