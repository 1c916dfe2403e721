"""Search for advice: which choices are tried, how a choice is judged, and the next steps, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.advise import FAMILIES, directive, plan_of, planted
from presman.analysis.goals import Goal
from presman.analysis.trends.statement_runs import ArrivalOutcome
from presman.forecast.scheduler import Group
from presman.reports.advise_load import PRESENT, Change, Choice, ObservedLoad, ObservedPlan, ReplayOutcome, rules_of
from presman.reports.advise_search import (
    ChoiceJudge,
    Scored,
    Search,
    _loss,
    _missed,
    _thinned,
    bounds,
    grid,
    meets,
    percents,
    quantile,
    servers_needed,
    sizes,
)
from tests.analysis.make import NOON
from tests.reports.whatif.test_advise import BATCH, ETL, GOAL, LIMITED, SMALL, steady
from tests.reports.whatif.test_advise_text import outcome
from tests.reports.whatif.test_whatif import came


def load(plan: ObservedPlan | None = None, *, target: int = 64, goal: Goal = GOAL) -> ObservedLoad:
    """Return statements of BATCH with 16 servers and of ETL with 8."""
    arrivals = steady(16, 50, 100, target=target, timeout=900.0) + steady(8, 50, 10, group="ETL", target=target)
    return ObservedLoad.of(sorted(arrivals, key=lambda each: each.at), plan or ObservedPlan(), [goal], 1)


def values(seen: ObservedLoad, kind: str, group: Group | None = None) -> tuple[int, ...]:
    return grid(seen, [kind], [GOAL]).get((kind, group), ())


def test_targets_are_multiples_of_instances_up_to_the_servers() -> None:
    assert values(load(), "target") == (72, 80, 96, 112, 128)
    assert values(load(ObservedPlan(maximum=112)), "target") == (72, 80, 96, 112)
    # 100 on three instances: 37.5, 41.7, 50, 58.3 and 66.7 for each are 38, 42, 50, 59 and 67.
    assert values(load(ObservedPlan(instances=3), target=100), "target") == (114, 126, 150, 177, 201)
    assert values(load(target=999_999), "target")
    assert values(load(target=1_000_000), "target") == ()


def test_limits_have_room_for_one_statement_two_and_more() -> None:
    assert values(load(), "limits", BATCH) == (25, 50, 75), "100 % is in force"
    # ETL's 8 servers are 12.5 %: six of 13, 25, 38, 50, 63, 75, 88 and 100 are kept, evenly.
    assert values(load(), "limits", ETL) == (13, 25, 50, 63, 88)
    limited = plan_of(directive("BATCH", 1, 50, limit=50), directive("ETL", 1, 50))
    assert values(load(limited), "limits", BATCH) == (25, 75, 100)
    assert percents(load(), BATCH, 65) == [100]
    assert percents(load(target=1_000_000), BATCH, 16) == []
    assert sizes(load(), ETL) == [8] * 40
    nothing = [each._replace(servers=0) for each in LIMITED]
    assert values(ObservedLoad.of(nothing, ObservedPlan(), [GOAL], 1), "limits", BATCH) == ()


def test_of_many_values_six_are_kept() -> None:
    assert _thinned(range(6)) == [0, 1, 2, 3, 4, 5]
    assert _thinned(range(11)) == [0, 2, 4, 6, 8, 10]


def test_levels_in_use_and_the_next_are_tried() -> None:
    plan = plan_of(directive("BATCH", 2, 60), directive("ETL", 3, 70))
    assert values(load(plan), "levels", BATCH) == (3, 4)
    assert values(load(plan), "levels", ETL) == (2, 4)
    last = plan_of(directive("BATCH", 8, 60), directive("ETL", 3, 70))
    assert values(load(last), "levels", BATCH) == (3,)
    assert values(load(), "levels", BATCH) == ()


def test_shares_are_halves_and_doubles_degrees_halves() -> None:
    plan = plan_of(directive("BATCH", 1, 30), directive("ETL", 1, 1))
    # 7.5 is rounded to the even number; four times 30 is more than 100.
    assert values(load(plan), "shares", BATCH) == (8, 15, 60)
    assert values(load(plan), "shares", ETL) == (2, 4)
    assert values(load(), "shares", BATCH) == ()
    assert values(load(), "degree", BATCH) == (2, 4), "a degree of 8 and no degree of 1"
    assert values(load(), "degree", ETL) == (2,)


def test_a_timeout_is_shorter_than_that_in_force_and_of_groups_without_a_goal() -> None:
    assert values(load(), "timeouts", BATCH) == ()
    assert values(load(), "timeouts", ETL) == (60, 300, 900, 3600)
    other = grid(load(), ["timeouts"], [Goal("ETL", 0.9, 1.0)])
    assert other == {("timeouts", BATCH): (60, 300)}


def test_groups_with_a_goal_are_tried_first() -> None:
    assert [group for _, group in grid(load(), ["limits"], [Goal("ETL", 0.9, 1.0)])] == [ETL, BATCH]
    assert [kind for kind, _ in grid(load(), ["degree", "target"], [GOAL])] == ["target", "degree", "degree"]


def test_a_loss_of_one_is_a_doubling_of_delay_plus_a_minute() -> None:
    assert [_loss(60, after) for after in (60, 180, 420)] == [0, 1, 2]
    assert _loss(60, 59) == 0
    assert _loss(0, inf) == 20
    assert [_missed(GOAL, wait) for wait in (30, 60, 120, inf)] == [1, 5, 6, 24]
    assert _missed(Goal("BATCH", 0.95, 0.5), 2.0) == 5, "less than a second is a second"


def judge(
    before: Sequence[float], names: str, *, keep: Sequence[str] = (), unstarted: Sequence[int] = ()
) -> ChoiceJudge:
    was = outcome(list(before), names, unstarted=frozenset(unstarted))._replace(slower=(0.0,) * len(names))
    return ChoiceJudge(load(), [GOAL], frozenset(keep), was, range(len(names)))


def scored(
    judge: ChoiceJudge, choice: Choice, waits: Sequence[float], *, unstarted: Sequence[int] = (), slower: float = 0.0
) -> Scored:
    names = "".join(group.name[0] for group in judge.before.groups)
    after = outcome(list(waits), names, unstarted=frozenset(unstarted))._replace(slower=(slower,) * len(names))
    return judge(choice, after)


TWICE = frozenset({Change("target", None, 128), Change("limits", BATCH, 50)})


def test_the_cost_of_a_choice() -> None:
    """ETL's delays of 60 s become 180 s, a loss of 1; there are twice as many servers, and two changes."""
    found = scored(judge([90, 60], "BE", keep=["BATCH"]), TWICE, [10, 180])
    assert found == Scored(pytest.approx(1 + 0.5 + 0.5 + 0.04), (10,), pytest.approx(1.04), True)
    assert not scored(judge([90, 60], "BE", keep=["ETL"]), TWICE, [10, 180]).keeps
    missed = scored(judge([90, 60], "BE"), PRESENT, [60, 60])
    assert (missed.total, missed.cost, missed.waits) == (4 + 1, 0, (60,))
    assert scored(judge([90, 60], "BE"), frozenset({Change("target", None, 32)}), [10, 60]).cost == 0.02


