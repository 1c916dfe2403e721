"""CPU under other directives: the demand at each poll divided again by a plan with other shares, levels or limits.

A group's demand is the CPUs that it used plus those that it waited for (V$RSRC_CONSUMER_GROUP). Times are CPU seconds.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch, Key, PlanShares
from presman.analysis.groups.entitlement import DIVIDED, FULL, QUIET, Load
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.base.formats import counted, duration
from presman.forecast.scheduler import Group

ASSUMPTIONS = (
    "at each poll a group wants the CPUs that it used and those that it waited for: work that is left over does not "
    "make later polls busier",
    "where limits held groups back, all CPUs of the instance are divided; where nearly all were used without a "
    "limit, only what the groups used together",
)


CpuChanges = Mapping[str, Mapping[str, float]]
"""New values by group and kind: percent or `shares` on a level, the level (1..8), percent of the CPUs (`cpu`)."""


def changes_of_cpu(changes: Iterable[tuple[str, Group | None, int]]) -> CpuChanges:
    """Return the changes that affect CPU, by group, from changes of directives (kind, group, value)."""
    found: dict[str, dict[str, float]] = {}
    for kind, group, value in changes:
        if group is not None and kind in {"shares", "levels", "cpu"}:
            found.setdefault(group.name, {})[kind] = value
    return found


class CpuDemand(NamedTuple):
    """CPU demand of one instance's groups during the `seconds` before a poll, and the plan that divided its CPUs."""

    seconds: float
    capacity: float
    loads: Mapping[Key, Load]
    shares: PlanShares
    inside: bool = False


class CpuDemands:
    """Demands at all polls so far."""

    def __init__(self) -> None:
        self.found: list[CpuDemand] = []
        self._hidden: Counter[str] = Counter()

    @property
    def hidden(self) -> str:
        """Why some polls have none: the most frequent reason, "" if all have one."""
        return next((why for why, _ in self._hidden.most_common(1)), "")

    def take(self, facts: Facts, reading: Reading) -> None:
        """Add a poll. It is left out if the division of CPUs is unknown."""
        if reading.interval is None:
            return
        alone = len(reading.header.instances) == 1
        for instance in reading.header.instances:
            inst_id, shares = instance.inst_id, facts.division.shares[instance.inst_id]
            at = CLUSTER if alone else inst_id
            # A group that the view does not list has no sessions.
            rows = [row for row in reading.groups if row.inst_id == at and (row.is_listed() or row.doubt)]
            unseen = "" if rows else reading.why_unknown("starved group")
            if hidden := unseen or next(filter(None, (_hidden(row, shares) for row in rows)), ""):
                self._hidden[hidden] += 1
            if hidden or not rows or not instance.num_cpus:
                continue
            loads = {}
            for row in rows:
                loads[row.con_id, row.name] = Load(row.used or 0.0, row.waiting or 0.0, row.execution_waiters or 0)
            inside = facts.plans.inside is not None
            self.found.append(CpuDemand(reading.interval, instance.num_cpus, loads, shares, inside))


def _hidden(row: GroupReading, shares: PlanShares) -> str:
    """Return why it is not known what a group wants or is due, "" if it is known."""
    if row.verdict is Verdict.NOT_MANAGED:
        return "CPU was not managed, so waits for it were not counted"
    if row.doubt or row.used is None:
        return row.doubt or f"no delta of {row.name} yet"
    if row.wanted is None:
        return f"how long {row.name} waited for CPU is not known"
    if not shares.shares:
        return "no plan that can be read divides CPU"
    return row.hidden if shares.has((row.con_id, row.name)) else ""


class GroupCpu(Struct, frozen=True):
    """CPU of a group over all polls: the CPU it wanted, and the CPU it lacked as observed, replayed, and changed."""

    wanted: float
    observed: float
    replayed: float
    changed: float


def under(shares: PlanShares, changes: CpuChanges) -> PlanShares:
    """Return the shares of a plan in which the named groups have other directives."""
    return PlanShares.of(_under(shares.root, changes, None))


def _under(branch: Branch, changes: CpuChanges, above: float | None) -> Branch:
    if branch.key is None:
        return replace(branch, branches=tuple(_under(each, changes, branch.limit) for each in branch.branches))
    change = changes.get(branch.name)
    if change is None:
        return branch
    level = next((index for index, part in enumerate(branch.parts) if part > 0), 0)
    part = change.get("shares", branch.parts[level])
    level = int(change.get("levels", level + 1)) - 1
    limit = branch.limit
    if (percent := change.get("cpu")) is not None:
        limit = above if percent >= 100 else percent / 100 * (1.0 if above is None else above)
    parts = tuple(part if index == level else 0.0 for index in range(len(branch.parts)))
    return replace(branch, parts=parts, limit=limit)


