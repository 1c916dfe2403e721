"""Entitlement to the CPUs of one instance, and whether the plan is the reason for waits.

Groups at their own limits hold back a container that has no limit itself.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import UNNAMED, Key, PlanShares
from presman.analysis.readings.group_readings import LIMITED, GroupReading, Verdict
from presman.analysis.readings.reading import InstanceReading
from presman.analysis.view_availability import unavailable
from presman.base.sums import sum_of_known
from presman.rows.group_rows import RsrcPlan

QUIET = 0.02
"""CPUs: use or waiting below this is noise."""

FULL = 0.9
"""Fraction of the capacity, or of a limit, from which it counts as used up: CPU is handed out in slices."""

AT_LIMIT = 0.95
"""Fraction of a limit from which it certainly is the cause of waits; between `FULL` and this it may not be."""

SLACK_CPUS = 0.25
SLACK = 0.15
"""How far below its entitlement a group may be without a verdict, in CPUs and as a fraction of its due."""

NEAR = 2
"""Up to this multiple of the slack, a group is a little below its entitlement; only beyond it is starved."""

DIVIDED = 0.75
"""Fraction of the capacity from which the CPUs that groups used are taken as all there were while sessions wait: in
published measurements no group used 4 to 13 % of a host although groups waited. Below it, other groups of this database
did not get what a group lacks."""

SPARE = 0.25
"""Fraction of the capacity from which the idle CPU of a host counts as spare."""

NOT_EXHAUSTED = 0.5
"""Percent of a minute: CPU_EXHAUSTED below this counts as 0."""

SERVER_WIDE = "CPU is divided over all instances of the server (RESOURCE_MANAGER_CPU_SCOPE = SERVER_WIDE)"
"""Why no due is known if the CPUs shared are not those of one instance."""


def why_not_divided(facts: Facts, inst_id: int) -> str:
    """Return why no due is known on an instance, whatever its plans are; "" if it may be known.

    Only V$RSRC_PLAN shows which plan is in force and whether it manages CPU.
    """
    if facts.plans.server_wide(inst_id):
        return SERVER_WIDE
    return unavailable(facts.snapshot, RsrcPlan, ("cpu_managed",))


class Host(Enum):
    """The state of the host's CPUs: all busy, some spare, or neither for certain."""

    FULL = "full"
    SPARE = "spare"
    UNKNOWN = "unknown"


class Load(NamedTuple):
    """CPUs a group used and waited for, and its sessions that wait for a slice at this moment.

    `lasting` is the part of its active sessions that were there at both ends of the interval. Sessions that came in the
    middle of it wanted nothing before, which a mean over the interval does not show. `exhausted` is CPU_EXHAUSTED,
    percent of the last full minute, None if not known.
    """

    used: float
    waiting: float
    waiters: int = 0
    lasting: float = 1.0
    exhausted: float | None = None

    @property
    def wanted(self) -> float:
        """CPUs asked for. Unfinished waits may not be counted yet, so sessions that wait now count instead."""
        held_back = self.waiters if self.used < QUIET and self.waiting < QUIET else self.waiting
        return self.used + held_back

    def due(self, claim: float) -> float:
        """Return the CPUs of a `claim` it should have got: no more than it certainly wanted all the time."""
        return min(self.wanted * self.lasting, claim)


def slack(due: float) -> float:
    """Return how many CPUs below its entitlement a group may be without a verdict."""
    return max(SLACK_CPUS, SLACK * due)


def lacks_little(used: float, due: float) -> bool:
    """Whether a group lacks little of its due: not enough to be starved, and no more than it gets."""
    return due - used <= min(NEAR * slack(due), used)


def lasting(before: int, now: int) -> float:
    """Return the part of the active sessions that were there before and still are."""
    return min(before, now) / most if (most := max(before, now)) > 0 else 1.0


class ReachedCap(NamedTuple):
    """A limit that is used up: its owner ("" for the group's own), CPUs used under it, CPUs it allows."""

    owner: str
    used: float
    limit: float


class Frame(NamedTuple):
    """Facts that the groups of one instance share: CPUs, how they are managed, the plan, and the demand for them.

    `claims` are what each group is due given all demand, as fractions of the capacity. `whole_plan` means that no plan
    above this one is hidden; without it no due is known. `capped` has the innermost reached limit of each group under
    one. `used` is the number of CPUs that all groups used together. `inside` means that only one container is visible.
    `outside` is what groups used that the plan does not name: `claims` divide the rest, `most` has what each group
    would be due if that were due to the groups of the plan.
    """

    capacity: float
    cpu_managed: str
    spare_host: bool
    shares: PlanShares
    loads: Mapping[Key, Load]
    claims: Mapping[Key, float]
    whole_plan: bool = True
    capped: Mapping[Key, ReachedCap] = {}
    used: float = 0.0
    inside: bool = False
    host: Host = Host.UNKNOWN
    most: Mapping[Key, float] = {}
    outside: float = 0.0

    @property
    def full(self) -> bool:
        """Whether the CPUs handed out are used up."""
        return self.capacity > 0 and self.used >= FULL * self.capacity

    @property
    def divided(self) -> bool:
        """Whether the visible groups used nearly all CPUs, so that other groups have what one lacks.

        Inside a container the others are not visible: there it is false only if the host has CPU to spare.
        """
        return self.host is not Host.SPARE if self.inside else self.used >= DIVIDED * self.capacity


