"""Sharing of CPU: demand per consumer group, a plan and a capacity in; CPUs per group out. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from presman.sources.simulator.plan_tree import Group, Node, shares_among

_ENOUGH = 1e-9


def hand_out(root: Node, demand: Mapping[Group, float], capacity: float) -> dict[Group, float]:
    """Return the CPUs that each group of `demand` gets of `capacity`.

    Work conserving: CPU stays idle only if nobody may use it. Limits nest: a 90 % group in a 40 % subplan may use
    36 %. Groups that `root` does not know get nothing.
    """
    given: dict[Group, float] = dict.fromkeys(demand, 0.0)
    wants = _wants(root, demand, capacity, {})
    _give(root, wants, min(capacity, wants[id(root)]), given)
    return given


def _wants(node: Node, demand: Mapping[Group, float], ceiling: float, found: dict[int, float]) -> dict[int, float]:
    """Collect what each node can use, by identity: its demand cut to its limit of the parent's ceiling."""
    ceiling *= node.limit
    if node.group is not None:
        want = demand.get(node.group, 0.0)
    else:
        want = 0.0
        for child in node.children:
            want += _wants(child, demand, ceiling, found)[id(child)]
    found[id(node)] = min(want, ceiling)
    return found


def _give(node: Node, wants: Mapping[int, float], amount: float, given: dict[Group, float]) -> None:
    if node.group is not None:
        if amount > 0:
            given[node.group] = amount
        return
    if amount <= 0:
        return
    rooms = [wants[id(child)] for child in node.children]
    parts = rooms if sum(rooms) <= amount + _ENOUGH else fill(node.children, rooms, amount)
    for child, part in zip(node.children, parts, strict=True):
        _give(child, wants, part, given)


def fill(nodes: Sequence[Node], rooms: Sequence[float], amount: float) -> list[float]:
    """Divide `amount` among `nodes` by their levels, none beyond its room, as a draw for each slice would.

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
        slice_ = min(amount, *((rooms[index] - parts[index]) / shares[index] for index in takers))
        for index in takers:
            parts[index] += shares[index] * slice_
        amount -= slice_
        wanting = {index for index in wanting if rooms[index] - parts[index] > _ENOUGH}
    return parts
