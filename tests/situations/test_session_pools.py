"""Sessions that wait for `resmgr:become active`, from little more than a listing of V$SESSION."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.totals import totals
from presman.analysis.trends.database_events import TIMEOUT, EventWatch
from presman.base.formats import counted
from presman.figures.drawing.lines import plain
from presman.tui.pages.row_details import group as group_page
from tests.recording.recorded import polled
from tests.situations.spooled import reading

WAITS = (9.0, 41.5, 3.0, 120.0, 17.25, 60.0)


def sessions(group: str = "| BATCH", waited: bool = True) -> str:
    """Two sessions of BATCH that run and six that wait."""
    head = "SID | STATUS | EVENT | STATE" + (" | RESOURCE_CONSUMER_GROUP" if group else "")
    run = "{} | ACTIVE | db file sequential read | WAITED SHORT TIME" + f" {group}"
    wait = "{} | ACTIVE | resmgr:become active | WAITING" + f" {group}"
    rows = [run.format(10), run.format(11), *(wait.format(20 + place) for place in range(6))]
    if waited:
        head += " | WAIT_TIME_MICRO"
        micro = (4000, 5000, *(round(1e6 * seconds) for seconds in WAITS))
        rows = [f"{row} | {each}" for row, each in zip(rows, micro, strict=True)]
    return "\n".join([head, *rows])


def test_v_session_alone(tmp_path: Path) -> None:
    found = reading(tmp_path, {"V$SESSION": sessions()})
    (alert,) = [each for each in wrong(found) if each.key == "session_pool"]
    assert alert.text == (
        "BATCH: 6 wait for the session pool, the first for 2:00; 2 active (ACTIVE_SESS_POOL_P1); the timeout is not "
        "known"
    )
    assert totals(found).pool_queued == 6
    (group,) = found.cluster_groups()
    assert (group.active_sessions, group.state.text) == (2, "pool 2/- +6 2:00")
    step = to_do(found)
    assert step is not None
    assert step.text.endswith(": 6 wait")


def test_without_the_group_and_the_time_of_the_wait(tmp_path: Path) -> None:
    found = reading(tmp_path, {"V$SESSION": sessions(group="", waited=False)})
    (alert,) = [each for each in wrong(found) if each.key == "session_pool"]
    assert alert.text == (
        "unknown group: 6 wait for the session pool; 2 active (ACTIVE_SESS_POOL_P1); the timeout is not known"
    )


PLAN = "NAME | IS_TOP_PLAN | CPU_MANAGED\nDAY | TRUE | ON"


@pytest.mark.parametrize(
    ("column", "value", "end"),
    [
        ("", "", "the timeout is not known"),
        (" | QUEUEING_P1", " | ", "without a timeout"),
        (" | QUEUEING_P1", " | 600", "timeout 10:00"),
    ],
)
def test_the_directive_has_the_timeout_if_its_column_was_spooled(
    tmp_path: Path, column: str, value: str, end: str
) -> None:
    head = "PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | ACTIVE_SESS_POOL_P1"
    rows = ("DAY | BATCH | CONSUMER_GROUP | 50 | 2", "DAY | OTHER_GROUPS | CONSUMER_GROUP | 50 | ")
    directives = "\n".join([head + column, *(row + value for row in rows)])
    views = {"V$SESSION": sessions(), "V$RSRC_PLAN": PLAN, "DBA_RSRC_PLAN_DIRECTIVES": directives}
    (alert,) = [each for each in wrong(reading(tmp_path, views)) if each.key == "session_pool"]
    assert alert.text == (
        f"BATCH: 6 wait for the session pool, the first for 2:00; 2 of 2 allowed active (ACTIVE_SESS_POOL_P1); {end}"
    )


def test_an_earlier_queue_length_hides_no_waiting_session(tmp_path: Path) -> None:
    groups = "NAME | ACTIVE_SESSIONS | QUEUE_LENGTH\nBATCH | 2 | 5"
    found = reading(tmp_path, {"V$SESSION": sessions(), "V$RSRC_CONSUMER_GROUP": groups})
    (group,) = found.cluster_groups()
    assert group.pool is not None
    assert (group.pool.queued, group.active_sessions) == (6, 2)


def test_calls_that_failed_at_the_timeout_are_an_event_and_are_counted() -> None:
    """In throttled the first that waits fails after ten minutes; the next one is then far from its own end."""
    watch, texts = EventWatch(), []
    for snapshot, last in polled("throttled", 12, step=20.0, since=360.0):
        texts += [each.text for each in watch.add(last, snapshot) if each.kind == TIMEOUT]
    (batch,) = (row for row in last.cluster_groups() if row.name == "BATCH")
    assert texts
    assert all(each.startswith("BATCH: ") and "session pool timeout" in each for each in texts)
    assert batch.sessions.pool_timeouts == sum(int(each.split()[1]) for each in texts)
    page = "\n".join(map(plain, group_page(batch, last)))
    assert (
        f"; {counted(batch.sessions.pool_timeouts, 'call')} failed at the timeout since the plan was activated" in page
    )
