"""Events: what changed between two polls, found by one function for screens, recordings and words."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.plans.plan_changes import SettingWatch
from presman.analysis.plans.plan_view import NOT_KNOWN, plan_name
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Alert
from presman.analysis.trends.database_events import (
    ALERT_BETTER,
    ALERT_ENDED,
    DIRECTIVE_CHANGED,
    DOWNGRADE,
    INSTANCE_CHANGED,
    KEPT,
    LOST,
    PARAMETER_CHANGED,
    PLAN_CHANGED,
    QUEUE_BEGAN,
    QUEUE_ENDED,
    VERDICT_CHANGED,
    DatabaseEvent,
    EventHistory,
    EventWatch,
    before_first,
    next_event,
)
from presman.rows.group_rows import CdbPlanDirective, ContainerPlanDirective, PlanDirective, RsrcPlanHistory
from presman.rows.instance_rows import Parameter, Pdb
from presman.rows.snapshot import Problem, Section, Snapshot
from tests.analysis.make import NOON, active_plan, instance, row, snapshot
from tests.output import readings
from tests.recording.recorded import polled
from tests.tui.test_live import START, Play

RESTARTED = START.astimezone() + timedelta(seconds=390)


def watched(*snapshots: Snapshot) -> list[str]:
    """Return the texts of the events of some polls, those of alerts left aside."""
    watch, before, found = EventWatch(), None, []
    for each in snapshots:
        found += [event.text for event in watch.add(analyse(before, each), each) if "alert" not in event.kind]
        before = each
    return found


def parameter(value: str, inst_id: int = 1, name: str = "parallel_servers_target", con_id: int = 0) -> Parameter:
    return row(Parameter, inst_id=inst_id, name=name, value=value, con_id=con_id)


def changed(*polls: tuple[object, ...]) -> list[str]:
    """Return the changes at the last of some polls with different settings."""
    watch, changes = SettingWatch(), []
    for number, rows in enumerate(polls):
        found = watch.add(snapshot(*rows, after=60.0 * number))
        changes = [*found.parameters, *(each.text for each in found.directives)]
    return changes


def test_a_changed_parameter_has_both_values() -> None:
    assert changed((parameter("96"),), (parameter("48"),)) == ["PARALLEL_SERVERS_TARGET 96 → 48"]
    assert changed((parameter("96"),), (parameter("96"),)) == []
    assert changed((parameter("", name="max_iops"),), (parameter("8", name="max_iops"),)) == ["MAX_IOPS not set → 8"]


def test_a_parameter_that_changed_on_some_instances_names_them() -> None:
    both = (parameter("96", 1), parameter("96", 2))
    target = "PARALLEL_SERVERS_TARGET 96 → 48"
    text = f"{target} on each of 2 instances, in total 192 → 96"
    assert changed(both, (parameter("48", 1), parameter("48", 2))) == [text]
    assert changed(both, (parameter("96", 1), parameter("48", 2))) == [f"{target} on instance 2, in total 192 → 144"]
    idle = [(parameter(each, 1, "max_idle_time"), parameter(each, 2, "max_idle_time")) for each in ("60", "5")]
    assert changed(*idle) == ["MAX_IDLE_TIME 60 → 5 on each of 2 instances"], "minutes of two instances make no sum"
    sales = row(Pdb, con_id=3, name="SALES")
    assert changed((parameter("9"), sales), (parameter("9"), parameter("4", con_id=3), sales)) == [
        "PARALLEL_SERVERS_TARGET not set → 4 in SALES"
    ]


def test_only_an_instance_that_returns_with_another_value_changed_a_parameter() -> None:
    both, one = (parameter("96", 1), parameter("96", 2)), (parameter("96", 1),)
    assert changed(both, one) == []
    assert changed(one, both) == []
    assert changed(both, one, both) == []
    assert changed(both, one, (*one, parameter("48", 2))) == [
        "PARALLEL_SERVERS_TARGET 96 → 48 on instance 2, in total 192 → 144"
    ]


def test_a_silent_view_changed_nothing_and_the_plan_has_its_own_event() -> None:
    assert changed((parameter("96"),), ()) == []
    assert changed((parameter("96"),), (), (parameter("48"),)) == ["PARALLEL_SERVERS_TARGET 96 → 48"]
    assert (
        changed((parameter("A", name="resource_manager_plan"),), (parameter("B", name="resource_manager_plan"),)) == []
    )


def test_rows_that_were_not_read_again_are_not_looked_at_again() -> None:
    watch, first = SettingWatch(), snapshot(parameter("96"))
    watch.add(first)
    watch._parameters = {}  # all of it would look new
    assert watch.add(snapshot(after=2.0, sections=first.sections)).parameters == ()


def directive(group: str, plan: str = "DAY", **values: object) -> PlanDirective:
    return row(PlanDirective, plan=plan, group_or_subplan=group, **values)


def test_a_changed_directive_names_its_columns() -> None:
    before = directive("ETL", parallel_server_limit=75, mgmt_p1=20)
    now = directive("ETL", parallel_server_limit=50, mgmt_p1=30)
    assert changed((before,), (now,)) == ["DAY: ETL MGMT_P1 20 → 30, PARALLEL_SERVER_LIMIT 75 → 50"]
    assert changed((before,), (directive("ETL", mgmt_p1=20),)) == ["DAY: ETL PARALLEL_SERVER_LIMIT 75 → not set"]
    assert changed((before,), (directive("ETL", "DAY", status="PENDING", mgmt_p1=99), before)) == [], "not valid yet"


def test_directives_and_plans_come_and_go() -> None:
    etl, web, night = directive("ETL"), directive("WEB"), directive("ETL", "NIGHT")
    assert changed((etl,), (etl, web)) == ["DAY: directive of WEB added"]
    assert changed((etl, web), (etl,)) == ["DAY: directive of WEB dropped"]
    assert changed((etl,), (etl, night)) == ["plan NIGHT was created"]
    assert changed((etl, night), (etl,)) == ["plan NIGHT was dropped"]


def test_in_the_root_a_directive_is_one_event_with_its_container() -> None:
    def of(limit: int) -> tuple[object, ...]:
        own = row(ContainerPlanDirective, con_id=3, plan="P", group_or_subplan="WEB", utilization_limit=limit)
        cdb = row(CdbPlanDirective, plan="CDB", pluggable_database="SALES", utilization_limit=limit)
        return own, directive("WEB", "P", utilization_limit=limit), cdb

    assert changed(of(40), of(60)) == ["CDB: SALES UTILIZATION_LIMIT 40 → 60", "P: WEB UTILIZATION_LIMIT 40 → 60"]


def test_instances_that_go_come_and_are_restarted() -> None:
    old, new = NOON - timedelta(days=10), NOON + timedelta(seconds=8)
    both = (instance(1), instance(2, startup_time=old))
    later = (instance(1), instance(2, startup_time=new))
    started = f"{new.astimezone():%H:%M:%S}"
    assert watched(snapshot(*both), snapshot(instance(1), after=2), snapshot(*later, after=10)) == [
        "no view shows instance 2 (DB2)",
        f"instance 2 (DB2) was restarted (started {started})",
    ]
    assert watched(snapshot(*both), snapshot(*later, after=10)) == [
        f"instance 2 (DB2) was restarted (started {started})"
    ]
    assert watched(snapshot(instance(1)), snapshot(*later, after=10)) == [
        f"instance 2 (DB2) appeared (started {started})"
    ]
    again = watched(snapshot(*both), snapshot(instance(1), after=2), snapshot(*both, after=4))
    assert again[1] == f"instance 2 (DB2) is back, it never stopped (started {old.astimezone():%Y-%m-%d %H:%M:%S})"
    assert watched(snapshot(*both), snapshot(*both, after=2)) == []


def test_pluggable_databases_are_opened_and_closed() -> None:
    def pdbs(*modes: tuple[int, str], after: float = 0.0, instances: int = 1) -> Snapshot:
        rows = [row(Pdb, inst_id=number, con_id=3, name="SALES", open_mode=mode) for number, mode in modes]
        return snapshot(*(instance(number) for number in range(1, instances + 1)), *rows, after=after)

    opened, closed = pdbs((1, "READ WRITE")), pdbs((1, "MOUNTED"), after=2)
    assert watched(opened, closed, pdbs((1, "READ ONLY"), after=4)) == ["PDB SALES was closed", "PDB SALES was opened"]
    assert watched(opened, snapshot(instance(), after=2), pdbs((1, "READ ONLY"), after=4)) == [], "V$PDBS was silent"
    both, one = pdbs((1, "READ WRITE"), (2, "READ WRITE"), instances=2), ((1, "READ WRITE"), (2, "MOUNTED"))
    assert watched(both, pdbs(*one, after=2, instances=2)) == ["PDB SALES was closed on instance 2"]
    assert watched(both, pdbs((1, "READ WRITE"), after=2)) == ["no view shows instance 2 (DB2)"], (
        "with all that was there"
    )


def test_a_plan_that_a_window_switched_names_it() -> None:
    def switched(*rows: tuple[str, int, str]) -> list[RsrcPlanHistory]:
        return [
            row(
                RsrcPlanHistory, sequence=number, name=name, start_time=NOON + timedelta(seconds=at), window_name=window
            )
            for number, (name, at, window) in enumerate(rows, 1)
        ]

    before = snapshot(instance(), active_plan("DAY"), *switched(("DAY", -7200, "")))
    now = snapshot(instance(), active_plan("NIGHT"), *switched(("DAY", -7200, ""), ("NIGHT", 3, "MONDAY")), after=4)
    assert watched(before, now) == ["plan DAY → NIGHT (by MONDAY)"]


def test_the_name_for_no_plan_in_force_is_not_shown() -> None:
    """Without a plan V$RSRC_PLAN has INTERNAL_PLAN, and V$RSRC_PLAN_HISTORY no name."""

    def poll(plan: str, *names: str) -> Snapshot:
        rows = [
            row(RsrcPlanHistory, sequence=at, name=name, start_time=NOON + timedelta(minutes=at))
            for at, name in enumerate(names)
        ]
        return snapshot(instance(), active_plan(plan), *rows, after=60.0 * len(names))

    day, off, on = poll("DAY", "DAY"), poll("INTERNAL_PLAN", "DAY", ""), poll("DAY", "DAY", "", "DAY")
    assert watched(day, off, on) == ["plan DAY → none", "plan none → DAY"]
    assert watched(off, on) == ["plan none → DAY"]


def test_the_first_poll_reports_events_of_one_day_before() -> None:
    hours = {"WEEK": -30, "DAY": -20, "NIGHT": -2}
    rows = [
        row(RsrcPlanHistory, sequence=number, name=name, start_time=NOON + timedelta(hours=hour))
        for number, (name, hour) in enumerate(hours.items(), 1)
    ]
    two_hours = instance(2, startup_time=NOON - timedelta(hours=1))
    first = snapshot(instance(1), two_hours, active_plan("NIGHT"), *rows)
    found = list(before_first(analyse(None, first), first))
    assert [(each.at, each.kind, each.text) for each in found] == [
        (NOON - timedelta(hours=20), PLAN_CHANGED, "plan WEEK → DAY"),
        (NOON - timedelta(hours=2), PLAN_CHANGED, "plan DAY → NIGHT"),
        (NOON - timedelta(hours=1), INSTANCE_CHANGED, "instance 2 (DB2) was started"),
    ], "instance 1 was started ten days ago, and the plan before WEEK is not known"


def test_of_the_day_before_only_plan_changes_are_reported() -> None:
    """One is older than a day, one is of an hour to come, one is the same plan once more; a day ago to the second."""
    hours = (("A", -30.0), ("B", -24.1), ("C", -24.0), ("D", -9.0), ("D", -5.0), ("E", 0.0), ("F", 1.0))
    rows = [
        row(RsrcPlanHistory, sequence=number, name=name, start_time=NOON + timedelta(hours=hour))
        for number, (name, hour) in enumerate(hours, 1)
    ]
    first = snapshot(instance(1, startup_time=NOON - timedelta(hours=24)), active_plan("E"), *rows)
    found = [each.text for each in before_first(analyse(None, first), first)]
    assert found == ["plan B → C", "plan C → D", "plan D → E", "instance 1 (DB1) was started"]


ETL, WEB = (Alert("warn", "▲", f"{name} waits", name, "queue_waits", name) for name in ("ETL", "WEB"))
BAD = ETL._replace(state="bad")


def of_alerts(*polls: tuple[int, list[Alert]]) -> list[tuple[float, str]]:
    """Return (seconds, text) of the events of polls at so many seconds with these alerts; the first has no rates."""
    history, before = EventHistory(), None
    for after, alerts in polls:
        now = snapshot(instance(), after=after)
        history.add(replace(analyse(before, now), alerts=tuple(alerts)), now)
        before = now
    return [((each.at - NOON).total_seconds(), each.text) for each in history.events]


def test_an_alert_began_only_if_the_previous_reading_could_show_it() -> None:
    assert of_alerts((0, []), (2, [ETL]), (4, [ETL])) == [(2, "warning: ETL waits (since before presman began)")]
    assert of_alerts((0, []), (2, []), (4, [ETL]), (6, [ETL])) == [(4, "warning: ETL waits")]


AGAIN = ((0, []), (2, []), (4, [ETL]), (10, []), (38, [ETL]))
"""A queue that is there for 6 s and comes back after 28 s."""


def test_an_alert_ends_in_the_poll_without_it_and_its_event_stays() -> None:
    ended = [(4, "warning: ETL waits"), (10, "ended, seen for 0:06, last: ETL waits")]
    assert of_alerts(*AGAIN[:4]) == ended
    assert of_alerts(*AGAIN) == [*ended, (38, "warning: ETL waits")]


def test_an_alert_that_comes_and_goes_ends_once_it_has_been_away_for_a_minute() -> None:
    often = (*AGAIN, (40, []), (50, [ETL]))
    there = of_alerts(*often)
    ended = (40, "ended, seen for 0:02, last: ETL waits")
    assert there == [*of_alerts(*AGAIN), ended, (50, "warning: ETL waits")], "an alert that came back once ends at once"
    assert of_alerts(*often, (60, []), (70, [ETL]), (80, []), (139, [])) == there
    on_and_off = (80, "ended, seen on and off for 0:30, last: ETL waits")
    assert of_alerts(*often, (60, []), (70, [ETL]), (80, []), (140, [])) == [*there, on_and_off]
    once = (80, "ended, seen for 0:30, last: ETL waits")
    assert of_alerts(*often, (80, []), (140, [])) == [*there, once], "what was seen before has an end of its own"
    assert of_alerts(*often, (110, []))[-1] == (110, "ended, seen for 1:00, last: ETL waits"), "it was there for long"


def test_an_alert_that_grows_worse_or_better_is_an_event() -> None:
    course = (0, []), (2, []), (4, [ETL]), (6, [BAD]), (8, [ETL, WEB])
    assert of_alerts(*course) == [
        (4, "warning: ETL waits"),
        (6, "worse, critical: ETL waits"),
        (8, "better, warning: ETL waits"),
        (8, "warning: WEB waits"),
    ]
    again = (*course, (10, [BAD, WEB]), (12, [ETL, WEB]), (14, [BAD, WEB]), (16, [ETL, WEB]))
    worse, better = "worse, critical: ETL waits", "better, warning: ETL waits"
    assert of_alerts(*again, (75, [ETL, WEB]))[4:] == [(10, worse), (12, better), (14, worse)], "as it may be again"
    assert of_alerts(*again, (76, [ETL, WEB]))[7:] == [(16, better)]


def test_without_its_view_no_plan_changes_and_no_queue_ends() -> None:
    history, before = EventHistory(), None
    unseen = Section(problem=Problem("", "no answer", "GV$RSRC_PLAN", late=True))
    for number, (poll, _) in enumerate(polled("storm", 3)):
        now = replace(poll, sections=dict.fromkeys(poll.sections, unseen)) if number == 1 else poll
        reading = analyse(before, now)
        seen = (NOT_KNOWN, False) if number == 1 else ("STORM_PLAN", True)
        assert (plan_name(reading), bool(reading.queue)) == seen
        history.add(reading, now)
        before = now
    assert {PLAN_CHANGED, QUEUE_BEGAN, QUEUE_ENDED}.isdisjoint(each.kind for each in history.events)


def test_the_event_beside_an_instant() -> None:
    first, second, third = (DatabaseEvent(NOON + timedelta(seconds=at), "x", "", "", str(at)) for at in (10, 20, 20))
    events = [first, second, third]
    assert next_event(events, NOON, 1) is first
    assert next_event(events, first.at, 1) is second
    assert next_event(events, second.at, 1) is None
    assert next_event(events, second.at, -1) is first
    assert next_event(events, first.at, -1) is None
    assert next_event(events, second.at, -1, NOON + timedelta(seconds=11)) is None, "no poll of that time is kept"


def test_the_event_beside_an_instant_is_no_end() -> None:
    """Each end or change of state before the beginning of a queue took one more key."""
    begins = DatabaseEvent(NOON, QUEUE_BEGAN, "ETL", "", "ETL: 7k36sd695fszu waits")
    limit = DatabaseEvent(NOON + timedelta(seconds=10), VERDICT_CHANGED, "ETL", "", "ETL: not throttled → at its limit")
    ends = [
        DatabaseEvent(NOON + timedelta(seconds=at), kind, "ETL", "", text)
        for at, kind, text in (
            (20, ALERT_BETTER, "got better"),
            (30, ALERT_ENDED, "ended"),
            (40, VERDICT_CHANGED, "ETL: at its limit → not throttled"),
            (50, QUEUE_ENDED, "ETL: the queue is empty"),
        )
    ]
    events = [begins, limit, *ends]
    assert next_event(events, NOON + timedelta(seconds=60), -1) is limit
    assert next_event(events, limit.at, -1) is begins
    assert next_event(events, limit.at, 1) is None


@cache
def changes() -> list[DatabaseEvent]:
    """Return the events of the first seven minutes of the scenario with changes, a poll every ten seconds."""
    play, history, before = Play("changes"), EventHistory(), None
    for _ in range(42):
        play.now += 8.0  # to which a poll adds two
        now = play.poll()
        history.add(analyse(before, now), now)
        before = now
    return history.events


@pytest.mark.parametrize(
    ("kind", "at", "text"),
    [
        (PLAN_CHANGED, 60, "plan DAY_PLAN → NIGHT_PLAN (by NIGHT_WINDOW)"),
        (PARAMETER_CHANGED, 130, "PARALLEL_SERVERS_TARGET 96 → 48 on each of 2 instances, in total 192 → 96"),
        (DIRECTIVE_CHANGED, 210, "NIGHT_PLAN: REPORTS PARALLEL_SERVER_LIMIT 75 → 50"),
        (INSTANCE_CHANGED, 300, "no view shows instance 2 (CHGDB2)"),
        (INSTANCE_CHANGED, 390, f"instance 2 (CHGDB2) was restarted (started {RESTARTED:%H:%M:%S})"),
    ],
)  # fmt: skip
def test_each_alteration_of_the_scenario_is_found_once(kind: str, at: int, text: str) -> None:
    """The target is set 130 s after the start, when V$RSRC_PLAN shows it; the directive 200 s, in a queue."""
    assert [each.at - START for each in changes() if (each.kind, each.text) == (kind, text)] == [timedelta(seconds=at)]


def test_events_are_in_order_of_time_and_calm_verdicts_are_none() -> None:
    assert [each.at for each in changes()] == sorted(each.at for each in changes())
    calm = {"wants no CPU", "not throttled"}
    verdicts = [each.text.partition(": ")[2].split(" → ") for each in changes() if each.kind == VERDICT_CHANGED]
    assert all(not calm.issuperset(each) for each in verdicts)


def test_a_downgraded_statement_is_one_event_while_it_runs() -> None:
    """24 of 32 are a quarter less. A statement with its full or an unknown degree is no downgrade."""
    one = readings.running()
    whole, unknown = (
        replace(one, sid=one.sid + 1, degree=degree, requested=degree, downgraded=0.0) for degree in (32, None)
    )
    watch, texts = EventWatch(), []
    for number, there in enumerate(((one, whole, unknown), (one, whole), (whole,), (one,)), 1):
        found = watch.add(replace(readings.reading(number=number), running=there), snapshot())
        texts.append([event.text for event in found if event.kind == DOWNGRADE])
    text = "ETL 4dz3dapm4uy8q: DOP 24 of 32 (25 % lost)"
    assert texts == [[text], [], [], [text]]


@pytest.mark.parametrize(("polls", "numbers"), [(5, []), (6, [2])])
def test_a_verdict_of_six_polls_is_an_event_at_its_beginning(polls: int, numbers: list[int]) -> None:
    watch, found = EventWatch(), []
    for number in range(1, 10):
        verdict = Verdict.THROTTLED if 2 <= number < 2 + polls else Verdict.CONTENDED
        now = readings.reading([readings.group("ETL")._replace(verdict=verdict)], number=number)
        found += watch.add(now, snapshot())
    begun = [readings.reading(number=number).at for number in numbers]
    assert [each.at for each in found if each.kind == VERDICT_CHANGED] == begun


@pytest.mark.parametrize(
    ("verdict", "texts"),
    [
        (Verdict.NEAR_LIMIT, []),  # a group that works at its limit comes and goes between the two
        (Verdict.PARTLY, []),  # whether it gets its share is not known
        (Verdict.CONTENDED, ["ETL: at its limit → contended, entitlement met"]),
    ],
)
def test_what_is_unchanged_or_not_known_is_no_event(verdict: Verdict, texts: list[str]) -> None:
    watch, found = EventWatch(), []
    for number, each in enumerate([Verdict.CAPPED] * 2 + [verdict] * 8, 1):
        now = readings.reading([readings.group("ETL")._replace(verdict=each)], number=number)
        found += watch.add(now, snapshot())
    assert [each.text for each in found if each.kind == VERDICT_CHANGED] == texts


def test_a_history_has_when_the_connection_was_lost_in_its_place() -> None:
    history = EventHistory()
    history._keep(DatabaseEvent(NOON + timedelta(seconds=number), "x", "", "", "") for number in (0, 2))
    history.lose(NOON + timedelta(seconds=1), "ORA-03113")
    assert [(each.kind, each.text) for each in history.events] == [("x", ""), (LOST, "ORA-03113"), ("x", "")]


def test_what_was_before_the_first_poll_is_reported_once() -> None:
    """An instance was started an hour before."""
    history = EventHistory()
    for number in range(3):
        now = snapshot(instance(startup_time=NOON - timedelta(hours=1)), active_plan(), after=2.0 * number)
        history.add(analyse(None, now), now)
    assert [(each.at, each.text) for each in history.events] == [
        (NOON - timedelta(hours=1), "instance 1 (DB1) was started")
    ]


def test_a_history_has_the_alerts_that_were_there_when_it_began_once() -> None:
    """The first poll has no rates, so half of the rules have alerts only from the second on."""
    web = WEB._replace(state="bad")
    assert of_alerts((0, [ETL]), (2, [ETL, web]), (4, [ETL, web])) == [
        (0, "warning: ETL waits (since before presman began)"),
        (2, "critical: WEB waits (since before presman began)"),
    ]


def test_a_history_is_bounded() -> None:
    history = EventHistory()
    history._keep(DatabaseEvent(NOON + timedelta(seconds=number), "x", "", "", "") for number in range(KEPT + 5))
    assert len(history.events) == KEPT
    assert history.events[0].at == NOON + timedelta(seconds=5)
