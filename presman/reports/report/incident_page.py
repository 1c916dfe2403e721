"""Page of an incident: its head, its sections, and rows and figures as tables in them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from presman import __version__
from presman.analysis.groups.verdicts import conformance, in_words
from presman.analysis.trends import database_events as kinds
from presman.analysis.trends.database_events import DatabaseEvent, kind_in_words
from presman.base.colours import OTHERS, GroupColours
from presman.base.formats import ABSENT, count, counted, listed, number, spelled
from presman.base.markup import Markup, element, joined
from presman.figures.figure import Figure, Table
from presman.figures.group_figures import OVERVIEW, PARALLEL_GROUPS
from presman.figures.measures import headings
from presman.figures.plan_figures import FINDINGS, PLAN
from presman.figures.statement_figures import QUEUE, RUNNING, forecast_record
from presman.recording.recording_source import RecordingSource
from presman.recording.time_bins import GroupBin, TimeBin
from presman.recording.time_words import Note, instant_of, nothing_in, spelled_instant
from presman.reports.html_page import bullets, cell_table, made_at, page, section, word_table, zone_of
from presman.reports.report import report_charts
from presman.reports.report.incident import EVENTS, Incident, edges, gather
from presman.reports.report.story import alert_spans, damage, none_seen, story, unknown
from presman.tabs import tab
from presman.tabs.choices import Choices
from presman.tabs.parts import Moment
from presman.tabs.plan import active_plan, plan_line

MOST = 100
"""The most rows to show of a table."""

_UNITS = {
    **{"seconds": "m:ss", "instant": "time of day", "percent": "%", "milliseconds": "ms"},
    **dict.fromkeys(("text", "word", "true or false", "number", "count", "microseconds"), ""),
}


def value_table(
    table: Table[Any], rows: Sequence[Any], hidden: Collection[str], empty: str, colours: GroupColours
) -> Markup:
    """Return rows as a table with the heads, units and words of the screens; `empty` if there are no rows."""
    shown = [each for each in table.columns if not each.trend and each.key not in hidden and not _bare(each, rows)]
    if not rows:
        return element("p", empty or table.empty, class_="none")
    body = ((_cell(each, row, colours) for each in shown) for row in rows[:MOST])
    more = [f"The recording has {counted(len(rows) - MOST, 'more row')}."] if len(rows) > MOST else []
    return cell_table(map(_head, shown), body, *(element("p", text, class_="none") for text in more))


def unit_of(figure: Figure[Any]) -> str:
    """Return the text below a head: the unit in which its figures are written, "" if there is none."""
    return _UNITS.get(figure.unit.name, figure.unit.name)


def _bare(figure: Figure[Any], rows: Sequence[Any]) -> bool:
    return all(figure.show(row) in {"", ABSENT} for row in rows)


def _head(figure: Figure[Any]) -> Markup:
    unit = unit_of(figure)
    under = [element("small", unit)] if unit else []
    return element("th", figure.head, *under, title=figure.help, class_=figure.align)


def group_name(name: str, colours: GroupColours, con_id: int | None = None) -> str:
    """Return a consumer group's name, preceded by its colour if it has one."""
    style = colours.style(name, con_id)
    return joined([element("b", "■\u00a0", class_=style), element("span", name)]) if style else name


def _cell(figure: Figure[Any], row: Any, colours: GroupColours) -> Markup:
    state = figure.state(row) if figure.state is not None else ""
    text = figure.show(row)
    if figure.key == "consumer_group":
        text = group_name(text, colours, getattr(row, "con_id", None))
    return element("td", text, class_=f"{figure.align} {state}".strip())


def incident_of(source: RecordingSource, moment: str | datetime | None, note: Note) -> Incident:
    """Open a source, return the incident over everything that it replays, and close it; `moment` is for the tables.

    `note` is called with notes, such as which of two possible times was taken; goals are judged over the whole
    stretch. Raises SourceError, RecordingError, TimeError.
    """
    try:
        source.open()
        playback, first, last = source.playback, source.playback.first, source.playback.last
        assert first is not None
        assert last is not None
        at = instant_of(moment, first, last, note=note) if isinstance(moment, str) else moment
        for text in source.notes:
            note(text)
        if at is not None and not first <= at <= last:
            raise nothing_in(source.name, f"at {spelled_instant(at)}", first, last)
        return gather(source.recording, playback, source.indexes, at, source.goals)
    finally:
        source.close()


