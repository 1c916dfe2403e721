"""Cluster: the clock and calendar of events, the instances, the active plans, the counters of the groups.

Time is in seconds; at 0 presman opens the source, and the warm-up runs before that. The active plans determine the plan
tree and the queue rules; their activations are kept as windows.
"""

from collections.abc import Callable
from heapq import heappush

from msgspec import Struct

from presman.base.release import Release
from presman.forecast.scheduler import Group, Limits, Queueing, QueueRule, ServerPoolLimit
from presman.sources.simulator.counters import Count, GroupCounters
from presman.sources.simulator.machine import Machine
from presman.sources.simulator.parsing import Library
from presman.sources.simulator.plan_tree import Node, cdb_tree, plan_tree
from presman.sources.simulator.scenario import OTHER_GROUPS, Scenario

BACKGROUND = "_ORACLE_BACKGROUND_GROUP_"
INTERNAL_PLAN = "INTERNAL_PLAN"
ROOT = 1
"""The CDB root's container."""

_KEPT_WINDOWS = 15
"""Windows of a container that V$RSRC_PLAN_HISTORY keeps."""
_ALWAYS = ("SYS_GROUP", "ORA$AUTOTASK", OTHER_GROUPS)


class PlanActivation(Struct):
    """One activation of a plan, a row of V$RSRC_PLAN_HISTORY. `plan` is "" while Resource Manager is off."""

    sequence: int
    con_id: int
    plan: str
    start: float
    end: float | None
    window: str


