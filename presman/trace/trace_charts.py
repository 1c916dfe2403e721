"""Charts of traces, in the terminal and as SVG."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from presman.base import formats
from presman.base.axis import nice_axis, tick_label
from presman.base.colours import GROUP_HUES
from presman.base.markup import WIDTH, Markup, block, element, label, level, picture
from presman.trace.tally import HistogramBar, Scatter

# ---- Charts in the terminal


_LEAST = (40, 10)


def title(event: str, scatter: Scatter) -> str:
    """Return a scatter's heading, which tells what was left out of it."""
    shown = "each wait" if scatter.stride == 1 else f"first and longest of every {formats.count(scatter.stride)} waits"
    return f"{event}: {shown}"


def scatter_text(event: str, scatter: Scatter, *, width: int, height: int, colour: bool) -> str:
    """Return a scatter of elapsed times over the number of the wait, time on a logarithmic scale."""
    import plotext

    plotext.clear_figure()
    plotext.theme("pro" if colour else "clear")
    plotext.limit_size(False, False)  # else to those of the terminal, or to 80 by 24 without one
    plotext.plot_size(max(width, _LEAST[0]), max(height, _LEAST[1]))
    numbers = [number for number, _ in scatter.points]
    times = [max(1, time) for _, time in scatter.points]
    plotext.scatter(numbers, [math.log10(time) for time in times], marker="dot")
    ticks = decades(min(times), max(times))
    levels = [math.log10(tick) for tick in ticks]
    plotext.yticks(levels, [formats.microseconds(tick) for tick in ticks])
    plotext.ylim(levels[0], levels[-1])
    marks = sorted({round(1 + share * (scatter.waits - 1)) for share in (0, 0.25, 0.5, 0.75, 1)})
    plotext.xticks(marks, [formats.count(mark) for mark in marks])
    plotext.title(title(event, scatter))
    plotext.xlabel("wait")
    drawn = str(plotext.build())
    plain = drawn if colour else str(plotext.uncolorize(drawn))
    return "\n".join([line.rstrip() for line in plain.splitlines()])


def histogram_text(event: str, bars: list[HistogramBar], *, width: int) -> str:
    """Return a histogram as lines of text: bounds, bar, waits, share."""
    total = sum(bar.waits for bar in bars)
    most = max(bar.waits for bar in bars)
    room = max(10, width - 42)
    lines = [f"{event}: waits by elapsed time"]
    for bar in bars:
        drawn = _bar(bar.waits / most * room)
        bounds = f"{formats.microseconds(bar.low):>8} to {formats.microseconds(bar.high):<8}"
        share = formats.number(100 * bar.waits / total, 2)
        lines.append(f"{bounds} {drawn:<{room}} {formats.count(bar.waits):>10} {share:>6} %")
    return "\n".join(lines)


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten around `low` and `high`, both above zero: two at least."""
    ticks = [1.0]
    while ticks[-1] < high or len(ticks) < 2:
        ticks.append(ticks[-1] * 10)
    while len(ticks) > 2 and ticks[1] <= low:
        ticks.pop(0)
    return ticks


def _bar(cells: float) -> str:
    """Return a bar in eighths of a cell; what is not nothing shows at least one eighth."""
    eighths = max(round(cells * 8), 1 if cells else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


# ---- Charts of traces as pictures: SVG


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
    for index, bar in enumerate(bars):
        left, upper = _across(index * step), _height(100 * bar.waits / total / top)
        what = f"{formats.microseconds(bar.low)} to {formats.microseconds(bar.high)}: {formats.count(bar.waits)}"
        width, height = _across((index + 0.9) * step) - left, _height(0) - upper
        parts.append(block(what, left, upper, width, height, fill=_BLUE))
        if index % every == 0:
            parts.append(label(left, PANEL - 28, formats.microseconds(bar.low)))
    return [*parts, label(WIDTH / 2, PANEL - 8, "from")]


def _across(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _height(share: float) -> float:
    return PANEL - _BOTTOM - share * (PANEL - _TOP - _BOTTOM)


def _level(y: float, text: str) -> Markup:
    return level(y, text, _LEFT, WIDTH - _RIGHT)
