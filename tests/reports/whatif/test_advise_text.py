"""Advice as text and as a page, and the figures behind its words, from values made here."""

from __future__ import annotations

import re
from math import inf

import pytest
from msgspec.structs import replace

from benchmarks.advise import directive, plan_of
from presman.analysis.facts.plan_book import PlanBook
from presman.analysis.goals import Goal
from presman.analysis.groups.entitlement import Load
from presman.reports.advice import Advice, CpuLack, GoalFinding, GroupWaits, ReplayedChoice, WaitCurve
from presman.reports.advise_load import Change, ObservedLoad, ObservedPlan, ReplayOutcome
from presman.reports.advise_report import (
    _as_good,
    _cpu,
    _curves,
    _early_verdict,
    _finding,
    _group_waits,
    _judged,
    _meets_all,
    _notes,
    _replayed_choice,
    _replays,
    _with_promise,
    least,
)
from presman.reports.advise_script import Scripts
from presman.reports.advise_text import _lost, as_page, as_text
from presman.reports.whatif_cpu import CpuDemand
from presman.reports.whatif_replay import Replayed
from presman.reports.whatif_text import peak_beyond_maximum
from tests.analysis.make import NOON
from tests.reports.whatif.test_advise import BATCH, ETL, GOAL, LIMITED
from tests.reports.whatif.test_whatif import came

SAME = GroupWaits(0, "BATCH", 40, 60.0, 60.0, 90.0, 90.0, 0, 0, 0.0)
FOUND = GoalFinding(str(GOAL), 30.0, "p95", 1200, 40, 61.0, None)
CURVE = WaitCurve(
    "p95 wait of BATCH",
    20.0,
    "PARALLEL_SERVERS_TARGET",
    "servers",
    64,
    ((32, None), (64, 40.0), (96, 10.0)),
    (False, False, False),
)
NONE = ReplayedChoice((), False, 64, (SAME,))


