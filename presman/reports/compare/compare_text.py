"""Text of a comparison: first the differences, then every figure side by side."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import wrap

from presman.base.formats import ABSENT, compact, count, counted, number, spelled
from presman.figures.drawing.lines import fit
from presman.recording.time_words import spelled_instant
from presman.reports.compare.comparison import ComparedWindow, ComparedWindows, Line
from presman.reports.compare.noise import Judgement
from presman.reports.compare.window_figures import NOT_KNOWN

MARKS = {Judgement.MORE: "*", Judgement.NO_OVERLAP: "#"}
"""Marks of the figures that differ."""


def window_sentence(window: ComparedWindow) -> str:
    """Return the recording, the period and the plan of a window as a sentence."""
    seconds = (window.last - window.first).total_seconds()
    return (
        f"{window.recording}, {window.database}: {spelled_instant(window.first)} to {spelled_instant(window.last)}, "
        f"{counted(window.polls, 'poll')} in {spelled(seconds)}, plan {window.plan or NOT_KNOWN}"
    )


def summary(lines: Sequence[Line], *, marked: bool = True) -> str:
    """Return how many figures differ by more than noise, how many do not overlap, and how many cannot be compared.

    If `marked`, the sentence also explains the marks of the lines.
    """
    more, disjoint, too_few = (sum(line.difference is what for line in lines) for what in (*MARKS, Judgement.TOO_FEW))
    star, hash_sign = (f", marked {mark}" * marked for mark in MARKS.values())
    if too_few == len(lines):
        return "Nothing can be compared: there are too few polls or statements. Longer windows may help."
    parts = [f"{count(more)} of {counted(len(lines), 'figure')} {'differs' if more == 1 else 'differ'}"]
    if not more:
        parts = ["No figure is known to differ" if disjoint or too_few else "No figure differs"]
    parts[0] += f" by more than noise{star * bool(more)}"
    if disjoint:
        verb = "does" if disjoint == 1 else "do"
        parts.append(
            f"{count(disjoint)} {verb} not overlap{hash_sign}, in too few polls to know how often that happens "
            "by chance"
        )
    if too_few:
        verb = "has" if too_few == 1 else "have"
        unjudged = f"{count(too_few)} without a word at the end {verb} too few polls or statements to compare"
        parts.append(f"{unjudged}: longer windows may tell")
    return f"{'; '.join(parts)}."


def no_plan_differs(found: ComparedWindows) -> str:
    """Return a sentence for plans between which no difference was found; if one is unknown, that proves nothing."""
    if found.first.plan is None or found.second.plan is None:
        return "Whether the plans at the ends of the windows are the same is not known."
    return "The plans at the ends of the windows are the same, as far as presman could see."


def plan_value(value: str | float | bool | None) -> str:
    """Return a value of a plan in words; None is the name of a plan that cannot be read."""
    if value is None:
        return NOT_KNOWN
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


def judgement_of(line: Line) -> str:
    """Return the judgement in words; figures that cannot be judged are mentioned only in the summary."""
    return "" if line.difference is Judgement.TOO_FEW else line.difference.value


def percent_of(line: Line) -> str:
    """Return the difference in percent as text."""
    # + 0.0 makes 0.0 of a -0.0, which would be shown with its sign.
    return ABSENT if line.percent is None else f"{round(line.percent, 1) + 0.0:+,.1f}"


def shown(lines: Sequence[Line]) -> list[Line]:
    """Return the lines worth showing: those that are not zero in both windows."""
    return [line for line in lines if line.first or line.second]


_SUBJECT, _FIGURE, _VALUE, _PERCENT = 28, 20, 11, 9
_COLUMN, _SETTING = 24, 12
"""The widths of a directive's column and of its values."""

_REST = _FIGURE + 2 * _VALUE + _PERCENT + len(Judgement.ONE_SIDED.value) + 5
_LEAST, _NARROW, _WIDEST = 10, 80, 120


def compare_text(found: ComparedWindows, width: int | None = None) -> str:
    """Return the whole text in lines of at most `width` cells (never below 80). Ends in a newline."""
    cells = max(_NARROW, min(width or _WIDEST, _WIDEST))
    subject = max(_LEAST, min(_SUBJECT, cells - _REST))
    parts = [*_window("A", found.first, cells), *_window("B", found.second, cells)]
    parts += [each for note in found.notes for each in wrap(f"note: {note}", cells, subsequent_indent="      ")]
    parts += ["", *wrap(summary(found.lines), cells)]
    parts += _plan(found, subject)
    for section, own in groupby(shown(found.lines), key=lambda line: line.section):
        parts += ["", _head(section, subject), *_rows(own, subject)]
    parts += ["", *wrap(found.method, cells)]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _window(name: str, window: ComparedWindow, cells: int) -> list[str]:
    text = f"{name}  {window_sentence(window)}"
    notes = [each for note in window.notes for each in wrap(f"- {note}", cells - 3, subsequent_indent="  ")]
    return [*wrap(text, cells, subsequent_indent="   "), *(f"   {note}" for note in notes)]


def _plan(found: ComparedWindows, subject: int) -> list[str]:
    if not found.plan:
        return ["", no_plan_differs(found)]
    lines = ["", _head("plan at the end", subject, judged=False)]
    for each in found.plan:
        values = " ".join(fit(plan_value(value), _SETTING, "right") for value in (each.first, each.second))
        lines.append(f"{fit(each.subject or 'database', subject)} {fit(each.figure, _COLUMN)} {values}")
    return lines


def _head(section: str, subject: int, *, judged: bool = True) -> str:
    """Return the column heads of a section."""
    figure, value = (_FIGURE, _VALUE) if judged else (_COLUMN, _SETTING)
    values = f"{fit(section, subject + 1 + figure)} {'A':>{value}} {'B':>{value}}"
    return f"{values} {'B to A %':>{_PERCENT}}" if judged else values


def _rows(lines: Iterable[Line], subject: int) -> list[str]:
    rows, last = [], None
    for line in lines:
        name = "" if line.subject == last else line.subject
        last = line.subject
        values = " ".join(fit(value_of(line, value), _VALUE, "right") for value in (line.first, line.second))
        mark = f"{MARKS.get(line.difference, '')} ".rjust(2)
        rows.append(
            f"{fit(name, subject)} {fit(line.figure, _FIGURE)} {values} {fit(percent_of(line), _PERCENT, 'right')} "
            f"{mark}{judgement_of(line)}"
        )
    return rows