_SHOWN: tuple[tuple[str, str, Table[Any]], ...] = (
    ("overview", "Consumer groups", OVERVIEW),
    ("parallel", "Statements in the queue", QUEUE),
    ("parallel", "Parallel statements running, with their DOP", RUNNING),
    ("parallel", "Consumer groups and parallel servers", PARALLEL_GROUPS),
    ("plan", "Resource plan", PLAN),
    ("plan", "Findings about the plan", FINDINGS),
)
_SUM_HEADS = (
    "SQL_ID", "User", "Group", "Executions", "Servers, most", "Server minutes", "Ran", "Queued",
    "Longest in queue",
)  # fmt: skip
_OF_SUMS = (
    "Times and server minutes are within this period; the longest time in the queue counts from arrival, even if that "
    "was earlier. A statement that changed its group counts as one execution in each."
)
_TOP = 20
_GRAVE = frozenset(kinds.KINDS) - {
    *(kinds.QUEUE_BEGAN, kinds.QUEUE_ENDED, kinds.VERDICT_CHANGED),
    *(kinds.ALERT_THERE, kinds.ALERT_BEGAN, kinds.ALERT_ENDED),
}
"""Events that are also listed at the top."""


def what_happened(incident: Incident, axis: report_charts.TimeAxis) -> Markup:
    """Return the story, and the alerts of the polls that were read again."""
    read = len(incident.samples)
    rows = [
        (
            f"{each.alert.glyph} {each.alert.text}",
            axis.instant(each.sample.at),
            f"{each.polls} of {read}",
            axis.instant(each.first.at),
            axis.instant(each.last.at),
        )
        for each in alert_spans(incident.samples)[:_TOP]
    ]
    table = (
        word_table(("What was wrong", "Text from", "In polls checked", "First of them", "Last of them"), rows)
        if rows
        else element("p", "Nothing was wrong in the polls that were checked.", class_="none")
    )
    worst = [f"the one with {each.why}" for each in incident.samples if each.why and each.why != "asked for"]
    which = listed([*worst, "others at even intervals"])
    note = (
        f"This table is from {read} of {counted(incident.polls, 'poll')}: {which}. It misses what was "
        "wrong only between them. Sign and text are those of the worst of them; when an alert began, got worse and "
        "ended is in the list of events. "
        + ("The charts use what can be read." if damage(incident) else "The charts use all polls.")
    )
    paragraphs = [element("p", each, class_="story") for each in story(incident)]
    return section("What happened", *paragraphs, table, element("p", note, class_="note"))


def events(incident: Incident, axis: report_charts.TimeAxis) -> Markup:
    """Return the events as marks over time, and the most important ones as a list."""
    if not incident.marks:
        text = none_seen(incident, "No event was recorded in this period")
        return section("Events", element("p", text, class_="none"))
    grave = [each for each in incident.events if each.kind in _GRAVE][:_TOP]
    table = _listed(grave, axis, incident.colours) if grave else Markup()
    body = element("figure", report_charts.event_chart(incident.marks, axis))
    caption = "Events close together share a mark." + _left_out(len(grave), sum(each.many for each in incident.marks))
    return section("Events", body, table, note=_noted(caption, "Hover for what happened."))


def _left_out(many: int, total: int) -> str:
    """Return the sentence that the top lists only some of the events, "" if it lists all."""
    if many == total:
        return ""
    if not many:
        return " None is important enough to be listed here; the list at the end of the page has more."
    some = f"{count(many)} of {counted(total, 'event')} {'is' if many == 1 else 'are'}"
    return f" {some} listed here, the most important; the list at the end of the page has more."


def all_events(incident: Incident, axis: report_charts.TimeAxis) -> Markup:
    """Return the list of events, for the end of the page."""
    total = sum(each.many for each in incident.marks)
    if not incident.events:
        return Markup()
    left = ""
    if len(incident.events) != total:
        with_so_many = f"with this many, events of queues are left out, and at most {EVENTS} are shown"
        left = f"{len(incident.events)} of {total:,} are listed: {with_so_many}."
    return section("List of events", _listed(incident.events, axis, incident.colours), note=left)


def _listed(found: Sequence[DatabaseEvent], axis: report_charts.TimeAxis, colours: GroupColours) -> Markup:
    rows = (
        (axis.instant(each.at), kind_in_words(each.kind), group_name(each.group, colours), each.sql_id, each.text)
        for each in found
    )
    return word_table(("Time", "Event", "Group", "SQL_ID", "What"), rows)


