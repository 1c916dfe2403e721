"""The lines of a table: heads and rows in the columns that fit. Screens and text have theirs from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from presman.base.colours import GroupColours
from presman.figures.drawing.bars import Scale, shared_scale
from presman.figures.drawing.columns import Fitted, Trend, cell_runs
from presman.figures.drawing.lines import Line, Run, fit, merge, pad
from presman.figures.figure import Figure


def scales_of(
    figures: Sequence[Figure[Any]],
    rows: Sequence[Any],
    least: Mapping[str, float] | None = None,
    trend: Trend | None = None,
) -> dict[str, Scale]:
    """Return the scale of each column of bars and of trends, by key: one for all rows, so that they can be compared.

    `least` are values that scales reach up to at least.
    """
    found: dict[str, Scale] = {}
    for figure in figures:
        if figure.bar is not None:
            found[figure.key] = shared_scale(map(figure.bar, rows), (least or {}).get(figure.key, 0.0))
        elif figure.trend and trend is not None:
            values = (value for row in rows for value in trend(row, figure.key) if value is not None)
            found[figure.key] = Scale(max(values, default=0.0))
    return found


def head_line(fitted: Fitted, gap: int, sorted_by: str = "", *, descending: bool = False) -> str:
    """Return the heads above the columns; the one that is sorted by has a mark."""
    heads = ""
    for figure, size in fitted:
        mark = ("▼" if descending else "▲") if figure.key == sorted_by else ""
        if mark and heads and len(figure.head) >= size:  # no room: the mark stands in the gap before it
            heads = heads[:-1] + mark
            mark = ""
        heads += fit(fit(figure.head, size - len(mark)).rstrip() + mark, size, figure.align) + " " * gap
    return heads[:-gap]


def row_line(
    fitted: Fitted,
    gap: int,
    row: Any,
    scales: Mapping[str, Scale],
    trend: Trend | None = None,
    width: int | None = None,
    colours: GroupColours | None = None,
) -> Line:
    """Return a row in its columns, padded to `width` where that is given; `scales` are those of :func:`scales_of`."""
    blank: Run = (" " * gap, "")
    runs: list[Run] = []
    for figure, size in fitted:
        runs += cell_runs(figure, size, row, scales.get(figure.key), trend, colours)
        runs.append(blank)
    if width is None:
        return merge(runs[:-1])
    room = width - sum(size + gap for _, size in fitted) + gap
    return merge([*runs[:-1], (" " * room, "")]) if room >= 0 else pad(merge(runs[:-1]), width)
