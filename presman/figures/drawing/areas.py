"""Stacked areas in character cells, an eighth of a cell exact. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_EIGHTHS = " ▁▂▃▄▅▆▇█"


class Cell(NamedTuple):
    """A cell: its sign and style, and the style of what covers most of it ("": nothing does)."""

    text: str
    style: str
    cover: str


EMPTY = Cell(" ", "", "")


def stacked(values: Sequence[float], styles: Sequence[str], top: float, height: int, signs: str = "") -> list[Cell]:
    """Return a column of `height` cells from the bottom up, with the values one on the other; `top` is its upper end.

    A cell in which two of them meet has the style ``lower on upper``. With `signs`, one for each value, a whole cell
    has the sign of what covers most of it: for terminals without colours or without blocks.
    """
    bounds = [round(8 * height * min(1.0, total / top)) for total in accumulate(values)]
    column = []
    place = 0
    for low in range(0, 8 * height, 8):
        while place < len(bounds) and bounds[place] <= low:
            place += 1
        if place == len(bounds):
            break
        shares = [(8, place)] if bounds[place] >= low + 8 else _shares(bounds, low)
        column.append(_cell(shares, styles, signs))
    return column + [EMPTY] * (height - len(column))


def _shares(bounds: Sequence[int], low: int) -> list[tuple[int, int]]:
    """Return (eighths, place) of what is in a cell, from its lower end up; what is empty has place -1."""
    shares = []
    below, high = low, low + 8
    for place, bound in enumerate(bounds):
        upper = min(bound, high)
        if upper > below:
            shares.append((upper - below, place))
            below = upper
    if below < high:
        shares.append((high - below, -1))
    return shares


def _cell(shares: list[tuple[int, int]], styles: Sequence[str], signs: str) -> Cell:
    most = max(shares)[1]
    cover = styles[most] if most >= 0 else ""
    if signs:
        return Cell(signs[most], cover, cover) if most >= 0 else EMPTY
    while len(shares) > 2:  # a cell has two colours: the least goes to what is below it, the lowest to what is above
        least = shares.index(min(shares))
        other = least - 1 if least else 1
        shares[other] = (shares[other][0] + shares[least][0], shares[other][1])
        del shares[least]
    (eighths, lower), upper = shares[0], shares[-1][1]
    if lower < 0:
        return EMPTY
    if len(shares) == 1:
        return Cell("█", f"{styles[lower]} on {styles[lower]}", cover)  # or some terminals leave gaps between lines
    ground = f"{styles[lower]} on {styles[upper]}" if upper >= 0 else styles[lower]
    return Cell(_EIGHTHS[eighths], ground, cover)


def crossed(cell: Cell, sign: str) -> Cell:
    """Return a cell with the sign of a line that crosses it."""
    return Cell(sign, f"mark on {cell.cover}" if cell.cover else "mark", cell.cover)