def over_time(incident: Incident, axis: report_charts.TimeAxis) -> Markup:
    """Return the charts."""
    cpus = next((each.reading.header.num_cpus for each in incident.samples if each.reading.header.num_cpus), None)
    charts = (
        _chart(incident, "CPUs used", "CPUs", lambda each: each.used, lambda _: cpus, "all CPUs"),
        _chart(incident, "CPUs waited for (throttled)", "CPUs", lambda each: each.waiting),
        _chart(incident, "Parallel servers", "servers", lambda each: each.servers, lambda step: step.target, "target"),
        _chart(
            incident,
            "Statements in the parallel queue",
            "queued",
            lambda each: each.queued,
            lambda step: step.queued,
            "most in a poll",
        ),
        _chart(incident, "I/O", "MB/s", lambda each: each.io),
    )
    each = "each poll" if incident.width == 1 else f"each step is the mean of up to {count(incident.width)} polls"
    caption = f"Stacked areas, {each}. Rates are since the last poll; grey: no polls."
    note = _noted(caption, "Hover for figures.")
    return section("Over time", *(report_charts.area_chart(chart, axis) for chart in charts), note=note)


def _noted(caption: str, on_screen: str) -> Markup:
    """Return a note with a sentence that applies only on a screen, not on paper."""
    return joined([element("span", caption), element("span", f" {on_screen}", class_="screen")])


def _chart(
    incident: Incident,
    title: str,
    unit: str,
    value: Callable[[GroupBin], float | None],
    line: Callable[[TimeBin], float | None] = lambda _: None,
    line_name: str = "",
) -> report_charts.AreaChart:
    """Return a chart of a figure; each group with a colour has its own layer, the others share one."""
    totals: dict[tuple[int, str], float] = defaultdict(float)
    values: dict[Any, dict[tuple[int, str], float | None]] = defaultdict(dict)
    for each in incident.groups:
        amount = value(each)
        totals[each.con_id, each.group] += amount or 0.0
        values[each.key][each.con_id, each.group] = amount
    styles = {each: incident.colours.style(each[1], each[0]) for each in _ranked(incident) if totals[each] > 0}
    with_colour = [each for each, style in styles.items() if style]
    rest = [each for each, style in styles.items() if not style]
    names = headings([(name, 0, con_id) for con_id, name in with_colour])
    spans = edges(list(incident.bins), incident.usual)
    columns = []
    for step in incident.bins:
        known = values[step.key]
        # A group that is not there used nothing, unless nothing is known of that time.
        layers = [known.get(each, None if _blank(known) else 0.0) for each in with_colour]
        if rest:
            layers.append(sum(known.get(each) or 0.0 for each in rest) if not _blank(known) else None)
        values_there = tuple(layers) or (None if _blank(known) else 0.0,)
        columns.append(report_charts.ChartColumn(*spans[step.key], step.polls, values_there, line(step)))
    layers_named = [*names, *([f"{count(len(rest))} others"] if rest else [])] or ["none"]
    drawn = [styles[each] for each in with_colour] + [OTHERS] * (len(layers_named) - len(with_colour))
    return report_charts.AreaChart(title, unit, tuple(layers_named), tuple(drawn), tuple(columns), line_name)


def _ranked(incident: Incident) -> list[tuple[int, str]]:
    """Return the groups in the order of their layers, by CPU and parallel servers; it is the same in all charts."""
    weights: dict[tuple[int, str], float] = defaultdict(float)
    for each in incident.groups:
        weights[each.con_id, each.group] += (each.used or 0.0) + (each.waiting or 0.0) + (each.servers or 0.0)
    return sorted(weights, key=lambda each: (-weights[each], each))


def _blank(known: dict[tuple[int, str], float | None]) -> bool:
    return all(each is None for each in known.values())


def statements(incident: Incident, axis: report_charts.TimeAxis) -> Markup:
    """Return the parallel statements over time, and their totals by SQL_ID."""
    if not incident.lives:
        text = none_seen(incident, "No parallel statement was seen")
        return section("Parallel statements", element("p", text, class_="none"))
    total = sum(each.statements for each in incident.sums)
    note = f"{counted(total, 'execution')} seen"
    if total > len(incident.lives):
        note += f"; the chart shows the {len(incident.lives)} with most servers x time"
    colours = incident.colours
    rows = [
        (
            each.sql_id or "-",
            each.user,
            group_name(each.group, colours),
            count(each.executions),
            count(each.servers),
            number(each.server_seconds / 60),
            spelled(each.ran),
            spelled(each.queued),
            spelled(each.longest_wait),
        )
        for each in incident.sums[:_TOP]
    ]
    legend = element("span", report_charts.legend(incident.lives, colours), class_="legend")
    chart = report_charts.life_chart(incident.lives, axis, colours)
    figure = element("figure", element("figcaption", legend), chart)
    sums = element("h3", f"By SQL_ID, user and group: the first {len(rows)} of {len(incident.sums)} by server minutes")
    return section("Parallel statements", figure, sums, word_table(_SUM_HEADS, rows), note=f"{note}. {_OF_SUMS}")


