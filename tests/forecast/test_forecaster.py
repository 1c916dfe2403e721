"""The forecaster: what it learns from readings, its forecasts, and that they are judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from presman.analysis.parallel.server_pools import ServerLimit
from presman.analysis.readings.forecast_readings import ForecastRecord
from presman.analysis.readings.reading import Reading, UnavailableView
from presman.analysis.readings.statement_readings import (
    QueuedStatement,
    RunningStatement,
    Servers,
    StartForecast,
    WantsSource,
)
from presman.analysis.trends.statement_runs import StatementRun
from presman.forecast import forecaster
from presman.forecast.course import play
from presman.forecast.forecaster import COURSES, ENOUGH, FRESH, MOST_STEPS, PENDING, Forecaster, queue_of
from presman.forecast.queue_now import QueueRules
from tests.tui.readings import AT, busy, queued, running

RULES = QueueRules(
    target=64, in_use=None, one_queue=True, plan=None, limits={}, unknown_limits={}, confined=frozenset(),
    bypassing=frozenset(),
)  # fmt: skip


def reading(seconds: float, queue: Iterable[QueuedStatement] = (), held: Iterable[RunningStatement] = ()) -> Reading:
    quiet = replace(busy(), groups=(), heads=())
    header = replace(quiet.header, servers=replace(quiet.header.servers, counted=None))
    return replace(quiet, at=AT + timedelta(seconds=seconds), header=header, queue=tuple(queue), running=tuple(held))


def statement(sid: int, since: float, now: float, servers: int = 32) -> RunningStatement:
    return running(sid, elapsed=now - since, servers=servers, sql_id="9md3ukh000j58")


def watched(*, ends: int = 5, forecaster: Forecaster | None = None) -> Forecaster:
    """One that has seen so many statements run for 60 seconds, one after the other, and another one begin."""
    found = forecaster or Forecaster()
    for second in range(0, 60 * ends + 5, 5):
        number = second // 60
        found.add(reading(second, held=(statement(600 + number, 60 * number, second),)), lambda: RULES)
    return found


def waiting(now: float, *, sid: int = 501, since: float = 300.0, **facts: object) -> QueuedStatement:
    return queued(
        sid=sid, waited=now - since, timeout_left=None, timeout_action="", wants=Servers(64, 64, WantsSource.PLAN),
        sql_id="9md3ukh000j58", **facts,
    )  # fmt: skip


def forecast_of(
    forecaster: Forecaster, now: float, *queue: QueuedStatement, rules: QueueRules = RULES, servers: int = 32
) -> StartForecast:
    found = forecaster.add(reading(now, queue, (statement(605, 300.0, now, servers),)), lambda: rules)
    assert found.queue[0].starts is not None
    return found.queue[0].starts


def test_it_starts_when_what_runs_should_end() -> None:
    starts = forecast_of(watched(), 310.0, waiting(310.0))
    # Statements run for 57.5 seconds as polls see it; of eleven such two end before and one after the five.
    assert None not in (starts.median, starts.low, starts.high)
    assert starts.median == pytest.approx(47.5, abs=0.1)
    assert starts.high is not None
    assert starts.high > 60.0
    assert not starts.why_none


def test_fewer_than_five_ends_give_no_forecast_but_a_reason() -> None:
    starts = forecast_of(watched(ends=3), 190.0, waiting(190.0))
    assert starts == StartForecast(why_none="a forecast needs 5 statements that have ended, and presman has seen 4")


def test_the_rules_are_asked_for_only_where_enough_have_ended() -> None:
    asked: list[float] = []

    def rules(now: float) -> QueueRules:
        asked.append(now)
        return RULES

    for ends, now in ((3, 190.0), (5, 310.0)):
        held = statement(605, 300.0, now)
        watched(ends=ends).add(reading(now, (waiting(now),), (held,)), partial(rules, now))
    assert asked == [310.0]


@pytest.mark.parametrize(
    ("row", "rules", "why"),
    [
        (waiting(310.0), RULES._replace(target=None), "the target is not known"),
        (waiting(310.0), RULES._replace(one_queue=None), "in which order the queues are served is not known"),
        (waiting(310.0), RULES._replace(confined=frozenset({(1, 501)})), "on which instances its servers may run"),
        (
            waiting(310.0, con_id=3),
            RULES._replace(unknown_limits={queue_of(waiting(310.0, con_id=3)): "how many servers X may hold"}),
            "how many servers X may hold",
        ),
    ],
)
def test_no_forecast_of_what_the_model_does_not_know(row: QueuedStatement, rules: QueueRules, why: str) -> None:
    starts = forecast_of(watched(), 310.0, row, rules=rules)
    assert starts.median is None
    assert starts.why_none.startswith(why)


def test_no_forecast_for_a_statement_above_its_group_limit_and_those_behind() -> None:
    """It should start in 0:26, while its reason was that it is too large for its limit (never_fits)."""
    small = replace(waiting(310.0, sid=502, since=305.0), wants=Servers(16, 16, WantsSource.PLAN), position=2)
    reasons = {}
    for allowed in (63, 64):
        rules = RULES._replace(limits={(0, "BATCH"): (ServerLimit("BATCH", 32, allowed, "", 0, "BATCH"),)})
        held = (statement(605, 300.0, 310.0),)
        found = watched().add(reading(310.0, (waiting(310.0), small), held), lambda rules=rules: rules)
        reasons[allowed] = [each.starts.why_none for each in found.queue if each.starts is not None]
    more = "wants more than its limit allows, and it is not known whether such a statement ever starts"
    assert reasons == {63: [f"it {more}", f"a statement ahead of it {more}"], 64: ["", ""]}


def test_no_forecast_without_the_servers_it_wants() -> None:
    for wants in (None, Servers(16, 16, WantsSource.MEAN)):
        starts = forecast_of(watched(), 310.0, replace(waiting(310.0), wants=wants))
        assert starts.why_none == "how many servers it wants is not known"


def test_its_timeout_may_come_before() -> None:
    row = replace(waiting(310.0), timeout_left=8.0, timeout_action="CANCEL")
    assert forecast_of(watched(), 310.0, row) == StartForecast(timeout=True)


def test_an_idle_holder_of_which_nothing_is_known_makes_it_uncertain() -> None:
    idle = running(700, idle=150.0, status="INACTIVE", elapsed=None, servers=64)
    found = watched().add(reading(310.0, (waiting(310.0),), (idle,)), lambda: RULES).queue[0].starts
    assert found is not None
    assert found.median is not None
    assert 100.0 < found.median < 300.0
    assert found.high is not None
    assert found.high > 300.0


def test_courses_in_which_a_statement_ends_are_forgotten_once_it_is_idle() -> None:
    """It went idle where its end was forecast, and the start that rests on it was promised for the next seconds."""
    forecaster, busy = watched(), running(700, elapsed=5.0, servers=64)
    idle = running(700, idle=1.0, status="INACTIVE", elapsed=None, servers=64)
    before, after = (
        forecaster.add(reading(now, (waiting(now),), (held,)), lambda: RULES).queue[0].starts
        for now, held in ((310.0, busy), (312.0, idle))
    )
    assert before is not None
    assert after is not None
    assert before.median is not None
    assert after.median is not None
    assert before.median < 60.0 < after.median, "when its user goes on is not known"


def test_servers_without_a_visible_holder_stay_in_use() -> None:
    starts = forecast_of(watched(), 310.0, waiting(310.0), rules=RULES._replace(in_use=40))
    assert starts.why_none == "it does not start within 4 hours in most courses"


def test_a_groups_servers_without_a_visible_holder_stay_its_own() -> None:
    limit = ServerLimit("BATCH", 40, 64, "", 0, "BATCH")
    starts = forecast_of(watched(), 310.0, waiting(310.0), rules=RULES._replace(limits={(0, "BATCH"): (limit,)}))
    assert starts.median is None


def test_a_forecast_is_judged_when_its_statement_starts() -> None:
    forecaster = watched()
    first = forecast_of(forecaster, 310.0, waiting(310.0))
    assert first.median is not None
    for second in range(315, 355, 5):
        forecast_of(forecaster, second, waiting(second))
    started = running(501, elapsed=2.0, serial=7, sql_id="9md3ukh000j58")
    found = forecaster.add(reading(355.0, held=(started,)), lambda: RULES)
    assert found.forecast is not None
    # It started at 353 s, 43 seconds after the first forecast; later ones are not judged.
    assert found.forecast.record == ForecastRecord(1, 1, pytest.approx(abs(first.median - 43.0)))
    assert found.forecast.judged_since == AT, "since it reads"


def test_ranges_are_as_wide_as_all_waiting_statements_need() -> None:
    forecaster = watched()
    five = [waiting(310.0, sid=sid, since=300.0 + sid / 100) for sid in range(501, 506)]
    forecaster.add(reading(310.0, five, (statement(605, 300.0, 310.0),)), lambda: RULES)
    forecaster.add(reading(315.0, five, (statement(605, 300.0, 315.0),)), lambda: RULES)
    started = [running(sid, elapsed=30.0, serial=7, sql_id="9md3ukh000j58") for sid in range(501, 506)]
    forecaster.add(reading(350.0, held=started), lambda: RULES)  # at 320: long before that was foreseen of most
    first = forecast_of(forecaster, 370.0, waiting(370.0, sid=510, since=360.0))
    assert forecaster._queue_calibration.factor is not None, "five outcomes are known"
    forecaster._queue_calibration.factor = 2 * forecaster._calibration.factor
    later = forecast_of(forecaster, 371.0, waiting(371.0, sid=510, since=360.0))
    assert forecaster.forecast_basis is not None
    assert forecaster.forecast_basis.factor == forecaster._queue_calibration.factor
    above = [(each.high or 0.0) - (each.median or 0.0) for each in (first, later)]
    assert above[1] > 1.5 * above[0]


def test_a_statement_that_leaves_without_starting_is_not_judged() -> None:
    forecaster = watched()
    forecast_of(forecaster, 310.0, waiting(310.0))
    quiet = reading(315.0)
    assert forecaster.add(quiet, lambda: RULES) is quiet


def test_the_same_readings_make_the_same_forecasts_and_another_seed_others() -> None:
    idle = running(700, idle=100.0, status="INACTIVE", elapsed=None, servers=64)
    now = reading(310.0, (waiting(310.0),), (idle,))
    one, same, other = (watched(forecaster=Forecaster(seed)).add(now, lambda: RULES).queue for seed in (1, 1, 2))
    assert one == same != other


def test_a_head_has_the_forecast_of_its_statement() -> None:
    forecaster = watched()
    plain = busy()
    found = forecaster.add(
        replace(plain, at=AT + timedelta(seconds=310), running=(statement(605, 300.0, 310.0),)), lambda: RULES
    )
    assert [head.statement.starts for head in found.heads] == [row.starts for row in found.queue if row.position == 1]


def test_a_long_queue_is_played_as_far_as_steps_allow() -> None:
    forecaster = watched()
    crowd: Sequence[QueuedStatement] = [waiting(310.0, sid=1000 + number, since=-60.0) for number in range(300)]
    courses = 0
    for second in (310.0, 312.0, 314.0):
        found = forecaster.add(reading(second, crowd, (statement(605, 300.0, second),)), lambda: RULES)
        assert found.forecast is not None
        courses = found.forecast.courses
    # 300 that wait and as many ends in a course; 9,000 steps at first and 600 more in each two seconds.
    assert 10 <= courses <= (MOST_STEPS + 2 * 600) / 600


def flooded() -> Forecaster:
    """One that has seen 1,000 statements come and go in five minutes, until 305 s: a course is cut short."""
    forecaster = Forecaster()
    came = (AT + timedelta(seconds=0.3 * number) for number in range(1000))
    runs = [
        StatementRun(1, number, 7, "9md3ukh000j58", 0, "BATCH", "RPT", 32, started=at,
                     ended=at + timedelta(seconds=0.2), first_seen=at)
        for number, at in enumerate(came, 1000)
    ]  # fmt: skip
    forecaster.begin(AT + timedelta(seconds=305), timedelta(seconds=305), runs)
    return forecaster


@pytest.mark.parametrize(("left", "is_timeout"), [(None, False), (300.0, True), (36_000.0, False)])
def test_an_overloaded_queue_shows_for_how_long_none_starts(left: float | None, is_timeout: bool) -> None:
    """A course ends after 4,000 arrivals, some twenty minutes: time not simulated is not a wait of four hours."""
    forecaster, full = flooded(), RULES._replace(in_use=64)
    for second in range(310, 410, 5):
        action = "" if left is None else "CANCEL"
        row = replace(waiting(second), timeout_left=left and left - second + 310, timeout_action=action)
        found = forecaster.add(reading(second, (row,)), lambda: full)
    (starts,) = (row.starts or StartForecast() for row in found.queue)
    assert starts.median is None
    assert starts.timeout == is_timeout
    assert starts.why_none == "" if is_timeout else starts.why_none.startswith("it does not start within ")
    assert "4 hours" not in starts.why_none
    assert " s in" not in starts.why_none, "in whole minutes, so that it stands still"


def test_few_courses_are_simulated_again_until_a_statement_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[object] = []
    monkeypatch.setattr(forecaster, "play", lambda now, drawn: (played.append(drawn), play(now, drawn))[1])
    found = watched()
    numbers = []
    for now, sids in ((310.0, (501,)), (312.0, (501,)), (314.0, (501,)), (316.0, (501, 502)), (318.0, (502,))):
        played.clear()
        forecast_of(found, now, *(waiting(now, sid=sid) for sid in sids))
        numbers.append(len(played))
    assert numbers == [COURSES, FRESH, FRESH, COURSES, FRESH]


def test_the_last_few_courses_are_kept_until_they_are_old() -> None:
    """If a course takes 4,000 steps, five are simulated in a minute, and six are needed."""
    forecaster, full = flooded(), RULES._replace(in_use=64)
    counts = []
    for second in range(310, 510, 5):
        found = forecaster.add(reading(second, (waiting(second),)), lambda: full)
        counts.append(found.forecast.courses if found.forecast else 0)
    assert min(counts[20:]) >= ENOUGH


def test_a_forecast_that_takes_more_than_five_minutes_says_so() -> None:
    forecaster, few = watched(), [40.0] * (ENOUGH - 1)
    forecast_of(forecaster, 310.0, waiting(310.0))

    def forecast_at(second: float) -> StartForecast:
        at, before = AT + timedelta(seconds=second), StartForecast(0.0, 0.0, 0.0)
        return forecaster._start(waiting(310.0), few, before, RULES, at)

    assert forecast_at(310.0) == forecast_at(600.0) == PENDING
    assert forecast_at(610.0).why_none == "the queue is so long that the calculation takes more than 5 minutes"
    few.append(few[0])
    assert forecast_at(615.0).median == 40.0
    few.pop()
    assert forecast_at(620.0) == PENDING, "it begins anew"


def test_statements_first_seen_at_their_end_do_not_count() -> None:
    """They do not count for the five needed: how long they last is not known."""
    forecaster, start = Forecaster(), AT + timedelta(seconds=60)
    runs = [
        StatementRun(1, sid, 7, "9md3ukh000j58", 0, "BATCH", "RPT", 32, started=start, ended=start, first_seen=start)
        for sid in range(9)
    ]  # fmt: skip
    forecaster.begin(AT + timedelta(seconds=305), timedelta(seconds=305), runs)
    assert forecast_of(forecaster, 310.0, waiting(310.0)).why_none.endswith("has seen 0")


def test_earlier_observations_can_be_given() -> None:
    forecaster = Forecaster()
    runs = [
        StatementRun(1, sid, 7, "9md3ukh000j58", 0, "BATCH", "RPT", 32, started=AT + timedelta(seconds=60 * sid),
                     ended=AT + timedelta(seconds=60 * sid + 60), first_seen=AT + timedelta(seconds=60 * sid))
        for sid in range(5)
    ]  # fmt: skip
    forecaster.begin(AT + timedelta(seconds=305), timedelta(seconds=305), runs)
    assert forecast_of(forecaster, 310.0, waiting(310.0)).median is not None


def test_an_earlier_reading_begins_anew() -> None:
    forecaster = watched()
    starts = forecast_of(forecaster, 100.0, waiting(100.0))
    assert starts.why_none.endswith("has seen 0")


def test_an_overdue_start_has_no_forecast_and_counts_as_missed() -> None:
    forecaster = watched()
    first = forecast_of(forecaster, 310.0, waiting(310.0))
    assert first.high is not None
    second = 310.0
    while (now := forecast_of(forecaster, second, waiting(second))).median is not None:
        second += 5.0
    assert first.high < second - 310.0 < first.high + 60.0
    assert now.why_none.startswith("it should have started by ")
    assert now.why_none.endswith(" and has not")
    later = forecaster.add(reading(second + 5.0, (waiting(second + 5.0),)), lambda: RULES)
    assert later.forecast is not None
    assert (later.forecast.record.judged, later.forecast.record.held) == (1, 0)
    assert later.queue[0].starts == now


@pytest.mark.parametrize(
    ("group", "one_queue", "behind"), [("BATCH", False, True), ("ETL", True, True), ("ETL", False, False)]
)
def test_a_statement_behind_an_overdue_one_has_no_range(group: str, one_queue: bool, behind: bool) -> None:
    """Later starts depend on the start that did not come."""
    forecaster, rules = watched(), RULES._replace(one_queue=one_queue)
    second, first = 310.0, StartForecast(0.0)
    while first.median is not None:
        late = waiting(second, sid=502, since=305.0, position=2 - (group == "ETL"), group=group)
        found = forecaster.add(
            reading(second, (waiting(second), late), (statement(605, 300.0, second),)), lambda: rules
        )
        first, then = (row.starts or StartForecast() for row in found.queue)
        if first.median is not None:
            assert then.median is not None
        second += 5.0
    assert then.why_none == ("a statement ahead of it should have started by now and has not" if behind else "")


@pytest.mark.parametrize("view", ["GV$SESSION", "V$PX_SESSION", "GV$RSRC_PLAN", "DBA_RSRC_PLAN_DIRECTIVES"])
def test_no_forecast_while_one_of_its_views_is_silent(view: str) -> None:
    forecaster = watched()
    forecast_of(forecaster, 310.0, waiting(310.0))
    lost = replace(reading(315.0, (waiting(315.0),)), unseen=(UnavailableView(view, f"{view}: ORA-00942"),))
    found = forecaster.add(lost, lambda: RULES)
    assert found.queue[0].starts == StartForecast(why_none=f"{view}: ORA-00942")
    assert found.forecast is not None
    assert found.forecast.record == ForecastRecord()
    assert forecast_of(forecaster, 320.0, waiting(320.0)).median is not None


def test_a_start_that_came_too_late_counts_by_when_it_came() -> None:
    forecaster = watched()
    first = forecast_of(forecaster, 310.0, waiting(310.0))
    assert first.median is not None
    for second in range(315, 600, 5):
        forecast_of(forecaster, second, waiting(second))
    started = running(501, elapsed=2.0, serial=7, sql_id="9md3ukh000j58")
    found = forecaster.add(reading(600.0, held=(started,)), lambda: RULES)
    assert found.forecast is not None
    # Missed once, by the 288 seconds from 310 to 598, not by how long it had waited when it was late.
    assert found.forecast.record == ForecastRecord(1, 0, pytest.approx(288.0 - first.median))


def test_the_same_statement_queued_again_is_not_judged_by_the_earlier_wait() -> None:
    forecaster = watched()
    second = 310.0
    while forecast_of(forecaster, second, waiting(second)).median is not None:
        second += 5.0
    missed = forecaster.add(reading(second, (waiting(second),)), lambda: RULES).forecast
    assert missed is not None
    again = forecast_of(forecaster, second + 10.0, waiting(second + 10.0, since=second + 7.0))
    assert again.median is not None, "the forecast of the earlier wait does not apply to this one"
    later = forecast_of(forecaster, second + 15.0, waiting(second + 15.0, since=second + 7.0))
    assert later.median is not None


def test_a_range_ends_at_the_timeout() -> None:
    row = replace(waiting(310.0), timeout_left=60.0, timeout_action="CANCEL")
    starts = forecast_of(watched(), 310.0, row)
    # 47.5, and half as much again as the 12.5 to the timeout were 66.
    assert starts.high == 60.0


def test_those_that_came_together_have_one_forecast() -> None:
    """Their order is drawn for each course: their medians differed only by that, in any order."""
    rows = [waiting(310.0, sid=501 + n, position=n + 1) for n in range(4)]
    found = watched().add(reading(310.0, rows, (statement(605, 300.0, 310.0),)), lambda: RULES).queue
    assert len({(row.starts.median, row.starts.low, row.starts.high) for row in found if row.starts}) == 1


def test_no_statement_starts_before_earlier_ones_of_its_queue() -> None:
    forecaster = watched()
    forecast_of(forecaster, 310.0, waiting(310.0))
    early, late = (waiting(310.0, sid=sid, since=since) for sid, since in ((501, 300.0), (502, 305.0)))
    after = StartForecast(500.0, 400.0, 600.0)
    second = forecaster._start(late, [40.0] * 40, after, RULES, AT + timedelta(seconds=310))
    assert (second.median, second.low, second.high) == (500.0, 400.0, 600.0)
    first = forecaster._start(early, [40.0] * 40, StartForecast(0.0, 0.0, 0.0), RULES, AT + timedelta(seconds=310))
    assert first.median == 40.0
