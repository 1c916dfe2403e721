"""Changes of plans and settings, which every chart should show.

They are activations of plans, with the window that caused them, and parameters and directives that changed between two
polls that read them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import Struct

from presman.analysis.facts.plan_book import plan_name
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.reading import SwitchedPlan
from presman.base.formats import counted
from presman.rows.group_rows import CdbPlanDirective, ContainerPlanDirective, PlanDirective, RsrcPlanHistory
from presman.rows.instance_rows import Parameter, Pdb
from presman.rows.queries import RecordType
from presman.rows.snapshot import Snapshot


class PlanSwitch(Struct, frozen=True):
    """A change of plan: the instant, the new plan ("" if Resource Manager was turned off), its window."""

    at: datetime
    con_id: int
    plan: str
    window: str

    @property
    def text(self) -> str:
        """The mark in words."""
        by = f" ({self.window})" if self.window else ""
        return f"{self.plan or 'no plan'}{by}"


def plan_switches(snapshot: Snapshot) -> tuple[PlanSwitch, ...]:
    """Return the changes of plan in V$RSRC_PLAN_HISTORY, oldest first, those of all instances merged.

    In a container database these are changes of the CDB plan or, if only one container is visible, of its own plan.
    """
    return _switches(snapshot.rows(RsrcPlanHistory))


def newest_switch(rows: tuple[RsrcPlanHistory, ...]) -> SwitchedPlan | None:
    """Return the latest change from one plan to another; None if only one, at startup, is known."""
    for before, mark in reversed(list(pairwise(_switches(rows)))):
        if mark.con_id == before.con_id and mark.plan != before.plan:
            return SwitchedPlan(mark.at, mark.plan, before.plan, mark.window)
    return None


def _switches(history: tuple[RsrcPlanHistory, ...]) -> tuple[PlanSwitch, ...]:
    rows = [row for row in history if row.start_time is not None]
    # From inside a container only its own rows are visible, with its CON_ID.
    top = {row.con_id for row in rows if row.con_id <= ROOT} or {row.con_id for row in rows}
    found: dict[tuple[int, int, str], PlanSwitch] = {}
    for row in rows:
        if row.start_time is not None and row.con_id in top:
            mark = PlanSwitch(row.start_time, row.con_id, plan_name(row.name), row.window_name)
            # The instances of a cluster change the plan within seconds of one another: that is one change.
            found.setdefault((round(row.start_time.timestamp() / 5), row.con_id, mark.plan), mark)
    return tuple(sorted(found.values(), key=lambda mark: (mark.at, mark.con_id, mark.plan)))


_PLAN = "resource_manager_plan"
"""The instance's parameter of this name has its own event: which plan is in force."""

_NAMES = ("con_id", "plan", "group_or_subplan", "pluggable_database", "profile")
"""Columns that identify a directive; the others are its values."""

_ADDED_UP = frozenset({"parallel_servers_target", "parallel_max_servers"})
"""Parameters that are summed over the cluster."""

_NOT_SET = "not set"

_SettingKey = tuple[int, int, str]
_Name = tuple[Any, ...]


class DirectiveChange(NamedTuple):
    """A changed directive: its consumer group, "" for that of a plan or a container; in words."""

    group: str
    text: str


class SettingChanges(NamedTuple):
    """Changes: parameters in words, and directives."""

    parameters: tuple[str, ...] = ()
    directives: tuple[DirectiveChange, ...] = ()


