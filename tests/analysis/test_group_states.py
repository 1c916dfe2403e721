"""The state of a group: the worst of its CPU, its queue, its session pool and its container's I/O limit."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import with_reasons
from presman.analysis.readings.container_readings import IoVerdict, LimitedContainer
from presman.analysis.readings.group_readings import ActiveSessionPool, Verdict
from presman.analysis.readings.reading import Alert
from presman.analysis.readings.statement_readings import Cause
from presman.figures.group_figures import GROUPS, OVERVIEW, state_text
from presman.tabs.parts import Moment
from presman.tui.widgets.table_frame import TableRows
from tests.tui.readings import busy, group, queued

POOL = ActiveSessionPool(4, 14, 575.0, None)


@pytest.mark.parametrize(
    ("facts", "text", "level"),
    [
        ({"verdict": Verdict.IDLE}, "· wants no CPU", "dim"),
        ({}, "● not throttled", "good"),
        ({"verdict": Verdict.CAPPED}, "▬ at its limit", "note"),
        ({"verdict": Verdict.CAPPED, "limited_by": "HR (CPU_COUNT)"}, "▬ HR at its limit", "note"),
        ({"verdict": Verdict.CAPPED, "limited_by": "subplan DAY"}, "▬ subplan DAY at its limit", "note"),
        (
            {"verdict": Verdict.IDLE, "px_queued": 3, "head_waited": 166.0, "head_cause": Cause.GROUP},
            "▲ 3 queued 2:46 (group limit)",
            "warn",
        ),
        ({"px_queued": 1, "head_cause": Cause.NEVER_FITS, "queue_hurts": True}, "✕ 1 queued (too large)", "bad"),
        ({"px_queued": 1, "head_cause": Cause.NEVER_FITS, "starts_in": 900.0}, "▲ 1 queued (too large)", "warn"),
        ({"px_queued": 27, "head_cause": Cause.GROUP, "queue_hurts": True}, "✕ 27 queued (group limit)", "bad"),
        ({"px_queued": 3, "head_cause": Cause.GROUP, "starts_in": 20.0}, "▲ 3 queued (group limit)", "warn"),
        (
            {"px_queued": 27, "head_waited": 254.0, "timeout_left": 300.0, "head_cause": Cause.SYSTEM},
            "✕ 27 queued 4:14 (timeout 5:00)",
            "bad",
        ),
        ({"px_queued": 27, "timeout_left": 301.0, "head_cause": Cause.SYSTEM}, "▲ 27 queued (target)", "warn"),
        ({"pool": POOL, "active_sessions": 4}, "▲ pool 4/4 +14 9:35", "warn"),
        ({"pool": POOL._replace(timeout=600), "active_sessions": 4}, "✕ pool 4/4 +14 9:35", "bad"),
        ({"pool": POOL._replace(queued=0)}, "● not throttled", "good"),
        ({"blocked": 32}, "▲ 32 servers blocked", "warn"),
        ({"px_queued": 2, "blocked": 8, "head_cause": Cause.GROUP}, "▲ 2 queued · 8 blocked", "warn"),
        ({"io_held_by": "MAX_IOPS"}, "▲ I/O held by MAX_IOPS", "warn"),
        (
            {"verdict": Verdict.STARVED, "px_queued": 2, "head_waited": 41.0, "pool": POOL, "active_sessions": 4},
            "✕ starved · 2 queued 0:41 · pool +14 9:35",
            "bad",
        ),
        ({"verdict": Verdict.CONTENDED, "px_queued": 2}, "▲ 2 queued", "warn"),
        ({"verdict": Verdict.ZERO_SHARE}, "✕ no share while others run", "bad"),
        ({"verdict": Verdict.ZERO_SHARE, "px_queued": 2}, "✕ no share · 2 queued", "bad"),
    ],
)
def test_the_worst_is_shown_and_what_else_is_wrong(facts: dict[str, Any], text: str, level: str) -> None:
    row = group("BATCH", **facts)
    assert (state_text(row), row.state.level) == (text, level)
    assert (row.rank < 2) == (level in {"bad", "warn"})


def test_files_have_one_word() -> None:
    assert GROUPS["state"].value(group("BATCH", px_queued=2)) == "queued"
    assert GROUPS["state"].value(group("BATCH", verdict=Verdict.ZERO_SHARE, px_queued=2)) == "zero_share"


def test_causes_and_timeouts_are_those_of_the_groups_own_queue() -> None:
    reading = busy()
    queue = [replace(queued(1), timeout_left=90.0), replace(queued(2), timeout_left=40.0)]
    rows = {row.name: row for row in with_reasons(reading.groups, reading.heads, queue, (), ())}
    assert (rows["BATCH"].head_cause, rows["BATCH"].timeout_left) == (Cause.GROUP, 40.0)
    assert (rows["ETL"].head_cause, rows["ETL"].timeout_left) == (Cause.SYSTEM, None)
    assert rows["REPORTS"].head_cause is None
    queue = [replace(each, timeout_action="RUN") for each in queue] + [replace(queued(3), timeout_left=80.0)]
    rows = {row.name: row for row in with_reasons(reading.groups, reading.heads, queue, (), ())}
    assert (rows["BATCH"].timeout_left, rows["BATCH"].starts_in) == (80.0, 40.0)


def test_an_io_limit_is_that_of_the_groups_container_and_only_where_it_does_io() -> None:
    held = LimitedContainer(1, 3, "SALES", None, 1.6, None, 200, IoVerdict.THROTTLED, held_by="MAX_MBPS")
    rows = [group("A", con_id=3), group("A", con_id=3, inst_id=2), group("B", con_id=4), group("C", con_id=3, io=None)]
    assert [row.io_held_by for row in with_reasons(rows, (), (), [held], ())] == ["MAX_MBPS", "", "", ""]
    calm = held._replace(verdict=IoVerdict.NEAR)
    assert [row.io_held_by for row in with_reasons(rows, (), (), [calm], ())] == [""] * 4


def test_no_limit_is_not_shown_where_the_limit_is_that_of_all_instances() -> None:
    """32/- stood beside `(group limit)`, as for a group without a limit."""
    whole = group("A", px_servers=64, servers_limit=64, servers_limit_percent=50)
    rows = (
        whole,
        whole._replace(inst_id=1, px_servers=32, servers_limit=None),
        group("B", px_servers=0, servers_limit=None, servers_limit_percent=None),
    )
    assert [GROUPS["px_servers_active"].text(row) for row in rows] == ["64/64", "32/50 %", "0/-"]


def test_servers_of_blocked_statements_are_those_of_their_group_here_and_in_the_cluster() -> None:
    rows = [group("A"), group("A", inst_id=1), group("A", inst_id=2), group("B")]
    one = replace(busy().running[0], group="A", con_id=rows[0].con_id, servers=8, servers_by_instance={1: 6, 2: 2})
    blocked = with_reasons(rows, (), (), (), [replace(one, blocker="1:88"), replace(one, blocker="")])
    assert [row.blocked for row in blocked] == [8, 6, 2, 0]


def test_groups_with_alerts_come_in_the_order_of_the_alerts() -> None:
    reading = busy()
    rows = tuple(group(name, px_queued=0 if name == "C" else 1) for name in "ABCD")
    alerts = [Alert("warn", "▲", "", "", "queue_waits", name) for name in ("C", "D", "", "B", "D")]
    found = Moment(replace(reading, groups=rows), alerts=alerts).groups()
    assert [row.name for row in found] == ["D", "B", "A", "C"], "a group without trouble is last"


def test_a_groups_demand_is_not_known_if_cpu_is_not_managed() -> None:
    row = group("A", verdict=Verdict.NOT_MANAGED, used=7.9, waiting=0.0)
    assert (row.used, row.wanted, row.throttled_percent) == (7.9, None, None)


def test_trouble_comes_first_and_the_cursor_starts_on_it() -> None:
    shown = Moment(busy()).groups()
    assert [row.name for row in shown][:3] == ["ETL", "BATCH", "INTERACTIVE"], "the others in the order of the plan"
    rows = TableRows(OVERVIEW)
    rows.all = [group("A"), group("B")]
    rows.arrange()
    rows.all = [group("B", verdict=Verdict.STARVED), group("A")]
    rows.arrange()
    assert rows.row.name == "B", "the cursor has not been moved yet"  # type: ignore[union-attr]
    rows.go(1)
    rows.all = [group("A"), group("B")]
    rows.arrange()
    assert rows.row.name == "A"  # type: ignore[union-attr]
