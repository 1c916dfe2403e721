"""Entitlement to the CPUs of one instance, and whether the plan is the reason when someone waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presman.analysis.facts.plan_book import UNNAMED, Key, PlanShares
from presman.analysis.readings.group_readings import Verdict

QUIET = 0.02
"""CPUs: less used or waited for than this is noise."""

FULL = 0.9
"""Fraction of the capacity, or of a limit, from which on it counts as used up: CPU is handed out in slices."""

SLACK_CPUS = 0.25
SLACK = 0.15
"""What a group may get less than its due before it is called starved, in CPUs and as a fraction of its due."""

DIVIDED = 0.75
"""Fraction of the capacity from which on what the groups used is taken for all there was while sessions wait: published
measurements have 4 to 13 % of a host that no group used although groups waited."""

_WORST_FIRST = (
    Verdict.STARVED,
    Verdict.ZERO_SHARE,
    Verdict.CAPPED,
    Verdict.CAGED,
    Verdict.CONTENDED,
    Verdict.THROTTLED,
    Verdict.NOT_THROTTLED,
    Verdict.IDLE,
    Verdict.NOT_MANAGED,
    Verdict.UNKNOWN,
)
_RANK = {verdict: place for place, verdict in enumerate(_WORST_FIRST)}


class Load(NamedTuple):
    """CPUs a group used and waited for, and its sessions that wait for a slice at this moment.

    `lasting` is the part of its active sessions that were there at both ends of the interval. Who came in the middle
    of it wanted nothing before, which a mean over the interval does not show.
    """

    used: float
    waiting: float
    waiters: int = 0
    lasting: float = 1.0

    @property
    def wanted(self) -> float:
        """CPUs asked for. A wait that is not over yet may not be counted, so sessions waiting now stand in for it."""
        held_back = self.waiters if self.used < QUIET and self.waiting < QUIET else self.waiting
        return self.used + held_back

    def due(self, claim: float) -> float:
        """Return the CPUs it should have got of a `claim`: no more than it certainly wanted all the time."""
        return min(self.wanted * self.lasting, claim)


def lasting(before: int, now: int) -> float:
    """Return the part of the active sessions that were there before and are now."""
    return min(before, now) / most if (most := max(before, now)) > 0 else 1.0


class ReachedCap(NamedTuple):
    """A limit that is used up: whose it is ("" for the group's own), CPUs used under it, CPUs it allows."""

    owner: str
    used: float
    limit: float


class Frame(NamedTuple):
    """What the groups of one instance share out: CPUs, how they are managed, the plan, and who wants them.

    `claims` are what each group is due of what all want, as fractions of the capacity. `whole_plan` tells that no plan
    above this one is hidden; without it nobody's due is known. `capped` has for the groups of which a limit is reached
    that limit, the innermost; `used` is CPUs of all groups together.
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

    @property
    def full(self) -> bool:
        """Whether the CPUs handed out are used up."""
        return self.capacity > 0 and self.used >= FULL * self.capacity


def frame(
    capacity: float,
    cpu_managed: str,
    spare_host: bool,
    shares: PlanShares,
    loads: Mapping[Key, Load],
    whole_plan: bool = True,
    inside: bool = False,
) -> Frame:
    """Return the frame with everyone's claim worked out.

    `inside` tells that only one container is seen: what others leave it is not known, so it has what its groups used.
    """
    used = sum(load.used for load in loads.values())
    loads = {**loads, **_unnamed(shares, loads)}
    whole = used / capacity if capacity > 0 and (inside or DIVIDED * capacity <= used <= capacity) else 1.0
    claims, capped = _claims(shares, loads, capacity, min(1.0, whole)), _capped(shares, loads, capacity)
    return Frame(capacity, cpu_managed, spare_host, shares, loads, claims, whole_plan, capped, used)


def _claims(shares: PlanShares, loads: Mapping[Key, Load], capacity: float, whole: float) -> dict[Key, float]:
    """Hand out by what is wanted what there is to divide: what the groups used, where that is nearly all.

    What the operating system and other processes took was not the plan's to give.
    """
    if capacity <= 0:
        return {}
    wanted = {key: load.wanted / capacity for key, load in loads.items() if load.wanted >= QUIET}
    return shares.entitled(wanted, whole)


def _capped(shares: PlanShares, loads: Mapping[Key, Load], capacity: float) -> dict[Key, ReachedCap]:
    """Return the groups under a limit that is used up, with the innermost that is."""
    found: dict[Key, ReachedCap] = {}
    for cap in shares.caps if capacity > 0 else ():
        used = sum([loads[key].used for key in cap.keys if key in loads])
        limit = cap.limit * capacity
        if used >= FULL * limit:
            found |= dict.fromkeys(cap.keys, ReachedCap(cap.owner, used, limit))
    return found


def _unnamed(shares: PlanShares, loads: Mapping[Key, Load]) -> dict[Key, Load]:
    """Sum the loads of the groups of each container whose plan cannot be read."""
    found: dict[Key, Load] = {}
    for con_id, name in shares.shares:
        if name == UNNAMED:
            inside = [load for key, load in loads.items() if key[0] == con_id]
            sums = (sum(load.used for load in inside), sum(load.waiting for load in inside))
            found[con_id, UNNAMED] = Load(*sums, sum(load.waiters for load in inside))
    return found


def verdict(key: Key, found: Frame, full: bool) -> Verdict:
    """Return what happens to a group's CPU. `full` is `found.full`, worked out once for all groups.

    Waiting counts only Resource Manager's own waits. The order is that of the remedies: a limit explains a wait
    even on an idle host; then what is less than its due; then plain contention.
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
    place = key if key in shares.shares else (key[0], UNNAMED)
    if place in found.capped:
        return Verdict.CAPPED
    if key not in shares.shares or not found.whole_plan:
        return Verdict.THROTTLED
    claim = found.claims.get(key, 0.0) * found.capacity
    due = load.due(claim)
    if load.used < due - max(SLACK_CPUS, SLACK * due):
        return Verdict.STARVED
    if shares.shares[key] <= 0 and claim < SLACK * load.wanted:
        return Verdict.ZERO_SHARE
    return Verdict.CAGED if full and found.spare_host else Verdict.CONTENDED


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict to show for a group on several instances: the one most in need of a look."""
    return min(verdicts, key=_RANK.__getitem__, default=Verdict.UNKNOWN)
