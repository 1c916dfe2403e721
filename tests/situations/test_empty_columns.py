"""A column without values for one poll, which Oracle always fills: nothing grows from 0 after it, and no alert ends."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import with_unchecked
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.groups.containers import pdbs
from presman.analysis.readings.reading import Reading
from presman.recording.playback import silent
from presman.rows.group_rows import ConsumerGroup, RsrcPlan
from presman.rows.instance_rows import Osstat, RsrcPdb, Sysstat
from presman.rows.queries import RecordType, null_row
from presman.rows.session_rows import PxSession, Session, SessionInfo
from presman.rows.snapshot import Snapshot
from tests.situations.test_unchecked_alerts import polls


def emptied(snapshot: Snapshot, record: type[Any], *columns: str) -> Snapshot:
    """Return a poll in which columns of a view were NULL in each row."""
    section, nothing = snapshot.section(record), null_row(record)
    rows = tuple(row._replace(**{name: getattr(nothing, name) for name in columns}) for row in section.rows)
    section = replace(section, rows=rows, absent=section.absent | {*columns})
    return replace(snapshot, sections=MappingProxyType({**snapshot.sections, record: section}))


def around(scenario: str, record: type[Any], *columns: str) -> tuple[Reading, Reading, Reading, Reading]:
    """Return four readings; columns are empty at the second, so that the third has nothing to subtract from."""
    first, *taken = polls(scenario)[-5:]
    taken[1] = emptied(taken[1], record, *columns)
    found: list[Reading] = []
    for before, now in zip([first, *taken], taken, strict=False):
        found.append(with_unchecked(found[-1] if found else None, analyse(before, now)))
    one, two, three, four = found
    return one, two, three, four


@pytest.mark.parametrize(
    ("scenario", "record", "column", "key", "polls_kept"),
    [
        ("throttled", ConsumerGroup, "consumed_cpu_time", "cpu_zero_share", 2),
        ("throttled", ConsumerGroup, "cpu_wait_time", "cpu_zero_share", 2),
        ("throttled", ConsumerGroup, "requests", "cpu_zero_share", 0),
        ("throttled", RsrcPlan, "cpu_managed", "cpu_zero_share", 1),
        ("holders", PxSession, "sid", "blocked_holder", 1),
        ("tenants", RsrcPdb, "cpu_wait_time", "cpu_minimum", 2),
        ("tenants", ConsumerGroup, "active_sessions", "cpu_minimum", 0),
        ("tenants", RsrcPdb, "small_read_requests", "cpu_minimum", 0),
    ],
)
def test_an_alert_stays_and_names_the_empty_column(
    scenario: str, record: RecordType, column: str, key: str, polls_kept: int
) -> None:
    seen, *blind, _ = around(scenario, record, column)
    subjects = {alert.subject for alert in wrong(seen) if alert.key == key}
    assert subjects
    for number, reading in enumerate(blind[: polls_kept or 2]):
        alerts = [alert for alert in wrong(reading) if alert.key == key]
        assert {alert.subject for alert in alerts} == subjects
        ending = f" lacks {column.upper()})"
        assert all(alert.text.endswith(ending) is (number < polls_kept) for alert in alerts), alerts


@pytest.mark.parametrize(
    ("column", "gone"),
    [
        ("requests", {"requests_per_s"}),
        ("yields", {"yields_per_s"}),
        ("cpu_waits", {"cpu_waits_per_s"}),
        ("small_read_megabytes", {"io"}),
        ("consumed_cpu_time", {"used", "waiting"}),
    ],
)
def test_no_rate_of_a_group_grows_from_zero(column: str, gone: set[str]) -> None:
    """WEB executed 8,600 requests per second after a poll that showed none: all since the instance was started."""
    seen, *blind, again = around("throttled", ConsumerGroup, column)
    figures = ("used", "waiting", "yields_per_s", "requests_per_s", "cpu_waits_per_s", "io")
    for reading in (seen, *blind, again):
        (row,) = (row for row in reading.cluster_groups() if row.name == "WEB")
        assert {name for name in figures if getattr(row, name) is None} == (gone if reading in blind else set())


def test_no_rate_of_a_container_grows_from_zero() -> None:
    before, now, after, _ = polls("tenants")[-4:]
    for column, is_cpu in (("consumed_cpu_time", True), ("small_read_megabytes", False)):
        empty = emptied(now, RsrcPdb, column)
        for pair in ((before, empty), (empty, after)):
            (gold,) = (row for row in pdbs(analyse(*pair), *pair) if row.name == "GOLD")
            assert (gold.used is None, gold.io is None) == (is_cpu, True)


def test_no_session_host_or_operation_counts_from_zero() -> None:
    """All parallel operations since startup that were downgraded were an alert."""
    seen, _, after, _ = around("storm", SessionInfo, "consumed_cpu_time")
    assert any(row.used is not None for row in seen.sessions)
    assert not any(row.used for row in after.sessions)
    seen, _, after, _ = around("storm", Osstat, "value")
    assert [each.host_busy is None for found in (seen, after) for each in found.header.instances] == [False, True]
    seen, _, after, again = around("storm", Sysstat, "value")
    deltas = [{each.delta for each in reading.downgrades} for reading in (seen, after, again)]
    assert [found == {None} for found in deltas] == [False, True, False]


def test_sessions_keep_their_rates_while_v_session_shows_no_events() -> None:
    *_, after, _ = around("storm", Session, "event")
    assert any(row.used is not None for row in after.sessions)


def test_a_recording_looks_for_the_alerts_of_before_where_a_column_is_empty() -> None:
    now = polls("throttled")[-1]
    empty = emptied(emptied(now, ConsumerGroup, "cpu_wait_time"), PxSession, "sid")
    assert (silent(now), silent(empty)) == (set(), {ConsumerGroup, PxSession})
