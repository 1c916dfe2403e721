"""Comparison as text and as an HTML page: what differs, the plans, latencies, every figure side by side."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from textwrap import wrap

from presman.base.colours import GROUP_STYLES, HUES, OTHERS
from presman.base.formats import ABSENT, compact, count, counted, microseconds, number, spelled
from presman.base.markup import WIDTH, Markup, block, drawing, element, joined, label, level
from presman.figures.drawing.lines import fit
from presman.recording.time_words import spelled_instant
from presman.reports.compare.comparison import ComparedHistogram, ComparedWindow, ComparedWindows, Line
from presman.reports.compare.noise import Judgement
from presman.reports.compare.window_figures import NOT_KNOWN
from presman.reports.html_page import bullets, cell_table, heading, page, section, word_table

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
        return "Nothing can be compared: there are too few polls or statements. Longer windows may tell."
    parts = [f"{count(more)} of {counted(len(lines), 'figure')} {'differs' if more == 1 else 'differ'}"]
    if not more:
        parts = ["No figure is known to differ" if disjoint or too_few else "No figure differs"]
    parts[0] += f" by more than noise{star * bool(more)}"
    if disjoint:
        apart = f"{count(disjoint)} {'does' if disjoint == 1 else 'do'} not overlap{hash_sign}"
        parts.append(f"{apart}, in too few polls to say how often chance does that")
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


def said(value: str | float | bool | None) -> str:
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
    """Return the judgement in words; of the many figures that cannot be judged the summary speaks, once for all."""
    return "" if line.difference is Judgement.TOO_FEW else line.difference.value


def percent_of(line: Line) -> str:
    """Return the difference in percent as text."""
    # + 0.0 makes 0.0 of a -0.0, which would be shown with its sign.
    return ABSENT if line.percent is None else f"{round(line.percent, 1) + 0.0:+,.1f}"


def shown(lines: Sequence[Line]) -> list[Line]:
    """Return the lines worth showing: those that are not zero in both windows."""
    return [line for line in lines if line.first or line.second]


# ---- The text.

_SUBJECT, _FIGURE, _VALUE, _PERCENT = 28, 20, 11, 9
_COLUMN, _SETTING = 24, 12
"""The widths of a directive's column and of its values."""

_REST = _FIGURE + 2 * _VALUE + _PERCENT + len(Judgement.ONE_SIDED.value) + 5
_LEAST, _NARROW, _WIDEST = 10, 80, 120


def compare_text(found: ComparedWindows, width: int | None = None) -> str:
    """Return the whole text in lines of at most `width` cells (never below 80). Ends in a newline."""
    cells = max(_NARROW, min(width or _WIDEST, _WIDEST))
    subject = max(_LEAST, min(_SUBJECT, cells - _REST))
    parts = [*_window_lines("A", found.first, cells), *_window_lines("B", found.second, cells)]
    parts += [each for note in found.notes for each in wrap(f"note: {note}", cells, subsequent_indent="      ")]
    parts += ["", *wrap(summary(found.lines), cells)]
    parts += _plan_lines(found, subject)
    for name, own in groupby(shown(found.lines), key=lambda line: line.section):
        parts += ["", _head_line(name, subject), *_rows(own, subject)]
    parts += ["", *wrap(found.method, cells)]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _window_lines(name: str, window: ComparedWindow, cells: int) -> list[str]:
    text = f"{name}  {window_sentence(window)}"
    notes = [each for note in window.notes for each in wrap(f"- {note}", cells - 3, subsequent_indent="  ")]
    return [*wrap(text, cells, subsequent_indent="   "), *(f"   {note}" for note in notes)]


def _plan_lines(found: ComparedWindows, subject: int) -> list[str]:
    if not found.plan:
        return ["", no_plan_differs(found)]
    lines = ["", _head_line("plan at the end", subject, judged=False)]
    for each in found.plan:
        values = " ".join(fit(said(value), _SETTING, "right") for value in (each.first, each.second))
        lines.append(f"{fit(each.subject or 'database', subject)} {fit(each.figure, _COLUMN)} {values}")
    return lines


def _head_line(section: str, subject: int, *, judged: bool = True) -> str:
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


# ---- The page.

STYLE_OF = (GROUP_STYLES[0], GROUP_STYLES[3])
"""Styles of A and B: on this page no group has a colour."""

_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 92.0, 10.0, 10.0, 160.0, 184.0
_LEAST_TOP = _BOTTOM - 0.02 * (_BOTTOM - _TOP)
"""The top of the lowest bar, so that every bar is visible."""
_MOST_LABELS = 13
_LOWEST = 0.001
"""The lowest percentage of the logarithmic scale: for some events even 1 wait in 10,000 matters."""


