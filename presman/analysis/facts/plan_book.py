"""Rights under a resource plan: guaranteed shares, entitlement among those with demand, limits.

A plan is a tree of branches: consumer groups at the ends, subplans between, and in a container database the pluggable
databases' plans under the CDB plan. Fractions are of the whole that the tree divides, 0..1.

Three rules give all figures. EMPHASIS plans give each level a percentage of the rest that the levels above left; the
unused part of a branch goes to the next level, not to its siblings. RATIO plans divide by weight. Limits of nested
branches multiply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from presman.rows.group_rows import Plan, PlanDirective

Key = tuple[int, str]
"""A consumer group: container and name. The same name in two containers means two groups."""

OTHER_GROUPS = "OTHER_GROUPS"
"""The group of sessions whose own group is not in the plan."""

UNNAMED = ""
"""The name that represents all groups of a container whose plan cannot be read."""

LEVELS = 8  # MGMT_P1 to MGMT_P8
WHOLE = 100
FEW = 50
"""Percent: a plan of one level that hands out less than this may be meant to hold shares."""
_ENOUGH = 1e-12
"""The largest fraction of the whole that counts as rounding."""
PENDING = "PENDING"
"""STATUS of rows that are not in force: they are part of an unfinished edit."""

_LEGACY = "LEGACY"
"""STATUS of a plan as it was before an import into a pluggable database converted it to an allowed plan with the same
name (Database Reference 19: DBA_RSRC_PLAN_DIRECTIVES)."""

# FORCE: keeps scheduler windows from changing the plan, SCHEDULER[...]: marks a plan that a window has set.
_PREFIX = re.compile(r"^(?:FORCE:|SCHEDULER\[[^\]]*\]:)+", re.IGNORECASE)


def plan_name(text: str) -> str:
    """Return a plan's name without the prefixes of RESOURCE_MANAGER_PLAN.

    >>> plan_name("SCHEDULER[0x4D2F]:DEFAULT_MAINTENANCE_PLAN")
    'DEFAULT_MAINTENANCE_PLAN'
    """
    return _PREFIX.sub("", text.strip())


class Level(NamedTuple):
    """One level of a plan, from 0: the branches (by index) that have a part in it, and their fractions."""

    number: int
    parts: tuple[tuple[int, float], ...]


class Branch(Struct, frozen=True, dict=True):
    """A consumer group (`key` is set), a subplan, or a container, within its parent.

    `parts` are its percentages per level, or its weight if the parent divides by weight. `limit` is the fraction of the
    whole it may use, with limits above multiplied in; `servers` is its own fraction of the servers target. `cap` names
    its limit for the branches inside.
    """

    name: str
    parts: tuple[float, ...]
    key: Key | None = None
    limit: float | None = None
    servers: float | None = None
    directive: PlanDirective | None = None
    by_weight: bool = False
    branches: tuple[Branch, ...] = ()
    cap: str = ""

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Its branches by level, computed once because every division of its part uses them."""
        return tuple(_levels(self))


class PlanPosition(NamedTuple):
    """A branch with its position: `depth` below the root (its children are 0), its `share` of the whole and `by_level`.

    `by_weight` is whether its parent divides by weight.
    """

    depth: int
    branch: Branch
    share: float
    by_level: tuple[float, ...]
    by_weight: bool


class Cap(NamedTuple):
    """A limit on the CPU that some groups use together: a group's own (`owner` is ""), a subplan's or a container's."""

    limit: float
    keys: frozenset[Key]
    owner: str = ""


