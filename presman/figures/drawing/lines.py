"""Lines as values: a line is runs of text with the name of a style each. Pure; no widget knows another way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, count
from operator import ne

from rich.cells import cell_len, chop_cells, set_cell_size

Run = tuple[str, str]
"""Text and the name of its style (see :mod:`presman.tui.widgets.line_api`)."""

Line = tuple[Run, ...]

_NARROW = re.compile(r"[ -~…←-↓①-⑨─-◼⠀-⣿]*").fullmatch
"""Tells that every character takes one cell: ASCII, and what bars, charts and hints are made of."""

_GAP = 40
"""Unchanged cells between two changed ones that are cheaper to send again than a jump and a style (50 bytes)."""


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
    """Join neighbours of equal style; drop empty runs."""
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
    """Break a line at blanks into lines of at most `width` cells; those after the first are indented."""
    if length(line) <= width:
        return [merge(line)]
    lines: list[list[Run]] = [[]]
    used = 0
    for word in _words(line):
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
                # Blanks that are cut off at the edge part a word from the next one all the same.
                used = min(width, used + cells(piece))
    return [merge(runs) for runs in lines]


def _words(line: Iterable[Run]) -> Iterator[list[Run]]:
    """Yield words with the blanks after them; what no blank parts is one word, whatever its colours."""
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
    return "".join(text for text, _ in line)


def changes(old: Line, new: Line, width: int) -> list[tuple[int, int]]:
    """Return (first cell, cells) of the parts in which two lines differ, near ones joined."""
    if old == new:
        return []
    old_text, new_text = plain(old), plain(new)
    if len(old_text) != len(new_text) or cells(old_text) != len(old_text) or cells(new_text) != len(new_text):
        return [(0, width)]
    names: dict[str, str] = {}
    styles = _styles(old, names), _styles(new, names)
    spans: list[tuple[int, int]] = []
    for index in sorted({*_differing(old_text, new_text), *_differing(*styles)}):
        if spans and index - sum(spans[-1]) <= _GAP:
            spans[-1] = (spans[-1][0], index + 1 - spans[-1][0])
        else:
            spans.append((index, 1))
    return spans


def _styles(line: Line, names: dict[str, str]) -> str:
    """Return the style of each character as a sign of it; `names` has the sign of each style."""
    return "".join([names.setdefault(style, chr(len(names))) * len(text) for text, style in line])


def _differing(old: str, new: str) -> Iterator[int]:
    """Yield the places at which two texts of one length differ."""
    return compress(count(), map(ne, old, new))
