"""Containers divided by CPU_MIN_COUNT, open on one instance only, or seen from inside: from files.

Counters are of one minute; figures are worked out by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import all_clear, minimums_missed, wrong
from presman.analysis.alerts.judge import Judge
from presman.analysis.assemble import analyse
from presman.analysis.groups.containers import pdbs
from presman.analysis.groups.verdicts import conformance, explain
from presman.analysis.plans.lint import lint
from presman.analysis.plans.plan_view import parts_text, plan_view
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.config.alert_lines import read_alerts
from presman.figures.group_figures import PDBS, state_text
from presman.rows.snapshot import Snapshot
from tests.situations.spooled import Views, reading, snapshots

FIRST, SECOND = "2026-03-14 12:00:00", "2026-03-14 12:01:00"
NAMES = {3: "P1", 4: "P2", 5: "P3"}


def database(version: str, cpus: int) -> Views:
    return {
        "V$INSTANCE": f"INSTANCE_NUMBER | VERSION | STATUS\n1 | {version} | OPEN",
        "V$DATABASE": "NAME | CDB\nCDB1 | YES",
        "V$OSSTAT": f"STAT_NAME | VALUE\nNUM_CPUS | {cpus}",
        "V$RSRC_PLAN": "CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING\n1 | CDB | TRUE | ON | OFF",
        "V$PDBS": "CON_ID | NAME | OPEN_MODE\n2 | PDB$SEED | READ ONLY\n3 | P1 | READ WRITE\n4 | P2 | READ WRITE",
    }


def given(*rows: str) -> Views:
    """The CDB plan: the default directive, as every plan has it, and these."""
    head = "PLAN | PLUGGABLE_DATABASE | SHARES | UTILIZATION_LIMIT | PARALLEL_SERVER_LIMIT"
    usual = ("CDB | ORA$DEFAULT_PDB_DIRECTIVE | 1 | 100 | 100", "CDB | ORA$AUTOTASK | | 90 | 100")
    return {"DBA_CDB_RSRC_PLAN_DIRECTIVES": "\n".join([head, *usual, *rows])}


def parameters(*rows: str) -> Views:
    return {"V$SYSTEM_PARAMETER": "\n".join(["CON_ID | NAME | VALUE", *rows])}


def used(cpus: Mapping[int, tuple[float, float]]) -> Views:
    """What containers used and waited for in the minute, all of it in OTHER_GROUPS, for they run no plan."""
    of_pdbs = ["SAMPLE_TIME | CON_ID | PDB_NAME | CONSUMED_CPU_TIME | CPU_WAIT_TIME"]
    of_groups = ["SAMPLE_TIME | CON_ID | NAME | ACTIVE_SESSIONS | CONSUMED_CPU_TIME | CPU_WAIT_TIME"]
    for at, factor in ((FIRST, 0), (SECOND, 60_000)):
        for con_id, (cpu, waiting) in cpus.items():
            counters = f"{round(factor * cpu)} | {round(factor * waiting)}"
            of_pdbs.append(f"{at} | {con_id} | {NAMES[con_id]} | {counters}")
            of_groups.append(f"{at} | {con_id} | OTHER_GROUPS | 9 | {counters}")
    return {"V$RSRC_PDB": "\n".join(of_pdbs), "V$RSRC_CONSUMER_GROUP": "\n".join(of_groups)}


def containers(folder: Path, views: Views) -> tuple[dict[tuple[int, str], PdbReading], Reading, Snapshot]:
    before, after = snapshots(folder, views)
    found = analyse(before, after)
    return {(row.inst_id, row.name): row for row in pdbs(found, before, after)}, found, after


def of(found: Reading, con_id: int, name: str = "OTHER_GROUPS") -> GroupReading:
    return next(row for row in found.cluster_groups() if (row.con_id, row.name) == (con_id, name))


LAB = {3: (3.08, 3.0), 4: (0.80, 3.0)}
"""Oracle's lab on 19c: 4 CPUs, CPU_MIN_COUNT 4 and 1, both busy: 77 and 20 % of the CPUs are used."""
MINIMA = parameters("0 | cpu_count | 4", "0 | cpu_min_count | 4", "3 | cpu_min_count | 4", "4 | cpu_min_count | 1")