class ActivePlans:
    """The active plan of each container, and the history of activations."""

    def __init__(self, scenario: Scenario, release: Release, start: float) -> None:
        self.scenario = scenario
        self.release = release
        self.instances = scenario.capacity.instances
        """The number of open instances: the limits of parallel servers are sums over these."""
        self.cdb = bool(scenario.pdbs)
        self.active: dict[int, str] = {pdb.con_id: pdb.plan for pdb in scenario.pdbs}
        if not self.cdb:
            self.active[0] = scenario.header.plan
        self.windows: list[PlanActivation] = []
        self._ids: dict[str, int] = {}
        self._latest_id = 12_159
        if self.cdb:
            self._open_window(ROOT, scenario.header.cdb_plan, start, "")
        for con_id, plan in self.active.items():
            self._open_window(con_id, plan, start, "")
        self.rebuild()

    @property
    def managed(self) -> bool:
        """Whether a plan manages CPU."""
        return self.cdb or bool(self.active[0])

    @property
    def top(self) -> str:
        """The name of the top plan."""
        return self.scenario.header.cdb_plan if self.cdb else self.active[0] or INTERNAL_PLAN

    @property
    def background(self) -> Group:
        """The group of the background processes."""
        return Group(ROOT if self.cdb else 0, BACKGROUND)

    def change(self, con_id: int, plan: str, now: float, window: str) -> None:
        """Activate another plan in a container, or none ("")."""
        for old in self.windows:
            if old.con_id == con_id and old.end is None:
                old.end = now
        self.active[con_id] = plan
        self._open_window(con_id, plan, now, window)
        self.rebuild()

    def _open_window(self, con_id: int, plan: str, now: float, window: str) -> None:
        sequence = 1 + max((old.sequence for old in self.windows if old.con_id == con_id), default=0)
        self.windows.append(PlanActivation(sequence, con_id, plan, now, None, window))
        windows = [old for old in self.windows if old.con_id == con_id]
        if len(windows) > _KEPT_WINDOWS:
            self.windows.remove(windows[0])

    def rebuild(self) -> None:
        """Build the tree and the queue rules from the current definitions of the active plans."""
        plans = self.scenario.plans
        self.root: Node | None = None
        if self.cdb:
            cpus, name = self.scenario.capacity.cpu_count, self.scenario.header.cdb_plan
            self.root = cdb_tree(name, self.scenario.pdbs, self.active, plans, cpus, self.release)
        elif self.active[0]:
            self.root = plan_tree(plans[self.active[0]], plans)
        self.ceilings: dict[Group, float] = {}
        self.leaves: dict[Group, Node] = {}
        self.subplans: list[str] = []
        """The names of the plans below the top plan."""
        self._resolved: dict[tuple[int, str], Group] = {}
        if self.root is None:
            self.groups = [Group(0, name) for name in _ALWAYS]
            self.ceilings = dict.fromkeys(self.groups, 1.0)
        else:
            self._collect(self.root, 1.0)
            self.groups = list(self.leaves)
        self.limits = self._limits()

    def _collect(self, node: Node, ceiling: float) -> None:
        ceiling *= node.limit
        if node.group is not None:
            self.leaves[node.group] = node
            self.ceilings[node.group] = ceiling
        elif node is not self.root and not self.cdb:
            self.subplans.append(node.name)
        for child in node.children:
            self._collect(child, ceiling)

    def _limits(self) -> Limits:
        capacity = self.scenario.capacity
        target, maximum = capacity.target * self.instances, capacity.maximum * self.instances
        if self.root is None:
            is_automatic = capacity.parallel_degree_policy in {"AUTO", "ADAPTIVE"}
            return Limits(target, maximum, Queueing.FIFO if is_automatic else Queueing.OFF)
        rules = {group: self._rule(group, leaf, target) for group, leaf in self.leaves.items()}
        return Limits(target, maximum, Queueing.FULL, rules, self.root)

    def _rule(self, group: Group, leaf: Node, target: int) -> QueueRule:
        directive = leaf.directive
        pools = []
        for pdb in self.scenario.pdbs:
            limit = pdb.directive.servers_limit(target, self.instances)
            # The percentage of a group inside a limited PDB is of the PDB's limit.
            if pdb.con_id == group.con_id and limit is not None:
                target = limit
                pools.append(ServerPoolLimit(f"PDB {pdb.name}", target))
        since_12 = self.release >= Release(12, 1)
        # From 12.1 on UTILIZATION_LIMIT limits parallel servers, too, where PARALLEL_SERVER_LIMIT is not set.
        percent = directive.parallel_server_limit
        if percent is None and since_12:
            percent = directive.utilization_limit
        if percent is not None:
            pools.append(ServerPoolLimit(f"{group.con_id} {group.name}", target * percent // 100))
        # Before 18 a timeout always cancels the statement; 11.2 has no PARALLEL_STMT_CRITICAL.
        action = directive.pq_timeout_action if self.release >= Release(18) else "CANCEL"
        critical = directive.parallel_stmt_critical if since_12 else "FALSE"
        return QueueRule(
            pools=tuple(pools),
            timeout=directive.parallel_queue_timeout,
            action=action,
            bypass=critical == "BYPASS_QUEUE",
            always=critical == "QUEUE",
            degree_limit=directive.parallel_degree_limit_p1,
        )

    def resolve(self, con_id: int, name: str) -> Group:
        """Return the group of sessions that are mapped to `name`: OTHER_GROUPS if the active plan lacks it."""
        found = self._resolved.get((con_id, name))
        if found is None:
            group = Group(con_id, name)
            found = group if group in self.leaves else Group(con_id, OTHER_GROUPS)
            self._resolved[con_id, name] = found
        return found

    def servers_limit(self, group: Group) -> int:
        """Return the number of parallel servers that the group may use before its statements are queued."""
        return min((pool.limit for pool in self.limits.rule(group).pools), default=self.limits.target)

    def id_of(self, name: str) -> int:
        """Return the object id of a plan or consumer group, the same for every use of the name."""
        if name not in self._ids:
            self._latest_id += 1
            self._ids[name] = self._latest_id
        return self._ids[name]


Handler = Callable[[], None]


class Cluster:
    """The instances of one database under their plans; `dirty` means that CPU must be allocated again."""

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
        """Startup time of each instance; `down` are the instances that are not running, for which no view has rows."""
        self.down: frozenset[int] = frozenset()
        self.library = Library()

    @property
    def open_machines(self) -> list[Machine]:
        """The running instances."""
        return [machine for machine in self.machines if machine.inst_id not in self.down]

    def at(self, when: float, handler: Handler) -> None:
        """Put an event on the calendar."""
        # Events of one instant run in the order in which they were put here: the same seed gives the same run.
        heappush(self.calendar, (when, self._order, handler))
        self._order += 1

    def account(self, inst_id: int, group: Group) -> GroupCounters:
        """Return the counters of a group on one instance."""
        return self.machines[inst_id - 1].account(group)

    def open_accounts(self) -> None:
        """Create the counters of every group of the active plans on every instance."""
        for machine in self.machines:
            for group in [*self.plans.groups, self.plans.background]:
                machine.account(group)

    def count(self, inst_id: int, group: Group, what: Count, amount: float = 1.0) -> None:
        """Add to a counter of a group, for an event without duration."""
        account = self.account(inst_id, group)
        # A copy, because `base`, `mark` and `noted` may be the same list.
        account.totals = list(account.totals)
        account.totals[what] += amount
