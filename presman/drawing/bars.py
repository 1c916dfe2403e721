"""Bars and sparklines as runs of text: they fit in a table's cell and need no widget."""

from __future__ import annotations

from collections.abc import Sequence

from presman.drawing.lines import Line, merge
from presman.figures.figure import Bar

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEVELS = "▁▂▃▄▅▆▇█"


def bar_runs(bar: Bar | None, width: int, full: float | None = None) -> Line:
    """Draw a bar in `width` cells: █ used, ▒ waiting, │ entitled, ┊ limit; ▶ where it is longer than the cell.

    `full` is the right edge where the bar itself has none.
    """
    edge = (bar.full or full or 0.0) if bar else 0.0
    if bar is None or edge <= 0 or width <= 0:
        return ((" " * width, ""),) if width > 0 else ()
    scale = width / edge
    runs = _fill(bar, scale, width)
    if bar.used + bar.waiting > edge * 1.005:
        runs[-1] = ("▶", runs[-1][1])
    for value, glyph in ((bar.limit, "┊"), (bar.entitled, "│")):
        if value is not None and 0 < value <= edge:
            runs[min(width - 1, int(value * scale))] = (glyph, "mark")
    return merge(runs)


def _fill(bar: Bar, scale: float, width: int) -> list[tuple[str, str]]:
    eighths = min(width * 8, round(bar.used * scale * 8))
    if bar.used > 0 and eighths == 0:
        eighths = 1
    solid, part = divmod(eighths, 8)
    runs = [("█", "used")] * solid
    if part:
        runs.append((_EIGHTHS[part], "used"))
    shaded = min(width, round((bar.used + bar.waiting) * scale))
    if bar.waiting > 0 and shaded <= len(runs) < width and bar.waiting * scale > 0.25:
        shaded = len(runs) + 1
    runs += [("▒", "waiting")] * (shaded - len(runs))
    runs += [(" ", "")] * (width - len(runs))
    return runs


def spark(values: Sequence[float | None], width: int) -> str:
    """Draw the newest `width` values, scaled to the highest of them; a blank where there is no value."""
    shown = list(values)[-width:]
    highest = max((value for value in shown if value is not None), default=0.0)
    text = "".join(" " if value is None else _level(value, highest) for value in shown)
    return text.rjust(width)


def _level(value: float, highest: float) -> str:
    if highest <= 0:
        return _LEVELS[0]
    return _LEVELS[max(0, min(7, round(value / highest * 7)))]
