"""Cluster: a clock with its calendar, the instances, the plans in force, the counters of the groups.

Time is seconds, 0 the moment presman opens; before it runs the warm-up.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import TYPE_CHECKING

from presman.sources.simulator.active_plans import ActivePlans
from presman.sources.simulator.machine import Machine
from presman.sources.simulator.parsing import Library

if TYPE_CHECKING:
    from presman.base.release import Release
    from presman.sources.simulator.group_counters import Count, GroupCounters
    from presman.sources.simulator.plan_tree import Group
    from presman.sources.simulator.scenario import Scenario

Handler = Callable[[], None]


class Cluster:
    """The instances of one database under their plans; `dirty` says that CPU must be handed out anew."""

    def __init__(self, scenario: Scenario, release: Release, seed: int) -> None:
        self.scenario = scenario
        self.release = release
        self.seed = seed
        self.now = -scenario.header.warmup
        self.dirty = True
        self.calendar: list[tuple[float, int, Handler]] = []
        self._order = 0
        self.plans = ActivePlans(scenario, release, self.now)
        self.born = self.now - scenario.header.uptime
        numbers = range(1, scenario.capacity.instances + 1)
        self.machines = [Machine(number, scenario, seed, self.born, release) for number in numbers]
        self.started = dict.fromkeys(numbers, self.born)
        """When each instance was started; `down` are those that are away, of which no view has a row."""
        self.down: frozenset[int] = frozenset()
        self.library = Library()

    def at(self, when: float, handler: Handler) -> None:
        """Put an event on the calendar."""
        heappush(self.calendar, (when, self._order, handler))
        self._order += 1

    def account(self, inst_id: int, group: Group) -> GroupCounters:
        """Return a group's account on one instance."""
        return self.machines[inst_id - 1].account(group)

    def open_accounts(self) -> None:
        """Open the accounts of every group of the active plans on every instance."""
        for machine in self.machines:
            for group in [*self.plans.groups, self.plans.background]:
                machine.account(group)

    def count(self, inst_id: int, group: Group, what: Count, amount: float = 1.0) -> None:
        """Count something that happened at once."""
        account = self.account(inst_id, group)
        account.totals = list(account.totals)
        account.totals[what] += amount