def test_oracles_lab_is_kept(tmp_path: Path) -> None:
    """3.88 CPUs were handed out: 4/5 of them are 3.10 and 1/5 is 0.78. By shares both would be due 1.94."""
    rows, found, after = containers(tmp_path, database("19.22.0.0.0", 4) | given() | MINIMA | used(LAB))
    assert (rows[0, "P1"].entitled, rows[0, "P2"].entitled) == pytest.approx((3.88 * 4 / 5, 3.88 * 1 / 5))
    assert (rows[0, "P1"].guaranteed, rows[0, "P2"].guaranteed) == pytest.approx((3.2, 0.8))
    assert {row.verdict for row in rows.values()} == {of(found, 3).verdict, of(found, 4).verdict} == {Verdict.CONTENDED}
    lines = {line.name: parts_text(line) for line in plan_view(found, after).lines if line.kind == "container"}
    assert lines == {"P1": "CPU_MIN_COUNT 4", "P2": "CPU_MIN_COUNT 1"}
    (finding,) = [each for each in lint(found, after) if each.rule == "cdb-over-provisioned"]
    assert finding.severity.value == "warning"
    assert "adds up to 5 of 4 CPUs (P1 4, P2 1;" in finding.text


def test_a_missed_minimum_is_reported_though_the_plan_is_met(tmp_path: Path) -> None:
    """Of its 4 CPUs P1 gets 3.08 and waits for 3 more; P2 lacks 0.2 of its 1, which is within the error."""
    rows, found, _ = containers(tmp_path, database("19.22.0.0.0", 4) | given() | MINIMA | used(LAB))
    (missed,) = found.missed_minimums
    assert tuple(missed) == (1, 3, "P1", pytest.approx(3.08), 4.0, 5.0, 4.0)
    gets = "P1 gets 3.1 of the 4 CPUs of its CPU_MIN_COUNT"
    adds = "CPU_MIN_COUNT of all open containers adds up to 5 of 4 CPUs"
    (alert,) = minimums_missed(found)
    assert (alert.state, alert.subject, alert.text) == ("warn", "P1", f"CPU: {gets}: {adds}")
    assert alert.amount == pytest.approx(23.0), "percent"
    step = to_do(found)
    assert step is not None
    assert step.text == f"add CPUs, or decide whose CPU_MIN_COUNT to lower: {gets}", "both want more than theirs"
    (here,) = found.header.instances
    caged = replace(found, header=replace(found.header, instances=(replace(here, caging="ON", host_cpus=8.0),)))
    step = to_do(caged)
    assert step is not None
    assert step.text == f"raise CPU_COUNT: {gets}, and the host has CPUs to spare"
    assert state_text(of(found, 3)) == "▲ below CPU_MIN_COUNT"
    assert state_text(of(found, 4)) == "▬ contended, entitlement met"
    states = [PDBS.column("verdict").text(rows[0, name]) for name in ("P1", "P2")]
    assert states == ["▲ below CPU_MIN_COUNT", "▬ contended, entitlement met"]
    (mild,) = [
        each for each in wrong(Judge(read_alerts("cpu_minimum warning=24")).judge(found)) if each.key == alert.key
    ]
    assert mild.state == "note"
    assert all_clear(found) == [], "no all-clear for starved groups beside it"
    (judged,) = conformance(found)
    assert judged.sentence.startswith(f"The plan is met, but {gets}: those of all open ones add up to 5 of 4. 3.9 of 4")
    two = replace(found, missed_minimums=(missed, missed._replace(con_id=4, name="P2", used=0.5, least=1.0)))
    assert [each.subject for each in minimums_missed(two)] == ["P1", "P2"], "the one that lacks most first"
    assert f"{gets} and P2 gets 0.5 of the 1 CPUs of its CPU_MIN_COUNT: those" in conformance(two)[0].sentence


@pytest.mark.parametrize(
    ("version", "settings", "directives", "cpus"),
    [
        ("19.22.0.0.0", ["3 | cpu_min_count | 3", "4 | cpu_min_count | 1"], [], {3: (2.0, 3.0), 4: (1.9, 3.0)}),
        ("19.22.0.0.0", ["3 | cpu_min_count | 4", "4 | cpu_min_count | 1"], ["CDB | P1 | 3 | | "], LAB),
        ("19.22.0.0.0", ["3 | cpu_min_count | 4", "4 | cpu_min_count | 1"], [], {3: (3.08, 0.0), 4: (0.8, 3.0)}),
        ("19.22.0.0.0", ["4 | cpu_min_count | 1"], [], LAB),
        ("18.14.0.0.0", ["3 | cpu_count | 4", "4 | cpu_count | 3"], [], LAB),
    ],
    ids=["there is as much, so P1 is starved", "SHARES set", "it wants no more", "never set there", "18"],
)
def test_no_minimum_is_missed_where_none_was_promised(
    tmp_path: Path, version: str, settings: list[str], directives: list[str], cpus: dict[int, tuple[float, float]]
) -> None:
    views = database(version, 4) | given(*directives) | parameters("0 | cpu_count | 4", *settings) | used(cpus)
    assert containers(tmp_path, views)[1].missed_minimums == ()