def test_longer_runs_count_as_delay_above_a_tolerance() -> None:
    was = judge([0, 60], "BE", keep=["ETL"])
    assert scored(was, PRESENT, [0, 60], slower=120.0).cost == pytest.approx(0.5 * (1 + 1.585), abs=0.001), "log2 3"
    assert [scored(was, PRESENT, [0, wait]).keeps for wait in (64, 64.1)] == [True, False]


def test_statements_that_do_not_start_any_more_are_a_loss_by_their_part() -> None:
    was = judge([0, 60, 60, 60], "BEEE", unstarted=[1], keep=["ETL"])
    found = scored(was, PRESENT, [0, 60, 60, 60], unstarted=[1, 3])
    assert (found.cost, found.keeps) == (pytest.approx(0.5 * 6 / 3), False)
    assert scored(was, PRESENT, [0, 60, 60, 60], unstarted=[3]).keeps


def search(kinds: Sequence[str] = ("limits",), plan: ObservedPlan | None = None, **more: object) -> Search:
    return Search(load(plan), [GOAL], [], kinds, **more)  # type: ignore[arg-type]


def test_how_much_is_tried() -> None:
    """A tenth of 4 x 6 choices of limits is less than the minimum of 40."""
    assert search().most == 40
    assert search(most=7).most == 7
    # A tenth of: six targets, 4 x 6 limits and 3 x 2 degrees are 864 choices; timeouts of ETL make five times as many.
    assert search(("target", "limits", "degree")).most == 86
    assert search(("target", "limits", "degree", "timeouts")).most == 432
    assert search().courses == 3
    many = ObservedLoad.of(steady(16, 50, 100, many=2000), ObservedPlan(), [GOAL], 1)
    assert (len(many.early.arrivals), Search(many, [GOAL], [], ["limits"]).courses) == (1200, 1)


