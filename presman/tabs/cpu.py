"""Tab 2 CPU: CPU by consumer group, with limits and waits."""

from presman.figures.group_figures import CPU
from presman.tabs.charts import capacity, used_levels, waiting_levels
from presman.tabs.parts import Box, Lines, Moment, OverTime, Rows, Tab, alike_in_groups
from presman.tabs.table_notes import CPU_LEGEND, unavailable, verdict_lines


def hidden(moment: Moment) -> set[str]:
    """Return the columns without information, including CPU_EXHAUSTED before 23ai."""
    exhausted = any(row.cpu_exhausted is not None for row in moment.groups())
    return alike_in_groups(moment) | (set() if exhausted else {"cpu_exhausted_percent"})


TAB = Tab(
    parts=(
        Rows(
            CPU,
            Moment.groups,
            hidden,
            note=lambda _: CPU_LEGEND,
            trends={"used_trend": "used"},
            unavailable=unavailable("V$RSRC_CONSUMER_GROUP"),
        ),
        # In steps, so that the charts below are not redrawn each time a group begins to wait.
        Lines("verdicts", lambda moment: verdict_lines(moment.reading, moment.groups()), step=3),
        Box(
            OverTime("cpu-used", "used", "CPUs used", used_levels, capacity),
            OverTime("cpu-waiting", "waiting", "CPUs waited for (throttled)", waiting_levels, optional=True),
        ),
    ),
    notes=(
        "The lines below the groups say whether the plan is met on each instance, how busy its host is, and why each "
        "waiting group waits. A plan is met (100 %) while every group gets what it wants or "
        "what it is entitled to now. A plan can be met while all groups wait, and while a container "
        "gets less than its CPU_MIN_COUNT: where those add up to more CPUs than there are, all are cut alike.",
    ),
    over_time=True,
)