@pytest.mark.parametrize(
    ("version", "settings", "directives", "guaranteed"),
    [
        ("19.22.0.0.0", ["3 | cpu_min_count | 3", "4 | cpu_min_count | 0.5"], [], (24 / 7, 4 / 7)),
        ("19.22.0.0.0", ["3 | cpu_count | 3", "4 | cpu_count | 1"], [], (3.0, 1.0)),  # the default is CPU_COUNT
        ("18.14.0.0.0", ["3 | cpu_count | 3", "4 | cpu_count | 1"], [], (3.0, 1.0)),
        ("12.2.0.1.0", ["3 | cpu_count | 4", "4 | cpu_count | 3"], [], (2.0, 2.0)),  # shares, one each
        ("19.22.0.0.0", ["3 | cpu_min_count | 4", "4 | cpu_min_count | 1"], ["CDB | P1 | 3 | | "], (3.0, 1.0)),
        ("19.22.0.0.0", ["3 | cpu_min_count | 4", "4 | cpu_min_count | 1"], ["CDB | P1 | | 90 | "], (2.0, 2.0)),
        ("19.22.0.0.0", ["3 | cpu_min_count | 4", "4 | cpu_min_count | 1"], ["CDB | P1 | | | 50"], (3.2, 0.8)),
    ],
    ids=["19c", "19c by CPU_COUNT", "18", "12.2", "SHARES set", "UTILIZATION_LIMIT set", "servers alone are limited"],
)
def test_what_decides_the_part_of_a_container(
    tmp_path: Path, version: str, settings: list[str], directives: list[str], guaranteed: tuple[float, float]
) -> None:
    views = database(version, 4) | given(*directives) | parameters("0 | cpu_count | 4", *settings) | used(LAB)
    rows, _, _ = containers(tmp_path, views)
    assert (rows[0, "P1"].guaranteed, rows[0, "P2"].guaranteed) == pytest.approx(guaranteed)


def test_a_closed_container_takes_no_part_of_the_minima(tmp_path: Path) -> None:
    views = database("19.22.0.0.0", 4) | given() | used(LAB)
    views["V$PDBS"] += "\n5 | P3 | MOUNTED"
    rows = ("3 | cpu_min_count | 2", "4 | cpu_min_count | 1", "5 | cpu_min_count | 4")
    views |= parameters("0 | cpu_count | 4", *rows)
    found, read, after = containers(tmp_path, views)
    assert set(found) == {(0, "P1"), (0, "P2")}
    assert found[0, "P1"].guaranteed == pytest.approx(4 * 2 / 3)
    assert [each.rule for each in lint(read, after) if each.rule == "cdb-over-provisioned"] == [], "3 of 4 CPUs"


def test_cpu_min_count_overridden_by_shares_is_only_a_note(tmp_path: Path) -> None:
    directives = given("CDB | P1 | 1 | | ", "CDB | P2 | 1 | | ")
    _, found, after = containers(tmp_path, database("19.22.0.0.0", 4) | directives | MINIMA | used(LAB))
    (finding,) = [each for each in lint(found, after) if each.rule == "cdb-over-provisioned"]
    assert finding.severity.value == "note"
    assert finding.text.endswith("sets SHARES or UTILIZATION_LIMIT, and these decide instead.")


def test_cpu_shared_over_the_whole_server_leaves_what_is_due_unknown(tmp_path: Path) -> None:
    scope = parameters("0 | cpu_count | 4", "0 | resource_manager_cpu_scope | SERVER_WIDE")
    rows, found, _ = containers(tmp_path, database("23.6.0.24.10", 4) | given("CDB | P1 | 3 | | ") | scope | used(LAB))
    for row in (rows[0, "P1"], rows[0, "P2"], of(found, 3), of(found, 4)):
        assert (row.verdict, row.entitled, row.guaranteed) == (Verdict.THROTTLED, None, None)
        assert "divided over all instances of the server (RESOURCE_MANAGER_CPU_SCOPE = SERVER_WIDE)" in explain(row)
    here = scope | parameters("0 | cpu_count | 4", "0 | resource_manager_cpu_scope | INSTANCE_ONLY")
    folder = tmp_path / "one instance"
    folder.mkdir()
    rows, _, _ = containers(folder, database("23.6.0.24.10", 4) | given("CDB | P1 | 3 | | ") | here | used(LAB))
    assert rows[0, "P1"].verdict is Verdict.CONTENDED


