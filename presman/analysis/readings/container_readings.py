"""Readings of containers' I/O limits: MAX_IOPS and MAX_MBPS, and what they do."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from presman.analysis.readings.group_readings import IoRates


class IoVerdict(Enum):
    """What MAX_IOPS and MAX_MBPS do to a container's I/O, in the words shown."""

    UNKNOWN = "no delta yet"
    FREE = "no limit"
    UNDER = "under its limit"
    NEAR = "near its limit"
    THROTTLED = "throttled"


class LimitedContainer(NamedTuple):
    """The I/O of one container on one instance that has MAX_IOPS or MAX_MBPS, which hold on each instance.

    `io` is per second since the last poll, `io_throttle_ms` the milliseconds that each I/O was held back on average in
    the last full minute (V$RSRCPDBMETRIC, None before 18), `verdict` what the limits do. `nearest` is the limit that
    is used up most, "" if none nearly is; `sentence` says it with its figures.
    """

    inst_id: int
    con_id: int
    name: str
    io: IoRates | None
    io_throttle_ms: float | None
    iops_limit: int | None
    mb_limit: int | None
    verdict: IoVerdict = IoVerdict.UNKNOWN
    nearest: str = ""
    sentence: str = ""
