"""The table of a group's I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from presman.analysis.reading import GroupReading, IoRates, SessionReading
from presman.columns import Bar, Column, Table
from presman.formats import ABSENT, compact, number
from presman.tables.groups import CON, INST, IO_TREND, NAME, Group, identity
from presman.tables.sessions import SESSIONS

_VIEW = "V$RSRC_CONSUMER_GROUP"


def _rate(key: str, head: str, width: int, pick: Callable[[IoRates], float], columns: str, narrow: bool) -> Group:
    return Group(
        key,
        head,
        width,
        lambda row: ABSENT if row.io is None else compact(pick(row.io)),
        f"{_VIEW}.{columns}: change since the last poll, per second.",
        sort=lambda row: None if row.io is None else pick(row.io),
        align="right",
        narrow=narrow,
    )


def _bar(row: GroupReading) -> Bar | None:
    return Bar(0.0, row.io.mb) if row.io is not None else None


# fmt: off
MB_BAR = Group(
    "mb", "MB/s", 12, lambda row: ABSENT if row.io is None else compact(row.io.mb),
    f"All megabytes read and written per second since the last poll (*_MEGABYTES of {_VIEW}); the longest bar is the "
    "busiest group. The database's view, not the storage cells'.",
    sort=lambda row: None if row.io is None else row.io.mb, bar=_bar, flexible=True,
)
SERVICE = Group(
    "service", "ms/req", 7, lambda row: ABSENT if row.io is None else number(row.io.service_ms),
    f"Mean time of an I/O request in milliseconds, since the last poll: {_VIEW}.IO_SERVICE_TIME / requests.",
    sort=lambda row: None if row.io is None else row.io.service_ms, align="right",
)
IO_WAITS = Group(
    "io_waits", "waits/s", 7, lambda row: ABSENT if row.io is None else compact(row.io.waits),
    f"Waits for I/O per second: {_VIEW}.IO_SERVICE_WAITS, change since the last poll.",
    sort=lambda row: None if row.io is None else row.io.waits, align="right", narrow=False,
)
IO: Table[GroupReading] = Table(
    "io", "I/O by consumer group",
    (
        INST, CON, NAME, MB_BAR,
        _rate("io_mb", "MB/s", 6, lambda io: io.mb, "*_MEGABYTES", narrow=True),
        _rate("io_requests", "reqs/s", 7, lambda io: io.requests, "*_REQUESTS", narrow=True),
        SERVICE, IO_WAITS, IO_TREND,
        _rate("large_read", "large rd MB/s", 13, lambda io: io.large_read_mb, "LARGE_READ_MEGABYTES", narrow=False),
        _rate("large_write", "large wr MB/s", 13, lambda io: io.large_write_mb, "LARGE_WRITE_MEGABYTES", narrow=False),
        _rate("small_read", "small rd MB/s", 13, lambda io: io.small_read_mb, "SMALL_READ_MEGABYTES", narrow=False),
        _rate("small_write", "small wr MB/s", 13, lambda io: io.small_write_mb, "SMALL_WRITE_MEGABYTES", narrow=False),
        _rate("large_read_requests", "large rd/s", 10, lambda io: io.large_read_requests, "LARGE_READ_REQUESTS",
              narrow=False),
        _rate("large_write_requests", "large wr/s", 10, lambda io: io.large_write_requests, "LARGE_WRITE_REQUESTS",
              narrow=False),
        _rate("small_read_requests", "small rd/s", 10, lambda io: io.small_read_requests, "SMALL_READ_REQUESTS",
              narrow=False),
        _rate("small_write_requests", "small wr/s", 10, lambda io: io.small_write_requests, "SMALL_WRITE_REQUESTS",
              narrow=False),
    ),
    identity, "No consumer groups: V$RSRC_CONSUMER_GROUP gave no rows.",
)
IO_SESSIONS: Table[SessionReading] = Table(
    "io_sessions", "Sessions by I/O",
    (
        SESSIONS.column("sid"),
        replace(SESSIONS.column("io_mb"), narrow=True),
        Column[SessionReading](
            "io_requests", "IOPS", 6, lambda row: compact(row.io_requests),
            "I/O requests per second: *_REQUESTS of V$RSRC_SESSION_INFO, change since the last poll.",
            sort=lambda row: row.io_requests, align="right",
        ),
        SESSIONS.column("event"),
        SESSIONS.column("user"),
        SESSIONS.column("group"),
    ),
    SESSIONS.identity, "No session does I/O, or there is no delta yet.", order="io_mb", descending=True,
)
