"""Verdicts in words, and how well a plan is kept: figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.assemble import analyse
from presman.analysis.groups.verdicts import _listed, conformance, explain, host_busy_of, in_words
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.rows.group_rows import CpuExhausted, GroupMetric, Plan, PlanDirective
from presman.rows.instance_rows import Osstat, Parameter
from presman.tabs.table_notes import verdict_lines
from tests.analysis.make import active_plan, directive, group, instance, row, snapshot

SAMPLE = {
    "ADHOC": (5, 1.76, 8.4),
    "BATCH": (15, 2.88, 0.4),
    "ETL": (15, 0.0, 0.0),
    "INTERACTIVE": (35, 10.4, 6.8),
    "OTHER_GROUPS": (5, 0.32, 0.08),
    "SYS_GROUP": (25, 0.0, 0.0),
}
"""Oracle's own sample of 16 CPUs: allocation in percent, CPUs used and waited for."""


def loads(
    cpus: dict[str, tuple[float, float]], *rows: Any, inst_id: int = 1, num_cpus: int = 16, **plan: Any
) -> tuple[list[Any], list[Any]]:
    """The rows of an instance before and after two seconds in which groups used and waited for so many CPUs."""
    fixed = [instance(inst_id), active_plan(inst_id=inst_id, **plan), *rows]
    fixed.append(row(GroupMetric, inst_id=inst_id, consumer_group_name="ANY", num_cpus=num_cpus))
    before = [group(name, inst_id) for name in cpus]
    after = [
        group(name, inst_id, consumed_cpu_time=round(2000 * used), cpu_wait_time=round(2000 * waiting))
        for name, (used, waiting) in cpus.items()
    ]
    return [*fixed, *before], [*fixed, *after]


def read(*parts: tuple[list[Any], list[Any]]) -> Reading:
    before = [each for part in parts for each in part[0]]
    after = [each for part in parts for each in part[1]]
    return analyse(snapshot(*before), snapshot(*after, after=2.0, number=2))


def sample() -> Reading:
    plan = [directive("DAY", name, percent) for name, (percent, _, _) in SAMPLE.items()]
    return read(loads({name: (used, waiting) for name, (_, used, waiting) in SAMPLE.items()}, *plan))


def of(reading: Reading, name: str) -> GroupReading:
    return next(each for each in reading.cluster_groups() if each.name == name)


def test_oracles_sample_is_throttled_everywhere_and_yet_kept() -> None:
    reading = sample()
    for name in ("ADHOC", "BATCH", "INTERACTIVE", "OTHER_GROUPS"):
        assert of(reading, name).verdict is Verdict.CONTENDED, name
    (kept,) = conformance(reading)
    # 15.36 CPUs were handed out. Their 5, 15, 5 and 35 % are 0.768, 2.304, 0.768 (OTHER_GROUPS wants only 0.4) and
    # 5.376; the other 6.512 go 1:3:7, of which BATCH wants only 0.976, and then 1:7.
    due = {"ADHOC": 1.46, "BATCH": 3.28, "INTERACTIVE": 10.22, "OTHER_GROUPS": 0.4}
    for name, cpus in due.items():
        entitled = of(reading, name).entitled or 0.0
        assert min(entitled, of(reading, name).wanted or 0.0) == pytest.approx(cpus), name
    assert of(reading, "OTHER_GROUPS").entitled == pytest.approx(0.8), "it may claim its guarantee"
    assert kept.due == pytest.approx(15.36)
    assert (kept.score, kept.missing) == (100.0, 0.0)
    assert kept.used == pytest.approx(15.36)
    shares = [each.consumed_percent or 0.0 for each in reading.cluster_groups()]
    assert sum(shares) == pytest.approx(100.0)
    assert of(reading, "INTERACTIVE").consumed_percent == pytest.approx(100 * 10.4 / 15.36)
    assert of(reading, "INTERACTIVE").used_percent == pytest.approx(65.0)
    by = ", ".join(next(each.views for each in reading.basis if each.what == "starved group"))
    assert kept.sentence.startswith(
        f"The plan is met: every group that wants CPU gets what it is entitled to (by {by})."
    )
    assert by.endswith("V$RSRC_CONSUMER_GROUP")
    assert "all CPUs are in use" in kept.sentence
    assert explain(of(reading, "INTERACTIVE")) == (
        "Wants 17.2, gets 10.4 of 16 CPUs; entitled to 10.2 now: 5.6 by the plan and 4.6 that others do not want; "
        "others use the rest."
    )
    assert explain(of(reading, "BATCH")).endswith(
        "entitled to 3.3 now: 2.4 by the plan and 0.9 that others do not want; others use the rest."
    )
    assert explain(of(reading, "ETL")) == "Wants no CPU now; guaranteed 2.4 of 16 when all are busy."