def test_the_generous_choice_favours_groups_with_a_goal() -> None:
    plan = plan_of(directive("BATCH", 2, 60, limit=25), directive("ETL", 2, 70, limit=50))
    assert search(("target", "limits", "levels"), plan)._generous() == {
        Change("target", None, 128), Change("limits", BATCH, 100), Change("levels", ETL, 3),
    }  # fmt: skip
    ahead = plan_of(directive("BATCH", 2, 60), directive("ETL", 1, 70))
    assert search(("limits", "levels"), ahead)._generous() == {Change("levels", BATCH, 1)}


def put(found: Search, choice: Choice, scored: Scored) -> None:
    """Score a choice, even if it is already scored."""
    found.scored[choice] = scored
    found.best = min(found.scored, key=found._rank)


def known(found: Search, **totals: float) -> None:
    """Score choices of one change: `B25` is a limit of 25 % on BATCH."""
    put(found, PRESENT, Scored(9.0, (90.0,), 0.0, True))
    for name, total in totals.items():
        change = Change("limits", BATCH if name[0] == "B" else ETL, int(name[1:]))
        put(found, frozenset({change}), Scored(total, (total,), 0.0, True))


def limit(group: Group, percent: int) -> Choice:
    return frozenset({Change("limits", group, percent)})


def test_the_search_continues_from_the_best_choices() -> None:
    found = search()
    known(found, B25=3.0, B50=2.0, B75=2.0, E13=5.0, E88=4.0)
    put(found, limit(ETL, 63), Scored(9.02, (90.0,), 0.02, True))
    order = []
    while (choice := found._next()) is not None:
        order.append(choice)
        found._vary(choice, dict.fromkeys(found.grid, ()))
    firsts = [limit(BATCH, 50), limit(BATCH, 25), limit(ETL, 88), limit(ETL, 13), PRESENT]
    assert order == [*firsts, limit(BATCH, 75), limit(ETL, 63)], "one equals 50 %, one has no effect"


def test_the_change_of_a_group_is_tried_at_another() -> None:
    """The best of 576 choices limits ETL; limiting BATCH is better than nothing, and both no better than one."""
    arrivals, plan, goal = planted("limit too low", 7001)
    found = Search(ObservedLoad.of(arrivals, plan, [goal], 7001), [goal], [], FAMILIES["limit too low"])
    found.courses = 1
    found.run(lambda *_: None)
    limit, group = Change("limits", Group(0, "REPORTS"), 25), Group(0, "ETL")
    assert found.best == {limit, Change("limits", group, 25), Change("target", None, 128)}
    assert len(found.scored) <= 57
    of_batch = found.best - {Change("limits", group, 25)} | {Change("limits", Group(0, "BATCH"), 25)}
    assert [*found._exchanged(of_batch)] == [found.best], "the group with the goal keeps its own limit"


