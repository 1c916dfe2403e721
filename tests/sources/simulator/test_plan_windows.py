"""Plan windows of each container: plans are numbered, each ends when the next begins, the oldest are dropped."""

from __future__ import annotations

from typing import Any

from presman.sources.simulator import cluster
from presman.sources.simulator.cluster import ActivePlans

KEPT = cluster._KEPT_WINDOWS


class Plans(ActivePlans):
    """Plans without a scenario; `rebuilt` counts how often they were calculated."""

    def __init__(self) -> None:
        self.windows: list[Any] = []
        self.active = {}
        self.rebuilt = 0

    def rebuild(self) -> None:
        self.rebuilt += 1

    def listed(self, con_id: int) -> list[tuple[int, str, float, float | None, str]]:
        own = (each for each in self.windows if each.con_id == con_id)
        return [(each.sequence, each.plan, each.start, each.end, each.window) for each in own]


def test_each_container_has_its_own_and_the_next_ends_the_one_before() -> None:
    plans = Plans()
    for con_id, plan, now in ((3, "DAY", 1.0), (4, "DAY", 2.0), (3, "NIGHT", 5.0), (3, "", 9.0)):
        plans.change(con_id, plan, now, "MONDAY" if plan == "NIGHT" else "")
    assert plans.listed(3) == [(1, "DAY", 1.0, 5.0, ""), (2, "NIGHT", 5.0, 9.0, "MONDAY"), (3, "", 9.0, None, "")]
    assert plans.listed(4) == [(1, "DAY", 2.0, None, "")]
    assert (plans.active, plans.rebuilt) == ({3: "", 4: "DAY"}, 4)


def test_a_limited_number_is_kept_for_each_container() -> None:
    plans = Plans()
    plans.change(4, "DAY", 0.0, "")
    for number in range(1, KEPT + 3):
        plans.change(3, "DAY", float(number), "")
    assert [sequence for sequence, *_ in plans.listed(3)] == list(range(3, KEPT + 3))
    assert len(plans.listed(4)) == 1
