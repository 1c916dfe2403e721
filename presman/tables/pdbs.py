"""The table of pluggable databases."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.io_limits import IoVerdict
from presman.analysis.pdbs import PdbReading
from presman.columns import Column, State, Table
from presman.formats import ABSENT, compact, count, number, percent
from presman.tables.groups import VERDICT_MARKS, cpu_bar

Pdb = Column[PdbReading]

_VIEW = "V$RSRC_PDB"
_METRIC = "V$RSRCPDBMETRIC"


IO_MARKS: dict[IoVerdict, tuple[str, State]] = {
    IoVerdict.UNKNOWN: ("…", "dim"),
    IoVerdict.FREE: ("○", "dim"),
    IoVerdict.UNDER: ("●", "good"),
    IoVerdict.NEAR: ("▬", "note"),
    IoVerdict.THROTTLED: ("▲", "warn"),
}
"""The glyph and the state that go with each verdict on I/O."""


def identity(row: PdbReading) -> Hashable:
    """Return what makes a container the same at the next poll."""
    return row.inst_id, row.con_id


def size(value: int | None) -> str:
    """Return bytes with a binary unit in at most six characters: ``12.0G``, ``512M``; ``-`` for None."""
    if value is None:
        return ABSENT
    return f"{value / 2**30:.1f}G" if value >= 2**30 else f"{value / 2**20:.0f}M"


def _throttle_state(row: PdbReading) -> State:
    return "warn" if row.io_throttle_ms else ""


def _io_limits(row: PdbReading) -> str:
    if row.iops_limit is None and row.mb_limit is None:
        return ABSENT
    return f"{count(row.iops_limit)}/{count(row.mb_limit)}"


# fmt: off
PDBS: Table[PdbReading] = Table(
    "pdbs", "Pluggable databases",
    (
        Pdb("inst", "Inst", 4, lambda row: str(row.inst_id or "all"), "INST_ID; `all` is the sum over the cluster.",
            sort=lambda row: row.inst_id, align="right"),
        Pdb("con", "Con", 4, lambda row: str(row.con_id), "CON_ID.", sort=lambda row: row.con_id, align="right"),
        Pdb("name", "PDB", 10, lambda row: row.name, "V$PDBS.NAME.", sort=lambda row: row.name, most=22),
        Pdb("cpu", "CPU", 8, lambda row: number(row.used),
            "The whole width is all CPUs. █ CPUs used and ▒ waited for, both the change of CONSUMED_CPU_TIME and "
            f"CPU_WAIT_TIME in {_VIEW} since the last poll; │ what it may claim now; ┊ its limit.",
            sort=lambda row: row.used, bar=cpu_bar, flexible=True),
        Pdb("used", "use CPU", 7, lambda row: number(row.used), f"CPUs used since the last poll ({_VIEW}).",
            sort=lambda row: row.used, align="right"),
        Pdb("waiting", "waiting", 7, lambda row: number(row.waiting), f"CPUs waited for since the last poll ({_VIEW}).",
            sort=lambda row: row.waiting, align="right"),
        Pdb("verdict", "verdict", 18, lambda row: f"{VERDICT_MARKS[row.verdict][0]} {row.verdict.value}",
            "What happens to its CPU since the last poll, in the words of the tab CPU.",
            sort=lambda row: row.verdict.value, state=lambda row: VERDICT_MARKS[row.verdict][1], most=28),
        Pdb("entitled", "entitled", 8, lambda row: number(row.entitled),
            "CPUs it may claim now: its shares among the containers with demand, never above its limit.",
            sort=lambda row: row.entitled, align="right"),
        Pdb("limit", "limit", 6, lambda row: number(row.limit),
            "CPUs at its UTILIZATION_LIMIT in the CDB plan, or its own CPU_COUNT if that is less.",
            sort=lambda row: row.limit, align="right"),
        Pdb("shares", "shares", 6, lambda row: count(row.shares), "DBA_CDB_RSRC_PLAN_DIRECTIVES.SHARES.",
            sort=lambda row: row.shares, align="right"),
        Pdb("queued", "queued", 6, lambda row: count(row.px_queued),
            f"Parallel statements queued now ({_VIEW}.CURRENT_PQS_QUEUED).", sort=lambda row: row.px_queued,
            align="right", state=lambda row: "warn" if row.px_queued else "dim"),
        Pdb("sessions", "sess", 7, lambda row: f"{row.active_sessions}/{row.sessions}",
            "User sessions that are ACTIVE, of all (V$SESSION). An instant.", sort=lambda row: row.active_sessions,
            align="right", narrow=False),
        Pdb("throttled", "throt %", 7, lambda row: percent(row.throttled_percent),
            "Percent of its CPU demand that had to wait since the last poll.", sort=lambda row: row.throttled_percent,
            align="right", narrow=False),
        Pdb("io_mb", "MB/s", 6, lambda row: ABSENT if row.io is None else compact(row.io.mb),
            f"MB per second, all kinds: change of *_MEGABYTES in {_VIEW} since the last poll.",
            sort=lambda row: None if row.io is None else row.io.mb, align="right", narrow=False),
        Pdb("iops", "IOPS", 6, lambda row: ABSENT if row.io is None else compact(row.io.requests),
            f"I/O requests per second: change of *_REQUESTS in {_VIEW} since the last poll.",
            sort=lambda row: None if row.io is None else row.io.requests, align="right", narrow=False),
        Pdb("io_limit", "max IOPS/MB", 11, _io_limits,
            "MAX_IOPS and MAX_MBPS of the container (12.2 and later, not on Exadata); - without.",
            sort=lambda row: row.iops_limit, align="right", narrow=False, most=15),
        Pdb("io_throttle", "held ms", 7, lambda row: number(row.io_throttle_ms),
            f"Milliseconds each I/O was held back on average in the last closed minute ({_METRIC}.AVG_IO_THROTTLE).",
            sort=lambda row: row.io_throttle_ms, align="right", narrow=False, state=_throttle_state),
        Pdb("px", "PX", 8, lambda row: f"{row.px_servers}/{count(row.servers_limit)}",
            f"Parallel servers held now ({_VIEW}.CURRENT_PQ_SERVERS_ACTIVE) of those it may hold before it queues.",
            sort=lambda row: row.px_servers, align="right", narrow=False),
        Pdb("memory", "SGA/PGA", 11, lambda row: f"{size(row.sga_bytes)}/{size(row.pga_bytes)}",
            f"SGA and PGA in use now ({_VIEW}.SGA_BYTES, PGA_BYTES).", sort=lambda row: row.sga_bytes, align="right",
            narrow=False),
        Pdb("cpu_exhausted", "full %", 6, lambda row: percent(row.cpu_exhausted),
            f"Percent of the checks of the last closed minute at which CPU was exhausted ({_METRIC}.CPU_EXHAUSTED, an "
            "update of 23 brought it).", sort=lambda row: row.cpu_exhausted, align="right", narrow=False),
        Pdb("guaranteed", "min", 6, lambda row: number(row.guaranteed),
            "CPUs it is guaranteed when all open containers are busy.", sort=lambda row: row.guaranteed, align="right",
            narrow=False),
        Pdb("plan", "Plan", 10, lambda row: row.plan or "(none)",
            "The container's own plan (V$RSRC_PLAN); without one all its sessions share alike.",
            sort=lambda row: row.plan, narrow=False, most=20),
        Pdb("io_verdict", "I/O verdict", 13, lambda row: " ".join((IO_MARKS[row.io_verdict][0], row.io_verdict.value)),
            "What MAX_IOPS and MAX_MBPS do to it: throttled where I/O was held back in the last closed minute, near "
            "where 95 % of a limit are used since the last poll.",
            sort=lambda row: row.io_verdict.value, narrow=False, most=18,
            state=lambda row: IO_MARKS[row.io_verdict][1]),
    ),
    identity, "No pluggable databases are visible from here.",
)
