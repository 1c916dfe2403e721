"""Rules of CPU, quiescing, session pools and plans: when they fire, for which group, how severe; by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_rules import (
    cpu_without_plan,
    groups_held_off,
    host_shared,
    is_wrong,
    plan_switched,
    quiesced,
    session_pools,
    worst_first,
)
from presman.analysis.alerts.queue_alerts import IDLE
from presman.analysis.readings.group_readings import (
    ActiveSessionPool,
    GroupReading,
    GroupTotals,
    Verdict,
)
from presman.analysis.readings.reading import Alert, Quiesce, Reading, SwitchedPlan, UnavailableView
from presman.output.alert_list import listed
from tests.analysis.make import counters
from tests.output.readings import group, reading

COUNTED = counters()


def using(cpus: float, inst_id: int = 0, **values: Any) -> GroupReading:
    return group("BATCH", inst_id, cpus)._replace(**({"counters": COUNTED} | values))


def on(found: Reading, **values: Any) -> Reading:
    """Return a reading with each instance so."""
    instances = tuple(replace(each, **values) for each in found.header.instances)
    return replace(found, header=replace(found.header, instances=instances))


@pytest.mark.parametrize(
    ("cpus", "values", "speaks"),
    [
        (15.2, {"cpu_managed": "OFF"}, True),
        (15.1, {"cpu_managed": "OFF"}, False),
        (15.2, {"cpu_managed": "ON"}, False),
        (15.2, {"cpu_managed": "", "plan": ""}, True),
        (15.2, {"cpu_managed": "", "plan": "DAY"}, False),
        (15.2, {"cpu_managed": "OFF", "num_cpus": 0.0}, False),
        (1.0, {"cpu_managed": "OFF", "num_cpus": 0.5}, True),
    ],
)
def test_cpu_without_a_plan_is_an_alert_from_95_percent_of_the_cpus(cpus: float, values: Any, speaks: bool) -> None:
    found = cpu_without_plan(on(reading([using(cpus)]), **values))
    assert [alert.subject for alert in found] == [""] * speaks


def test_whether_a_plan_divides_the_cpus_is_not_known_where_its_view_does_not_answer() -> None:
    found = on(reading([using(16.0)]), cpu_managed="", plan="")
    unseen = replace(found, unseen=(UnavailableView("GV$RSRC_PLAN", "GV$RSRC_PLAN: no answer in time"),))
    assert cpu_without_plan(found)
    assert cpu_without_plan(unseen) == []
    states = {line.split()[1]: line.split()[0] for line in listed((), unseen, ()).splitlines() if line[:1].islower()}
    assert states["cpu_without_plan"] == "unknown"


def test_cpu_without_a_plan_is_an_alert_for_each_instance() -> None:
    groups = [using(16.0, 1), using(15.0, 2), using(1.0, 2, name="ETL"), using(31.0)]
    first, second = cpu_without_plan(on(reading(groups, instances=2), cpu_managed="OFF"))
    assert (first.subject, second.subject) == ("1", "2")
    assert second.text == (
        "CPU: 16.0 of 16.0 CPUs used on instance 2, no plan divides them: sessions that ask for most get most"
    )
    (alone,) = cpu_without_plan(on(reading([using(16.0)]), cpu_managed="OFF"))
    assert alone.short == "16.0 of 16.0 CPUs used, no plan divides them"


def test_containers_without_a_plan_that_use_their_entitlement_are_a_note() -> None:
    gold = using(3.1, name="OTHER_GROUPS")._replace(
        con_id=3, container="GOLD", in_plan=True, entitled=3.2, waiting=5.6, verdict=Verdict.CONTENDED
    )
    bronze = gold._replace(con_id=4, container="BRONZE", used=0.8, entitled=0.8, waiting=5.0)
    (both,) = cpu_without_plan(reading([gold, bronze]))
    assert (both.state, both.subject) == ("note", "GOLD and BRONZE")
    assert both.short == "no plan divides CPU inside GOLD and BRONZE, which use all they are entitled to"
    named = gold._replace(name="BATCH")
    for fine in ([gold, named], [gold._replace(used=2.9)], [gold._replace(verdict=Verdict.NOT_THROTTLED)],
                 [gold._replace(in_plan=False)], [gold._replace(entitled=None)]):  # fmt: skip
        assert cpu_without_plan(reading(fine)) == []


@pytest.mark.parametrize("values", [{"doubt": "impossible"}, {"used": None}, {"counters": GroupTotals()}])
def test_usage_of_groups_is_not_known_if_one_is_doubtful_or_none_counted(values: dict[str, Any]) -> None:
    assert cpu_without_plan(on(reading([using(16.0, **values)]), cpu_managed="OFF")) == []


@pytest.mark.parametrize(
    ("used", "values", "short"),
    [
        (12.0, {"host_busy": 1.0}, "4.0 of the host's 16 CPUs are used by others"),
        (12.1, {"host_busy": 1.0}, None),
        (11.2, {"host_busy": 0.95}, "4.0 of the host's 16 CPUs are used by others"),
        (11.0, {"host_busy": 0.94}, None),
        (1.0, {"host_busy": None}, None),
        (1.0, {"host_busy": 1.0, "host_cpus": None}, None),
    ],
)
def test_a_full_host_is_an_alert_if_others_use_a_quarter(used: float, values: Any, short: str | None) -> None:
    found = host_shared(on(reading([using(used)]), **values))
    assert [alert.short for alert in found] == ([short] if short else [])
    assert all(alert.subject == "" for alert in found)
    assert all(alert.text.endswith(": no plan of this database limits them") for alert in found)


def test_others_on_the_host_are_an_alert_sooner_if_a_group_waits() -> None:
    (alert,) = host_shared(on(reading([using(13.0, verdict=Verdict.HOST)]), host_busy=0.9))
    assert alert.text == "CPU: the host is 90 % busy, 1.4 of the host's 16 CPUs are used by others: " + (
        "no plan of this database limits them"
    )


def test_other_instances_of_the_database_do_not_count_as_others_on_the_host() -> None:
    """This instance uses 8 of 16 CPUs, another 3: others use 5. If it uses 5, others use 3, under a quarter."""
    three = on(reading([using(8.0, 1), using(3.0, 2), using(11.0)], instances=2), host_busy=1.0)
    first, second = host_shared(three)
    assert (first.subject, second.subject) == ("1", "2")
    assert first.text.endswith(
        "8.0 of the host's 16 CPUs are used by others on instance 1: 3.0 of them by other instances of this "
        "database, each with a plan of its own"
    )
    assert host_shared(on(reading([using(8.0, 1), using(5.0, 2), using(13.0)], instances=2), host_busy=1.0)) == []
    elsewhere = [replace(each, host=f"db{each.inst_id}") for each in three.header.instances]
    apart = replace(three, header=replace(three.header, instances=tuple(elsewhere)))
    assert [alert.text[-36:] for alert in host_shared(apart)] == ["no plan of this database limits them"] * 2


@pytest.mark.parametrize(
    ("values", "text", "key", "state", "amount"),
    [
        (
            {"verdict": Verdict.STARVED, "entitled": 6.0},
            "CPU: BATCH starved, 2.5 of 6.0 CPUs; wants 4.0", "cpu_starved", "bad", 37.5,
        ),
        (
            {"verdict": Verdict.SHORT, "entitled": 3.0},
            "CPU: BATCH is a little below its entitlement, 2.5 of 3.0 CPUs; wants 4.0", "cpu_starved", "warn", None,
        ),
        (
            {"verdict": Verdict.SHORT, "entitled": 3.9},
            "CPU: BATCH is below its entitlement, 2.5 of 3.9 CPUs; wants 4.0", "cpu_starved", "warn", None,
        ),
        (
            {"verdict": Verdict.ZERO_SHARE},
            "CPU: BATCH gets only what others leave, 2.5 CPUs; wants 4.0", "cpu_zero_share", "bad", 37.5,
        ),
        (
            {"verdict": Verdict.CAPPED, "limit": 2.5},
            "CPU: BATCH at its limit, 2.5 of 2.5 CPUs; wants 4.0", "cpu_capped", "note", 37.5,
        ),
        (
            {"verdict": Verdict.CAPPED, "limited_by": "HR (CPU_COUNT)", "limit_used": 3.9, "limit_allowed": 4.0},
            "CPU: BATCH: HR (CPU_COUNT) at its limit, 3.9 of 4.0 CPUs; the group uses 2.5; wants 4.0",
            "cpu_capped", "note", 37.5,
        ),
    ],
)  # fmt: skip
def test_a_group_that_is_held_off(values: Any, text: str, key: str, state: str, amount: float | None) -> None:
    """It uses 2.5 CPUs and waits for 1.5: 37.5 % of what it wants."""
    (alert,) = groups_held_off(reading([using(2.5, **values)]))
    assert (alert.text, alert.key, alert.state, alert.amount, alert.subject) == (text, key, state, amount, "BATCH")


def test_the_alert_names_the_session_that_quiesces_and_counts_waiting_ones() -> None:
    def text(*values: Any) -> str:
        (alert,) = quiesced(replace(reading(), quiesce=Quiesce(*values)))
        return alert.text

    assert quiesced(reading()) == []
    assert text("QUIESCING", ("SYS 1:7",), 1, 75.0) == (
        "The database is being quiesced (by SYS 1:7, who waits for `wait for possible quiesce finish`); "
        "1 session waits, the first for 1:15: ALTER SYSTEM UNQUIESCE lets them in"
    )
    assert text("QUIESCED", (), None, None) == "The database is quiesced: ALTER SYSTEM UNQUIESCE lets other users in"
    assert "; 2 sessions wait:" in text("", ("A", "B", "C"), 2, None)
    assert "(by A and B, who" in text("", ("A", "B", "C"), 2, None)


@pytest.mark.parametrize(
    ("pool", "text", "state", "amount"),
    [
        (ActiveSessionPool(4, 1, 75.0, 600), "BATCH: 1 waits for the session pool, the first for 1:15; "
         "7 of 4 allowed active (ACTIVE_SESS_POOL_P1); timeout 10:00", "warn", 75.0),
        (ActiveSessionPool(None, 2, None, None), "BATCH: 2 wait for the session pool; "
         "7 active (ACTIVE_SESS_POOL_P1); without a timeout", "warn", None),
        (ActiveSessionPool(4, 2, 599.0, 600), "BATCH: 2 wait for the session pool, the first for 9:59; "
         "7 of 4 allowed active (ACTIVE_SESS_POOL_P1); timeout 10:00", "bad", None),
        (ActiveSessionPool(4, 2, 5.0, None, "the timeout is not known"), "BATCH: 2 wait for the session pool, "
         "the first for 0:05; 7 of 4 allowed active (ACTIVE_SESS_POOL_P1); the timeout is not known", "warn", 5.0),
        (ActiveSessionPool(4, 0, None, 600), None, "", None),
    ],
)  # fmt: skip
def test_sessions_that_wait_for_the_pool(pool: Any, text: str | None, state: str, amount: float | None) -> None:
    found = [(each.text, each.state, each.amount) for each in session_pools(reading([using(1.0, pool=pool)]))]
    assert found == ([(text, state, amount)] if text else [])


@pytest.mark.parametrize(("ago", "speaks"), [(-1, False), (0, True), (599, True), (600, False)])
def test_a_plan_that_changed_is_news_for_ten_minutes(ago: int, speaks: bool) -> None:
    found = reading()
    at = found.at - timedelta(seconds=ago)
    alerts = plan_switched(replace(found, switched=SwitchedPlan(at, "DAY", "", "")))
    assert [alert.subject for alert in alerts] == ["DAY"] * speaks
    assert all(alert.text.endswith(": no plan to DAY, no view shows who set it") for alert in alerts)


def test_idle_holders_come_after_the_worst_and_notes_are_no_alerts() -> None:
    def alert(state: Any, glyph: str = "▲") -> Alert:
        return Alert(state, glyph, state, state, state)

    note, warn, bad, idle = alert("note"), alert("warn"), alert("bad"), alert("warn", IDLE)
    assert worst_first([note, idle, warn, bad]) == (bad, idle, warn, note)
    assert worst_first([note, idle]) == (note, idle)
    assert not is_wrong([note, alert("good")])
    assert is_wrong([note, warn])
    assert is_wrong([bad])


@pytest.mark.parametrize(("failed", "end"), [(None, ""), (0, ""), (1, "; 1 call failed"), (8, "; 8 calls failed")])
def test_calls_that_failed_at_the_pool_timeout_are_counted_beside_those_that_wait(failed: int | None, end: str) -> None:
    row = using(1.0, pool=ActiveSessionPool(4, 1, 75.0, 600), counters=counters(queue_time_outs=failed))
    (found,) = session_pools(reading([row]))
    since = " at it since the plan was activated" if end else ""
    assert found.text.endswith(f"; timeout 10:00{end}{since}")