def inside(plan: str, *parameter_rows: str, group: str = "HIGH") -> Views:
    """One container seen from inside, to which the CDB gives UTILIZATION_LIMIT 16."""
    own = plan.removeprefix("FORCE:")
    found = {
        "V$INSTANCE": "INSTANCE_NUMBER | VERSION | STATUS\n1 | 19.22.0.0.0 | OPEN",
        "V$DATABASE": "NAME | CDB\nCDB1 | YES",
        "V$PDBS": "CON_ID | NAME | OPEN_MODE\n3 | P1 | READ WRITE",
        "V$RSRC_PLAN": "CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING | SHARES | UTILIZATION_LIMIT\n"
        f"3 | {plan} | TRUE | ON | OFF | 2 | 16",
        "DBA_RSRC_PLAN_DIRECTIVES": "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1\n"
        f"{own} | {group} | CONSUMER_GROUP | 4\n{own} | OTHER_GROUPS | CONSUMER_GROUP | 1",
    }
    if parameter_rows:
        found |= parameters(*parameter_rows) | {"V$OSSTAT": "STAT_NAME | VALUE\nNUM_CPUS | 16"}
    return found


@pytest.mark.parametrize(
    ("views", "cpus", "limit"),
    [
        (inside("DAY", "3 | cpu_count | 16"), 16.0, 2.56),
        (inside("DAY", "0 | cpu_count | 16"), 16.0, 2.56),
        (inside("DWCS_PLAN", "3 | cpu_count | 16"), 16.0, None),
        (inside("FORCE:OLTP_PLAN"), 16.0, None),
        (inside("OLTP_PLAN", "3 | cpu_count | 16", group="PAY"), 16.0, 2.56),
    ],
    ids=["plain, set for itself", "plain, inherited", "autonomous", "autonomous without V$PARAMETER", "so called"],
)
def test_a_percentage_stays_one(tmp_path: Path, views: Views, cpus: float, limit: float | None) -> None:
    """16 % of 16 CPUs is 2.56; on an Autonomous Database 16 is the number of CPUs."""
    found = reading(tmp_path, views)
    assert found.header.num_cpus == cpus
    (own, _) = found.cluster_groups()
    assert own.limit == (limit if limit is None else pytest.approx(limit))


