"""Thresholds, hysteresis and durations: how settings change alerts, and which changes are reported."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_rules import by_rules, wrong
from presman.analysis.alerts.alert_settings import AlertSetting, merged
from presman.analysis.alerts.judge import AlertChanges, AlertTimes, Judge, _lasting, groupless
from presman.analysis.alerts.rule_book import RULE_BOOK
from presman.analysis.readings.reading import Alert, Evidence, Reading
from presman.analysis.readings.statement_readings import Cause, Downgrades
from presman.config.alert_lines import read_alerts, with_thresholds
from presman.output.alert_list import listed
from presman.tabs.alerts import availability_notes
from tests.output.readings import reading


def waiting(seconds: float, after: float = 0.0, *, cause: Cause = Cause.GROUP) -> Reading:
    """Return a reading with a head that has waited so long, `after` seconds after the first."""
    found = reading()
    head = found.heads[0]
    head = replace(head, cause=cause, statement=replace(head.statement, waited=seconds))
    return replace(found, heads=(head,), at=found.at + timedelta(seconds=after))


def states(judge: Judge, found: Reading, key: str = "queue_waits") -> list[str]:
    return [alert.state for alert in wrong(judge.judge(found)) if alert.key == key]


def test_without_settings_a_reading_stays_as_it_is() -> None:
    found = reading()
    assert Judge(()).judge(found) is found
    assert wrong(found) == by_rules(found)


@pytest.mark.parametrize(("waited", "state"), [(299.0, "note"), (300.0, "warn"), (1799.0, "warn"), (1800.0, "bad")])
def test_a_threshold_grades_what_the_rule_found(waited: float, state: str) -> None:
    judge = Judge(read_alerts("queue_waits warning=5m critical=30m"))
    assert states(judge, waiting(waited)) == [state]


def test_a_critical_threshold_alone_leaves_warnings_as_they_are() -> None:
    for thresholds, state in (("critical=10m", "warn"), ("warning=5m critical=10m", "note")):
        judge = Judge(read_alerts(f"queue_waits {thresholds}"))
        assert states(judge, waiting(60.0)) == [state]
        assert states(judge, waiting(600.0)) == ["bad"]


@pytest.mark.parametrize(
    ("thresholds", "state"), [("warning=1h", "bad"), ("warning=3h", "bad"), ("warning=3h critical=4h", "note")]
)
def test_a_warning_threshold_alone_leaves_critical_alerts_as_they_are(thresholds: str, state: str) -> None:
    found = waiting(300.0)
    found = replace(found, heads=(replace(found.heads[0], queue_waited=27 * 260.0),))
    assert [alert.state for alert in by_rules(found) if alert.key == "queue_waits"] == ["bad"]
    assert states(Judge(read_alerts(f"queue_waits {thresholds}")), found) == [state]


def test_a_statement_that_can_never_start_is_critical_with_any_threshold() -> None:
    judge = Judge(read_alerts("queue_waits warning=1h"))
    assert states(judge, waiting(1.0, cause=Cause.NEVER_FITS)) == ["bad"]


def test_a_subject_comes_before_its_rule_and_inherits_the_duration_only() -> None:
    lines = "queue_waits warning=1m critical=2m for=30s\nqueue_waits batch warning=1h"
    judge = Judge(read_alerts(lines))
    assert states(judge, waiting(1800.0)) == ["note"]
    assert states(judge, waiting(3600.0, after=2)) == ["note"], "it must last 30 seconds"
    assert states(judge, waiting(3640.0, after=40)) == ["warn"]


def test_hysteresis_holds_until_it_is_clear() -> None:
    judge = Judge(read_alerts("queue_waits warning=300 critical=600 clear=200"))
    course = [
        (250, "note"),
        (300, "warn"),
        (250, "warn"),
        (620, "bad"),
        (510, "bad"),
        (490, "warn"),
        (199, "note"),
        (250, "note"),
    ]
    found = [states(judge, waiting(waited, after=2.0 * number)) for number, (waited, _) in enumerate(course)]
    assert found == [[state] for _, state in course]


def test_a_duration_counts_each_severity_by_itself() -> None:
    judge = Judge(read_alerts("queue_waits warning=10 critical=100 for=2m"))
    course = [(0, 50, "note"), (119, 90, "note"), (120, 110, "warn"), (239, 200, "warn"), (240, 300, "bad")]
    assert [states(judge, waiting(waited, after=at)) for at, waited, _ in course] == [[state] for *_, state in course]


def test_a_duration_begins_anew_after_a_gap_and_when_the_clock_was_set_back() -> None:
    judge = Judge(read_alerts("queue_waits for=2m"))
    states(judge, waiting(50.0))
    assert states(judge, waiting(50.0, after=3600)) == ["note"]
    assert states(judge, waiting(50.0, after=-60)) == ["note"]


def test_a_pending_alert_says_how_long_it_has_lasted() -> None:
    judge = Judge(read_alerts("queue_waits for=2m"))
    judge.judge(waiting(50.0))
    assert "(for 0:35; an alert after 2:00)" in wrong(judge.judge(waiting(85.0, after=35)))[0].text


def test_an_alert_does_not_end_while_its_view_is_late() -> None:
    judge = Judge(read_alerts("queue_waits for=10s"))
    judge.judge(waiting(50.0))
    judge.judge(replace(waiting(55.0, after=5), heads=(), stale=5.0))
    assert states(judge, waiting(61.0, after=11)) == ["warn"]


def test_a_switched_off_rule_gives_no_all_clear() -> None:
    clear = (Evidence("queue", ("V$SESSION",), ""), Evidence("downgrade", ("V$PX_SESSION",), ""))
    found = replace(reading(), basis=clear, queue=(), heads=())
    assert by_rules(found)[0].key == "downgraded"
    notes = availability_notes(Judge(read_alerts("downgraded severity=off")).judge(found))
    assert notes == ("No queue now (by V$SESSION).",)


def test_requested_rules_return_amounts_or_why_they_are_not_known() -> None:
    lines = "servers_used warning=15\ndowngrades warning=1\nlatency nothing warning=1ms\nqueue_length NOBODY warning=1"
    lines += "\nown_cost warning=5ms"
    judge = Judge(read_alerts(lines))
    found = replace(reading(), downgrades=(Downgrades(1, "Parallel operations downgraded to serial", 7, 3),))
    alerts = {
        alert.key: alert
        for alert in wrong(judge.judge(found))
        if alert.key in {"servers_used", "downgrades", "own_cost"}
    }
    assert alerts["servers_used"].amount == pytest.approx(100 * 48 / 320)
    assert alerts["downgrades"].amount == 3, "in 2 s"
    assert alerts["own_cost"].amount == pytest.approx(0.006)
    assert judge.unknown == (
        "latency of nothing: no histogram of this event could be read",
        "queue_length: there is no group NOBODY",
    )


def test_the_command_line_changes_one_threshold_and_leaves_the_other() -> None:
    settings = with_thresholds(read_alerts("queue_waits warning=1m critical=2m"), {"critical": ["queue_waits=1h"]})
    assert (settings[0].warning, settings[0].critical) == (60.0, 3600.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("queue_wait warning=1", "no alert 'queue_wait', did you mean 'queue_waits'?"),
        ("queue_waits warning=abc", "is not a duration"),
        ("queue_waits warning=2 critical=1", "warning= is above critical="),
        ("queue_waits clear=2", "clear= goes with"),
        ("idle_holder ETL warning=1m", "about the whole database"),
        ("latency warning=1", "needs the event"),
        ("queue_length for=1m", "needs warning= or critical="),
        ("io_limit warning=1", "has no amount"),
        ('queue_waits "ETL warning=1', "a quote is not closed"),
        ("queue_waits off", "is none of"),
    ],
)
def test_a_mistake_is_named(line: str, message: str) -> None:
    if line.endswith(" off"):
        line += " off"  # the first word without "=" is taken for a group
    with pytest.raises(ValueError, match=r".") as error:
        read_alerts(line)
    assert message in str(error.value)


def test_a_section_comes_before_the_defaults() -> None:
    own, defaults = (
        read_alerts("queue_waits warning=1m"),
        read_alerts("queue_waits warning=9m critical=10m\nown_cost warning=1"),
    )
    first, second = merged((*own, *defaults))
    assert (first.warning, first.critical, second.key) == (60.0, None, "own_cost")


def test_every_rule_with_an_alert_is_in_the_rule_book() -> None:
    assert {alert.key for alert in by_rules(reading())} <= set(RULE_BOOK)


def alert(state: str, subject: str = "ETL") -> Alert:
    return Alert(state, "▲", "text", "short", "cpu_starved", subject)  # type: ignore[arg-type]


def test_each_change_is_reported_once() -> None:
    changes = AlertChanges()
    seen = {0: "warn", 2: "warn", 4: "bad", 6: "warn", 8: "bad", 10: "", 30: "warn", 80: "", 95: "", 99: ""}
    course = [(at, [state] if state else []) for at, state in seen.items()]
    reported = [[change[::6] for change in changes.take(map(alert, now), at)] for at, now in course]
    assert reported == [[("began", 0)], [], [("worse", 4)], [], [], [], [], [], [("ended", 80)], []]


def test_an_alert_that_cannot_be_checked_does_not_end() -> None:
    changes = AlertChanges(None)
    assert changes.take([alert("bad")], 0) == []
    assert changes.take([], 500, whole=False) == []
    assert [each.change for each in changes.take([], 502)] == ["ended"]


def test_a_group_that_is_not_defined_is_reported() -> None:
    """The plan in force has BATCH, and ETL is defined; BATHC and NIGHT do not exist."""
    lines = "queue_waits BATHC warning=5m", "queue_waits batch warning=1h", "cpu_capped etl severity=off"
    settings = read_alerts("\n".join((*lines, "session_pool NIGHT for=1m")))
    found = replace(reading(), group_names=("ETL",))
    assert "BATCH" in {group.title for group in found.cluster_groups()}
    texts = {each.key: text for each, text in groupless(settings, found).items()}
    assert texts == {
        "queue_waits": "there is no group BATHC, did you mean BATCH?",
        "session_pool": "there is no group NIGHT",
    }
    assert Judge(settings).judge(found).notes[-2:] == (
        "Alerts of queue_waits: there is no group BATHC, did you mean BATCH?",
        "Alerts of session_pool: there is no group NIGHT",
    )
    shown = listed(settings, found, ())
    assert "set: BATHC: warning from 5 min (there is no group BATHC, did you mean BATCH?)" in shown
    assert "set: etl: off\n" in shown


def test_no_group_is_missing_if_no_view_lists_the_groups() -> None:
    found = reading()
    assert found.group_names is None
    assert groupless(read_alerts("queue_waits BATHC warning=5m"), found) == {}
    known = replace(found, group_names=("ETL",))
    other = 'queue_waits "ETL (PDB9)" warning=5m\nlatency "log file sync" warning=20ms\nio_limit PDB9 severity=off'
    assert groupless(read_alerts(other), known) == {}, "of another container, an event, a container"


@pytest.mark.parametrize(
    ("state", "hold", "warn", "bad", "expected"),
    [
        ("bad", None, None, None, "bad"),
        ("bad", 60.0, 40.0, 40.0, "bad"),  # critical for a minute
        ("bad", 60.0, 40.0, 41.0, "warn"),  # a warning for a minute, critical for less
        ("warn", 60.0, 40.0, None, "warn"),
        ("warn", 60.0, 41.0, None, "note"),
        ("warn", 60.0, None, None, "note"),
        ("note", 60.0, None, None, "note"),
    ],
)
def test_severity_rises_after_the_duration_of_each_level(
    state: Any, hold: float | None, warn: float | None, bad: float | None, expected: str
) -> None:
    alert = Alert(state, "▲", "text", "short", "queue_waits")
    found = _lasting(alert, AlertSetting("queue_waits", hold=hold), AlertTimes(warn, bad), 100.0)
    assert found.state == expected
    assert found.text.startswith("text (for ") == (expected == "note" and state != "note")
