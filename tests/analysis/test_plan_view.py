"""The plan as a tree with figures, who set it, and two plans compared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.assemble import analyse
from presman.analysis.facts.plan_book import Branch, PlanBook, positions
from presman.analysis.plans.plan_changes import plan_switches
from presman.analysis.plans.plan_view import PlanView, _together, differences, parts_text, plan_view
from presman.figures.group_figures import GROUPS
from presman.figures.plan_figures import PLAN
from presman.output.json_document import assess
from presman.output.v1_tables import emphasis
from presman.rows.group_rows import CdbPlanDirective, GroupMapping, GroupMetric, Plan, PlanDirective, RsrcPlanHistory
from presman.rows.instance_rows import Database, Parameter, Pdb
from tests.analysis.make import NOON, active_plan, directive, group, instance, row, snapshot
from tests.analysis.test_plan import MYDB_PLAN, plans
from tests.recording.recorded import polled

NESTED = [
    directive("DAY", "SYS_GROUP", 50),
    directive("DAY", "MAIL", 30, type="PLAN", utilization_limit=80),
    directive("DAY", "OTHER_GROUPS", 0, 100, parallel_server_limit=25),
    directive("MAIL", "POSTMAN", 40, utilization_limit=50, parallel_queue_timeout=60, pq_timeout_action="RUN"),
    directive("MAIL", "USERS", 0, 80, switch_group="POSTMAN", switch_time=300, switch_for_call="TRUE"),
    directive("MAIL", "MAINT", 0, 20, max_idle_time=600, session_pga_limit=512),
]


def view(*rows: Any, plan: str = "", cpus: int = 16) -> PlanView:
    now = snapshot(instance(), active_plan(), row(GroupMetric, consumer_group_name="X", num_cpus=cpus), *rows)
    return plan_view(analyse(None, now), now, plan)


def test_the_tree_has_shares_limits_in_cpus_and_servers_and_rules_in_words() -> None:
    found = {line.name: line for line in view(*NESTED).lines}
    assert [(line.depth, line.kind, line.name) for line in view(*NESTED).lines] == [
        (0, "group", "SYS_GROUP"),
        (0, "subplan", "MAIL"),
        (1, "group", "POSTMAN"),
        (1, "group", "USERS"),
        (1, "group", "MAINT"),
        (0, "group", "OTHER_GROUPS"),
    ]
    # 40 % of the 30 % subplan, as Oracle's own manual reckons: 12 %.
    assert found["POSTMAN"].share == pytest.approx(0.12)
    assert found["USERS"].share == pytest.approx(0.3 * 0.6 * 0.8)
    assert found["POSTMAN"].guaranteed == pytest.approx(0.12 * 16)
    assert (found["MAIL"].limit, found["POSTMAN"].limit, found["USERS"].limit) == pytest.approx((12.8, 6.4, 12.8))
    assert (found["OTHER_GROUPS"].servers_limit, found["OTHER_GROUPS"].servers_percent) == (32, 25)
    assert (found["POSTMAN"].queue_timeout, found["POSTMAN"].timeout_action) == (60, "RUN")
    assert found["USERS"].switch == "after 300 s of CPU in a call: POSTMAN"
    assert found["MAINT"].ends == "ends after 600 s idle; PGA of a session at most 512 MB"
    assert [parts_text(found[name]) for name in ("SYS_GROUP", "USERS")] == ["L1 50 %", "L2 80 %"]


def test_each_percentage_names_its_base() -> None:
    found = {line.name: line for line in view(*NESTED).lines}
    limits = [PLAN.column(key) for key in ("limit_cpus", "px_servers_limit")]
    texts = {name: [limit.text(line) for limit in limits] for name, line in found.items()}
    assert texts["MAIL"] == ["12.8 (80 % of 16)", "?"], "what it means for the servers of its groups is not documented"
    assert texts["POSTMAN"] == ["6.4 (50 % of 12.8)", "?"]
    assert texts["USERS"] == ["12.8", "?"]
    assert texts["OTHER_GROUPS"] == ["-", "32 (25 %)"]
    lower = found["OTHER_GROUPS"]._replace(servers_limit=20, servers_target=None)
    assert PLAN.column("px_servers_limit").text(lower) == "20", "that of its container"


def test_a_weight_is_shares_and_a_subplan_adds_up_its_groups() -> None:
    plan = [row(Plan, plan="DAY", mgmt_method="RATIO"), directive("DAY", "A", 3), directive("DAY", "B", 1, type="PLAN")]
    plan += [directive("B", "X", 60), directive("B", "Y", 40)]
    before = [instance(), active_plan(), *plan, group("X"), group("Y")]
    after = [*before[:-2], group("X", consumed_cpu_time=4000, cpu_wait_time=2000), group("Y", consumed_cpu_time=2000)]
    metric = row(GroupMetric, consumer_group_name="X", num_cpus=16)
    now = snapshot(*after, metric, after=2.0, number=2)
    found = {line.name: line for line in plan_view(analyse(snapshot(*before, metric), now), now).lines}
    assert [parts_text(found[name]) for name in ("A", "B", "X")] == ["3 shares", "1 share", "L1 60 %"]
    assert (found["B"].used, found["B"].waiting) == (3.0, 1.0)
    assert found["B"].share == pytest.approx(0.25)
    assert found["X"].verdict is not None
    assert found["B"].verdict is None


def test_containers_stand_above_their_plans() -> None:
    cdb = [
        row(Database, cdb="YES"),
        row(Pdb, con_id=3, name="SALES", open_mode="READ WRITE"),
        row(Pdb, con_id=4, name="HR", open_mode="READ WRITE"),
        row(CdbPlanDirective, plan="CDB", pluggable_database="SALES", shares=3),
        row(CdbPlanDirective, plan="CDB", pluggable_database="HR", shares=1, utilization_limit=50),
        directive("SALES_PLAN", "WEB", 3),
        directive("SALES_PLAN", "OTHER_GROUPS", 1),
    ]
    now = snapshot(instance(), active_plan("CDB", con_id=1), active_plan("SALES_PLAN", con_id=3),
                   row(GroupMetric, con_id=1, consumer_group_name="X", num_cpus=8), *cdb)  # fmt: skip
    found = plan_view(analyse(None, now), now)
    assert [(line.depth, line.kind, line.name, line.con_id) for line in found.lines] == [
        (0, "container", "SALES", 3),
        (1, "group", "WEB", 3),
        (1, "group", "OTHER_GROUPS", 3),
        (0, "container", "HR", 4),
        (1, "group", "OTHER_GROUPS", 4),
    ]
    assert [line.share for line in found.lines] == pytest.approx([0.75, 0.5625, 0.1875, 0.25, 0.25])
    assert found.lines[3].limit == pytest.approx(4.0)


def test_a_group_without_a_limit_of_its_own_may_hold_what_its_container_may() -> None:
    """HR may hold 25 % of 96, SALES 50 %. PAYROLL has a limit of its own: 90 % of what HR may hold."""
    *_, (now, found) = polled("pdb", 2)
    lines = {(line.con_id, line.name): line for line in plan_view(found, now).lines if line.kind == "group"}
    limits = {key: (line.servers_limit, line.servers_percent) for key, line in lines.items()}
    assert (limits[3, "ONLINE"], limits[3, "REPORTING"]) == ((48, None), (36, 75))
    assert (limits[4, "OTHER_GROUPS"], limits[4, "PAYROLL"]) == ((24, None), (21, 90))
    (group,) = (row for row in found.cluster_groups() if (row.con_id, row.name) == (4, "OTHER_GROUPS"))
    text = GROUPS["px_servers_active"].text
    assert text is not None
    assert (group.servers_limit, text(group)) == (None, "16/24")


def test_who_set_the_plan_and_whether_windows_may_change_it() -> None:
    opened: dict[str, Any] = {"name": "DAY", "start_time": NOON, "sequence": 2}
    by_window = {"enabled_by_scheduler": "TRUE", "window_name": "MONDAY_WINDOW", "allowed_automated_switches": "TRUE"}
    assert "scheduler window MONDAY_WINDOW" in view(*NESTED, row(RsrcPlanHistory, **opened, **by_window)).set_by
    by_hand = row(RsrcPlanHistory, **opened, allowed_automated_switches="TRUE")
    forced = row(Parameter, name="resource_manager_plan", value="FORCE:DAY")
    assert "by a user or parameter" in view(*NESTED, by_hand).set_by
    assert view(*NESTED, by_hand).set_by.endswith("windows may change it")
    assert view(*NESTED, by_hand, forced).set_by.endswith("windows may not change it")
    assert "does not show" in view(*NESTED).set_by
    own = row(RsrcPlanHistory, con_id=4, **opened, **by_window)
    assert "MONDAY_WINDOW" in view(*NESTED, own).set_by, "a pluggable database sees its own windows"


def test_mappings_to_groups_outside_the_plan_are_listed() -> None:
    rules = [row(GroupMapping, attribute="SERVICE_NAME", value=name, consumer_group=name) for name in ("USERS", "GONE")]
    assert [rule.in_plan for rule in view(*NESTED, *rules).mappings] == [True, False]


def test_another_plan_has_shares_no_entitlement_and_its_differences() -> None:
    night = [
        directive("NIGHT", "SYS_GROUP", 50),
        directive("NIGHT", "OTHER_GROUPS", 0, 100, parallel_server_limit=50),
        directive("NIGHT", "BATCH", 50),
    ]
    rows = [*NESTED, *night, row(Plan, plan="DAY"), row(Plan, plan="NIGHT"), row(Plan, plan="MAIL", sub_plan="YES")]
    day, other = view(*rows), view(*rows, plan="NIGHT")
    assert day.plans == ("DAY", "NIGHT", "MAIL")
    assert (day.active, other.active) == (True, False)
    assert all(line.entitled is None and line.used is None for line in other.lines)
    changes = {(each.name, each.fact): (each.before, each.after) for each in differences(day, other)}
    assert changes["OTHER_GROUPS", "server limit"] == ("25 %", "50 %")
    assert changes["OTHER_GROUPS", "guaranteed"] == ("20.00 %", "0.00 %")
    assert changes["BATCH", "group"] == ("not there", "there")
    assert changes["MAIL", "subplan"][0] == "there"
    assert not any(name == "SYS_GROUP" for name, _ in changes)
    assert differences(day, day) == ()
    assert view(*rows, plan="UNKNOWN").lines == ()


@given(plans())
def test_the_tree_and_the_emphasis_measure_agree_for_nested_plans(rows: list[PlanDirective]) -> None:
    tree = PlanBook.read([], rows).tree("P")
    now = snapshot(instance(), active_plan("P"), *rows)
    table = emphasis(now, analyse(None, now))
    named = {each.group_or_subplan for each in rows}
    for placed, line in zip(positions(tree), table.rows, strict=True):
        assert line[0] == placed.branch.name
        assert line[0] in named
        assert line[1:] == pytest.approx([100 * part for part in placed.by_level], abs=0.006)


@given(plans(), st.sampled_from(["EMPHASIS", "RATIO", ""]), st.sampled_from([0, 3]))
def test_any_plan_can_be_looked_at_and_judged(rows: list[PlanDirective], method: str, con_id: int) -> None:
    cdb = [row(Database, cdb="YES"), row(Pdb, con_id=3, name="SALES", open_mode="READ WRITE")] if con_id else []
    plan = [active_plan("P", con_id=con_id), row(Plan, plan="P", mgmt_method=method)]
    metric = row(GroupMetric, con_id=con_id, consumer_group_name="X", num_cpus=16)
    now = snapshot(instance(), *plan, *cdb, *rows, metric)
    found = assess(analyse(None, now), None, now)
    groups = [line for line in found.plan.lines if line.kind == "group"]
    assert sum(line.share for line in groups) + found.plan.unallocated == pytest.approx(1.0)
    for line in found.plan.lines:
        assert 0 <= line.guaranteed <= 16 + 1e-9
        assert line.limit is None or line.guaranteed <= line.limit + 1e-9
        assert sum(line.by_level) == pytest.approx(line.share)
        assert parts_text(line)
    assert all(each.text.endswith(".") for each in found.findings)


def test_emphasis_of_the_documented_nested_plan() -> None:
    now = snapshot(instance(), active_plan("MYDB_PLAN"), *MYDB_PLAN)
    table = emphasis(now, analyse(None, now))
    found = {line[0]: line[1:4] for line in table.rows}
    assert found["POSTMAN_GROUP"] == (12.0, 0.0, 0.0)
    assert found["USERS_GROUP"] == (0.0, 14.4, 0.0)
    assert found["MAIL_MAINT_GROUP"] == (0.0, 3.6, 0.0)


def test_emphasis_of_a_container_database_names_containers_and_their_groups() -> None:
    """SALES has 3 of 4 shares, its group A 1 of 4 of them: 18.75 %."""
    rows = [row(Database, cdb="YES"), active_plan("CDB", con_id=1), active_plan("OWN", con_id=3)]
    for con_id, name, shares in ((3, "SALES", 3), (4, "HR", 1)):
        rows.append(row(Pdb, con_id=con_id, name=name, open_mode="READ WRITE"))
        rows.append(row(CdbPlanDirective, plan="CDB", pluggable_database=name, shares=shares))
    now = snapshot(instance(), *rows, directive("OWN", "A", 1), directive("OWN", "OTHER_GROUPS", 3))
    table = emphasis(now, analyse(None, now))
    assert table.values(1) == {"SALES": 75.0, "A#3": 18.75, "OTHER_GROUPS#3": 56.25, "HR": 25.0, "OTHER_GROUPS#4": 25.0}


def test_marks_are_the_top_plans_changes_and_instances_share_them() -> None:
    changes = [
        row(RsrcPlanHistory, inst_id=inst_id, name="SCHEDULER[0x1]:NIGHT", start_time=NOON, window_name="MONDAY",
            enabled_by_scheduler="TRUE", sequence=1)
        for inst_id in (1, 2)
    ]  # fmt: skip
    changes.append(row(RsrcPlanHistory, name="", start_time=NOON.replace(hour=13), sequence=2))
    changes.append(row(RsrcPlanHistory, con_id=3, name="PDB_PLAN", start_time=NOON.replace(hour=11), sequence=1))
    found = plan_switches(snapshot(*changes))
    assert [(mark.at.hour, mark.text) for mark in found] == [(12, "NIGHT (MONDAY)"), (13, "no plan")]


def test_instances_with_different_plans_have_a_tree_each() -> None:
    """DAY on 1 and 3, NIGHT on 2: CPUs and use of a tree are those of the instances that run it."""
    fixed: list[Any] = [directive("DAY", "A", 100), directive("NIGHT", "A", 75), directive("NIGHT", "B", 25)]
    for inst_id, plan in ((1, "DAY"), (2, "NIGHT"), (3, "DAY")):
        fixed += [instance(inst_id), active_plan(plan, inst_id=inst_id)]
        fixed.append(row(GroupMetric, inst_id=inst_id, consumer_group_name="X", num_cpus=8))
    before = [group("A", inst_id) for inst_id in (1, 2, 3)]
    after = [group("A", inst_id, consumed_cpu_time=2000 * inst_id, cpu_wait_time=10) for inst_id in (1, 2, 3)]
    now = snapshot(*fixed, *after, after=2.0, number=2)
    reading = analyse(snapshot(*fixed, *before), now)
    first, second = plan_view(reading, now), plan_view(reading, now, "NIGHT")
    assert (first.plan, first.instances, first.capacity) == ("DAY", (1, 3), 16.0)
    assert [(run.plan, run.instances) for run in first.elsewhere] == [("NIGHT", (2,))]
    assert [(line.name, line.guaranteed, line.used) for line in first.lines] == [("A", 16.0, pytest.approx(1 + 3))]
    assert (second.active, second.instances, second.capacity) == (True, (2,), 8.0)
    assert [(line.name, line.guaranteed, line.used) for line in second.lines] == [
        ("A", 6.0, pytest.approx(2)),
        ("B", 2.0, None),
    ]
    assert first.plans[:2] == ("DAY", "NIGHT")
    assert [each.plan for each in assess(reading, None, now).other_plans] == ["NIGHT"]
    same = view(*NESTED)
    assert (same.instances, same.elsewhere) == ((1,), ())


def opened(con_id: int, **values: Any) -> RsrcPlanHistory:
    given = {"con_id": con_id, "name": "DAY", "start_time": NOON, "allowed_automated_switches": "TRUE"}
    return row(RsrcPlanHistory, **(given | values))


BY_WINDOW = {"enabled_by_scheduler": "TRUE", "window_name": "MONDAY"}
AT = f"{NOON.astimezone():%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("rows", "set_by"),
    [
        ([], "V$RSRC_PLAN_HISTORY does not show when it was activated"),
        ([opened(0, end_time=NOON)], "V$RSRC_PLAN_HISTORY does not show when it was activated"),
        ([opened(0)], f"set by a user or parameter, {AT}; scheduler windows may change it"),
        ([opened(0, allowed_automated_switches="FALSE")],
         f"set by a user or parameter, {AT}; scheduler windows may not change it"),
        ([opened(0), row(Parameter, name="resource_manager_plan", value="force:DAY")],
         f"set by a user or parameter, {AT}; scheduler windows may not change it"),
        ([opened(0, start_time=None, **BY_WINDOW)],
         "set by the scheduler window MONDAY, an unknown time; scheduler windows may change it"),
        ([opened(3, **BY_WINDOW), opened(1)], f"set by a user or parameter, {AT}; scheduler windows may change it"),
        ([opened(3, **BY_WINDOW)], f"set by the scheduler window MONDAY, {AT}; scheduler windows may change it"),
    ],
)  # fmt: skip
def test_who_set_the_plan_and_whether_a_window_may_change_it(rows: list[Any], set_by: str) -> None:
    """The root's window comes before that of a container; inside a container only its own is visible."""
    assert view(*NESTED, *rows).set_by == set_by


