"""Page of a comparison, as HTML that needs no other files: differences, plans, latencies, every figure."""

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from presman.base.colours import GROUP_STYLES, HUES, OTHERS
from presman.base.formats import counted, microseconds
from presman.base.markup import WIDTH, Markup, block, drawing, element, joined, label, level
from presman.reports.compare import compare_text
from presman.reports.compare.compare_text import MARKS, judgement_of, plan_value, value_of
from presman.reports.compare.comparison import ComparedHistogram, ComparedWindow, ComparedWindows, Line
from presman.reports.compare.noise import Judgement
from presman.reports.html_page import bullets, cell_table, heading, page, section, word_table

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
    lines = compare_text.shown(found.lines)
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
    return joined([element("p", mark, compare_text.window_sentence(window)), *notes])


def _differences(found: ComparedWindows, lines: Sequence[Line]) -> Markup:
    more = [line for line in lines if line.difference in MARKS]
    more.sort(key=lambda line: (line.difference is not Judgement.MORE, -abs(line.percent or 0.0)))
    parts = [element("p", compare_text.summary(found.lines, marked=False), class_="story")]
    return section("What differs", *parts, *([_table(more, sections=True)] if more else []))


def _plan(found: ComparedWindows) -> Markup:
    if not found.plan:
        return section("Plan at the end", element("p", compare_text.no_plan_differs(found)))
    rows = (
        (each.subject or "database", each.figure, plan_value(each.first), plan_value(each.second))
        for each in found.plan
    )
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
        values = (value_of(line, line.first), value_of(line, line.second), compare_text.percent_of(line))
        state = "warn" if line.difference in MARKS else ""
        cells = (element("td", each, class_="right") for each in values)
        judgement = element("td", judgement_of(line), class_=state or None)
        bar = element("td", _bar(line), class_="bar")
        rows.append([element("td", subject), element("td", line.figure), *cells, bar, judgement])
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
