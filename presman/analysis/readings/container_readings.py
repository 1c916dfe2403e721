"""Containers: CPU, I/O, servers and memory of each; the effect of MAX_IOPS and MAX_MBPS, and missed CPU_MIN_COUNT."""

from typing import NamedTuple, TypeAlias

from msgspec import Struct

from presman.analysis.readings.group_readings import IoRates, Marked, UsageTotals, Verdict, demand, throttled_percent


class IoVerdict(Marked):
    """The effect of MAX_IOPS and MAX_MBPS on a container's I/O."""

    THROTTLED = "throttled", "▲", "warn"
    NEAR = "near its limit", "▬", "note"
    UNKNOWN = "no delta yet", "…", "dim"
    UNDER = "under its limit", "●", "good"
    FREE = "no limit", "·", "dim"


class LimitedContainer(NamedTuple):
    """The I/O of one container on one instance that has MAX_IOPS or MAX_MBPS; the limits apply to each instance.

    `io` is per second since the last poll. `io_throttle_ms` is the mean time in milliseconds that each I/O was held
    back in the last full minute (V$RSRCPDBMETRIC, None before 18). `verdict` is the effect of the limits. `nearest` is
    the limit with the highest use, "" if none is nearly used up; `sentence` describes that limit with its figures.
    `held_by` is the limit that held I/O back in that minute, "" if it may be either.
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
    held_by: str = ""


class PdbReading(Struct, frozen=True):
    """One container on one instance, or on the cluster (`inst_id` 0).

    CPUs are as in a group's reading. `shares` are those of the CDB plan, `share` is the guaranteed minimum as a
    fraction, `servers_limit` is in parallel servers. `io` is per second since the last poll. `io_throttle_ms` is the
    mean time in milliseconds that each I/O was held back in the last full minute, None before 18. `iops_limit` and
    `mb_limit` are its MAX_IOPS and MAX_MBPS (on each instance), None if not set; `io_verdict` is the effect of these
    limits. `cpu_exhausted` is percent of the last full minute, None before 23. `all_used` is the number of CPUs that
    all containers used together. Bytes are gauges. `plan` is its own plan, "" without one. `limited_by` names the
    groups inside it whose own limits hold it back, with the CPUs they use and may use (`limit_used`, `limit_allowed`),
    "" if none do. `usage` has its counters, None before 12.2. `doubt` is the reason why no rule judges its CPU.
    `held_by` is the limit that held its I/O back in the last full minute, "" if it may be either. `missed_minimum` is
    its CPU_MIN_COUNT if it waits for CPU below it.
    """

    inst_id: int
    con_id: int
    name: str
    plan: str
    shares: int | None
    share: float
    used: float | None
    waiting: float | None
    capacity: float
    limit: float | None
    guaranteed: float | None
    entitled: float | None
    verdict: Verdict
    io: IoRates | None
    io_throttle_ms: float | None
    iops_limit: int | None
    mb_limit: int | None
    sessions: int
    active_sessions: int
    px_active: int | None
    px_servers: int | None
    px_queued: int | None
    servers_limit: int | None
    sga_bytes: int | None
    pga_bytes: int | None
    execution_waiters: int = 0
    io_verdict: IoVerdict = IoVerdict.UNKNOWN
    cpu_exhausted: float | None = None
    all_used: float | None = None
    limited_by: str = ""
    limit_used: float | None = None
    limit_allowed: float | None = None
    hidden: str = ""
    inside: bool = False
    usage: UsageTotals | None = None
    doubt: str = ""
    held_by: str = ""
    missed_minimum: float | None = None

    @property
    def wanted(self) -> float | None:
        """CPUs wanted: used + waiting."""
        return demand(self.used, self.waiting)

    @property
    def throttled_percent(self) -> float | None:
        """Percent of CPU demand that had to wait."""
        return throttled_percent(self.used, self.waiting)


class MissedMinimum(NamedTuple):
    """A container that waits for CPU on an instance while it gets less than its CPU_MIN_COUNT; all figures in CPUs.

    `used` is its use since the last poll, `least` is its CPU_MIN_COUNT. `minima` is the sum over all open containers.
    If `minima` exceeds `capacity`, each minimum is cut in proportion when all containers are busy, and the plan is
    still met.
    """

    inst_id: int
    con_id: int
    name: str
    used: float
    least: float
    minima: float
    capacity: float

    @property
    def words(self) -> str:
        """What it gets of its minimum."""
        return f"{self.name} gets {self.used:.1f} of the {self.least:g} CPUs of its CPU_MIN_COUNT"


Limited: TypeAlias = LimitedContainer | PdbReading
"""What a verdict on I/O is about."""
