"""The four tables of presman 1.x, for users and scripts that still read them, and its screen as text.

The columns and their order are those of 2015. Their errors are corrected: CPU percent is of all CPUs (not of what was
consumed), the interval is the measured one, instances are separate, and I/O percent is of the I/O of all groups on the
same instance.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from presman.analysis.facts.plan_book import LEVELS
from presman.analysis.plans.plan_view import GROUP, plan_view
from presman.analysis.readings.reading import Reading
from presman.base.sums import summed
from presman.rows.group_rows import ConsumerGroup, ConsumerGroupDefinition, GroupMetric
from presman.rows.instance_rows import Osstat, Parameter
from presman.rows.session_rows import SessionInfo
from presman.rows.snapshot import Snapshot

Value = int | float | str | None

PARAMETERS = ("resource_manager_plan", "resource_manager_cpu_allocation", "cpu_count")
"""The parameters that 1.x printed above each table (V$SYSTEM_PARAMETER)."""


class V1Table(Struct, frozen=True):
    """One table: headings, rows, and the index of the column with the groups' names, which is followed by numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    name: int

    def values(self, column: int) -> dict[str, Value]:
        """Return the value of `column` per group; with several instances, per ``GROUP@instance``."""
        several_instances = self.name > 0 and len({row[0] for row in self.rows}) > 1
        found: dict[str, Value] = {}
        for row in self.rows:
            name = f"{row[self.name]}@{row[0]}" if several_instances else str(row[self.name])
            if name in found:  # a group that is in several subplans
                name += f" ({sum(other.split(' (')[0] == name for other in found) + 1})"
            found[name] = row[column]
        return found


CPU = (
    "INST_ID", "CONSUMER_GROUP", "N_CPUS", "CONSUMED_CPU", "CONSUMED_CPU_PERCT", "THROTTLED_CPU", "UTILIZATION_LIMIT",
    "ORACLE_CPU", "HOST_CPU",
)  # fmt: skip
SESSION_IO = (
    "INST_ID", "NAME", "SESSIONS", "SINGLE_BREAD", "MULTI_BREAD", "SINGLE_BWRITE", "MULTI_BWRITE", "SQL_CANCELED",
    "TOTAL_IO", "TOTAL_IO_PERCT",
)  # fmt: skip
PARALLEL = (
    "INST_ID", "CONSUMER_GROUP", "PX_STMT_ACTIVE_SECS", "PX_STMT", "PX_QUEUED_SESSIONS", "PX_SESSIONS_QUEUE_TIME",
    "PX_SERVERS", "PX_STMT_TIMEOUTS",
)  # fmt: skip
EMPHASIS = ("GROUP_OR_SUBPLAN", *(f"MGMT_P{level}" for level in range(1, LEVELS + 1)))
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "cpu": CPU,
    "session_io": SESSION_IO,
    "parallel": PARALLEL,
    "emphasis": EMPHASIS,
}
"""The headings of each measure, which do not depend on the data."""

NOTES = {"cpu": "(the last whole minute; HOST_CPU: since the last poll, so it may be less than ORACLE_CPU)"}
"""Remarks on a table's figures, by measure."""


def parameters(snapshot: Snapshot) -> dict[str, str]:
    """Return the parameters of the head: one value, or several with slashes if instances differ."""
    found: dict[str, list[str]] = {name: [] for name in PARAMETERS}
    seen: set[tuple[int, str]] = set()
    for row in sorted(snapshot.rows(Parameter), key=lambda row: row.con_id):
        is_instance_wide = (row.inst_id, row.name) not in seen  # else a container's own value
        seen.add((row.inst_id, row.name))
        if is_instance_wide and row.name in found and row.value not in found[row.name]:
            found[row.name].append(row.value)
    return {name: "/".join(values) for name, values in found.items()}


def cpu(snapshot: Snapshot, reading: Reading) -> V1Table:
    """Return CPU per group in the last whole minute (V$RSRCMGRMETRIC).

    CONSUMED_CPU and THROTTLED_CPU are seconds; CONSUMED_CPU_PERCT is percent of N_CPUS x the interval; ORACLE_CPU is
    the group's percent of the host's CPUs, HOST_CPU that of all processes, since the last poll (V$OSSTAT).
    """
    host_cpus = {row.inst_id: row.value for row in snapshot.rows(Osstat) if row.stat_name == "NUM_CPUS"}
    busy = {instance.inst_id: instance.host_busy for instance in reading.header.instances}
    metrics = snapshot.rows(GroupMetric)
    label = _labels(row.con_id for row in metrics)

    def line(row: GroupMetric) -> tuple[Value, ...]:
        # INTSIZE_CSEC is in hundredths of a second, the CPU times are in milliseconds.
        seconds = row.intsize_csec / 100
        consumed = row.cpu_consumed_time / 1000
        host_busy = busy.get(row.inst_id)
        used = round(consumed, 2), _percent(consumed, row.num_cpus * seconds)
        throttled = round(row.cpu_wait_time / 1000, 2)
        of_host = _percent(consumed, host_cpus.get(row.inst_id, 0) * seconds)
        busy_percent = None if host_busy is None else round(100 * host_busy, 2)
        key = row.inst_id, label(row.consumer_group_name, row.con_id)
        return (*key, row.num_cpus, *used, throttled, row.cpu_utilization_limit, of_host, busy_percent)

    return _table(CPU, map(line, metrics))


