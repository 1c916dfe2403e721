"""Figures of counters as they stand: of groups and containers since the plan was activated, of instances since startup.

They are for those who make rates of them by themselves; screens and files show rates since the last poll.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from presman.analysis.readings.wait_readings import InstanceTotals
from presman.figures.figure import COUNT, TEXT, TOTAL, Figure

GROUPS = "V$RSRC_CONSUMER_GROUP"
CONTAINERS = "V$RSRC_PDB"
_SINCE = "since the plan was activated"


def usage(view: str) -> tuple[Figure[Any], ...]:
    """Return the figures of what `view` counts for each row, but for I/O by kind."""
    figures: tuple[Figure[Any], ...] = (
        Figure("cpu_ms_total", "CPU ms*", TOTAL,
               f"Milliseconds of CPU used {_SINCE} ({view}.CONSUMED_CPU_TIME).", "usage.cpu_ms"),
        Figure("cpu_wait_ms_total", "CPU wait ms*", TOTAL,
               f"Milliseconds that sessions were throttled {_SINCE} ({view}.CPU_WAIT_TIME, resmgr:cpu quantum).",
               "usage.cpu_wait_ms"),
        Figure("io_service_ms_total", "I/O ms*", TOTAL,
               f"Milliseconds that I/O requests took {_SINCE} ({view}.IO_SERVICE_TIME).", "usage.io_service_ms"),
    )  # fmt: skip
    return (*figures, *_OF_GROUPS) if view == GROUPS else figures


_OF_GROUPS: tuple[Figure[Any], ...] = (
    Figure("cpu_waits_total", "CPU waits*", TOTAL,
           f"How often sessions were throttled for a time slice {_SINCE} ({GROUPS}.CPU_WAITS).", "usage.cpu_waits"),
    Figure("requests_total", "reqs*", TOTAL,
           f"Requests executed {_SINCE} ({GROUPS}.REQUESTS).", "usage.requests"),
)  # fmt: skip


class IoKind(Struct, frozen=True):
    """One kind of I/O: `size` small or large, `direction` read or write, and the figures that count it."""

    size: str
    direction: str
    megabytes: Figure[Any]
    requests: Figure[Any]


def io_kinds(view: str) -> tuple[IoKind, ...]:
    """Return the four kinds of I/O that `view` counts."""
    return tuple(_io_kind(view, size, direction) for size in ("small", "large") for direction in ("read", "write"))


def _io_kind(view: str, size: str, direction: str) -> IoKind:
    of = f"{size}_{direction}"
    megabytes: Figure[Any] = Figure(
        "io_mb_total", "I/O MB*", TOTAL,
        f"Megabytes read and written {_SINCE} ({view}.*_MEGABYTES). The database's view, not the storage cells'.",
        f"usage.{of}_mb",
    )  # fmt: skip
    requests: Figure[Any] = Figure(
        "io_requests_total", "I/O reqs*", TOTAL, f"I/O requests {_SINCE} ({view}.*_REQUESTS).", f"usage.{of}_requests"
    )
    return IoKind(size, direction, megabytes, requests)


class ClassWaits(Struct, frozen=True):
    """The waits of one class on one instance that ended since it started."""

    inst_id: int
    wait_class: str
    waits: int
    microseconds: int


def class_waits(totals: InstanceTotals) -> tuple[ClassWaits, ...]:
    """Return the waits of an instance by class."""
    return tuple(
        ClassWaits(totals.inst_id, name, each.waits, each.microseconds) for name, each in sorted(totals.waits.items())
    )


WAITS: Figure[ClassWaits] = Figure(
    "waits_total", "waits*", TOTAL,
    "Waits of the class that ended since the instance started, idle ones left out (V$SYSTEM_EVENT.TOTAL_WAITS).",
    "waits",
)  # fmt: skip
WAITED: Figure[ClassWaits] = Figure(
    "wait_us_total", "waited*", TOTAL,
    "Microseconds of the waits of the class that ended since the instance started (V$SYSTEM_EVENT.TIME_WAITED_MICRO).",
    "microseconds",
)  # fmt: skip
REDO: Figure[InstanceTotals] = Figure(
    "redo_bytes_total", "redo*", TOTAL, "Bytes of redo made since the instance started (V$SYSSTAT, 'redo size').",
    "redo_bytes",
)  # fmt: skip


class ActiveSessions(Struct, frozen=True):
    """The user sessions that are active now in one wait class, or on CPU."""

    wait_class: str
    sessions: int


CLASS: Figure[ActiveSessions] = Figure("wait_class", "class", TEXT, "V$SESSION.WAIT_CLASS.", "wait_class")
ACTIVE: Figure[ActiveSessions] = Figure(
    "active_sessions", "active", COUNT,
    "User sessions in a call and not in an idle wait, by what they wait for (V$SESSION). At the poll.",
    "sessions",
)  # fmt: skip
