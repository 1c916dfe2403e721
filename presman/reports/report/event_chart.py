"""Event chart: what happened when, one line for each kind of event."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.trends.database_events import KINDS, kind_in_words
from presman.base.markup import BAD, FAINT, Markup, drawing, element, label
from presman.recording.incident_rows import EventMark
from presman.reports.report.time_axis import LEFT, TimeAxis, below, between, clock

PLACES = 300
"""Marks that have room side by side."""

_LINE, _TOP = 18.0, 4.0
_BAD = frozenset({"downgrade", "timeout", "connection lost", "alert began", "alert worse"})
_SHORT = {
    **{"connection lost": "lost", "verdict changed": "state", "plan changed": "plan"},
    **{"directive changed": "directive", "parameter changed": "parameter", "instance changed": "instance"},
}


def event_chart(marks: Sequence[EventMark], axis: TimeAxis) -> Markup:
    """Return a line of marks for each kind there is."""
    there = {each.kind for each in marks}
    kinds = [kind for kind in KINDS if kind in there]
    kinds += sorted(there - set(kinds))
    parts = []
    for place, kind in enumerate(kinds):
        y = _TOP + _LINE * place
        parts.append(label(LEFT - 6, y + 13, _SHORT.get(kind, kind), "end"))
        parts += [_mark(each, y, axis) for each in marks if each.kind == kind]
    bottom = _TOP + _LINE * len(kinds)
    return drawing(bottom + 24, "Events over time", [below(axis, _TOP, bottom), *parts])


def _mark(mark: EventMark, y: float, axis: TimeAxis) -> Markup:
    one = f"{clock(mark.start)}\n{mark.text}"
    told = (
        one
        if mark.many == 1
        else f"{between(mark.start, mark.end)}\n{mark.many} × {kind_in_words(mark.kind)}, as: {mark.text}"
    )
    fill = BAD if mark.kind in _BAD else FAINT
    width = max(3.0, axis.x(mark.end) - axis.x(mark.start))
    return element("rect", element("title", told), x=axis.x(mark.start) - 1.5, y=y + 2, width=width, height=_LINE - 4,
                   fill=fill)  # fmt: skip
