"""Tab 9 Top: host CPU, active sessions by wait class over the last minutes, the busiest SQL, blocked sessions."""

from collections.abc import Sequence

from presman.analysis.caches import once
from presman.analysis.readings.reading import CLUSTER
from presman.analysis.readings.session_readings import CLASSES
from presman.analysis.session_list import Blocking, blocking
from presman.base.formats import ABSENT, duration, number
from presman.base.sums import summed
from presman.figures import top_figures
from presman.figures.drawing.lines import Line
from presman.rows.session_state import ON_CPU
from presman.tabs.charts import capacity
from presman.tabs.parts import Box, GroupLevel, Lines, Moment, OverTime, Rows, Tab
from presman.tabs.table_notes import unavailable

MEASURE = "active"
_MINUTE = 60.0

_MISSING = 3
"""Intervals that a complete window may lack: it does not begin exactly at a poll."""


def _average(moment: Moment, name: str, seconds: float) -> tuple[float | None, float | None]:
    """Return the average of a wait class over the last `seconds` up to the instant, and its session seconds."""
    end = moment.reading.at.timestamp()
    area, measured = moment.series.integral((MEASURE, CLUSTER, 0, name), end - seconds, end)
    return (area / measured, area) if measured else (None, None)


@once
def classes(moment: Moment) -> tuple[top_figures.ClassActivity, ...]:
    """Return the wait classes with active sessions in the window, the busiest first."""
    now = moment.reading.activity
    window = {name: _average(moment, name, _MINUTE * moment.choices.window) for name in CLASSES}
    everything = sum(seconds or 0.0 for _, seconds in window.values())
    rows = [
        top_figures.ClassActivity(
            name,
            now.by_class.get(name, 0) if now else None,
            _average(moment, name, _MINUTE)[0],
            mean,
            seconds,
            seconds / everything if seconds is not None and everything else None,
        )
        for name, (mean, seconds) in window.items()
        if seconds or (now is not None and now.by_class.get(name))
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.seconds or 0.0), -(row.now or 0))))


@once
def statements(moment: Moment) -> tuple[top_figures.TopStatement, ...]:
    """Return the statements that were active or held servers in the window."""
    reading, texts = moment.reading, moment.watch.sql_texts
    servers = summed(((row.con_id, row.sql_id), row.servers) for row in reading.running)
    unseen = reading.why_unavailable("V$PX_SESSION")
    rows = []
    for each in moment.watch.sql_minutes.top(reading.at, moment.choices.window):
        why_none = texts.why_none(each.sql_id, reading, recorded=moment.choices.recorded)
        held = None if unseen else servers.get((each.con_id, each.sql_id), 0)
        rows.append(top_figures.TopStatement(each, held, texts.text(each.sql_id), why_none))
    return tuple(rows)


def with_servers(moment: Moment) -> Sequence[top_figures.TopStatement]:
    """Return the statements of the window that held servers."""
    return [row for row in statements(moment) if row.activity.servers]


@once
def blocked(moment: Moment) -> tuple[Blocking, ...]:
    """Return the blocked sessions with their blockers."""
    return blocking(moment.reading.sessions)


def about(moment: Moment) -> list[Line]:
    """Return how busy the host and the sessions are, and the source of the figures."""
    reading, choices = moment.reading, moment.choices
    several = len(reading.header.instances) > 1
    hosts = [
        f"{ABSENT if each.host_busy is None else f'{number(100 * each.host_busy, 0)} %'} of "
        f"{number(each.host_cpus, 0)} CPUs{f' (instance {each.inst_id})' if several else ''}"
        for each in reading.header.instances
    ]
    means = [row.window for row in classes(moment) if row.window is not None]
    active = reading.activity
    now = f"{active.active} now, {active.by_class.get(ON_CPU, 0)} on CPU" if active else "not known"
    mean = f"; {number(sum(means))} on average {over(moment)}" if means else ""
    first: Line = (
        (" Host CPU ", "dim"),
        (", ".join(hosts) or ABSENT, ""),
        ("   Active sessions ", "dim"),
        (now + mean, ""),
    )
    note = f"Sampled by presman each {choices.refresh:g} s from V$SESSION while it runs; no ASH, no pack."
    return [first, ((f" {note}", "dim"),)]


def levels(moment: Moment) -> list[GroupLevel]:
    """Return the sessions now active in each class."""
    now = moment.reading.activity
    return [GroupLevel(0, name, float(now.by_class.get(name, 0)) if now else None) for name in CLASSES]


def over(moment: Moment) -> str:
    """Return the time that the averages cover: the window, or the part of it that was watched."""
    whole = _MINUTE * moment.choices.window
    end = moment.reading.at.timestamp()
    _, measured = moment.series.integral((MEASURE, CLUSTER, 0, ON_CPU), end - whole, end)
    if not measured:
        return "at this poll only"
    if whole - measured <= _MISSING * moment.choices.refresh:
        return f"over {moment.choices.window} min"
    return f"over the {duration(measured)} watched"


def no_minute(moment: Moment) -> set[str]:
    """Return the column of the last minute until a whole minute was watched: it would repeat that of the window."""
    end = moment.reading.at.timestamp()
    _, measured = moment.series.integral((MEASURE, CLUSTER, 0, ON_CPU), end - _MINUTE, end)
    return set() if _MINUTE - measured <= _MISSING * moment.choices.refresh else {"active_minute"}


UNSEEN = unavailable("V$SESSION")

TAB = Tab(
    parts=(
        Lines("top-about", about),
        Rows(top_figures.BLOCKERS, blocked, optional=True, filterable=False, unavailable=UNSEEN),
        Box(
            OverTime("top-chart", MEASURE, "Active sessions by wait class", levels, capacity),
            Rows(top_figures.CLASSES_TABLE, classes, no_minute, over, filterable=False, in_text=0, unavailable=UNSEEN),
            key="top-classes",
        ),
        Box(
            Rows(top_figures.TOP_BY_CPU, statements, note=over, in_text=0, main=True, unavailable=UNSEEN),
            Rows(
                top_figures.TOP_BY_SERVERS,
                with_servers,
                note=over,
                in_text=0,
                unavailable=unavailable("V$SESSION", "V$PX_SESSION"),
            ),
            key="top-sql",
        ),
    ),
    notes=(
        "presman counts the active user sessions in V$SESSION at each poll: those in a call that wait for nothing (on "
        "CPU, or in the host's run queue) or for something that is not idle. The averages are of these samples, over "
        "the part of the window (w) that presman has watched; it ends at the time on screen. V$ACTIVE_SESSION_HISTORY "
        "and AWR belong to licensed packs and are never read. The line across the chart is the number of CPUs.",
        "Work shorter than the time between two polls is seen only by chance: more polls make the averages more "
        "reliable.",
    ),
    panel="presman.tui.panels.shared_panel:TopPanel",
    over_time=True,
)
