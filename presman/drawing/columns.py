"""Which columns of a table fit in a width, and how wide each becomes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from presman.base.text import one_line
from presman.drawing.bars import Scale, bar_runs, spark
from presman.drawing.lines import Run, fit
from presman.figures.figure import Figure

Fitted = tuple[tuple[Figure[Any], int], ...]
Trend = Callable[[Any, str], Sequence[float | None]]
"""Values over time of a row's trend column."""

_COMFORT = 3
"""How many times its least width a flexible column gets before columns of second rank appear."""


def gap_at(width: int) -> int:
    """Return the blanks between two columns."""
    return 2 if width >= 120 else 1


def fit_columns(columns: Sequence[Figure[Any]], width: int, hidden: Collection[str] = ()) -> Fitted:
    """Choose the columns for a width: those of first rank, then others while there is room.

    The flexible column takes what is left; without one the last left-aligned column does.
    """
    gap = gap_at(width)
    offered = [column for column in columns if column.key not in hidden]
    chosen = {column.key for column in offered if column.narrow}
    used = sum(column.width + gap for column in offered if column.narrow) - gap
    while used > width and len(chosen) > 1:
        last = next(column for column in reversed(offered) if column.key in chosen and not column.flexible)
        chosen.discard(last.key)
        used -= last.width + gap
    room = width - used - sum((_COMFORT - 1) * column.width for column in offered if column.flexible and column.narrow)
    for column in offered:
        need = gap + column.width * (_COMFORT if column.flexible else 1)
        if column.key not in chosen and need <= room:
            chosen.add(column.key)
            room -= need
            used += gap + column.width
    shown = [column for column in offered if column.key in chosen]
    spare = max(0, width - used)
    growing = _growing(shown)
    widths = {column.key: column.width for column in shown}
    if growing is not None and growing.flexible:
        floor = min(spare, (_COMFORT - 1) * growing.width)
        widths[growing.key] += floor
        spare -= floor
    for column in shown:
        more = min(spare, max(0, column.most - column.width))
        widths[column.key] += more
        spare -= more
    if growing is not None:
        widths[growing.key] += spare
    return tuple((column, widths[column.key]) for column in shown)


def _growing(shown: Sequence[Figure[Any]]) -> Figure[Any] | None:
    flexible = [column for column in shown if column.flexible]
    texts = [column for column in shown if column.align == "left" and column.bar is None and not column.trend]
    return next(iter(flexible or texts[-1:]), None)


def cell_runs(column: Figure[Any], width: int, row: Any, scale: Scale | None, trend: Trend | None) -> tuple[Run, ...]:
    """Return one cell in exactly `width` cells; `scale` is that of the column."""
    if column.trend:
        return ((spark(trend(row, column.key) if trend else (), width, scale.full if scale else 0.0), "used"),)
    style = column.state(row) if column.state else ""
    text = column.show(row)
    if column.bar is None:
        return ((fit(text if len(text) <= width else one_line(text, width), width, column.align), style),)
    bar = column.bar(row)
    if column.flexible:
        if bar is None:
            return ((fit(text, width), "dim"),)
        return bar_runs(bar, width, scale)
    text_width = (width - 1) // 2
    return ((fit(text, text_width, column.align) + " ", style), *bar_runs(bar, width - text_width - 1, scale))


def row_text(columns: Sequence[Figure[Any]], row: Any) -> str:
    """Return what a filter looks at: all cells of a row, shown or not, in lower case."""
    return " ".join(column.show(row) for column in columns).lower()


def matches(needle: str, text: str) -> bool:
    """Tell whether a row's text passes a filter: a substring, or with `!` before it, its absence."""
    wanted = needle.strip().lower()
    if wanted.startswith("!"):
        return not wanted[1:] or wanted[1:].strip() not in text
    return wanted in text
