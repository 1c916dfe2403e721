"""The cells of a heat map: kept from poll to poll, so that a new one changes one column. Knows no widget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from textual.geometry import Region

from presman.analysis.latency.latency_history import LatencyColumn
from presman.tui.widgets.heat import (
    EMPTY,
    GAP,
    MARK,
    BucketRows,
    HeatData,
    Quantity,
    anchor,
    level,
    nice_top,
    rates,
    rows_for,
    span_for,
    throttle_glyph,
    ticks_every,
)

GUTTER = 9
"""Cells left of the map, for the buckets' bounds."""
TITLE, STRIP, AXIS = 1, 1, 1
"""Lines above and below the rows: the title, the throttle, the time axis."""


class MapPosition(NamedTuple):
    """Where things stand; another place needs the whole map anew. `left` is the poll at the left edge."""

    left: int
    span: int
    width: int
    room: int
    event: str
    inst_id: int
    cpus: float
    marks: tuple[tuple[int, str], ...]


class Changes(NamedTuple):
    """What a poll changes: lines that are to be made anew, and the regions they show in."""

    lines: frozenset[int]
    regions: tuple[Region, ...]


class HeatCells:
    """The shades of `data`, row by row, and the throttle below them. Each poll is `place.span` cells wide."""

    def __init__(self, quantity: Quantity, data: HeatData, width: int, height: int) -> None:
        self.quantity = quantity
        self.data = data
        self.place = _place(data, width, height, 0)
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
        return (self.place.width - GUTTER) // self.place.span

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
        changes = self._advance(_place(data, width, height, self.place.left))
        if changes is None:
            self.place = _place(data, width, height, self.place.left)
            self._rebuild()
        return changes

    def _advance(self, place: MapPosition) -> Changes | None:
        """Add the columns that are new; None if the whole map has to be made anew."""
        data, newest = self.data, self.newest
        if place != self.place or self._drawn > newest + 1:
            return None
        beyond = place.left + self.capacity
        fresh = [(n, data.columns[n - data.first]) for n in range(self._drawn, min(newest + 1, beyond))]
        used = self._used.union(*(column.counts for _, column in fresh))
        # Rows and shades depend on nothing but the columns on show, whenever they came.
        if used != self._used and rows_for(sorted(used), place.room) != self.rows:
            return None
        sums = [self._sums(column) for _, column in fresh]
        if any(value > self.top for row in sums for value in row.values()):
            return None
        self._used, self._drawn = used, newest + 1
        found = [self._put(number, column, values) for (number, column), values in zip(fresh, sums, strict=True)]
        lines = frozenset(line for each in found for line in each.lines)
        return Changes(lines, tuple(region for each in found for region in each.regions))

    def _rebuild(self) -> None:
        data, left, capacity = self.data, self.place.left, self.capacity
        start = left - data.first
        shown = [data.columns[index] for index in range(start, min(len(data.columns), start + capacity))]
        self._used = {number for column in shown for number in column.counts}
        self.rows = rows_for(sorted(self._used), self.place.room)
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
        x, span = number - self.place.left, self.place.span
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
            regions.append(Region(0, self.axis, self.place.width, 1))
        return Changes(frozenset(lines), tuple(regions))

    def marked(self, row: int) -> bytearray:
        """Return the levels of a row, with a mark where a plan was activated and nobody waited."""
        levels = self.levels[row]
        places = [number - self.place.left for number, _ in self.data.marks]
        if not places:
            return levels
        marked = bytearray(levels)
        for x in places:
            if 0 <= x < len(marked) and marked[x] in (0, EMPTY):
                marked[x] = MARK
        return marked

    def cell_of(self, bucket: int) -> tuple[int, int] | None:
        """Return (x, row) of a bucket in the poll looked at, None where the map does not hold it."""
        number = self.newest if self.data.cursor is None else self.data.cursor
        x, row = number - self.place.left, self.rows.row_of(bucket)
        return (x, row) if 0 <= x < self.capacity and 0 <= row < self.rows.count else None

    def around(self, cell: tuple[int, int]) -> Changes:
        """Return what shows a cell: its lines, and the axis below it."""
        x, row = cell
        lines = (*self.lines_of(row), self.axis)
        regions = tuple(Region(GUTTER + x * self.place.span, y, self.place.span, 1) for y in lines)
        return Changes(frozenset(lines), regions)

    def at(self, x: int, y: int) -> tuple[int, int] | None:
        """Return the bucket at a cell, and how many polls from the one looked at its poll is; None beside the map."""
        row, column = (y - TITLE) // self.rows.lines, x - GUTTER
        if not 0 <= row < self.rows.count or column < 0:
            return None
        number = min(self.place.left + column // self.place.span, self.newest)
        looked_at = self.newest if self.data.cursor is None else self.data.cursor
        return self.rows.numbers(row)[0], number - looked_at


def room_for(data: HeatData | None, height: int) -> int:
    """Return the lines that rows can have in a map of that height."""
    return (height if data is None else min(height, data.height)) - TITLE - STRIP - AXIS


def _place(data: HeatData, width: int, height: int, left: int) -> MapPosition:
    span = span_for(len(data.columns), width - GUTTER)
    newest = data.first + len(data.columns) - 1
    left = anchor(left, (width - GUTTER) // span, newest, data.cursor, data.first)
    return MapPosition(left, span, width, room_for(data, height), data.event, data.inst_id, data.cpus, data.marks)
