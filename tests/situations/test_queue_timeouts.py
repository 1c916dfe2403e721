"""A queue timeout that starts a statement is no incident; one that ends it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.analysis.alerts.alert_rules import wrong
from presman.output.plugin_check import PluginState, result
from tests.situations.spooled import RELEASE_19, reading

QUEUED = """
SID | USERNAME | STATUS | RESOURCE_CONSUMER_GROUP | SQL_ID        | EVENT            | STATE   | WAIT_TIME_MICRO
 71 | RPT      | ACTIVE | REPORTS                 | 4m7m0t6fjcs5x | resmgr:pq queued | WAITING | 280000000
"""
DIRECTIVES = """
PLAN | GROUP_OR_SUBPLAN | TYPE           | MGMT_P1 | PARALLEL_QUEUE_TIMEOUT{column}
DAY  | REPORTS          | CONSUMER_GROUP |      50 |                    300{value}
DAY  | OTHER_GROUPS     | CONSUMER_GROUP |      50 |{rest}
"""
PLAN = """
ID | NAME | IS_TOP_PLAN | CPU_MANAGED | PARALLEL_EXECUTION_MANAGED | PARALLEL_SERVERS_ACTIVE | PARALLEL_SERVERS_TOTAL
 1 | DAY  | TRUE        | ON          | FULL                       |                      64 |                     64
"""


@pytest.mark.parametrize(
    ("action", "state", "check", "short"),
    [
        (" CANCEL", "bad", PluginState.CRITICAL, "1 queued times out within 5:00"),
        (" ", "bad", PluginState.CRITICAL, "1 queued times out within 5:00"),  # NULL: CANCEL is what DBMS_RM gives it
        (
            " RUN",
            "note",
            PluginState.WARNING,
            "1 queued starts at its timeout, within 5:00, perhaps with fewer servers",
        ),
        (None, "warn", PluginState.WARNING, "1 queued reaches its timeout within 5:00"),
    ],
)
def test_what_comes_20_s_before_the_timeout(
    tmp_path: Path, action: str | None, state: str, check: PluginState, short: str
) -> None:
    column, value, rest = ("", "", " ") if action is None else (" | PQ_TIMEOUT_ACTION", f" |{action}", " | ")
    views = {
        **RELEASE_19,
        "V$SESSION": QUEUED,
        "V$RSRC_PLAN": PLAN,
        "DBA_RSRC_PLAN_DIRECTIVES": DIRECTIVES.format(column=column, value=value, rest=rest),
    }
    found = reading(tmp_path, views)
    (statement,) = found.queue
    assert statement.timeout_left == 300 - 280
    (alert,) = [each for each in wrong(found) if each.key == "queue_timeout"]
    assert (alert.state, alert.short) == (state, short)
    assert result(found, (), ()).state is check
    (group,) = [each for each in found.cluster_groups() if each.name == "REPORTS"]
    assert group.state.level == ("bad" if state == "bad" else "warn")
