"""Report of a survey of traces as text, and CSV of waits, one line each: its number within file and event, its time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from presman.base import formats
from presman.base.text import safe
from presman.trace.survey import Survey
from presman.trace.tally import LIMITS, PERMILLES, Summary
from presman.trace.trace_parser import IDLE, EventSelection, FileFigures, WaitColumns

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_PERCENTILES = tuple("median" if permille == 500 else f"p{permille / 10:g}" for permille in PERMILLES)
_OVER = tuple(f">{limit // 1000} ms %" for limit in LIMITS)
HEADINGS = ("", "waits", "mean", *_PERCENTILES, "max", *_OVER, "total s", "blocks")


def report(survey: Survey, selection: EventSelection) -> str:
    """Return a table for each event, the costliest first, and what has to be known to read it."""
    totals = survey.totals()
    parts = [_event(total, survey.files) for total in totals]
    if totals:
        parts.append("\n".join(_legend(totals)))
    notes = [*_notes(survey.files), *_absent(survey, selection)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])]) + "\n"


def events_found(survey: Survey) -> str:
    """Return the events of all files: waits, time, mean, and why idle ones are left out of summaries."""
    rows = [
        (
            total.event,
            formats.count(total.waits),
            _seconds(total.total),
            formats.number(total.mean),
            IDLE.get(total.event),
        )
        for total in survey.totals()
    ]
    lines = [*_table(("event", "waits", "total s", "mean µs"), [row[:4] for row in rows])]
    lines = [
        line + (f"  idle: {row[4]}" if row[4] else "") for line, row in zip(lines, [("",) * 5, *rows], strict=True)
    ]
    notes = _notes(survey.files)
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _event(total: Summary, files: Iterable[FileFigures]) -> str:
    rows = [summary for file in files for summary in file.summaries if summary.event == total.event]
    if len(rows) > 1:
        rows.append(total)
    return "\n".join(_table((total.event, *HEADINGS[1:]), [_row(summary) for summary in rows]))


def _row(summary: Summary) -> tuple[str, ...]:
    return (
        "all files" if summary.file is None else summary.file,
        formats.count(summary.waits),
        formats.number(summary.mean),
        *(formats.count(value) for value in summary.percentiles),
        formats.count(summary.longest),
        *(formats.number(share, 3) for share in summary.over),
        _seconds(summary.total),
        formats.count(summary.blocks),
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines: the first column to the left, all others to the right."""
    cells = [headings, *rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(headings))]
    return [
        "  ".join(cell.rjust(width) if index else cell.ljust(width) for index, (cell, width) in enumerate(columns))
        for columns in ([*zip(row, widths, strict=True)] for row in cells)
    ]


def _legend(totals: Sequence[Summary]) -> list[str]:
    error = max(total.error for total in totals)
    how = "exact" if not error else f"within {formats.number(100 * error, 2)} %, as there are too many different values"
    lines = [f"Times in µs. Percentiles are {how}: the shortest time that this share of the waits did not exceed."]
    if any(total.blocks is not None for total in totals):
        lines.append("Blocks of log files are log blocks (512 bytes or 4 kB), those of data files database blocks.")
    return lines


def _notes(files: Iterable[FileFigures]) -> list[str]:
    notes = []
    for file in files:
        if file.error:
            notes.append(f"{file.name}: incomplete, counted as far as it could be read ({file.error})")
        if file.damaged:
            notes.append(f"{file.name}: {formats.count(file.damaged)} waits skipped, their elapsed time is impossible")
        if file.unread:
            notes.append(unread(file))
        if file.ticks != 1:
            notes.append(f"{file.name}: from before 9i: elapsed times are in hundredths of a second")
    if idle := sum(file.idle for file in files):
        notes.append(f"{formats.count(idle)} waits of idle events left out (--idle counts them, --list names them)")
    return notes


def unread(file: FileFigures) -> str:
    """Say how many lines of waits were not understood, and which was the first."""
    lines = "WAIT line was" if file.unread == 1 else "WAIT lines were"
    return (
        f"{file.name}: {formats.count(file.unread)} {lines} not understood and not counted, the first: {file.example}"
    )


def _absent(survey: Survey, selection: EventSelection) -> list[str]:
    """Say which of the names asked for no wait was found."""
    if not survey.files:
        return []
    found = survey.total.tallies
    return [
        f"no waits of {name!r} found: --list shows the events of a trace; waits are traced at level 8 or 12"
        for name in selection.names
        if not any(EventSelection((name,)).names_event(event) for event in found)
    ]


def _seconds(microseconds: int) -> str:
    return formats.number(microseconds / 1e6, 3)


HEADER = ("count", "elapsed_us", "blocks", "event", "file")


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

    def __init__(self, target: SupportsWrite[str]) -> None:
        self._target = target
        self._ends = _Ends("")
        target.write(",".join(HEADER) + "\n")

    def start(self, file: str) -> None:
        """Begin another file: its waits are counted from zero."""
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
