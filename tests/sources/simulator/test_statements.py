"""Statements of the simulator: parsing to a DOP, SQL_IDs, OTHER_XML and the distribution of waits."""

from __future__ import annotations

from math import exp

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from presman.base.release import Release
from presman.sources.simulator.counters import BUCKETS, QUANTUM, STARVED, events_of, mean_of, shape
from presman.sources.simulator.parsing import Cursor, Parsed, parse, sql_id_of


def test_sql_id_is_oracles() -> None:
    assert sql_id_of("select * from dual") == "a5ks9fhw2v9s1"


@pytest.mark.parametrize(
    ("asked", "reason", "policy", "limit", "group", "expected"),
    [
        (80, "auto", "AUTO", 48, None, Parsed(48, "degree limit", True)),
        (16, "auto", "AUTO", 48, None, Parsed(16, "", True)),
        (16, "auto", "AUTO", 48, 4, Parsed(4, "degree limit", True)),
        (1, "auto", "AUTO", 48, None, Parsed(1, "parallel threshold", True)),
        (16, "auto", "MANUAL", 48, None, Parsed(1, "", False)),
        (80, "hint", "MANUAL", 48, 4, Parsed(80, "hint", False)),
        (8, "table property", "AUTO", 4, None, Parsed(8, "table property", False)),
    ],
)
def test_parse(asked: int, reason: str, policy: str, limit: int, group: int | None, expected: Parsed) -> None:
    assert parse(asked, reason, policy, limit, group) == expected


def test_other_xml() -> None:
    cursor = Cursor("a", 0, "select 1 from dual where '<&' = :1", "MARTIN", 51, 48, 2, "degree limit", True, 0.0)
    facts = {info.get("type"): info.text for info in fromstring(cursor.other_xml(Release(19)))}
    assert facts["dop"] == "48"
    assert facts["dop_reason"] == "degree limit"
    assert (facts["derived_cpu_dop"], facts["derived_io_dop"]) == ("51", "41")
    assert facts["parse_schema"] == '"MARTIN"'
    assert facts["plan_hash"] == str(cursor.plan_hash)
    old = {
        info.get("type")
        for info in fromstring(Cursor("a", 0, "select 1", "X", 4, 4, 1, "", True, 0.0).other_xml(Release(11, 2)))
    }
    assert "px_in_memory" not in old
    assert "dop_reason" not in old


@pytest.mark.parametrize(
    ("sets", "trees", "queues"),
    [
        (1, 1, [":Q1000"]),
        (2, 1, [":Q1001", ":Q1000"]),
        (2, 3, [":Q1001", ":Q1000", ":Q2001", ":Q2000", ":Q3001", ":Q3000"]),
    ],
)
def test_a_plan_has_a_table_queue_for_each_set_of_each_tree(sets: int, trees: int, queues: list[str]) -> None:
    lines = Cursor("a", 0, "select 1", "X", 8, 8, sets, "", True, 0.0, trees).lines()
    assert list(dict.fromkeys(line.object_node for line in lines if line.object_node)) == queues
    assert [line.id for line in lines] == list(range(len(lines)))
    assert sum(line.operation == "PX COORDINATOR" for line in lines) == trees
    tops = {line.parent for line in lines if line.operation == "PX COORDINATOR"}
    assert len(tops) == 1
    assert all(line.depth == lines[line.parent].depth + 1 for line in lines if line.parent is not None)


def test_waits_for_cpu_have_the_published_shape() -> None:
    assert 0.1 < mean_of(QUANTUM) / 1e6 < 0.34
    assert 5 < mean_of(STARVED) / 1e6 < 80


@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0, 1)), max_size=40))
def test_no_wait_is_lost(batches: list[tuple[float, float]]) -> None:
    event = events_of("flash", False)["log file sync"]
    for waits, badness in batches:
        event.record(waits, badness)
    recorded = sum(waits for waits, _ in batches)
    assert recorded - BUCKETS <= sum(event.counts) <= recorded + 1e-6
    shortest = sum(count << bucket >> 1 for bucket, count in enumerate(event.counts))
    assert shortest <= event.micros <= 2 * shortest, "the time is that of waits in these buckets"


@given(st.floats(50, 1e7), st.floats(0.2, 1.2))
def test_a_shape_is_the_distribution_it_is_made_of(median: float, sigma: float) -> None:
    made = shape((1.0, median, sigma))
    assert sum(part for _, part, _ in made) == pytest.approx(1)
    assert mean_of(made) == pytest.approx(median * exp(sigma * sigma / 2), rel=0.001)
    assert all(2.0 ** (bucket - 1) * 0.999_999 <= mean <= 2.0**bucket * 1.000_001 for bucket, _, mean in made)


def test_a_single_wait_lands_in_its_bucket() -> None:
    event = events_of("flash", False)["resmgr:pq queued"]
    for seconds, bucket in ((0.000_000_5, 1), (0.001, 10), (0.001_024, 11), (1.0, 20), (9_999.0, BUCKETS - 1)):
        before = list(event.counts)
        event.record_one(seconds)
        assert [n - old for n, old in zip(event.counts, before, strict=True)].index(1) == bucket
