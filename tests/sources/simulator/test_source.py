"""Simulator as a source: every release, both scopes, the same course for the same seed, its clock, its errors."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from presman.base.release import SUPPORTED, Release
from presman.config.target import scenarios
from presman.rows import queries, query_files
from presman.rows.group_rows import ConsumerGroup, RsrcPlan, RsrcPlanHistory
from presman.rows.instance_rows import Instance, Osstat, Parameter
from presman.rows.queries import Scope, columns_of
from presman.rows.session_rows import Session, SessionInfo
from presman.sources import Request, SourceError
from presman.sources.simulator.machine import OWN_SID
from presman.sources.simulator.views import VIEWS
from presman.sources.simulator.views.view import plausible, processes
from presman.sources.simulator_source import SimulatorSource
from tests.scenarios import with_short_past
from tests.sources.simulator.conftest import START, Played, binds_of
from tests.thorough import THOROUGH, some
from tests.warmups import each_played

Play = Callable[..., Played]
NEVER_EMPTY = {
    *("consumer_group", "consumer_group_definition", "database", "event_histogram", "group_metric", "instance"),
    *("group_metric_history", "osstat", "parameter", "px_process_sysstat", "rsrc_plan", "rsrc_plan_history"),
    *("session", "session_info", "sysstat", "system_event"),
}

OF_KINDS = [Release(11, 2), Release(12, 2), Release(19), Release(23)]
"""One of each kind: the oldest, one with containers, one with small changes, one with a version of its own."""

OF_CONTAINERS = [Release(12, 1), Release(18), SUPPORTED[-1]]
"""Releases with different queries for containers."""


ORDINARY = {"mixed": OF_KINDS, "pdb": OF_CONTAINERS} | {name: [Release(19)] for name in ("rac", "adb", "noplan")}
RELEASES = dict.fromkeys(scenarios(), SUPPORTED) if THOROUGH else ORDINARY


@pytest.mark.parametrize(
    ("scenario", "release"), [(name, each) for name, releases in RELEASES.items() for each in releases], ids=str
)
def test_every_query_of_every_release(scenario: str, release: Release, play: Play) -> None:
    if scenario in {"pdb", "tenants"} and release < Release(12, 1):
        pytest.skip("no pluggable databases")
    played = play(with_short_past(scenario), release=release).to(20)
    for scope in Scope:
        answers = played.everything(scope)
        assert answers.keys() >= NEVER_EMPTY
        assert not [name for name in NEVER_EMPTY if not answers[name]]
        if scenario not in {"noplan", "pdb", "tenants"}:
            assert answers["plan"]
            assert answers["plan_directive"]
        if scenario == "pdb":
            assert {row.con_id for row in answers["container_plan_directive"]} == {3, 4}, "SALES and HR have plans"
            assert {row.con_id for row in answers["container_plan"]} == {3, 4}
            assert not answers["plan_directive"], "the DBA_ views of the root have the root's plans only"
            assert answers["pdb"]
            assert answers["cdb_plan_directive"]
    for view in ("V$INSTANCE", "V$RSRC_CONSUMER_GROUP"):
        assert columns_of(view, release)
    assert played.rows(Instance)[0].version.startswith(f"{release.major}.")


def test_instance_scope_is_the_first_instance(play: Play) -> None:
    played = play("rac").to(30)
    cluster, instance = played.everything(Scope.CLUSTER), played.everything(Scope.INSTANCE)
    for name in ("session", "consumer_group", "px_process_sysstat", "event_histogram", "osstat", "instance"):
        assert {row.inst_id for row in cluster[name]} == {1, 2}
        assert [row for row in cluster[name] if row.inst_id == 1] == list(instance[name])


@pytest.mark.parametrize("scenario", some(["pdb"], ["throttled", "mixed", "rac", "storm", "locked", "noplan"]))
def test_same_seed_same_course(scenario: str, play: Play) -> None:
    """One simulation has its own past, one that which all tests share: the course afterwards is the same."""
    with each_played():
        first = play(with_short_past(scenario), seed=5)
    second, other = (play(with_short_past(scenario), seed=seed) for seed in (5, 6))
    for played in (first, second, other):
        for second_ in (2, 4, 6, 61, 200):
            played.to(second_)
    assert repr(first.everything()) == repr(second.everything())
    assert repr(first.everything()) != repr(other.everything())


@pytest.mark.parametrize("scenario", some(["mixed"], ["storm"]))
def test_reading_does_not_change_the_course(scenario: str, play: Play) -> None:
    often, seldom = play(with_short_past(scenario)), play(with_short_past(scenario))
    for second in range(1, 41) if THOROUGH else (1, 2, 3, 15, 39, 40):
        often.to(second).everything()
    seldom.to(40)
    mine, yours = often.everything(), seldom.everything()
    assert [row[:4] for row in mine["session"]] == [row[:4] for row in yours["session"]]
    for one, two in zip(mine["consumer_group"], yours["consumer_group"], strict=True):
        assert one.consumed_cpu_time == pytest.approx(two.consumed_cpu_time, abs=2)
        assert (one.pqs_queued, one.pqs_completed) == (two.pqs_queued, two.pqs_completed)


def test_time_is_the_clock_times_speed(play: Play) -> None:
    played = play("quiet", speed=30).to(10)
    answer = played.source.read([Request(played.queries[Instance])])
    assert answer.at == START + timedelta(seconds=300)
    assert answer.round_trips == 0
    played.to(4)
    assert played.source.read([]).at == answer.at, "time never goes back"


def test_presmans_own_session_is_left_out(play: Play) -> None:
    played = play("storm").to(100)
    assert all(row.sid != OWN_SID for row in played.rows(Session))


def test_only_known_columns(play: Play) -> None:
    """Every column that the simulator fills is in the catalog of some release."""
    newest = SUPPORTED[-1]
    for view in VIEWS.values():
        name = "G" + view.name if view.name.startswith("V$") else view.name
        known = {column.name for column in columns_of(name, newest)}
        assert set(view.columns) <= known, view.name


def test_every_view_has_as_many_values_as_columns(play: Play) -> None:
    for scenario in ("storm", "rac", "pdb"):
        simulation = play(scenario).to(60).source.simulation
        for view in VIEWS.values():
            for row in view.rows(simulation):
                assert len(row) == len(view.columns), view.name


def test_a_view_that_is_not_simulated_has_plausible_values(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = play("rac").to(30).source.simulation
    header = "-- What?\n-- every: minute\n-- needs: GV_$SESS_TIME_MODEL\n-- pack: none\n"
    where = "WHERE value > 0 AND stat_name IN ('DB time', 'DB CPU')"
    (tmp_path / "asked.sql").write_text(f"{header}SELECT inst_id, value FROM gv$sess_time_model {where}")
    monkeypatch.setattr(query_files, "queries_folder", lambda: tmp_path)
    of_sessions, of_instances = map(plausible.__wrapped__, ("V$SESS_TIME_MODEL", "V$SYSMETRIC"))
    assert of_sessions.columns == ("INST_ID", "SID", "STAT_ID", "STAT_NAME", "VALUE", "CON_ID")
    rows = list(of_sessions.rows(simulation))
    assert [row[:2] for row in rows] == [(each.inst_id, each.sid) for each in processes(simulation)]
    assert {row[3] for row in rows} == {"DB time", "DB CPU"}
    assert {row[5] for row in rows} == {0}
    assert all(0 < row[4] < 100_000 * 10**6 for row in rows), "microseconds of work"
    inst_id, begin, *_, unit, _con_id = zip(*of_instances.rows(simulation), strict=True)
    assert inst_id == (1, 1, 1, 2, 2, 2)
    assert begin[0] == "2026-03-12 09:00:00"
    assert unit[:3] == ("METRIC 2", "METRIC 3", "METRIC 1")
    assert plausible.__wrapped__("DBA_RSRC_IO_CALIBRATE") is plausible.__wrapped__("V$NOBODY_LISTS_IT") is None


def test_plan_change_restarts_the_group_counters(play: Play, tmp_path: Path) -> None:
    file = tmp_path / "night.toml"
    file.write_text(
        """
        warmup = "5m"
        plan = "DAY"
        [plans.DAY.directives]
        ONLINE = { mgmt_p1 = 80 }
        OTHER_GROUPS = { mgmt_p2 = 100 }
        [plans.NIGHT.directives]
        OTHER_GROUPS = { mgmt_p1 = 100 }
        [[sessions]]
        name = "users"
        group = "ONLINE"
        count = 5
        [[changes]]
        at = "30s"
        plan = "NIGHT"
        window = "WEEKNIGHT_WINDOW"
        """
    )
    played = play(str(file)).to(29)
    assert {row.resource_consumer_group for row in played.rows(Session)} == {"ONLINE"}
    before = {row.name: row for row in played.rows(ConsumerGroup)}
    played.to(31)
    after = {row.name: row for row in played.rows(ConsumerGroup)}
    assert before["ONLINE"].consumed_cpu_time > 1000
    assert "ONLINE" not in after
    assert 0 < after["OTHER_GROUPS"].consumed_cpu_time < 1000
    windows = played.rows(RsrcPlanHistory)
    assert [(row.name, row.end_time is None, row.window_name) for row in windows] == [
        ("DAY", False, ""),
        ("NIGHT", True, "WEEKNIGHT_WINDOW"),
    ]
    assert windows[0].end_time == windows[1].start_time == START + timedelta(seconds=30)
    assert played.rows(RsrcPlan)[0].name == "NIGHT"
    assert {row.resource_consumer_group for row in played.rows(Session)} == {"OTHER_GROUPS"}


def test_switch_time_moves_a_statement_and_its_servers(play: Play, tmp_path: Path) -> None:
    file = tmp_path / "switch.toml"
    file.write_text(
        """
        warmup = "2m"
        plan = "P"
        [capacity]
        cpu_count = 16
        [plans.P.directives]
        FAST = { mgmt_p1 = 80, switch_group = "SLOW", switch_time = "30s" }
        SLOW = { mgmt_p2 = 50 }
        OTHER_GROUPS = { mgmt_p2 = 50 }
        [[script]]
        at = "0s"
        group = "FAST"
        dop = 4
        cpu = 1.0
        sets = 1
        seconds = 60
        """
    )
    played = play(str(file)).to(5)
    assert {row.name: row.current_pq_servers_active for row in played.rows(ConsumerGroup)}["FAST"] == 4
    played.to(10)
    found = {row.name: row for row in played.rows(ConsumerGroup)}
    assert (found["FAST"].current_pq_servers_active, found["SLOW"].current_pq_servers_active) == (0, 4)
    assert (found["FAST"].switches_out_cpu_time, found["SLOW"].switches_in_cpu_time) == (1, 1)
    assert {row.resource_consumer_group for row in played.rows(Session)} == {"SLOW"}
    (info,) = [row for row in played.rows(SessionInfo) if row.dop]
    assert (info.mapped_consumer_group, info.last_action) == ("FAST", "SWITCH TO SLOW")
    assert info.last_action_reason == "SWITCH_CPU_TIME"
    assert info.last_action_time == START + timedelta(seconds=8), "30 s of CPU of four servers"


def test_switched_for_the_call_or_for_good(play: Play, tmp_path: Path) -> None:
    text = """
        warmup = "2m"
        plan = "P"
        [plans.P.directives]
        FAST = {{ mgmt_p1 = 80, switch_group = "SLOW", switch_time = "3s", switch_for_call = {for_call} }}
        SLOW = {{ mgmt_p2 = 50 }}
        OTHER_GROUPS = {{ mgmt_p2 = 50 }}
        [[statements]]
        name = "jobs"
        group = "FAST"
        every = "20s"
        dop = 1
        sets = 1
        cpu = 1.0
        work = "8s"
        spread = 0
        sessions = 1
        """
    for for_call, group in (("true", "FAST"), ("false", "SLOW")):
        file = tmp_path / f"{for_call}.toml"
        file.write_text(text.format(for_call=for_call))
        played = play(str(file)).to(0)
        idle = [row for row in played.rows(Session) if row.status == "INACTIVE" and row.prev_sql_id]
        assert {row.resource_consumer_group for row in idle} == {group}


def test_a_plan_that_comes_back_gets_its_groups_back(play: Play, tmp_path: Path) -> None:
    file = tmp_path / "back.toml"
    file.write_text(
        """
        warmup = "1m"
        plan = "DAY"
        [plans.DAY.directives]
        ONLINE = { mgmt_p1 = 80 }
        OTHER_GROUPS = { mgmt_p2 = 100 }
        [plans.NIGHT.directives]
        OTHER_GROUPS = { mgmt_p1 = 100 }
        [[script]]
        at = "1s"
        group = "ONLINE"
        dop = 4
        seconds = 100
        [[changes]]
        at = "10s"
        plan = "NIGHT"
        [[changes]]
        at = "20s"
        plan = ""
        [[changes]]
        at = "30s"
        plan = "DAY"
        """
    )
    played = play(str(file))
    for second, plan, managed, group in (
        (5, "DAY", "ON", "ONLINE"),
        (15, "NIGHT", "ON", "OTHER_GROUPS"),
        (25, "INTERNAL_PLAN", "OFF", "OTHER_GROUPS"),
        (35, "DAY", "ON", "ONLINE"),
    ):
        played.to(second)
        (active,) = played.rows(RsrcPlan)
        assert (active.name, active.cpu_managed) == (plan, managed)
        assert {row.resource_consumer_group for row in played.rows(Session)} == {group}
        held = {row.name: row.current_pq_servers_active for row in played.rows(ConsumerGroup)}
        assert held[group] == sum(held.values()) == 8


def test_without_a_plan_nothing_is_managed(play: Play) -> None:
    played = play("noplan")
    crowded = 0.0
    for second in range(0, 600, 20):
        played.to(second)
        assert {row.cpu_wait_time for row in played.rows(ConsumerGroup)} == {0}
        crowded = max(crowded, *(row.value for row in played.rows(Osstat) if row.stat_name == "LOAD"))
    assert crowded > played.source.simulation.scenario.capacity.cpu_count
    (plan,) = played.rows(RsrcPlan)
    assert (plan.name, plan.cpu_managed, plan.parallel_execution_managed) == ("INTERNAL_PLAN", "OFF", "FIFO")
    assert [row.value for row in played.rows(Parameter) if row.name == "resource_manager_plan"] == [""]


def digest() -> str:
    """Return a digest of everything that is read of a course."""
    seconds = [0.0]
    source = SimulatorSource(with_short_past("storm"), clock=lambda: seconds[0], start=START)
    found = queries.load(source.open())
    checksum = hashlib.sha256()
    for seconds[0] in (2.0, 4.5, 61.0):
        source.advance()
        answer = source.read([Request(query, binds_of(query)) for query in found.values()])
        checksum.update(repr([section.rows for section in answer.sections]).encode())
    return checksum.hexdigest()


@pytest.mark.parametrize("seed", some(["1"], ["2", "3"]))
def test_course_does_not_depend_on_hashing(seed: str) -> None:
    """A process with other string hashes simulates the same course, byte for byte."""
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import digest; print(digest())"],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()


def test_active_session_pool(play: Play) -> None:
    played = play("throttled").to(600)
    (group,) = [row for row in played.rows(ConsumerGroup) if row.name == "BATCH"]
    waiting = [row for row in played.rows(Session) if row.event == "resmgr:become active"]
    assert group.queue_length == len(waiting) > 0
    assert group.active_session_limit_hit > 0
    states = {row.sid: row.state for row in played.rows(SessionInfo)}
    assert {states[row.sid] for row in waiting} == {"QUEUED"}
    assert sum(1 for state in states.values() if state == "QUEUED") == len(waiting)


def test_hundreds_queued_and_running(play: Play, tmp_path: Path) -> None:
    big = tmp_path / "big.toml"
    big.write_text(
        """
        warmup = "1m"
        plan = "P"
        [capacity]
        cpu_count = 64
        parallel_servers_target = 400
        parallel_max_servers = 800
        [plans.P.directives]
        BATCH = { mgmt_p1 = 90 }
        OTHER_GROUPS = { mgmt_p2 = 100 }
        [[statements]]
        name = "flood"
        group = "BATCH"
        burst = 300
        burst_every = "1m"
        dop = 4
        sets = 1
        work = "10m"
        """
    )
    played = play(str(big)).to(0)
    (group,) = [row for row in played.rows(ConsumerGroup) if row.name == "BATCH"]
    assert (group.current_pqs_active, group.current_pqs_queued) == (100, 200)


def test_storm_of_any_size(play: Play) -> None:
    small, big = (play(with_short_past("storm"), size=size) for size in (0.5, 3))
    counts = {}
    for name, played in (("small", small), ("big", big)):
        groups = played.to(5).rows(ConsumerGroup)
        counts[name] = sum(row.current_pqs_active for row in groups), sum(row.current_pqs_queued for row in groups)
    assert counts["big"][0] > 30
    assert counts["big"][1] > max(40, 3 * counts["small"][1])
    assert counts["small"][0] < 15


def test_errors_are_source_errors() -> None:
    with pytest.raises(SourceError, match=r"cannot read .*mixd\.toml: No such file") as error:
        SimulatorSource("mixd").open()
    assert error.value.retry is False
    with pytest.raises(SourceError, match="no pluggable databases"):
        SimulatorSource("pdb", release=Release(11, 2)).open()
    with pytest.raises(SourceError, match="not open"):
        SimulatorSource("quiet").advance()


def test_close_may_be_called_at_any_time() -> None:
    source = SimulatorSource("quiet")
    source.close()
    source.open()
    source.cancel()
    source.close()
    source.close()
    with pytest.raises(SourceError):
        source.read([])


def test_queries_bind_only_what_they_name(play: Play) -> None:
    played = play("quiet")
    for query in queries.load(played.release).values():
        (section,) = played.source.read([Request(query, binds_of(query))]).sections
        assert section.problem is None