class PlanShares(Struct, frozen=True):
    """A plan tree and the figures that do not depend on demand.

    `shares` are the guaranteed minima; with `unallocated` they sum to 1. `limits` and `servers` hold only limited
    groups. `unclear` are the groups of which no manual says how many servers they may hold, each with the reason; they
    are not in `servers`. `directives` has the directive of each group (the first, if several subplans name it).
    `levels` has the first level (from 1) of its plan or subplan that gives a group a part, for groups that have one.
    """

    root: Branch
    shares: Mapping[Key, float]
    unallocated: float
    limits: Mapping[Key, float]
    servers: Mapping[Key, float]
    directives: Mapping[Key, PlanDirective]
    caps: tuple[Cap, ...]
    levels: Mapping[Key, int]
    unclear: Mapping[Key, str] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, root: Branch) -> PlanShares:
        """Compute the figures of a tree."""
        shares = dict.fromkeys(_keys(root), 0.0)
        unallocated = _guarantee(root, 1.0, shares)
        groups = list(leaves(root))
        number = Counter(_keys(root))
        unclear = dict(_unclear(root, number))
        # The CPU of a group that several subplans name is not known by subplan, nor which of their limits it uses up.
        known = (cap for cap in _caps(root) if all(number[key] == 1 for key in cap.keys))
        return cls(
            root,
            shares,
            unallocated,
            _limits((leaf.key, leaf.limit) for leaf in groups),
            _limits((leaf.key, leaf.servers) for leaf in groups if leaf.key not in unclear),
            {leaf.key: leaf.directive for leaf in reversed(groups) if leaf.key and leaf.directive},
            tuple(known),
            {leaf.key: level for leaf in reversed(groups) if leaf.key and (level := _level(leaf))},
            unclear,
        )

    def divides(self, con_id: int) -> bool:
        """Whether any group of a container has a guaranteed share: a plan may have only limits."""
        return any(share > 0 for key, share in self.shares.items() if key[0] == con_id)

    def has(self, key: Key) -> bool:
        """Whether a group has a place in the plan, even if only among those of a container with an unreadable plan."""
        return key in self.shares or (key[0], UNNAMED) in self.shares

    def entitled(self, wanted: Mapping[Key, float], whole: float = 1.0) -> dict[Key, float]:
        """Return the CPU that each group with demand is due now; all in fractions of the whole.

        The plan divides `whole` by demand. The part that a group does not use goes to the next level, and the rest of
        the last level goes to the groups that want more, in proportion. A group that gets all it wants may still claim
        its guaranteed share.
        """
        amounts: dict[Key, float] = {}
        rooms: dict[int, float] = {}
        _fill_rooms(self.root, wanted, rooms)
        _entitle(self.root, min(whole, rooms[id(self.root)]), rooms, amounts)
        for key, amount in amounts.items():
            if amount >= wanted[key] - _ENOUGH:
                amounts[key] = max(wanted[key], min(self.shares[key], self.limits.get(key, 1.0)))
        return amounts


class PlanBook(Struct, frozen=True, dict=True):
    """The plans and directives in force in one container, built once per reading of the dictionary.

    `cpu_limits_servers` means that UTILIZATION_LIMIT also limits parallel servers; MAX_UTILIZATION_LIMIT of 11.2 does
    not.
    """

    directives: Mapping[str, tuple[PlanDirective, ...]] = msgspec.field(default_factory=dict)
    plans: tuple[Plan, ...] = ()
    cpu_limits_servers: bool = True

    @classmethod
    def read(
        cls, plans: Iterable[Plan], directives: Iterable[PlanDirective], cpu_limits_servers: bool = True
    ) -> PlanBook:
        """Sort the rows by plan, without pending rows, and without legacy ones that have been replaced."""
        found: dict[str, list[PlanDirective]] = {}
        before: dict[str, list[PlanDirective]] = {}
        for row in directives:
            if row.status != PENDING:
                (before if row.status == _LEGACY else found).setdefault(row.plan, []).append(row)
        in_force = tuple(sorted((row for row in plans if row.status != PENDING), key=lambda row: row.status != _LEGACY))
        return cls({plan: tuple(rows) for plan, rows in {**before, **found}.items()}, in_force, cpu_limits_servers)

    @cached_property
    def methods(self) -> Mapping[str, str]:
        """MGMT_METHOD of each plan."""
        return {row.plan: row.mgmt_method for row in self.plans}

    def tree(self, plan: str, con_id: int = 0, limit: float | None = None) -> Branch:
        """Return the tree of `plan` in one container; without branches if its directives are not visible.

        `limit` is what the container itself may use.
        """
        return self._plan(Branch(plan, (100.0,), limit=limit), con_id, frozenset())

    def shares(self, plan: str, con_id: int = 0) -> PlanShares:
        """Return the figures of `plan` alone."""
        return PlanShares.of(self.tree(plan, con_id))

    def _plan(self, branch: Branch, con_id: int, above: frozenset[str]) -> Branch:
        # A directive that names a plan above itself is left out: the tree would have no end.
        above = above | {branch.name}
        rows = [row for row in self.directives.get(branch.name, ()) if row.group_or_subplan not in above]
        branches = tuple(self._directive(row, branch, con_id, above) for row in rows)
        return replace(branch, by_weight=self.by_weight(branch.name, con_id), branches=branches)

    def _directive(self, row: PlanDirective, parent: Branch, con_id: int, above: frozenset[str]) -> Branch:
        percent = row.parallel_server_limit
        if percent is None and self.cpu_limits_servers:
            percent = row.utilization_limit
        limit = _narrow(parent.limit, row.utilization_limit)
        servers = _narrow(None, percent)
        parts = tuple([float(part) if part > 0 else 0.0 for part in row[4:12]])
        name = row.group_or_subplan
        if row.type == "PLAN" and name in self.directives:
            return self._plan(Branch(name, parts, None, limit, servers, row), con_id, above)
        return Branch(name, parts, (con_id, name), limit, servers, row)

    def by_weight(self, plan: str, con_id: int) -> bool:
        """Whether level 1 of `plan` holds shares: plans of pluggable databases have one level, of shares."""
        rows, method = self.directives.get(plan, ()), self.methods.get(plan, "").upper()
        # row[5:12] is MGMT_P2 to MGMT_P8: a plan with a second level divides by percentages.
        return method in {"RATIO", "SHARES"} or (con_id > 2 and not any(any(row[5:12]) for row in rows))

    def doubt(self, plan: str, con_id: int) -> str:
        """Return why it is unclear whether level 1 of `plan` holds percentages or shares, "" if it is clear.

        CREATE_PLAN makes a plan of percentages by default, also if shares are meant.
        """
        rows, method = self.directives.get(plan, ()), self.methods.get(plan, "").upper()
        total, deep = sum(row.mgmt_p1 for row in rows), any(any(row[5:12]) for row in rows)
        if method in {"RATIO", "SHARES"}:
            return f"its method is {method}, which divides by shares, but it has levels below the first" if deep else ""
        if deep or not total or self.by_weight(plan, con_id):
            return ""
        if not method:
            return f"its method is not known, and its only level adds up to {total}" if total != WHOLE else ""
        return f"its method is {method}, but its only level adds up to {total}" if total < FEW else ""


