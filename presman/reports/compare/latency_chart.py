"""Latency chart: how the waits for an event spread over their buckets, in one window beside the other, as SVG."""

from __future__ import annotations

import math

from presman.base.colours import GROUP_STYLES, HUES
from presman.base.formats import count, microseconds
from presman.base.markup import WIDTH, Markup, drawing, element, label, level
from presman.reports.compare.comparison import ComparedHistogram

STYLE_OF = (GROUP_STYLES[0], GROUP_STYLES[3])
"""Of A and of B: on this page nothing has the colour of a group."""

_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 92.0, 10.0, 10.0, 160.0, 184.0
_SEEN = _BOTTOM - 0.02 * (_BOTTOM - _TOP)
"""The top of the lowest bar: what is there shows."""
_MOST_LABELS = 13
_LEAST = 0.001
"""Percent at the foot of the scale, which is logarithmic: of some events 1 wait in 10,000 is what matters."""


def latency_chart(found: ComparedHistogram) -> Markup:
    """Return the percent of waits in each bucket, A left of B."""
    uppers = sorted(found.first.keys() | found.second.keys())
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(uppers))
    parts = [level(_y(percent), f"{percent:g} %", _LEFT, WIDTH - _RIGHT) for percent in (0.001, 0.01, 0.1, 1, 10, 100)]
    for place, upper in enumerate(uppers):
        left = _LEFT + place * step
        for window, (name, waits) in enumerate((("A", found.first), ("B", found.second))):
            share = 100 * waits.get(upper, 0) / (sum(waits.values()) or 1)
            if share:
                told = f"{name}: {count(waits[upper])} waits below {microseconds(upper)} ({share:.4g} %)"
                parts.append(
                    element(
                        "rect", element("title", told), x=left + step * (0.1 + 0.4 * window), y=min(_y(share), _SEEN),
                        width=step * 0.38, height=_BOTTOM - min(_y(share), _SEEN), fill=HUES[STYLE_OF[window]].page,
                    )
                )  # fmt: skip
        if len(uppers) <= _MOST_LABELS or place % 2 == 0:
            parts.append(label(left + step / 2, _BOTTOM + 16, f"< {microseconds(upper)}"))
    return drawing(_HEIGHT, f"Waits for {found.event} by how long they took, A and B", parts)


def _y(percent: float) -> float:
    """Return where a share is; what is below the foot of the scale is at it."""
    share = math.log10(max(percent, _LEAST) / _LEAST) / math.log10(100 / _LEAST)
    return _BOTTOM - share * (_BOTTOM - _TOP)
