"""Arithmetic of a heat map: the column of each poll, the buckets of each row, the shade of each figure.

Independent of widgets.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from itertools import groupby
from math import ceil, floor, log10

from msgspec import Struct
from rich.color import Color as RichColor
from rich.style import Style
from textual.theme import Theme

from presman.analysis.latency.latency_history import NUMBERS, LatencyColumn, frequency, intensity
from presman.base.formats import microseconds
from presman.figures.drawing.lines import RISING, Line, Run, fit
from presman.tui.widgets.line_api import Palette, palette_of

LEVELS = 15
"""Shades above zero: level 0 is zero, 1 the faintest, 15 the strongest."""
GAP = LEVELS + 1
"""The level of a poll without a delta."""
EMPTY = GAP + 1
"""The level of a column without a poll."""
MARK = EMPTY + 1
"""The level of zero where a plan was activated."""

DECADES = 4
"""Powers of ten that the shades span: a thousandth of the strongest is still visible."""

RAMP = "·░▒▓█"
"""The shades without colour."""

TICK = 15
"""Minimum number of cells between two times on the axis."""

LEAST_ROWS = 10
"""Rows shown even if all waits are in fewer buckets, so that the map does not jump with each new bucket."""


class Quantity(Enum):
    """The quantity that a map shows, in the words of its title."""

    FREQUENCY = "Frequency: waits/s"
    INTENSITY = "Intensity: ~seconds waited/s"


class HeatData(Struct, frozen=True):
    """The data of a map.

    `columns` are polls, oldest first; `first` is the number of the first one, counted from the very first poll.
    `bounds` are the bucket bounds in microseconds by number; `cpus` is the scale of the throttle strip. `cursor` is the
    number of the poll on screen while scrolled back, None while live; `event` and `inst_id` identify the history.
    `marks` are (poll number, words) where a plan was activated. `height` is that of the lowest map on screen: all have
    the same rows. `why_none` is shown in place of the map if there is nothing to draw.
    """

    columns: Sequence[LatencyColumn]
    first: int
    bounds: Mapping[int, int]
    cpus: float
    cursor: int | None
    event: str
    inst_id: int
    marks: tuple[tuple[int, str], ...] = ()
    height: int = 1_000
    why_none: str = ""


def rates(column: LatencyColumn, quantity: Quantity, bounds: Mapping[int, int]) -> dict[int, float]:
    """Return the figure of each non-zero bucket of a column."""
    return frequency(column) if quantity is Quantity.FREQUENCY else intensity(column, bounds)


def nice_top(value: float) -> float:
    """Return the least of ..., 0.3, 1, 3, 10, 30, ... that is not below `value`: the value of the strongest shade.

    >>> nice_top(17), nice_top(3.1), nice_top(0.02)
    (30.0, 10.0, 0.03)
    """
    if value <= 0:
        return 1.0
    # The small terms keep an exact power of ten, inexact as a float, in its own decade.
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
    """Return the sign of a shade for terminals without colours."""
    if shade in (GAP, MARK):
        return "╎" if shade == GAP else "┆"
    return RAMP[(shade - 1) * len(RAMP) // LEVELS] if 0 < shade <= LEVELS else " "


class BucketRows(Struct, frozen=True):
    """The rows of buckets, the longest waits on top.

    There are `count` rows of `lines` lines each, with `merged` buckets a row, from bucket number `low` on.
    """

    low: int
    count: int
    merged: int = 1
    lines: int = 1

    @property
    def height(self) -> int:
        """Lines of all rows."""
        return self.count * self.lines

    def row_of(self, number: int) -> int:
        """Return the row of a bucket, 0 is the top; out of range if it is in no row."""
        return self.count - 1 - (number - self.low) // self.merged

    def numbers(self, row: int) -> range:
        """Return the buckets of a row."""
        first = self.low + (self.count - 1 - row) * self.merged
        return range(first, min(NUMBERS, first + self.merged))


def rows_for(numbers: Sequence[int], height: int) -> BucketRows:
    """Return rows that include these buckets and fill `height` lines.

    Several buckets share a row if they must. If there is more room, rows are several lines high, and buckets without
    waits are shown above and below.
    """
    height = max(1, height)
    # A bucket ends at 2 to the power of its number: without waits the map shows 128 µs to 16 ms.
    low, high = (min(numbers), max(numbers)) if numbers else (8, 14)
    merged = ceil((high - low + 1) / height)
    lines = max(1, height // max(LEAST_ROWS, high - low + 1))
    room = min(NUMBERS, height // lines * merged)
    while (missing := room - (high - low + 1)) > 0:
        # Rows are added above and below in turn.
        upwards = low == 0 or (high < NUMBERS - 1 and missing % 2 == 0)
        low, high = (low, high + 1) if upwards else (low - 1, high)
    return BucketRows(low, ceil((high - low + 1) / merged), merged, lines)


def span_for(polls: int, cells: int) -> int:
    """Return the width of each of `polls` in cells, 4, 2 or 1, so that even a few of them fill `cells`."""
    return next((span for span in (4, 2) if polls * span <= cells), 1)


def anchor(first: int, capacity: int, newest: int, cursor: int | None, oldest: int) -> int:
    """Return the poll at the left edge of a map of `capacity` columns.

    It stays the same while the poll on screen (`cursor`, else the newest) is in the map, so that a poll changes only
    one column; then it moves by a fifth of the map.
    """
    wanted = newest if cursor is None else cursor
    if oldest <= first <= wanted < first + capacity:
        return first
    if cursor is not None:
        return max(oldest, cursor - capacity // 2)
    return max(oldest, newest + 1 - capacity + capacity // 5)


def axis_text(data: HeatData, left: int, capacity: int, span: int) -> str:
    """Return the line below a map of `capacity` polls from number `left` on: times, changes, ▲ at the cursor."""
    width = capacity * span
    text = [" "] * width
    last = data.first + len(data.columns) - 1
    looked_at = -1 if data.cursor is None else (data.cursor - left) * span
    for number in range(left, min(last, left + capacity - 1) + 1):
        x = (number - left) * span
        # Numbers count from the very first poll, so a time stays at its poll as the map moves. No time covers ▲.
        if number % -(-TICK // span) == 0 and x + 8 <= width and not x < looked_at < x + 9:
            text[x : x + 9] = f"╷{_time(data.columns[number - data.first].at)}"[: width - x]
    for number, words in data.marks:
        x = (number - left) * span
        if 0 <= x < width:
            mark = f"┆{words} "[: width - x]
            text[x : x + len(mark)] = mark
    if 0 <= looked_at < width:
        text[looked_at] = "▲"
    return "".join(text)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def throttle_glyph(throttled: float | None, cpus: float) -> str:
    """Return the sign of throttled CPUs: full if they equal all CPUs, a blank if none or not known."""
    if not throttled or throttled < 0.005 or cpus <= 0:
        return " "
    return RISING[1 + max(0, min(7, int(throttled / cpus * 8)))]


_STOPS = {
    (Quantity.FREQUENCY, True): ((16, 32, 72), (22, 80, 146), (40, 140, 212), (122, 202, 242), (234, 248, 255)),
    (Quantity.INTENSITY, True): ((64, 18, 20), (142, 32, 20), (214, 82, 20), (250, 162, 44), (255, 242, 166)),
    (Quantity.FREQUENCY, False): ((214, 230, 245), (158, 202, 225), (66, 146, 198), (8, 81, 156), (6, 38, 92)),
    (Quantity.INTENSITY, False): ((254, 230, 206), (253, 190, 133), (245, 130, 50), (200, 70, 4), (112, 34, 4)),
}
"""True-colour shades on dark and on light backgrounds, from the faintest to the strongest."""

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
"""The same in exact colours of 256-colour terminals."""

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
    exact = part * (len(stops) - 1)
    index = min(len(stops) - 2, int(exact))
    rest = exact - index
    red, green, blue = (
        round(low + rest * (high - low)) for low, high in zip(stops[index], stops[index + 1], strict=True)
    )
    return red, green, blue


_STYLES = ("", *(f"shade {shade}" for shade in range(1, LEVELS + 1)), "dim", "", "mark")
"""The name of the style of every level, 0 to MARK."""

_MADE: dict[tuple[Quantity, str, str], tuple[Palette, list[str]]] = {}


def paints(quantity: Quantity, theme: Theme, mode: str) -> tuple[Palette, list[str]]:
    """Return the theme's palette with the shades, and the sign of every level, for a `mode`: truecolor, 256, 16, mono.

    The sign is a blank on a coloured background, or a character if there are too few colours. Cached.
    """
    key = quantity, theme.name, mode
    if key not in _MADE:
        palette, colored = palette_of(theme), mode in ("truecolor", "256")
        base = palette[""]
        made = [base] * LEVELS
        if colored:
            colours = shades(quantity, dark=theme.dark, exact=mode == "256")
            made = [Style(bgcolor=RichColor.from_rgb(*colour)) for colour in colours]
        elif mode == "16":
            names = ANSI[quantity]
            made = [Style(color=names[index * len(RAMP) // LEVELS], bgcolor=base.bgcolor) for index in range(LEVELS)]
        signs = [" " if colored and shade < GAP else glyph(shade) for shade in range(MARK + 1)]
        _MADE[key] = Palette({**palette.styles, **dict(zip(_STYLES[1:GAP], made, strict=True))}), signs
    return _MADE[key]


def legend(signs: Sequence[str]) -> list[Run]:
    """Return the shades from the faintest to the strongest."""
    return [(signs[shade], _STYLES[shade]) for shade in range(1, LEVELS + 1)]


# ---- The cells.

GUTTER = 9
"""Cells left of the map, for the bucket bounds."""
TITLE, STRIP, AXIS = 1, 1, 1
"""Lines above and below the rows: the title, the throttle, the time axis."""


class HeatCells:
    """The shades of `data`, row by row, and the throttle strip below them. Each poll is `span` cells wide.

    `left` is the poll at the left edge; it stays the one `before` as long as possible.
    """

    def __init__(self, quantity: Quantity, data: HeatData, width: int, height: int, before: int = 0) -> None:
        self.data = data
        self.span = span_for(len(data.columns), width - GUTTER)
        self.capacity = (width - GUTTER) // self.span
        self.newest = data.first + len(data.columns) - 1
        self.left = anchor(before, self.capacity, self.newest, data.cursor, data.first)
        start = self.left - data.first
        shown = [data.columns[index] for index in range(start, min(len(data.columns), start + self.capacity))]
        used = {number for column in shown for number in column.counts}
        self.rows = rows_for(sorted(used), room_for(data, height))
        sums = [self._sums(rates(column, quantity, data.bounds)) for column in shown]
        self.top = nice_top(max((value for each in sums for value in each.values()), default=0.0))
        self.throttle = "".join(throttle_glyph(each.throttled, data.cpus) * self.span for each in shown)
        blanks = [0 if column.seconds else GAP for column in shown]
        self.levels = [self._levels(row, sums, blanks) for row in range(self.rows.count)]

    def _sums(self, figures: Mapping[int, float]) -> dict[int, float]:
        sums: dict[int, float] = {}
        for number, value in figures.items():
            row = self.rows.row_of(number)
            sums[row] = sums.get(row, 0.0) + value
        return sums

    def _levels(self, row: int, sums: Sequence[Mapping[int, float]], blanks: Sequence[int]) -> list[int]:
        """Return the shades of a row, with the marks where there are no waits."""
        found = [level(each[row], self.top) if row in each else blank for each, blank in zip(sums, blanks, strict=True)]
        found += [EMPTY] * (self.capacity - len(found))
        for number, _ in self.data.marks:
            x = number - self.left
            if 0 <= x < self.capacity and found[x] in (0, EMPTY):
                found[x] = MARK
        return found

    def cell_of(self, bucket: int) -> tuple[int, int] | None:
        """Return (x, row) of a bucket of the poll on screen, None if it is outside the map."""
        x, row = self._shown_poll - self.left, self.rows.row_of(bucket)
        return (x, row) if 0 <= x < self.capacity and 0 <= row < self.rows.count else None

    @property
    def _shown_poll(self) -> int:
        return self.newest if self.data.cursor is None else self.data.cursor

    def at(self, x: int, y: int) -> tuple[int, int] | None:
        """Return the bucket at a position, and the polls from the one on screen to its column; None outside the map."""
        row, column = (y - TITLE) // self.rows.lines, x - GUTTER
        if not 0 <= row < self.rows.count or column < 0:
            return None
        number = min(self.left + column // self.span, self.newest)
        return self.rows.numbers(row)[0], number - self._shown_poll

    def lines(self, signs: Sequence[str], cursor: tuple[int, int] | None) -> list[Line]:
        """Draw the rows in these signs, the throttle strip and the time axis; `cursor` is the cell under the cursor."""
        lines = [
            self._row(signs, row, None if cursor is None or cursor[1] != row else cursor[0], labelled=line == 0)
            for row in range(self.rows.count)
            for line in range(self.rows.lines)
        ]
        axis = axis_text(self.data, self.left, self.capacity, self.span)
        throttle = (fit("throttle ", GUTTER, "right"), "dim"), (self.throttle, "waiting")
        return [*lines, throttle, ((" " * GUTTER + axis, "dim"),)]

    def _row(self, signs: Sequence[str], row: int, at: int | None, *, labelled: bool) -> Line:
        number, levels = self.rows.numbers(row)[-1], self.levels[row]
        bound = f"<{microseconds(self.data.bounds.get(number, 1 << number))} " if labelled else ""
        label: Run = (fit(bound, GUTTER, "right"), "dim")
        if at is None:
            return (label, *self._runs(signs, levels))
        sign = glyph(levels[at]) * self.span if 0 < levels[at] <= GAP else "◇"
        here: Run = (fit(sign, self.span), "cursor")
        return (label, *self._runs(signs, levels[:at]), here, *self._runs(signs, levels[at + 1 :]))

    def _runs(self, signs: Sequence[str], levels: Sequence[int]) -> list[Run]:
        texts = [sign.ljust(self.span) if shade == MARK else sign * self.span for shade, sign in enumerate(signs)]
        return [(texts[shade] * len(list(run)), _STYLES[shade]) for shade, run in groupby(levels)]


def room_for(data: HeatData, height: int) -> int:
    """Return how many lines the rows of a map of `height` lines have; it is the same for all maps on screen."""
    return min(height, data.height) - TITLE - STRIP - AXIS
