"""The parallel statement queue: which statements start, wait (and why), time out, or are downgraded.

Pure except for its own state: no clock, no database, no SQL. Servers are counted over all instances, as Oracle does.

A statement starts if the servers in use and those it needs fit PARALLEL_SERVERS_TARGET and the limits of the pools it
draws from (its group's, its PDB's). A statement that needs more than the whole target or limit can never fit by that
rule; published observations on 12.1 show that it started alone, once no servers were in use (36 servers on a target of
24), so the model does the same for the target, and by analogy for the limits, but not for a limit of 0, which allows
none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import accumulate, takewhile
from random import Random
from typing import NamedTuple, Protocol

from msgspec import Struct, field

LEVELS = 8  # MGMT_P1 to MGMT_P8 of a plan directive


class Group(NamedTuple):
    """A consumer group of one container (0 outside a CDB)."""

    con_id: int
    name: str


class PlanNode(Protocol):
    """One plan, PDB or consumer group in the tree of plans. `group` is set on the leaves.

    `weights` is its part of each level of its parent (0..1).
    """

    @property
    def weights(self) -> tuple[float, ...]: ...  # noqa: D102
    @property
    def children(self) -> Sequence[PlanNode]: ...  # noqa: D102
    @property
    def group(self) -> Group | None: ...  # noqa: D102


class Queueing(Enum):
    """V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED: no queue, one for all, or one per consumer group."""

    OFF = "OFF"
    FIFO = "FIFO"
    FULL = "FULL"


class QueueOutcome(Enum):
    """The result of a statement in the last call."""

    STARTED = "started"
    CANCELLED = "timed out"
    FORCED = "timed out and started"


class ServerPoolLimit(Struct, frozen=True):
    """A limit on servers that several statements share: a group's or a PDB's limit."""

    name: str
    limit: int


class QueueRule(Struct, frozen=True):
    """The plan's rule for one group's parallel statements.

    `timeout` is in seconds, `action` is PQ_TIMEOUT_ACTION. By PARALLEL_STMT_CRITICAL the statements never queue
    (`bypass`), or queue whatever the policy of their session is (`always`).
    """

    pools: tuple[ServerPoolLimit, ...] = ()
    timeout: float | None = None
    action: str = "CANCEL"
    bypass: bool = False
    always: bool = False
    degree_limit: int | None = None


class WeightedGroups(NamedTuple):
    """The groups among which the next head is drawn: in order, as a set, and their cumulative weights."""

    groups: tuple[Group, ...]
    members: frozenset[Group]
    weights: tuple[float, ...]


class Limits(Struct, frozen=True, dict=True):
    """The configuration: target and maximum of servers over all instances, the queueing, a rule per group."""

    target: int
    maximum: int
    queueing: Queueing
    rules: Mapping[Group, QueueRule] = field(default_factory=dict)
    root: PlanNode | None = None

    def rule(self, group: Group) -> QueueRule:
        """Return the rule of `group`; one without limits if the plan has none."""
        return self.rules.get(group, _FREE)

    @cached_property
    def timeouts(self) -> Mapping[Group, float]:
        """Return the groups whose statements time out, each with its seconds."""
        return {group: rule.timeout for group, rule in self.rules.items() if rule.timeout is not None}

    def served_first(self, groups: frozenset[Group]) -> WeightedGroups:
        """Return the groups that the plan serves first among `groups`; computed once for each set of groups."""
        if groups not in self._served_first:
            # Without a plan that names them the groups have equal chances; sorted, because the order of a set differs
            # from process to process, and a seed must give the same draws.
            found = (_first_level(self.root, groups) if self.root else {}) or dict.fromkeys(sorted(groups), 1.0)
            upto = tuple(accumulate(found.values()))
            self._served_first[groups] = WeightedGroups(tuple(found), frozenset(found), upto)
        return self._served_first[groups]

    @cached_property
    def _served_first(self) -> dict[frozenset[Group], WeightedGroups]:
        return {}


_FREE = QueueRule()


class QueueEntry(Struct):
    """One parallel statement in the queue. `wants` is DOP x sets; `queues` is its session's policy.

    `degree` and `servers` are what it got when it started; `managed` says whether the group's counters count it.
    """

    number: int
    group: Group
    dop: int
    sets: int
    submitted: float
    queues: bool = True
    degree: int = 0
    servers: int = 0
    managed: bool = True
    running: bool = False

    @property
    def needs(self) -> int:
        """Return the servers it needs: DOP x sets, with the DOP after the group's degree limit."""
        degree = self.degree or self.dop
        return degree * self.sets if degree > 1 else 0