def test_several_groups_are_held_back_together() -> None:
    # REPORTS start at once if BATCH and ETL both have a limit; if only one has it, the other takes the room.
    arrivals, plan, goal = planted("target too small", 8012)
    found = Search(ObservedLoad.of(arrivals, plan, [goal], 8012), [goal], [], FAMILIES["target too small"])
    found.courses = 1
    assert found._others_limited() == limit(BATCH, 50) | limit(ETL, 50)
    found.run(lambda *_: None)
    assert found.best == limit(BATCH, 50) | limit(ETL, 50) | {Change("target", None, 48)}
    assert found.scored[found.best].waits == (0.0,)
    assert len(found.scored) <= 76, "of 768 choices"


def test_choices_that_could_not_be_best_are_omitted() -> None:
    """Twice the servers cost 0.5 and a change 0.02, even if all goals (which count 1) are met and no group loses."""
    found, larger = search(("target", "limits")), frozenset({Change("target", None, 128)})
    known(found, B25=1.53)
    assert found._may_be_best(larger)
    assert not found._may_be_best(larger | limit(ETL, 13))
    known(found, B50=1.51)
    assert not found._may_be_best(larger)
    assert found._next() == limit(BATCH, 50)
    found.scored.clear()
    put(found, PRESENT, Scored(1.0, (0.0,), 0.0, False))
    assert found._may_be_best(larger), "a protected group loses by the best"


def test_values_with_the_same_effect_are_tried_once_at_first() -> None:
    found = search()
    known(found, B25=3.0, B50=3.0, E13=5.0, E25=4.0, E50=5.0)
    assert found._distinct() == {("limits", BATCH): [25, 75], ("limits", ETL): [13, 25, 63, 88]}


def test_the_search_continues_from_cheap_choices_near_the_goal() -> None:
    """A change of a choice that costs 0.9 more cannot beat one for 0.5, even if it meets the goal."""
    found = search()
    put(found, PRESENT, Scored(9.0, (99 * GOAL.seconds,), 0.0, True))
    put(found, limit(BATCH, 50), Scored(1.5, (0.0,), 0.5, True))
    put(found, limit(BATCH, 75), Scored(1.9, (0.0,), 0.9, True))
    put(found, limit(ETL, 25), Scored(5.1, (2 * GOAL.seconds,), 0.1, True))
    put(found, limit(ETL, 50), Scored(6.6, (6 * GOAL.seconds,), 0.05, True))
    put(found, limit(ETL, 63), Scored(1.0, (0.0,), 0.0, False))
    order = []
    while (choice := found._next()) is not None:
        order.append(choice)
        found._vary(choice, dict.fromkeys(found.grid, ()))
    firsts = [limit(ETL, 25), limit(BATCH, 50), limit(ETL, 50), limit(BATCH, 75), PRESENT]
    assert order == [*firsts, limit(ETL, 63)], "a protected group loses by the last"


def test_a_smaller_target_with_a_limit_is_found() -> None:
    """Neither a target of 48 nor a limit of 25 % on ETL meets the goal alone, a target of 64 does."""
    arrivals, plan, goal = planted("target too small", 9506)
    found = Search(ObservedLoad.of(arrivals, plan, [goal], 9506), [goal], [], FAMILIES["target too small"])
    found.courses = 1
    found.run(lambda *_: None)
    assert found.best == limit(Group(0, "ETL"), 25) | {Change("target", None, 48)}
    assert len(found.scored) <= 153, "of 1,536 choices"


