"""What a CDB gives its containers, read in the root and from inside: by name, by profile, by their own parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.groups.verdicts import explain
from presman.analysis.plans.plan_view import plan_view
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause
from presman.rows.group_rows import (
    CdbPlanDirective,
    ConsumerGroup,
    ContainerGroupMapping,
    ContainerPlanDirective,
    GroupMapping,
    GroupMetric,
)
from presman.rows.instance_rows import Database, Osstat, Parameter, Pdb, PdbMetric
from presman.rows.session_rows import SessionInfo
from presman.rows.snapshot import Problem, Section
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link
from tests.analysis.make import active_plan, directive, instance, queued_session, row, snapshot
from tests.analysis.test_plan_simulated import Clock, moments

ROOT: list[Any] = [
    instance(),
    row(Database, cdb="YES"),
    active_plan("CDB", con_id=1, target=96),
    active_plan("OWN", con_id=3, target=96),
    active_plan("OWN", con_id=4, target=96),
    row(Pdb, con_id=2, name="PDB$SEED", open_mode="READ ONLY"),
    row(Pdb, con_id=3, name="SALES", open_mode="READ WRITE"),
    row(Pdb, con_id=4, name="HR", open_mode="READ WRITE"),
    row(GroupMetric, con_id=1, consumer_group_name="X", num_cpus=16),
    row(CdbPlanDirective, plan="CDB", pluggable_database="ORA$DEFAULT_PDB_DIRECTIVE", shares=1),
]
PLANS = [
    row(ContainerPlanDirective, con_id=con_id, plan="OWN", group_or_subplan=name, type="CONSUMER_GROUP", mgmt_p1=part)
    for con_id, parts in ((3, {"WEB": 3, "OTHER_GROUPS": 1}), (4, {"PAY": 1, "OTHER_GROUPS": 1}))
    for name, part in parts.items()
]


def loads(cpus: dict[tuple[int, str], tuple[float, float]], *fixed: Any, **changes: Any) -> Reading:
    """Two seconds in which groups of containers used and waited for so many CPUs."""
    before = [row(ConsumerGroup, con_id=con_id, name=name) for con_id, name in cpus]
    after = [
        row(
            ConsumerGroup,
            con_id=con_id,
            name=name,
            consumed_cpu_time=round(2000 * used),
            cpu_wait_time=round(2000 * wait),
        )
        for (con_id, name), (used, wait) in cpus.items()
    ]
    return analyse(snapshot(*fixed, *before), snapshot(*fixed, *after, after=2.0, number=2, **changes))


def of(reading: Reading, con_id: int, name: str) -> GroupReading:
    return next(each for each in reading.cluster_groups() if (each.con_id, each.name) == (con_id, name))


BUSY = {(3, "WEB"): (1.0, 0.0), (4, "PAY"): (3.9, 4.0), (4, "OTHER_GROUPS"): (0.1, 0.6)}


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        (row(Parameter, con_id=4, name="cpu_count", value="4"), "CPU_COUNT"),
        (row(PdbMetric, con_id=4, running_sessions_limit=4.0), "RUNNING_SESSIONS_LIMIT"),
        (
            row(CdbPlanDirective, plan="CDB", pluggable_database="HR", shares=1, utilization_limit=25),
            "UTILIZATION_LIMIT",
        ),
    ],
    ids=["CPU_COUNT", "RUNNING_SESSIONS_LIMIT", "UTILIZATION_LIMIT"],
)
def test_a_container_at_its_limit_caps_its_groups_and_is_named(limit: Any, named: str) -> None:
    reading = loads(BUSY, *ROOT, *PLANS, limit)
    for name in ("PAY", "OTHER_GROUPS"):
        found = of(reading, 4, name)
        assert found.verdict is Verdict.CAPPED, name
        assert (found.limited_by, found.limit_used, found.limit_allowed) == (f"HR ({named})", 4.0, 4.0)
    assert f"HR ({named}) is at its limit, 4.0 of 4.0 CPUs, even if CPU is free" in explain(
        of(reading, 4, "OTHER_GROUPS")
    )
    texts = [each.text for each in alerts(reading, Link())]
    assert any(text.startswith(f"CPU: OTHER_GROUPS (HR): HR ({named}) at its limit, 4.0 of 4.0 CPUs") for text in texts)


def test_a_groups_own_limit_is_named_before_that_of_its_container() -> None:
    own = [each._replace(utilization_limit=90) if each.group_or_subplan == "PAY" else each for each in PLANS]
    limit = row(Parameter, con_id=4, name="cpu_count", value="4")
    reading = loads({(4, "PAY"): (3.6, 4.0), (4, "OTHER_GROUPS"): (0.4, 1.0)}, *ROOT, *own, limit)
    assert (of(reading, 4, "PAY").limited_by, of(reading, 4, "PAY").limit) == ("", pytest.approx(3.6))
    assert of(reading, 4, "OTHER_GROUPS").limited_by == "HR (CPU_COUNT)"


def test_in_the_root_each_container_has_its_own_plan_of_the_same_name() -> None:
    reading = loads(BUSY, *ROOT, *PLANS)
    assert of(reading, 3, "WEB").share == pytest.approx(1 / 2 * 3 / 4)
    assert of(reading, 4, "PAY").share == pytest.approx(1 / 2 * 1 / 2)
    assert {each.title for each in reading.cluster_groups() if each.name == "OTHER_GROUPS"} == {
        "OTHER_GROUPS (SALES)",
        "OTHER_GROUPS (HR)",
    }


def test_the_roots_plan_of_that_name_is_not_taken_for_a_containers() -> None:
    rows = [directive("OWN", "PAY", 70), directive("OWN", "OTHER_GROUPS", 30)]
    refused = {ContainerPlanDirective: Section(problem=Problem("ORA-00942", "no", "CDB_RSRC_PLAN_DIRECTIVES"))}
    seen = snapshot(*ROOT, *rows)
    hidden = snapshot(*ROOT, *rows, sections={**seen.sections, **refused})
    groups = {each.name: each for each in analyse(None, hidden).cluster_groups()}
    assert groups == {}, "what the plan of HR names is not known"
    busy = loads(BUSY, *ROOT, *rows, row(ContainerPlanDirective, con_id=1, plan="OWN", group_or_subplan="PAY"))
    assert "the plan of HR cannot be read" in explain(of(busy, 4, "PAY")._replace(verdict=Verdict.THROTTLED))


@pytest.mark.parametrize("where", ["parameter", "V$RSRC_PLAN"])
def test_a_profiles_directive_is_that_of_the_containers_that_name_it(where: str) -> None:
    given = [("GOLD", 3, None), ("BRONZE", 1, 30)]
    rows = [
        row(CdbPlanDirective, plan="CDB", profile=name, shares=shares, utilization_limit=limit)
        for name, shares, limit in given
    ]
    if where == "parameter":
        named = [
            row(Parameter, con_id=3, name="db_performance_profile", value="GOLD"),
            row(Parameter, con_id=4, name="db_performance_profile", value="BRONZE"),
        ]
        fixed = [*ROOT, *named]
    else:
        names = {3: "GOLD", 4: "BRONZE"}
        fixed = [
            each._replace(profile=names[each.con_id])
            if getattr(each, "con_id", 0) in names and type(each).__name__ == "RsrcPlan"
            else each
            for each in ROOT
        ]
    reading = loads(BUSY, *fixed, *PLANS, *rows)
    assert of(reading, 3, "WEB").share == pytest.approx(3 / 4 * 3 / 4)
    assert (of(reading, 4, "PAY").share, of(reading, 4, "PAY").limit) == pytest.approx((1 / 4 * 1 / 2, 0.3 * 16))


INSIDE: list[Any] = [
    instance(),
    row(Database, cdb="YES"),
    row(Pdb, con_id=4, name="HR", open_mode="READ WRITE"),
    row(GroupMetric, con_id=4, consumer_group_name="X", num_cpus=16),
    directive("OWN", "PAY", 3),
    directive("OWN", "OTHER_GROUPS", 1),
]


def inside(**given: Any) -> list[Any]:
    return [*INSIDE, active_plan("OWN", con_id=4, target=96, **given)]


def test_inside_what_the_container_has_is_divided_by_its_plan() -> None:
    # 8 of 16 CPUs: the others have the rest, which is not seen. PAY is due three quarters of the 8.
    reading = loads({(4, "PAY"): (3.0, 9.0), (4, "OTHER_GROUPS"): (5.0, 2.0)}, *inside(shares=2))
    pay, other = of(reading, 4, "PAY"), of(reading, 4, "OTHER_GROUPS")
    assert (pay.entitled, pay.verdict) == (pytest.approx(6.0), Verdict.STARVED)
    assert (other.entitled, other.verdict) == (pytest.approx(2.0), Verdict.CONTENDED)
    assert explain(other).endswith("entitled to 2.0 now; others in this container use the rest.")
    assert other.title == "OTHER_GROUPS", "inside there is one container only"


def test_inside_the_cdbs_limit_on_cpu_is_read() -> None:
    reading = loads({(4, "PAY"): (6.3, 9.0), (4, "OTHER_GROUPS"): (0.1, 2.0)}, *inside(shares=2, utilization_limit=40))
    assert of(reading, 4, "PAY").verdict is Verdict.CAPPED
    assert of(reading, 4, "OTHER_GROUPS").limited_by == "HR (UTILIZATION_LIMIT)"


@pytest.mark.parametrize("known_by", ["service", "plan"])
def test_on_autonomous_databases_the_limit_is_a_number_of_cpus(known_by: str) -> None:
    """16 is the number of CPUs: no limit of its own, even on an Autonomous Database."""
    given = inside(shares=2, utilization_limit=16)
    rows = [*INSIDE[:-2], active_plan("DWCS_PLAN", con_id=4, shares=2, utilization_limit=16),
            directive("DWCS_PLAN", "PAY", 3), directive("DWCS_PLAN", "OTHER_GROUPS", 1)]  # fmt: skip
    reading = (
        loads({(4, "PAY"): (6.3, 9.0)}, *given, cloud_service="DWCS")
        if known_by == "service"
        else loads({(4, "PAY"): (6.3, 9.0)}, *rows)
    )
    assert (of(reading, 4, "PAY").limit, of(reading, 4, "PAY").verdict) == (None, Verdict.CONTENDED)


@pytest.mark.parametrize(("limit", "cpus"), [(None, None), (0, None), (1, 1.0), (15, 15.0), (16, None)])
def test_on_autonomous_databases_fewer_cpus_than_there_are_limit(limit: int | None, cpus: float | None) -> None:
    found = loads({(4, "PAY"): (0.5, 0.0)}, *inside(shares=2, utilization_limit=limit), cloud_service="DWCS")
    assert of(found, 4, "PAY").limit == cpus


def test_elsewhere_the_limit_is_a_percentage_also_where_it_is_the_same_number_as_cpu_count() -> None:
    """16 % of 16 CPUs is 2.56."""
    cpus = row(Parameter, con_id=4, name="cpu_count", value="16")
    found = of(loads({(4, "PAY"): (2.5, 9.0)}, *inside(shares=2, utilization_limit=16), cpus), 4, "PAY")
    assert (found.limit, found.verdict) == (pytest.approx(2.56), Verdict.CAPPED)
    smaller = row(Parameter, con_id=4, name="cpu_count", value="8")  # of 16: 16 % of how many is not seen
    assert of(loads({(4, "PAY"): (2.5, 9.0)}, *inside(shares=2, utilization_limit=16), smaller), 4, "PAY").limit == 8.0


@pytest.mark.parametrize(
    ("others", "cpus", "limit"),
    [
        ([], 16.0, None),  # nothing else shows the number of CPUs: 16
        ([row(Osstat, stat_name="NUM_CPUS", value=128.0)], 16.0, None),
        ([row(GroupMetric, con_id=4, consumer_group_name="X", num_cpus=64)], 64.0, 16.0),
    ],
)
def test_an_autonomous_database_has_the_cpus_of_its_limit(others: list[Any], cpus: float, limit: float | None) -> None:
    plan = active_plan("OLTP_PLAN", con_id=4, shares=2, utilization_limit=16)
    rows = [instance(), row(Pdb, con_id=4, name="HR", open_mode="READ WRITE"), plan, directive("OLTP_PLAN", "HIGH", 1)]
    reading = analyse(None, snapshot(*rows, *others))
    assert reading.header.num_cpus == cpus
    assert of(reading, 4, "HIGH").limit == limit


def test_inside_a_container_nothing_is_claimed_without_the_cdb_plan() -> None:
    found = of(loads({(4, "PAY"): (3.0, 9.0), (4, "OTHER_GROUPS"): (5.0, 2.0)}, *inside()), 4, "PAY")
    assert (found.verdict, found.entitled) == (Verdict.THROTTLED, None)
    assert explain(found).endswith("the CDB plan above it cannot be read, so what it is entitled to is not known.")


def test_a_group_that_its_plan_does_not_name_is_reported_for_that_plan_only() -> None:
    found = of(loads({(3, "WEB"): (9.0, 9.0), (3, "GONE"): (1.0, 4.0)}, *ROOT, *PLANS), 3, "GONE")
    assert found.verdict is Verdict.THROTTLED
    assert explain(found).endswith("the active plan does not name it, so what it is entitled to is not known.")


def waiting(group: str, dop: int, con_id: int = 4, sid: int = 7) -> list[Any]:
    session = queued_session(sid, group, con_id=con_id)
    return [session, row(SessionInfo, sid=sid, con_id=con_id, current_consumer_group=group, dop=dop)]


def test_a_group_with_a_hidden_plan_has_the_limit_of_the_metric() -> None:
    """16 of 16 servers are held: the head does not start at the next poll."""
    metric = row(GroupMetric, con_id=4, consumer_group_name="PAY", num_cpus=16, parallel_servers_limit=16)
    held = row(ConsumerGroup, con_id=4, name="PAY", current_pq_servers_active=16)
    (head,) = analyse(None, snapshot(*ROOT, metric, held, *waiting("PAY", 8))).heads
    assert (head.cause, head.held, head.allowed) == (Cause.GROUP, 16, 16)
    assert "PAY holds 16 of 16 allowed" in head.sentence


@pytest.mark.parametrize(("shown", "limit"), [(95, 95), (96, None), (97, None)])
def test_a_limit_of_the_metric_is_one_where_it_is_below_the_target(shown: int, limit: int | None) -> None:
    metric = row(GroupMetric, con_id=4, consumer_group_name="PAY", num_cpus=16, parallel_servers_limit=shown)
    held = row(ConsumerGroup, con_id=4, name="PAY", current_pq_servers_active=16)
    assert of(analyse(None, snapshot(*ROOT, metric, held)), 4, "PAY").servers_limit == limit


def test_a_container_queues_at_its_own_target_and_nothing_fits_a_limit_of_none() -> None:
    own = row(Parameter, con_id=4, name="parallel_servers_target", value="24")
    held = row(ConsumerGroup, con_id=4, name="PAY", current_pq_servers_active=20)
    (head,) = analyse(None, snapshot(*ROOT, *PLANS, own, held, *waiting("PAY", 8))).heads
    assert (head.cause, head.held, head.allowed) == (Cause.CONTAINER, 20, 24)
    none = row(CdbPlanDirective, plan="CDB", pluggable_database="HR", shares=1, parallel_server_limit=0)
    (head,) = analyse(None, snapshot(*ROOT, *PLANS, none, *waiting("PAY", 8))).heads
    assert (head.cause, head.allowed) == (Cause.NEVER_FITS, 0)
    assert "more than the 0 that HR is allowed" in head.sentence


def test_percentages_of_servers_are_rounded_as_everywhere() -> None:
    """29 % of 100 is 29, although 0.29 x 100 is a little less in floating point."""
    rows = [active_plan("DAY", target=100), instance(), directive("DAY", "A", 50, parallel_server_limit=29)]
    now = snapshot(*rows, directive("DAY", "OTHER_GROUPS", 50))
    reading = analyse(None, now)
    assert next(each for each in reading.groups if each.name == "A").servers_limit == 29
    assert next(line for line in plan_view(reading, now).lines if line.name == "A").servers_limit == 29


def test_the_cdb_plan_chooses_the_container_first() -> None:
    now = snapshot(*ROOT, *PLANS, *waiting("PAY", 4), *waiting("WEB", 4, con_id=3, sid=8))
    pay = next(each for each in analyse(None, now).heads if each.group == "PAY")
    assert pay.cause is Cause.NOT_CHOSEN
    assert pay.sentence.endswith("the CDB plan chooses between its container and SALES")
    assert pay.container == "HR"


def test_mappings_are_about_the_plan_of_their_container() -> None:
    rules = [
        row(ContainerGroupMapping, con_id=con_id, attribute="ORACLE_USER", value="X", consumer_group="PAY")
        for con_id in (1, 3, 4)
    ]
    now = snapshot(*ROOT, *PLANS, *rules)
    found = {each.container: each.in_plan for each in plan_view(analyse(None, now), now).mappings}
    assert found == {"": None, "SALES": False, "HR": True}
    here = [row(GroupMapping, attribute="ORACLE_USER", value=name, consumer_group=name) for name in ("PAY", "WEB")]
    now = snapshot(*inside(shares=1), *here)
    found = {each.group: each.in_plan for each in plan_view(analyse(None, now), now).mappings}
    assert found == {"PAY": True, "WEB": False}


@pytest.mark.parametrize("pdb", ["SALES", "HR"])
def test_the_simulator_seen_from_inside_a_container(pdb: str, tmp_path: Path) -> None:
    text = (FOLDER / "pdb.toml").read_text().replace("[capacity]", f'inside = "{pdb}"\n\n[capacity]', 1)
    file = tmp_path / "inside.toml"
    file.write_text(text.replace('"60m"', '"5m"'))
    clock = Clock()
    source = SimulatorSource(str(file), seed=2, clock=clock)
    con_id = {"SALES": 3, "HR": 4}[pdb]
    for _, current, reading in moments(source, clock, 6, 3.0):
        assert reading.header.container == pdb
        assert {each.con_id for each in reading.cluster_groups()} == {con_id}
        assert {each.verdict for each in reading.cluster_groups()} & {Verdict.THROTTLED, Verdict.STARVED} == set()
        assert next(line.name for line in plan_view(reading, current).lines) == pdb
