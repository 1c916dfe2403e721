"""Report on a survey of traces: text, charts, CSV (a line for each wait: its number in file and event, its time)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from presman.base import formats
from presman.base.axis import nice_axis, tick_label
from presman.base.colours import GROUP_HUES
from presman.base.markup import WIDTH, Markup, block, element, label, level, picture
from presman.base.text import safe
from presman.trace.survey import Survey
from presman.trace.tally import LIMITS, PERMILLES, HistogramBar, Scatter, Summary
from presman.trace.trace_parser import IDLE, EventSelection, FileFigures, WaitColumns

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_PERCENTILES = tuple("median" if permille == 500 else f"p{permille / 10:g}" for permille in PERMILLES)
_OVER = tuple(f">{limit // 1000} ms %" for limit in LIMITS)
HEADINGS = ("", "waits", "mean", *_PERCENTILES, "max", *_OVER, "total s", "blocks")


def report(survey: Survey, selection: EventSelection) -> str:
    """Return a table for each event, the costliest first, with a legend and notes."""
    totals = survey.totals()
    of_files: dict[str, list[Summary]] = {}
    for file in survey.files:
        for summary in file.summaries:
            of_files.setdefault(summary.event, []).append(summary)
    parts = [_event(total, of_files.get(total.event, [])) for total in totals]
    if totals:
        parts.append("\n".join(_legend(totals)))
    notes = [*_notes(survey.files), *_absent(survey, selection)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])]) + "\n"


def events_found(survey: Survey) -> str:
    """Return the events of all files with waits, time, mean, and the reason why idle ones are left out of summaries."""
    totals = survey.totals()
    rows = [(each.event, formats.count(each.waits), _seconds(each.total), formats.number(each.mean)) for each in totals]
    reasons = ["", *(IDLE.get(each.event) for each in totals)]
    table = zip(_table(("event", "waits", "total s", "mean µs"), rows), reasons, strict=True)
    lines = [line + (f"  idle: {reason}" if reason else "") for line, reason in table]
    notes = _notes(survey.files)
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _event(total: Summary, of_files: Sequence[Summary]) -> str:
    rows = [*of_files, total] if len(of_files) > 1 else of_files
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
    """Return the lines of a table, the first column left-aligned, all others right-aligned."""
    cells = [headings, *rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(headings))]
    aligned = ([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])] for first, *rest in cells)
    return ["  ".join(row) for row in aligned]


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
    """Return how many wait lines were not understood, with the first of them."""
    lines = "WAIT line was" if file.unread == 1 else "WAIT lines were"
    text = f"{formats.count(file.unread)} {lines} not understood and not counted, the first: {file.example}"
    return f"{file.name}: {text}"


def _absent(survey: Survey, selection: EventSelection) -> list[str]:
    """Return a line for each selected name for which no wait was found."""
    if not survey.files:
        return []
    found = survey.total.tallies
    names = (name for name in selection.names if not any(map(EventSelection((name,)).names_event, found)))
    hint = "--list shows the events of a trace; waits are traced at level 8 or 12"
    return [f"no waits of {name!r} found: {hint}" for name in names]


def _seconds(microseconds: int) -> str:
    return formats.number(microseconds / 1e6, 3)


HEADER = ("count", "elapsed_us", "blocks", "event", "file")


class _Ends(dict[str, tuple[Iterator[int], str]]):
    """For each event, a counter of its waits and the end of their lines: quoted once, not for each wait."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def __missing__(self, event: str) -> tuple[Iterator[int], str]:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow((safe(event), safe(self._file)))
        end = self[event] = (count(1), text.getvalue())
        return end


class WaitsCsv:
    """Writes waits as they are found; only the counters stay in memory."""

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
        lines = [
            f"{next(numbers)},{elapsed},{'' if blocks is None else blocks},{end}"
            for (numbers, end), elapsed, blocks in zip(ends, waits.elapsed, waits.blocks, strict=True)
        ]
        self._target.write("".join(lines))


# ---- Charts in the terminal


_LEAST = (40, 10)


def title(event: str, scatter: Scatter) -> str:
    """Return the title of a scatter, which says what was left out."""
    shown = "each wait" if scatter.stride == 1 else f"first and longest of every {formats.count(scatter.stride)} waits"
    return f"{event}: {shown}"


