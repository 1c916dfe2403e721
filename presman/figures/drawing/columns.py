"""Columns of a table: which ones fit a width, how wide each is, and the lines of heads and rows. Pure.

Screens and text output both use it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from presman.base.colours import CLASS_STYLES, GroupColours
from presman.base.text import one_line
from presman.figures.drawing.lines import (
    Line,
    Run,
    Scale,
    bar_runs,
    cells,
    fit,
    merge,
    pad,
    plain,
    shared_scale,
    spark,
    wrap,
)
from presman.figures.figure import Figure

_READABLE = 28
"""Cells that a text gets before columns of second rank appear; it gets the rest after them."""

Fitted = tuple[tuple[Figure[Any], int], ...]
Trend = Callable[[Any, str], Sequence[float | None]]
"""Values over time of a row's trend column."""

_COLOURED = frozenset({"consumer_group", "wait_class"})

_COMFORT = 3
"""A flexible text gets this many times its minimum width before columns of second rank appear; a bar one less."""


def gap_at(width: int) -> int:
    """Return the blanks between two columns."""
    return 2 if width >= 120 else 1


def cells_needed(columns: Sequence[Figure[Any]], rows: Sequence[Any]) -> dict[str, int]:
    """Return the cells that the texts of `rows` take, by column."""
    texts = (each for each in columns if is_text(each) or (each.most > each.width and each.bar is None))
    return {column.key: max(cells(column.show(row)) for row in rows) for column in texts} if rows else {}


def fit_columns(
    columns: Sequence[Figure[Any]], width: int, hidden: Collection[str] = (), needed: Mapping[str, int] | None = None
) -> Fitted:
    """Choose the columns for a width: those of first rank, then others while there is room.

    Texts that need more than their minimum (`needed`, from :func:`cells_needed`) get it before more columns appear
    and before bars grow. The flexible column takes what is left; without one, the last left-aligned column does. If
    a text is still cut, other texts give it the cells they do not need.
    """
    gap = gap_at(width)
    offered = [column for column in columns if column.key not in hidden]
    wanted = {column.key: _wanted(column, needed) for column in offered}
    chosen = _chosen(offered, width, gap, wanted)
    shown = [column for column in offered if column.key in chosen]
    spare = max(0, width - sum(column.width + gap for column in shown) + gap)
    may_grow = [column for column in shown if column.flexible] or [column for column in shown if is_text(column)][-1:]
    growing = next(iter(may_grow), None)
    widths = {column.key: column.width for column in shown}
    for column, more in _steps(shown, growing, wanted, all_may_grow=needed is None):
        given = min(spare, max(0, column.width + more - widths[column.key]))
        widths[column.key] += given
        spare -= given
    if growing is not None:
        widths[growing.key] += spare
    _leave(shown, widths, needed or {})
    return tuple((column, widths[column.key]) for column in shown)


def _steps(
    shown: Sequence[Figure[Any]], growing: Figure[Any] | None, wanted: Mapping[str, int], *, all_may_grow: bool
) -> list[tuple[Figure[Any], int]]:
    """Return how many cells beyond its minimum each column gets, in the order in which they get them."""
    # The longest texts say most: a sentence is completed before the tail of a name.
    first = sorted((column for column in shown if column.narrow), key=lambda column: -column.most)
    steps = [(column, wanted[column.key] - column.width) for column in first]
    second = [(column, wanted[column.key] - column.width) for column in shown if not column.narrow]
    if growing is not None and growing.flexible:
        beside = (column for column in first if column.vital and column.bar is not None)
        steps += [(column, min(_BESIDE, column.most) - column.width) for column in beside]
        comfort = [(growing, _comfort(growing, wanted) - growing.width)]
        steps += second + comfort if growing.bar else comfort + second  # a bar can be short, a text cannot
    else:
        steps += second
    may_grow = (column for column in shown if all_may_grow or column.bar is not None)
    return steps + [(column, column.most - column.width) for column in may_grow]


def _leave(shown: Sequence[Figure[Any]], widths: dict[str, int], needed: Mapping[str, int]) -> None:
    """Give texts that are cut the cells that other columns do not need, the flexible one last."""
    texts = [column for column in shown if is_text(column) and column.key in needed]
    whole = {each.key: max(len(each.head), needed[each.key]) for each in texts}
    free = {each.key: max(0, widths[each.key] - whole[each.key]) for each in texts}
    for column in sorted(texts, key=lambda column: column.flexible):
        lacking = whole[column.key] - widths[column.key]
        for other, spare in free.items():
            given = max(0, min(lacking, spare))
            widths[column.key] += given
            widths[other] -= given
            free[other] -= given
            lacking -= given


def _wanted(column: Figure[Any], needed: Mapping[str, int] | None) -> int:
    """Return the cells that a column needs to cut no text, at most its maximum width."""
    return max(column.width, min(column.most, (needed or {}).get(column.key, 0)))


