"""Limits of the plan in force that may be changed in thought: what each is now, which one is meant. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.caches import RowCache
from presman.analysis.facts.facts import Facts
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead
from presman.base.formats import number
from presman.forecast.scheduler import LEVELS, Group
from presman.reports.advise_load import ArrivalDay, Change, Choice, Knob, ObservedLoad, observed_plan, rules_of
from presman.reports.whatif_cpu import CpuDemands, changes_of_cpu, replay_cpu
from presman.reports.whatif_replay import UNLIMITED, changed, observed_rules
from presman.rows.snapshot import Snapshot

TARGET: Knob = "target", None

_OF_GROUPS = {
    "limits": ("PARALLEL_SERVER_LIMIT", "PARALLEL_TARGET_PERCENTAGE", " %", 100, 5),
    "cpu": ("UTILIZATION_LIMIT", "MAX_UTILIZATION_LIMIT", " %", 100, 5),
    "shares": ("MGMT_P1 to MGMT_P8", "", "", 100, 5),
    "levels": ("level of MGMT_P1 to P8", "", "", LEVELS, 1),
    "degree": ("PARALLEL_DEGREE_LIMIT_P1", "", "", 10_000, 1),
}
"""By kind: what Oracle calls it, what it did before 12.1, its unit, the most it may be, how much a key changes it."""


class PlanLimit(NamedTuple):
    """A limit: its group, its name, what it is `now` (None: there is none) and `then` (None: it stays).

    `why_most` says what makes `most` the most.
    """

    knob: Knob
    title: str
    name: str
    now: int | None
    unit: str
    most: int
    step: int
    then: int | None = None
    why_most: str = ""

    def refusal(self, value: int) -> str:
        """Return why the limit cannot have this value, "" if it can."""
        return "" if 1 <= value <= self.most else f"{self.name} is from 1 to {self.most}{self.why_most}."


class PresentLimits(Struct, frozen=True):
    """The limits of a poll: a load without statements, and what groups want of CPU.

    `titles` are those of groups, by how many parallel statements they have had, the most first.
    """

    load: ObservedLoad
    demands: CpuDemands
    titles: dict[Group, str]

    @classmethod
    def of(cls, reading: Reading, previous: Snapshot | None, snapshot: Snapshot, cache: RowCache) -> PresentLimits:
        """Return the limits in force at a poll, by the snapshots that its reading was made of."""
        plan, demands, none = observed_plan(previous, snapshot, reading), CpuDemands(), ArrivalDay((), frozenset())
        demands.take(Facts.of(previous, snapshot, cache), reading)
        rows = {Group(row.con_id, row.name): row for row in reading.cluster_groups()}
        limits = {group: row.servers_limit for group, row in rows.items() if row.servers_limit is not None}
        target = reading.header.servers.target
        rules = changed(observed_rules(()), target=target, limits=limits, plan=plan.tree, one_queue=plan.one_queue)
        load = ObservedLoad(none, none, rules, plan, 1, 0)
        most = sorted(rows.items(), key=lambda each: -(each[1].totals.completed or 0))
        return cls(load, demands, {group: row.title for group, row in most})

    def limits(self, first: Group | None) -> Iterator[PlanLimit]:
        """Yield what may be changed: of the first group, the target of all, then of those with most statements."""
        plan, target = self.load.plan, self.load.rules.target
        places = {group: place for place, group in enumerate(self.titles)}
        groups = sorted(plan.directives, key=lambda group: (group != first, places.get(group, len(places))))
        limits = [limit for group in groups for limit in self._of_group(group)]
        yield from (limit for limit in limits if limit.knob[1] == first)
        if target < UNLIMITED:
            step = max(1, target // (16 * plan.instances)) * plan.instances
            most, why = plan.maximum or 10 * target, " (PARALLEL_MAX_SERVERS)" if plan.maximum else ""
            yield PlanLimit(TARGET, "all", "PARALLEL_SERVERS_TARGET", target, " servers", most, step, why_most=why)
        yield from (limit for limit in limits if limit.knob[1] != first)

    def _of_group(self, group: Group) -> Iterator[PlanLimit]:
        load, row = self.load, self.load.plan.directives[group]
        level, cpu = load.level(group), row.utilization_limit
        now = {
            "limits": load.percent(group),
            "cpu": 100 if cpu is None or cpu < 0 else cpu,
            "shares": None if level is None else load.percentage(group),
            "levels": level,
            "degree": row.parallel_degree_limit_p1,
        }
        for kind, (name, before, unit, most, step) in _OF_GROUPS.items():
            if now[kind] is not None or kind == "degree":
                called = before if before and load.plan.is_old else name
                title = self.titles.get(group, group.name)
                yield PlanLimit((kind, group), title, called, now[kind], unit, most, step)

    def possible(self, choice: Choice) -> Choice:
        """Return the changes of groups that the plan still has."""
        return frozenset(each for each in choice if each.group is None or each.group in self.load.plan.directives)

    def cautions(self, choice: Choice) -> list[str]:
        """Return what a choice does besides, and what is not known of it, as sentences."""
        now, then = self.load.rules, rules_of(self.load, choice)
        found = [self._lacks(choice)] if changes_of_cpu(choice) else []
        if then.target > now.target or any(
            most > now.limits.get(group, now.target) for group, most in then.limits.items()
        ):
            found.append("More servers at once share the same CPUs: statements may run longer than presman assumes.")
        if any(each.kind == "degree" for each in choice):
            found.append("Statements already queued keep their degree; a lower limit is for those that come later.")
        return found

    def _lacks(self, choice: Choice) -> str:
        """Return how many CPUs groups lack at this poll now and under a choice."""
        demands = self.demands.found
        if not demands:
            return f"What CPU groups would get is not known{self.demands.hidden and f': {self.demands.hidden}'}."
        seconds = demands[0].seconds
        lacks = [
            f"{name} {number(each.replayed / seconds)} -> {number(each.changed / seconds)}"
            for (_, name), each in replay_cpu(demands, changes_of_cpu(choice)).items()
            if max(each.replayed, each.changed) >= 0.05 * seconds
        ]
        return f"CPUs that groups lack at this poll, now -> what if: {', '.join(lacks) or 'none'}."


class LimitChanges:
    """Limits as keys change them: their new `values`."""

    def __init__(self) -> None:
        self.values: dict[Knob, int] = {}
        self._typed: tuple[Knob | None, str] = (None, "")

    @property
    def choice(self) -> Choice:
        """The changes as advice has them."""
        return frozenset(Change(*knob, value) for knob, value in self.values.items())

    def type(self, limit: PlanLimit, digit: str) -> str:
        """Take a digit of a value, behind those typed before for the same limit; return why not, "" if it was taken."""
        typed = (self._typed[1] if self._typed[0] == limit.knob else "") + digit
        refused = limit.refusal(int(typed))
        self._typed = (None, "") if refused else (limit.knob, typed)
        if not refused:
            self._put(limit, int(typed))
        return refused

    def step(self, limit: PlanLimit, direction: int) -> None:
        """Take a larger (1) or a smaller value (-1), or that in force (0)."""
        self._typed = None, ""
        value = (self.values.get(limit.knob, limit.now) or 0) + direction * limit.step
        self._put(limit, min(limit.most, max(1, value)) if direction else limit.now)

    def _put(self, limit: PlanLimit, value: int | None) -> None:
        self.values.pop(limit.knob, None)
        if value is not None and value != limit.now:
            self.values[limit.knob] = value


# ---- Which limit is meant.


def of_group(group: Group, reading: Reading, *, of_cpu: bool = False) -> Knob:
    """Return the limit that holds a group back: by which the head of its queue waits, else that of its CPU."""
    head = next((each for each in reading.heads if (each.con_id, each.group) == group), None)
    if head is not None and not of_cpu:
        return _binding(head, group)
    row = next((each for each in reading.cluster_groups() if (each.con_id, each.name) == group), None)
    verdict = None if row is None else row.verdict
    if verdict is Verdict.CAPPED:
        return "cpu", group
    return ("shares" if verdict in {Verdict.STARVED, Verdict.SHORT, Verdict.ZERO_SHARE} else "limits"), group


def _binding(head: QueueHead, group: Group) -> Knob:
    by_group = any(each.group for each in head.shortages) or head.cause is Cause.GROUP
    if by_group or (head.cause is Cause.NEVER_FITS and not head.starts_alone):
        return "limits", group
    return ("shares", group) if head.cause is Cause.NOT_CHOSEN else TARGET


def of_alerts(alerts: Sequence[Alert], reading: Reading, subject: str) -> tuple[Group | None, Knob]:
    """Return the group and the limit that the alert of a subject names, else the first one that names any."""
    groups = {name: Group(row.con_id, row.name) for row in reading.cluster_groups() for name in (row.name, row.title)}
    named = [each for each in alerts if each.subject in groups]
    for alert in sorted(named, key=lambda each: each.subject != subject):
        group = groups[alert.subject]
        return group, of_group(group, reading, of_cpu=alert.key.startswith("cpu_"))
    return None, TARGET
