"""Tab 8 PDBs (containers): pluggable databases side by side, in a container database."""

from presman.analysis.caches import once
from presman.analysis.groups.containers import pdbs
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.reading import CLUSTER
from presman.figures.drawing.lines import Line
from presman.figures.group_figures import PDBS
from presman.tabs.charts import capacity
from presman.tabs.parts import Box, GroupLevel, Lines, Moment, OverTime, Rows, Tab
from presman.tabs.table_notes import CPU_LEGEND, pdb_lines


@once
def containers(moment: Moment) -> tuple[PdbReading, ...]:
    """Return the containers of the cluster, then those of each instance."""
    pair = moment.snapshots
    return pdbs(moment.reading, *pair) if pair else ()


def chosen(moment: Moment, *, by_instance: bool) -> tuple[PdbReading, ...]:
    """Return the containers of the cluster or, with several instances, those on each of them."""
    found = containers(moment)
    rows = tuple(row for row in found if row.inst_id != CLUSTER) if by_instance else ()
    return rows or tuple(row for row in found if row.inst_id == CLUSTER)


def shown(moment: Moment) -> tuple[PdbReading, ...]:
    """Return the containers that the user chose to see."""
    return chosen(moment, by_instance=moment.by_instance)


def hidden(moment: Moment) -> set[str]:
    """Return the columns without information."""
    rows = shown(moment)
    found = set() if any(row.inst_id != CLUSTER for row in rows) else {"inst_id"}
    return found | ({"cpu_exhausted_percent"} if all(row.cpu_exhausted is None for row in rows) else set())


def words(moment: Moment) -> list[Line]:
    """Return each container's verdict in words."""
    return pdb_lines(chosen(moment, by_instance=True))


def used(moment: Moment) -> list[GroupLevel]:
    """Return the CPUs that each container uses, with its limit."""
    return [GroupLevel(row.con_id, row.name, row.used, row.limit) for row in chosen(moment, by_instance=False)]


def waiting(moment: Moment) -> list[GroupLevel]:
    """Return the CPUs that each container waits for."""
    return [GroupLevel(row.con_id, row.name, row.waiting) for row in chosen(moment, by_instance=False)]


TAB = Tab(
    parts=(
        Rows(PDBS, shown, hidden, note=lambda _: CPU_LEGEND),
        Lines("pdb-words", words),
        Box(
            OverTime("pdb-used", "pdb_used", "CPUs used", used, capacity),
            OverTime("pdb-waiting", "pdb_waiting", "CPUs waited for (throttled)", waiting, optional=True),
        ),
    ),
    notes=(
        "Figures are those of V$RSRC_PDB and V$RSRCPDBMETRIC (12.2 and later), which count for all containers from "
        "the same time. V$RSRC_CONSUMER_GROUP does not: it restarts when a container changes its own plan.",
    ),
    over_time=True,
)