def _narrow(above: float | None, percent: int | None) -> float | None:
    """Return the limit of a branch with its own `percent` under a limit above; 100 % and more do not limit."""
    if percent is None or percent >= 100 or percent < 0:
        return above
    return percent / 100 * (1.0 if above is None else above)


def _keys(branch: Branch) -> Iterable[Key]:
    return (leaf.key for leaf in leaves(branch) if leaf.key is not None)


def _level(branch: Branch) -> int:
    """Return the first level, from 1, that gives a branch a part; 0 without one."""
    return next((number for number, part in enumerate(branch.parts, 1) if part > 0), 0)


def leaves(branch: Branch) -> Iterable[Branch]:
    """Yield the consumer groups of a branch, in order."""
    if branch.key is not None:
        yield branch
    for child in branch.branches:
        yield from leaves(child)


def bypasses_queue(directive: PlanDirective) -> bool:
    """Whether statements of a group never queue. The view has BYPASS QUEUE, the PL/SQL package an underscore."""
    return directive.parallel_stmt_critical.upper().startswith("BYPASS")


def _limits(pairs: Iterable[tuple[Key | None, float | None]]) -> dict[Key, float]:
    """Return the summed limits of groups that several subplans name; one path without a limit lifts them all."""
    limits: dict[Key, float] = {}
    free: set[Key] = set()
    for key, limit in pairs:
        if key is None:
            continue
        if limit is None:
            free.add(key)
        else:
            limits[key] = min(1.0, limits.get(key, 0.0) + limit)
    return {key: limit for key, limit in limits.items() if key not in free}


def _unclear(root: Branch, number: Mapping[Key, int]) -> Iterable[tuple[Key, str]]:
    """Yield groups of which no manual says how many servers they may hold, and why.

    UTILIZATION_LIMIT is the only limit that a subplan can have (ORA-29356). For CPU it is multiplied with those of its
    groups; a group's PARALLEL_SERVER_LIMIT replaces it for servers. `number` is how often the plan names each group.
    """
    for key, branch, limited in _below(root, ""):
        directive = branch.directive
        if number[key] > 1 and branch.servers is not None:
            yield key, "several subplans name it, and how limits of servers then combine is not documented"
        elif limited and (directive is None or directive.parallel_server_limit is None):
            yield key, f"what the limit of subplan {limited} means for servers is not documented"


def _below(parent: Branch, limited: str) -> Iterable[tuple[Key, Branch, str]]:
    """Yield the groups of a branch, each with the name of the innermost subplan around it that has a limit, or ""."""
    for child in parent.branches:
        if child.key is not None:
            yield child.key, child, limited
        else:
            has_limit = child.directive is not None and child.servers is not None
            yield from _below(child, child.name if has_limit else limited)


def _caps(branch: Branch, above: float | None = None) -> Iterable[Cap]:
    if branch.limit is not None and branch.limit != above:
        owner = "" if branch.key is not None else branch.cap or f"subplan {branch.name}"
        yield Cap(branch.limit, frozenset(_keys(branch)), owner)
    for child in branch.branches:
        yield from _caps(child, branch.limit)


