"""Charts as pictures: SVG written as text, PNG through the optional resvg-py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from presman.base import formats
from presman.trace.sampling import HistogramBar, Scatter
from presman.trace.trace_chart import decades, title

WIDTH, PANEL = 1000, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 50, 50
_FONTS = "DejaVu Sans, Liberation Sans, Noto Sans, Helvetica, Arial, sans-serif"
_BLUE, _GREY, _LIGHT = "#1f6feb", "#57606a", "#d8dee4"


class SvgChart(NamedTuple):
    """One chart of a picture."""

    event: str
    data: Scatter | list[HistogramBar]


class PictureError(Exception):
    """A picture cannot be made; the text is one line and says what to do."""


def require_png() -> None:
    """Raise PictureError if PNG cannot be written here."""
    try:
        import resvg_py  # noqa: F401
    except ImportError as error:
        raise PictureError("PNG needs resvg-py: install presman[png], or choose a name that ends in .svg") from error


def png(text: str) -> bytes:
    """Return an SVG as PNG. Raises PictureError."""
    require_png()
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=text))


def svg(panels: Sequence[SvgChart]) -> str:
    """Return the panels one above the other as an SVG document."""
    height = PANEL * max(1, len(panels))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="{_FONTS}" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for place, panel in enumerate(panels):
        drawn = _scatter(panel.event, panel.data) if isinstance(panel.data, Scatter) else _bars(panel.event, panel.data)
        parts += [f'<g transform="translate(0 {place * PANEL})">', *drawn, "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _scatter(event: str, scatter: Scatter) -> list[str]:
    times = [max(1, time) for _, time in scatter.points]
    ticks = decades(min(times), max(times))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    parts = [_text(WIDTH / 2, 28, title(event, scatter), size=16)]
    parts += [_level(_height((math.log10(tick) - low) / (high - low)), formats.microseconds(tick)) for tick in ticks]
    dots = "".join(
        f"M{_across((number - 1) / max(1, scatter.waits - 1)):.1f} "
        f"{_height((math.log10(max(1, time)) - low) / (high - low)):.1f}h0"
        for number, time in scatter.points
    )
    parts.append(f'<path d="{dots}" stroke="{_BLUE}" stroke-width="3" stroke-linecap="round" opacity="0.6"/>')
    for share in (0, 0.25, 0.5, 0.75, 1):
        number = 1 + share * (scatter.waits - 1)
        parts.append(_text(_across(share), PANEL - 28, formats.count(number)))
    return [*parts, _text(WIDTH / 2, PANEL - 8, "wait")]


def _bars(event: str, bars: Sequence[HistogramBar]) -> list[str]:
    total = sum(bar.waits for bar in bars)
    top = max(bar.waits for bar in bars) / total
    parts = [_text(WIDTH / 2, 28, f"{event}: share of {formats.count(total)} waits by elapsed time", size=16)]
    for part in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_level(_height(part), f"{formats.number(100 * top * part)} %"))
    step = 1 / len(bars)
    every = -(-len(bars) // 10)
    for place, bar in enumerate(bars):
        left, upper = _across(place * step), _height(bar.waits / total / top)
        size = f'width="{_across((place + 0.9) * step) - left:.1f}" height="{_height(0) - upper:.1f}"'
        what = f"{formats.microseconds(bar.low)} to {formats.microseconds(bar.high)}: {formats.count(bar.waits)}"
        parts.append(f'<rect x="{left:.1f}" y="{upper:.1f}" {size} fill="{_BLUE}"><title>{what}</title></rect>')
        if place % every == 0:
            parts.append(_text(left, PANEL - 28, formats.microseconds(bar.low)))
    return [*parts, _text(WIDTH / 2, PANEL - 8, "from")]


def _across(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _height(share: float) -> float:
    return PANEL - _BOTTOM - share * (PANEL - _TOP - _BOTTOM)


def _level(y: float, label: str) -> str:
    line = f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{_LIGHT}"/>'
    return line + _text(_LEFT - 8, y + 4, label, anchor="end")


def _text(x: float, y: float, text: str, *, size: int = 13, anchor: str = "middle") -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{_GREY}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
