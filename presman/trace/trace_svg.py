"""Charts of traces as pictures: SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from presman.base import formats
from presman.base.axis import nice_axis, tick_label
from presman.base.colours import GROUP_HUES
from presman.base.markup import WIDTH, Markup, element, label, level, picture
from presman.trace.sampling import HistogramBar, Scatter
from presman.trace.trace_chart import decades, title

PANEL = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 50, 50
_BLUE = GROUP_HUES[0].page


class SvgChart(NamedTuple):
    """One chart of a picture."""

    event: str
    data: Scatter | list[HistogramBar]


def svg(panels: Sequence[SvgChart]) -> str:
    """Return the panels one above the other as an SVG document."""
    drawn = [
        _scatter(panel.event, panel.data) if isinstance(panel.data, Scatter) else _bars(panel.event, panel.data)
        for panel in panels
    ]
    return picture(drawn, PANEL)


def _scatter(event: str, scatter: Scatter) -> list[Markup]:
    times = [max(1, time) for _, time in scatter.points]
    ticks = decades(min(times), max(times))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    parts = [label(WIDTH / 2, 28, title(event, scatter), size=16)]
    parts += [_level(_height((math.log10(tick) - low) / (high - low)), formats.microseconds(tick)) for tick in ticks]
    dots = "".join(
        f"M{_across((number - 1) / max(1, scatter.waits - 1)):.1f} "
        f"{_height((math.log10(max(1, time)) - low) / (high - low)):.1f}h0"
        for number, time in scatter.points
    )
    parts.append(element("path", d=dots, stroke=_BLUE, stroke_width=3, stroke_linecap="round", opacity="0.6"))
    for number in sorted({round(1 + share * (scatter.waits - 1)) for share in (0, 0.25, 0.5, 0.75, 1)}):
        parts.append(label(_across((number - 1) / max(1, scatter.waits - 1)), PANEL - 28, formats.count(number)))
    return [*parts, label(WIDTH / 2, PANEL - 8, "wait")]


def _bars(event: str, bars: Sequence[HistogramBar]) -> list[Markup]:
    total = sum(bar.waits for bar in bars)
    top = 100 * max(bar.waits for bar in bars) / total
    parts = [label(WIDTH / 2, 28, f"{event}: share of {formats.count(total)} waits by elapsed time", size=16)]
    parts += [_level(_height(tick / top), f"{tick_label(tick)} %") for tick in nice_axis(top, 4)[1] if tick <= top]
    step = 1 / len(bars)
    every = -(-len(bars) // 10)
    for place, bar in enumerate(bars):
        left, upper = _across(place * step), _height(100 * bar.waits / total / top)
        what = f"{formats.microseconds(bar.low)} to {formats.microseconds(bar.high)}: {formats.count(bar.waits)}"
        width, height = _across((place + 0.9) * step) - left, _height(0) - upper
        parts.append(element("rect", element("title", what), x=left, y=upper, width=width, height=height, fill=_BLUE))
        if place % every == 0:
            parts.append(label(left, PANEL - 28, formats.microseconds(bar.low)))
    return [*parts, label(WIDTH / 2, PANEL - 8, "from")]


def _across(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _height(share: float) -> float:
    return PANEL - _BOTTOM - share * (PANEL - _TOP - _BOTTOM)


def _level(y: float, text: str) -> Markup:
    return level(y, text, _LEFT, WIDTH - _RIGHT)
