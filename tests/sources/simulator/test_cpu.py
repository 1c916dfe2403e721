"""Allocation of CPU: arithmetic by hand, and properties that hold for every plan and demand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.base.release import Release
from presman.forecast.scheduler import LEVELS, Group
from presman.sources.simulator.plan_tree import Node, cdb_tree, hand_out, plan_tree
from presman.sources.simulator.scenario import OTHER_GROUPS, Directive, PdbDirective, PdbSpec, PlanSpec
from tests.sources.simulator.guarantees import guaranteed


def levels(*parts: float) -> tuple[float, ...]:
    return (*parts, *(0.0,) * (LEVELS - len(parts)))


def leaf(name: str, *parts: float, limit: float = 1.0) -> Node:
    return Node(name, levels(*parts), limit, group=Group(0, name))


def plan(*nodes: Node) -> Node:
    return Node("PLAN", children=nodes)


def amounts(root: Node, capacity: float, **demand: float) -> dict[str, float]:
    given_ = hand_out(root, {Group(0, name): want for name, want in demand.items()}, capacity)
    return {group.name: round(part, 6) for group, part in given_.items()}


def test_enough_for_all() -> None:
    root = plan(leaf("A", 0.7), leaf("B", 0.3))
    assert amounts(root, 16, A=3, B=4) == {"A": 3, "B": 4}


def test_contended_level_divides_by_percent() -> None:
    assert amounts(plan(leaf("A", 0.75), leaf("B", 0.25)), 16, A=20, B=20) == {"A": 12, "B": 4}


def test_what_a_level_leaves_goes_to_the_next_level_not_to_siblings() -> None:
    root = plan(leaf("A", 0.6), leaf("B", 0.4), leaf("C", 0.0, 1.0))
    assert amounts(root, 10, A=3, B=10, C=10) == {"A": 3, "B": 4, "C": 3}


def test_unallocated_cpu_is_not_wasted() -> None:
    assert amounts(plan(leaf("A", 0.6), leaf("B", 0.0, 0.5)), 10, A=10, B=10) == {"A": 7.5, "B": 2.5}


def test_limit_holds_on_an_idle_host() -> None:
    assert amounts(plan(leaf("A", 1.0, limit=0.25), leaf("B", 0.0, 1.0)), 16, A=16, B=0) == {"A": 4, "B": 0}


def test_nested_limits_multiply() -> None:
    sub = Node("SUB", levels(1.0), 0.4, (leaf("A", 1.0, limit=0.9),))
    assert amounts(plan(sub), 100, A=100) == {"A": 36}


@pytest.mark.parametrize(
    ("release", "given_", "parts"),
    [
        (Release(19), [PdbDirective(cpu_min_count=4), PdbDirective(cpu_min_count=1)], (3.2, 0.8)),
        (Release(19), [PdbDirective(cpu_count=3), PdbDirective(cpu_min_count=1)], (3.0, 1.0)),
        (Release(19), [PdbDirective(cpu_min_count=4, shares=1), PdbDirective(cpu_min_count=1)], (2.0, 2.0)),
        (Release(19), [PdbDirective(cpu_min_count=4), PdbDirective(utilization_limit=90)], (2.0, 2.0)),
        (Release(18), [PdbDirective(cpu_count=3, cpu_min_count=1), PdbDirective(cpu_count=1)], (3.0, 1.0)),
        (Release(12, 2), [PdbDirective(cpu_count=3), PdbDirective(cpu_count=2)], (2.0, 2.0)),
    ],
)
def test_containers_are_divided_by_shares_or_by_their_own_cpus(
    release: Release, given_: list[PdbDirective], parts: tuple[float, float]
) -> None:
    """4 CPUs, and both containers want all of them."""
    pdbs = [PdbSpec(f"P{number}", number, "", each) for number, each in enumerate(given_, start=3)]
    root = cdb_tree("CDB", pdbs, {}, {}, 4, release)
    groups = [Group(number, OTHER_GROUPS) for number in (3, 4)]
    found = hand_out(root, dict.fromkeys(groups, 9.0), 4.0)
    assert tuple(found[group] for group in groups) == pytest.approx(parts)


def test_no_allocation_gets_only_leavings() -> None:
    root = plan(leaf("A", 1.0), leaf("B"))
    assert amounts(root, 8, A=10, B=5) == {"A": 8, "B": 0}
    assert amounts(root, 8, A=6, B=5) == {"A": 6, "B": 2}


def test_subplan_multiplies() -> None:
    """The documented 40 % of a 30 % subplan is 12 %."""
    sub = Node("SUB", levels(0.3), 1.0, (leaf("A", 0.4), leaf("B", 0.6)))
    root = plan(sub, leaf("C", 0.7))
    assert amounts(root, 100, A=99, B=99, C=99) == {"A": 12, "B": 18, "C": 70}
    assert guaranteed(root)[Group(0, "A")] == pytest.approx(0.12)


def test_published_plan_guarantees() -> None:
    """Oracle's DSS_PLAN: the percentages in its documentation, level by level."""
    percent = {
        "SYS_GROUP": (75,),
        "DSS_CRITICAL_GROUP": (0, 75),
        "ORA$DIAGNOSTICS": (0, 5),
        "ORA$AUTOTASK": (0, 5),
        "DSS_GROUP": (0, 0, 75),
        "ETL_GROUP": (0, 0, 0, 45),
        "BATCH_GROUP": (0, 0, 0, 45),
        "OTHER_GROUPS": (0, 0, 0, 10),
    }
    directives = {
        name: Directive(**{f"mgmt_p{n}": part for n, part in enumerate(parts, 1)}) for name, parts in percent.items()
    }
    found = guaranteed(plan_tree(PlanSpec("DSS_PLAN", "EMPHASIS", "", directives), {}))
    expected = (75, 18.75, 1.25, 1.25, 2.8125, 0.421875, 0.421875, 0.09375)
    assert [100 * found[Group(0, name)] for name in percent] == pytest.approx(expected)