def test_fewer_changes_and_no_harm_win_among_equal_choices() -> None:
    found = search()
    assert found.best == PRESENT
    known(found, B25=9.0, E13=2.0)
    put(found, frozenset({Change("limits", ETL, 13)}), Scored(2.0, (2.0,), 0.0, False))
    assert found.best == PRESENT
    put(found, frozenset({Change("limits", BATCH, 25)}), Scored(8.9, (2.0,), 0.0, True))
    assert found.best == {Change("limits", BATCH, 25)}


def test_finalists_are_nearest_to_the_goal_for_their_cost() -> None:
    found = search()
    for value, total, wait, cost, keeps in (
        (13, 5.0, 60.0, 0.1, True),  # the first of least cost
        (25, 4.0, 58.0, 0.2, True),  # not nearer by a twentieth
        (50, 3.0, 30.0, 0.3, True),
        (63, 2.0, 31.0, 0.4, True),  # more expensive and not nearer, but the best
        (88, 1.0, 1.0, 0.0, False),  # a group loses that must not
    ):
        put(found, frozenset({Change("limits", ETL, value)}), Scored(total, (wait,), cost, keeps))
    assert [next(iter(each)).value for each in found.finalists()] == [63, 50, 13]
    assert [next(iter(each)).value for each in found.finalists(most=1)] == [63]


def test_a_search_ends_after_a_number_of_choices() -> None:
    found, reports = search(most=3), []
    found.run(lambda number, best: reports.append((number, best)))
    assert len(found.scored) <= 3
    assert [number for number, _ in reports] == list(range(1, len(found.scored) + 1))
    assert all(best == min(found.scored.values()) for _, best in reports[-1:])


def test_the_least_target_is_found_to_a_fiftieth() -> None:
    """Two statements of 32 servers at once need 64. On two instances the target is even."""
    assert servers_needed(ObservedLoad.of(SMALL, ObservedPlan(), [GOAL], 1), [GOAL], 1) == 64
    two = ObservedLoad.of(SMALL, ObservedPlan(instances=2), [GOAL], 1)
    assert servers_needed(two, [GOAL], 1) in {64, 66}
    few = ObservedLoad.of(steady(32, 50, 100, many=2, target=64), ObservedPlan(), [GOAL], 1)
    assert servers_needed(few, [GOAL], 1) is None, "all of them have room already"


@pytest.mark.parametrize(("many", "low", "high"), [(19, 1, 19), (39, 2, 38), (59, 3, 57), (99, 5, 95)])
def test_bounds_leave_out_a_twentieth_at_either_end(many: int, low: float, high: float) -> None:
    assert bounds([float(n) for n in range(1, many + 1)]) == (low, high)


def test_the_quantile_of_no_values_is_zero() -> None:
    assert quantile([], 0.5) == 0
    assert quantile([3.0, 1.0, 2.0], 0.001) == 1.0


def test_a_choice_that_misses_one_of_two_goals_meets_them_not() -> None:
    replayed: Any = None
    found = ReplayOutcome(replayed, (BATCH, ETL), (5.0, 50.0), (0.0, 0.0), frozenset(), 0)
    met, missed = Goal("BATCH", 0.95, 10.0), Goal("ETL", 0.95, 40.0)
    assert meets(found, [met])
    assert not meets(found, [met, missed]), "ETL waits 50 s, and 40 are allowed"


