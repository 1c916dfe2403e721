"""The arithmetic of a heat map: which poll stands where, which buckets make a row, which shade a figure gets.

Its cells are kept from poll to poll, so that a new one changes one column. Knows no widget.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from math import ceil, floor, log10
from typing import NamedTuple

from msgspec import Struct
from rich.color import Color as RichColor
from rich.style import Style
from textual.geometry import Region
from textual.theme import Theme

from presman.analysis.latency.latency_history import NUMBERS, LatencyColumn, frequency, intensity
from presman.tui.widgets.line_api import palette_of

LEVELS = 15
"""Shades above nothing: level 0 is nothing, 1 the faintest, 15 the strongest."""
GAP = LEVELS + 1
"""The level of a poll in which no delta could be taken."""
EMPTY = GAP + 1
"""The level where no poll is."""
MARK = EMPTY + 1
"""The level that stands for nothing where a plan was activated."""

DECADES = 4
"""How many powers of ten the shades span: a thousandth of the strongest is still seen."""

RAMP = "·░▒▓█"
"""The shades without colour."""

SPARK = "▁▂▃▄▅▆▇█"
"""How many CPUs were held back: the last stands for all there are."""

TICK = 15
"""Cells between two times on the axis, at least."""

LEAST_ROWS = 10
"""Rows shown even if all waits are in fewer buckets, so that the map does not jump with each new bucket."""


class Quantity(Enum):
    """What a map shows, in the words of its title."""

    FREQUENCY = "Frequency: waits/s"
    INTENSITY = "Intensity: ~seconds waited/s"


class HeatData(Struct, frozen=True):
    """What a map is drawn from.

    `columns` are polls, oldest first, the first of them number `first` counted from the very first poll; `bounds` the
    bucket bounds in microseconds by number; `cpus` what the throttle strip is scaled to. `cursor` is the number of the
    poll looked at while scrolled back, None while live; `event` and `inst_id` tell one history from another. `marks`
    are (number of a poll, words) where something changed: a plan was activated. `height` is that of the lowest map on
    show: all have the same rows.
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


