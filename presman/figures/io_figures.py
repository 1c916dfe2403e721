"""Figures of a group's and of sessions' I/O."""

from dataclasses import replace

from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.session_readings import SessionReading
from presman.figures.figure import MEGABYTES, MILLISECONDS, RATE, Bar, Figure, Table, Unit
from presman.figures.group_figures import GROUPS, NO_GROUPS, WHICH, Group, identity
from presman.figures.session_figures import SESSIONS

_VIEW = "V$RSRC_CONSUMER_GROUP"


def _rate(key: str, head: str, unit: Unit, path: str, columns: str, width: int, *, narrow: bool) -> Group:
    text = f"{_VIEW}.{columns}: change since the last poll, per second."
    return Group(key, head, unit, text, path, width=width, narrow=narrow)


def _of_kinds(unit: Unit, what: str, columns: str, head: str, width: int) -> tuple[Group, ...]:
    """Return the figures of small and large reads and writes."""

    def rate(size: str, kind: str, short: str) -> Figure[GroupReading]:
        of, column = f"{size}_{kind}", f"{size}_{kind}_{columns}".upper()
        return _rate(
            f"{of}_{what}_per_s", f"{size} {short}{head}", unit, f"io.{of}_{what}", column, width, narrow=False
        )

    return tuple(rate(size, *each) for size in ("small", "large") for each in (("read", "rd"), ("write", "wr")))


def _bar(row: GroupReading) -> Bar | None:
    return Bar(0.0, row.io.mb) if row.io is not None else None


# fmt: off
MB_BAR = Group(
    "io_bar", "I/O", MEGABYTES,
    f"All megabytes read and written per second since the last poll (*_MEGABYTES of {_VIEW}); the longest bar is the "
    "busiest group. The database's view, not the storage cells'.", "io.mb", side="left", width=12, bar=_bar,
    flexible=True,
)
REQUESTS = _rate("io_requests_per_s", "reqs/s", RATE, "io.requests", "*_REQUESTS", 7, narrow=True)
MEGABYTES_OF_KINDS = _of_kinds(MEGABYTES, "mb", "MEGABYTES", " MB/s", 13)
"""MB per second: small reads and writes, then large ones."""
REQUESTS_OF_KINDS = _of_kinds(RATE, "requests", "REQUESTS", "/s", 10)
"""Requests per second, in the same order."""
SERVICE = Group(
    "service_ms", "ms/req", MILLISECONDS,
    f"Mean time of an I/O request in milliseconds, since the last poll: {_VIEW}.IO_SERVICE_TIME / requests.",
    "io.service_ms", width=7,
)
IO_WAITS = Group(
    "io_waits_per_s", "waits/s", RATE, f"Waits for I/O per second: {_VIEW}.IO_SERVICE_WAITS, change since the last "
    "poll.", "io.waits", narrow=False,
)
IN_SESSION_IO = (*WHICH, GROUPS["io_mb_per_s"], REQUESTS, *MEGABYTES_OF_KINDS, *REQUESTS_OF_KINDS, SERVICE)
"""The figures of sessions' I/O in files."""
IO: Table[GroupReading] = Table(
    "io", "I/O by consumer group",
    (
        *(*WHICH, MB_BAR, replace(GROUPS["io_mb_per_s"], head="MB/s", width=6, narrow=True), REQUESTS, SERVICE),
        *(IO_WAITS, GROUPS["io_trend"], *MEGABYTES_OF_KINDS[2:], *MEGABYTES_OF_KINDS[:2]),
        *(*REQUESTS_OF_KINDS[2:], *REQUESTS_OF_KINDS[:2]),
    ),
    identity, NO_GROUPS,
    json="groups",
)
IO_SESSIONS: Table[SessionReading] = Table(
    "io_sessions", "Sessions by I/O",
    (
        SESSIONS.column("session"),
        replace(SESSIONS.column("io_mb_per_s"), narrow=True),
        Figure[SessionReading](
            "io_requests_per_s", "IOPS", RATE,
            "I/O requests per second: *_REQUESTS of V$RSRC_SESSION_INFO, change since the last poll.", "io_requests",
        ),
        SESSIONS.column("event"),
        SESSIONS.column("user"),
        SESSIONS.column("consumer_group"),
    ),
    SESSIONS.identity, "No session does I/O, or there is no delta yet.", order="io_mb_per_s", descending=True,
    json="sessions",
)
