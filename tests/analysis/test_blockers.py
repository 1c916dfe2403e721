"""Blocked sessions: V$SESSION.BLOCKING_SESSION, from the row to the sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import ends_in
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.figures.statement_figures import running_state
from presman.polling.poller import Poller
from presman.rows.commands import Victim, kill
from presman.rows.session_state import blocker
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link
from presman.tabs.parts import Moment
from presman.tabs.sessions import without_blockers
from presman.tui.pages.advice_lines import offers_for, to_start_line
from tests.scenarios import with_short_past


@pytest.mark.parametrize(
    ("state", "inst_id", "blocking_instance", "blocking_session", "expected"),
    [
        ("WAITING", 1, 2, 88, "2:88"),
        ("WAITING", 3, None, 88, "3:88"),
        ("WAITING", 1, None, None, ""),
        ("WAITED SHORT TIME", 1, 2, 88, ""),  # it waited for it, and runs
        ("", 1, 2, 88, ""),
    ],
)
def test_only_a_session_that_waits_now_is_blocked(
    state: str, inst_id: int, blocking_instance: int | None, blocking_session: int | None, expected: str
) -> None:
    assert blocker(state, inst_id, blocking_instance, blocking_session) == expected


def of(scenario: str) -> Reading:
    source = SimulatorSource(scenario, start=datetime(2026, 3, 12, 1, tzinfo=UTC), clock=lambda: 0.0)
    poller = Poller(source)
    poller.open()
    found = analyse(None, poller.poll())
    poller.close()
    return found


def test_a_load_that_waits_for_a_lock_with_its_servers_in_hand() -> None:
    reading = of(with_short_past("locked"))
    (load,) = [each for each in reading.running if each.user == "ETL"]
    assert (load.servers, load.blocker) == (32, "1:88")
    assert running_state(load) == "● enq: TM - contention, blocked by 1:88"
    (text,) = [each.text for each in alerts(reading, Link()) if "blocked" in each.text]
    assert text.startswith("32 servers held by blocked statements: ETL 1:412,9031 (32) waits for MARTIN 1:88, idle ")
    (session,) = [each for each in reading.sessions if each.sid == 412]
    assert session.blocker == "1:88"
    assert without_blockers(Moment(reading)) == set()


def test_a_load_on_both_instances_of_a_cluster_that_waits_for_a_lock(tmp_path: Path) -> None:
    """The blocked load of `locked` on the cluster of `rac`: 16 of its 32 servers on each instance."""
    cluster, lock = (Path(with_short_past(name)).read_text("utf-8") for name in ("rac", "locked"))
    scripted = lock[lock.index("[[script]]") : lock.index("[[changes]]")]
    path = tmp_path / "locked_rac.toml"
    path.write_text(cluster + scripted.replace('"ETL"\ndop', '"ANALYSIS"\ndop'), "utf-8")
    reading = of(str(path))
    (load,) = [each for each in reading.running if each.user == "ETL"]
    assert (load.servers, load.blocker, dict(load.servers_by_instance)) == (32, "1:88", {1: 16, 2: 16})
    (text,) = [each.text for each in alerts(reading, Link()) if "blocked" in each.text]
    assert text.startswith("32 servers held by blocked statements: ETL 1:412,9031 (32) waits for MARTIN 1:88, idle ")
    assert {row.inst_id: row.blocked for row in reading.groups if row.name == "ANALYSIS"} == {0: 32, 1: 16, 2: 16}
    assert {row.blocked for row in reading.groups if row.name != "ANALYSIS"} == {0}


def test_a_load_on_one_instance_that_waits_for_a_lock_of_the_other() -> None:
    """16 of the load's 32 servers are on each instance; its coordinator is on 1, the blocker on 2."""
    reading = of(with_short_past("locked_rac"))
    (load,) = [each for each in reading.running if each.user == "LOADER"]
    assert (load.inst_id, load.sid, load.blocker) == (1, 310, "2:96")
    assert dict(load.servers_by_instance) == {1: 16, 2: 16}
    (text,) = [each.text for each in alerts(reading, Link()) if "blocked" in each.text]
    assert text.startswith("32 servers held by blocked statements: LOADER 1:310,8802 (32) waits for MARTIN 2:96, idle ")
    assert {row.inst_id: row.blocked for row in reading.groups if row.name == "LOADS"} == {0: 32, 1: 16, 2: 16}
    found = to_do(reading)
    assert found is not None
    assert found.text.startswith("look at MARTIN 2:96, idle ")
    (holder,) = [each for each in reading.running if each.user == "MARTIN"]
    assert "SESSION '96,2025,@2'" in kill(Victim(holder.inst_id, holder.sid, holder.serial)).text


