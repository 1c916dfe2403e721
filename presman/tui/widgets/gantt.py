"""The queue's Gantt chart: ░ queued, █ running, ▒ idle holder; below it the servers in use against the target.

The height of a running statement is proportional to its servers; the largest on screen fills a line.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from presman.analysis.trends.statement_runs import StatementRun
from presman.base.axis import time_label, time_ticks
from presman.base.colours import GroupColours
from presman.base.formats import counted
from presman.figures.drawing.lines import RISING, Line, fit, merge, pad
from presman.tui.widgets.line_api import LineView

STRIP = 3
"""Lines of the strip of servers."""

_LEAST = 2
"""Eighths of the smallest block: a single one looks like a line."""

_GROUP, _SQL_ID, _WHOLE, _NUMBER = 10, 5, 13, 4
"""Cells of the labels: a group at least, a cut and a whole SQL_ID, servers."""

_HEADS = len("SQL servers")
"""Cells from which the SQL_ID has a head beside that of the servers."""

STRETCHES = 180
"""The stretches that a window is divided into; the chart moves by one of them."""


class GanttData(NamedTuple):
    """The data of the chart: the spans of a window of time that ends at `end`, and the servers in use in it.

    `in_use` has the mean of each of its equal stretches, None if it is not known, `most` the highest number of servers
    that a poll in each stretch read. `cursor` is the instant that the rest of the screen shows, if it is not the
    newest; `now` is the newest (`end` if None). `marks` are changes of plan: the index among STRETCHES stretches, and
    words; `colours` are those of groups.
    """

    spans: Sequence[StatementRun]
    end: datetime
    seconds: float
    in_use: Sequence[float | None]
    target: int | None
    cursor: datetime | None = None
    now: datetime | None = None
    marks: Sequence[tuple[int, str]] = ()
    most: float | None = None
    colours: GroupColours = GroupColours()


def label_width(width: int) -> int:
    """Return the cells left of the chart: group, SQL_ID, servers."""
    return 30 if width >= 110 else 23 if width >= 78 else 22


def _parts(data: GanttData, width: int) -> tuple[int, int]:
    """Return the cells of the group, and of the SQL_ID, which gets those that the longest group leaves."""
    both = label_width(width) - _NUMBER - 2
    longest = max([_GROUP, *(len(span.group) for span in data.spans)])
    sql_id = max(_SQL_ID, min(_WHOLE, both - longest))
    return both - sql_id, sql_id


def columns(width: int) -> int:
    """Return the cells of the chart itself."""
    return max(10, width - label_width(width) - 1)


def gantt(data: GanttData, width: int, height: int) -> list[Line]:
    """Draw the chart. If there is no room for all, current statements come before ended ones."""
    rows = height - STRIP - 2
    lines = [_title(data, width)]
    marks = frozenset(x * columns(width) // STRETCHES for x, _ in data.marks)
    if rows > 0:
        shown = _fitting(data.spans, rows)
        largest = max((span.servers for span in shown), default=0)
        lines += [_row(span, data, width, largest, marks) for span in shown]
        if not shown:
            words = f"No parallel statement has been seen in these {counted(round(data.seconds / 60), 'minute')}."
            lines.append(pad([(words, "dim")], width))
        lines += [_marked([(" " * columns(width), "")], marks, label_width(width) + 1)] * (rows - max(1, len(shown)))
    return [*lines, *_strip(data, width, marks), _axis(data, width)][:height]


def _title(data: GanttData, width: int) -> Line:
    """Return the title: the columns of the labels, the shades, and the plans that were activated."""
    group, sql_id = _parts(data, width)
    room = sql_id + 1 + _NUMBER
    of_sql = "SQL" if room >= _HEADS else ""
    heads = f"{fit('Statements', group)} {of_sql}{fit('servers', room - len(of_sql), 'right')} "
    runs = [(heads, "head"), (f"{data.seconds / 60:.0f} min", "title"), ("  ░ queued █ running ▒ idle holder", "dim")]
    for _, words in data.marks[-2:]:
        runs += [("  ┆ ", "mark"), (words, "dim")]
    return pad(runs, width)


def _marked(cells: Sequence[tuple[str, str]], marks: Collection[int], label: int = 0) -> Line:
    """Return the cells of the chart with a line at each mark in empty cells, after `label` blanks."""
    if not marks:
        return merge([(" " * label, ""), *cells])
    drawn = [(char, style) for text, style in cells for char in text]
    for index in marks:
        if index < len(drawn) and drawn[index][0] == " ":
            drawn[index] = ("┆", "mark")
    return merge([(" " * label, ""), *drawn])


def _fitting(spans: Sequence[StatementRun], rows: int) -> list[StatementRun]:
    """Return the spans that fit, by start time: first those with servers, then the queue."""

    def need(span: StatementRun) -> tuple[float, ...]:
        if span.ended is not None:
            return (2, -span.ended.timestamp())
        return (1, span.began.timestamp()) if span.started is None else (0, -span.servers)

    chosen = {id(span) for span in sorted(spans, key=need)[:rows]}
    return [span for span in spans if id(span) in chosen]


def _row(span: StatementRun, data: GanttData, width: int, largest: int, marks: Collection[int]) -> Line:
    count = columns(width)
    start = data.end - timedelta(seconds=data.seconds)

    def index(at: datetime) -> int:
        return max(0, min(count, int((at - start).total_seconds() * count / data.seconds)))

    begin = min(index(span.began), count - 1)
    end = max(index(span.ended or data.now or data.end), begin + 1)
    # Every span is visible, and so is every run, however short.
    ran = min(max(begin, index(span.started)), end - 1) if span.started else end
    idle = min(max(ran, index(span.idle)), end) if span.idle else end
    style = data.colours.style(span.group, span.con_id)
    cells = [
        (" " * begin, ""),
        ("░" * (ran - begin), "waiting"),
        (_block(span.servers, largest) * (idle - ran), style or "used"),
        ("▒" * (end - idle), "bad"),
        (" " * (count - end), ""),
    ]
    of_group, of_sql = _parts(data, width)
    group, sql_id = fit(span.group, of_group), fit(span.sql_id[:of_sql] or "-", of_sql)
    number = fit(str(span.servers) if span.servers else "-", _NUMBER, "right")
    dim = "dim" if span.ended else ""
    return merge([(group, dim or style), (f" {sql_id} {number} ", dim), *_marked(cells, marks)])


def _block(servers: int, largest: int) -> str:
    """Return a block with a height proportional to the servers; the largest is a full block."""
    return RISING[max(_LEAST, round(8 * servers / largest))] if largest else RISING[8]


def _strip(data: GanttData, width: int, marks: Collection[int]) -> list[Line]:
    """Draw the servers in use as columns of eighths over a few lines, with the target as a line."""
    count = columns(width)
    label = label_width(width)
    values = [data.in_use[x * len(data.in_use) // count] if data.in_use else None for x in range(count)]
    known = [value for value in values if value is not None]
    target = data.target or 0
    top = max([target * 1.1, *known]) or 1.0
    target_line = min(STRIP - 1, int(target / top * STRIP)) if target else -1
    words = {target_line: f"servers, ─ target {target}", 0: "" if data.most is None else f"most in use {data.most:.0f}"}
    lines: list[Line] = []
    for line in reversed(range(STRIP)):
        cells: list[tuple[str, str]] = []
        for value in values:
            eighths = 0 if value is None else max(0, min(8, round((value / top * STRIP - line) * 8)))
            # The line of the target stands only above columns that do not reach it: in others it would hide the height.
            if eighths < 8 and line == target_line and eighths < (target / top * STRIP - line) * 8:
                cells.append(("─", "mark"))
            else:
                cells.append((RISING[eighths], "used"))
        lines.append(((fit(words.get(line, ""), label + 1), "dim"), *_marked(cells, marks)))
    return lines


def _axis(data: GanttData, width: int) -> Line:
    """Draw round times, each text beginning at its time, and the instant that the rest of the screen shows."""
    count = columns(width)
    start = data.end - timedelta(seconds=data.seconds)
    text = [" "] * count
    for at in time_ticks(start, data.end, max(1, min(6, count // 8))):
        mark = time_label(at, max(600.0, data.seconds))
        index = int((at - start).total_seconds() * count / data.seconds)
        if index + len(mark) <= count:
            text[index : index + len(mark)] = mark
    line = "".join(text)[:count]
    runs = [(" " * (label_width(width) + 1), "dim")]
    if data.cursor is not None and start <= data.cursor <= data.end:
        index = min(count - 1, int((data.cursor - start).total_seconds() / data.seconds * count))
        return merge([*runs, (line[:index], "dim"), ("▲", "key"), (line[index + 1 :], "dim")])
    return merge([*runs, (line, "dim")])


class Gantt(LineView):
    """Shows the chart. It moves by whole columns, so that most polls redraw little."""

    def show(self, data: GanttData) -> None:
        """Draw this."""
        self.redraw = partial(self.show, data)
        if self.size.width and self.size.height > STRIP:
            self.show_lines(gantt(data, self.size.width, self.size.height))


def window_end(at: datetime, seconds: float) -> datetime:
    """Return the end of the chart: the first end of an in-use stretch at or after an instant."""
    step = seconds / STRETCHES
    return datetime.fromtimestamp(-(-at.timestamp() // step) * step, UTC)
