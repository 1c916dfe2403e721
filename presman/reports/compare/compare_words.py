"""Words of a comparison, the same as text and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from presman.base.formats import ABSENT, compact, counted, number, spelled
from presman.reports.compare.comparison import ComparedWindow, Line
from presman.reports.compare.noise import Judgement


def window_sentence(window: ComparedWindow) -> str:
    """Return what a window is of."""
    seconds = (window.last - window.first).total_seconds()
    return (
        f"{window.recording}, {window.database}: {_instant(window.first)} to {_instant(window.last)}, "
        f"{counted(window.polls, 'poll')} in {spelled(seconds)}, plan {window.plan or 'not known'}"
    )


def summary(lines: Sequence[Line]) -> str:
    """Return how many figures differ by more than noise."""
    more = [line for line in lines if line.difference is Judgement.MORE]
    untold = sum(line.difference is Judgement.UNTOLD for line in lines)
    rest = f"; {untold} have too few polls or statements to compare" if untold else ""
    if not more:
        judged = any(line.difference is not Judgement.UNTOLD for line in lines)
        return ("No figure differs by more than noise" if judged else "Nothing can be compared") + rest + "."
    return f"{len(more)} of {counted(len(lines), 'figure')} differ by more than noise, marked *{rest}."


def said(value: str | float | bool | None) -> str:
    """Return what a plan says."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def value_of(line: Line, value: float | None) -> str:
    """Return one of the two values of a line."""
    if value is None:
        return ABSENT
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 100 else 0
    text = number(value, digits) if abs(value) < 1e6 else compact(value)
    return f"≤ {text}" if line.is_bound else text


def percent_of(line: Line) -> str:
    """Return the difference in percent."""
    return ABSENT if line.percent is None else f"{round(line.percent, 1) + 0.0:+,.1f}"


def shown(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that tell something: those that are nothing in both windows do not."""
    return [line for line in lines if line.first or line.second]


def _instant(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