def tree(*parts: int) -> Branch:
    """Return a plan of groups A, B ... with so many percent."""
    branches = [Branch(name, (float(part),), (0, name)) for name, part in zip("AB", parts, strict=False)]
    return Branch("DAY", (), branches=tuple(branches))


def test_a_branchs_share_of_instances_counts_by_their_cpus() -> None:
    """Level 1 in percent of 4 CPUs and of 12; B is there on the first instance alone."""
    trees = ((tree(75, 25), 4.0), (tree(50), 12.0))
    found = {each.branch.name: (each.share, each.by_level[0], there) for each, there in _together(trees)}
    first, second = ({each.branch.name: each.share for each in positions(root)} for root, _ in trees)
    assert (first["A"], first["B"]) == (0.75, 0.25)
    a = (4 * first["A"] + 12 * second["A"]) / 16
    assert found["A"] == (pytest.approx(a), pytest.approx(a), 16.0)
    assert found["B"] == (pytest.approx(4 * 0.25 / 16), pytest.approx(4 * 0.25 / 16), 4.0)


def test_without_cpus_a_branch_is_shown_for_the_first_instance() -> None:
    found = list(_together([(tree(75, 25), 0.0), (tree(50, 50), 0.0)]))
    assert [(each.branch.name, each.share, each.by_level[:1], there) for each, there in found] == [
        ("A", 0.75, (0.75,), 0.0), ("B", 0.25, (0.25,), 0.0),
    ]  # fmt: skip