class SettingWatch:
    """Compares V$SYSTEM_PARAMETER and the views of directives with their previous rows.

    They are read once a minute. The polls in between carry the same rows, which are not compared again; a view that
    returned nothing is not compared.
    """

    def __init__(self) -> None:
        self._rows: dict[RecordType, tuple[Any, ...]] = {}
        self._parameters: dict[_SettingKey, str] = {}
        self._directives: dict[RecordType, tuple[dict[_Name, Any], frozenset[str]]] = {}
        """The directives as last read, and the columns that had no values then."""

    def add(self, snapshot: Snapshot) -> SettingChanges:
        """Return the changes since the last snapshot."""
        return SettingChanges(tuple(self._changed_parameters(snapshot)), tuple(self._changed_directives(snapshot)))

    def _news(self, snapshot: Snapshot, record: RecordType) -> tuple[Any, ...]:
        """Return the rows of a view if this poll read them, () if not, or if there are none."""
        # A poll that does not read the view carries the same tuple: no need to compare the rows.
        rows = snapshot.section(record).rows
        if rows is self._rows.get(record, ()):
            return ()
        self._rows[record] = rows
        return rows

    def _changed_parameters(self, snapshot: Snapshot) -> Iterator[str]:
        rows = self._news(snapshot, Parameter)
        if not rows:
            return
        before, now = self._parameters, {(row.inst_id, row.con_id, row.name): row.value for row in rows}
        instances_now = {row.inst_id for row in rows}
        # The values of an instance that is gone are kept, to be compared when it comes back.
        gone = {key: value for key, value in before.items() if key[0] not in instances_now}
        self._parameters = {**gone, **now}
        known = {key[0] for key in before}
        changes: dict[tuple[int, str, str | None, str | None], set[int]] = defaultdict(set)
        for key in now.keys() | before.keys():
            inst_id, con_id, name = key
            old, new = before.get(key), now.get(key)
            if old != new and inst_id in known & instances_now and (name != _PLAN or con_id > ROOT):
                changes[con_id, name, old, new].add(inst_id)
        containers = {row.con_id: row.name for row in snapshot.rows(Pdb)}
        for (con_id, name, old, new), instances in sorted(changes.items(), key=lambda each: each[0][:2]):
            where = f" in {containers.get(con_id, f'container {con_id}')}" if con_id > ROOT else ""
            if instances != instances_now:
                where += f" on instance{'s' * (len(instances) > 1)} {', '.join(map(str, sorted(instances)))}"
            elif len(instances) > 1:
                where += f" on each of {counted(len(instances), 'instance')}"
            if name in _ADDED_UP and len(instances_now & known) > 1:
                sums = [_sum(values, con_id, name, instances_now & known) for values in (before, now)]
                where += f", in total {' → '.join(sums)}" if all(sums) else ""
            yield f"{name.upper()} {old or _NOT_SET} → {new or _NOT_SET}{where}"

    def _changed_directives(self, snapshot: Snapshot) -> Iterator[DirectiveChange]:
        """Return the changes; in the root CDB_RSRC_PLAN_DIRECTIVES has those of all containers."""
        several = bool(snapshot.section(ContainerPlanDirective).rows)
        for record in (CdbPlanDirective, ContainerPlanDirective if several else PlanDirective):
            rows = [row for row in self._news(snapshot, record) if row.status != "PENDING"]
            if not rows:
                continue
            absent, now = snapshot.section(record).absent, {_name(row): row for row in rows}
            before, unknown = self._directives.get(record, (None, absent))
            if not absent <= unknown:  # a column has no values now: that is no change of the plan
                continue
            self._directives[record] = now, absent
            if before is not None and absent == unknown:
                yield from _compared(before, now)


def _sum(values: Mapping[_SettingKey, str], con_id: int, name: str, instances: Collection[int]) -> str:
    """Return the sum of a parameter over instances, "" if it is not a number on one of them."""
    found = [values.get((inst_id, con_id, name), "") for inst_id in instances]
    return str(sum(map(int, found))) if all(each.isdecimal() for each in found) else ""


def _name(row: Any) -> _Name:
    return tuple(getattr(row, each, None) for each in _NAMES)


def _compared(before: Mapping[_Name, Any], now: Mapping[_Name, Any]) -> Iterator[DirectiveChange]:
    old_plans, new_plans = ({name[:2] for name in each} for each in (before, now))
    for _, plan in sorted(new_plans - old_plans, key=str):
        yield DirectiveChange("", f"plan {plan} was created")
    for _, plan in sorted(old_plans - new_plans, key=str):
        yield DirectiveChange("", f"plan {plan} was dropped")
    # Directives of a plan that was created or dropped are part of that event.
    for name in sorted(before.keys() | now.keys(), key=str):
        old, new, plan = before.get(name), now.get(name), name[1]
        if old == new or name[:2] not in old_plans & new_plans:
            continue
        group, target = name[2] or "", name[2] or name[3] or name[4] or "the default"
        if old is None or new is None:
            yield DirectiveChange(group, f"{plan}: directive of {target} {'added' if old is None else 'dropped'}")
        else:
            yield DirectiveChange(group, f"{plan}: {target} {', '.join(_fields(old, new))}")


def _fields(old: Any, new: Any) -> Iterator[str]:
    for field, one, other in zip(old._fields, old, new, strict=True):
        if one != other:
            yield f"{field.upper()} {_value(one)} → {_value(other)}"


def _value(value: Any) -> str:
    return _NOT_SET if value in {None, ""} else str(value)
