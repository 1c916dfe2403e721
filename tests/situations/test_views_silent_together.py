"""Several views fall silent together: what only they show has its age, and what no view shows is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.not_known import not_known
from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.trends import Watch
from presman.base.formats import duration
from presman.figures.drawing.lines import plain
from presman.output.text_report import servers
from presman.tabs.parallel import queue_line
from tests.situations.silence import Course, polls_without, silent


def course(folder: Path, scenario: str, *views: str, polls: int = 4) -> Course:
    return silent(polls_without(views, scenario, folder, polls))


def test_servers_in_use_that_no_view_counts_now_have_their_age(tmp_path: Path) -> None:
    """The sentence of the head gave an old count as if it were current."""
    for _, reading in course(tmp_path, "holders", "V$RSRC_PLAN", "V$PX_PROCESS_SYSSTAT"):
        age = duration(reading.late[0].age)
        assert f"of the target's 64 are in use as of {age} ago; " in reading.heads[0].sentence
        line = plain(queue_line(reading, Watch()))
        assert f"in use 58 as of {age} ago  against the target 58 as of {age} ago of 64" in line


def test_servers_in_use_that_one_of_the_views_counts_have_no_age(tmp_path: Path) -> None:
    for _, reading in course(tmp_path, "holders", "V$RSRC_PLAN"):
        assert "of the target's 64 are in use; " in reading.heads[0].sentence


@pytest.mark.parametrize("view", ["V$PX_PROCESS_SYSSTAT", "V$RSRC_CONSUMER_GROUP"])
def test_servers_that_no_group_counts_are_no_difference_of_an_old_count_and_a_new_one(
    tmp_path: Path, view: str
) -> None:
    for _, reading in course(tmp_path, "storm", view, polls=8):
        assert reading.unmanaged_servers is None
    whole = polls_without(("V$OSSTAT",), "storm", tmp_path, 3)
    assert all(reading.unmanaged_servers is not None for _, reading in whole)


def test_without_v_instance_a_quiesce_is_not_known(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "holders", "V$INSTANCE")[-1]
    what = "whether an instance is gone or was started and whether the database is quiesced"
    assert not_known(reading) == (f"{what} (GV$INSTANCE: no answer in time)",)


def test_a_quiesce_that_another_view_shows_is_known(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "quiesce", "V$INSTANCE")[-1]
    (alert,) = [each for each in wrong(reading) if each.key == "quiesced"]
    assert "as of" not in alert.text
    assert not_known(reading) == ("whether an instance is gone or was started (GV$INSTANCE: no answer in time)",)


def test_unseen_sessions_are_not_said_to_wait_for_the_quiesce(tmp_path: Path) -> None:
    """DO let "the waiting sessions" in; the alert named an old wait for the quiesce as if it were current."""
    for _, reading in course(tmp_path, "quiesce", "V$INSTANCE", "V$SESSION", "V$RSRC_PLAN"):
        (alert,), step = [each for each in wrong(reading) if each.key == "quiesced"], to_do(reading)
        assert step is not None
        assert reading.quiesce is not None
        age = f" (as of {duration(reading.late[0].age)} ago)"
        assert (reading.quiesce.by, reading.quiesce.longest) == ((), None)
        lets_in = f"lets other users in{age}"
        assert ", who was seen to wait for `" in alert.text
        assert alert.text.endswith(f"`): ALTER SYSTEM UNQUIESCE {lets_in}")
        assert step.text.startswith(f"ask {reading.quiesce.was_by[0]} whether it may end: ")
        assert step.text.endswith(lets_in)
        assert step.short.endswith(lets_in)


def test_a_blocked_session_has_the_age_of_what_it_holds(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "holders", "V$PX_SESSION")[-1]
    step, age = to_do(reading), duration(reading.late[0].age)
    assert step is not None
    assert f"ETL 1:205 waits for it and holds 10 servers (as of {age} ago)" in step.text
    assert step.short.endswith(f"waits for it (as of {age} ago)")


def alert_of(key: str, reading: Reading) -> Alert:
    (found,) = [each for each in wrong(reading) if each.key == key]
    return found


def test_only_the_plan_is_old_while_v_rsrc_plan_is_silent(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "noplan", "V$RSRC_PLAN", polls=8)[-1]
    age = duration(reading.age_of("V$RSRC_PLAN"))
    short = f"8.0 of 8.0 CPUs used, no plan (as of {age} ago) divides them"
    found = alert_of("cpu_without_plan", reading)
    assert (found.short, found.text) == (short, f"CPU: {short}: sessions that ask for most get most")


def test_only_pool_waiters_are_old_while_v_session_is_silent(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "throttled", "V$SESSION")[-1]
    found, age = alert_of("session_pool", reading), duration(reading.age_of("V$SESSION"))
    before, _, after = found.text.partition(f" (as of {age} ago); ")
    assert found.short == f"{before} (as of {age} ago)"
    assert " active (ACTIVE_SESS_POOL_P1); " in after


@pytest.mark.parametrize(
    ("views", "holds", "waits"),
    [(("V$SESSION",), "", " (as of {} ago)"), (("V$PX_SESSION",), " (as of {} ago)", ""),
     (("V$SESSION", "V$PX_SESSION"), "", " (as of {} ago)")],
    ids=["the list", "the servers", "both"],
)  # fmt: skip
def test_facts_of_a_holder_have_the_age_of_their_view(
    tmp_path: Path, views: tuple[str, ...], holds: str, waits: str
) -> None:
    _, reading = course(tmp_path, "locked", *views)[-1]
    holds, waits = (words.format(duration(reading.late[0].age)) for words in (holds, waits))
    assert alert_of("blocked_holder", reading).short == f"32 servers{holds} held by blocked statements{waits}"
    idle = alert_of("idle_holder", reading).short
    assert idle == f"1 idle holder{waits} keeps 8 servers{holds}" or (len(views) == 2 and idle.endswith(waits))


def test_a_missing_count_is_not_compared_with_the_target(tmp_path: Path) -> None:
    """Tab 4 showed "in use 40  against the target - of 96": V$RSRC_PLAN, which counts them, was silent."""
    _, reading = course(tmp_path, "pdb", "V$RSRC_PLAN")[-1]
    line = plain(queue_line(reading, Watch()))
    assert reading.header.servers.counted is None
    assert "  target 96  max 160" in line
    assert "against" not in line


def test_the_most_servers_have_the_age_of_the_parameters(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "holders", "V$SYSTEM_PARAMETER", polls=30)[-1]
    line = plain(queue_line(reading, Watch()))
    assert f"  max 96 as of {duration(reading.age_of('V$SYSTEM_PARAMETER'))} ago" in line


def test_a_limit_inside_a_container_is_as_old_as_that_of_the_container(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "pdb", "DBA_CDB_RSRC_PLAN_DIRECTIVES", polls=24)[-1]
    age = duration(reading.age_of("DBA_CDB_RSRC_PLAN_DIRECTIVES"))
    (head,) = reading.heads
    assert f" of 36 allowed as of {age} ago (75 % of 48); how many servers REPORTING may hold now " in head.sentence


def test_the_gauge_of_servers_has_the_age_of_its_view(tmp_path: Path) -> None:
    """`once` and the top line gave an old number; tab 4 had its age."""
    _, reading = course(tmp_path, "holders", "V$PX_PROCESS_SYSSTAT", "V$SYSTEM_PARAMETER", polls=30)[-1]
    used, most = (duration(reading.age_of(view)) for view in ("V$PX_PROCESS_SYSSTAT", "V$SYSTEM_PARAMETER"))
    assert servers(reading) == f"servers 58 in use as of {used} ago of target 64, max 96 as of {most} ago"


def test_uncounted_servers_have_the_age_of_their_holders(tmp_path: Path) -> None:
    _, reading = course(tmp_path, "storm", "V$PX_SESSION", polls=6)[-1]
    line = plain(queue_line(reading, Watch()))
    assert " in use that no group counts: " in line
    assert line.partition("MARTIN 1:")[2].endswith(f" as of {duration(reading.age_of('V$PX_SESSION'))} ago")