def test_a_group_without_cpu_says_that_others_use_it() -> None:
    plan = [directive("DAY", "WEB", 99), directive("DAY", "BATCH", 1)]
    reading = read(loads({"WEB": (0.99, 1.0), "BATCH": (0.0, 2.0)}, *plan, num_cpus=1))
    assert explain(of(reading, "BATCH")) == "Wants 2.0, gets 0.0 of 1 CPUs; entitled to 0.0 now; others use the rest."


def test_a_group_that_waits_alone_is_not_said_to_wait_for_others() -> None:
    plan = [directive("DAY", "GOLD", 75), directive("DAY", "LEAD", 25)]
    reading = read(loads({"GOLD": (15.9, 8.0), "LEAD": (0.0, 0.0)}, *plan))
    assert explain(of(reading, "GOLD")) == (
        "Wants 23.9, gets 15.9 of 16 CPUs; entitled to 15.9 now: 12.0 by the plan and 3.9 that others do not want; "
        "nobody else uses CPU."
    )


@pytest.mark.parametrize(("sys", "lead"), [(0.0, 8.0), (0.1, 7.9)])
def test_a_top_group_that_wakes_up_does_not_excuse_the_others(sys: float, lead: float) -> None:
    levels = [directive("DAY", "SYS_GROUP", 100), directive("DAY", "GOLD", 0, 75), directive("DAY", "LEAD", 0, 25)]
    reading = read(loads({"SYS_GROUP": (sys, 0.0), "GOLD": (8.0, 8.0), "LEAD": (lead, 4.0)}, *levels))
    # Of the 16 CPUs less what SYS_GROUP wants, GOLD is due three quarters; it gets 8.
    due = 0.75 * (16 - sys)
    assert of(reading, "GOLD").entitled == pytest.approx(due)
    assert of(reading, "GOLD").verdict is Verdict.STARVED
    (kept,) = conformance(reading)
    assert kept.missing == pytest.approx(due - 8.0)
    assert kept.score == pytest.approx(75.0, abs=0.5)


def test_groups_below_others_are_due_what_those_leave_as_published() -> None:
    """A host of 2 CPUs: 45.4 and 45.0 % were measured for two groups a level below one that used 6.0 %.

    The 3.6 % that no group got are not missing from the plan.
    """
    cpus = {"OTHER_GROUPS": (0.12, 0.0), "A": (0.908, 3.0), "B": (0.9, 3.0)}
    plan = [directive("DAY", "OTHER_GROUPS", 100), directive("DAY", "A", 0, 50), directive("DAY", "B", 0, 50)]
    reading = read(loads(cpus, *plan, num_cpus=2))
    for name in "AB":
        assert of(reading, name).guaranteed == 0.0
        assert of(reading, name).entitled == pytest.approx(0.904)
        assert of(reading, name).verdict is Verdict.CONTENDED
    (kept,) = conformance(reading)
    assert kept.score == 100.0
    hung = read(loads(cpus | {"A": (0.05, 3.0), "B": (1.758, 3.0)}, *plan, num_cpus=2))
    assert of(hung, "A").verdict is Verdict.STARVED, "a group without a guarantee can be starved, too"


