"""What if for the present queue: starts under other limits by hand, the choice of a limit, and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from msgspec.structs import replace

from benchmarks.advise import directive
from presman.analysis.caches import RowCache
from presman.analysis.goals import Goal, goals_of
from presman.analysis.readings.forecast_readings import ForecastRecord, QueueForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    Cause,
    NotKnown,
    QueuedStatement,
    QueueHead,
    Servers,
    Shortage,
    StartForecast,
    WantsSource,
)
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.base.release import Release
from presman.forecast.course import HORIZON, Holder, PastArrival, QueueNow, Waiting
from presman.forecast.forecaster import COURSES, ENOUGH, PENDING, ForecastBasis
from presman.forecast.queue_now import Modelled
from presman.forecast.scheduler import Group, Limits, Queueing, QueueRule, ServerPoolLimit
from presman.forecast.statement_history import Durations
from presman.polling.poll_events import Polled
from presman.reports.advise_load import (
    ArrivalDay,
    Change,
    Choice,
    ObservedLoad,
    ObservedPlan,
    observed_arrivals,
    rules_of,
)
from presman.reports.advise_script import written
from presman.reports.whatif_queue import (
    TARGET,
    ChangedStart,
    LimitChanges,
    PlanLimit,
    PresentLimits,
    QueueCourses,
    of_alerts,
    of_group,
    room_sentences,
    under,
    why_unknown,
)
from presman.reports.whatif_replay import Rules
from presman.services.live import ReadingCame, Readings
from presman.tui.what_if_queue import WhatIfAnswer, last_words
from tests.recording.recorded import polled
from tests.tui.readings import AT, busy, queued

BATCH, ETL = Group(0, "BATCH"), Group(0, "ETL")
TEN = Durations((10.0, 10.000001), (1.0, 1e-9), 1e-9)
"""All run for ten seconds."""


@dataclass
class Knowing:
    """A queue of 64 servers: ETL holds `held` for six seconds more; BATCH may hold 32 of 64."""

    held: int = 48
    rows: tuple[QueuedStatement, ...] = (queued(1, timeout_left=None), queued(2, timeout_left=None))
    shown: tuple[StartForecast, ...] = (StartForecast(6.0, 5.0, 7.0), StartForecast(16.0, 15.0, 17.0))
    came: tuple[PastArrival, ...] = ()

    @property
    def reading(self) -> Reading:
        pairs = zip(self.rows, self.shown, strict=True)
        return replace(busy(), queue=tuple(replace(row, starts=starts) for row, starts in pairs))

    @property
    def load(self) -> ObservedLoad:
        none = ArrivalDay((), frozenset())
        plan = ObservedPlan({BATCH: directive("BATCH", 1, 50, limit=50), ETL: directive("ETL", 1, 50)})
        return ObservedLoad(none, none, Rules(64, {BATCH: 32}), plan, 1, 0)

    @property
    def now(self) -> QueueNow:
        pools = (ServerPoolLimit("0 BATCH", 32), ServerPoolLimit("0 ", 60))
        limits = Limits(64, 1000, Queueing.FIFO, {BATCH: QueueRule(pools), ETL: QueueRule()})
        waits = tuple(Waiting(BATCH, 32, 32, row.waited or 0.0, TEN) for row in self.rows)
        return QueueNow(limits, (Holder(ETL, self.held, 4.0, TEN),), waits, self.came, 60.0 if self.came else 0.0)

    def under(self, *changes: Change) -> list[ChangedStart]:
        forecast_basis = ForecastBasis(AT, Modelled(self.now, (None,), self.rows), 1.0, 0.0, 1)
        return QueueCourses(forecast_basis).compare(self.reading, self.load, frozenset(changes))


def medians(found: list[ChangedStart]) -> list[float | None]:
    return [None if each.then.median is None else round(each.then.median, 2) for each in found]


def test_without_changes_starts_are_the_shown_forecasts() -> None:
    found = Knowing().under()
    assert medians(found) == [6.0, 16.0]
    assert [(each.sooner, each.later, each.courses) for each in found] == [(0, 0, 40)] * 2
    assert found[0].then.high == pytest.approx(7.0)


def test_a_larger_target_starts_the_first_but_a_limit_holds_the_second() -> None:
    found = Knowing().under(Change("target", None, 96))
    assert medians(found) == [0.0, 10.0], "48 of 96 are the group's then: the second waits for the first"
    assert [each.sooner for each in found] == [40, 40]
    both = Knowing().under(Change("target", None, 128), Change("limits", BATCH, 100))
    assert medians(both) == [0.0, 10.0], "60 servers are all that its container may have"


def test_simultaneous_arrivals_share_one_start_under_changes() -> None:
    """Each course chooses at random which is first, so the latest of their medians would be later than any start."""
    alike = tuple(queued(place, timeout_left=None, waited=100.0) for place in range(1, 11))
    found = Knowing(held=64, rows=alike, shown=(StartForecast(51.0, 6.0, 96.0),) * 10).under(Change("target", None, 96))
    # One after the other, now from 6 s on and with the change at once: the middle comes sooner by that much.
    (then,) = set(medians(found))
    assert then is not None
    assert 44.0 < then < 46.0


def test_a_smaller_limit_makes_a_statement_wait_for_an_empty_group() -> None:
    none = Knowing(held=16)
    assert medians(none.under(Change("limits", BATCH, 25))) == [6.0, 16.0], "too large for 16: alone, as before"
    fewer = none.under(Change("target", None, 40))
    assert fewer[0].later == 40
    assert fewer[0].then.median == pytest.approx(12.0), "six seconds later than is shown"


def test_unknown_starts_stay_unknown_but_never_and_timeout_are_recalculated() -> None:
    missed = StartForecast(why_none="it should have started by 12:00:00 and did not")
    found = Knowing(shown=(missed, missed)).under(Change("target", None, 96))
    assert [each.then for each in found] == [missed, missed]
    rows = tuple(queued(place, timeout_left=8.0) for place in (1, 2))
    timeout = StartForecast(timeout=True)
    late = Knowing(rows=rows, shown=(StartForecast(6.0, 5.0, 7.0), timeout)).under(Change("target", None, 96))
    assert medians(late) == [0.0, None]
    assert late[1].then.timeout, "it would start after ten seconds"


def test_the_panel_fills_in_forecasts_that_are_still_being_calculated() -> None:
    first, second = Knowing(shown=(StartForecast(6.0, 5.0, 7.0), PENDING)).under(Change("target", None, 96))
    assert second.row.starts is not None
    assert second.row.starts.median == pytest.approx(16.0)
    assert medians([first, second]) == [0.0, 10.0]
    late = Knowing()
    forecast_basis = ForecastBasis(AT, Modelled(late.now, (None,), late.rows), 1.0, 0.0, 1)
    new = replace(late.reading, queue=(*late.reading.queue, replace(queued(3, timeout_left=None), starts=PENDING)))
    found = QueueCourses(forecast_basis).compare(new, late.load, frozenset())
    assert [each.row.starts == PENDING for each in found] == [False, False, True], "no course has the third yet"
    answer = WhatIfAnswer(new, frozenset(), frozenset(), present()[1], found, "")
    assert last_words(answer) == (
        "The last of the 2 queued starts in 0:16 or later. 1 more just came: not calculated yet."
    )


def test_a_queue_too_long_to_simulate_gives_a_minimum_wait() -> None:
    many = Knowing(came=tuple(PastArrival(each / 100, BATCH, 32, TEN) for each in range(6000)))
    for_good = many.now._replace(holders=(Holder(ETL, 32, 0.0, None),))
    courses = QueueCourses(ForecastBasis(AT, Modelled(for_good, (None,), many.rows), 1.0, 0.0, 1))
    choice: Choice = frozenset({Change("target", None, 32)})
    found = courses.compare(many.reading, many.load, choice)
    for each in found:
        assert ENOUGH <= each.courses < COURSES, "fewer courses if each takes long"
        assert (each.sooner, each.later) == (0, each.courses)
        assert each.then_beyond == pytest.approx(40.0, abs=0.5), "the course ends after 4,000 arrivals"
        assert each.then.why_none.startswith("it does not start within ")
    assert " or later, what if: not within " in last_words(
        WhatIfAnswer(many.reading, choice, choice, present()[1], found, "")
    )
    timed = replace(many.reading, queue=tuple(replace(row, timeout_left=20.0) for row in many.reading.queue))
    assert all(each.then.timeout for each in courses.compare(timed, many.load, choice))


def test_a_lower_degree_applies_to_later_arrivals_which_run_longer() -> None:
    some = Knowing(came=(PastArrival(1.0, BATCH, 32, TEN),))
    then = under(some.now, some.load, frozenset({Change("degree", BATCH, 4)}))
    assert then.waiting == some.now.waiting
    (each,) = then.arrivals
    assert (each.servers, each.duration.times[0], each.duration.mean) == (8, 40.0, pytest.approx(4e-9))


def test_another_level_changes_the_order_but_no_container_limit() -> None:
    some, (_, limits) = Knowing(), present()
    both = frozenset({BATCH, Group(0, "REPORTS")})
    now = some.now._replace(limits=replace(some.now.limits, root=limits.load.plan.tree, target=64))
    assert set(now.limits.served_first(both).groups) == both
    first = under(now, limits.load, frozenset({Change("levels", BATCH, 1)})).limits
    assert first.served_first(both).groups == (BATCH,)
    order = under(some.now, some.load, frozenset({Change("limits", BATCH, 100)})).limits
    assert order.root is some.now.limits.root
    assert order.rules[BATCH].pools == (ServerPoolLimit("0 ", 60), ServerPoolLimit("0 BATCH", 64))


def test_no_statement_starts_before_an_earlier_one_of_its_queue() -> None:
    shown = (StartForecast(40.0, 30.0, 50.0), StartForecast(16.0, 15.0, 17.0))
    first, second = Knowing(shown=shown).under(Change("limits", BATCH, 60))
    assert (first.then.median, second.then.median) == (40.0, 40.0)
    assert (second.then.low, second.then.high) == (30.0, 50.0)


def test_poor_forecasts_are_not_shown_and_the_reason_is() -> None:
    some = Knowing()
    forecast_basis = ForecastBasis(AT, Modelled(some.now, (None,), some.rows), 1.0, 0.0, 1)
    poor = replace(some.reading, forecast=QueueForecast(ForecastRecord(10, 4, 30.0)))
    assert why_unknown(poor, forecast_basis) == "4 of 10 started in the range forecast: too few to say"
    assert why_unknown(some.reading, forecast_basis) == ""
    assert why_unknown(some.reading, None) == "it is being calculated"
    few = StartForecast(why_none="a forecast needs 5 statements that have ended, and presman has seen 3")
    assert why_unknown(Knowing(shown=(few, few)).reading, None) == few.why_none
    assert why_unknown(replace(poor, queue=()), None) == "", "no statement waits"


# ---- Limits.


def came(scenario: str, polls: int) -> ReadingCame:
    """Return the last of some polls, with the basis of its forecasts."""
    readings = Readings(with_forecasts=True)
    for snapshot, _ in polled(scenario, polls):
        found = readings.of(Polled(snapshot))
    assert isinstance(found, ReadingCame)
    return found


def present(scenario: str = "mixed", polls: int = 12) -> tuple[Reading, PresentLimits]:
    found = came(scenario, polls)
    return found.reading, PresentLimits.of(found.reading, found.previous, found.snapshot, RowCache())


def of(limits: PresentLimits, kind: str, group: Group | None) -> PlanLimit:
    return next(limit for limit in limits.limits(group) if limit.knob == (kind, group))


def test_limits_are_those_of_the_plan_in_order_of_groups() -> None:
    reading, limits = present()
    found = list(limits.limits(BATCH))
    assert [limit.knob for limit in found[:6]] == [
        *((kind, BATCH) for kind in ("limits", "cpu", "shares", "levels", "degree")), TARGET,
    ]  # fmt: skip
    assert [limit.now for limit in found[:6]] == [50, 60, 10, 2, None, 64]
    assert found[0].name == "PARALLEL_SERVER_LIMIT"
    had = {row.name: row.totals.completed or 0 for row in reading.cluster_groups()}
    others = [had[limit.title] for limit in found[6:]]
    assert others == sorted(others, reverse=True), "those with most parallel statements first"
    assert (found[5].step, found[5].most) == (4, 96), "a sixteenth; PARALLEL_MAX_SERVERS"
    old = replace(limits, load=replace(limits.load, plan=replace(limits.load.plan, release=Release(11, 2))))
    assert [limit.name for limit in old.limits(BATCH)][:2] == ["PARALLEL_TARGET_PERCENTAGE", "MAX_UTILIZATION_LIMIT"]


def test_a_plan_of_containers_has_neither_levels_nor_shares_and_one_without_plan_the_target() -> None:
    _, limits = present("pdb")
    assert {limit.knob[0] for limit in limits.limits(None)} == {"limits", "cpu", "degree", "target"}
    _, none = present("noplan")
    assert [limit.knob for limit in none.limits(None)] == [TARGET]


def test_a_cpu_limit_limits_servers_unless_there_is_another() -> None:
    _, limits = present()
    interactive = Group(0, "INTERACTIVE")
    target = limits.load.rules.target

    def allowed(load: ObservedLoad, *choice: Change) -> list[int | None]:
        return [rules_of(load, frozenset(choice)).limits.get(group) for group in (interactive, BATCH)]

    assert allowed(limits.load, Change("cpu", interactive, 50), Change("cpu", BATCH, 25)) == [target // 2, target // 2]
    assert allowed(limits.load, Change("cpu", interactive, 50), Change("limits", interactive, 25))[0] == target // 4
    old = replace(limits.load, plan=replace(limits.load.plan, release=Release(11, 2)))
    assert allowed(old, Change("cpu", interactive, 50))[0] is None


def test_changes_of_a_removed_group_are_omitted() -> None:
    _, limits = present()
    target, batch = Change("target", None, 65), Change("limits", BATCH, 50)
    gone = Change("limits", BATCH._replace(name="GONE"), 50)
    assert limits.possible(frozenset({target, batch, gone})) == {target, batch}


def test_side_effects_of_a_change_are_shown() -> None:
    reading, limits = present()
    (cpu,) = limits.cautions(frozenset({Change("cpu", BATCH, 1)}))
    wanted = next(row.wanted for row in reading.cluster_groups() if row.name == "BATCH")
    assert wanted is not None
    assert f"-> {wanted - 0.16:.1f}" in cpu, "one percent of 16 CPUs"
    (more,) = limits.cautions(frozenset({Change("target", None, 65)}))
    assert more.startswith("More servers at once share the same CPUs")
    assert limits.cautions(frozenset({Change("target", None, 63)})) == []
    (degree,) = limits.cautions(frozenset({Change("degree", BATCH, 4)}))
    assert "keep their degree" in degree


def head_of_batch(**fields: object) -> Reading:
    """BATCH holds 32 of the 64 servers, as it may; its head wants 16 more, and all groups together hold 40."""
    head = QueueHead("BATCH", queued(1), Cause.GROUP, Servers(16, 16), 32, 32, 40, 64, 16, "")
    row = busy().cluster_groups()[0]._replace(name="BATCH", con_id=0, px_servers=32, is_counted=True)
    return replace(busy(), heads=(replace(head, **fields),), groups=(row,))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Change("limits", BATCH, 80), "has room: it wants 16, 19 are free."),  # 80 % of 64 are 51, less 32
        (Change("limits", BATCH, 70), "is short by 4 (group limit): it wants 16, 12 are free."),  # 70 % are 44
        (Change("limits", BATCH, 100), "has room: it wants 16, 24 are free."),  # 64 less the 40 of all
        (Change("limits", BATCH, 25), "is short by 32 (group limit): it wants 16, 0 are free."),  # 16 less 32
        (Change("target", None, 128), "has room: it wants 16, 32 are free."),  # the limit grows to 64
    ],
)
def test_without_a_forecast_it_is_known_whether_a_head_has_room(change: Change, expected: str) -> None:
    sentence = f"Under the changes the head of BATCH {expected}"
    assert room_sentences(head_of_batch(), Knowing().load, frozenset({change})) == [sentence]


def test_no_more_servers_are_free_than_the_pool_has_left() -> None:
    """PARALLEL_MAX_SERVERS leaves 20: a target of 128 leaves 88, and the limit of BATCH 32."""
    reading = head_of_batch(statement=replace(queued(1), servers_left=20))
    (sentence,) = room_sentences(reading, Knowing().load, frozenset({Change("target", None, 128)}))
    assert sentence.endswith("has room: it wants 16, 20 are free.")


@pytest.mark.parametrize(
    "fields",
    [
        {"not_known": NotKnown("which statements are queued", "V$SESSION")},
        {"wants": None},
        {"wants": Servers(16, 16, WantsSource.MEAN)},
        {"in_use": None},
        {"shortages": (Shortage(16, con_id=3),)},
        {"shortages": (Shortage(16, everybody=True, inst_ids=(2,)),)},
        {"target": 32},  # its servers may run on one of two instances, which has room for it
        {"statement": replace(queued(1), servers_left=15)},
    ],
)
def test_nothing_is_said_of_a_head_if_it_is_not_known_what_decides(fields: dict[str, object]) -> None:
    assert room_sentences(head_of_batch(**fields), Knowing().load, frozenset({Change("limits", BATCH, 100)})) == []


def test_nothing_is_said_of_a_head_whose_container_has_a_limit_that_a_change_may_reach() -> None:
    reading = head_of_batch()
    (row,) = reading.groups
    limited = replace(reading, groups=(row._replace(container_servers=40),))
    assert room_sentences(limited, Knowing().load, frozenset({Change("limits", BATCH, 100)})) == []


def test_a_change_of_no_server_limit_says_nothing_of_room() -> None:
    assert room_sentences(head_of_batch(), Knowing().load, frozenset({Change("shares", BATCH, 70)})) == []


def test_digits_are_appended_and_steps_stay_within_bounds() -> None:
    _, limits = present()
    limit, changes = of(limits, "limits", BATCH), LimitChanges()
    assert (changes.type(limit, "7"), changes.type(limit, "5")) == ("", "")
    assert changes.values == {limit.knob: 75}
    assert changes.type(limit, "0") == "PARALLEL_SERVER_LIMIT is from 1 to 100."
    assert changes.values == {limit.knob: 75}, "the present value stays"
    assert (changes.type(limit, "5"), changes.type(limit, "0")) == ("", "")
    assert changes.values == {}, "50 is in force"
    for _ in range(30):
        changes.step(limit, 1)
    assert changes.choice == {Change("limits", BATCH, 100)}
    assert changes.type(limit, "9") == "", "after a step a number begins anew"
    assert changes.values == {limit.knob: 9}
    changes.step(limit, 0)
    assert changes.choice == frozenset()
    changes.step(of(limits, "degree", BATCH), -1)
    assert changes.choice == {Change("degree", BATCH, 1)}


def test_a_target_above_the_servers_is_refused_with_the_reason() -> None:
    _, limits = present()
    refused = "PARALLEL_SERVERS_TARGET is from 1 to 96 (PARALLEL_MAX_SERVERS)."
    assert [of(limits, "target", None).refusal(value) for value in (96, 97)] == ["", refused]
    unknown = replace(limits, load=replace(limits.load, plan=replace(limits.load.plan, maximum=None)))
    assert of(unknown, "target", None).refusal(1000) == "PARALLEL_SERVERS_TARGET is from 1 to 640."


def head(cause: Cause, *shortages: Shortage) -> QueueHead:
    return QueueHead("BATCH", queued(1), cause, Servers(32, 32), 16, 32, 60, 64, 8, "waits", shortages=shortages)


@pytest.mark.parametrize(
    ("first", "knob"),
    [
        (head(Cause.GROUP, Shortage(8, group="BATCH")), ("limits", BATCH)),
        (head(Cause.SYSTEM, Shortage(8, everybody=True)), TARGET),
        (head(Cause.NOT_CHOSEN), ("shares", BATCH)),
        (head(Cause.NEVER_FITS), ("limits", BATCH)),
    ],
)
def test_the_selected_limit_is_the_one_the_head_waits_for(first: QueueHead, knob: object) -> None:
    reading = replace(busy(), heads=(first,))
    assert of_group(BATCH, reading) == knob
    alone = replace(first, wants=Servers(80, 80), allowed=None)
    if first.cause is Cause.NEVER_FITS:
        assert of_group(BATCH, replace(reading, heads=(alone,))) == TARGET


def test_a_cpu_alert_selects_its_group_and_that_of_do_comes_first() -> None:
    from presman.analysis.alerts.alert_rules import worst_first, wrong

    reading, _ = present("throttled")
    alerts = worst_first(wrong(reading))
    for subject in ("", *{alert.subject for alert in alerts if alert.key.startswith("cpu_")}):
        group, knob = of_alerts(alerts, reading, subject)
        assert group is not None
        assert knob[0] in {"shares", "cpu"}
        assert subject in {"", group.name}
    assert of_alerts((), reading, "") == (None, TARGET)


# ---- What advice is on.


def test_statements_seen_by_a_screen_are_those_of_an_hour() -> None:
    reading = replace(busy(), at=AT)

    def run(sid: int, minutes: float, ended: float | None) -> StatementRun:
        began = AT - timedelta(minutes=minutes)
        end = None if ended is None else AT - timedelta(minutes=ended)
        return StatementRun(1, sid, 1, f"{sid}", 0, "BATCH", "U", 8, began, began + timedelta(seconds=30), ended=end,
                            first_seen=began)  # fmt: skip

    runs = StatementRuns()
    runs.begin(AT, [run(1, 90, 70), run(2, 70, 50), run(3, 40, 30), run(4, 5, None)])
    plan = ObservedPlan(
        {BATCH: directive("BATCH", 1, 50)._replace(parallel_queue_timeout=600, pq_timeout_action="RUN")}
    )
    found = observed_arrivals(runs, reading, plan)
    assert [round((AT - each.at).total_seconds() / 60) for each in found] == [70, 40, 5]
    assert min(each.first for each in found) == AT - timedelta(hours=1), "the first one came before and does not count"
    assert ObservedLoad.of(found, plan, [Goal("BATCH", 0.9, 60.0)], 1).skipped == 1
    assert {(each.timeout, each.action) for each in found} == {(600, "RUN")}
    few = StatementRuns(kept=1)
    few.begin(AT, [run(2, 70, 50), run(3, 40, 30)])
    assert [each.first for each in observed_arrivals(few, reading, plan)] == [AT - timedelta(minutes=30)]


def test_goals_are_those_of_the_group_or_all_or_a_default() -> None:
    own, other, unseen = Goal("BATCH", 0.95, 30.0), Goal("ETL", 0.5, 10.0), Goal("X", 0.5, 10.0)
    assert goals_of("BATCH", [own, other, unseen], {"BATCH", "ETL"}) == (own,)
    assert goals_of("REPORTS", [own, other, unseen], {"BATCH", "ETL"}) == (own, other)
    assert str(goals_of("REPORTS", [unseen], {"REPORTS"})[0]) == "90 % of REPORTS start within 1 min"


def test_a_script_names_the_container_and_a_limit_of_cpu() -> None:
    inside = Group(3, "BATCH")
    load = replace(Knowing().load, plan=ObservedPlan({inside: directive("BATCH", 1, 50)}))
    script, _ = written(load, frozenset({Change("cpu", inside, 40)}))
    assert script is not None
    assert "new_utilization_limit => 40" in script.change
    assert "new_utilization_limit => -1" in script.undo
    assert "-- Its directives are those of the container with CON_ID 3: run it there" in script.change
    none, why = written(replace(load, plan=ObservedPlan(autonomous=True)), frozenset({Change("target", None, 9)}))
    assert none is None
    assert "CS_RESOURCE_MANAGER" in why[0]


def test_every_start_of_a_real_queue_is_within_the_horizon() -> None:
    found = came("storm", 25)
    assert found.forecast_basis is not None
    limits = PresentLimits.of(found.reading, found.previous, found.snapshot, RowCache())
    courses = QueueCourses(found.forecast_basis)
    same = courses.compare(found.reading, limits.load, frozenset())
    assert {each.row.executing() for each in same} == {row.executing() for row in found.reading.queue}
    for each in same:
        shown = each.row.starts
        assert shown is not None
        assert shown.median is None or each.then.median == pytest.approx(shown.median)
    choice: Choice = frozenset({Change("target", None, 2 * limits.load.rules.target), Change("limits", BATCH, 100)})
    then = courses.compare(found.reading, limits.load, choice)
    known = [each for each in then if each.then.median is not None]
    assert known
    assert all(
        0 <= (each.then.low or 0) <= (each.then.median or 0) <= (each.then.high or 0) <= HORIZON for each in known
    )
    assert sum(each.sooner for each in known) > 10 * sum(each.later for each in known)