def scatter_text(event: str, scatter: Scatter, *, width: int, height: int, colour: bool) -> str:
    """Return a scatter of elapsed times by number of the wait, with time on a logarithmic scale."""
    import plotext

    plotext.clear_figure()
    plotext.theme("pro" if colour else "clear")
    plotext.limit_size(False, False)  # otherwise to the size of the terminal, or 80 by 24 without one
    plotext.plot_size(max(width, _LEAST[0]), max(height, _LEAST[1]))
    numbers = [number for number, _ in scatter.points]
    times = [max(1, time) for _, time in scatter.points]
    plotext.scatter(numbers, [math.log10(time) for time in times], marker="dot")
    ticks = decades(min(times), max(times))
    levels = [math.log10(tick) for tick in ticks]
    plotext.yticks(levels, [formats.microseconds(tick) for tick in ticks])
    plotext.ylim(levels[0], levels[-1])
    marks = sorted({round(1 + share * (scatter.waits - 1)) for share in (0, 0.25, 0.5, 0.75, 1)})
    plotext.xticks(marks, [formats.count(mark) for mark in marks])
    plotext.title(title(event, scatter))
    plotext.xlabel("wait")
    drawn = str(plotext.build())
    plain = drawn if colour else str(plotext.uncolorize(drawn))
    return "\n".join([line.rstrip() for line in plain.splitlines()])


def histogram_text(event: str, bars: list[HistogramBar], *, width: int) -> str:
    """Return a histogram as lines of text: bounds, bar, waits, share."""
    total = sum(bar.waits for bar in bars)
    most = max(bar.waits for bar in bars)
    room = max(10, width - 42)
    lines = [f"{event}: waits by elapsed time"]
    for bar in bars:
        drawn = _bar(bar.waits / most * room)
        bounds = f"{formats.microseconds(bar.low):>8} to {formats.microseconds(bar.high):<8}"
        share = formats.number(100 * bar.waits / total, 2)
        lines.append(f"{bounds} {drawn:<{room}} {formats.count(bar.waits):>10} {share:>6} %")
    return "\n".join(lines)


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten around `low` and `high`, both above zero: at least two."""
    ticks = [1.0]
    while ticks[-1] < high or len(ticks) < 2:
        ticks.append(ticks[-1] * 10)
    while len(ticks) > 2 and ticks[1] <= low:
        ticks.pop(0)
    return ticks


def _bar(cells: float) -> str:
    """Return a bar in eighths of a cell, at least one eighth unless `cells` is 0."""
    eighths = max(round(cells * 8), 1 if cells else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


# ---- Charts of traces as pictures: SVG


PANEL = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 50, 50
_BLUE = GROUP_HUES[0].page


def svg(panels: Sequence[tuple[str, Scatter | list[HistogramBar]]]) -> str:
    """Return charts, each of an event, one above the other as an SVG document."""
    drawn = [_scatter(event, of) if isinstance(of, Scatter) else _bars(event, of) for event, of in panels]
    return picture(drawn, PANEL)


def _scatter(event: str, scatter: Scatter) -> list[Markup]:
    times = [max(1, time) for _, time in scatter.points]
    ticks = decades(min(times), max(times))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    parts = [label(WIDTH / 2, 28, title(event, scatter), size=16)]
    parts += [_level(_height((math.log10(tick) - low) / (high - low)), formats.microseconds(tick)) for tick in ticks]
    dots = "".join(
        f"M{_across((number - 1) / max(1, scatter.waits - 1)):.1f} "
        f"{_height((math.log10(max(1, time)) - low) / (high - low)):.1f}h0"
        for number, time in scatter.points
    )
    parts.append(element("path", d=dots, stroke=_BLUE, stroke_width=3, stroke_linecap="round", opacity="0.6"))
    for number in sorted({round(1 + share * (scatter.waits - 1)) for share in (0, 0.25, 0.5, 0.75, 1)}):
        parts.append(label(_across((number - 1) / max(1, scatter.waits - 1)), PANEL - 28, formats.count(number)))
    return [*parts, label(WIDTH / 2, PANEL - 8, "wait")]


def _bars(event: str, bars: Sequence[HistogramBar]) -> list[Markup]:
    total = sum(bar.waits for bar in bars)
    top = 100 * max(bar.waits for bar in bars) / total
    parts = [label(WIDTH / 2, 28, f"{event}: share of {formats.count(total)} waits by elapsed time", size=16)]
    parts += [_level(_height(tick / top), f"{tick_label(tick)} %") for tick in nice_axis(top, 4)[1] if tick <= top]
    step = 1 / len(bars)
    every = -(-len(bars) // 10)
    for index, bar in enumerate(bars):
        left, upper = _across(index * step), _height(100 * bar.waits / total / top)
        what = f"{formats.microseconds(bar.low)} to {formats.microseconds(bar.high)}: {formats.count(bar.waits)}"
        width, height = _across((index + 0.9) * step) - left, _height(0) - upper
        parts.append(block(what, left, upper, width, height, fill=_BLUE))
        if index % every == 0:
            parts.append(label(left, PANEL - 28, formats.microseconds(bar.low)))
    return [*parts, label(WIDTH / 2, PANEL - 8, "from")]


def _across(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _height(share: float) -> float:
    return PANEL - _BOTTOM - share * (PANEL - _TOP - _BOTTOM)


def _level(y: float, text: str) -> Markup:
    return level(y, text, _LEFT, WIDTH - _RIGHT)