@pytest.mark.parametrize(
    "measured",
    [(45.4, 45.0, 6.0), (28.2, 59.3), (24.1, 24.0, 28.9, 7.2, 5.8)],
    ids=["96.4 % of the host", "87.5 % of the host", "90.0 % of the host"],
)
def test_cpu_that_no_group_used_is_not_missing(measured: tuple[float, ...]) -> None:
    """Published measurements of a whole host: a plan that gives just these parts was kept, whatever was lost."""
    total = sum(measured)
    rows = [directive("DAY", f"G{i}", round(1000 * part / total)) for i, part in enumerate(measured)]
    plan = [*rows, row(Plan, plan="DAY", mgmt_method="RATIO")]
    reading = read(loads({f"G{i}": (part / 100 * 4, 2.0) for i, part in enumerate(measured)}, *plan, num_cpus=4))
    for i, part in enumerate(measured):
        assert of(reading, f"G{i}").entitled == pytest.approx(part / 100 * 4, rel=0.02)
    assert {each.verdict for each in reading.groups} == {Verdict.CONTENDED}
    assert conformance(reading)[0].score == 100.0


def test_a_group_that_came_in_the_interval_is_not_called_starved() -> None:
    plan = [directive("DAY", "GOLD", 75), directive("DAY", "LEAD", 25)]
    before, after = loads({"GOLD": (4.0, 4.0), "LEAD": (12.0, 4.0)}, *plan)

    def active(rows: list[Any], sessions: int) -> list[Any]:
        return [
            each._replace(active_sessions=sessions) if getattr(each, "name", "") == "GOLD" else each for each in rows
        ]

    assert of(read((active(before, 8), active(after, 8))), "GOLD").verdict is Verdict.STARVED
    assert of(read((active(before, 2), active(after, 8))), "GOLD").verdict is Verdict.PARTLY
    reading = read((active(before, 2), active(after, 8)))
    words = explain(of(reading, "GOLD"))
    assert words == (
        "Wants 8.0, gets 4.0 of 16 CPUs; entitled to 12.0 now; some of its sessions were there only part of the time, "
        "so whether it got what it is entitled to is not known."
    )
    assert conformance(reading)[0].sentence.startswith(
        "As far as presman can see, the plan is met: the other groups that want CPU get what they are entitled to. "
        "Not known for GOLD."
    )


def test_a_starved_group_lowers_the_score_by_what_it_misses() -> None:
    plan = [directive("DAY", "GOLD", 75), directive("DAY", "LEAD", 25)]
    reading = read(loads({"GOLD": (8.0, 8.0), "LEAD": (8.0, 4.0)}, *plan))
    assert of(reading, "GOLD").verdict is Verdict.STARVED
    assert of(reading, "LEAD").verdict is Verdict.CONTENDED
    (kept,) = conformance(reading)
    # GOLD is due 12 and gets 8; LEAD is due 4: 4 of 16 CPUs are missing.
    assert (kept.due, kept.missing, kept.score) == pytest.approx((16.0, 4.0, 75.0))
    assert "75 % met: groups are 4.0 CPUs below" in kept.sentence
    assert explain(of(reading, "GOLD")) == (
        "Wants 16.0, gets 8.0 of 16 CPUs; entitled to 12.0 now, gets 4.0 less: the plan is not met."
    )


def test_less_than_one_cpu_that_is_missing_is_a_plan_that_is_not_met() -> None:
    """Each is due 2 of 4 CPUs: 0.3 are tolerated, up to 0.6 is a small miss; 0.8 of 4 are missing."""
    plan = [directive("DAY", "GOLD", 50), directive("DAY", "LEAD", 50)]
    reading = read(loads({"GOLD": (1.2, 3.0), "LEAD": (2.8, 3.0)}, *plan, num_cpus=4))
    (kept,) = conformance(reading)
    assert kept.sentence.startswith("The plan is 80 % met: groups are 0.8 CPUs below entitlement.")