def session_io(snapshot: Snapshot, _reading: Reading) -> V1Table:
    """Return the I/O of the currently connected sessions, in MB since they logged on (V$RSRC_SESSION_INFO)."""
    names = {row.consumer_group_id: row.consumer_group for row in snapshot.rows(ConsumerGroupDefinition)}
    sessions = snapshot.rows(SessionInfo)
    label = _labels(row.con_id for row in sessions)
    sums: dict[tuple[int, str], list[int]] = {}
    for row in sessions:
        if group := row.current_consumer_group or names.get(row.current_consumer_group_id, ""):
            io = sums.setdefault((row.inst_id, label(group, row.con_id)), [0] * 6)
            megabytes = (getattr(row, f"{what}_megabytes") for what in _MEGABYTES)
            io[:] = [before + more for before, more in zip(io, (1, *megabytes, row.sql_canceled), strict=True)]
    totals = summed((inst_id, sum(figures[1:5])) for (inst_id, _), figures in sums.items())
    rows = ((*key, *io, (total := sum(io[1:5])), _percent(total, totals[key[0]])) for key, io in sums.items())
    return _table(SESSION_IO, rows)


_MEGABYTES = ("small_read", "large_read", "small_write", "large_write")


def parallel(snapshot: Snapshot, _reading: Reading) -> V1Table:
    """Return parallel statements per group (V$RSRC_CONSUMER_GROUP).

    PX_STMT, PX_QUEUED_SESSIONS and PX_SERVERS are current; the others count from the activation of the plan:
    PX_STMT_ACTIVE_SECS in seconds, PX_SESSIONS_QUEUE_TIME in milliseconds as in 1.x.
    """
    found = snapshot.rows(ConsumerGroup)
    label = _labels(row.con_id for row in found)

    def line(row: ConsumerGroup) -> tuple[Value, ...]:
        key, seconds = (row.inst_id, label(row.name, row.con_id)), round(row.pq_active_time / 1000, 2)
        queued = row.current_pqs_queued, row.pq_queued_time
        return (*key, seconds, row.current_pqs_active, *queued, row.current_pq_servers_active, row.pq_queue_time_outs)

    return _table(PARALLEL, map(line, found))


def emphasis(snapshot: Snapshot, reading: Reading) -> V1Table:
    """Return the percentage of all CPU that each group and subplan of the active plan gets at each level.

    A level shares the rest that the levels above leave; the groups of a subplan or container share its part. In a
    share-based plan level 1 holds shares.
    """
    lines = plan_view(reading, snapshot).lines
    label = _labels(line.con_id for line in lines if line.kind == GROUP)
    rows: list[tuple[Value, ...]] = []
    for line in lines:
        name = label(line.name, line.con_id) if line.kind == GROUP else line.name
        rows.append((name, *(round(100 * part, 2) for part in line.by_level)))
    return V1Table(EMPHASIS, tuple(rows), 0)


def _labels(containers: Iterable[int]) -> Callable[[str, int], str]:
    """Return a function that names groups: with their container only if there are several containers."""
    several = len(set(containers)) > 1
    return lambda name, con_id: f"{name}#{con_id}" if several else name


def _percent(part: float, whole: float) -> float | None:
    return round(100 * part / whole, 2) if whole else None


def _table(columns: tuple[str, ...], rows: Iterable[tuple[Value, ...]]) -> V1Table:
    return V1Table(columns, tuple(sorted(rows, key=lambda row: (row[0], row[1]))), 1)


TABLES: Mapping[str, Callable[[Snapshot, Reading], V1Table]] = {
    "cpu": cpu,
    "session_io": session_io,
    "parallel": parallel,
    "emphasis": emphasis,
}
"""The measures of presman 1.x."""

# ---- The screen of presman 1.x as text: parameters, table, one bar per group.


def head(target: str, parameters: Mapping[str, str]) -> str:
    """Return the lines above the table. `target` is free of secrets."""
    lines = [f"presman - connected to: {target}", "", "DBRM parameters:"]
    lines += [f"> {name}: {value}" for name, value in parameters.items()]
    return "\n".join(lines) + "\n"


def boxed(table: V1Table) -> str:
    """Return the table with its frame, numbers right-aligned."""
    texts = [[_text(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *texts, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"

    def line(row: Sequence[str]) -> str:
        padded = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        padded[table.name] = row[table.name].ljust(widths[table.name])
        return f"| {' | '.join(padded)} |"

    return "\n".join([rule, line(table.columns), rule, *map(line, texts), rule]) + "\n"


def bars(table: V1Table, column: int) -> str:
    """Return one line per group: ``BATCH    [ 12.34%] ############``, one # per unit, at most 100."""
    values = table.values(column)
    width = max(map(len, values), default=0)
    return "".join(f"{name:{width}}  {_bar(value)}".rstrip() + "\n" for name, value in values.items())


def _text(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _bar(value: Value) -> str:
    if not isinstance(value, int | float):
        return f"[{'-':>6}%]"
    return f"[{value:6.2f}%] {'#' * min(100, max(0, round(value)))}"
