"""Lines as values: a line is a sequence of runs, each a text and the name of its style. Bars are such runs. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, compress, count
from operator import ne
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from presman.figures.figure import Bar

Run = tuple[str, str]
"""Text and the name of its style (see :mod:`presman.tui.widgets.line_api`)."""

Line = tuple[Run, ...]

_NARROW = re.compile(r"[ -~…←-↓①-⑨─-◼⠀-⣿]*").fullmatch
"""Matches texts whose characters all take one cell: ASCII, and the signs of bars, charts and hints."""

_GAP = 40
"""Up to this many unchanged cells between changed ones are cheaper to send again than a jump and a style (50 bytes)."""


def length(line: Iterable[Run]) -> int:
    """Return how many cells the line takes."""
    return sum([cells(text) for text, _ in line])


def cells(text: str) -> int:
    """Return how many cells the text takes; wide characters take two."""
    return len(text) if text.isascii() or _NARROW(text) else cell_len(text)


def fit(text: str, width: int, align: str = "left") -> str:
    """Return the text in exactly `width` cells, cut with an ellipsis or padded."""
    size = cells(text)
    if size == width:
        return text
    if size > width:
        return f"{set_cell_size(text, width - 1)}…" if width > 0 else ""
    blanks = " " * (width - size)
    return blanks + text if align == "right" else text + blanks


def merge(runs: Iterable[Run]) -> Line:
    """Join adjacent runs of equal style; drop empty runs."""
    merged: list[Run] = []
    kept = before = ""
    for text, style in runs:
        if style == before:
            kept += text
        elif text:
            if kept:
                merged.append((kept, before))
            kept, before = text, style
    if kept:
        merged.append((kept, before))
    return tuple(merged)


def pad(line: Iterable[Run], width: int, style: str = "") -> Line:
    """Return the line in exactly `width` cells."""
    runs: list[Run] = []
    left = width
    for text, name in line:
        size = cells(text)
        if size > left:
            runs.append((fit(text, left), name))
            return merge(runs)
        runs.append((text, name))
        left -= size
    if left > 0:
        runs.append((" " * left, style))
    return merge(runs)


def wrap(line: Sequence[Run], width: int, indent: int = 0) -> list[Line]:
    """Wrap a line at blanks into lines of at most `width` cells; those after the first are indented."""
    if length(line) <= width:
        return [merge(line)]
    lines: list[list[Run]] = [[]]
    used = 0
    for word in _words(line):
        # A word longer than a line stays where it begins: it would be cut on the next line, too.
        if used + (whole := cells(plain(word).rstrip())) > width and whole <= width - indent:
            lines.append([(" " * indent, "")])
            used = indent
        for text, style in word:
            for piece in _pieces(text, max(1, width - indent)):
                if used + cells(piece.rstrip()) > width:
                    lines.append([(" " * indent, "")])
                    used = indent
                shown = piece if used + cells(piece) <= width else piece.rstrip()
                lines[-1].append((shown, style))
                # Blanks that are cut off at the edge still separate two words.
                used = min(width, used + cells(piece))
    return [merge(runs) for runs in lines]


def _words(line: Iterable[Run]) -> Iterator[list[Run]]:
    """Yield words with the blanks after them; only blanks separate words, changes of colour do not."""
    word: list[Run] = []
    for text, style in line:
        for part in _PARTS.findall(text):
            if word and word[-1][0].endswith(" ") and not part.startswith(" "):
                yield word
                word = []
            word.append((part, style))
    yield word


_PARTS = re.compile(r" +|[^ ]+ *")


def _pieces(word: str, width: int) -> list[str]:
    return [word] if cells(word) <= width else list(chop_cells(word, width))


def plain(line: Iterable[Run]) -> str:
    """Return the text of a line."""
    return "".join([text for text, _ in line])


def changes(old: Line, new: Line, width: int) -> list[tuple[int, int]]:
    """Return (first cell, number of cells) of each part in which two lines differ; nearby parts are joined."""
    if old == new:
        return []
    old_text, new_text = plain(old), plain(new)
    # With wide characters an index in the text is no cell: then the whole line is sent.
    if len(old_text) != len(new_text) or cells(old_text) != len(old_text) or cells(new_text) != len(new_text):
        return [(0, width)]
    differing = [*_differing(old_text, new_text)]
    # Mostly only texts change: styles are compared sign by sign only if their runs differ.
    if [(len(text), style) for text, style in old] != [(len(text), style) for text, style in new]:
        names: dict[str, str] = {}
        differing = sorted({*differing, *_differing(_styles(old, names), _styles(new, names))})
    spans: list[tuple[int, int]] = []
    first = last = differing[0] if differing else width
    for index in differing:
        if index - last > _GAP + 1:
            spans.append((first, last + 1 - first))
            first = index
        last = index
    return [*spans, (first, last + 1 - first)] if differing else []


def _styles(line: Line, names: dict[str, str]) -> str:
    """Return a text with one sign for the style of each character; `names` maps styles to signs and is added to."""
    return "".join([names.setdefault(style, chr(len(names))) * len(text) for text, style in line])


def _differing(old: str, new: str) -> Iterator[int]:
    """Yield the indexes at which two texts of equal length differ."""
    return compress(count(), map(ne, old, new))


# ---- Bars, sparklines and stacked areas in character cells, exact to an eighth of a cell.

_EIGHTHS = " ▏▎▍▌▋▊▉"
RISING = " ▁▂▃▄▅▆▇█"
"""A cell in eighths, from below."""
_BEFORE = 4 / 5
"""The part of a gauge up to its full value, if its scale continues beyond that."""


class Scale(NamedTuple):
    """The scale of a bar: `full` is the value at the right edge.

    If `beyond` is larger, `full` is at four fifths of the width, and the last fifth continues from there to `beyond`.
    """

    full: float
    beyond: float = 0.0

    @property
    def edge(self) -> float:
        """The value at the right edge."""
        return max(self.full, self.beyond)

    def cells(self, value: float, width: int) -> float:
        """Return how many of `width` cells a value takes."""
        if self.beyond <= self.full:
            return value / self.full * width
        before = int(width * _BEFORE)
        if value <= self.full:
            return value / self.full * before
        return before + (value - self.full) / (self.beyond - self.full) * (width - before)


def shared_scale(bars: Iterable[Bar | None], least: float = 0.0) -> Scale:
    """Return the scale that all bars of a column share: it includes their values and `least`.

    A bar that defines its own full value does not extend it by what exceeds that value.
    """
    full = beyond = 0.0
    for bar in bars:
        if bar is not None:
            full = max(full, bar.full or max(bar.used + bar.waiting, bar.limit or 0.0))
            beyond = max(beyond, bar.beyond)
    return Scale(max(full, least), beyond)


def bar_runs(bar: Bar | None, width: int, scale: Scale | None = None) -> Line:
    """Draw a bar in `width` cells: █ used, ▒ waiting, │ entitled, ┊ limit; ▶ if it is longer than the cell.

    `scale` is that of its column; None means the bar's own.
    """
    if width <= 0:
        return ()
    scale = scale or shared_scale([bar])
    if bar is None or scale.full <= 0:
        return ((" " * width, ""),)
    runs = _fill(bar, scale, width)
    if bar.used + bar.waiting > scale.edge * 1.005:
        runs[-1] = ("▶", runs[-1][1])
    for value, glyph in ((bar.limit, "┊"), (bar.entitled, "│")):
        if value is not None and 0 < value <= scale.edge:
            runs[min(width - 1, int(scale.cells(value, width)))] = (glyph, "mark")
    return merge(runs)


def _fill(bar: Bar, scale: Scale, width: int) -> list[tuple[str, str]]:
    used, wanted = scale.cells(bar.used, width), scale.cells(bar.used + bar.waiting, width)
    eighths = max(0, min(width * 8, round(used * 8)))
    # However little is used, it is visible.
    if bar.used > 0 and eighths == 0:
        eighths = 1
    solid, part = divmod(eighths, 8)
    runs = [("█", "used")] * solid
    if part:
        runs.append((_EIGHTHS[part], "used"))
    shaded = max(0, min(width, round(wanted)))
    # Rounding must not hide those that wait for more than a quarter of a cell.
    if bar.waiting > 0 and shaded <= len(runs) < width and wanted - used > 0.25:
        shaded = len(runs) + 1
    runs += [("▒", "waiting")] * (shaded - len(runs))
    runs += [(" ", "")] * (width - len(runs))
    return runs


def spark(values: Sequence[float | None], width: int, highest: float | None = None) -> str:
    """Draw the newest `width` values, a blank for a missing one. `highest` (default: their maximum) is a full block."""
    shown = list(values)[-width:]
    if highest is None:
        highest = max((value for value in shown if value is not None), default=0.0)
    return "".join(" " if value is None else _level(value, highest) for value in shown).rjust(width)


def _level(value: float, highest: float) -> str:
    if highest <= 0:
        # A known zero is a line at the bottom: a blank is a value that is not known.
        return RISING[1]
    return RISING[1 + max(0, min(7, round(value / highest * 7)))]


class Cell(NamedTuple):
    """A cell: its sign and style, and the style of the value that covers most of it ("" if none does)."""

    text: str
    style: str
    cover: str


EMPTY = Cell(" ", "", "")


def stacked(values: Sequence[float], styles: Sequence[str], top: float, height: int, signs: str = "") -> list[Cell]:
    """Return a column of `height` cells from the bottom up with the values stacked; `top` is the value at its top.

    A cell in which two values meet has the style ``lower on upper``. With `signs`, one for each value, a cell shows
    the sign of the value that covers most of it: for terminals without colours or blocks.
    """
    # The sums are rounded, not the values: otherwise the errors would add up.
    bounds = [round(8 * height * min(1.0, total / top)) for total in accumulate(values)]
    column = []
    index = 0
    for low in range(0, 8 * height, 8):
        while index < len(bounds) and bounds[index] <= low:
            index += 1
        if index == len(bounds):
            break
        shares = [(8, index)] if bounds[index] >= low + 8 else _shares(bounds, low)
        column.append(_cell(shares, styles, signs))
    return column + [EMPTY] * (height - len(column))


def _shares(bounds: Sequence[int], low: int) -> list[tuple[int, int]]:
    """Return (eighths, index) of each value in a cell, from the bottom up; empty space has index -1."""
    shares = []
    below, high = low, low + 8
    for index, bound in enumerate(bounds):
        upper = min(bound, high)
        if upper > below:
            shares.append((upper - below, index))
            below = upper
    if below < high:
        shares.append((high - below, -1))
    return shares


def _cell(shares: list[tuple[int, int]], styles: Sequence[str], signs: str) -> Cell:
    most = max(shares)[1]
    cover = styles[most] if most >= 0 else ""
    if signs:
        return Cell(signs[most], cover, cover) if most >= 0 else EMPTY
    while len(shares) > 2:  # two colours at most: the smallest share joins the one below, the lowest the one above
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
    return Cell(RISING[eighths], ground, cover)


def crossed(cell: Cell, sign: str) -> Cell:
    """Return a cell with the sign of a line that crosses it."""
    return Cell(sign, f"mark on {cell.cover}" if cell.cover else "mark", cell.cover)


# ---- ASCII, cell for cell: for terminals and locales without Unicode.

_LIKE = {
    "▁▂▃▄▅▆▇█": "_.-=+*%#",
    "▏▎▍▌▋▊▉": "    ###",
    "░▒▓": ".:%",
    "│┃╷╎┊┆": "||':!:",
    "─━┬┴├┤┼┌┐└┘╭╮╰╯": "--+++++++++++++",
    "▔▀▐": "-##",
    "●○◌▲▼✕▬■◼◇·": "*o@^vx=##+.",
    "▶◀▸◂→←↑↓⇧‖›": "><><><^v^|>",
    "①②③④⑤⑥⑦⑧⑨": "123456789",
    "…µ–—×≥≤≠": "~u--x><!",
}
_SIGNS = str.maketrans("".join(_LIKE), "".join(_LIKE.values()))


def ascii_only(text: str) -> str:
    """Return `text` in ASCII, cell for cell: known signs become similar ones, all others ``?``.

    >>> ascii_only("██▒ ✕ starved 512µs")
    '##: x starved 512us'
    """
    if text.isascii():
        return text
    found = text.translate(_SIGNS)
    if found.isascii():
        return found
    return "".join(sign if sign.isascii() else "?" * cells(sign) for sign in found)