def _chosen(offered: Sequence[Figure[Any]], width: int, gap: int, wanted: Mapping[str, int]) -> set[str]:
    """Return the keys of the columns to show: those of first rank, then others in order, whole or cut.

    If those of first rank do not fit beside a vital sentence in full, they are dropped from the last one on, the
    flexible one after the others. Vital columns are cut then, and dropped only if they still do not fit. Among the
    other columns the vital ones come first, and before a bar grows.
    """
    narrow = [column for column in offered if column.narrow]
    chosen = {column.key for column in narrow}
    least = {column.key: column.width for column in narrow}
    whole = {column.key: _whole(column, wanted) for column in narrow}
    for sizes, may_go in ((whole, [column for column in narrow if not column.vital]), (least, narrow)):
        going = sorted(may_go, key=lambda column: (column.vital, column.flexible, -offered.index(column)))
        while going and len(chosen) > 1 and _cells(chosen, sizes, gap) > width:
            chosen.discard(going.pop(0).key)
    # What the chosen columns still need comes before further columns; what bars grow by, only before those not vital.
    room = width - _cells(chosen, whole, gap)
    shown = [column for column in offered if column.key in chosen]
    bars = sum(_comfort(column, wanted) - column.width for column in shown if column.bar is not None)
    room -= sum(max(0, _comfort(column, wanted) - whole[column.key]) for column in shown if column.bar is None)
    for column in sorted((column for column in offered if not column.narrow), key=lambda column: not column.vital):
        most = room if column.vital else room - bars
        size = next((size for size in (_comfort(column, wanted), column.width) if gap + size <= most), None)
        if size is not None:
            chosen.add(column.key)
            room -= gap + size
    return chosen


def _whole(column: Figure[Any], wanted: Mapping[str, int]) -> int:
    """Return the cells a column takes before another is dropped: its minimum, or all it needs if a vital sentence."""
    return wanted[column.key] if column.vital and column.most >= _SENTENCE else column.width


def _cells(keys: Collection[str], sizes: Mapping[str, int], gap: int) -> int:
    return sum(sizes[key] + gap for key in keys) - gap


_SENTENCE = 50
"""A column that may be this wide holds sentences, which must not be cut."""

_BESIDE = 18
"""Cells that a text and its bar have before the flexible bar grows."""

_WITH_BAR = 14
"""Cells from which a text has a bar beside it; in fewer the text needs them all."""


def _comfort(column: Figure[Any], wanted: Mapping[str, int]) -> int:
    """Return the cells that a column should have before columns of second rank appear."""
    if column.flexible and column.bar is not None:
        return max(column.width, column.most) * (_COMFORT - 1)
    if column.flexible and column.most:
        return wanted[column.key]
    if not column.flexible:
        return max(column.width, min(wanted[column.key], _READABLE))
    return column.width * _COMFORT


def _coloured(column: Figure[Any], row: Any, colours: GroupColours | None) -> str:
    """Return the style of the group or wait class that a cell names."""
    name = column.value(row) or ""
    if column.key == "wait_class":
        return CLASS_STYLES.get(name, "")
    return colours.style(name, getattr(row, "con_id", None)) if colours is not None else ""


_spark = lru_cache(maxsize=128)(spark)  # a trend changes once a minute


class Look(NamedTuple):
    """What all rows of a table share: the `gap` between columns, `scales` of bars (:func:`scales_of`), and the rest."""

    gap: int
    scales: Mapping[str, Scale]
    trend: Trend | None = None
    colours: GroupColours | None = None


def cell_runs(column: Figure[Any], width: int, row: Any, look: Look) -> tuple[Run, ...]:
    """Return the cell of a row and column in exactly `width` character cells."""
    scale = look.scales.get(column.key)
    if column.trend:
        values = tuple(look.trend(row, column.key)) if look.trend else ()
        return ((_spark(values, width, scale.full if scale else 0.0), "used"),)
    style: str = column.state(row) if column.state else ""
    if not style and column.key in _COLOURED:
        style = _coloured(column, row, look.colours)
    text = column.show(row)
    if column.bar is None:
        return ((fit(text if len(text) <= width else one_line(text, width), width, column.align), style),)
    bar = column.bar(row)
    if column.flexible:
        return ((fit(text, width), "dim"),) if bar is None else bar_runs(bar, width, scale)
    if width < min(_WITH_BAR, column.most):
        return ((fit(text, width, column.align), style),)
    text_width = (width - 1) // 2
    return ((fit(text, text_width, column.align) + " ", style), *bar_runs(bar, width - text_width - 1, scale))


def is_text(column: Figure[Any]) -> bool:
    """Whether a column has words, which can be wrapped: no figures, bars or trends."""
    return column.align == "left" and column.bar is None and not column.trend