@pytest.mark.parametrize(
    ("used", "short"),
    [
        (6.0, "gets 3.6 less, while the groups left 3.2 CPUs unused."),
        (8.0, "is a little below its entitlement (1.6 CPUs): the plan is nearly met."),
    ],
)
def test_less_than_due_while_not_all_is_used_is_no_plan_that_is_not_kept(used: float, short: str) -> None:
    """75 % of the 12.8 CPUs used are 9.6; 15 % of it are tolerated, and up to twice that, 2.88, is a small miss."""
    plan = [directive("DAY", "GOLD", 75), directive("DAY", "LEAD", 25)]
    gold = of(read(loads({"GOLD": (used, 16 - used), "LEAD": (12.8 - used, 0.0)}, *plan)), "GOLD")
    assert gold.verdict is Verdict.SHORT
    assert explain(gold) == f"Wants 16.0, gets {used:.1f} of 16 CPUs; entitled to 9.6 now, {short}"


def test_a_plan_that_is_kept_and_leaves_a_group_nothing_is_not_praised() -> None:
    plan = [directive("DAY", "WEB", 100), directive("DAY", "BATCH", 0, mgmt_p2=100)]
    reading = read(loads({"WEB": (15.9, 2.0), "BATCH": (0.1, 3.9)}, *plan))
    assert of(reading, "BATCH").verdict is Verdict.ZERO_SHARE
    (kept,) = conformance(reading)
    assert kept.sentence.startswith(
        "The plan is met, but it gives some groups nothing. BATCH can get only what the levels above leave."
    )
    first = verdict_lines(reading, reading.cluster_groups())[0]
    assert first[0] == (" ▲ ", "warn"), "no green above two red"


def test_groups_without_cpu_are_listed_in_a_sentence() -> None:
    plan = [directive("DAY", "WEB", 100), *(directive("DAY", name, 0, mgmt_p2=30) for name in "ABC")]
    reading = read(loads({"WEB": (15.7, 2.0)} | dict.fromkeys("ABC", (0.1, 3.9)), *plan))
    (kept,) = conformance(reading)
    assert " A, B and C can get only what the levels above leave." in kept.sentence


def test_a_limit_holds_a_group_on_an_idle_host_and_the_sentence_says_so() -> None:
    plan = [directive("DAY", "A", 50, utilization_limit=25), directive("DAY", "OTHER_GROUPS", 50)]
    reading = read(loads({"A": (4.0, 6.0), "OTHER_GROUPS": (0.5, 0.0)}, *plan))
    held = of(reading, "A")
    assert held.verdict is Verdict.CAPPED
    assert explain(held, 0.28) == (
        "Wants 10.0, gets 4.0 of 16 CPUs; its limit of 4.0 (25 % of 16) caps it, even if CPU is free; the host "
        "is 28 % busy."
    )
    (kept,) = conformance(reading)
    assert kept.score == 100.0
    assert kept.sentence.endswith("groups wait because of a limit, not for lack of CPU.")


def test_cpu_exhausted_distinguishes_a_limit_from_a_lack_of_cpu() -> None:
    plan = [directive("DAY", "A", 50, utilization_limit=25), directive("DAY", "B", 50)]
    before, after = loads({"A": (4.0, 6.0), "B": (12.0, 3.0)}, *plan)
    asked = [row(CpuExhausted, consumer_group_name="A", cpu_exhausted=2.0)]
    other = [row(CpuExhausted, consumer_group_name="B", cpu_exhausted=97.0)]
    reading = read((before, after + asked + other))
    capped, contended = of(reading, "A"), of(reading, "B")
    assert (capped.verdict, capped.cpu_exhausted) == (Verdict.CAPPED, 2.0)
    assert explain(capped).endswith("even if CPU is free; CPUs were exhausted 2 % of the last full minute.")
    assert (contended.verdict, contended.cpu_exhausted) == (Verdict.CONTENDED, 97.0)
    assert explain(contended).endswith("CPUs were exhausted 97 % of the last full minute.")
    assert "exhausted" not in explain(of(read((before, after)), "A")), "no release before 23 shows it"