def test_shares() -> None:
    directives = {"A": Directive(shares=3), "B": Directive(shares=1), "C": Directive(shares=4)}
    root = plan_tree(PlanSpec("P", "RATIO", "", directives), {})
    assert amounts(root, 8, A=9, B=9, C=9) == {"A": 3, "B": 1, "C": 4}
    assert amounts(root, 8, A=9, B=9, C=0) == {"A": 6, "B": 2, "C": 0}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Node, dict[Group, float], float]:
    count = draw(st.integers(1, 6))
    left = [1.0] * 3
    nodes = []
    for index in range(count):
        parts = []
        for level in range(3):
            part = draw(st.sampled_from([0.0, 0.1, 0.25, 0.5])) if left[level] > 0 else 0.0
            part = min(part, left[level])
            left[level] -= part
            parts.append(part)
        nodes.append(leaf(f"G{index}", *parts, limit=draw(st.sampled_from([1.0, 1.0, 0.3, 0.75]))))
    if count > 2 and draw(st.booleans()):
        sub = Node("SUB", levels(0.2), draw(st.sampled_from([1.0, 0.5])), tuple(nodes[:2]))
        nodes = [sub, *nodes[2:]]
    demand = {Group(0, f"G{index}"): draw(st.floats(0, 40)) for index in range(count)}
    return plan(*nodes), demand, draw(st.floats(0.5, 64))


def allowed(node: Node, demand: dict[Group, float], ceiling: float) -> float:
    ceiling *= node.limit
    if node.group is not None:
        return min(demand[node.group], ceiling)
    return min(ceiling, sum(allowed(child, demand, ceiling) for child in node.children))


def check_limits(node: Node, given_: dict[Group, float], ceiling: float) -> float:
    ceiling *= node.limit
    own = given_[node.group] if node.group else sum(check_limits(child, given_, ceiling) for child in node.children)
    assert own <= ceiling + 1e-6
    return own


@given(cases())
def test_sum_demand_limits_and_work_conservation(case: tuple[Node, dict[Group, float], float]) -> None:
    root, demand, capacity = case
    found = hand_out(root, demand, capacity)
    total = sum(found.values())
    assert total <= capacity + 1e-6
    for group, part in found.items():
        assert -1e-9 <= part <= demand[group] + 1e-6
    check_limits(root, found, capacity)
    assert total == pytest.approx(min(capacity, allowed(root, demand, capacity)), abs=1e-5)


@given(cases())
def test_no_group_gets_less_than_its_guarantee(case: tuple[Node, dict[Group, float], float]) -> None:
    root, demand, capacity = case
    found = hand_out(root, demand, capacity)
    if any(child.group is None for child in root.children):
        return
    for node in root.children:
        assert node.group is not None
        floor = min(demand[node.group], guaranteed(root)[node.group] * capacity, node.limit * capacity)
        assert found[node.group] >= floor - 1e-5
