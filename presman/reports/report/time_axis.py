"""Time axis: where an instant is on a drawing, the ticks below it, the gaps across it; the same for all drawings."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from presman.base.axis import time_label, time_ticks
from presman.base.formats import counted, spelled
from presman.base.markup import BLANK, RULE, WIDTH, Markup, element, joined, label
from presman.recording.time_bins import PollGap

LEFT, RIGHT = 104.0, 10.0

CLOSE = 1.0
"""Gaps that are not so far apart, in units of the drawing, are drawn as one."""

_MOST_TICKS = 9


class TimeAxis(Struct, frozen=True):
    """The time from `start` to `end`, both aware, with the gaps in it."""

    start: datetime
    end: datetime
    gaps: tuple[PollGap, ...] = ()

    def x(self, at: datetime) -> float:
        """Return where an instant is, within the drawing."""
        whole = max(1e-6, (self.end - self.start).total_seconds())
        share = min(1.0, max(0.0, (at - self.start).total_seconds() / whole))
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def told(self, at: datetime) -> str:
        """Return an instant as tables have it: without the date where all are of one day."""
        one_day = self.start.astimezone().date() == self.end.astimezone().date() == at.astimezone().date()
        return f"{at.astimezone():%H:%M:%S}" if one_day else clock(at)

    def ticks(self) -> list[datetime]:
        """Return round instants of the user's clock on the axis."""
        return time_ticks(self.start, self.end, _MOST_TICKS)

    def label(self, at: datetime) -> str:
        """Return an instant as the ticks have it: as short as the stretch allows."""
        return time_label(at, (self.end - self.start).total_seconds())


def below(axis: TimeAxis, top: float, bottom: float) -> Markup:
    """Return the ticks with their labels below `bottom`, and the gaps between `top` and `bottom`."""
    parts = [
        joined(
            (
                element("path", d=f"M{axis.x(at):.1f} {top:.1f}V{bottom + 4:.1f}", stroke=RULE),
                label(axis.x(at), bottom + 17, axis.label(at)),
            )
        )
        for at in axis.ticks()
    ]
    return joined([*parts, *(_gap(axis, each, top, bottom) for each in side_by_side(axis))])


def side_by_side(axis: TimeAxis) -> list[list[PollGap]]:
    """Return the gaps, those together that nobody could tell apart: of a long time there may be thousands."""
    found: list[list[PollGap]] = []
    for gap in axis.gaps:
        if found and axis.x(gap.start) - axis.x(found[-1][-1].end) < CLOSE:
            found[-1].append(gap)
        else:
            found.append([gap])
    return found


def _gap(axis: TimeAxis, gaps: list[PollGap], top: float, bottom: float) -> Markup:
    start, end = gaps[0].start, gaps[-1].end
    left, right = axis.x(start), axis.x(end)
    lost = spelled(sum((each.end - each.start).total_seconds() for each in gaps))
    often = f"{counted(len(gaps), 'gap')}, in all {lost}" if len(gaps) > 1 else lost
    return element(
        "rect", element("title", f"no poll from {clock(start)} to {clock(end)} ({often})"), x=left, y=top,
        width=max(1.0, right - left), height=bottom - top, fill=BLANK, class_="gap",
    )  # fmt: skip


def clock(at: datetime) -> str:
    """Return an instant as the page has it: the date and the time of day in the user's zone."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def between(start: datetime, end: datetime) -> str:
    """Return a stretch of time, the date once where it is the same.

    >>> from datetime import UTC
    >>> len(between(datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 12, 5, tzinfo=UTC)))
    28
    """
    same = start.astimezone().date() == end.astimezone().date()
    return f"{clock(start)}–{end.astimezone():%H:%M:%S}" if same else f"{clock(start)} – {clock(end)}"
