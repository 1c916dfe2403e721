"""Plan changes, which belong beside every chart: when a plan was activated, and by which window."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from msgspec import Struct

from presman.analysis.facts.plan_book import plan_name
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.instance_readings import SwitchedPlan
from presman.rows.plan_rows import RsrcPlanHistory
from presman.rows.snapshot import Snapshot


class PlanSwitch(Struct, frozen=True):
    """A change of plan: the instant, the plan that came ("" where Resource Manager was turned off), its window."""

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
    """Return the changes of plan that V$RSRC_PLAN_HISTORY knows, oldest first, the instances' together.

    In a container database those of the CDB plan and, where only one container is seen, its own.
    """
    return _switches(snapshot.rows(RsrcPlanHistory))


def newest_switch(rows: tuple[RsrcPlanHistory, ...]) -> SwitchedPlan | None:
    """Return the newest change from one plan to another; None where only one is known: it came with the instance."""
    marks = _switches(rows)
    for before, mark in reversed(list(pairwise(marks))):
        if mark.con_id == before.con_id and mark.plan != before.plan:
            return SwitchedPlan(mark.at, mark.plan, before.plan, mark.window)
    return None


def _switches(history: tuple[RsrcPlanHistory, ...]) -> tuple[PlanSwitch, ...]:
    rows = [row for row in history if row.start_time is not None]
    top = {row.con_id for row in rows if row.con_id <= ROOT} or {row.con_id for row in rows}
    found: dict[tuple[int, int, str], PlanSwitch] = {}
    for row in rows:
        if row.start_time is not None and row.con_id in top:
            mark = PlanSwitch(row.start_time, row.con_id, plan_name(row.name), row.window_name)
            found.setdefault((round(row.start_time.timestamp() / 5), row.con_id, mark.plan), mark)
    return tuple(sorted(found.values(), key=lambda mark: (mark.at, mark.con_id, mark.plan)))