def given(demand: CpuDemand, shares: PlanShares) -> dict[Key, float]:
    """Return the CPUs that each group gets for a demand; a group that the plan does not name keeps what it had."""
    wanted = {key: load.wanted / demand.capacity for key, load in demand.loads.items() if load.wanted >= QUIET}
    claims = shares.entitled(wanted, _whole(demand))
    got = {key: claims[key] * demand.capacity for key in demand.loads if key in claims}
    return {key: min(load.wanted, got[key]) if key in got else load.used for key, load in demand.loads.items()}


def _whole(demand: CpuDemand) -> float:
    """Return the part of the CPUs that can be divided, judged by the use under the plan of that time.

    What groups outside the plan had, they keep.
    """
    used = sum(load.used for load in demand.loads.values()) / demand.capacity
    limited = False
    for cap in demand.shares.caps:
        inside = sum(demand.loads[key].used for key in cap.keys if key in demand.loads)
        limited = limited or inside >= FULL * cap.limit * demand.capacity
    # Inside a pluggable database the CDB plan cannot be seen: its groups had to share what they used together.
    scarce = demand.inside or DIVIDED <= used <= 1.0
    outside = sum(load.used for key, load in demand.loads.items() if not demand.shares.has(key)) / demand.capacity
    return max(0.0, (used if scarce and not limited else 1.0) - outside)


def replay_cpu(demands: Iterable[CpuDemand], changes: CpuChanges) -> dict[Key, GroupCpu]:
    """Return the CPU that each group lacked, and what it would lack with the changes."""
    sums: dict[Key, list[float]] = {}
    made: dict[int, tuple[PlanShares, PlanShares]] = {}
    for demand in demands:
        # By identity: thousands of polls share a plan. The plan is kept beside, so that its id is not used again.
        _, other = made.setdefault(id(demand.shares), (demand.shares, under(demand.shares, changes)))
        same, then = given(demand, demand.shares), given(demand, other)
        for key, load in demand.loads.items():
            lacks = [load.wanted, *(load.wanted - got for got in (load.used, same[key], then[key]))]
            total = sums.setdefault(key, [0.0] * 4)
            sums[key] = [have + demand.seconds * more for have, more in zip(total, lacks, strict=True)]
    return {key: GroupCpu(*total) for key, total in sums.items()}


def cpu_report(demands: Sequence[CpuDemand], changes: CpuChanges) -> str:
    """Return the whole text: the error of the replay, a comparison by group, assumptions. Ends in a newline."""
    found = replay_cpu(demands, changes)
    off = sum(abs(each.observed - each.replayed) for each in found.values())
    wanted = sum(each.wanted for each in found.values())
    lines = [
        f"CPU in {counted(len(demands), 'poll')}, each of an instance; times are minutes and seconds of CPU",
        "replayed under the plan of that time, the CPU that groups lack is off by "
        f"{_percent(off, wanted)} of what they wanted",
        "",
        f"{'group':<26} {'wanted':>9} {'throttled: observed':>20} {'replayed':>16} {'what if':>16}",
    ]
    lines += [_line(key, each) for key, each in sorted(found.items()) if each.wanted >= 1.0 or key[1] in changes]
    if sentence := _never_short(found.values(), wanted):
        lines += ["", sentence]
    return "\n".join([*lines, "", "assumptions:", *(f"  - {text}" for text in ASSUMPTIONS)]) + "\n"


_NOTHING = 0.005
"""The largest part of the demand that is shown as 0 %."""


def _never_short(found: Collection[GroupCpu], wanted: float) -> str:
    """Return a sentence for polls at which no group lacked CPU, "" if one did."""
    if sum(each.observed for each in found) >= _NOTHING * wanted:
        return ""
    if sum(each.changed for each in found) < _NOTHING * wanted:
        return "CPU was never short: no group waited for it, and under these directives none would have."
    return "CPU was never short: under these directives a group waits only because of a limit."


def _line(key: Key, each: GroupCpu) -> str:
    con_id, name = key
    lacks = each.observed, each.replayed, each.changed
    cells = [f"{duration(lack)} ({_percent(lack, each.wanted)})" for lack in lacks]
    title = f"{name}#{con_id}" if con_id else name
    return f"{title:<26} {duration(each.wanted):>9} {cells[0]:>20} {cells[1]:>16} {cells[2]:>16}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "0 %"


def groups_with_cpu(demands: Sequence[CpuDemand]) -> dict[str, bool]:
    """Return the names of the groups whose CPU is available, and whether a plan names them, so that it divided it."""
    found: dict[str, bool] = {}
    for demand in demands:
        for key in demand.loads:
            found[key[1]] = found.get(key[1], False) or key in demand.shares.shares
    return dict(sorted(found.items()))
