"""A group's limit is lowered while its head waits: no session is ended because of a limit that no longer holds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.not_known import not_known
from presman.analysis.alerts.rule_book import silent_views
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause
from presman.base.formats import duration
from presman.figures.figure import late_note
from presman.figures.group_figures import PARALLEL_GROUPS
from presman.polling.poller import Poller
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock

SCENARIO = """
title = "altered"
database = "A"
host = "a"
release = "19"
seed = 4
warmup = "10m"
plan = "DP"
[capacity]
cpu_count = 16
parallel_servers_target = 64
parallel_max_servers = 96
[plans.DP.directives]
SYS_GROUP = {{ mgmt_p1 = 75 }}
REP = {{ mgmt_p2 = 40, parallel_server_limit = 50, parallel_queue_timeout = "20m" }}
OTHER_GROUPS = {{ mgmt_p2 = 30 }}
[[script]]
at = "-8m"
group = "REP"
dop = 8
seconds = 3
hold = "{hold}"
sid = 201
serial = 5
user = "IDLER"
sql = "select /*+ parallel(8) */ 1 from a"
[[script]]
at = "-5m"
group = "REP"
dop = 8
seconds = 900
sid = 202
serial = 5
user = "RUNNER"
sql = "select /*+ parallel(8) */ 2 from a"
[[script]]
at = "-3m"
group = "REP"
dop = 8
seconds = 60
sid = 203
serial = 5
user = "WAITER"
sql = "select /*+ parallel(8) */ 3 from a"
[[alterations]]
at = "10s"
plan = "DP"
group = "REP"
directive = {{ mgmt_p2 = 40, parallel_server_limit = {limit}, parallel_queue_timeout = "20m" }}
"""

SILENT = """
[[outages]]
at = "5s"
lasts = "10m"
views = ["DBA_RSRC_PLAN_DIRECTIVES"]
"""


OWN_TARGET = """
title = "own target"
database = "C"
host = "c"
release = "19"
seed = 4
warmup = "10m"
cdb_plan = "CP"
[capacity]
cpu_count = 16
parallel_servers_target = 64
parallel_max_servers = 96
[pdbs]
A = { plan = "AP", shares = 2, parallel_servers_target = 24 }
B = { shares = 1 }
[plans.AP.directives]
REP = { mgmt_p1 = 60 }
OTHER_GROUPS = { mgmt_p1 = 40 }
[[script]]
at = "-8m"
pdb = "A"
group = "REP"
dop = 8
seconds = 3
hold = "12h"
sid = 201
serial = 5
user = "IDLER"
sql = "select /*+ parallel(8) */ 1 from a"
[[script]]
at = "-4m"
pdb = "A"
group = "REP"
dop = 8
seconds = 60
sid = 203
serial = 5
user = "WAITER"
sql = "select /*+ parallel(8) */ 3 from a"
[[outages]]
at = "5s"
lasts = "10m"
views = ["V$SYSTEM_PARAMETER"]
"""


@cache
def course(scenario: str, seconds: int) -> list[Reading]:
    """Return the readings of polls every 3 seconds."""
    clock = Clock()
    with TemporaryDirectory() as folder:
        file = Path(folder, "altered.toml")
        file.write_text(scenario)
        poller = Poller(SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
        poller.open()
    found, before = [], None
    for _ in range(seconds // 3):
        clock.now += 3.0
        snapshot = poller.poll()
        found.append(analyse(before, snapshot))
        before = snapshot
    return found


def ended(reading: Reading) -> list[str]:
    """Return the sessions that presman offers to end, anywhere."""
    step = to_do(reading)
    offered = [each.statement.user for found in unblock(reading) for each in found.candidates if each.commands]
    return offered + [each.text for each in step.commands] if step is not None else offered


def test_a_limit_that_was_lowered_proves_no_end_at_the_next_poll() -> None:
    """For up to a minute DO advised to end the idle holder, by the old limit; its end let nothing start."""
    readings = course(SCENARIO.format(hold="12h", limit=25), 90)
    assert all(map(ended, readings[:3])), "16 of 32 servers are idle, and the head wants 16"
    assert {tuple(ended(each)) for each in readings[3:]} == {("IDLER", "RUNNER")}, "only together they free enough"
    assert {each.commands for reading in readings[3:] if (each := to_do(reading)) is not None} == {()}
    assert readings[3].heads[0].allowed == 16


def test_a_target_of_a_container_that_is_not_read_proves_no_end() -> None:
    """PARALLEL_SERVERS_TARGET of a container may have changed as a directive may; V$RSRC_PLAN does not show it."""
    readings = course(OWN_TARGET, 60)
    assert ended(readings[0])
    assert ended(readings[-1]) == []
    (found,) = unblock(readings[-1])
    assert "how many servers REP may hold now is not known (GV$SYSTEM_PARAMETER of 0:57 ago)" in found.sentence
    assert "allowed as of 0:57 ago" in found.head.sentence


@pytest.fixture
def silent() -> list[Reading]:
    readings = course(SCENARIO.format(hold="12h", limit=25) + SILENT, 120)
    assert all(map(ended, readings[:1]))
    return readings[1:]


def test_a_limit_that_is_not_read_proves_no_end(silent: list[Reading]) -> None:
    assert [ended(each) for each in silent] == [[]] * len(silent)
    age = "DBA_RSRC_PLAN_DIRECTIVES of 1:57 ago"
    (found,) = unblock(silent[-1])
    step = to_do(silent[-1])
    assert step is not None
    for words in (found.head.sentence, found.sentence, step.text):
        assert f"how many servers REP may hold now is not known ({age})" in words


def test_an_unread_limit_is_reported_from_the_first_poll(silent: list[Reading]) -> None:
    """For two minutes nothing showed it, and the list of alerts had ok for `not_known` and `queue_timeout`."""
    assert [each.view for each in silent[0].late] == ["DBA_RSRC_PLAN_DIRECTIVES"]
    assert any("DBA_RSRC_PLAN_DIRECTIVES" in text for text in not_known(silent[0]))
    assert silent_views("queue_timeout", silent[0]) == ("DBA_RSRC_PLAN_DIRECTIVES",)


def test_the_queue_timeout_has_the_age_of_its_view(silent: list[Reading]) -> None:
    (row,) = silent[-1].queue
    assert row.timeout_by == "DBA_RSRC_PLAN_DIRECTIVES of 1:57 ago"


@pytest.mark.parametrize("silence", ["", SILENT])
def test_servers_below_an_older_limit_are_not_called_free(silence: str) -> None:
    """The head was expected to start by the next poll; then its own limit, which presman could not see, was blamed."""
    readings = course(SCENARIO.format(hold="500s", limit=25) + silence, 120)
    holders = [{each.user for each in reading.running} for reading in readings]
    assert ("IDLER" in holders[0], "IDLER" in holders[-1]) == (True, False), "it left by itself"
    for reading in readings[4:]:
        assert "by the next poll" not in reading.heads[0].sentence
        assert "presman cannot see" not in reading.heads[0].sentence


@pytest.mark.parametrize("silence", ["", SILENT])
def test_too_large_for_an_older_limit_does_not_mean_never(silence: str) -> None:
    """Its limit was raised. That a statement can never start is critical, and only a current limit shows it."""
    low = SCENARIO.replace("parallel_server_limit = 50", "parallel_server_limit = 20")
    low = low.replace('group = "REP"', 'group = "OTHER_GROUPS"', 1)  # none as large runs in the group
    low = low.replace("dop = 8\nseconds = 900", "dop = 2\nseconds = 900")
    readings = course(low.format(hold="12h", limit=50) + silence, 60)
    assert readings[0].heads[0].never_starts
    assert not any(head.never_starts for reading in readings[3:] for head in reading.heads)


def test_the_limit_of_the_last_full_minute_proves_no_end() -> None:
    """Without the directives V$RSRCMGRMETRIC shows the limit: DO advised to end the idle holder by the old one."""
    never = SILENT.replace("5s", "0s")
    readings = course(SCENARIO.format(hold="12h", limit=25) + never, 120)
    assert [head.allowed for reading in (readings[5], readings[-1]) for head in reading.heads] == [32, 16]
    assert [ended(each) for each in readings] == [[]] * len(readings)
    (found,) = unblock(readings[5])
    since = "has changed since the last full minute is not known (GV$RSRCMGRMETRIC of 0:15 ago)"
    why = f"whether the limit of servers of REP {since}"
    assert found.sentence == f"ending one idle holder frees the 16 servers with which it may start; but {why}"
    step = to_do(readings[5])
    assert step is not None
    assert step.text == f"wait: IDLER 1:201 keeps 16 servers that the head of REP could use; {why}"


def test_too_large_for_the_last_minutes_limit_does_not_mean_never() -> None:
    low = SCENARIO.replace("parallel_server_limit = 50", "parallel_server_limit = 20")
    low = low.replace('group = "REP"', 'group = "OTHER_GROUPS"', 1)
    low = low.replace("dop = 8\nseconds = 900", "dop = 2\nseconds = 900")
    readings = course(low.format(hold="12h", limit=50) + SILENT.replace("5s", "0s"), 60)
    assert readings[1].heads[0].cause is Cause.NEVER_FITS
    assert not any(head.never_starts for reading in readings for head in reading.heads)


def test_an_older_limit_has_its_age_and_no_number_rests_on_it(silent: list[Reading]) -> None:
    """A number stood beside "how many servers REP may hold now is not known" as if it were current."""
    (head,) = silent[-1].heads
    not_known = "how many servers REP may hold now is not known (DBA_RSRC_PLAN_DIRECTIVES of 1:57 ago)"
    assert head.sentence.endswith(f"; REP holds 32 of 32 allowed as of 1:57 ago (50 % of 64); {not_known}")
    assert head.why == "short of servers (group limit)"
    assert late_note(PARALLEL_GROUPS, silent[-1]) == f"◌ plan {duration(117 + silent[-1].poll_seconds)} old"


def test_no_shortage_is_computed_from_the_last_minutes_limit() -> None:
    readings = course(SCENARIO.format(hold="12h", limit=25) + SILENT.replace("5s", "0s"), 120)
    (head,), step = readings[-1].heads, to_do(readings[-1])
    unknown = "whether the limit of servers of REP has changed since "
    assert f"; REP holds 32 of 16 allowed as of 0:57 ago; {unknown}" in head.sentence
    assert step is not None
    assert not any("short by" in words for words in (head.sentence, step.text, step.short, *step.between))


def test_a_limit_that_is_too_small_has_its_age() -> None:
    low = SCENARIO.replace("parallel_server_limit = 50", "parallel_server_limit = 20")
    low = low.replace('group = "REP"', 'group = "OTHER_GROUPS"', 1)
    readings = course(low.format(hold="12h", limit=20) + SILENT, 60)
    assert "more than the 12 that REP is allowed as of 0:57 ago (20 % of 64), 16 held" in readings[-1].heads[0].sentence
