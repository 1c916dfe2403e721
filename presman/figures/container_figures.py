"""Figures of pluggable databases."""

from collections.abc import Hashable

from presman.analysis.groups.containers import PdbReading
from presman.analysis.readings.group_readings import IoVerdict
from presman.base.formats import ABSENT, count, number, size
from presman.figures.figure import (
    BYTES,
    COUNT,
    CPUS,
    MEGABYTES,
    NUMBER,
    PERCENT,
    RATE,
    TEXT,
    WORD,
    Figure,
    State,
    Table,
    Unit,
)
from presman.figures.group_figures import INSTANCE, cpu_bar, verdict_text

Pdb = Figure[PdbReading]

_VIEW = "V$RSRC_PDB"
_METRIC = "V$RSRCPDBMETRIC"


def identity(row: PdbReading) -> Hashable:
    """Return what makes a container the same at the next poll."""
    return row.inst_id, row.con_id


def _state(row: PdbReading) -> tuple[str, State]:
    """Return what is wrong with a container, and how it is marked: its CPU, unless its I/O limit throttles it."""
    cpu = row.verdict.level
    if row.io_verdict is IoVerdict.THROTTLED and cpu not in {"bad", "warn"}:
        return f"{row.io_verdict.glyph} I/O held by {row.held_by or 'its limits'}", row.io_verdict.level
    return verdict_text(row), cpu


def _io_limits(row: PdbReading) -> str:
    if row.iops_limit is None and row.mb_limit is None:
        return ABSENT
    return f"{count(row.iops_limit)}/{count(row.mb_limit)}"


_HELD_MS = Unit("milliseconds", number, 7)

# fmt: off
PDBS: Table[PdbReading] = Table(
    "pdbs", "Pluggable databases",
    (
        Pdb("inst_id", "Inst", INSTANCE, "INST_ID; `all` is the sum over the cluster.", "inst_id"),
        Pdb("con_id", "Con", NUMBER, "CON_ID.", "con_id", narrow=False),
        Pdb("pdb", "PDB", TEXT, "GV$PDBS.NAME.", "name", width=10, most=22),
        Pdb("cpu_bar", "CPU", CPUS,
            "The whole width is all CPUs. █ CPUs used and ▒ waited for, both the change of CONSUMED_CPU_TIME and "
            f"CPU_WAIT_TIME in {_VIEW} since the last poll; │ its entitlement now; ┊ its limit.", "used", side="left",
            width=8, bar=cpu_bar, flexible=True),
        Pdb("used_cpus", "use CPU", CPUS, f"CPUs used since the last poll ({_VIEW}).", "used"),
        Pdb("waited_cpus", "waiting", CPUS, f"CPUs waited for since the last poll ({_VIEW}).", "waiting"),
        Pdb("verdict", "state", WORD,
            "The state of its CPU since the last poll, as on the CPU tab, or, where that is well, the limit "
            "that throttles its I/O. Files have the state of the CPU.",
            "verdict", text=lambda row: _state(row)[0], width=22, most=28, state=lambda row: _state(row)[1]),
        Pdb("entitled_cpus", "entitled", CPUS,
            "CPUs it is due now: shares applied to what each container wants, never above its limit. Where the CDB "
            "plan sets neither SHARES nor UTILIZATION_LIMIT, by CPU_MIN_COUNT (18: CPU_COUNT).", "entitled"),
        Pdb("limit_cpus", "limit", CPUS,
            "CPUs at its UTILIZATION_LIMIT in the CDB plan, or its own CPU_COUNT if that is less.", "limit"),
        Pdb("shares", "shares", COUNT, "DBA_CDB_RSRC_PLAN_DIRECTIVES.SHARES.", "shares"),
        Pdb("px_statements_queued", "queued", COUNT,
            f"Parallel statements queued now ({_VIEW}.CURRENT_PQS_QUEUED).", "px_queued",
            state=lambda row: "warn" if row.px_queued else "dim"),
        Pdb("active_sessions", "sess", COUNT, "User sessions that are ACTIVE, of all (V$SESSION). At the poll.",
            "active_sessions", text=lambda row: f"{row.active_sessions}/{row.sessions}", width=7, narrow=False),
        Pdb("throttled_percent", "throttled %", PERCENT, "Percent of its CPU demand that waited since the last poll.",
            "throttled_percent", narrow=False),
        Pdb("io_mb_per_s", "MB/s", MEGABYTES,
            f"MB per second, all kinds: change of *_MEGABYTES in {_VIEW} since the last poll.", "io.mb", narrow=False),
        Pdb("io_requests_per_s", "IOPS", RATE,
            f"I/O requests per second: change of *_REQUESTS in {_VIEW} since the last poll.", "io.requests",
            narrow=False),
        Pdb("io_limits", "max IOPS/MB", TEXT,
            "MAX_IOPS and MAX_MBPS of the container (12.2 and later, not on Exadata); - without.", "iops_limit",
            text=_io_limits, side="right", narrow=False, most=15),
        Pdb("io_throttle_ms", "held ms", _HELD_MS,
            f"Milliseconds each I/O was throttled on average in the last full minute ({_METRIC}.AVG_IO_THROTTLE).",
            "io_throttle_ms", narrow=False, state=lambda row: "warn" if row.io_throttle_ms else ""),
        Pdb("px_servers_active", "PX", COUNT,
            f"Parallel servers held now ({_VIEW}.CURRENT_PQ_SERVERS_ACTIVE) of those it may hold before it queues.",
            "px_servers", text=lambda row: f"{row.px_servers}/{count(row.servers_limit)}", width=8, narrow=False),
        Pdb("memory_bytes", "SGA/PGA", BYTES, f"SGA and PGA in use now ({_VIEW}.SGA_BYTES, PGA_BYTES).", "sga_bytes",
            text=lambda row: f"{size(row.sga_bytes)}/{size(row.pga_bytes)}", width=11, narrow=False),
        Pdb("cpu_exhausted_percent", "full %", PERCENT,
            f"Percent of the checks of the last full minute at which CPU was exhausted ({_METRIC}.CPU_EXHAUSTED, from "
            "an update of 23 on).", "cpu_exhausted", narrow=False),
        Pdb("guaranteed_cpus", "min", CPUS, "CPUs it is guaranteed when all open containers are busy.", "guaranteed",
            narrow=False),
        Pdb("plan", "Plan", TEXT, "The container's own plan (V$RSRC_PLAN); without one all its sessions have equal "
            "shares.",
            "plan", text=lambda row: row.plan or "(none)", width=10, narrow=False, most=20),
        Pdb("io_verdict", "I/O state", WORD,
            "What MAX_IOPS and MAX_MBPS do to it: throttled: the limit delayed I/O in the last full minute; near: "
            "95 % of a limit was used since the last poll.", "io_verdict",
            text=lambda row: row.io_verdict.text, width=13, narrow=False,
            most=18, state=lambda row: row.io_verdict.level),
    ),
    identity, "No pluggable databases are visible from here.",
    json="assessment.pdbs",
)
