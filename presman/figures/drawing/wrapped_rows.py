"""Rows whose texts go on in the lines below, where a table has more lines than rows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from presman.base.colours import GroupColours
from presman.base.text import one_line
from presman.figures.drawing.columns import Fitted, Trend, cell_runs, is_text, row_line
from presman.figures.drawing.lines import Line, Run, Scale, cells, fit, merge, pad, plain, wrap
from presman.figures.figure import Figure

MOST = 8
"""Lines of a row at most: longer texts have a page."""


def shared_out(wanted: Sequence[int], room: int) -> list[int]:
    """Return how many of `room` lines each row gets of those it wants: one each first, then one more in turn."""
    found = [1] * len(wanted)
    left = room - len(found)
    for most in range(2, max(wanted, default=1) + 1):
        for index, lines in enumerate(wanted):
            if lines >= most and left > 0:
                found[index], left = most, left - 1
    return found


def lines_wanted(fitted: Fitted, row: Any) -> int:
    """Return in how many lines no text of a row is cut, within what a row may have."""
    pieces = (_pieces(column, size, row) for column, size in fitted if is_text(column))
    return min(MOST, max(map(len, pieces), default=1))


def wrapped_row(
    fitted: Fitted,
    gap: int,
    row: Any,
    lines: int,
    scales: Mapping[str, Scale],
    trend: Trend | None,
    width: int,
    colours: GroupColours | None,
) -> list[Line]:
    """Return a row in so many lines: what has no room in its cell goes on below, the last line is cut."""
    if lines == 1:
        return [row_line(fitted, gap, row, scales, trend, width, colours)]
    rests = {column.key: _in(_pieces(column, size, row), lines) for column, size in fitted if is_text(column)}
    found = []
    for number in range(lines):
        runs: list[Run] = []
        for column, size in fitted:
            rest = rests.get(column.key, ())
            cell = cell_runs(column, size, row, scales.get(column.key), trend, colours)
            if number or len(rest) > 1:
                cell = ((fit(rest[number] if number < len(rest) else "", size), cell[0][1]),)
            runs += [*cell, (" " * gap, "")]
        found.append(pad(merge(runs[:-1]), width))
    return found


def _pieces(column: Figure[Any], size: int, row: Any) -> Sequence[str]:
    """Return the text of a cell in lines of its width."""
    text = column.show(row)
    if cells(text) <= size or size < 1:
        return (text,)
    folded = one_line(text, size * (MOST + 1))
    return [plain(line).strip() for line in wrap(((folded, ""),), size)]


def _in(pieces: Sequence[str], lines: int) -> Sequence[str]:
    """Return so many of the pieces, the last with what is left of all, to be cut."""
    return pieces if len(pieces) <= lines else [*pieces[: lines - 1], " ".join(pieces[lines - 1 :])]
