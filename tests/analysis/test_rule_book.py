"""Rules that fire only with a threshold: their amounts by hand, and why there is no amount."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_settings import AlertSetting
from presman.analysis.alerts.rule_book import RULE_BOOK, RuleAnswer, asked
from presman.analysis.readings.reading import AGE, AGO, Alert, Evidence, Reading, UnavailableView
from presman.analysis.readings.wait_readings import Bucket, Histogram
from tests.output.readings import group, instance, reading

EVENT = "log file sync"


def one(found: Reading, key: str, subject: str = "", **setting: Any) -> RuleAnswer:
    (answer,) = asked(found, (AlertSetting(key, subject, **setting),))
    return answer


def amounts(answer: RuleAnswer) -> dict[str, float | None]:
    return {alert.subject: alert.amount for alert in answer.alerts}


def planned(*plans: str) -> Reading:
    found = reading()
    instances = tuple(replace(instance(number), plan=plan) for number, plan in enumerate(plans, 1))
    return replace(found, header=replace(found.header, instances=instances), unseen=())


@pytest.mark.parametrize(
    ("plans", "text"),
    [
        (("DAY",), None),
        (("DAY", "NIGHT"), None),
        (("",), "no resource plan is in force"),
        (("DAY", ""), "no resource plan is in force on instance 2"),
        (("", "DAY", ""), "no resource plan is in force on instance 1, 3"),
    ],
)
def test_the_rule_no_plan_finds_an_instance_without_one(plans: tuple[str, ...], text: str | None) -> None:
    answer = one(planned(*plans), "no_plan")
    assert [alert.text for alert in answer.alerts] == ([] if text is None else [text])
    assert answer.unknown == ""


def test_whether_a_plan_is_in_force_is_not_known_without_the_view() -> None:
    found = replace(
        planned(""), unseen=(UnavailableView("V$SESSION", "no right"), UnavailableView("GV$RSRC_PLAN", "no grant"))
    )
    assert one(found, "no_plan") == RuleAnswer(unknown="no_plan: no grant")


def waits(*deltas: int | None, upper: int = 1024) -> Reading:
    """Return a reading of one event: waits of up to 1,024 us, 2,048 us and so on."""
    buckets = tuple(Bucket(upper << number, 99, delta) for number, delta in enumerate(deltas))
    return replace(reading(), histograms=(Histogram(1, EVENT, buckets, 2.0),))


def test_latency_is_the_percentile_that_is_asked_for() -> None:
    """Of 10 waits the 9th in order is the 1st of 2 from 1,024 to 2,048 us: a quarter of the way. The 10th: three."""
    found = waits(8, 2)
    (ninth,) = one(found, "latency", EVENT, percentile=90.0).alerts
    assert ninth.amount == pytest.approx(1280e-6)
    assert (ninth.subject, ninth.text) == (EVENT, f"p90 of {EVENT}: 1.3ms")
    assert amounts(one(found, "latency", EVENT)) == {EVENT: pytest.approx(1792e-6)}, "p99 by default"


def test_latency_is_of_the_waits_on_all_instances() -> None:
    """8 waits below 1,024 us on one instance and 2 up to 2,048 us on the other are the ten waits of the test above."""
    first, second = waits(8, 0).histograms[0], replace(waits(0, 2).histograms[0], inst_id=2)
    found = replace(reading(), histograms=(first, second))
    assert amounts(one(found, "latency", EVENT, percentile=90.0)) == {EVENT: pytest.approx(1280e-6)}


def test_latency_beyond_the_last_bound_is_at_least_where_it_begins() -> None:
    (alert,) = one(waits(1, upper=2**32), "latency", EVENT).alerts
    assert alert.amount == pytest.approx(2**31 / 1e6)
    assert alert.text.startswith(f"p99 of {EVENT}: at least ")


def test_latency_without_such_waits_is_no_alert_and_without_two_polls_not_known() -> None:
    assert one(waits(0, 0), "latency", EVENT) == RuleAnswer()
    assert one(waits(3, None), "latency", EVENT).unknown == f"latency of {EVENT}: it takes two polls"
    assert one(waits(3), "latency", "x").unknown == "latency of x: no histogram of this event could be read"
    none = replace(reading(), histograms=())
    assert one(none, "latency", EVENT).unknown == f"latency of {EVENT}: no histograms could be read"


def test_servers_used_are_percent_of_the_most_there_may_be() -> None:
    found = reading()

    def pool(**values: Any) -> Reading:
        return replace(found, header=replace(found.header, servers=replace(found.header.servers, **values)))

    assert amounts(one(pool(in_use=48, maximum=320), "servers_used")) == {"": pytest.approx(15.0)}
    assert amounts(one(pool(in_use=0, maximum=320), "servers_used")) == {"": 0.0}
    assert one(pool(in_use=48, maximum=None), "servers_used").unknown.endswith("PARALLEL_MAX_SERVERS is not known")
    assert one(pool(in_use=None, maximum=320), "servers_used").unknown.endswith(
        "no view shows how many servers are in use"
    )


def grouped(**queued: int | None) -> Reading:
    groups = tuple(group(name)._replace(px_queued=number) for name, number in queued.items())
    return replace(reading(), groups=groups, basis=())


def test_the_queue_of_each_group_or_of_the_one_that_is_meant() -> None:
    found = grouped(ETL=3, BATCH=0)
    assert amounts(one(found, "queue_length")) == {"ETL": 3, "BATCH": 0}
    (alert,) = one(found, "queue_length", "etl").alerts
    assert (alert.text, alert.amount) == ("ETL: 3 statements queued", 3)
    assert one(found, "queue_length", "NIGHT").unknown == "queue_length: there is no group NIGHT"
    blind = replace(found, basis=(Evidence("starved group", (), "x"), Evidence("queue", (), "no right to V$SESSION")))
    assert amounts(one(blind, "queue_length")) == {"ETL": 3, "BATCH": 0}, "by V$RSRC_CONSUMER_GROUP"
    blind = replace(blind, groups=grouped(ETL=None).groups)
    assert one(blind, "queue_length").unknown == "queue_length: no right to V$SESSION"


def test_a_group_whose_amount_is_not_known_is_named_beside_the_others() -> None:
    answer = one(grouped(ETL=3, BATCH=None), "queue_length")
    assert amounts(answer) == {"ETL": 3}
    assert answer.unknown == "queue_length of BATCH: it takes two polls"


def test_an_alert_of_one_group_is_not_repeated_for_all() -> None:
    settings = (
        AlertSetting("queue_length", "ETL", 1.0),
        AlertSetting("queue_length", "", 5.0),
        AlertSetting("queue_waits"),
    )
    assert [list(amounts(answer)) for answer in asked(grouped(ETL=3, BATCH=1), settings)] == [["ETL"], ["BATCH"]]


def test_each_answer_is_that_of_its_rule() -> None:
    """With nothing known, each rule answers under its own key."""
    for rule in RULE_BOOK.values():
        if rule.answer is not None:
            answer = rule.answer(reading(), AlertSetting(rule.key, subject=EVENT if rule.subject == "event" else ""))
            assert {alert.key for alert in answer.alerts} <= {rule.key}
            assert answer.unknown == "" or answer.unknown.startswith(rule.key)


def test_amounts_that_are_always_there() -> None:
    """Of the rules that are asked for all have an amount but `no_plan`, which takes no threshold."""
    asked_for = {rule.key for rule in RULE_BOOK.values() if rule.asked}
    assert {rule.key for rule in RULE_BOOK.values() if rule.is_amount} == asked_for - {"no_plan"}


def test_an_alert_has_its_age_in_place_or_at_the_end() -> None:
    words = f"3 wait{AGE}; 4 are active (idle 0:10{AGO})"
    alert = Alert("warn", "▲", words, "3 wait", others=("3",), age=6.0)
    assert alert.text == "3 wait (as of 0:06 ago); 4 are active (idle 0:10 as of 0:06 ago)"
    assert (alert.short, alert.between) == ("3 wait (as of 0:06 ago)", ("3 (as of 0:06 ago)",))
    bare = "3 wait; 4 are active (idle 0:10)"
    assert (alert.bare().text, alert.bare().short, alert._replace(age=0.0).text) == (bare, "3 wait", bare)
    silent = alert._replace(unchecked="V$SESSION, V$PX_SESSION did not answer")
    assert silent.text == f"{bare} (as of 0:06 ago: V$SESSION, V$PX_SESSION did not answer)"
    assert silent.short == "3 wait (as of 0:06 ago)"
