"""A comparison as text: what differs first, then every figure side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from textwrap import wrap

from presman.base.formats import ABSENT, compact, counted, number, spelled
from presman.compare.comparison import ComparedWindow, ComparedWindows, Line, PlanDifference
from presman.compare.noise import Judgement
from presman.drawing.lines import fit

_SUBJECT, _FIGURE, _VALUE, _PERCENT = 28, 20, 11, 9
_REST = _FIGURE + 2 * _VALUE + _PERCENT + len(Judgement.ONE_SIDED.value) + 5
_LEAST, _NARROW, _WIDEST = 10, 80, 120


def compare_text(found: ComparedWindows, width: int | None = None) -> str:
    """Return the whole text in lines of at most `width` cells (never below 80). Ends in a newline."""
    cells = max(_NARROW, min(width or _WIDEST, _WIDEST))
    subject = max(_LEAST, min(_SUBJECT, cells - _REST))
    parts = [*_window("A", found.first, cells), *_window("B", found.second, cells)]
    parts += [each for note in found.notes for each in wrap(f"note: {note}", cells, subsequent_indent="      ")]
    parts += ["", *_summary(found.lines, cells)]
    parts += _plan(found, subject)
    for section, own in groupby(found.lines, key=lambda line: line.section):
        told = [line for line in own if line.first or line.second]
        if told:
            parts += ["", _head(section, subject), *_rows(told, subject)]
    parts += ["", *wrap(found.method, cells)]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _window(name: str, window: ComparedWindow, cells: int) -> list[str]:
    seconds = (window.last - window.first).total_seconds()
    text = (
        f"{name}  {window.recording}, {window.database}: {_instant(window.first)} to {_instant(window.last)}, "
        f"{counted(window.polls, 'poll')} in {spelled(seconds)}, plan {window.plan or 'not known'}"
    )
    notes = [each for note in window.notes for each in wrap(f"- {note}", cells - 3, subsequent_indent="  ")]
    return [*wrap(text, cells, subsequent_indent="   "), *(f"   {note}" for note in notes)]


def _instant(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def _summary(lines: Sequence[Line], cells: int) -> list[str]:
    more = [line for line in lines if line.difference is Judgement.MORE]
    untold = sum(line.difference is Judgement.UNTOLD for line in lines)
    rest = f"; {untold} have too few polls or statements to tell" if untold else ""
    if not more:
        judged = any(line.difference is not Judgement.UNTOLD for line in lines)
        return wrap(("No figure differs by more than noise" if judged else "Nothing can be told") + rest + ".", cells)
    return wrap(f"{len(more)} of {counted(len(lines), 'figure')} differ by more than noise, marked *{rest}.", cells)


def _plan(found: ComparedWindows, subject: int) -> list[str]:
    if not found.plan:
        return ["", "The plans at the ends of the windows say the same, as far as they were seen."]
    return ["", _head("plan at the end", subject, judged=False), *(_plan_row(each, subject) for each in found.plan)]


def _plan_row(each: PlanDifference, subject: int) -> str:
    values = " ".join(fit(_said(value), _VALUE, "right") for value in (each.first, each.second))
    return f"{fit(each.subject or 'database', subject)} {fit(each.figure, _FIGURE)} {values}"


def _said(value: str | float | bool | None) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def _head(section: str, subject: int, *, judged: bool = True) -> str:
    """Return the heads of a section's columns."""
    values = f"{fit(section, subject + 1 + _FIGURE)} {'A':>{_VALUE}} {'B':>{_VALUE}}"
    return f"{values} {'B to A %':>{_PERCENT}}" if judged else values


def _rows(lines: Iterable[Line], subject: int) -> list[str]:
    rows, last = [], None
    for line in lines:
        name = "" if line.subject == last else line.subject
        last = line.subject
        values = " ".join(fit(_value(line, value), _VALUE, "right") for value in (line.first, line.second))
        percent = ABSENT if line.percent is None else f"{round(line.percent, 1) + 0.0:+,.1f}"
        mark = "* " if line.difference is Judgement.MORE else "  "
        rows.append(
            f"{fit(name, subject)} {fit(line.figure, _FIGURE)} {values} {fit(percent, _PERCENT, 'right')} "
            f"{mark}{line.difference.value}"
        )
    return rows


def _value(line: Line, value: float | None) -> str:
    if value is None:
        return ABSENT
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 100 else 0
    text = number(value, digits) if abs(value) < 1e6 else compact(value)
    return f"≤ {text}" if line.is_bound else text
