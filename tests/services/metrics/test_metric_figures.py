"""Metric figures: names, units, types and labels follow the conventions; values are those of the figures."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.goals import Goal, GoalReading
from presman.analysis.readings.group_readings import GroupTotals
from presman.analysis.readings.reading import Alert, LateView
from presman.analysis.readings.statement_readings import StartForecast
from presman.analysis.readings.wait_readings import Bucket, EventWaits, Histogram
from presman.figures.figure import COUNT, Figure
from presman.figures.measures import MEASURES
from presman.figures.metric import Distribution, MetricKind, of_figure
from presman.figures.metric_figures import MOST_EVENTS, MOST_ROWS, distribution, longest_waited
from presman.services.metrics.metric_page import METRICS, SUBJECTS
from tests.analysis.make import counters
from tests.services.metrics.observed import Shown, observed, of, series

UNITS = {"seconds": "_seconds", "bytes": "_bytes", "ratio": "_ratio", "": ""}


def test_a_metric_name_has_its_unit() -> None:
    for metric in METRICS.values():
        assert re.fullmatch(r"presman_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.family.endswith(UNITS[metric.unit]), metric.name
        assert metric.name.endswith("_total") is (metric.kind is MetricKind.COUNTER), metric.name
        assert metric.name.endswith("_info") is (metric.kind is MetricKind.INFO), metric.name
        assert not re.search(r"_(ms|us|s|mb|percent|pct|count|bucket|sum)(_|$)", metric.name)
        assert not re.search(r"[Mm]illisecond|[Mm]icrosecond|[Mm]egabyte|[Pp]ercent|empty", metric.help), metric.name
        assert len(metric.summary) < 200, metric.name


def test_a_metric_name_has_one_type_and_unit() -> None:
    for subject in SUBJECTS:
        for metric in subject.metrics:
            first = METRICS[metric.name]
            assert (first.kind, first.unit, first.summary) == (metric.kind, metric.unit, metric.summary)


def test_labels_have_few_values() -> None:
    names = {name for subject in SUBJECTS for name in subject.labels}
    names |= {name for subject in SUBJECTS for metric in subject.metrics for name in metric.labels}
    assert names == {
        "inst_id", "container", "consumer_group", "wait_class", "event", "statistic", "rule", "severity", "subject",
        "view", "query", "size", "direction", "goal",
    }  # fmt: skip


def test_units_become_base_units() -> None:
    def value(key: str, number: float) -> tuple[str, str, Any]:
        metric = of_figure("x_", Figure[Any](key, "", COUNT, "Milliseconds of it.", lambda _: number))
        return metric.name, metric.unit, metric.value(None)

    assert value("wait_ms_total", 1500) == ("presman_x_wait_seconds_total", "seconds", 1.5)
    assert value("busy_percent", 25) == ("presman_x_busy_ratio", "ratio", 0.25)
    assert value("io_mb_total", 3) == ("presman_x_io_bytes_total", "bytes", 3 * 2**20)
    assert value("waited_us", 2_000_000) == ("presman_x_waited_seconds", "seconds", 2.0)
    assert value("sessions", 7) == ("presman_x_sessions", "", 7)


@pytest.mark.parametrize("scenario", ["mixed", "pdb", "rac"])
def test_a_group_has_the_figures_of_its_reading(scenario: str) -> None:
    observation = observed(scenario)
    found = series(Shown(observation))
    rows = MEASURES["cpu"].rows(observation.reading)
    assert rows
    for row in rows:
        labels = {"inst_id": str(row.inst_id), "consumer_group": row.name, "target": "prod"}
        if row.container:
            labels["container"] = row.container
        assert of(found, "group_cpu_seconds_total", **labels) == [row.usage.cpu_ms / 1000]
        assert of(found, "group_active_sessions", **labels) == [row.active_sessions]
        assert of(found, "group_statements_queued_total", **labels) == [row.totals.queued]
        read = of(found, "group_io_bytes_total", **labels, size="large", direction="read")
        assert read == [row.usage.large_read_mb * 2**20]
        assert of(found, "group_limit_cpus", **labels) == ([] if row.limit is None else [row.limit])
        assert len(of(found, "group_state_info", **labels, verdict=row.verdict.name.lower())) == 1


def test_counters_are_those_of_the_view_and_grow() -> None:
    before, after = (series(Shown(observed("mixed", polls))) for polls in (2, 3))
    counters = {key for key in before if key[0].endswith("_total")}
    assert len(counters) > 150
    assert all(after[key] >= before[key] for key in counters)
    assert sum(after[key] > before[key] for key in counters) > 20


def test_containers_have_metrics_of_their_own() -> None:
    observation = observed("pdb")
    found = series(Shown(observation))
    for row in observation.containers:
        labels = {"inst_id": str(row.inst_id), "container": row.name}
        assert row.usage is not None
        assert of(found, "pdb_cpu_seconds_total", **labels) == [row.usage.cpu_ms / 1000]
        assert of(found, "pdb_sga_bytes", **labels) == [row.sga_bytes]
    assert of(series(Shown(observed("mixed"))), "pdb_cpu_seconds_total") == []


def test_instances_of_a_cluster_are_apart() -> None:
    found = series(Shown(observed("rac")))
    instances = of(found, "instance_cpus")
    assert len(instances) > 1
    assert len(of(found, "parallel_servers_in_use")) == len(instances)
    assert len({of(found, "redo_bytes_total", inst_id=str(number + 1))[0] for number in range(len(instances))}) > 1


def test_waits_by_class_have_all_waits() -> None:
    observation = observed("mixed")
    (totals,) = observation.reading.since_startup
    found = series(Shown(observation))
    assert of(found, "wait_seconds_total", wait_class="User I/O") == [totals.waits["User I/O"].microseconds / 1e6]
    assert sum(of(found, "waits_total")) == sum(each.waits for each in totals.waits.values())
    assert len(of(found, "active_sessions")) == 13


def test_a_histogram_counts_what_is_below_its_bounds() -> None:
    observation = observed("mixed")
    histogram = next(each for each in observation.histograms if each.event == "log file sync")
    value = distribution(histogram)
    assert histogram.startup is not None
    assert value.sum == histogram.startup.microseconds / 1e6
    assert value.total == sum(bucket.count for bucket in histogram.buckets)
    for bound, count in zip(value.bounds, value.counts, strict=True):
        assert count == sum(bucket.count for bucket in histogram.buckets if bucket.upper_us <= bound * 1e6 + 0.5)
    assert list(value.counts) == sorted(value.counts)


def test_bounds_do_not_depend_on_the_waits() -> None:
    small, large = _histogram({1024: 5}), _histogram({1 << 32: 2, 1 << 20: 1})
    assert distribution(small).bounds == distribution(large).bounds
    assert distribution(large).counts[-1] == 1  # waits of unlimited length are above every bound
    assert distribution(large).total == 3
    before_12_1 = distribution(_histogram({1_000: 4, 2_000: 3, 4_194_304_000: 1}))
    assert before_12_1.bounds[0] == 0.001
    assert before_12_1.counts[:2] == (4, 7)
    assert before_12_1.total == 8


def test_events_are_limited_and_idle_ones_omitted() -> None:
    many = [_histogram({1024: 1}, f"event {number}", seconds=number) for number in range(100)]
    kept = longest_waited([*many, replace(many[0], startup=None, event="PX Deq: idle")])
    assert [each.event for each in kept] == [f"event {number}" for number in range(100 - MOST_EVENTS, 100)]


def test_unknown_values_have_no_series() -> None:
    observation = observed("mixed")
    groups = tuple(row._replace(counters=GroupTotals()) for row in observation.reading.groups)
    found = series(Shown(observation).changed(groups=groups, activity=None, since_startup=()))
    assert of(found, "group_guaranteed_cpus")
    for name in ("group_cpu_seconds_total", "group_active_sessions", "active_sessions", "waits_total"):
        assert of(found, name) == [], name


def test_rows_of_a_silent_view_are_omitted_after_a_minute() -> None:
    shown = Shown(observed("mixed"))
    recent = series(shown.changed(late=(LateView("GV$RSRC_CONSUMER_GROUP", 20.0),)))
    assert of(recent, "group_active_sessions")
    assert of(recent, "view_age_seconds", view="GV$RSRC_CONSUMER_GROUP") == [20.0]
    views = ("GV$RSRC_CONSUMER_GROUP", "V$SYSTEM_EVENT", "GV$EVENT_HISTOGRAM_MICRO", "V$SESSION_LONGOPS")
    old = series(shown.changed(late=tuple(LateView(view, 61.0) for view in views)))
    for name in ("group_active_sessions", "group_cpu_seconds_total", "waits_total", "event_wait_seconds"):
        assert of(old, name) == [], name
    assert of(old, "up") == [1]
    assert of(old, "instance_cpus")


def test_an_alert_has_a_series_while_it_lasts() -> None:
    alerts = (
        Alert("bad", "✕", "", "", "cpu_starved", "ETL"),
        Alert("note", "▬", "", "", "cpu_capped", "BATCH"),
        Alert("good", "●", "", "", "x"),
        Alert("warn", "▲", "", "", "no_plan"),
    )
    found = series(Shown(observed("mixed")).changed(alerts=alerts))
    assert of(found, "alert", rule="cpu_starved", severity="critical", subject="ETL") == [1]
    assert of(found, "alert", rule="cpu_capped", severity="note") == [1]
    assert of(found, "alert", severity="warning") == [1]
    assert len(of(found, "alert")) == 3


def test_why_a_queue_waits() -> None:
    observation = observed("storm")
    head = observation.reading.heads[0]
    found = series(Shown(observation))
    assert of(found, "queue_head_info", consumer_group=head.group, cause=head.cause.name.lower()) == [1]
    assert of(found, "queue_head_waited_seconds", consumer_group=head.group) == [head.statement.waited]


def test_a_queue_head_has_its_forecast_and_reason() -> None:
    observation = observed("storm")
    head = observation.reading.heads[0]
    foreseen = replace(head.statement, starts=StartForecast(130.0, 100.0, 210.0))
    found = series(Shown(observation).changed(heads=(replace(head, statement=foreseen),)))
    figures = ("starts_in_seconds", "starts_low_seconds", "starts_high_seconds")
    shown = [of(found, f"queue_head_{name}", consumer_group=head.group) for name in figures]
    assert shown == [[130.0], [100.0], [210.0]]
    assert head.statement.reason is not None
    assert of(found, "queue_head_info", reason=head.statement.reason.name.lower()) == [1]
    unknown = replace(head.statement, starts=StartForecast(why_none="the target is not known"))
    found = series(Shown(observation).changed(heads=(replace(head, statement=unknown),)))
    assert [of(found, f"queue_head_{name}") for name in figures] == [[], [], []]


def test_goals_are_counted_as_good_and_bad() -> None:
    goal = GoalReading(Goal("ETL", 0.95, 30.0), 190, 10, (18, 2), (190, 10), 4000.0)
    found = series(Shown(observed("storm")).changed(goals=(goal,)))
    names = ("goal_good_total", "goal_bad_total", "goal_wanted_ratio")
    shown = [of(found, name, consumer_group="ETL", goal="95 % of ETL start within 30 s") for name in names]
    assert shown == [[190.0], [10.0], [0.95]]


def test_names_that_become_equal_are_exported_once() -> None:
    observation = observed("mixed")
    row = observation.reading.groups[0]
    found = series(Shown(observation).changed(groups=(row, row._replace(active_sessions=99))))
    assert of(found, "group_active_sessions") == [row.active_sessions]


def test_of_thousands_of_groups_the_largest_are_exported() -> None:
    observation = observed("mixed")
    row = observation.reading.groups[0]
    many = tuple(
        row._replace(name=f"G{number}", counters=counters(consumed_cpu_time=number)) for number in range(MOST_ROWS + 20)
    )
    found = series(Shown(observation).changed(groups=many))
    assert len(of(found, "group_cpu_seconds_total")) == MOST_ROWS
    assert of(found, "group_cpu_seconds_total", consumer_group="G0") == []
    assert of(found, "group_cpu_seconds_total", consumer_group=f"G{MOST_ROWS + 19}")


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan")])
def test_a_number_that_no_float_holds_has_no_series(number: float) -> None:
    observation = observed("mixed")
    row = observation.reading.groups[0]._replace(active_sessions=number)  # type: ignore[arg-type]
    assert of(series(Shown(observation).changed(groups=(row,))), "group_active_sessions") == []


def test_the_start_of_an_instance_is_an_instant() -> None:
    observation = observed("mixed")
    started = observation.reading.header.instances[0].started
    assert started is not None
    (seconds,) = of(series(Shown(observation)), "instance_start_time_seconds")
    assert observation.reading.at - timedelta(seconds=observation.reading.at.timestamp() - seconds) == started


def _histogram(counts: dict[int, int], event: str = "log file sync", seconds: int = 1) -> Histogram:
    buckets = tuple(Bucket(upper, count, None) for upper, count in sorted(counts.items()))
    return Histogram(1, event, buckets, startup=EventWaits(sum(counts.values()), seconds * 1_000_000))


def test_a_distribution_is_distinguished_from_a_number() -> None:
    assert isinstance(of(series(Shown(observed("mixed"))), "event_wait_seconds")[0], Distribution)