def rates(column: LatencyColumn, quantity: Quantity, bounds: Mapping[int, int]) -> dict[int, float]:
    """Return the figure of each bucket of a column that is not zero."""
    return frequency(column) if quantity is Quantity.FREQUENCY else intensity(column, bounds)


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
    if shade in (GAP, MARK):
        return "╎" if shade == GAP else "┆"
    return RAMP[(shade - 1) * len(RAMP) // LEVELS] if 0 < shade <= LEVELS else " "


class BucketRows(Struct, frozen=True):
    """Which buckets stand in which row, the longest on top.

    From number `low`, `merged` buckets a row, `count` rows of `lines` lines each.
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
        """Return the row of a bucket, 0 is the top; out of range where it is on none."""
        return self.count - 1 - (number - self.low) // self.merged

    def numbers(self, row: int) -> range:
        """Return the buckets of a row."""
        first = self.low + (self.count - 1 - row) * self.merged
        return range(first, min(NUMBERS, first + self.merged))


def rows_for(numbers: Sequence[int], height: int) -> BucketRows:
    """Return the rows that hold these buckets and fill `height` lines.

    Several buckets share a row where they must. Where there is more room, rows are several lines high, and buckets
    that nobody waited in are shown above and below.
    """
    height = max(1, height)
    low, high = (min(numbers), max(numbers)) if numbers else (8, 14)
    merged = ceil((high - low + 1) / height)
    lines = max(1, height // max(LEAST_ROWS, high - low + 1))
    room = min(NUMBERS, height // lines * merged)
    while (missing := room - (high - low + 1)) > 0:
        upwards = low == 0 or (high < NUMBERS - 1 and missing % 2 == 0)
        low, high = (low, high + 1) if upwards else (low - 1, high)
    return BucketRows(low, ceil((high - low + 1) / merged), merged, lines)


def span_for(polls: int, cells: int) -> int:
    """Return how many cells wide each of `polls` is drawn, so that few of them fill `cells` too: 4, 2 or 1."""
    return next((span for span in (4, 2) if polls * span <= cells), 1)


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


def ticks_every(span: int) -> int:
    """Return how many polls of `span` cells lie between two times on the axis."""
    return -(-TICK // span)


def axis_text(data: HeatData, left: int, capacity: int, span: int) -> str:
    """Return the line below a map of `capacity` polls from number `left` on: times, changes, ▲ at what is looked at."""
    width = capacity * span
    text = [" "] * width
    last = data.first + len(data.columns) - 1
    looked_at = -1 if data.cursor is None else (data.cursor - left) * span
    for number in range(left, min(last, left + capacity - 1) + 1):
        x = (number - left) * span
        if number % ticks_every(span) == 0 and x + 8 <= width and not x < looked_at < x + 9:
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
    """Return the sign of so many CPUs held back: full is as many as there are; a blank where none, or not known."""
    if not throttled or throttled < 0.005 or cpus <= 0:
        return " "
    return SPARK[max(0, min(7, int(throttled / cpus * 8)))]


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
    exact = part * (len(stops) - 1)
    index = min(len(stops) - 2, int(exact))
    rest = exact - index
    red, green, blue = (
        round(low + rest * (high - low)) for low, high in zip(stops[index], stops[index + 1], strict=True)
    )
    return red, green, blue


def paints(quantity: Quantity, theme: Theme, mode: str) -> tuple[list[Style], list[str]]:
    """Return style and sign of every level, 0 to MARK, for a `mode`: truecolor, 256, 16 or mono.

    A blank on coloured ground, or a sign where colours cannot tell.
    """
    palette = palette_of(theme)
    base, dim = palette[""], palette["dim"]
    colored = mode in ("truecolor", "256")
    if colored:
        colours = shades(quantity, dark=theme.dark, exact=mode == "256")
        made = [Style(bgcolor=RichColor.from_rgb(*colour)) for colour in colours]
    elif mode == "16":
        names = ANSI[quantity]
        made = [Style(color=names[index * len(RAMP) // LEVELS], bgcolor=base.bgcolor) for index in range(LEVELS)]
    else:
        made = [base] * LEVELS
    signs = [" " if colored and shade < GAP else glyph(shade) for shade in range(MARK + 1)]
    return [base, *made, dim, base, palette["mark"]], signs


# ---- The cells.

GUTTER = 9
"""Cells left of the map, for the buckets' bounds."""
TITLE, STRIP, AXIS = 1, 1, 1
"""Lines above and below the rows: the title, the throttle, the time axis."""


class MapPosition(NamedTuple):
    """Where things stand; another position needs the whole map redrawn. `left` is the poll at the left edge."""

    left: int
    span: int
    width: int
    room: int
    event: str
    inst_id: int
    cpus: float
    marks: tuple[tuple[int, str], ...]


class Changes(NamedTuple):
    """What a poll changes: the lines to be redrawn, and their regions on the screen."""

    lines: frozenset[int]
    regions: tuple[Region, ...]


class HeatCells:
    """The shades of `data`, row by row, and the throttle below them. Each poll is `position.span` cells wide."""

    def __init__(self, quantity: Quantity, data: HeatData, width: int, height: int) -> None:
        self.quantity = quantity
        self.data = data
        self.position = _position_of(data, width, height, 0)
        self.top = 1.0
        self.rows = BucketRows(0, 0)
        self.levels: list[bytearray] = []
        self.throttle: list[str] = []
        self._used: set[int] = set()
        self._drawn = 0
        self._rebuild()

    @property
    def capacity(self) -> int:
        """How many polls fit."""
        return (self.position.width - GUTTER) // self.position.span

    @property
    def axis(self) -> int:
        """The line of the time axis."""
        return TITLE + self.rows.height + STRIP

    @property
    def newest(self) -> int:
        """The number of the newest poll."""
        return self.data.first + len(self.data.columns) - 1

    def lines_of(self, row: int) -> range:
        """Return the lines of a row."""
        first = TITLE + row * self.rows.lines
        return range(first, first + self.rows.lines)

    def take(self, data: HeatData, width: int, height: int) -> Changes | None:
        """Take newer data; return what changed, None if that is everything."""
        self.data = data
        changes = self._advance(_position_of(data, width, height, self.position.left))
        if changes is None:
            self.position = _position_of(data, width, height, self.position.left)
            self._rebuild()
        return changes

    def _advance(self, position: MapPosition) -> Changes | None:
        """Add the columns that are new; None if the whole map has to be redrawn."""
        data, newest = self.data, self.newest
        if position != self.position or self._drawn > newest + 1:
            return None
        beyond = position.left + self.capacity
        fresh = [(n, data.columns[n - data.first]) for n in range(self._drawn, min(newest + 1, beyond))]
        used = self._used.union(*(column.counts for _, column in fresh))
        # Rows and shades depend on nothing but the columns on show, whenever they came.
        if used != self._used and rows_for(sorted(used), position.room) != self.rows:
            return None
        sums = [self._sums(column) for _, column in fresh]
        if any(value > self.top for row in sums for value in row.values()):
            return None
        self._used, self._drawn = used, newest + 1
        found = [self._put(number, column, values) for (number, column), values in zip(fresh, sums, strict=True)]
        lines = frozenset(line for each in found for line in each.lines)
        return Changes(lines, tuple(region for each in found for region in each.regions))

    def _rebuild(self) -> None:
        data, left, capacity = self.data, self.position.left, self.capacity
        start = left - data.first
        shown = [data.columns[index] for index in range(start, min(len(data.columns), start + capacity))]
        self._used = {number for column in shown for number in column.counts}
        self.rows = rows_for(sorted(self._used), self.position.room)
        sums = [self._sums(column) for column in shown]
        self.top = nice_top(max((value for row in sums for value in row.values()), default=0.0))
        self.levels = [bytearray([EMPTY] * capacity) for _ in range(self.rows.count)]
        self.throttle = [" "] * capacity
        for number, (column, values) in enumerate(zip(shown, sums, strict=True), left):
            self._put(number, column, values)
        self._drawn = self.newest + 1

    def _sums(self, column: LatencyColumn) -> dict[int, float]:
        """Return the figure of each row of a column that is not zero."""
        sums: dict[int, float] = {}
        for number, value in rates(column, self.quantity, self.data.bounds).items():
            row = self.rows.row_of(number)
            sums[row] = sums.get(row, 0.0) + value
        return sums

    def _put(self, number: int, column: LatencyColumn, sums: Mapping[int, float]) -> Changes:
        """Draw poll `number`; return what changed."""
        x, span = number - self.position.left, self.position.span
        lines: set[int] = set()
        blank = 0 if column.seconds else GAP
        for row, levels in enumerate(self.levels):
            shade = level(sums[row], self.top) if row in sums else blank
            if levels[x] != shade:
                levels[x] = shade
                if shade or blank:
                    lines.update(self.lines_of(row))
        spark = throttle_glyph(column.throttled, self.data.cpus)
        if spark != self.throttle[x]:
            self.throttle[x] = spark
            lines.add(self.axis - STRIP)
        # One region for the whole column: many small ones cost more than the cells they save.
        regions = [Region(GUTTER + x * span, TITLE, span, self.rows.height + STRIP)] if lines else []
        if number % ticks_every(span) == 0:
            lines.add(self.axis)
            regions.append(Region(0, self.axis, self.position.width, 1))
        return Changes(frozenset(lines), tuple(regions))

    def marked(self, row: int) -> bytearray:
        """Return the levels of a row, with a mark where a plan was activated and nobody waited."""
        levels = self.levels[row]
        columns = [number - self.position.left for number, _ in self.data.marks]
        if not columns:
            return levels
        marked = bytearray(levels)
        for x in columns:
            if 0 <= x < len(marked) and marked[x] in (0, EMPTY):
                marked[x] = MARK
        return marked

    def cell_of(self, bucket: int) -> tuple[int, int] | None:
        """Return (x, row) of a bucket in the poll looked at, None where the map does not hold it."""
        number = self.newest if self.data.cursor is None else self.data.cursor
        x, row = number - self.position.left, self.rows.row_of(bucket)
        return (x, row) if 0 <= x < self.capacity and 0 <= row < self.rows.count else None

    def around(self, cell: tuple[int, int]) -> Changes:
        """Return what shows a cell: its lines, and the axis below it."""
        x, row = cell
        lines = (*self.lines_of(row), self.axis)
        regions = tuple(Region(GUTTER + x * self.position.span, y, self.position.span, 1) for y in lines)
        return Changes(frozenset(lines), regions)

    def at(self, x: int, y: int) -> tuple[int, int] | None:
        """Return the bucket at a cell, and how many polls from the one looked at its poll is; None beside the map."""
        row, column = (y - TITLE) // self.rows.lines, x - GUTTER
        if not 0 <= row < self.rows.count or column < 0:
            return None
        number = min(self.position.left + column // self.position.span, self.newest)
        looked_at = self.newest if self.data.cursor is None else self.data.cursor
        return self.rows.numbers(row)[0], number - looked_at


def room_for(data: HeatData | None, height: int) -> int:
    """Return the lines that rows can have in a map of that height."""
    return (height if data is None else min(height, data.height)) - TITLE - STRIP - AXIS


def _position_of(data: HeatData, width: int, height: int, left: int) -> MapPosition:
    span = span_for(len(data.columns), width - GUTTER)
    newest = data.first + len(data.columns) - 1
    left = anchor(left, (width - GUTTER) // span, newest, data.cursor, data.first)
    return MapPosition(left, span, width, room_for(data, height), data.event, data.inst_id, data.cpus, data.marks)