def host_of(instance: InstanceReading) -> Host:
    """Return the state of the CPUs of an instance's host (V$OSSTAT)."""
    if instance.host_busy is None or not instance.host_cpus:
        return Host.UNKNOWN
    if instance.host_busy >= FULL:
        return Host.FULL
    idle = (1 - instance.host_busy) * instance.host_cpus
    return Host.SPARE if idle >= SPARE * (instance.num_cpus or 0.0) else Host.UNKNOWN


def has_spare_host(instance: InstanceReading) -> bool:
    """Whether an instance is caged (CPU_COUNT) on a host that has more CPUs and is not known to be full."""
    caged = instance.caging == "ON" and (instance.host_cpus or 0.0) > (instance.num_cpus or 0.0)
    return caged and (instance.host_busy is None or instance.host_busy < FULL)


def frame_of(
    instance: InstanceReading, shares: PlanShares, loads: Mapping[Key, Load], whole_plan: bool, *, inside: bool = False
) -> Frame:
    """Return the frame of an instance with all claims computed.

    `inside` means that only one container is visible: the CPUs that others leave it are not known, so those that its
    groups used count.
    """
    capacity, managed = instance.num_cpus or 0.0, instance.cpu_managed
    spare, host = has_spare_host(instance), host_of(instance)
    used = sum(load.used for load in loads.values())
    outside = sum([load.used for key, load in loads.items() if not shares.has(key)])
    loads = {**loads, **_unnamed(shares, loads)}
    claims: dict[Key, float] = {}
    most: dict[Key, float] = {}
    if capacity > 0 and managed != "OFF":
        # If the groups used nearly all CPUs, the plan divided the CPUs that they used: those that the operating system
        # and other processes took were not available to it.
        whole = min(1.0, used / capacity) if inside or DIVIDED * capacity <= used <= capacity else 1.0
        wanted = {key: cpus / capacity for key, load in loads.items() if (cpus := load.wanted) >= QUIET}
        claims = most = shares.entitled(wanted, whole)
        if outside > SLACK_CPUS:
            claims = shares.entitled(wanted, max(0.0, whole - outside / capacity))
    capped = _capped(shares, loads, capacity)
    return Frame(capacity, managed, spare, shares, loads, claims, whole_plan, capped, used, inside, host, most, outside)


def _capped(shares: PlanShares, loads: Mapping[Key, Load], capacity: float) -> dict[Key, ReachedCap]:
    """Return the groups under a limit that is used up, with the innermost such limit."""
    # Outer limits come before those inside them, so the innermost reached one remains.
    found: dict[Key, ReachedCap] = {}
    for cap in shares.caps if capacity > 0 else ():
        used = sum([loads[key].used for key in cap.keys if key in loads])
        limit = cap.limit * capacity
        if used >= FULL * limit:
            found |= dict.fromkeys(cap.keys, ReachedCap(cap.owner, used, limit))
    return found


def _unnamed(shares: PlanShares, loads: Mapping[Key, Load]) -> dict[Key, Load]:
    """Return the summed loads of the groups of each container whose plan cannot be read."""
    found: dict[Key, Load] = {}
    for con_id, name in shares.shares:
        if name == UNNAMED:
            # CPUs and sessions can be added up; `lasting` and `exhausted` cannot.
            inside = [load for key, load in loads.items() if key[0] == con_id]
            used, waiting = sum(load.used for load in inside), sum(load.waiting for load in inside)
            found[con_id, UNNAMED] = Load(used, waiting, sum(load.waiters for load in inside))
    return found


def verdict(key: Key, found: Frame, full: bool) -> Verdict:
    """Return what happens to a group's CPU. `full` is `found.full`, computed once for all groups.

    Only Resource Manager's own waits count as waiting. The causes are tried in this order: a limit, which explains a
    wait even on an idle host; then a group below its entitlement, if others of this database have the rest; then plain
    contention.
    """
    if found.cpu_managed == "OFF":
        return Verdict.NOT_MANAGED
    load = found.loads.get(key)
    if load is None:
        return Verdict.UNKNOWN
    wanted = load.wanted
    if wanted < QUIET:
        return Verdict.IDLE
    if wanted - load.used <= max(QUIET, 0.01 * wanted):
        return Verdict.NOT_THROTTLED
    return _throttled(key, load, found, full)