class HeldServers:
    """The servers that running statements hold under each shared limit."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def add(self, entry: QueueEntry, rule: QueueRule, servers: int) -> None:
        """Count servers that a statement takes, or gives back if negative."""
        # As in V$RSRC_CONSUMER_GROUP.CURRENT_PQ_SERVERS_ACTIVE, statements that never queue do not count.
        if entry.managed:
            held = self._held
            for pool in rule.pools:
                held[pool.name] = held.get(pool.name, 0) + servers

    def of(self, pool: str) -> int:
        """Return the servers held by statements under the limit of that name."""
        return self._held.get(pool, 0)

    def binds(self, entry: QueueEntry, rule: QueueRule) -> bool:
        """Return whether a limit of its group or PDB keeps a statement waiting.

        A statement that wants more than the limit waits until nothing is held under it; under a limit of 0, for ever.
        """
        needs = entry.needs
        for pool in rule.pools:
            held = self._held.get(pool.name, 0)  # a forecast does this a million times, so `_exceeds` is inlined
            if (held > 0 or not pool.limit) if needs > pool.limit else held + needs > pool.limit:
                return True
        return False


def _exceeds(needs: int, held: int, limit: int) -> bool:
    return held > 0 if needs > limit else held + needs > limit


class SeededRandom:
    """Random numbers from a seed; the slow generator is made on first use, because many courses need none."""

    def __init__(self, seed: str | int) -> None:
        self._seed = seed

    @cached_property
    def random(self) -> Random:
        """The generator."""
        return Random(self._seed)


class PlanOrder:
    """The next head by the plan: the first level with a head that fits, and a draw among its groups.

    A draw stands until the drawn statement has started, so that small statements do not pass a big one, or until a
    statement of another group joins the choice.
    """

    def __init__(self, limits: Limits, chance: SeededRandom) -> None:
        self._limits, self._chance = limits, chance
        self._next: Group | None = None
        self._from: frozenset[Group] = frozenset()

    def next_of(self, groups: frozenset[Group]) -> Group:
        """Return the group whose turn it is among those whose heads are within their limits."""
        first = self._limits.served_first(groups)
        chosen = self._next
        if chosen is None or chosen not in first.members or not first.members <= self._from:
            chosen = first.groups[0]
            if len(first.groups) > 1:
                chosen = self._chance.random.choices(first.groups, cum_weights=first.weights)[0]
        self._next, self._from = chosen, first.members
        return chosen

    def forget(self) -> None:
        """Draw the next head again: the drawn one has started, or none fits any more."""
        self._next = None


class StatementQueue:
    """The queue of one cluster. Call `submit` and `release`, then `pump` to get the statements that start."""

    def __init__(self, limits: Limits, chance: SeededRandom) -> None:
        self.limits = limits
        self._chance = chance
        self._order = _order(limits, chance)
        self._queues: dict[Group, list[QueueEntry]] = {}
        self._running: dict[int, QueueEntry] = {}
        self.in_use = 0
        self.held = HeldServers()

    def change(self, limits: Limits, groups: Mapping[int, Group]) -> None:
        """Apply other limits; `groups` has each statement's consumer group under them, by number."""
        # Statements join the queue of their new group in the order in which they were submitted.
        waiting = sorted(self.queued(), key=lambda entry: (entry.submitted, entry.number))
        self.limits = limits
        self._queues, self._order = {}, _order(limits, self._chance)
        for entry in waiting:
            entry.group = groups.get(entry.number, entry.group)
            self._queues.setdefault(entry.group, []).append(entry)
        for entry in self._running.values():
            entry.group = groups.get(entry.number, entry.group)
        # The new limits may have other pools and other members, so what is held under them is counted anew.
        self.held = HeldServers()
        for entry in self._running.values():
            self._hold(entry, entry.servers)

    def _hold(self, entry: QueueEntry, servers: int) -> None:
        self.held.add(entry, self.limits.rule(entry.group), servers)

    def submit(self, entry: QueueEntry) -> bool:
        """Take a statement; return whether it started at once because it never queues."""
        rule = self.limits.rule(entry.group)
        cap = rule.degree_limit
        if cap is not None and entry.dop > cap:
            entry.degree = cap
        never = rule.bypass or self.limits.queueing is Queueing.OFF or not (entry.queues or rule.always)
        # A serial statement needs no server, so it never queues either.
        if never or not entry.needs:
            entry.managed = not never
            self._start(entry)
            return True
        queue = self._queues.get(entry.group)
        if queue is None:
            self._queues[entry.group] = [entry]
        else:
            queue.append(entry)
        return False

    def _start(self, entry: QueueEntry) -> None:
        degree = entry.degree or entry.dop
        # PARALLEL_MAX_SERVERS: a statement that finds fewer servers than it needs is downgraded, at last to serial.
        free = max(0, self.limits.maximum - self.in_use)
        if degree * entry.sets > free:
            degree = free // entry.sets
        if degree < 2:
            degree = 1
        entry.degree = degree
        entry.servers = degree * entry.sets if degree > 1 else 0
        entry.running = True
        self._running[entry.number] = entry
        self.in_use += entry.servers
        self._hold(entry, entry.servers)

    def resume(self, entry: QueueEntry, servers: int) -> None:
        """Count a statement that already holds servers."""
        entry.servers, entry.running = servers, True
        self._running[entry.number] = entry
        self.in_use += servers
        self._hold(entry, servers)

    def release(self, entry: QueueEntry) -> None:
        """Return the servers of a running statement, or remove a waiting one from the queue."""
        if self._running.pop(entry.number, None) is not None:
            self.in_use -= entry.servers
            self._hold(entry, -entry.servers)
            entry.running = False
        else:
            self._remove(entry)

    def _remove(self, entry: QueueEntry) -> None:
        queue = self._queues[entry.group]
        queue.remove(entry)
        if not queue:
            del self._queues[entry.group]

    def force(self, entry: QueueEntry) -> None:
        """Start a waiting statement regardless of the limits, as DEQUEUE_PARALLEL_STATEMENT does."""
        self._remove(entry)
        self._start(entry)

    def requeue(self, entry: QueueEntry, group: Group) -> None:
        """Move a waiting statement to another group's queue, ordered by its submission."""
        self._remove(entry)
        entry.group = group
        queue = self._queues.setdefault(group, [])
        queue.append(entry)
        queue.sort(key=lambda other: (other.submitted, other.number))

    def move(self, entry: QueueEntry, group: Group) -> None:
        """Switch a running statement to another consumer group; its servers count there from now on."""
        self._hold(entry, -entry.servers)
        entry.group = group
        self._hold(entry, entry.servers)

    def pump(self) -> list[QueueEntry]:
        """Start all statements that may start now, in the plan's order, and return them."""
        started: list[QueueEntry] = []
        while self._queues:
            group = self._choose()
            if group is None:
                break
            head = self._queues[group][0]
            # No other head is tried: if smaller statements passed the chosen one, it might never start.
            if _exceeds(head.needs, self.in_use, self.limits.target):
                break
            self._remove(head)
            if self._order is not None:
                self._order.forget()
            self._start(head)
            started.append(head)
        return started

    def expire(self, now: float) -> list[tuple[QueueEntry, QueueOutcome]]:
        """Remove the statements that have reached their group's timeout; RUN starts them, downgraded if necessary.

        Only the first ones of each group are checked: a forecast calls this at each timeout of a queue of thousands.
        """
        out = []
        for group in [group for group in self._queues if group in self.limits.timeouts]:
            is_run = self.limits.rule(group).action == "RUN"
            for entry in self._overdue(group, now):
                self._remove(entry)
                # PQ_TIMEOUT_ACTION: RUN starts it whatever the target is, CANCEL ends it with ORA-07454.
                if is_run:
                    self._start(entry)
                out.append((entry, QueueOutcome.FORCED if is_run else QueueOutcome.CANCELLED))
        return out

    def _overdue(self, group: Group, now: float) -> list[QueueEntry]:
        timeout = self.limits.timeouts[group]
        return list(takewhile(lambda entry: now >= entry.submitted + timeout - 1e-9, self._queues[group]))

    def next_timeout(self) -> float | None:
        """Return when the first statement in the queue times out, None if none will."""
        # All statements of a group have the same timeout, so the first of its queue reaches it first.
        queues, first = self._queues, None
        for group, timeout in self.limits.timeouts.items():
            if group in queues:
                at = queues[group][0].submitted + timeout
                first = at if first is None or at < first else first
        return first

    def queued(self) -> list[QueueEntry]:
        """Return the waiting statements, group by group in order of arrival."""
        return [entry for queue in self._queues.values() for entry in queue]

    def is_first(self, entry: QueueEntry) -> bool:
        """Return whether a waiting statement is the first of its group."""
        return self._queues[entry.group][0] is entry

    def running(self) -> Iterable[QueueEntry]:
        """Return the running statements."""
        return self._running.values()

    def _choose(self) -> Group | None:
        """Return the group whose head is next among those within their limits: by the plan, or by arrival."""
        # A head that its own limit keeps waiting does not hold up other groups: the plan chooses among the rest.
        rules = self.limits.rules
        heads = [
            group
            for group, queue in self._queues.items()
            if (rule := rules.get(group)) is None or not rule.pools or not self.held.binds(queue[0], rule)
        ]
        if self._order is None:
            return min(map(self._came_first, heads), default=(0.0, 0, None))[2]
        if not heads:
            self._order.forget()
            return None
        return self._order.next_of(frozenset(heads))

    def _came_first(self, group: Group) -> tuple[float, int, Group | None]:
        head = self._queues[group][0]
        return head.submitted, head.number, group


def _order(limits: Limits, chance: SeededRandom) -> PlanOrder | None:
    """Return the order of the plan, None if one queue serves all groups or there is no plan."""
    if limits.root is None or limits.queueing is not Queueing.FULL:
        return None
    return PlanOrder(limits, chance)


def _first_level(node: PlanNode, heads: Collection[Group]) -> dict[Group, float]:
    """Return the groups of `heads` that the plan serves first, with the weights of the draw among them."""
    if node.group is not None:
        return {node.group: 1.0} if node.group in heads else {}
    # A branch without a head that fits is left out, so its part goes to the others of its level, or to the next level.
    below = [(child, found) for child in node.children if (found := _first_level(child, heads))]
    if not below:
        return {}
    for level in range(LEVELS):
        served = [(child, found) for child, found in below if child.weights[level] > 0]
        if served:
            total = sum(child.weights[level] for child, _ in served)
            parts = ((child.weights[level] / total, found) for child, found in served)
            return {group: part * chance for part, found in parts for group, chance in found.items()}
    # None of them has a part in any level: the plan ranks none before another, so they have equal chances.
    return {group: chance / len(below) for _, found in below for group, chance in found.items()}
