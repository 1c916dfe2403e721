"""Rows about waits: events, their histograms, I/O outliers."""

from typing import NamedTuple


class SystemEvent(NamedTuple):
    """GV$SYSTEM_EVENT without idle events: waits and microseconds waited since instance start; None: not told."""

    inst_id: int
    event: str
    wait_class: str
    total_waits: int | None
    time_waited_micro: int | None


class EventHistogram(NamedTuple):
    """GV$EVENT_HISTOGRAM_MICRO (12.1 and later) or GV$EVENT_HISTOGRAM: waits since instance start.

    `wait_time_micro` is the bucket's upper bound in microseconds: waits below it and not below the one before.
    Before 12.1 the bounds are milliseconds times 1,000.
    """

    inst_id: int
    event: str
    wait_time_micro: int
    wait_count: int


class WatchedHistogram(NamedTuple):
    """The same views as :class:`EventHistogram` for one event that the user chose, whatever its name."""

    inst_id: int
    event: str
    wait_time_micro: int
    wait_count: int


class IoOutlier(NamedTuple):
    """GV$IO_OUTLIER (12.1 and later), read only on request: I/Os of longer than about half a second.

    `io_latency` and the disks' are milliseconds, `io_size` probably KB. On some platforms the column is no latency.
    """

    inst_id: int
    function_name: str
    io_size: int
    wait_event: str
    file_name: str
    io_latency: int
    disk1_name: str
    disk1_latency: int
    disk2_name: str
    disk2_latency: int
    disk3_name: str
    disk3_latency: int


class LgwrioOutlier(NamedTuple):
    """GV$LGWRIO_OUTLIER (12.1 and later), read only on request: long I/Os of the redo writer, as :class:`IoOutlier`."""

    inst_id: int
    function_name: str
    io_size: int
    wait_event: str
    file_name: str
    io_latency: int
    disk1_name: str
    disk1_latency: int
    disk2_name: str
    disk2_latency: int
    disk3_name: str
    disk3_latency: int
