"""Charts in the terminal."""

from __future__ import annotations

import math

from presman.base import formats
from presman.trace.sampling import HistogramBar, Scatter

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
