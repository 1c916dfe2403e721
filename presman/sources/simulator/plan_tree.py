"""The active plans as one tree, and the allocation of CPU by it, as pure functions.

The levels of the tree are CDB plan, PDBs, plans, subplans, consumer groups. The CPUs of each group follow from the
demand of all groups, the tree, and the capacity.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from presman.base.release import Release
from presman.forecast.scheduler import LEVELS, Group
from presman.sources.simulator.scenario import OTHER_GROUPS, Directive, PdbSpec, PlanSpec

_TINY = 1e-12


class Node(Struct, frozen=True):
    """One plan, PDB or consumer group in the tree. `group` is set on the leaves.

    `weights` is its fraction of each level of its parent (0..1); `limit` is its UTILIZATION_LIMIT as a fraction of what
    the parent may use, 1 if it has none.
    """

    name: str
    weights: tuple[float, ...] = (1.0,) + (0.0,) * (LEVELS - 1)
    limit: float = 1.0
    children: tuple[Node, ...] = ()
    group: Group | None = None
    directive: Directive = Directive()


def plan_tree(plan: PlanSpec, plans: Mapping[str, PlanSpec], con_id: int = 0, **root: object) -> Node:
    """Return the tree of one top plan; `root` sets further attributes of the top node."""
    nodes = []
    shares = sum(directive.levels[0] for directive in plan.directives.values())
    for target, directive in plan.directives.items():
        # With the method RATIO, MGMT_P1 has shares; otherwise MGMT_P1 to MGMT_P8 are percentages of their level.
        scale = shares if plan.method == "RATIO" else 100
        weights = tuple(level / scale if scale else 0.0 for level in directive.levels)
        limit = (directive.utilization_limit or 100) / 100
        if target in plans:
            sub = plan_tree(plans[target], plans, con_id)
            nodes.append(Node(target, weights, limit, sub.children, None, directive))
        else:
            nodes.append(Node(target, weights, limit, (), Group(con_id, target), directive))
    return Node(plan.name, children=tuple(nodes), **root)  # type: ignore[arg-type]


def cdb_tree(
    cdb_plan: str,
    pdbs: Sequence[PdbSpec],
    active: Mapping[int, str],
    plans: Mapping[str, PlanSpec],
    cpus: int,
    release: Release,
) -> Node:
    """Return the tree of a CDB plan; `active` maps containers to their plans ("" for none), `cpus` is the CPU_COUNT."""
    parts = _parts(pdbs, cpus, release)
    nodes = []
    for pdb, part in zip(pdbs, parts, strict=True):
        weights = (part / sum(parts),) + (0.0,) * (LEVELS - 1)
        limit = pdb.directive.cpu_limit(cpus)
        if plan := active.get(pdb.con_id, ""):
            children = plan_tree(plans[plan], plans, pdb.con_id).children
        else:
            children = (Node(OTHER_GROUPS, group=Group(pdb.con_id, OTHER_GROUPS)),)
        nodes.append(Node(pdb.name, weights, limit, children))
    return Node(cdb_plan, children=tuple(nodes))


def _parts(pdbs: Sequence[PdbSpec], cpus: int, release: Release) -> list[float]:
    """Return each container's weight: its shares, or, if no container has shares or a limit, its CPU_MIN_COUNT.

    In 18 it is CPU_COUNT. Source: Database Reference 19, CPU_MIN_COUNT: used where SHARES and UTILIZATION_LIMIT are
    not set.
    """
    given = [pdb.directive for pdb in pdbs]
    if release < Release(18) or any(each.shares or each.utilization_limit for each in given):
        return [float(each.shares or 1) for each in given]
    least = [each.cpu_min_count if release >= Release(19) else None for each in given]
    return [float(own or each.cpu_count or cpus) for own, each in zip(least, given, strict=True)]


def shares_among(nodes: Sequence[Node], wanting: Collection[int]) -> list[float]:
    """Return each node's share of one CPU if only the nodes at the indexes `wanting` demand CPU; the sum is 1.

    What a level does not use goes to the next level; what no level uses is distributed again among the demanding nodes
    in the same proportion. Nodes without an allocation get CPU only if no other node demands any.
    """
    given = [0.0] * len(nodes)
    left = 1.0
    for level in range(LEVELS):
        taken = 0.0
        for index in wanting:
            if weight := nodes[index].weights[level]:
                given[index] += left * weight
                taken += weight
        left *= max(0.0, 1.0 - taken)
        if left < _TINY:
            break
    total = sum(given)
    if total < _TINY:
        return [1.0 / len(wanting) if index in wanting else 0.0 for index in range(len(nodes))]
    return [part / total for part in given]


_ENOUGH = 1e-9
"""CPUs that are only rounding."""


def hand_out(root: Node, demand: Mapping[Group, float], capacity: float) -> dict[Group, float]:
    """Return the CPUs that each group in `demand` gets of `capacity`.

    Work conserving: CPU stays idle only if no group may use it. Limits nest: a 90 % group in a 40 % subplan may use
    36 %. Groups that are not in the tree get nothing.
    """
    given: dict[Group, float] = dict.fromkeys(demand, 0.0)
    wants = _wants(root, demand, capacity, {})
    _give(root, wants, min(capacity, wants[id(root)]), given)
    return given


def _wants(node: Node, demand: Mapping[Group, float], ceiling: float, found: dict[int, float]) -> dict[int, float]:
    """Collect the CPUs that each node can use, by identity: its demand, limited to its part of the parent's ceiling."""
    ceiling *= node.limit
    want = 0.0 if node.group is None else demand.get(node.group, 0.0)
    for child in node.children:
        want += _wants(child, demand, ceiling, found)[id(child)]
    found[id(node)] = min(want, ceiling)
    return found


def _give(node: Node, wants: Mapping[int, float], amount: float, given: dict[Group, float]) -> None:
    if amount <= 0:
        return
    if node.group is not None:
        given[node.group] = amount
        return
    rooms = [wants[id(child)] for child in node.children]
    parts = rooms if sum(rooms) <= amount + _ENOUGH else fill(node.children, rooms, amount)
    for child, part in zip(node.children, parts, strict=True):
        _give(child, wants, part, given)


def fill(nodes: Sequence[Node], rooms: Sequence[float], amount: float) -> list[float]:
    """Divide `amount` among `nodes` by their levels, none beyond its room, as a random draw per time slice would.

    >>> from presman.sources.simulator.plan_tree import Node
    >>> half = Node("A", (0.6,) + (0.0,) * 7), Node("B", (0.4,) + (0.0,) * 7), Node("C", (0.0, 1.0) + (0.0,) * 6)
    >>> [round(part, 6) for part in fill(half, [30, 100, 100], 100)]
    [30.0, 40.0, 30.0]
    """
    parts = [0.0] * len(nodes)
    wanting = {index for index, room in enumerate(rooms) if room > _ENOUGH}
    while wanting and amount > _ENOUGH:
        shares = shares_among(nodes, wanting)
        takers = [index for index in wanting if shares[index] > 0]
        # Until the next node has enough, all get CPU in the same proportion.
        slice_ = min(amount, *((rooms[index] - parts[index]) / shares[index] for index in takers))
        for index in takers:
            parts[index] += shares[index] * slice_
        amount -= slice_
        wanting = {index for index in wanting if rooms[index] - parts[index] > _ENOUGH}
    return parts