def advice(**more: object) -> Advice:
    """An advice without any choice, with other facts."""
    plain = Advice(
        "unmet", "no choice meets it", 1200, 3600.0, 3, 2.5, 77, False, (FOUND,), (), NONE, (), None, None, (),
        assumptions=(),
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def test_the_text_without_an_answer() -> None:
    assert as_text(advice()).splitlines() == [
        "1,200 parallel statements in 1 h; replayed under the settings at its end, a wait is off by 2.5 s on",
        "average; seed 3",
        "goal: 95 % of BATCH start within 30 s; p95 was 1:01, replayed timed out, of 1,200 statements",
        "",
        "No choice meets it.",
        "No target alone would do.",
    ]
    nothing = replace(FOUND, observed=0.0, now=0.0, statements=0)
    assert "within 30 s; p95 is not known, of 0 statements" in as_text(advice(goals=(nothing,)))
    needed = as_text(advice(servers_needed=1)).splitlines()[5:]
    assert " ".join(needed).startswith("It would take a target of 1 server, if the CPUs are enough for them, and no")
    beyond = " ".join(as_text(advice(servers_needed=764, servers_maximum=480)).split())
    raised = "a target of 764 servers, for which PARALLEL_MAX_SERVERS (480) must be raised as well, if the CPUs"
    assert raised in beyond
    assert "MAX_SERVERS" not in as_text(advice(servers_needed=480, servers_maximum=480))
    assert "No target" not in as_text(advice(interrupted=True))
    assert as_text(advice(interrupted=True)).splitlines()[-1] == (
        "Interrupted after 77 choices: these are the best of them."
    )


def test_a_curve_has_a_line_for_each_value_and_marks_the_goal() -> None:
    """40 s are 36 cells, 10 s nine; the goal of 20 s is in the cell after the first eighteen."""
    drawn = as_text(advice(curves=(CURVE,))).splitlines()[7:]
    assert drawn == [
        "p95 wait of BATCH against PARALLEL_SERVERS_TARGET (┊ goal, 0:20)",
        "     32 servers     " + " " * 36 + " timed out",
        "     64 servers now " + "█" * 18 + "┊" + "█" * 17 + "      0:40",
        "     96 servers     " + "█" * 9 + " " * 9 + "┊" + " " * 17 + "      0:10",
    ]


def test_the_result_comes_first_and_a_constant_wait_has_no_chart() -> None:
    level = replace(CURVE, points=((32, 1.2), (64, 1.0), (96, 1.4)))
    short = advice(verdict="too_short", message="the observation is too short", curves=(level,))
    bound = replace(level, longer=(True, True, True))
    assert "PARALLEL_SERVERS_TARGET: ≥ 0:01 everywhere" in as_text(replace(short, curves=(bound,)))
    assert "≥ 0:40" in as_text(advice(curves=(replace(CURVE, longer=(False, True, False)),)))
    sentence = "p95 wait of BATCH against PARALLEL_SERVERS_TARGET: 0:01 everywhere from 32 to 96 servers"
    assert as_text(short).splitlines()[0] == "The observation is too short."
    assert as_text(short).splitlines()[-1] == sentence
    page = as_page(short, NOON)
    assert sentence in page
    assert "<svg" not in page
    assert "<svg" in as_page(replace(short, curves=(CURVE,)), NOON)


def test_choices_have_their_groups_below_them() -> None:
    lost = GroupWaits(3, "ETL", 1000, 10.0, 12.0, 20.0, None, 1, 4, 75.0, (False, False, True, False), "ETL (SALES)")
    one = ReplayedChoice(("limit of BATCH 25 % -> 50 %", "target up"), True, 1, (SAME, lost))
    lines = as_text(advice(choices=(one, NONE))).splitlines()[4:12]
    assert lines == [
        "choices, none better than another in every respect; waits of all statements in the replay, before -> after",
        "    group                    statements               median                  p95 not started",
        " 1. limit of BATCH 25 % -> 50 %; target up (would have met the goals; peak 1 server)",
        "    BATCH                            40         1:00 -> 1:00         1:30 -> 1:30",
        "    ETL (SALES)                   1,000         0:10 -> 0:12  ≥ 0:20 -> timed out      1 -> 4  "
        "run 1:15 longer",
        " 2. as it is (would have missed the goals; peak 64 servers)",
        "    BATCH                            40         1:00 -> 1:00         1:30 -> 1:30",
        "(not started: timed out, or still queued at the end; a wait with ≥ may be longer, by how much is not known)",
    ]
    text = " ".join(as_text(advice(choices=(one,))).split())
    assert (
        "What the first choice costs: ETL (SALES) median 0:10 -> 0:12, p95 ≥ 0:20 -> timed out, 1 -> 4 do not start, "
        "run 1:15 longer." in text
    )
    assert "choice costs" not in as_text(advice(choices=(NONE, one)))


@pytest.mark.parametrize(
    ("facts", "loses"),
    [
        ({}, False),
        ({"median_after": 64.0}, False),  # 60 x 1.05 + 1
        ({"median_after": 64.1}, True),
        ({"p95_after": 95.5}, False),  # 90 x 1.05 + 1
        ({"p95_after": 95.6}, True),
        ({"p95_after": None}, True),
        ({"p95_before": None}, False),
        ({"unstarted_before": 2, "unstarted_after": 2}, False),
        ({"unstarted_before": 2, "unstarted_after": 3}, True),
        ({"runs_longer": 0.9}, False),
        ({"runs_longer": 1.0}, True),
    ],
)
def test_a_group_loses_if_waits_exceed_a_tolerance(facts: dict[str, float | None], loses: bool) -> None:
    assert bool(_lost(replace(SAME, **facts))) is loses


def test_certainty_follows_the_choices_that_change_something() -> None:
    one = (ReplayedChoice(("x",), True, 64, ()),)
    flat = " ".join(as_text(advice(choices=one)).split())
    assert f"{GOAL}: no statements were held back to check the first choice." in flat
    held = replace(FOUND, within=0.875, held_back=1600, advised=25.0, advised_low=20.0)
    flat = " ".join(as_text(advice(choices=one, goals=(held,))).split())
    own = "88 % of the 1,600 statements held back from the search start in time"
    assert f"{GOAL}: under the first choice {own}; how sure that is was not calculated." in flat
    assert "was not calculated" in as_text(advice(choices=one, goals=(replace(held, low=0.5),)))
    flat = " ".join(as_text(advice(choices=one, goals=(replace(held, low=0.5, high=0.995),))).split())
    assert (
        f"{GOAL}: under the first choice {own}. Of stretches of 1 h drawn from these statements the median p95 is "
        f"0:25; 9 of 10 have 0:20 to timed out, and 50 to 100 % start in time. It may not meet {GOAL} again: timed out "
        "is more than 0:30." in flat
    )
    sure = advice(choices=one, goals=(replace(held, low=0.5, high=0.995, advised_high=30.0),))
    assert "It may not meet" not in as_text(sure)
    nearly = as_text(advice(choices=one, goals=(replace(held, low=0.5, high=0.995, advised_high=30.4),)))
    assert "again: 30.4 s is more than 30.0 s." in " ".join(nearly.split())
    assert "first choice" not in as_text(advice(choices=(NONE,), goals=(held,)))


def test_an_error_larger_than_a_goal_is_reported_with_choices() -> None:
    rough = "A replayed wait is off by more than a goal allows"
    assert rough in as_text(advice(choices=(NONE,), replay_error=30.1))
    assert rough not in as_text(advice(choices=(NONE,), replay_error=30.0))
    assert rough not in as_text(advice(replay_error=30.1))
    unknown = as_text(advice(choices=(NONE,), replay_error=None))
    assert "No wait had ended to be compared: the waits under other directives are only rough." in unknown
    assert "replayed under the settings at its end, no wait had ended to be compared; seed" in " ".join(unknown.split())


def test_small_changes_of_cpu_are_not_reported() -> None:
    """A second, or a hundredth of the demand if that is more."""
    moved = (("A", 50.0, 1.0), ("B", 50.0, 1.5), ("C", 500.0, -5.0), ("D", 500.0, -6.0))
    small = [CpuLack(0, name, wanted, 100.0, 100.0 + more) for name, wanted, more in moved]
    assert "under the first choice: B 1:40 -> 1:41; D 1:40 -> 1:34." in as_text(advice(cpu=tuple(small)))
    assert "under the first choice: as it is." in as_text(advice(cpu=(small[0],)))


def test_scripts_and_notes_are_at_the_end() -> None:
    lines = as_text(
        advice(scripts=Scripts("DO;\n", "UNDO;\n"), notes=("one " * 30,), assumptions=("two",))
    ).splitlines()
    assert lines[6:] == [
        "", "The first choice as a script, which presman never runs:", "", "DO;", "", "The script that undoes it:", "",
        "UNDO;", "", "notes:", "  - " + " ".join(["one"] * 24), "    " + " ".join(["one"] * 6), "", "assumptions:",
        "  - two",
    ]  # fmt: skip


def test_a_page_has_a_bar_for_each_value() -> None:
    """750 units are 40 s: the goal of 20 s is at 150 + 375. The bar of a timeout is as long as the longest."""
    page = as_page(advice(curves=(CURVE,), choices=(NONE,)), NOON)
    bars = re.findall(r'<rect x="150" y="([^"]*)" width="([^"]*)" height="16"', page)
    assert bars == [("6", "750"), ("26", "750"), ("46", "187.5")]
    assert re.findall(r'<text x="142" y="([^"]*)"[^>]*>([^<]*)<', page) == [
        ("19", "32 servers"), ("39", "64 servers (now)"), ("59", "96 servers"),
    ]  # fmt: skip
    assert re.findall(r'<text x="([^"]*)" y="19"[^>]*>([^<]*)<', page)[1] == ("906", "timed out")
    assert 'd="M525.0 6.0V66.0"' in page
    assert 'viewBox="0 0 1000 74"' in page
    assert "1. As it is" in page
    assert "This would have missed the goals; at most 64 servers at once." in page
    assert "Seed 3; " in page
    nothing = as_page(advice(curves=(replace(CURVE, seconds=0.0, points=((32, 0.0),), longer=(False,)),)), NOON)
    assert re.findall(r'<rect x="150" y="6" width="([^"]*)"', nothing) == ["1"], "no bar is less than one unit"


def outcome(
    waits: list[float], names: str, *, skipped: int = 0, unstarted: frozenset[int] = frozenset()
) -> ReplayOutcome:
    """Return a replay from a wait and a letter for each statement, B for BATCH and E for ETL."""
    groups = tuple(BATCH if name == "B" else ETL for name in names)
    slower = tuple(float(n) for n in range(len(waits)))
    return ReplayOutcome(Replayed((), 48, 0.0), groups, tuple(waits), slower, unstarted, skipped)


def test_a_groups_waits_exclude_earlier_statements() -> None:
    before = outcome([9, 1, 5, 2, inf, inf], "BBEBBB", skipped=1, unstarted=frozenset({0, 4}))
    after = outcome([9, 0, 5, 0, 3, 7], "BBEBBB", skipped=1)
    found = _group_waits(BATCH, before, after, {BATCH: "BATCH (SALES)"})
    assert (found.title, _group_waits(ETL, before, after, {}).title) == ("BATCH (SALES)", "ETL")
    assert (found.con_id, found.group, found.statements) == (0, "BATCH", 4)
    assert (found.median_before, found.p95_before, found.median_after, found.p95_after) == (2, None, 0, 7)
    assert (found.unstarted_before, found.unstarted_after) == (1, 0)
    assert found.runs_longer == (1 + 3 + 4 + 5) / 4
    assert found.longer == (False, False, False, False), "a timeout already counts as an endless wait"


def test_a_wait_that_is_cut_at_the_end_is_at_least_that_long() -> None:
    """None of 60 started: the median is that at the end of the observation."""
    waits = [float(n) for n in range(1, 61)]
    before = outcome(waits, "B" * 60, unstarted=frozenset(range(60)))
    after = outcome(waits, "B" * 60, unstarted=frozenset({0}))
    found = _group_waits(BATCH, before, after, {})
    assert found.longer == (True, False, True, False), "one of 60 changes little"
    choice = ReplayedChoice(("x",), True, 64, (found,))
    assert "≥ 0:30 -> 0:30 ≥ 0:57 -> 0:57" in " ".join(as_text(advice(choices=(choice,))).split())
    unsure = replace(FOUND, longer=(True, True), now=90.0)
    assert "p95 was ≥ 1:01, replayed ≥ 1:30, of 1,200" in as_text(advice(goals=(unsure,)))


def test_the_effect_of_a_choice_is_shown_for_groups_with_statements() -> None:
    early = came(-9, 4, 1, group="ETL", first=NOON, last=LIMITED[0].last)
    seen = ObservedLoad.of([early, *LIMITED], ObservedPlan(), [GOAL], 1)
    after = outcome([31, 5, 30], "EBB", skipped=1)
    found = _replayed_choice(
        seen, frozenset({Change("timeouts", ETL, 9), Change("degree", ETL, 4)}), after, after, True
    )
    assert found.changes == ("degree limit of ETL -> 4", "queue timeout of ETL -> 9 s")
    assert (found.meets, found.peak, [each.group for each in found.groups]) == (True, 48, ["BATCH"])


@pytest.mark.parametrize(
    ("wait", "off_by", "met"),
    [
        (30.0, 30.0, True),
        (30.1, 30.0, False),
        (30.0, 31.0, None),
        (61.0, 31.0, None),
        (61.1, 31.0, False),
        (inf, 1e9, False),
        (inf, None, None),
    ],
)
def test_a_replay_judges_a_goal_within_its_error(wait: float, off_by: float | None, met: bool | None) -> None:
    """The goal is certainly missed if the wait exceeds it by more than the error of the replay."""
    after, right = outcome([0, 5, wait], "EBB", skipped=1), replace(FOUND, now=FOUND.observed)
    assert _meets_all(after, [(GOAL, right)], off_by) is met
    too_long = replace(right, now=61.0 + 90.0)
    assert _meets_all(after, [(GOAL, too_long)], off_by) is (None if (wait, off_by) == (61.1, 31.0) else met)
    etl = Goal("ETL", 0.95, 60.0), right
    assert _meets_all(outcome([0, 5, 0], "EBB"), [(GOAL, right), etl], 31.0) is None, "one goal cannot be judged"
    assert _meets_all(outcome([61, 5, 0], "EBB"), [(GOAL, right), etl], 31.0) is False, "the other is missed"


@pytest.mark.parametrize(
    ("was", "now", "wait", "met"),
    [
        (61.0, 41.0, 10.0, True),
        (61.0, 41.0, 10.1, None),
        (61.0, 41.0, 30.1, False),
        (None, 41.0, 0.0, None),
        (None, 41.0, 30.1, False),
        (None, None, 10.1, True),
        (41.0, None, 10.1, True),
    ],
)
def test_a_goal_is_met_only_with_the_early_starts_of_the_replay_added(
    was: float | None, now: float | None, wait: float, met: bool | None
) -> None:
    """A choice was reported to meet the goals although the replay had 1 timeout and 13 were observed."""
    after, found = outcome([0, 5, wait], "EBB", skipped=1), replace(FOUND, observed=was, now=now)
    assert _meets_all(after, [(GOAL, found)], 5.0) is met


@pytest.mark.parametrize(
    ("met", "verdict", "expected"),
    [
        ([True, None], "advised", ""),
        ([None, False], "unsure", "whether the first choice meets the goals is not known: the replay misses what was"),
        ([False, None], "unmet", "the first choice misses a goal; whether one below it meets them all is not known"),
        ([False, True, None], "unmet", "the first choice misses a goal; one below it would have met them all"),
        ([False, False], "unmet", "nothing that was tried meets every goal"),
    ],
)
def test_the_verdict_is_that_of_the_first_choice(met: list[bool | None], verdict: str, expected: str) -> None:
    found = _judged(met, ["limits"], 46.0)
    assert found[0] == verdict
    assert found[1].startswith(expected)
    assert ("on average by 0:46" in found[1]) is ("not known" in found[1])


def test_a_finding_has_observed_and_replayed_waits() -> None:
    before = came(-9, 16, 1, waited=500, first=NOON, last=LIMITED[0].last)
    seen = ObservedLoad.of([before, *LIMITED], ObservedPlan(), [GOAL], 1)
    found = _finding(GOAL, outcome([0, *range(40)], "B" * 41, skipped=1), seen)
    # The 38th of 40 waited for 37 x 50 s, and for 37 s in the replay.
    assert (found.statements, found.needed, found.observed, found.now) == (40, 40, 1850.0, 37)


def test_messages_without_a_search() -> None:
    fine = GoalFinding("g", 30.0, "p95", 40, 40, 30.0, 30.0)
    assert _early_verdict([fine], ObservedPlan())[0] == "met"
    for other in (replace(fine, observed=30.1), replace(fine, now=30.1), replace(fine, now=None)):
        assert _early_verdict([other], ObservedPlan()) == ("", "")
        assert _early_verdict([fine, other], ObservedPlan()) == ("", "")
    assert _early_verdict([replace(fine, statements=39)], ObservedPlan())[0] == "too_short"
    bound = _early_verdict([replace(fine, longer=(True, False))], ObservedPlan())
    assert bound[0] == "too_short", "a wait that may be longer does not show that a goal is met"
    assert "is met is not known" in bound[1]
    assert _early_verdict([fine], ObservedPlan(autonomous=True))[0] == "autonomous"


def test_a_choice_is_as_good_if_never_worse_by_a_tolerance() -> None:
    """The last two figures are servers and changes, which may not be higher."""
    assert _as_good([22, 64, 2], [20, 64, 2])
    assert not _as_good([22.1, 64, 2], [20, 64, 2])
    assert not _as_good([20, 65, 2], [20, 64, 2])
    assert not _as_good([20, 64, 3], [20, 64, 2])
    assert not _as_good([0, 30, 64, 2], [99, 20, 64, 2])


def test_a_promise_is_the_median_and_range_of_other_days() -> None:
    """Of 19 days the least and the most are outside: the others are 18 of 20. On day n the waits are n and 10 n."""
    seen = ObservedLoad.of(LIMITED, ObservedPlan(), [GOAL], 1)
    assert len(seen.early.arrivals) == 24
    after = outcome([0.0] * 24 + [30.0] * 12 + [31.0] * 4, "B" * 40)
    days = [outcome([float(n), 10.0 * n], "BB") for n in range(1, 20)]
    found = _with_promise(FOUND, GOAL, after, days, seen)
    assert (found.held_back, found.within) == (16, 0.75)
    assert (found.advised, found.advised_low, found.advised_high) == (100, 10, 190)
    # Up to day 3 both start within 30 s, then only one.
    assert (found.low, found.high) == (0.5, 1.0)
    for lacking in ([], [*days, outcome([1.0], "E")]):
        assert _with_promise(FOUND, GOAL, after, lacking, seen).advised is None
    none = _with_promise(FOUND, GOAL, outcome([0.0] * 40, "B" * 24 + "E" * 16), [], seen)
    assert (none.within, none.held_back) == (None, 0)


def test_cpu_is_shown_for_groups_that_wanted_at_least_a_second() -> None:
    """Both want one whole CPU for ten seconds: with 75 to 25 B gets 2.5 s, with 25 to 25 half."""
    shares = PlanBook.read((), (directive("BATCH", 1, 75), directive("ETL", 1, 25))).shares("DAY_PLAN")
    demand = CpuDemand(10.0, 1.0, {(0, "BATCH"): Load(1.0, 0.0), (0, "ETL"): Load(0.0, 1.0)}, shares)
    found = _cpu(frozenset({Change("shares", BATCH, 25), Change("limits", ETL, 5)}), [demand])
    assert [(each.group, each.wanted, each.before, each.after) for each in found] == [
        ("BATCH", 10, pytest.approx(2.5), pytest.approx(5)), ("ETL", 10, pytest.approx(7.5), pytest.approx(5)),
    ]  # fmt: skip
    assert _cpu(frozenset({Change("limits", ETL, 5), Change("target", None, 9)}), [demand]) == ()
    hardly = demand._replace(loads={**demand.loads, (0, "ETL"): Load(0.0, 0.09)})
    assert [each.group for each in _cpu(frozenset({Change("levels", BATCH, 2)}), [hardly])] == ["BATCH"]


def test_how_often_a_replay_is_played() -> None:
    assert (_replays(LIMITED * 25, 9, 3), _replays(LIMITED * 25 + LIMITED[:1], 9, 3)) == (9, 3)
    assert [least(part) for part in (0.8, 0.98, 0.989, 0.999)] == [20, 100, 182, 200]


def test_notes_name_gaps_of_the_plan() -> None:
    kinds, plan = ("target", "levels"), plan_of(directive("BATCH", 1, 60), maximum=100)

    def notes(plan: ObservedPlan, kinds: tuple[str, ...] = kinds) -> list[str]:
        return [note.partition(":")[0] for note in _notes(ObservedLoad.of(LIMITED, plan, [GOAL], 1), kinds)]

    assert notes(plan) == []
    assert notes(replace(plan, maximum=None)) == ["PARALLEL_MAX_SERVERS is not known"]
    assert notes(replace(plan, one_queue=True)) == ["levels and shares are not tried"]
    assert notes(replace(plan, one_queue=True), ("target",)) == []
    assert notes(replace(plan, instances=2)) == [
        "the target is that of 2 instances together; each gets the same part of it"
    ]
    assert [note[:20] for note in notes(ObservedPlan(maximum=9))] == ["a file of arrivals n", "the target is that o"]


def test_a_peak_above_the_maximum_is_explained() -> None:
    assert [peak_beyond_maximum([400, 480], 480), peak_beyond_maximum([488], None)] == ["", ""]
    assert peak_beyond_maximum([], 480) == ""
    note = peak_beyond_maximum([400, 488], 480)
    assert note.startswith("no more than PARALLEL_MAX_SERVERS (480) can be in use at once: where a peak is above it")


def test_curves_are_of_targets_whole_for_each_instance_and_of_the_goals_group() -> None:
    """64 servers on three instances: half is 11 for each, double 43; 64 itself is included unchanged."""
    arrivals = [*LIMITED, came(1, 4, 1, group="ETL", last=LIMITED[0].last)]
    seen = ObservedLoad.of(arrivals, plan_of(directive("BATCH", 1, 60, limit=25), instances=3), [GOAL], 1)
    target, limits = _curves(seen, [GOAL], 1)
    assert [value for value, _ in target.points] == [33, 48, 57, 63, 64, 72, 81, 96, 129]
    assert (target.goal, target.seconds, target.what, target.unit, target.now) == (
        "p95 wait of BATCH", 30.0, "PARALLEL_SERVERS_TARGET", "servers", 64,
    )  # fmt: skip
    fewer = ObservedLoad.of(arrivals, replace(seen.plan, maximum=90), [GOAL], 1)
    target, _ = _curves(fewer, [GOAL], 1)
    assert [value for value, _ in target.points][-3:] == [72, 81, 90], "no more than there are"
    # 25 % of the target are the 16 servers of one statement: limits have room for one to four statements.
    assert [value for value, _ in limits.points] == [25, 50, 75, 100]
    assert (limits.what, limits.unit) == ("the limit of BATCH", "%")
    assert dict(limits.points)[50] == 0.0