def test_a_full_cage_beside_a_host_with_spare_cpu() -> None:
    host = [row(Osstat, stat_name="NUM_CPUS", value=32.0), row(Parameter, name="cpu_count", value="16")]
    plan = [directive("DAY", "A", 50), directive("DAY", "B", 50), *host]
    before, after = loads({"A": (8.0, 2.0), "B": (8.0, 2.0)}, *plan, instance_caging="ON")
    busy = [row(Osstat, stat_name=name, value=value) for name, value in (("BUSY_TIME", 0.0), ("IDLE_TIME", 0.0))]
    later = [row(Osstat, stat_name=name, value=value) for name, value in (("BUSY_TIME", 3400.0), ("IDLE_TIME", 3000.0))]
    reading = read((before + busy, after + later))
    found = of(reading, "A")
    assert found.verdict is Verdict.CAGED
    assert "all of CPU_COUNT is in use, while the host is 53 % busy" in explain(found, host_busy_of(reading, found))
    (kept,) = conformance(reading)
    assert "CPU_COUNT is used up, the host has spare CPU" in kept.sentence


@pytest.mark.parametrize(
    ("cpus", "caging", "busy", "expected"),
    [
        (32.0, "ON", 6300.0, "all CPUs are in use"),  # 98 % of the host
        (16.0, "ON", 3400.0, "all CPUs are in use"),  # the cage is the host
        (32.0, "OFF", 3400.0, "all CPUs are in use"),
        (32.0, "ON", 3400.0, "CPU_COUNT is used up, the host has spare CPU"),
    ],
)
def test_a_cage_is_full_only_on_a_host_with_more(cpus: float, caging: str, busy: float, expected: str) -> None:
    host = [row(Osstat, stat_name="NUM_CPUS", value=cpus), row(Parameter, name="cpu_count", value="16")]
    plan = [directive("DAY", "A", 50), directive("DAY", "B", 50), *host]
    before, after = loads({"A": (8.0, 2.0), "B": (8.0, 2.0)}, *plan, instance_caging=caging)
    idle = [row(Osstat, stat_name=name, value=0.0) for name in ("BUSY_TIME", "IDLE_TIME")]
    times = (("BUSY_TIME", busy), ("IDLE_TIME", 6400.0 - busy))
    later = [row(Osstat, stat_name=name, value=value) for name, value in times]
    (kept,) = conformance(read((before + idle, after + later)))
    assert kept.sentence.endswith(f": {expected}.")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.NOT_MANAGED, "does not manage CPU"),
        (Verdict.ZERO_SHARE, "nothing while the levels above use all CPU"),
        (Verdict.THROTTLED, "cannot be read"),
        (Verdict.NOT_THROTTLED, "it hardly waits for CPU"),
        (Verdict.CAPPED, "the limit of its subplan or container is reached"),
    ],
)
def test_every_verdict_has_its_text(verdict: Verdict, words: str) -> None:
    text = explain(of(sample(), "BATCH")._replace(verdict=verdict))
    assert words in text
    assert text.endswith(".")


@pytest.mark.parametrize("verdict", [Verdict.SHORT, Verdict.CONTENDED])
def test_an_unknown_entitlement_has_no_number(verdict: Verdict) -> None:
    row = of(sample(), "BATCH")._replace(verdict=verdict, entitled=None, guaranteed=0.0, used=0.25, waiting=5.0)
    text = explain(row)
    assert "that others do not want" not in text
    assert "below its entitlement" not in text or "(0.0 CPUs)" in text