def _levels(parent: Branch) -> Iterable[Level]:
    """Yield the levels in which a branch has a part; more than 100 % is scaled down."""
    taking: dict[int, list[tuple[int, float]]] = {}
    for i, child in enumerate(parent.branches):
        for number, part in enumerate(child.parts[:1] if parent.by_weight else child.parts):
            if part > 0:
                taking.setdefault(number, []).append((i, part))
    for number, parts in sorted(taking.items()):
        total = sum(part for _, part in parts)
        # Shares divide by their sum. Percentages below 100 leave the rest to the next level.
        whole = total if parent.by_weight else max(100.0, total)
        yield Level(number, tuple((i, part / whole) for i, part in parts))


def _by_level(parent: Branch, whole: float) -> tuple[list[list[float]], float]:
    """Return the part of each branch on each level when all are busy, and the unallocated rest.

    A level divides the rest that the levels above left (MGMT_P1 to MGMT_P8), not the whole: 50 % at level 2 under a
    level 1 that gives away 80 % is 10 %.
    """
    amounts = [[0.0] * LEVELS for _ in parent.branches]
    rest = whole
    for number, level in parent.levels:
        for i, part in level:
            amounts[i][number] = rest * part
        rest = max(0.0, rest - sum(amounts[i][number] for i, _ in level))
    return amounts, rest


def _guarantee(parent: Branch, whole: float, shares: dict[Key, float]) -> float:
    """Add the part of each group when all are busy to `shares`, and return the unallocated rest."""
    if parent.key is not None:
        shares[parent.key] += whole
        return 0.0
    amounts, rest = _by_level(parent, whole)
    children = zip(parent.branches, amounts, strict=True)
    return rest + sum(_guarantee(child, sum(each), shares) for child, each in children)


def positions(parent: Branch, whole: float = 1.0, depth: int = 0) -> Iterable[PlanPosition]:
    """Yield every branch below `parent`, each before its own branches, with its part when all are busy."""
    for child, by_level in zip(parent.branches, _by_level(parent, whole)[0], strict=True):
        share = sum(by_level)
        yield PlanPosition(depth, child, share, tuple(by_level), parent.by_weight)
        yield from positions(child, share, depth + 1)


def _entitle(parent: Branch, whole: float, rooms: Mapping[int, float], claims: dict[Key, float]) -> None:
    if parent.key is not None:
        claims[parent.key] = claims.get(parent.key, 0.0) + whole
        return
    rooms_below = [rooms[id(child)] for child in parent.branches]
    amounts = _divide(parent, whole, rooms_below)
    for child, room, amount in zip(parent.branches, rooms_below, amounts, strict=True):
        if room > 0:
            _entitle(child, amount, rooms, claims)


def _fill_rooms(branch: Branch, wanted: Mapping[Key, float], rooms: dict[int, float]) -> float:
    """Store, by identity, the most each branch can take (its demand or limit), and return that of `branch`."""
    if branch.key is not None:
        inside = wanted.get(branch.key, 0.0)
    else:
        inside = sum([_fill_rooms(child, wanted, rooms) for child in branch.branches])
    limit = 1.0 if branch.limit is None else branch.limit
    room = rooms[id(branch)] = inside if inside < limit else limit
    return room


def _divide(parent: Branch, whole: float, rooms: list[float]) -> list[float]:
    """Divide `whole` level by level among the branches, none beyond its room, then the rest among those not yet full.

    The rest is divided repeatedly: it goes to branches that want more in proportion to what the levels gave them, and
    to branches without a part in any level only when no other wants more.
    """
    if sum(rooms) <= whole + _ENOUGH:  # there is enough for all: a plan divides only what is scarce
        return rooms
    amounts = [0.0] * len(rooms)
    rest = whole
    for _, level in parent.levels:
        entitled = [(i, part) for i, part in level if rooms[i] > amounts[i]]
        if parent.by_weight:  # shares count among groups that want CPU; percentages do not depend on them
            total = sum(part for _, part in entitled)
            entitled = [(i, part / total) for i, part in entitled]
        given = {i: min(rest * part, rooms[i] - amounts[i]) for i, part in entitled}
        for i, amount in given.items():
            amounts[i] += amount
        rest = max(0.0, rest - sum(given.values()))
    for _ in rooms:  # each round fills at least one of them
        open_ = [i for i, room in enumerate(rooms) if room - amounts[i] > _ENOUGH]
        if not open_ or rest <= _ENOUGH:
            break
        # In proportion to what each already has: what a group leaves goes to the others as the plan ranks them, and a
        # group without a part is served only when no group with a part wants more.
        weight = sum(amounts[i] for i in open_)
        given = {i: rest * (amounts[i] / weight if weight > 0 else 1 / len(open_)) for i in open_}
        for i, amount in given.items():
            taken = min(amount, rooms[i] - amounts[i])
            amounts[i] += taken
            rest -= taken
    return amounts


NOTHING = PlanShares.of(Branch("", (1.0,)))
"""The shares if no plan can be read."""
