"""Bars and sparklines as runs of text: they fit in a table's cell and need no widget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from presman.figures.drawing.lines import Line, merge
from presman.figures.figure import Bar

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEVELS = "▁▂▃▄▅▆▇█"
_BEFORE = 4 / 5
"""The part of a gauge that is before its full value, where it goes on beyond that."""


class Scale(NamedTuple):
    """What the cells of a bar mean: `full` is the right edge.

    Where `beyond` is more, `full` is four fifths of the way, and the last fifth goes on from there to `beyond`.
    """

    full: float
    beyond: float = 0.0

    @property
    def edge(self) -> float:
        """The value at the right edge."""
        return max(self.full, self.beyond)

    def place(self, value: float, width: int) -> float:
        """Return how many of `width` cells a value takes."""
        if self.beyond <= self.full:
            return value / self.full * width
        before = int(width * _BEFORE)
        if value <= self.full:
            return value / self.full * before
        return before + (value - self.full) / (self.beyond - self.full) * (width - before)


def shared_scale(bars: Iterable[Bar | None], least: float = 0.0) -> Scale:
    """Return the one scale of a column of bars: all of them, and `least`, end within it.

    Bars that say themselves what is full do not make it longer by what goes over that.
    """
    full = beyond = 0.0
    for bar in bars:
        if bar is not None:
            full = max(full, bar.full or max(bar.used + bar.waiting, bar.limit or 0.0))
            beyond = max(beyond, bar.beyond)
    return Scale(max(full, least), beyond)


def bar_runs(bar: Bar | None, width: int, scale: Scale | None = None) -> Line:
    """Draw a bar in `width` cells: █ used, ▒ waiting, │ entitled, ┊ limit; ▶ where it is longer than the cell.

    `scale` is that of its column, without one it is the bar's own.
    """
    if width <= 0:
        return ()
    scale = scale or shared_scale([bar])
    if bar is None or scale.full <= 0:
        return ((" " * width, ""),)
    runs = _fill(bar, scale, width)
    if bar.used + bar.waiting > scale.edge * 1.005:
        runs[-1] = ("▶", runs[-1][1])
    for value, glyph in ((bar.limit, "┊"), (bar.entitled, "│")):
        if value is not None and 0 < value <= scale.edge:
            runs[min(width - 1, int(scale.place(value, width)))] = (glyph, "mark")
    return merge(runs)


def _fill(bar: Bar, scale: Scale, width: int) -> list[tuple[str, str]]:
    used, wanted = scale.place(bar.used, width), scale.place(bar.used + bar.waiting, width)
    eighths = max(0, min(width * 8, round(used * 8)))
    if bar.used > 0 and eighths == 0:
        eighths = 1
    solid, part = divmod(eighths, 8)
    runs = [("█", "used")] * solid
    if part:
        runs.append((_EIGHTHS[part], "used"))
    shaded = max(0, min(width, round(wanted)))
    if bar.waiting > 0 and shaded <= len(runs) < width and wanted - used > 0.25:
        shaded = len(runs) + 1
    runs += [("▒", "waiting")] * (shaded - len(runs))
    runs += [(" ", "")] * (width - len(runs))
    return runs


def spark(values: Sequence[float | None], width: int, highest: float | None = None) -> str:
    """Draw the newest `width` values; a blank where there is no value. `highest`, or that of them, is a whole block."""
    shown = list(values)[-width:]
    if highest is None:
        highest = max((value for value in shown if value is not None), default=0.0)
    return "".join(" " if value is None else _level(value, highest) for value in shown).rjust(width)


def _level(value: float, highest: float) -> str:
    if highest <= 0:
        return _LEVELS[0]
    return _LEVELS[max(0, min(7, round(value / highest * 7)))]
