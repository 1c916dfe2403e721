"""The arithmetic of a heat map: which poll stands where, which buckets make a row, which shade a figure gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil, floor, log10

from presman.analysis.latency_history import NUMBERS, Column
from presman.analysis.waiting import ESTIMATOR

LEVELS = 15
"""Shades above nothing: level 0 is nothing, 1 the faintest, 15 the strongest."""
GAP = LEVELS + 1
"""The level of a poll in which no delta could be taken."""
EMPTY = GAP + 1
"""The level where no poll is."""

DECADES = 4
"""How many powers of ten the shades span: a thousandth of the strongest is still seen."""

RAMP = "·░▒▓█"
"""The shades without colour."""

LEAST_ROWS = 10
"""Rows shown even if all waits are in fewer buckets, so that the map does not jump with each new bucket."""


class Quantity(Enum):
    """What a map shows, in the words of its title."""

    FREQUENCY = "Frequency: waits/s"
    INTENSITY = "Intensity: seconds waited/s (estimate)"


def rates(column: Column, quantity: Quantity, bounds: Mapping[int, int]) -> dict[int, float]:
    """Return the figure of each bucket of a column that is not zero, per second."""
    if not column.seconds:
        return {}
    if quantity is Quantity.FREQUENCY:
        return {number: count / column.seconds for number, count in column.counts.items()}
    return {
        number: ESTIMATOR * bounds.get(number, 1 << number) * count / 1e6 / column.seconds
        for number, count in column.counts.items()
    }


def nice_top(value: float) -> float:
    """Return the least of 1, 3, 10, 30, ... (and their fractions) that holds `value`: the strongest shade.

    >>> nice_top(17), nice_top(3.1), nice_top(0.02)
    (30.0, 10.0, 0.03)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value) + 1e-9)
    top = next(factor * power for factor in (1.0, 3.0, 10.0) if value <= factor * power * 1.000001)
    return float(f"{top:.6g}")


def level(value: float, top: float) -> int:
    """Return the shade of a figure: logarithmic, over four powers of ten below `top`."""
    if value <= 0:
        return 0
    part = 1 + log10(value / top) / DECADES
    return max(1, min(LEVELS, ceil(part * LEVELS - 1e-9)))


def glyph(shade: int) -> str:
    """Return the sign of a shade where there are no colours."""
    if shade == GAP:
        return "╎"
    return RAMP[(shade - 1) * len(RAMP) // LEVELS] if 0 < shade <= LEVELS else " "


@dataclass(frozen=True, slots=True)
class Rows:
    """Which buckets stand in which row: from number `low`, `merged` buckets a row, `count` rows, the longest on top."""

    low: int
    count: int
    merged: int

    def row_of(self, number: int) -> int:
        """Return the row of a bucket, 0 is the top; out of range where it is on none."""
        return self.count - 1 - (number - self.low) // self.merged

    def numbers(self, row: int) -> range:
        """Return the buckets of a row."""
        first = self.low + (self.count - 1 - row) * self.merged
        return range(first, min(NUMBERS, first + self.merged))

    def holds(self, numbers: Sequence[int]) -> bool:
        """Whether all these buckets are on a row."""
        return all(0 <= self.row_of(number) < self.count for number in numbers)


def rows_for(numbers: Sequence[int], height: int) -> Rows:
    """Return the rows that hold these buckets in `height` lines; several buckets share a row where they must."""
    height = max(1, height)
    low, high = (min(numbers), max(numbers)) if numbers else (8, 14)
    while high - low + 1 < min(height, LEAST_ROWS):
        low, high = max(0, low - 1), min(NUMBERS - 1, high + 1)
    merged = ceil((high - low + 1) / height)
    return Rows(low, ceil((high - low + 1) / merged), merged)


def anchor(first: int, capacity: int, newest: int, cursor: int | None, oldest: int) -> int:
    """Return the poll at the left edge of a map of `capacity` columns.

    It stays where it was while the poll looked at (`cursor`, else the newest) is in the map, so that a poll changes one
    column only; then it moves by a fifth of the map.
    """
    wanted = newest if cursor is None else cursor
    if oldest <= first <= wanted < first + capacity:
        return first
    if cursor is not None:
        return max(oldest, cursor - capacity // 2)
    return max(oldest, newest + 1 - capacity + capacity // 5)


_STOPS = {
    (Quantity.FREQUENCY, True): ((16, 32, 72), (22, 80, 146), (40, 140, 212), (122, 202, 242), (234, 248, 255)),
    (Quantity.INTENSITY, True): ((64, 18, 20), (142, 32, 20), (214, 82, 20), (250, 162, 44), (255, 242, 166)),
    (Quantity.FREQUENCY, False): ((214, 230, 245), (158, 202, 225), (66, 146, 198), (8, 81, 156), (6, 38, 92)),
    (Quantity.INTENSITY, False): ((254, 230, 206), (253, 190, 133), (245, 130, 50), (200, 70, 4), (112, 34, 4)),
}
"""Shades on dark and on light ground, from the faintest to the strongest: of true colour."""

_CUBE = {
    (Quantity.FREQUENCY, True): ((0, 0, 95), (0, 0, 175), (0, 95, 215), (0, 135, 255), (95, 175, 255),
                                 (135, 215, 255), (215, 255, 255)),
    (Quantity.INTENSITY, True): ((95, 0, 0), (135, 0, 0), (175, 0, 0), (215, 95, 0), (255, 135, 0), (255, 175, 0),
                                 (255, 255, 135)),
    (Quantity.FREQUENCY, False): ((215, 255, 255), (175, 215, 255), (135, 175, 255), (95, 135, 255), (0, 95, 215),
                                  (0, 0, 175), (0, 0, 95)),
    (Quantity.INTENSITY, False): ((255, 255, 215), (255, 215, 135), (255, 175, 0), (255, 135, 0), (215, 95, 0),
                                  (175, 0, 0), (95, 0, 0)),
}  # fmt: skip
"""The same in colours that 256-colour terminals have exactly."""

ANSI = {
    Quantity.FREQUENCY: ("blue", "bright_blue", "cyan", "bright_cyan", "default"),
    Quantity.INTENSITY: ("red", "bright_red", "yellow", "bright_yellow", "default"),
}
"""The same in the sixteen colours, one for each sign of the ramp."""

Rgb = tuple[int, int, int]


def shades(quantity: Quantity, *, dark: bool, exact: bool) -> tuple[Rgb, ...]:
    """Return the colours of levels 1 to 15; `exact` for terminals of 256 colours."""
    if exact:
        cube = _CUBE[quantity, dark]
        return tuple(cube[index * len(cube) // LEVELS] for index in range(LEVELS))
    stops = _STOPS[quantity, dark]
    return tuple(_between(stops, index / (LEVELS - 1)) for index in range(LEVELS))


def _between(stops: Sequence[Rgb], part: float) -> Rgb:
    place = part * (len(stops) - 1)
    index = min(len(stops) - 2, int(place))
    rest = place - index
    red, green, blue = (
        round(low + rest * (high - low)) for low, high in zip(stops[index], stops[index + 1], strict=True)
    )
    return red, green, blue