def test_a_database_whose_cpu_is_not_managed_is_not_called_healthy() -> None:
    reading = read(loads({"OTHER_GROUPS": (15.9, 0.0)}, cpu_managed="OFF"))
    (kept,) = conformance(reading)
    assert kept.score is None
    assert kept.sentence.startswith("Resource Manager does not manage CPU: no plan divides it")
    assert "15.9 of 16 CPUs used" in kept.sentence


def test_without_a_delta_nothing_is_claimed() -> None:
    rows = loads({"A": (0.0, 0.0)}, directive("DAY", "A", 100))[0]
    reading = analyse(None, snapshot(*rows))
    assert "two polls" in explain(of(reading, "A"))
    (kept,) = conformance(reading)
    assert (kept.score, kept.used, kept.sentence) == (None, None, "")


def test_each_instance_is_judged_by_itself() -> None:
    plan: list[PlanDirective] = [directive("DAY", "A", 50), directive("DAY", "B", 50)]
    one = loads({"A": (8.0, 4.0), "B": (8.0, 4.0)}, *plan)
    two = loads({"A": (2.0, 9.0), "B": (14.0, 1.0)}, inst_id=2)
    kept = conformance(read(one, two))
    assert [each.inst_id for each in kept] == [1, 2]
    assert kept[0].score == 100.0
    assert kept[1].score == pytest.approx(100 * (1 - 6 / 16))
    reading = read(one, two)
    assert of(reading, "A").consumed_percent == pytest.approx(100 * 10 / 32)
    # The cluster's row has the worst verdict; its words are those of the instance that has it.
    assert of(reading, "A").verdict is Verdict.STARVED
    assert in_words(reading, of(reading, "A")).startswith("On instance 2: Wants 11.0, gets 2.0 of 16 CPUs")
    assert in_words(reading, of(reading, "B")).startswith("Wants 27.0, gets 22.0 of 32 CPUs")


@given(st.lists(st.tuples(st.integers(1, 20), st.floats(0, 20), st.floats(0, 20)), min_size=1, max_size=5))
def test_the_score_is_a_percentage_and_full_exactly_without_starved_groups(
    groups: list[tuple[int, float, float]],
) -> None:
    plan = [directive("DAY", f"G{i}", percent) for i, (percent, _, _) in enumerate(groups)]
    reading = read(loads({f"G{i}": (used, waiting) for i, (_, used, waiting) in enumerate(groups)}, *plan))
    (kept,) = conformance(reading)
    starved = any(each.verdict is Verdict.STARVED for each in reading.groups)
    if kept.score is not None:
        assert 0 <= kept.score <= 100
        assert (kept.score == 100) is not starved
    for each in reading.groups:
        assert explain(each).endswith(".")


def test_a_group_that_waited_beside_free_cpus_did_not_wait_for_others() -> None:
    """REPORTS is due min(6.4, 16 - 7.4) = 6.4 and gets 6.2: 13.6 of 16 CPUs were used, which is 85 %."""
    plan = [directive("DAY", "REPORTS", 20), directive("DAY", "BATCH", 20)]
    reading = read(loads({"REPORTS": (6.2, 0.2), "BATCH": (7.4, 0.0)}, *plan))
    assert of(reading, "REPORTS").verdict is Verdict.CONTENDED
    assert explain(of(reading, "REPORTS")).endswith(
        "entitled to 6.4 now: 3.2 by the plan and 3.2 that others do not want; 2.4 CPUs were free on average, so they "
        "were all in use only part of the time, if at all."
    )


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ("A", "A"),
        ("AB", "A and B"),
        ("ABC", "A, B and C"),
        ("ABCD", "A, B and 2 others"),
        ("ABCDE", "A, B and 3 others"),
    ],
)
def test_names_are_three_at_most(names: str, listed: str) -> None:
    assert _listed(tuple(names)) == listed
