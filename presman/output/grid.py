"""Tables as aligned text, from the same columns as the screens: for terminals, pipes and logs alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TypeVar

from presman.columns import Bar, Column

T = TypeVar("T")

GAP = "  "
_BAR_WIDTH = 24
_NARROWEST = 8
_WIDEST_FREE = 60
_SAME_FOR_ALL = frozenset({"inst", "con"})


def cells(text: str) -> int:
    """Return how many terminal cells `text` takes: two for wide East Asian characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def fit(text: str, width: int, align: str = "left") -> str:
    """Return `text` in exactly `width` cells, cut with an ellipsis or padded."""
    if cells(text) > width:
        kept = ""
        for char in text:
            if cells(kept + char) > width - 1:
                break
            kept += char
        text = kept + "…" if width > 0 else ""
    space = " " * (width - cells(text))
    return space + text if align == "right" else text + space


def draw(bar: Bar, width: int, full: float) -> str:
    """Return a bar in `width` cells: █ used, ▒ waiting, │ entitled, ┊ limit; ▶ where it runs over the edge."""
    if full <= 0:
        return ""
    scale = width / full
    used, all_of_it = round(bar.used * scale), round((bar.used + bar.waiting) * scale)
    marks = [" "] * width
    for place in range(min(width, all_of_it)):
        marks[place] = "█" if place < used else "▒"
    for value, sign in ((bar.limit, "┊"), (bar.entitled, "│")):
        if value is not None:
            marks[min(width - 1, max(0, round(value * scale) - 1))] = sign
    if all_of_it > width:
        marks[-1] = "▶"
    return "".join(marks).rstrip()


def table(columns: Sequence[Column[T]], rows: Sequence[T], width: int | None = None) -> list[str]:
    """Return head and rows as aligned lines of at most `width` cells (None: as wide as they need).

    Columns that say the same of every row (the only instance) are left out; where there is too little room the
    columns a narrow screen does without go first, from the right, then others, and at last the text is cut.
    """
    shown = [column for column in columns if not column.trend and not _says_nothing(column, rows)]
    texts = {column.key: _texts(column, rows) for column in shown}
    widths = {column.key: max(cells(column.head), *map(cells, texts[column.key]), 0) for column in shown}
    for column in shown:
        if _is_text(column):
            widths[column.key] = min(widths[column.key], _WIDEST_FREE)
    if width is not None:
        shown = _narrowed(shown, widths, width)
    lines = [GAP.join(fit(column.head, widths[column.key], column.align) for column in shown)]
    lines += [
        GAP.join(fit(texts[column.key][number], widths[column.key], column.align) for column in shown)
        for number in range(len(rows))
    ]
    return [(line if width is None else fit(line, width)).rstrip() for line in lines]


def _says_nothing(column: Column[T], rows: Sequence[T]) -> bool:
    return column.key in _SAME_FOR_ALL and len({column.show(row) for row in rows}) <= 1


def _texts(column: Column[T], rows: Sequence[T]) -> list[str]:
    """Return a column's cells. Bars without a right edge of their own are measured against the longest."""
    if column.bar is None or not column.flexible:
        return [column.show(row) for row in rows]
    bars = [column.bar(row) for row in rows]
    longest = max((bar.used + bar.waiting for bar in bars if bar is not None), default=0.0)
    return [
        column.show(row) if bar is None else draw(bar, _BAR_WIDTH, bar.full or longest)
        for row, bar in zip(rows, bars, strict=True)
    ]


def _narrowed(columns: list[Column[T]], widths: dict[str, int], width: int) -> list[Column[T]]:
    """Return the columns to keep and shorten the flexible texts in `widths`."""
    shown = list(columns)

    def least() -> int:
        needed = (min(widths[c.key], _NARROWEST) if _is_text(c) else widths[c.key] for c in shown)
        return sum(needed) + len(GAP) * (len(shown) - 1)

    for rank in range(3):
        for column in reversed(columns):
            if least() <= width or len(shown) <= 2:
                break
            if _rank(column) == rank:
                shown.remove(column)
    over = sum(widths[c.key] for c in shown) + len(GAP) * (len(shown) - 1) - width
    for column in filter(_is_text, shown):
        cut = max(0, min(over, widths[column.key] - _NARROWEST))
        widths[column.key] -= cut
        over -= cut
    return shown


def _is_text(column: Column[T]) -> bool:
    return column.flexible and column.bar is None


def _rank(column: Column[T]) -> int | None:
    """Return how early a column goes: what narrow screens do without, then bars, then any; None stays."""
    if _is_text(column):
        return None
    if column.flexible:
        return 1
    return 2 if column.narrow else 0
