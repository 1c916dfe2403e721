"""Situations of real sites, written into tests as small tables and read all the way from files to readings.

A table is what a spooled file has: a line of column names, a line for each row, fields divided by ``|``. With a column
SAMPLE_TIME there are several polls.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.polling.poller import Poller
from presman.rows.snapshot import Snapshot
from presman.sources import Exhausted
from presman.sources.spool.spool_source import SpoolSource

Views = Mapping[str, str]
"""Tables by the name of their view, such as ``V$SESSION``."""

RELEASE_19 = {"V$INSTANCE": "INSTANCE_NUMBER | VERSION | STATUS\n1 | 19.22.0.0.0 | OPEN"}
"""One open instance of 19c, for situations that are about something else."""

NO_LIMITS = {
    "DBA_RSRC_PLAN_DIRECTIVES": "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | PARALLEL_SERVER_LIMIT | UTILIZATION_LIMIT\n"
    + "\n".join(f"{plan} | OTHER_GROUPS | CONSUMER_GROUP | 100 | |" for plan in ("P", "DAY", "NIGHT"))
}
"""Plans whose directives can be read and limit no group, so that it is known that there is no limit."""


def spool(folder: Path, views: Views) -> Path:
    """Write the tables into `folder`, a file for each view."""
    for view, table in views.items():
        (folder / f"{view.lower()}.csv").write_text(dedent(table).strip() + "\n")
    return folder


def snapshots(folder: Path, views: Views) -> list[Snapshot]:
    """Return the polls of a situation, the earliest first."""
    poller = Poller(SpoolSource(spool(folder, views)))
    poller.open()
    found: list[Snapshot] = []
    try:
        while True:
            found.append(poller.poll())
    except Exhausted:
        return found
    finally:
        poller.close()


def readings(folder: Path, views: Views) -> list[Reading]:
    """Return what each poll of a situation means, the earliest first."""
    polls = snapshots(folder, views)
    return [analyse(before, after) for before, after in zip([None, *polls], polls, strict=False)]


def reading(folder: Path, views: Views) -> Reading:
    """Return what the newest poll of a situation means."""
    return readings(folder, views)[-1]