def _throttled(key: Key, load: Load, found: Frame, full: bool) -> Verdict:
    """Return why a group waits: its limits first, then its share."""
    shares = found.shares
    share_key = key if key in shares.shares else (key[0], UNNAMED)
    # A limit (UTILIZATION_LIMIT, CPU_COUNT of a container) also holds on an idle host: no share explains that wait.
    if cap := found.capped.get(share_key):
        return _at(cap.used, cap.limit)
    if key not in shares.shares or not found.whole_plan:
        return Verdict.THROTTLED
    claim = found.claims.get(key, 0.0) * found.capacity
    # The comparison uses a mean over the interval: a session that came in the middle is not due all of its claim.
    due = load.due(claim)
    missing, most = due - load.used, slack(due)
    shareless = shares.shares[key] <= 0 and claim < SLACK * load.wanted and shares.divides(key[0])
    if missing <= most and not shareless:
        return _contended(load, claim, found.most.get(key, 0.0) * found.capacity, full and found.spare_host)
    # A group is starved only if the plan is not kept: first rule out that others on the host have what is missing.
    if elsewhere := _elsewhere(load, found):
        return elsewhere
    if missing > NEAR * most and (full or found.inside):
        return Verdict.STARVED
    return Verdict.ZERO_SHARE if shareless else Verdict.SHORT


def _contended(load: Load, claim: float, most: float, is_caged: bool) -> Verdict:
    """Return the verdict for a group that lacks nothing of its due.

    Sessions that were not there all the time make less due: whether the group got what it was entitled to is not known.
    Nor is it known whether what groups outside the plan used is due to it, which is then up to `most`.
    """
    if (due := load.due(most)) - load.used > slack(due):
        return Verdict.THROTTLED
    if min(load.wanted, claim) - load.used > slack(load.due(claim)):
        return Verdict.PARTLY
    return Verdict.CAGED if is_caged else Verdict.CONTENDED


def _at(used: float, limit: float) -> Verdict:
    """Return the verdict for a group under a limit that is used up, or nearly."""
    return Verdict.CAPPED if used >= AT_LIMIT * limit else Verdict.NEAR_LIMIT


def _elsewhere(load: Load, found: Frame) -> Verdict | None:
    """Return why a group is below its entitlement although no other has the rest, None if others may have it."""
    if not found.divided:
        return Verdict.HOST if found.host is Host.FULL else Verdict.NOT_EXHAUSTED
    return Verdict.NOT_EXHAUSTED if load.exhausted is not None and load.exhausted < NOT_EXHAUSTED else None


def worst(verdicts: Collection[Verdict]) -> Verdict:
    """Return the verdict for a group on several instances: the one that needs attention most.

    If one of them is unknown, the result is not good.
    """
    found = min(verdicts, key=lambda each: each.rank, default=Verdict.UNKNOWN)
    return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts and found.rank >= Verdict.NOT_THROTTLED.rank else found


def together(claims: Iterable[float | None], verdicts: Iterable[Verdict]) -> float | None:
    """Return the sum of entitlements; None if one of them is not known, or if CPU is not managed somewhere.

    A group that wants no CPU has none, and adds nothing.
    """
    return None if {Verdict.THROTTLED, Verdict.NOT_MANAGED} & {*verdicts} else sum_of_known(claims)


_NEARLY_ALL = 0.9


def held_by_own_limits(groups: Sequence[GroupReading], waiting: float | None) -> dict[str, Any]:
    """Return the verdict and limit of a container all of whose waiting groups are at limits of their own.

    `groups` are its own on one instance, `waiting` the CPUs the container waits for: the groups must account for nearly
    all of them (group counters begin at another instant). Empty if something else holds it, or this is not known.
    """
    inside = [group for group in groups if (group.waiting or 0.0) >= QUIET]
    held = [group for group in inside if group.verdict is not Verdict.NOT_THROTTLED]
    if not held or not waiting or sum(group.waiting or 0.0 for group in held) < _NEARLY_ALL * waiting:
        return {}
    if any(group.verdict not in LIMITED or group.limited_by or group.limit is None for group in held):
        return {}
    used, allowed = sum(group.used or 0.0 for group in held), sum(group.limit or 0.0 for group in held)
    return {
        "verdict": _at(used, allowed),
        "limited_by": held[0].title if len(held) == 1 else f"each of {', '.join(group.title for group in held)}",
        "limit_used": used,
        "limit_allowed": allowed,
    }
