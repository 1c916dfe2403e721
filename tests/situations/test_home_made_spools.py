"""Spools written by hand: each view has its own time, some miss a pass, some have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.analysis.readings.reading import Reading
from presman.tabs.alerts import availability_notes
from tests.situations.spooled import readings

SESSION = "SID | STATUS | EVENT | STATE | RESOURCE_CONSUMER_GROUP | WAIT_TIME_MICRO"
QUEUED = "30 | ACTIVE | resmgr:pq queued | WAITING | BATCH | {}"
PLAN = (
    "NAME | IS_TOP_PLAN | CPU_MANAGED | PARALLEL_EXECUTION_MANAGED | PARALLEL_SERVERS_ACTIVE | PARALLEL_SERVERS_TOTAL"
)
IN_FORCE = "DAY | TRUE | ON | FULL | 64 | 64"
GROUPS = "NAME | CONSUMED_CPU_TIME | CPU_WAIT_TIME"
HOLDERS = "SID | QCSID | DEGREE | REQ_DEGREE"
DIRECTIVES = "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1"


def stamped(head: str, *rows: tuple[float, str]) -> str:
    """A table whose rows have times, in seconds after 10:00."""
    lines = [f"{row} | 2026-03-14 10:{int(at) // 60:02}:{at % 60:06.3f}" for at, row in rows]
    return "\n".join([f"{head} | SAMPLE_TIME", *lines])


def rows_of(found: list[Reading]) -> list[tuple[str, int, str, float | None]]:
    """Return for each poll its time, the number of queued statements, the plan and the CPUs of BATCH."""
    return [
        (
            f"{each.at:%M:%S}",
            len(each.queue),
            each.header.plan,
            next((row.used for row in each.cluster_groups() if row.name == "BATCH"), None),
        )
        for each in found
    ]


def nothing_is_called_empty(found: list[Reading]) -> bool:
    return not any(
        "no queue" in line.casefold() or "Nothing is" in line for each in found for line in availability_notes(each)
    )


@pytest.mark.parametrize(
    ("every", "offsets"),
    [
        (60.0, (0.0, 3.0, 8.0, 9.5)),
        (60.0, (8.0, 1.0, 0.0, 16.0)),  # V$SESSION third
        (10.0, (0.0, 1.0, 2.0, 3.0)),
        (10.0, (0.0, 3.0, 7.0, 9.0)),  # a pass takes nearly as long as there is to the next
        (2.0, (0.0, 0.4, 0.8, 1.2)),
    ],
)
def test_a_pass_over_the_views_is_one_poll(tmp_path: Path, every: float, offsets: tuple[float, ...]) -> None:
    session, plan, groups, directives = offsets
    passes = [number * every for number in range(3)]
    views = {
        "V$SESSION": stamped(SESSION, *((at + session, QUEUED.format(1_000_000)) for at in passes)),
        "V$RSRC_PLAN": stamped(PLAN, *((at + plan, IN_FORCE) for at in passes)),
        # 4,000 ms of CPU in each second: 4 CPUs.
        "V$RSRC_CONSUMER_GROUP": stamped(GROUPS, *((at + groups, f"BATCH | {4000 * at:.0f} | 0") for at in passes)),
        "DBA_RSRC_PLAN_DIRECTIVES": stamped(DIRECTIVES, (directives, "DAY | BATCH | CONSUMER_GROUP | 100")),
    }
    found = readings(tmp_path, views)
    begins = [at + min(offsets) for at in passes]
    assert rows_of(found) == [
        (f"{int(at) // 60:02}:{int(at) % 60:02}", 1, "DAY", used)
        for at, used in zip(begins, (None, 4.0, 4.0), strict=True)
    ]
    assert [each.queue[0].waited for each in found] == [1.0, 1.0, 1.0]
    assert nothing_is_called_empty(found)


def test_a_rate_is_that_of_its_own_file_however_long_the_views_before_it_took(tmp_path: Path) -> None:
    """V$RSRC_CONSUMER_GROUP came 2 s after V$SESSION, then 12 s after: 70 s, and 140 s of CPU."""
    views = {
        "V$SESSION": stamped(SESSION, (0, QUEUED.format(0)), (60, QUEUED.format(0))),
        "V$RSRC_PLAN": stamped(PLAN, (0, IN_FORCE), (60, IN_FORCE)),
        "V$RSRC_CONSUMER_GROUP": stamped(GROUPS, (2, "BATCH | 0 | 0"), (72, "BATCH | 140000 | 0")),
    }
    assert rows_of(readings(tmp_path, views))[-1] == ("01:00", 1, "DAY", 2.0)


def test_a_view_that_misses_a_pass_is_not_known_there(tmp_path: Path) -> None:
    """V$SESSION has the first and the third minute, V$PX_SESSION and V$RSRC_PLAN have all three."""
    holder = "11 | 10 | 2 | 2"
    views = {
        "V$SESSION": stamped(SESSION, (0, QUEUED.format(0)), (120, QUEUED.format(0))),
        "V$RSRC_PLAN": stamped(PLAN, (3, IN_FORCE), (63, IN_FORCE), (123, IN_FORCE)),
        "V$PX_SESSION": stamped(HOLDERS, (4, holder), (64, holder), (124, holder)),
    }
    found = readings(tmp_path, views)
    assert [(each[0], each[1], each[2]) for each in rows_of(found)] == [
        ("00:00", 1, "DAY"),
        ("01:03", 0, "DAY"),
        ("02:00", 1, "DAY"),
    ]
    assert [len(each.running) for each in found] == [1, 1, 1]
    assert "a queue (GV$SESSION is not there)" in " ".join(availability_notes(found[1]))
    assert nothing_is_called_empty(found)


def test_a_view_that_stops_before_the_others_is_not_known_at_the_end(tmp_path: Path) -> None:
    views = {
        "V$SESSION": stamped(SESSION, (0, QUEUED.format(0))),
        "V$RSRC_PLAN": stamped(PLAN, (1, IN_FORCE), (61, IN_FORCE)),
    }
    found = readings(tmp_path, views)
    assert [len(each.queue) for each in found] == [1, 0]
    assert nothing_is_called_empty(found)


def test_one_pass_of_views_seconds_apart(tmp_path: Path) -> None:
    views = {
        "V$RSRC_PLAN": stamped(PLAN, (0, IN_FORCE)),
        "V$PX_SESSION": stamped(HOLDERS, (8, "11 | 10 | 2 | 2")),
        "V$SESSION": stamped(SESSION, (16, QUEUED.format(5_000_000))),
    }
    (found,) = readings(tmp_path, views)
    assert (len(found.queue), len(found.running), found.header.plan) == (1, 1, "DAY")


def test_a_file_without_times_holds_in_every_pass(tmp_path: Path) -> None:
    views = {
        "V$SESSION": stamped(SESSION, (0, QUEUED.format(0)), (60, QUEUED.format(0))),
        "V$RSRC_PLAN": f"{PLAN}\n{IN_FORCE}",
    }
    assert [(each[1], each[2]) for each in rows_of(readings(tmp_path, views))] == [(1, "DAY"), (1, "DAY")]


def test_parameters_read_later_make_no_poll_of_their_own(tmp_path: Path) -> None:
    views = {
        "V$SESSION": stamped(SESSION, (0, QUEUED.format(0)), (60, QUEUED.format(0))),
        "V$PARAMETER": stamped("NAME | VALUE", (900, "parallel_max_servers | 80")),
    }
    found = readings(tmp_path, views)
    assert [len(each.queue) for each in found] == [1, 1]


def test_a_view_that_was_empty_has_a_row_of_its_time_alone(tmp_path: Path) -> None:
    """`presman collect` writes it so, and then it is known: in the second pass no session waits."""
    views = {
        "V$SESSION": stamped(SESSION, (0, QUEUED.format(0)), (60, " |  |  |  |  | ")),
        "V$RSRC_PLAN": stamped(PLAN, (1, IN_FORCE), (61, IN_FORCE)),
    }
    found = readings(tmp_path, views)
    assert [len(each.queue) for each in found] == [1, 0]
    assert "No queue now (by GV$SESSION)." in availability_notes(found[1])
