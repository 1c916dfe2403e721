"""Facts about plans in a snapshot: each lookup separately, calculated by hand."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.facts.cdb_plan import allocations
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_facts import PlanFacts
from presman.rows.group_rows import ConsumerGroup, ContainerPlanDirective, GroupMetric, RsrcPlan
from presman.rows.instance_rows import Database, Osstat, Parameter, Pdb
from tests.analysis.make import active_plan, directive, instance, row, snapshot

CDB = active_plan("CDB", con_id=1, target=128)
SALES = active_plan("OWN", con_id=3, target=40)


def facts(*rows: Any, **changes: Any) -> PlanFacts:
    return Facts.of(None, snapshot(instance(), *rows, **changes)).plans


def pdb(con_id: int, name: str, mode: str = "READ WRITE", inst_id: int = 1) -> Pdb:
    return row(Pdb, inst_id=inst_id, con_id=con_id, name=name, open_mode=mode)


def test_containers_are_those_that_v_rsrc_plan_or_v_pdbs_shows_open() -> None:
    assert facts(CDB, active_plan("SEED", con_id=2), SALES).containers(1) == {3: ""}
    assert facts(CDB, SALES, pdb(4, "HR")).containers(1) == {4: "HR", 3: ""}
    closed = facts(CDB, SALES, pdb(3, "SALES", "MOUNTED"), pdb(4, "HR"))
    assert closed.containers(1) == {4: "HR"}
    assert (closed.open_on(3), closed.open_on(4)) == ((), (1,))
    assert facts(CDB, active_plan("SEED", con_id=2), SALES).own_containers == {3}


def test_inside_a_container_nothing_but_its_own_plan_is_seen() -> None:
    assert facts(SALES).inside == 3
    assert facts(SALES, pdb(3, "SALES")).inside == 3
    assert facts(CDB, SALES).inside is None
    assert facts(active_plan("DAY", con_id=0)).inside is None
    assert facts(active_plan("SEED", con_id=2)).inside is None


def test_a_containers_own_target_is_what_it_set_or_what_its_row_shows() -> None:
    assert facts(CDB, SALES).own_target(1, 3) == 40
    assert facts(CDB, SALES).own_target(1, 1) is None, "that is the row of the whole"
    assert facts(CDB, SALES).own_target(1, 4) is None
    own = row(Parameter, con_id=3, name="parallel_servers_target", value="24")
    assert facts(CDB, SALES, own).own_target(1, 3) == 24
    assert facts(CDB, active_plan("OWN", con_id=3, target=0)).own_target(1, 3) is None


def test_the_top_plan_of_a_container_and_of_an_instance() -> None:
    """A subplan has a row of its own, before or behind that of the top plan."""
    sub = active_plan("SUB", con_id=1, is_top_plan="FALSE")
    for rows in ((sub, CDB, SALES), (SALES, CDB, sub)):
        assert facts(*rows).plan_of(1, 1) == facts(*rows).plan_of(1, 0) == "CDB"
        assert facts(*rows).top_rows[1].name == "CDB"
    assert facts(SALES).plan_of(1, 1) == "OWN", "the only row stands for the root, too"
    assert facts(CDB).plan_of(1, 3) == ""
    parameter = row(Parameter, name="resource_manager_plan", value="FORCE:NIGHT")
    assert (facts(parameter).plan_of(1, 0), facts(parameter).plan_of(1, 3)) == ("NIGHT", "")


@pytest.mark.parametrize(
    ("rows", "managed"),
    [
        ([CDB], True),
        ([active_plan(con_id=0, cpu_managed="OFF")], False),
        ([active_plan(con_id=0, cpu_managed="")], True),
        ([CDB, active_plan("OWN", con_id=3, cpu_managed="off")], False),
        ([active_plan("CDB", con_id=1, cpu_managed="OFF"), SALES], True),
        ([active_plan("CDB", con_id=1, cpu_managed="OFF")], False),  # that of the instance, where it has no row
        ([], True),
    ],
)
def test_whether_the_plan_of_a_container_steers_cpu(rows: list[RsrcPlan], managed: bool) -> None:
    assert facts(*rows).cpu_managed(1, 3) is managed


def test_an_autonomous_database_is_known_by_its_service_or_plans() -> None:
    assert facts(CDB, cloud_service="DWCS").autonomous
    assert facts(active_plan("FORCE:DWCS_PLAN")).autonomous
    assert not facts(active_plan("OLTP_PLAN")).autonomous, "a user's own plan may have this name"
    assert facts(active_plan("OLTP_PLAN"), row(ConsumerGroup, name="HIGH")).autonomous
    assert facts(active_plan("OLTP_PLAN"), directive("OLTP_PLAN", "HIGH", 4)).autonomous
    assert not facts(active_plan("DAY"), row(ConsumerGroup, name="HIGH")).autonomous


def test_the_plans_of_other_containers_are_found() -> None:
    other = row(ContainerPlanDirective, con_id=4, plan="HRS", group_or_subplan="A", type="CONSUMER_GROUP", mgmt_p1=60)
    found = facts(CDB, SALES, directive("OWN", "A", 100), other)
    assert found.books.having("OWN") == (found.books.connected, 0)
    assert found.books.having("HRS") == (found.books.of(4), 4)
    assert found.books.having("NONE") == (found.books.connected, 0)
    assert [each.mgmt_p1 for each in found.books.of(4).directives["HRS"]] == [60]
    assert found.books.of(5).directives == {}
    assert found.books.of(1) is found.books.connected
    alone = facts(SALES, directive("OWN", "A", 100))
    assert (alone.books.of(3), alone.books.having("OWN")) == (alone.books.connected, (alone.books.connected, 3))


HOST = row(Osstat, stat_name="NUM_CPUS", value=32.0)
COUNT = row(Parameter, name="cpu_count", value="8")


@pytest.mark.parametrize(
    ("rows", "cpus"),
    [
        ([CDB, row(GroupMetric, con_id=1, num_cpus=16), row(GroupMetric, con_id=1, num_cpus=12), HOST, COUNT], 16.0),
        ([CDB, SALES, row(GroupMetric, con_id=3, num_cpus=4), row(GroupMetric, con_id=1, num_cpus=16)], 4.0),
        ([active_plan(con_id=0, instance_caging="ON"), HOST, COUNT], 8.0),
        ([active_plan(con_id=0, instance_caging="OFF"), HOST, COUNT], 32.0),
        ([active_plan(con_id=0, instance_caging="ON"), HOST], 32.0),
        ([active_plan(con_id=0), COUNT], 8.0),
        ([active_plan("DWCS_PLAN", con_id=0, utilization_limit=6), HOST, COUNT], 6.0),
        ([active_plan("DAY", con_id=0, utilization_limit=6), HOST, COUNT], 32.0),
        ([active_plan(con_id=0)], 0.0),
    ],
)
def test_the_cpus_that_are_handed_out(rows: list[Any], cpus: float) -> None:
    assert facts(*rows).num_cpus(1, 3) == cpus


def test_a_containers_plan_is_divided_by_its_own_rule() -> None:
    """Each has half. SALES has 60 % for A, the rest for OTHER_GROUPS. HR runs no plan: OTHER_GROUPS has all."""
    rows = [
        row(Database, cdb="YES"),
        pdb(3, "SALES"),
        pdb(4, "HR"),
        CDB,
        SALES,
        row(GroupMetric, con_id=1, num_cpus=16),
    ]
    given = {"con_id": 3, "plan": "OWN", "type": "CONSUMER_GROUP"}
    rows += [row(ContainerPlanDirective, group_or_subplan="A", mgmt_p1=60, **given),
             row(ContainerPlanDirective, group_or_subplan="OTHER_GROUPS", mgmt_p2=100, **given)]  # fmt: skip
    shares = Facts.of(None, snapshot(instance(), *rows)).division.shares[1].shares
    assert shares == pytest.approx({(3, "A"): 0.3, (3, "OTHER_GROUPS"): 0.2, (4, "OTHER_GROUPS"): 0.5})


def test_containers_of_an_unknown_number_of_cpus_have_equal_parts() -> None:
    """No directive has SHARES, so CPU_MIN_COUNT decides from 19 on; it is not set, and no view shows the CPUs."""
    given = facts(CDB, SALES, pdb(3, "SALES"), pdb(4, "HR"))
    assert given.num_cpus(1) == 0
    assert {con_id: each.weight for con_id, each in allocations(given, 1, 0.0).items()} == {3: 1.0, 4: 1.0}
    assert {con_id: each.weight for con_id, each in allocations(given, 1, 16.0).items()} == {3: 16.0, 4: 16.0}