def latency(incident: Incident, axis: report_charts.TimeAxis) -> Markup:
    """Return how long waits took over time."""
    if not incident.heat:
        text = none_seen(incident, "No histogram of waits was recorded then")
        return section("Latency", element("p", text, class_="none"))
    maps = []
    for event, columns in incident.heat:
        caption = element("figcaption", element("strong", event))
        maps.append(element("figure", caption, report_charts.heat_map(event, columns, axis)))
    note = (
        "Waits by how long they took: the darker, the more waits, on a logarithmic scale. Shown are the events with "
        "the most wait time, by the bounds of their buckets."
    )
    return section("Latency", *maps, note=note)


def moment(incident: Incident) -> Markup:
    """Return the tables of one poll as the screens show them."""
    sample = incident.moment
    if sample is None:
        return section("One moment", element("p", "None of its polls can be read.", class_="none"))
    at = Moment(sample.reading, Choices(plain=True), sample.alerts, find=lambda: (sample.previous, sample.snapshot))
    reading = sample.reading
    words = [each.sentence for each in conformance(reading) if each.sentence]
    words += [f"{row.title}: {in_words(reading, row)}" for row in reading.cluster_groups()]
    parts: list[Markup] = [bullets(words)]
    for name, title, table in _SHOWN:
        part = next(each for each in tab(name).rows() if each.table is table)
        parts.append(element("h3", title))
        if table is PLAN:
            parts.append(element("p", _plan(at), class_="note"))
        rows, hidden, empty = part.rows(at), set(part.hidden(at)), part.unavailable(at)
        parts.append(value_table(table, rows, hidden, empty, incident.colours))
        if table is QUEUE and (record := forecast_record(reading, since=True)):
            note = f"{record}: by the first forecast that was made of each statement."
            parts.append(element("p", note, class_="note"))
    why = f": {sample.why}" if sample.why else ""
    since = "" if reading.interval is None else f" Rates are over the last {spelled(reading.interval)}."
    return section(f"At {spelled_instant(sample.at)}{why}", *parts, note=f"What presman showed of this poll.{since}")


def _plan(at: Moment) -> str:
    view = active_plan(at)
    return "" if view is None else "".join(text for text, _ in plan_line(view)).strip()


def rests_on(incident: Incident) -> Markup:
    """Return the unknown facts, and how the page was made."""
    lines = unknown(incident) or ["No gaps, no damaged polls; every view that was read answered."]
    return section("What this is based on", bullets(lines))


def meanings() -> Markup:
    """Return the meanings of the tables' columns."""
    parts = []
    for _, title, table in _SHOWN:
        items: list[Markup] = []
        for figure in table.columns:
            if not figure.trend:
                unit = unit_of(figure)
                items.append(element("dt", figure.head + (f" ({unit})" if unit else "")))
                items.append(element("dd", figure.help))
        parts += [element("h3", title), element("dl", *items)]
    return element("section", element("h2", "What the columns mean"), *parts, class_="meanings")


def heading(incident: Incident, made: datetime) -> Markup:
    """Return the head of the page: subject, period, time zone, recording and version of presman."""
    times = incident.start, incident.end
    header = incident.samples[-1].reading.header if incident.samples else None
    release = f", Oracle {header.version}" if header is not None and header.version else ""
    name = header.database if header is not None and header.database else incident.target
    polls = counted(incident.polls, "poll")
    source = f"From {incident.source} by presman {__version__}, {made_at(made, times)}."
    lines = [
        element("h1", f"{name}: {report_charts.between(incident.start, incident.end)}"),
        element("p", f"All times in {zone_of(times)}. {polls}, usually {number(incident.usual)} s apart."),
        element("p", f"Target {incident.target}{release}. {source}", class_="note"),
        *(element("p", f"{each}.", class_="bad") for each in damage(incident)[:1]),
    ]
    return element("header", *lines)


def incident_page(incident: Incident, made: datetime) -> str:
    """Return the page; `made` is the present time."""
    title = f"{incident.target} {report_charts.between(incident.start, incident.end)}"
    start, _ = edges(list(incident.bins), incident.usual)[incident.bins[0].key]
    axis = report_charts.TimeAxis(start, incident.end, incident.gaps)
    parts = [part(incident, axis) for part in (what_happened, events, over_time, statements, latency)]
    parts += [moment(incident), rests_on(incident), all_events(incident, axis), meanings()]
    return page(title, heading(incident, made), *parts)