OTHER_IO = (
    "SMALL_WRITE_REQUESTS | LARGE_READ_REQUESTS | LARGE_WRITE_REQUESTS | "
    "SMALL_READ_MEGABYTES | SMALL_WRITE_MEGABYTES | LARGE_READ_MEGABYTES | LARGE_WRITE_MEGABYTES"
)
NO_IO = " | ".join("0" * 7)
NODES = {
    "GV$INSTANCE": "INST_ID | INSTANCE_NUMBER | VERSION | STATUS\n"
    "1 | 1 | 19.22.0.0.0 | OPEN\n2 | 2 | 19.22.0.0.0 | OPEN",
    "V$DATABASE": "NAME | CDB\nCDB1 | YES",
    "GV$OSSTAT": "INST_ID | STAT_NAME | VALUE\n1 | NUM_CPUS | 8\n2 | NUM_CPUS | 16",
    "GV$RSRC_PLAN": """
        INST_ID | CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING | PARALLEL_EXECUTION_MANAGED
        1 | 1 | CDB | TRUE | ON | OFF | FULL
        2 | 1 | CDB | TRUE | ON | OFF | FULL
        1 | 3 | OWN | TRUE | ON | OFF | FULL
        2 | 4 | OWN | TRUE | ON | OFF | FULL
    """,
    "GV$PDBS": """
        INST_ID | CON_ID | NAME | OPEN_MODE
        1 | 2 | PDB$SEED | READ ONLY
        2 | 2 | PDB$SEED | READ ONLY
        1 | 3 | P1 | READ WRITE
        1 | 4 | P2 | MOUNTED
        2 | 3 | P1 | MOUNTED
        2 | 4 | P2 | READ WRITE
        1 | 5 | P3 | MOUNTED
        2 | 5 | P3 | MOUNTED
    """,
    "CDB_RSRC_PLAN_DIRECTIVES": """
        CON_ID | PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | PARALLEL_SERVER_LIMIT
        3 | OWN | WEB | CONSUMER_GROUP | 3 | 50
        3 | OWN | OTHER_GROUPS | CONSUMER_GROUP | 1 |
        4 | OWN | PAY | CONSUMER_GROUP | 1 | 25
        4 | OWN | OTHER_GROUPS | CONSUMER_GROUP | 1 |
    """,
    **given("CDB | P1 | 3 | | ", "CDB | P2 | 1 | | "),
    "GV$RSRC_PDB": f"""
        SAMPLE_TIME | INST_ID | CON_ID | PDB_NAME | CONSUMED_CPU_TIME | CPU_WAIT_TIME | SMALL_READ_REQUESTS | {OTHER_IO}
        {FIRST} | 1 | 3 | P1 | 0 | 0 | 0 | {NO_IO}
        {FIRST} | 2 | 4 | P2 | 0 | 0 | 0 | {NO_IO}
        {SECOND} | 1 | 3 | P1 | 360000 | 0 | 600 | {NO_IO}
        {SECOND} | 2 | 4 | P2 | 780000 | 240000 | 1200 | {NO_IO}
    """,
    "GV$RSRC_CONSUMER_GROUP": f"""
        SAMPLE_TIME | INST_ID | CON_ID | NAME | ACTIVE_SESSIONS | CONSUMED_CPU_TIME | CPU_WAIT_TIME
        {FIRST} | 1 | 3 | WEB | 9 | 0 | 0
        {FIRST} | 2 | 4 | PAY | 9 | 0 | 0
        {SECOND} | 1 | 3 | WEB | 9 | 360000 | 0
        {SECOND} | 2 | 4 | PAY | 9 | 780000 | 240000
    """,
    "GV$PARAMETER": """
        INST_ID | CON_ID | NAME | VALUE
        1 | 0 | parallel_servers_target | 100
        2 | 0 | parallel_servers_target | 100
    """,
}
"""A cluster of 8 and 16 CPUs with a container open on each; P1 uses 6 CPUs, P2 13 and waits for 4 more."""


def test_containers_open_on_one_instance_each_are_summed_over_those(tmp_path: Path) -> None:
    rows, found, _ = containers(tmp_path, NODES)
    assert set(rows) == {(0, "P1"), (0, "P2"), (1, "P1"), (2, "P2")}
    p1, p2 = rows[0, "P1"], rows[0, "P2"]
    assert (p1.used, p1.waiting, p1.capacity, p1.guaranteed) == (6.0, 0.0, 8.0, 8.0)
    assert (p2.used, p2.waiting, p2.capacity, p2.guaranteed) == (13.0, 4.0, 16.0, 16.0)
    assert p1.io is not None
    assert p2.io is not None
    assert (p1.io.small_read_requests, p2.io.small_read_requests) == (10.0, 20.0)
    assert {(row.inst_id, row.con_id) for row in found.groups} == {(0, 3), (1, 3), (0, 4), (2, 4)}
    web, pay = of(found, 3, "WEB"), of(found, 4, "PAY")
    assert (web.used, web.container, web.guaranteed) == (6.0, "P1", 6.0)  # 3/4 of the 8 CPUs of its instance
    assert (pay.used, pay.container, pay.verdict) == (13.0, "P2", Verdict.CONTENDED)
    assert (web.servers_limit, pay.servers_limit) == (100, 50), "of 200 servers of the cluster"


def test_a_missing_row_on_one_instance_removes_no_rate(tmp_path: Path) -> None:
    """P1 is open on both, but only instance 1 has counters of it."""
    views = NODES | {"GV$PDBS": NODES["GV$PDBS"].replace("2 | 3 | P1 | MOUNTED", "2 | 3 | P1 | READ WRITE")}
    rows, found, _ = containers(tmp_path, views)
    assert (rows[0, "P1"].used, rows[1, "P1"].used, rows[2, "P1"].used) == (6.0, 6.0, None)
    assert of(found, 3, "WEB").used == 6.0
    assert rows[2, "P1"].guaranteed == pytest.approx(16 * 3 / 4), "it is open there, and may come"