def row_text(columns: Sequence[Figure[Any]], row: Any) -> str:
    """Return the text that filters search: all cells of a row, shown or not, in lower case."""
    return " ".join(column.show(row) for column in columns).lower()


def matches(needle: str, text: str) -> bool:
    """Return whether a row's text passes a filter: it contains `needle`, or does not if that begins with `!`."""
    wanted = needle.strip().lower()
    if wanted.startswith("!"):
        # `!` alone is a filter that is still being typed: it hides nothing.
        return not wanted[1:] or wanted[1:].strip() not in text
    return wanted in text


def scales_of(
    figures: Sequence[Figure[Any]],
    rows: Sequence[Any],
    least: Mapping[str, float] | None = None,
    trend: Trend | None = None,
) -> dict[str, Scale]:
    """Return the scale of each column of bars and of trends, by key: one for all rows, so that they can be compared.

    `least` has values that the scales must include.
    """
    found: dict[str, Scale] = {}
    for figure in figures:
        if figure.bar is not None:
            found[figure.key] = shared_scale(map(figure.bar, rows), (least or {}).get(figure.key, 0.0))
        elif figure.trend and trend is not None:
            values = [value for row in rows for value in trend(row, figure.key) if value is not None]
            found[figure.key] = Scale(max(values, default=0.0))
    return found


def head_line(fitted: Fitted, gap: int, sorted_by: str = "", *, descending: bool = False) -> str:
    """Return the line of column heads; the column that rows are sorted by has a mark."""
    heads = ""
    for figure, size in fitted:
        mark = ("▼" if descending else "▲") if figure.key == sorted_by else ""
        if mark and heads and len(figure.head) >= size:  # no room: the mark goes into the gap before it
            heads = heads[:-1] + mark
            mark = ""
        heads += fit(fit(figure.head, size - len(mark)).rstrip() + mark, size, figure.align) + " " * gap
    return heads[:-gap]


def row_line(fitted: Fitted, row: Any, look: Look, width: int | None = None) -> Line:
    """Return a row in its columns, padded to `width` where that is given."""
    runs: list[Run] = []
    for figure, size in fitted:
        runs += [*cell_runs(figure, size, row, look), (" " * look.gap, "")]
    if width is None:
        return merge(runs[:-1])
    room = width - sum([size + look.gap for _, size in fitted]) + look.gap
    return merge([*runs[:-1], (" " * room, "")]) if room >= 0 else pad(merge(runs[:-1]), width)


# ---- Rows of several lines, for tables with more lines than rows.

MOST_LINES = 8
"""Most lines of one row: longer texts have a page."""


def shared_out(wanted: Sequence[int], room: int) -> list[int]:
    """Return how many of `room` lines each row gets: first one each, then one more in turn, up to what it wants."""
    found = [1] * len(wanted)
    left = room - len(found)
    for most in range(2, max(wanted, default=1) + 1):
        for index, lines in enumerate(wanted):
            if lines >= most and left > 0:
                found[index], left = most, left - 1
    return found


def lines_wanted(fitted: Fitted, row: Any) -> int:
    """Return how many lines a row needs so that none of its texts is cut, at most MOST_LINES."""
    pieces = (_pieces(column, size, row) for column, size in fitted if is_text(column))
    return min(MOST_LINES, max(map(len, pieces), default=1))


def wrapped_row(fitted: Fitted, row: Any, lines: int, look: Look, width: int) -> list[Line]:
    """Return a row in `lines` lines: texts continue in the lines below, and are cut in the last one."""
    if lines == 1:
        return [row_line(fitted, row, look, width)]
    rests = {column.key: _in(_pieces(column, size, row), lines) for column, size in fitted if is_text(column)}
    found = []
    for number in range(lines):
        runs: list[Run] = []
        for column, size in fitted:
            rest = rests.get(column.key, ())
            cell = cell_runs(column, size, row, look)
            if number or len(rest) > 1:
                cell = ((fit(rest[number] if number < len(rest) else "", size), cell[0][1]),)
            runs += [*cell, (" " * look.gap, "")]
        found.append(pad(merge(runs[:-1]), width))
    return found


def _pieces(column: Figure[Any], size: int, row: Any) -> Sequence[str]:
    """Return the text of a cell, wrapped to its width."""
    text = column.show(row)
    if cells(text) <= size or size < 1:
        return (text,)
    folded = one_line(text, size * (MOST_LINES + 1))
    return [plain(line).strip() for line in wrap(((folded, ""),), size)]


def _in(pieces: Sequence[str], lines: int) -> Sequence[str]:
    """Return the first `lines` pieces; the last also has the rest of the text, which is then cut."""
    return pieces if len(pieces) <= lines else [*pieces[: lines - 1], " ".join(pieces[lines - 1 :])]