def test_no_blocked_statement_no_alert() -> None:
    reading = of(with_short_past("quiet"))
    assert not any(each.blocker for each in (*reading.sessions, *reading.running))
    assert without_blockers(Moment(reading)) == {"blocked_by"}
    assert not [each for each in alerts(reading, Link()) if "blocked" in each.text]


def test_a_session_that_is_never_offered_has_its_own_reason_beside_a_blocker() -> None:
    found = {each.statement.who: each.why_not for each in unblock(of("holders"))[0].candidates}
    assert found["SYS 1:203"] == "it is SYS: if it is ended, an administrator's work is lost"
    assert found["SYS 1:204"] == "it is RMAN: if it is ended, the backup or restore fails"
    assert found["ANNA 1:202"] == "look at 1:88 first: ETL 1:205, which also holds servers, waits for it"


def test_a_blocker_is_named_before_any_session_to_end() -> None:
    reading = of(with_short_past("locked"))
    (found,) = unblock(reading)
    assert [each.user for each in found.blocked] == ["ETL"]
    line = "".join(text for text, _ in to_start_line(found, key=True))
    assert line == " TO START IT  look at MARTIN 1:88 (idle 9:57, holds 8) first: ETL 1:412 (32 servers) waits for it"
    reading = replace(reading, running=tuple(replace(each, remaining=None) for each in reading.running))
    (found,) = unblock(reading)
    assert found.sentence == "look at 1:88 first: 32 servers are held by a session that waits for it"
    assert found.candidates[0].statement.user == "MARTIN"
    assert not [each for each in found.candidates if each.statement.blocker], "the blocked session is not one to end"
    (blocked,) = found.blocked
    assert not offers_for(blocked, reading).commands
    assert not any("KILL" in each.text for each, _ in offers_for(found.head.statement, reading).commands)
    assert {each.why_not for each in offers_for(found.head.statement, reading).without} >= {
        "look at 1:88 first: ETL 1:412, which also holds servers, waits for it"
    }
    assert offers_for(blocked, reading).why.startswith("it waits for 1:88: look at that session first")
    assert blocked.remaining is None, "the end of a statement without progress is not known"


def test_blocked_servers_that_are_too_few_for_the_head_are_reported() -> None:
    """ETL held 10 servers and waited for MARTIN, who held 4: with all of them REPORTS lacked 12 of 26."""
    reading = of(with_short_past("holders"))
    (found,) = unblock(reading)
    alone = "; REPORTS is short by 26, so that alone is not enough now"
    step = to_do(reading)
    assert step is not None
    assert step.text == f"{step.short} and holds 10 servers{alone}"
    assert found.sentence == f"look at 1:88 first: 10 servers are held by a session that waits for it{alone}"
    assert "".join(text for text, _ in to_start_line(found)).endswith(f"ETL 1:205 (10 servers) waits for it{alone}")
    (lacking,) = found.head.shortages
    for short, remark in ((15, "; REPORTS is short by 15, so that alone is not enough now"), (14, "")):
        head = replace(found.head, shortages=(replace(lacking, short=short),))
        assert unblock(replace(reading, heads=(head,)))[0].too_few == remark


def test_numbers_follow_the_order_of_copying() -> None:
    reading = of(with_short_past("locked"))
    freely = (replace(each, blocker="") for each in reading.running if ends_in(each) is None)
    reading = replace(reading, running=tuple(freely))
    (found,) = unblock(reading)
    alone = [each.enough for each in found.candidates]
    assert alone == sorted(alone, reverse=True), "sessions that are enough alone come first"
    named = [each.statement.user for each in found.candidates]
    offered = [each.statement.user for each in found.candidates if each.commands]
    copied = [holder.split()[0] for _, holder in offers_for(found.head.statement, reading).commands]
    assert copied[: len(offered)] == offered
    assert 0 < len(offered) < len(named)
