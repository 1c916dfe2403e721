"""Tab 3 I/O: I/O by consumer group, and the I/O limits of containers."""

from collections.abc import Sequence

from presman.analysis.groups.containers import pdbs
from presman.analysis.readings.session_readings import SessionReading
from presman.figures.drawing.lines import Line
from presman.figures.io_figures import IO, IO_SESSIONS
from presman.rows.queries import DetailLevel
from presman.tabs.charts import io_levels
from presman.tabs.parts import Box, Lines, Moment, OverTime, Rows, Tab, alike_in_groups
from presman.tabs.sessions import without_idle
from presman.tabs.table_notes import io_lines, unavailable


def io_source(moment: Moment) -> str:
    """Return the source of the figures: on Exadata the cells see more than the database."""
    source = "the database's view: flash cache, cell offload and IORM are on the storage cells (CellCLI)"
    return source if moment.reading.header.exadata else ""


def busy_sessions(moment: Moment) -> Sequence[SessionReading]:
    """Return the sessions that read or wrote since the last poll."""
    return [row for row in moment.reading.sessions if row.io_mb or row.io_requests]


def limit_lines(moment: Moment) -> list[Line]:
    """Return the effects of MAX_IOPS and MAX_MBPS, in a container database that sets them."""
    pair = moment.snapshots if moment.reading.header.cdb else None
    return io_lines(pdbs(moment.reading, *pair)) if pair else []


TAB = Tab(
    parts=(
        Rows(IO, Moment.groups, alike_in_groups, note=io_source, trends={"io_trend": "io"}),
        Lines("io-limits", limit_lines, optional=True),
        Box(
            OverTime("io-chart", "io", "MB/s", io_levels),
            Rows(
                IO_SESSIONS,
                busy_sessions,
                note=without_idle,
                filterable=False,
                in_text=10,
                unavailable=unavailable("V$SESSION"),
            ),
        ),
    ),
    notes=(
        "Where containers set MAX_IOPS or MAX_MBPS (12.2 and later), the lines below the groups say how much of them "
        "each uses since the last poll, and by how many milliseconds each I/O was throttled on average in the last "
        "full minute "
        "(V$RSRCPDBMETRIC.AVG_IO_THROTTLE, read on 18 and later).",
    ),
    over_time=True,
    detail_level=DetailLevel.IDLE_SESSIONS,
    measure="session_io",
)