def latency_chart(found: ComparedHistogram) -> Markup:
    """Return the percentage of waits in each bucket, A left of B."""
    uppers = sorted(found.first.keys() | found.second.keys())
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(uppers))
    parts = [level(_y(percent), f"{percent:g} %", _LEFT, WIDTH - _RIGHT) for percent in (0.001, 0.01, 0.1, 1, 10, 100)]
    for index, upper in enumerate(uppers):
        left = _LEFT + index * step
        for window, (name, waits) in enumerate((("A", found.first), ("B", found.second))):
            if share := 100 * waits.get(upper, 0) / (sum(waits.values()) or 1):
                title = f"{name}: {counted(waits[upper], 'wait')} below {microseconds(upper)} ({share:.4g} %)"
                x, y = left + step * (0.1 + 0.4 * window), min(_y(share), _LEAST_TOP)
                parts.append(block(title, x, y, step * 0.38, _BOTTOM - y, fill=HUES[STYLE_OF[window]].page))
        if len(uppers) <= _MOST_LABELS or index % 2 == 0:
            parts.append(label(left + step / 2, _BOTTOM + 16, f"< {microseconds(upper)}"))
    return drawing(_HEIGHT, f"Waits for {found.event} by how long they took, A and B", parts)


def _y(percent: float) -> float:
    """Return the y position of a percentage; those below the scale are drawn at its lower end."""
    share = math.log10(max(percent, _LOWEST) / _LOWEST) / math.log10(100 / _LOWEST)
    return _BOTTOM - share * (_BOTTOM - _TOP)


_HEADS = ("", "Figure", "A", "B", "B to A %", "", "Difference")
_BAR = 100.0
"""Half the width of a bar's cell, and the percentage that fills it."""


def compare_page(found: ComparedWindows, made: datetime) -> str:
    """Return the page; `made` is the present time."""
    title = f"{found.first.database} {found.first.first.astimezone():%Y-%m-%d %H:%M} compared"
    lines = shown(found.lines)
    parts = [_head(found, made), _differences(found, lines), _plan(found), _latency(found)]
    for name, own in groupby(lines, key=lambda line: line.section):
        parts.append(section(f"{name[0].upper()}{name[1:]}", _table(list(own))))
    method = element("p", f"{found.method[0].upper()}{found.method[1:]}.")
    return page(title, *parts, section("What this is based on", method))


def _head(found: ComparedWindows, made: datetime) -> Markup:
    names = " and ".join(dict.fromkeys((found.first.database, found.second.database)))
    windows = _window("A", 0, found.first), _window("B", 1, found.second)
    times = [at for window in (found.first, found.second) for at in (window.first, window.last)]
    return heading(f"{names}: two windows", windows, found.notes, made, times)


def _window(name: str, number: int, window: ComparedWindow) -> Markup:
    mark = element("b", f"■ {name} ", class_=STYLE_OF[number])
    notes = [bullets(window.notes, "note")] if window.notes else []
    return joined([element("p", mark, window_sentence(window)), *notes])


def _differences(found: ComparedWindows, lines: Sequence[Line]) -> Markup:
    more = [line for line in lines if line.difference in MARKS]
    more.sort(key=lambda line: (line.difference is not Judgement.MORE, -abs(line.percent or 0.0)))
    parts = [element("p", summary(found.lines, marked=False), class_="story")]
    return section("What differs", *parts, *([_table(more, sections=True)] if more else []))


def _plan(found: ComparedWindows) -> Markup:
    if not found.plan:
        return section("Plan at the end", element("p", no_plan_differs(found)))
    rows = ((each.subject or "database", each.figure, said(each.first), said(each.second)) for each in found.plan)
    return section("Plan at the end", word_table(("", "Figure", "A", "B"), rows))


def _latency(found: ComparedWindows) -> Markup:
    if not found.histograms:
        return Markup()
    styles = zip(STYLE_OF, "AB", strict=True)
    marks = [element("span", element("b", "■", class_=style), f" {name}") for style, name in styles]
    legend = element("span", *marks, class_="legend")
    charts = []
    for each in found.histograms:
        caption = element("figcaption", element("strong", each.event), legend)
        charts.append(element("figure", caption, latency_chart(each)))
    note = "Percent of the waits in each bucket, on a logarithmic scale: the events with the most wait time."
    return section("How long waits took", *charts, note=note)


def _table(lines: Sequence[Line], *, sections: bool = False) -> Markup:
    rows, last = [], None
    for line in lines:
        subject = f"{line.section}: {line.subject}" if sections else "" if line.subject == last else line.subject
        last = line.subject
        values = (value_of(line, line.first), value_of(line, line.second), percent_of(line))
        state = "warn" if line.difference in MARKS else ""
        rows.append([
            element("td", subject), element("td", line.figure),
            *(element("td", each, class_="right") for each in values),
            element("td", _bar(line), class_="bar"), element("td", judgement_of(line), class_=state or None),
        ])  # fmt: skip
    heads = [element("th", head, class_="right" if head in {"A", "B", "B to A %"} else None) for head in _HEADS]
    return cell_table(heads, rows)


def _bar(line: Line) -> Markup:
    """Return the difference in percent as a bar to the left or to the right; 100 % and more fill its half."""
    if not line.percent:
        return Markup()
    width = min(_BAR, abs(line.percent))
    fill = HUES[STYLE_OF[1] if line.difference in MARKS else OTHERS].page
    left = _BAR if line.percent > 0 else _BAR - width
    middle = element("path", d=f"M{_BAR:.0f} 0V12", stroke="#24292f")
    bar = element("rect", x=left, y=1, width=max(0.5, width), height=10, fill=fill)
    return element("svg", bar, middle, viewBox=f"0 0 {2 * _BAR:.0f} 12", aria_hidden="true")