def test_the_plan_of_a_cluster_has_what_is_open_on_any_instance(tmp_path: Path) -> None:
    """P1 has all of instance 1, 8 of the 24 CPUs, and P2 the 16 of the other."""
    _, found, after = containers(tmp_path, NODES)
    lines = {(line.con_id, line.name): line for line in plan_view(found, after).lines}
    assert list(lines) == [(3, "P1"), (3, "WEB"), (3, "OTHER_GROUPS"), (4, "P2"), (4, "PAY"), (4, "OTHER_GROUPS")]
    assert (lines[3, "P1"].share, lines[4, "P2"].share) == pytest.approx((8 / 24, 16 / 24))
    assert (lines[3, "WEB"].guaranteed, lines[4, "PAY"].guaranteed) == pytest.approx((6.0, 8.0))
    assert (lines[3, "P1"].runs, lines[4, "P2"].runs) == ("OWN", "OWN")


def test_the_linter_says_nothing_of_a_container_where_it_is_not_open(tmp_path: Path) -> None:
    _, found, after = containers(tmp_path, NODES)
    rules = {finding.rule for finding in lint(found, after)}
    assert rules & {"instances-differ", "cdb-container-without-plan", "cdb-nobody-there", "cdb-tiny-share"} == set()
    gone = NODES | given("CDB | P1 | 3 | | ", "CDB | P2 | 1 | | ", "CDB | P3 | 9 | | ")
    folder = tmp_path / "more"
    folder.mkdir()
    _, found, after = containers(folder, gone)
    (finding,) = [each for each in lint(found, after) if each.rule == "cdb-nobody-there"]
    assert finding.text.startswith("Directives name P3, not open")


def test_v_pdbs_of_one_instance_still_shows_what_is_open_there(tmp_path: Path) -> None:
    """A spool of V$PDBS has the modes of the instance it was made on; the other's containers show by their plans."""
    views = {name: table for name, table in NODES.items() if name != "GV$PDBS"}
    views["V$PDBS"] = "CON_ID | NAME | OPEN_MODE\n2 | PDB$SEED | READ ONLY\n3 | P1 | READ WRITE\n4 | P2 | MOUNTED"
    rows, found, _ = containers(tmp_path, views)
    assert (rows[0, "P1"].used, rows[0, "P2"].used) == (6.0, 13.0)
    assert of(found, 4, "PAY").container == "P2"


def test_a_missed_minimum_names_its_instance(tmp_path: Path) -> None:
    """On instance 1 P1 is due 6 of 8 CPUs and has 5; on instance 2 it wants no more than the 2 it uses of its 12."""
    rows = {(1, 3): (5.0, 4.0), (1, 4): (3.0, 4.0), (2, 3): (2.0, 0.0), (2, 4): (3.0, 0.0)}
    lines = ["SAMPLE_TIME | INST_ID | CON_ID | NAME | ACTIVE_SESSIONS | CONSUMED_CPU_TIME | CPU_WAIT_TIME"]
    for at, factor in ((FIRST, 0), (SECOND, 60_000)):
        lines += [
            f"{at} | {inst_id} | {con_id} | OTHER_GROUPS | 9 | {round(factor * cpu)} | {round(factor * waiting)}"
            for (inst_id, con_id), (cpu, waiting) in rows.items()
        ]
    places = [(inst_id, con_id) for inst_id in (1, 2) for con_id in (3, 4)]
    pdbs_open = "\n".join(f"{inst_id} | {con_id} | {NAMES[con_id]} | READ WRITE" for inst_id, con_id in places)
    views = {name: NODES[name] for name in ("GV$INSTANCE", "V$DATABASE", "GV$OSSTAT")} | {
        "GV$RSRC_PLAN": "INST_ID | CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING\n"
        "1 | 1 | CDB | TRUE | ON | OFF\n2 | 1 | CDB | TRUE | ON | OFF",
        "GV$PDBS": f"INST_ID | CON_ID | NAME | OPEN_MODE\n{pdbs_open}",
        "GV$RSRC_CONSUMER_GROUP": "\n".join(lines),
    }
    found = reading(tmp_path, views | given("CDB | P1 | 3 | | ", "CDB | P2 | 1 | | "))
    (alert,) = [each for each in wrong(found) if each.key == "cpu_starved"]
    assert (
        alert.text
        == "CPU: OTHER_GROUPS (P1) is a little below its entitlement, 5.0 of 6.0 CPUs on instance 1; wants 9.0"
    )
    step = to_do(found)
    assert step is not None
    assert step.text.endswith("OTHER_GROUPS (P1) gets 5.0 of 6.0 CPUs that it is entitled to on instance 1")
