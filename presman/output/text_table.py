"""Tables as aligned text, drawn as on the screens: for terminals, pipes and logs alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from presman.base.formats import ABSENT
from presman.figures.drawing.columns import Fitted, cells_needed, fit_columns, gap_at, head_line, row_line, scales_of
from presman.figures.drawing.lines import cells, fit, plain
from presman.figures.figure import Figure

T = TypeVar("T")

_GAP = 2
_BAR = 24
"""Cells of a flexible bar where there is no end to the width."""
_WIDEST = 60
"""Cells of a flexible text where there is no end to the width."""
_SAME_FOR_ALL = frozenset({"inst_id", "con_id"})
_SELDOM = frozenset({"session_pool"})
"""Columns that are left out where no row has a value."""


def table(
    figures: Sequence[Figure[T]],
    rows: Sequence[T],
    width: int | None = None,
    least: Mapping[str, float] | None = None,
) -> list[str]:
    """Return heads and rows as aligned lines of at most `width` cells (None: as wide as they need).

    Figures that say the same of every row (the only instance) are left out, and trends: a text has no minutes before.
    `least` are values that the scales of bars reach up to at least. What does not fit a `width` as a whole has the
    columns that a screen of it shows.
    """
    shown = [figure for figure in figures if not figure.trend and not _says_nothing(figure, rows)]
    fitted, gap = _as_needed(shown, rows), _GAP
    if width is not None and sum(size + gap for _, size in fitted) - gap > width:
        fitted, gap = fit_columns(shown, width, needed=cells_needed(shown, rows)), gap_at(width)
    scales = scales_of(shown, rows, least)
    lines = [head_line(fitted, gap), *(plain(row_line(fitted, gap, row, scales)) for row in rows)]
    return [(line if width is None else fit(line, width)).rstrip() for line in lines]


def _says_nothing(figure: Figure[T], rows: Sequence[T]) -> bool:
    if figure.key in _SELDOM:
        return all(figure.show(row) == ABSENT for row in rows)
    return figure.key in _SAME_FOR_ALL and len({figure.show(row) for row in rows}) <= 1


def _as_needed(figures: Sequence[Figure[T]], rows: Sequence[T]) -> Fitted:
    return tuple((figure, _needed(figure, rows)) for figure in figures)


def _needed(figure: Figure[T], rows: Sequence[T]) -> int:
    """Return the cells that a column takes; a bar beside a text has half of them."""
    text = max((cells(figure.show(row)) for row in rows), default=0)
    if figure.bar is not None:
        text = _BAR if figure.flexible else 2 * text + 1
    elif figure.flexible:
        text = min(text, _WIDEST)
    return max(cells(figure.head), text)
