"""Tab 1 Overview: what each group uses, which groups are held back, and what is wrong."""

from presman.figures.drawing.lines import Line
from presman.figures.group_figures import OVERVIEW
from presman.figures.histogram_figures import redo_text
from presman.figures.instance_figures import WAITS
from presman.tabs.charts import capacity, used_levels
from presman.tabs.parts import Box, Lines, Moment, OverTime, Rows, Tab, alike_in_groups, on_one_instance, servers_scale
from presman.tabs.table_notes import CPU_LEGEND, unavailable


def alert_lines(moment: Moment) -> list[Line]:
    """Return the alerts in full sentences, worst first, including the all-clear with the views it is based on."""
    return [((f" {each.glyph} ", each.state), (each.text, each.state)) for each in moment.alerts]


def short_alerts(moment: Moment) -> list[Line]:
    """Return the alerts in one line each."""
    return [((f" {each.glyph} ", each.state), (each.short, each.state)) for each in moment.alerts]


def redo_lines(moment: Moment) -> list[Line]:
    """Return how healthy redo writes are, over all instances."""
    redo = moment.reading.redo
    return [((" Redo ", "dim"), (redo_text(redo[0]), "") if redo else ("no delta yet", "dim"))]


TAB = Tab(
    parts=(
        Rows(
            OVERVIEW,
            Moment.groups,
            alike_in_groups,
            note=lambda _: CPU_LEGEND,
            least=servers_scale,
            trends={"io_trend": "io"},
            news=True,
            unavailable=unavailable("V$RSRC_CONSUMER_GROUP"),
        ),
        Box(Lines("findings", alert_lines, shorter=short_alerts), Lines("redo", redo_lines), across=False, key="notes"),
        Box(
            OverTime("overview-chart", "used", "CPUs used", used_levels, capacity),
            Rows(
                WAITS,
                lambda moment: moment.reading.waits,
                on_one_instance,
                filterable=False,
                in_text=10,
                unavailable=unavailable("V$SYSTEM_EVENT"),
            ),
            key="overview-bottom",
        ),
    ),
    notes=(
        "The lines below the groups say what is wrong, worst first: ✕ critical, ▲ warning (▼ fewer servers than asked "
        "for, ○ an idle holder, ◌ old data), ▬ · note (┆ a change, ▶ a start at its timeout, ! a view that did not "
        "answer), ? not known. ● names the views that show nothing wrong; it says nothing about what they do not show.",
        "The line Redo: mean waits since the last poll for 'log file sync' (a commit) and 'log file parallel write' "
        "(the write by the redo writer), both from V$SYSTEM_EVENT; how much of a commit's wait the write does not "
        "explain; and the change of 'redo size' in V$SYSSTAT per second.",
    ),
    over_time=True,
)
