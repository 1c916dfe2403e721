"""The lines of a table: heads and rows in the columns that fit. Screens and text have theirs from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from presman.drawing.columns import Fitted, Trend, cell_runs
from presman.drawing.lines import Line, Run, fit, merge, pad
from presman.figures.figure import Figure


def longest_bars(figures: Sequence[Figure[Any]], rows: Sequence[Any]) -> dict[str, float]:
    """Return the right edge of the bars that have none of their own, by key: the longest of the table."""
    return {
        figure.key: max((bar.used + bar.waiting for row in rows if (bar := figure.bar(row))), default=0.0)
        for figure in figures
        if figure.bar is not None
    }


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
    fitted: Fitted, gap: int, row: Any, edges: Mapping[str, float], trend: Trend | None = None, width: int | None = None
) -> Line:
    """Return a row in its columns, padded to `width` where that is given; `edges` are those of :func:`longest_bars`."""
    blank: Run = (" " * gap, "")
    runs: list[Run] = []
    for figure, size in fitted:
        runs += cell_runs(figure, size, row, edges.get(figure.key), trend)
        runs.append(blank)
    if width is None:
        return merge(runs[:-1])
    room = width - sum(size + gap for _, size in fitted) + gap
    return merge([*runs[:-1], (" " * room, "")]) if room >= 0 else pad(merge(runs[:-1]), width)
