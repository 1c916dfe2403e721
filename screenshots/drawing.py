"""Screens as SVG: one screen as a picture, several as an animation without a script.

Bars and areas are drawn as rectangles on whole pixels, because characters have gaps between them in some fonts. A line
that several screens share is stored once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.segment import Segment

WIDE, HIGH, BASE = 10, 20, 15
"""Width and height of a cell in pixels, and its height above the baseline."""

FRAME, TITLE = 10, 36
"""Pixels around the screen, and of the title above it."""

FONTS = "'DejaVu Sans Mono', Menlo, Consolas, 'DejaVu Sans', monospace"
GROUND, LETTERS = ColorTriplet(18, 18, 18), ColorTriplet(224, 224, 224)

NO_BREAK = "\xa0"
"""A no-break space, because SVG collapses several spaces into one."""

_SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_PLACES = {
    **{chr(0x2580 + n): (0.0, 1 - n / 8, 1.0, n / 8) for n in range(1, 9)},
    **{chr(0x2590 - n): (0.0, 0.0, n / 8, 1.0) for n in range(1, 8)},
    **dict.fromkeys(_SHADES, (0.0, 0.0, 1.0, 1.0)),
    "▀": (0.0, 0.0, 1.0, 0.5),
    "▐": (0.5, 0.0, 0.5, 1.0),
    "▔": (0.0, 0.0, 1.0, 0.125),
    "▕": (0.875, 0.0, 0.125, 1.0),
    "─": (0.0, 0.45, 1.0, 0.1),
    "│": (0.4, 0.0, 0.2, 1.0),
}
"""The part of its cell that a character fills: left, top, width and height as fractions of the cell."""


class Scene(NamedTuple):
    """A screen as lines of segments, the title above it, and its seconds in an animation."""

    lines: Sequence[Sequence[Segment]]
    title: str
    seconds: float = 0.0


_DOTS = "".join(
    f'<circle cx="{x}" cy="18" r="6" fill="{colour}"/>'
    for x, colour in ((20, "#ff5f57"), (40, "#febc2e"), (60, "#28c840"))
)


def svg(scenes: Sequence[Scene]) -> str:
    """Return a picture of one screen, or an animation of several, which repeats."""
    columns, rows = sum(segment.cell_length for segment in scenes[0].lines[0]), len(scenes[0].lines)
    width, height = columns * WIDE + 2 * FRAME, rows * HIGH + TITLE + FRAME
    known: dict[str, int] = {}
    shown = [_scene(scene, number, known, width) for number, scene in enumerate(scenes)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            f"<style>text{{font:16.6px {FONTS}}}.b{{font-weight:bold}}",
            f"rect{{shape-rendering:crispEdges}}{_timing(scenes)}</style>",
            "<defs>",
            *(f'<g id="l{number}">{drawn}</g>' for drawn, number in known.items()),
            "</defs>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#292929"/>{_DOTS}',
            *shown,
            "</svg>\n",
        )
    )


def _timing(scenes: Sequence[Scene]) -> str:
    """Return the styles that show each scene at its time; with reduced motion only the first is shown."""
    if len(scenes) == 1:
        return ""
    whole, begun, found = sum(scene.seconds for scene in scenes), 0.0, []
    for number, scene in enumerate(scenes):
        first, last = 100 * begun / whole, 100 * (begun + scene.seconds) / whole
        before = "0%{visibility:hidden}" if number else ""
        after = f"{last:.2f}%{{visibility:hidden}}" if number < len(scenes) - 1 else ""
        seen = "hidden" if number else "visible"
        found.append(f"@keyframes k{number}{{{before}{first:.2f}%{{visibility:visible}}{after}}}")
        found.append(f"#s{number}{{visibility:{seen};animation:k{number} {whole:g}s step-end infinite}}")
        begun += scene.seconds
    return "\n".join([*found, "@media(prefers-reduced-motion:reduce){g{animation:none!important}}"])


def _scene(scene: Scene, number: int, known: dict[str, int], width: int) -> str:
    title = f'<text x="{width / 2:g}" y="24" text-anchor="middle" fill="#c5c8c6">{escape(scene.title)}</text>'
    lines = [
        f'<use href="#l{known.setdefault(_line(line), len(known))}" x="{FRAME}" y="{TITLE + row * HIGH}"/>'
        for row, line in enumerate(scene.lines)
    ]
    return f'<g id="s{number}">{title}{"".join(lines)}</g>'


class _Look(NamedTuple):
    """The style of a character: its colour, its background, whether it is bold."""

    colour: str
    ground: str
    bold: bool


def _line(line: Sequence[Segment]) -> str:
    """Return a line: first the backgrounds, then the characters."""
    cells = [(character, _look(segment)) for segment in line for character in segment.text]
    grounds, signs, x = [], [], 0
    for ground, each in groupby(cells, lambda cell: cell[1].ground):
        size = len(list(each)) * WIDE
        grounds.append(f'<rect x="{x}" width="{size}" height="{HIGH}" fill="{ground}"/>')
        x += size
    x = 0
    for (look, drawn), each in groupby(cells, lambda cell: (cell[1], cell[0] if cell[0] in _PLACES else "")):
        text = "".join(character for character, _ in each)
        signs += [_block(drawn, x, len(text), look)] if drawn else list(_text(text, x, look))
        x += len(text) * WIDE
    return "".join(grounds + signs)


def _look(segment: Segment) -> _Look:
    style = segment.style
    colour, ground = _rgb(style.color if style else None, LETTERS), _rgb(style.bgcolor if style else None, GROUND)
    if style and style.reverse:
        colour, ground = ground, colour
    if style and style.dim:
        colour = blend_rgb(colour, ground, 0.5)
    return _Look(colour.hex, ground.hex, bool(style and style.bold))


def _rgb(colour: Color | None, usual: ColorTriplet) -> ColorTriplet:
    return usual if colour is None or colour.is_default else colour.get_truecolor()


def _block(character: str, x: int, count: int, look: _Look) -> str:
    """Return a run of the same block character as one rectangle, or as several if they do not touch."""
    left, top, wide, high = _PLACES[character]
    shade = f' fill-opacity="{_SHADES[character]}"' if character in _SHADES else ""
    places = [(x, count * WIDE)] if wide == 1.0 else [(x + n * WIDE + left * WIDE, wide * WIDE) for n in range(count)]
    tall = f'y="{top * HIGH:g}" height="{high * HIGH:g}" fill="{look.colour}"{shade}'
    return "".join(f'<rect x="{place:g}" width="{size:g}" {tall}/>' for place, size in places)


def _text(text: str, x: int, look: _Look) -> Iterator[str]:
    """Return a text split at gaps of more than two blanks, each part at its own position, for any font."""
    begin = 0
    for part in text.split("   "):
        word = part.strip(" ")
        if word:
            place = x + (begin + len(part) - len(part.lstrip(" "))) * WIDE
            bold = ' class="b"' if look.bold else ""
            yield (
                f'<text x="{place}" y="{BASE}" textLength="{len(word) * WIDE}" fill="{look.colour}"{bold}>'
                f"{escape(word.replace(' ', NO_BREAK), quote=False)}</text>"
            )
        begin += len(part) + 3