def test_a_choice_becomes_rules() -> None:
    """BATCH may hold a quarter of 64, and then half of 128; ETL keeps its 50 % of 64."""
    plan = plan_of(directive("BATCH", 1, 30, limit=25), directive("ETL", 2, 70, limit=50))
    arrivals = [*LIMITED, came(1, 4, 1, group="ETL", limit=32, last=LIMITED[0].last)]
    seen = ObservedLoad.of(arrivals, plan, [GOAL], 1)
    rules = rules_of(
        seen, TWICE | {Change("timeouts", ETL, 60), Change("levels", BATCH, 3), Change("shares", BATCH, 60)}
    )
    assert (rules.target, rules.limits, rules.timeouts) == (128, {BATCH: 64, ETL: 64}, {ETL: 60.0})
    weights = {child.group: child.weights for child in rules.plan.children} if rules.plan else {}
    first = next(child.weights for child in plan.tree.children if child.group == BATCH) if plan.tree else ()
    assert weights[BATCH] == (0, 0, 2 * first[0], 0, 0, 0, 0, 0)
    assert weights[ETL][1] > 0
    assert rules_of(seen, PRESENT) == seen.rules


def test_the_plan_gives_limits_of_a_group() -> None:
    plan = plan_of(
        directive("BATCH", 3, 30)._replace(utilization_limit=40), directive("ETL", 8, 70, limit=200), instances=2
    )
    seen = load(plan)
    assert (seen.level(BATCH), seen.level(ETL), seen.percentage(ETL)) == (3, 8, 70)
    assert (seen.percent(BATCH), seen.percent(ETL)) == (40, 100)
    assert seen.level(Group(0, "X")) is None
    observed = ObservedLoad.of(LIMITED, ObservedPlan(), [GOAL], 1)
    assert observed.percent(BATCH) == 25, "16 of 64, as it was observed"
    assert observed.percent(ETL) == 100
    assert [observed.allowed(ETL, percent) for percent in (50, 100)] == [32, 64]


def test_statements_that_did_not_start_are_distinguished_from_waiting_ones() -> None:
    """The limit has room for one of three that run for 100 s: the second waits 90 s, the third is cut at 60 s."""
    last, facts = NOON + timedelta(seconds=150), {"limit": 16, "outcome": ArrivalOutcome.QUEUED}
    arrivals = [came(at, 16, 100, waited=99.0, last=last, **facts) for at in (0, 10, 90)]

    def played(**more: object) -> ReplayOutcome:
        own = [each._replace(**more) for each in arrivals]
        return ObservedLoad.of(own, ObservedPlan(), [GOAL], 1).played(PRESENT, 1)

    found = played()
    assert (found.waits, found.unstarted) == ((0, 90, 60), {2})
    assert found.of("BATCH", [2, 1]) == [60, 90]
    cancelled, started = played(timeout=50.0), played(timeout=50.0, action="RUN")
    assert (cancelled.waits, cancelled.unstarted) == ((0, inf, 10), {1})
    assert (started.waits, started.unstarted) == ((0, 50, 50), {1, 2})


def descended(most: int) -> list[dict[str, int]]:
    """The choices tried in order if the best is x 2 with y 1, and each step towards it helps."""
    tried: list[dict[str, int]] = []
    search: Any = SimpleNamespace(
        scored={}, most=most, grid={"x": (1, 2, 3), "y": (1, 2)}, _may_be_best=lambda _: True, _exchanged=lambda _: [],
        _rank=lambda choice: (dict(choice).get("x") != 2) + (dict(choice).get("y") != 1),
        _with=lambda choice, knob, values: [frozenset({**dict(choice), knob: value}.items()) for value in values],
    )  # fmt: skip

    def score(choice: Any) -> None:
        if choice not in search.scored:
            tried.append(dict(choice))
        search.scored[choice] = True

    search.score = score
    search._better = lambda best, others: Search._better(search, best, others)
    Search._descend(search, frozenset(), search.grid)
    return tried


def test_the_search_changes_one_directive_after_another() -> None:
    whole = [{}, {"x": 1}, {"x": 2}, {"x": 3}, {"x": 2, "y": 1}, {"x": 2, "y": 2}]
    assert descended(99) == [*whole, {"x": 1, "y": 1}, {"x": 3, "y": 1}], "in a second round around the best"
    assert [descended(most) for most in (1, 3, 5)] == [whole[:most] for most in (1, 3, 5)]
