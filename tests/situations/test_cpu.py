"""Groups that are starved of CPU, and groups that are below their entitlement but are not: from files, by hand.

A database of 16 CPUs whose plan gives GOLD 75 % and LEAD 25 %, over one minute.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.groups.verdicts import conformance, explain, in_words
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Alert, Reading
from tests.recording.recorded import polled
from tests.situations.spooled import RELEASE_19, Views, reading

FIRST, SECOND = "2026-03-14 12:00:00", "2026-03-14 12:01:00"
CPUS = 16
PLAN = {
    "V$RSRC_PLAN": "NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING\nDAY | TRUE | ON | OFF",
    "DBA_RSRC_PLAN_DIRECTIVES": """
        PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1
        DAY | GOLD | CONSUMER_GROUP | 75
        DAY | LEAD | CONSUMER_GROUP | 25
        DAY | OTHER_GROUPS | CONSUMER_GROUP | 0
    """,
}
RELEASE_23 = {"V$INSTANCE": "INSTANCE_NUMBER | VERSION_FULL | STATUS\n1 | 23.6.0.24.10 | OPEN"}


def used(**cpus: tuple[float, float]) -> Views:
    """The counters of groups that used and waited for so many CPUs in the minute."""
    lines = ["SAMPLE_TIME | NAME | ACTIVE_SESSIONS | CONSUMED_CPU_TIME | CPU_WAIT_TIME"]
    lines += [f"{FIRST} | {name} | 20 | 0 | 0" for name in cpus]
    lines += [
        f"{SECOND} | {name} | 20 | {round(60_000 * cpu)} | {round(60_000 * waiting)}"
        for name, (cpu, waiting) in cpus.items()
    ]
    return {"V$RSRC_CONSUMER_GROUP": "\n".join(lines)}


def host(busy: float | None, cpus: int = CPUS) -> Views:
    """The ticks of a host that was busy for such a part of the minute (hundredths of seconds)."""
    lines = ["SAMPLE_TIME | STAT_NAME | VALUE", *(f"{at} | NUM_CPUS | {cpus}" for at in (FIRST, SECOND))]
    if busy is not None:
        lines += [f"{FIRST} | BUSY_TIME | 0", f"{FIRST} | IDLE_TIME | 0"]
        lines += [f"{SECOND} | BUSY_TIME | {round(6000 * cpus * busy)}"]
        lines += [f"{SECOND} | IDLE_TIME | {round(6000 * cpus * (1 - busy))}"]
    return {"V$OSSTAT": "\n".join(lines)}


def read(folder: Path, *parts: Views, release: Views = RELEASE_19) -> Reading:
    views = dict(release) | PLAN
    for part in parts:
        views |= part
    return reading(folder, views)


def of(found: Reading, name: str) -> GroupReading:
    return next(row for row in found.cluster_groups() if row.name == name)


def about(found: Reading, key: str) -> list[Alert]:
    return [alert for alert in wrong(found) if alert.key == key]


def test_others_that_have_what_is_due_are_starvation(tmp_path: Path) -> None:
    """GOLD is due 12 of 16 and gets 8: LEAD has the other 4."""
    found = read(tmp_path, used(GOLD=(8.0, 8.0), LEAD=(8.0, 4.0)), host(1.0))
    assert of(found, "GOLD").verdict is Verdict.STARVED
    (alert,) = about(found, "cpu_starved")
    assert (alert.state, alert.subject) == ("bad", "GOLD")


def test_cpu_that_others_on_the_host_use_is_blamed_on_the_host(tmp_path: Path) -> None:
    """GOLD wants 12 and gets 4, but all groups used 7 of 16 CPUs while the host was 98 % busy: 8.7 went to others."""
    found = read(tmp_path, used(GOLD=(4.0, 8.0), LEAD=(3.0, 2.0)), host(0.98))
    assert of(found, "GOLD").verdict is Verdict.HOST
    assert about(found, "cpu_starved") == []
    (alert,) = about(found, "host_shared")
    assert "8.7 of the host's 16 CPUs are used by others" in alert.text
    step = to_do(found)
    assert step is not None
    assert step.text.startswith("look at the host: the host is 98 % busy")
    words = in_words(found, of(found, "GOLD"))
    assert "the groups here used 7.0 of 16 CPUs, and the host is 98 % busy" in words
    assert words.endswith("other processes on the host use the rest.")
    (kept,) = conformance(found)
    assert kept.sentence.startswith(
        "GOLD and LEAD are below their entitlement, and no other group has what is missing."
    )
    assert kept.sentence.endswith("others on the host use the rest.")


@pytest.mark.parametrize("busy", [0.5, None], ids=["half of the host is idle", "nothing is known of the host"])
def test_unused_cpu_is_no_starvation(tmp_path: Path, busy: float | None) -> None:
    found = read(tmp_path, used(GOLD=(4.0, 8.0), LEAD=(4.0, 0.0)), host(busy))
    assert of(found, "GOLD").verdict is Verdict.NOT_EXHAUSTED
    assert about(found, "cpu_starved") == about(found, "host_shared") == []
    assert "the groups left 8.0 CPUs unused, so no other group took it" in in_words(found, of(found, "GOLD"))


def test_an_average_over_an_hour_does_not_prove_that_no_group_starved(tmp_path: Path) -> None:
    views = used(GOLD=(240.0, 480.0), LEAD=(240.0, 0.0)) | host(None)  # of a minute: 4 and 8 of an hour
    found = read(
        tmp_path, {name: table.replace(SECOND, SECOND.replace(":01:", ":59:")) for name, table in views.items()}
    )
    assert of(found, "GOLD").verdict is Verdict.NOT_EXHAUSTED
    (basis,) = (each for each in found.basis if each.what == "starved group")
    assert basis.lacking == "GOLD waited for CPU, but only the mean over 59 min is known"


@pytest.mark.parametrize(
    ("exhausted", "verdict"),
    [("0", Verdict.NOT_EXHAUSTED), ("97", Verdict.STARVED), ("", Verdict.STARVED)],
    ids=["0 %", "97 %", "NULL"],
)
def test_no_group_starves_in_a_minute_with_free_cpus(tmp_path: Path, exhausted: str, verdict: Verdict) -> None:
    metric = f"CONSUMER_GROUP_NAME | INTSIZE_CSEC | NUM_CPUS | CPU_EXHAUSTED\nGOLD | 6000 | {CPUS} | {exhausted}"
    loads = used(GOLD=(8.0, 8.0), LEAD=(8.0, 4.0))
    found = read(tmp_path, loads, host(1.0), {"V$RSRCMGRMETRIC": metric}, release=RELEASE_23)
    assert of(found, "GOLD").verdict is verdict
    if exhausted == "0":
        assert "CPUs were exhausted 0 % of the last full minute" in explain(of(found, "GOLD"))


@pytest.mark.parametrize(
    ("gold", "states"),
    [
        (10.3, []),  # due 12: 1.7 less, within 15 % of 12 = 1.8
        (10.1, ["warn"]),  # 1.9
        (8.5, ["warn"]),  # 3.5
        (8.3, ["bad"]),  # 3.7: more than twice 1.8
    ],
)
def test_two_tenths_of_a_cpu_do_not_turn_kept_into_critical(tmp_path: Path, gold: float, states: list[str]) -> None:
    found = read(tmp_path, used(GOLD=(gold, 8.0), LEAD=(CPUS - gold, 4.0)), host(1.0))
    assert [alert.state for alert in about(found, "cpu_starved")] == states
    assert of(found, "GOLD").state.level == {"bad": "bad", "warn": "warn"}.get("".join(states), "note")
    if states == ["warn"]:
        assert of(found, "GOLD").verdict is Verdict.SHORT
        assert "GOLD is a little below its entitlement" in about(found, "cpu_starved")[0].text
        assert f"a little below its entitlement ({12 - gold:.1f} CPUs)" in explain(of(found, "GOLD"))
        assert conformance(found)[0].sentence.startswith("The plan is nearly met: GOLD is below its entitlement.")


def test_severity_changes_by_one_step_at_a_time_however_full_the_cpus_are(tmp_path: Path) -> None:
    """LEAD takes more and more of what GOLD is due: from no alert to a warning to critical, without a jump."""
    order = {"": 0, "note": 0, "warn": 1, "bad": 2}
    levels = []
    for tenth in range(60, 141, 5):  # 6.0 to 14.0 CPUs, half of one at a time
        folder = tmp_path / str(tenth)
        folder.mkdir()
        found = read(folder, used(GOLD=(2.0, 8.0), LEAD=(tenth / 10, 6.0)), host(None))
        levels.append(order[next((alert.state for alert in about(found, "cpu_starved")), "")])
    assert (levels[0], levels[-1]) == (0, 2)
    assert all(0 <= after - before <= 1 for before, after in pairwise(levels))


RAC = {
    "GV$INSTANCE": "INST_ID | INSTANCE_NUMBER | VERSION | STATUS | HOST_NAME\n"
    "1 | 1 | 19.22.0.0.0 | OPEN | {one}\n2 | 2 | 19.22.0.0.0 | OPEN | {two}",
    "GV$RSRC_PLAN": "INST_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING\n"
    "1 | DAY | TRUE | ON | OFF\n2 | DAY | TRUE | ON | OFF",
    "DBA_RSRC_PLAN_DIRECTIVES": PLAN["DBA_RSRC_PLAN_DIRECTIVES"],
}


def of_instance(view: Views, *inst_ids: int) -> Views:
    """The tables of some instances: the same rows for each, with an INST_ID."""
    found = {}
    for name, table in view.items():
        head, *lines = table.splitlines()
        rows = [f"{inst_id} | {line}" for inst_id in inst_ids for line in lines]
        found["G" + name] = "\n".join([f"INST_ID | {head}", *rows])
    return found


def joined(*parts: Views) -> Views:
    """Join tables of the same views."""
    found: dict[str, str] = {}
    for part in parts:
        for name, table in part.items():
            found[name] = "\n".join([found[name], *table.splitlines()[1:]]) if name in found else table
    return found


def test_another_instance_of_the_database_on_the_same_host_is_named(tmp_path: Path) -> None:
    """One host of 32 CPUs, 98 % busy: instance 2 uses 20 of them, and GOLD of instance 1 gets 5 of 24 due."""
    views = {name: table.format(one="node", two="node") for name, table in RAC.items()}
    views |= joined(
        of_instance(used(GOLD=(5.0, 25.0), LEAD=(5.0, 5.0)), 1), of_instance(used(GOLD=(20.0, 0.0), LEAD=(0.0, 0.0)), 2)
    )
    views |= of_instance(host(0.98, 32), 1, 2)
    found = reading(tmp_path, views)
    assert {row.inst_id: row.verdict for row in found.groups if row.name == "GOLD"} == {
        0: Verdict.HOST,
        1: Verdict.HOST,
        2: Verdict.NOT_THROTTLED,
    }
    (alert,) = about(found, "host_shared")  # 0.98 x 32 = 31.4 busy, 10 of them by instance 1
    assert alert.subject == "1"
    assert "21.4 of the host's 32 CPUs are used by others on instance 1" in alert.text
    assert alert.text.endswith("20.0 of them by other instances of this database, each with a plan of its own")


def test_a_full_instance_beside_an_idle_one_starves_its_own_groups(tmp_path: Path) -> None:
    views = {name: table.format(one="node1", two="node2") for name, table in RAC.items()}
    views |= joined(
        of_instance(used(GOLD=(8.0, 8.0), LEAD=(8.0, 4.0)), 1), of_instance(used(GOLD=(1.0, 0.0), LEAD=(0.0, 0.0)), 2)
    )
    views |= joined(of_instance(host(1.0), 1), of_instance(host(0.1), 2))
    found = reading(tmp_path, views)
    assert of(found, "GOLD").verdict is Verdict.STARVED
    assert in_words(found, of(found, "GOLD")).startswith("On instance 1: Wants 16.0, gets 8.0 of 16 CPUs")


def test_an_instance_that_is_not_open_adds_nothing(tmp_path: Path) -> None:
    views = {name: table.format(one="node1", two="node2") for name, table in RAC.items()}
    views["GV$INSTANCE"] = views["GV$INSTANCE"].replace("2 | 2 | 19.22.0.0.0 | OPEN", "2 | 2 | 19.22.0.0.0 | MOUNTED")
    views |= of_instance(used(GOLD=(8.0, 1.0), LEAD=(2.0, 0.0)), 1) | of_instance(host(0.7), 1, 2)
    found = reading(tmp_path, views)
    assert (found.header.num_cpus, [each.inst_id for each in found.header.instances]) == (16.0, [1])
    assert (of(found, "GOLD").used, of(found, "GOLD").guaranteed) == (8.0, 12.0)
    assert "instance 2 is MOUNTED, not OPEN: it is left out of CPUs, shares and servers" in found.notes


def test_a_database_that_is_only_mounted_is_read_all_the_same(tmp_path: Path) -> None:
    found = read(
        tmp_path, host(0.5), release={"V$INSTANCE": "INSTANCE_NUMBER | VERSION | STATUS\n1 | 19.22.0.0.0 | MOUNTED"}
    )
    assert ([each.inst_id for each in found.header.instances], found.header.num_cpus) == ([1], 16.0)


def test_a_plan_with_limits_alone_leaves_no_group_without_a_share(tmp_path: Path) -> None:
    """No group has a guarantee, so none is the one without: of ten groups that want 16 CPUs each gets a tenth."""
    names = [f"G{number}" for number in range(10)]
    directives = ["PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | UTILIZATION_LIMIT"]
    directives += [f"DAY | {name} | CONSUMER_GROUP | 0 | 90" for name in names]
    loads = used(**dict.fromkeys(names, (1.6, 14.4)))
    found = read(tmp_path, loads, host(1.0), {"DBA_RSRC_PLAN_DIRECTIVES": "\n".join(directives)})
    assert {row.verdict for row in found.cluster_groups()} == {Verdict.CONTENDED}


def test_no_plan_is_met_beside_a_group_that_gets_less_than_its_entitlement() -> None:
    """In `pdb` HR's limit is used up, and of its two groups one has what the other is entitled to."""
    seen = 0
    for _, found in polled("pdb", 12):
        lacking = [
            row
            for row in found.cluster_groups()
            if row.used is not None and row.wanted is not None
            if min(row.wanted, row.entitled or 0.0) - row.used > max(0.25, 0.15 * row.used)
        ]
        if lacking and any(row.verdict is Verdict.CAPPED for row in lacking):
            seen += 1
            (kept,) = conformance(found)
            assert "every group that wants CPU gets what it is entitled to" not in kept.sentence
            assert "Not known for OTHER_GROUPS (HR)." in kept.sentence
            (short,) = (row for row in lacking if row.verdict is Verdict.CAPPED)
            assert "entitled to 1.6 now, and others under the same limit may have what it lacks" in in_words(
                found, short
            )
    assert seen
