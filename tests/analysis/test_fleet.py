"""What a fleet shows of a reading, and which database comes first."""

from __future__ import annotations

from msgspec.structs import replace

from presman.analysis.fleet import (
    KEPT,
    ConnectionState,
    Member,
    Past,
    by_trouble,
    counts,
    extended,
    is_late,
    is_seen,
    is_silent,
    key_figures_of,
)
from presman.analysis.readings.reading import Evidence, LateView
from presman.analysis.readings.statement_readings import Cause, Servers
from tests.services.fleet.members import every_state, key_figures, live
from tests.tui.readings import busy, quiet


def test_key_figures_are_those_of_the_reading() -> None:
    reading = busy()
    found = key_figures_of(reading)
    groups = reading.cluster_groups()
    assert found.used == sum(group.used for group in groups)
    assert found.waiting == sum(group.waiting for group in groups)
    assert (found.capacity, found.queued) == (reading.header.num_cpus, len(reading.queue))
    assert found.head_waited == max(each.waited for each in reading.queue)
    assert (found.alerts > 0, found.severity) == (True, "bad")
    assert found.worst
    assert found.cpu_percent == 100 * found.used / found.capacity
    assert found.throttled_percent == 100 * found.waiting / (found.used + found.waiting)


def test_unknown_figures_are_not_zero() -> None:
    unseen = replace(quiet(), basis=(Evidence("queue", ("GV$SESSION",), "no grant"),))
    assert key_figures_of(unseen).queued is None
    assert key_figures_of(quiet()).queued == 0
    first = replace(quiet(), groups=tuple(group._replace(used=None, waiting=None) for group in quiet().groups))
    found = key_figures_of(first)
    assert (found.used, found.waiting, found.cpu_percent, found.throttled_percent) == (None,) * 4
    assert (found.alerts, found.severity) == (0, "good")


def test_an_all_clear_names_its_views_and_what_was_not_seen() -> None:
    views = ("V$SESSION", "V$SYSSTAT")
    seen = tuple(Evidence(what, (view,), "") for what, view in zip(("queue", "downgrade"), views, strict=True))
    assert key_figures_of(replace(quiet(), basis=seen)).worst == "Nothing is wrong now (by V$SESSION, V$SYSSTAT)"
    half = (seen[0], seen[1]._replace(lacking="no grant"))
    assert key_figures_of(replace(quiet(), basis=half)).worst == (
        "not known: whether there is a downgrade (no grant); No queue (by V$SESSION)"
    )


def test_a_database_with_unknown_facts_comes_before_those_that_are_well() -> None:
    unseen = replace(quiet(), basis=(Evidence("queue", ("GV$SESSION",), "no grant"),))
    late = replace(quiet(), late=(LateView("V$PX_SESSION", None),))
    found = [Member(name, ConnectionState.LIVE, key_figures_of(reading)) for name, reading in (
        ("a-well", quiet()), ("c-unseen", unseen), ("b-late", late), ("d-first", replace(unseen, interval=None)),
    )]  # fmt: skip
    assert [each.name for each in by_trouble([*found, live("e-warns", alerts=1, severity="warn")])] == [
        "e-warns", "b-late", "c-unseen", "a-well", "d-first",
    ]  # fmt: skip
    assert [is_seen(each) for each in found] == [True, False, False, True]
    assert found[2].key_figures is not None
    assert found[2].key_figures.worst.startswith("not known: V$PX_SESSION: no answer in time; ")


def test_alerts_come_first_and_equals_by_name() -> None:
    names = [member.name for member in by_trouble([*every_state(), live("a-web")])]
    assert names == [
        "test-lost", "prod-dwh", "test-wrong", "prod-erp", "test-late", "test-over", "test-new", "a-web", "prod-web",
    ]  # fmt: skip
    assert counts(every_state())[ConnectionState.LIVE] == 3


def test_late_databases_come_before_stopped_and_starting_ones() -> None:
    states = (ConnectionState.STARTING, ConnectionState.STOPPED, ConnectionState.LATE, ConnectionState.REFUSED)
    members = [Member(name, state) for name, state in zip("abcd", states, strict=True)]
    assert [each.name for each in by_trouble([*members, live("e")])] == ["d", "c", "b", "a", "e"]
    assert [each.name for each in by_trouble([live("z", alerts=1, severity="warn"), *members])][:3] == ["d", "z", "c"]


def test_a_storm_comes_before_a_wait_of_ten_seconds() -> None:
    reading = busy()
    short = replace(reading.heads[0], cause=Cause.NEVER_FITS, wants=Servers(36, 72), target=24, allowed=None)
    long = replace(reading.heads[0], queue_waited=27 * 260.0)  # 7,020 s
    found = [
        Member(name, ConnectionState.LIVE, key_figures_of(replace(quiet(), heads=(head,), queue=reading.queue[:1])))
        for name, head in (("a-queueing", short), ("b-storm", long))
    ]
    assert [each.key_figures.severity for each in found if each.key_figures] == ["warn", "bad"]
    assert [each.name for each in by_trouble(found)] == ["b-storm", "a-queueing"]


def test_late_and_silent_go_by_the_interval() -> None:
    assert [is_late(age, 5.0) for age in (10.9, 11.1)] == [False, True]
    assert [is_silent(age, 1.0) for age in (59.0, 61.0)] == [False, True]
    assert [is_silent(age, 60.0) for age in (599.0, 601.0)] == [False, True]


def test_the_past_has_an_end() -> None:
    past = Past()
    for number in range(3 * KEPT):
        past = extended(past, key_figures(queued=number))
    assert len(past.cpu_percent) == len(past.queued) == KEPT
    assert past.queued[-1] == 3 * KEPT - 1
