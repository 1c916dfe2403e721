"""Guaranteed minimum of each consumer group, calculated in another way than in the simulator."""

from __future__ import annotations

from presman.forecast.scheduler import LEVELS, Group
from presman.sources.simulator.plan_tree import Node


def guaranteed(root: Node) -> dict[Group, float]:
    """Return each group's guaranteed minimum: its fraction of all CPU when everyone is busy, by levels alone."""
    found: dict[Group, float] = {}

    def walk(node: Node, part: float) -> None:
        if node.group is not None:
            found[node.group] = part
        left = 1.0
        given = [0.0] * len(node.children)
        for level in range(LEVELS):
            taken = 0.0
            for index, child in enumerate(node.children):
                given[index] += left * child.weights[level]
                taken += child.weights[level]
            left *= max(0.0, 1.0 - taken)
        for child, own in zip(node.children, given, strict=True):
            walk(child, part * own)

    walk(root, 1.0)
    return found
