"""CSV of waits, one line each: its number within file and event, and how long it took."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import count
from typing import Protocol

from presman.base.text import safe
from presman.trace.trace_parser import WaitColumns

HEADER = ("count", "elapsed_us", "blocks", "event", "file")


class Writable(Protocol):
    """Takes text."""

    def write(self, text: str, /) -> object:
        """Write `text`."""


class _Ends(dict[str, tuple[Iterator[int], str]]):
    """Of each event the numbers of its waits, and how their lines end: quoted once, not for each wait."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def __missing__(self, event: str) -> tuple[Iterator[int], str]:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow((safe(event), safe(self._file)))
        end = self[event] = (count(1), text.getvalue())
        return end


class WaitsCsv:
    """Writes waits as they are found; nothing but the counters stays in memory."""

    def __init__(self, target: Writable) -> None:
        self._target = target
        self._ends = _Ends("")
        target.write(",".join(HEADER) + "\n")

    def start(self, file: str) -> None:
        """Begin the waits of another file: counting starts anew."""
        self._ends = _Ends(file)

    def add(self, waits: WaitColumns) -> None:
        """Write waits in their order."""
        ends = map(self._ends.__getitem__, waits.events)
        self._target.write(
            "".join(
                [
                    f"{next(numbers)},{elapsed},{'' if blocks is None else blocks},{end}"
                    for (numbers, end), elapsed, blocks in zip(ends, waits.elapsed, waits.blocks, strict=True)
                ]
            )
        )
