"""The tabs Plan and PDBs, and the verdicts in words, on simulated databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.caches import once
from presman.analysis.plans.plan_changes import plan_switches
from presman.analysis.plans.plan_view import plan_view
from presman.figures.plan_figures import DIFFERENCES, MAPPINGS, WINDOWS
from presman.polling.poller import Poller
from presman.rows.group_rows import RsrcPlanHistory
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.charts import chart_data
from presman.tabs.io import io_source
from presman.tabs.parts import Moment
from presman.tabs.plan import TAB, plan_line
from presman.tui.panels.shared_panel import PlanPanel
from presman.tui.timeline import Timeline
from presman.tui.widgets.grid import Grid
from tests.analysis.make import NOON, active_plan, instance, row, snapshot
from tests.analysis.test_plan_view import NESTED
from tests.recording.recorded import polled
from tests.thorough import some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy
from tests.tui.test_live import playing

START = datetime(2026, 3, 14, 9, tzinfo=UTC)


@asynccontextmanager
async def showing(scenario: str, size: tuple[int, int] = (200, 50)) -> AsyncIterator[Stage]:
    """The app with some polls of a scenario."""
    async with playing(scenario, size, whole=True, seed=None) as (acting, polls):
        await polls(4)
        yield acting


@pytest.mark.parametrize("size", some([(80, 24)], [(120, 35), (200, 50)]))
@acted
async def test_the_plan_line_and_the_all_clear_are_not_cut(size: tuple[int, int]) -> None:
    async with showing("storm", size) as acting:
        screen = " ".join((await acting.press("6")).split())
        assert "scheduler windows may change it, 48 CPUs, servers target 256 " in screen
        assert "GV$RSRC_CONSUMER_GROUP, GV$SESSION). " in screen


@acted
async def test_the_plan_is_a_tree_with_findings_windows_and_mappings() -> None:
    async with showing("mixed") as acting:
        screen = await acting.press("6")
        for words in ("[6 Plan]", "DAYTIME_PLAN", "L2 50 %", "12.50", "zero-share", "ORACLE_USER", "user, parameter",
                      "9.6 (60 % of 16)", "PX of target", "48 (75 %)"):  # fmt: skip
            assert words in screen, words
        assert "BATCH_PLAN" not in screen
        await acting.keys("down", "down")
        page = await acting.press("d")
        assert "Plan: REPORTS" in page
        assert "after 300 s of CPU in a call: BATCH" in page
        assert "[6 Plan]" in await acting.press("escape")


def test_plan_changes_name_the_instance_if_there_are_several() -> None:
    (part,) = (each for each in TAB.rows() if each.table is WINDOWS)
    one, first = busy(), busy().header.instances[0]
    two = replace(one, header=replace(one.header, instances=(first, replace(first, inst_id=2))))
    assert [("inst_id" in part.hidden(Moment(each))) for each in (one, two)] == [True, False]


@acted
async def test_a_resize_without_tables_in_a_box_is_no_fault() -> None:
    """The tables of a box are mounted after it and removed before it; a resize in between crashed presman."""
    async with showing("mixed") as acting:
        await acting.keys("6")
        panel = acting.app.query_one(PlanPanel)
        for table in (WINDOWS, MAPPINGS, DIFFERENCES):
            panel.grid_of(table).display = False
        panel.on_resize()
        assert "[6 Plan]" in await acting.press("right")


@acted
async def test_v_shows_each_plan_and_its_changes() -> None:
    async with showing("mixed") as acting:
        await acting.keys("6")
        screen = await acting.press("v")
        assert "NIGHT_PLAN" in screen
        assert "DAYTIME_PLAN against NIGHT_PLAN" in screen
        assert "of plans in force" in screen
        (finding,) = [line for line in screen.splitlines() if "✕ error" in line]
        assert "DAYTIME_PLAN" in finding, "which is not the plan above it"
        assert "BATCH_PLAN (subplan)" in screen
        assert "entitled" not in screen, "no entitlement for a plan that is not active"
        assert "BATCH_PLAN" in await acting.press("v")
        assert "Plan DAYTIME_PLAN" in await acting.press("v")


@acted
async def test_without_snapshots_the_tab_says_so() -> None:
    async with stage(busy()) as acting:
        assert "No directives of this plan can be read" in await acting.press("6")


@acted
async def test_the_internal_plan_is_explained() -> None:
    async with showing("noplan", (120, 35)) as acting:
        assert "INTERNAL_PLAN" in acting.screen.splitlines()[0]
        assert "which V$RSRC_PLAN shows where no plan is set" in " ".join((await acting.press("6")).split())


@acted
async def test_pdbs_are_there_only_in_a_container_database() -> None:
    async with showing("pdb", (200, 110)) as acting:
        screen = await acting.press("8")
        for words in ("[8 PDBs]", "SALES", "▬ PAYROLL at its limit", "SALES: Wants", "CPUs used, 15 min"):
            assert words in screen, words
        assert "▲ TEST I/O: " in screen, "limits of I/O in words"
        for words in ("80/-", "-/200", "held ms", "SGA/PGA", "PX", "throttled %"):
            assert words in screen, words
        page = await acting.press("d")
        for words in ("Pluggable databases: ", "SALES_PLAN", "12.0G", "MAX_IOPS and MAX_MBPS"):
            assert words in page, words
        screen = await acting.press("escape", "3")
        assert "▲ TEST I/O: In the last full minute MAX_IOPS throttled it: each I/O waited " in screen
        assert "of 200 MB/s (MAX_MBPS)" in screen
    async with showing("quiet") as acting:
        assert "8 PDBs" not in acting.screen
        assert "[1 Overview]" in await acting.press("8")


def test_the_io_tab_names_the_source_of_its_figures() -> None:
    reading = busy()
    assert io_source(Moment(reading)) == ""
    assert "storage cells" in io_source(Moment(replace(reading, header=replace(reading.header, exadata=True))))


@acted
async def test_every_figure_of_cpu_fits_on_a_wide_screen_and_exhaustion_on_23() -> None:
    async with stage(size=(200, 50)) as acting:
        await acting.show(*(reading for _, reading in polled("throttled", 3, release="23")))
        screen = await acting.press("2")
        (line,) = [line for line in screen.splitlines() if "entitled" in line and "yields/s" in line]
        heads = "use CPU waiting state entitled limit use % throttled % full % active wait now yields/s reqs/s held/s"
        assert f"{heads} min" in " ".join(line.split()), "with names and verdicts that are not cut"
        await acting.resize(220, 50)
        assert f"{heads} min of all use %" in " ".join(acting.screen.split())


@acted
async def test_the_cpu_tab_has_verdicts_and_the_sessions_tab_throttled_sessions() -> None:
    async with showing("throttled") as acting:
        screen = await acting.press("2")
        assert "The plan is met, but it gives some groups nothing." in screen
        assert "BATCH: Wants" in screen
        assert "held/s" in screen
        screen = await acting.press("5")
        assert "Statements behind resmgr:cpu quantum" in screen
        assert acting.app.query_one("#grid-cpu_waiters", Grid).rows.shown


@acted
async def test_the_plan_on_screen_is_that_of_the_selected_poll() -> None:
    async with showing("mixed") as acting:
        await acting.keys("6")
        panel = acting.app.panels.of("plan")
        assert isinstance(panel, PlanPanel)
        await acting.keys("left", "left")
        snapshot = panel._moment.snapshot if panel._moment else None
        assert snapshot is not None
        assert snapshot.number == acting.app.monitor.reading.number == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(("scenario", "measures"), some([("pdb", ["used", "pdb_used"])], [("mixed", ["used"])]))
def test_the_history_of_metrics_joins_the_live_polls_without_a_gap(scenario: str, measures: list[str]) -> None:
    seconds = [0.0]
    poller = Poller(SimulatorSource(scenario, seed=1, clock=lambda: seconds[0], start=START))
    poller.open()
    timeline, previous = Timeline(), None
    for _ in range(26):
        seconds[0] += 5.0
        current = poller.poll()
        timeline.add(analyse(previous, current), current)
        previous = current
    poller.close()
    assert previous is not None
    end = previous.at.timestamp()
    names = [(measure, *place) for measure in measures for place in timeline.series.names(measure, 0)]
    assert len(names) >= 3 * len(measures)
    for measure, con_id, name in names:
        found = timeline.series.buckets((measure, 0, con_id, name), end - 50 * 60, 60.0, 50)
        gaps = [place for place, value in enumerate(found) if value is None]
        assert len(gaps) <= 2, (name, gaps)
        assert all(later - earlier > 1 for earlier, later in pairwise(gaps))
        points = timeline.series.buckets((measure, 0, con_id, name), end - 300, 300.0, 1)
        assert points[0] is not None
        assert points[0] >= 0


def test_the_line_above_the_tree_names_plans_of_other_instances() -> None:
    plans = [active_plan("DAY", inst_id=1), active_plan("NIGHT", inst_id=2), *NESTED]
    now = snapshot(instance(1), instance(2), *plans)
    reading = analyse(None, now)
    text = "".join(part for part, _ in plan_line(plan_view(reading, now)))
    assert "DAY   on instance 1 (NIGHT on 2: v shows it)" in text
    alone = snapshot(instance(1), instance(2), active_plan("DAY", inst_id=1), active_plan("DAY", inst_id=2), *NESTED)
    assert "on instance" not in "".join(part for part, _ in plan_line(plan_view(analyse(None, alone), alone)))


def test_changes_of_plan_are_marks_on_the_chart() -> None:
    at = NOON - timedelta(minutes=4)
    change = row(RsrcPlanHistory, name="NIGHT", start_time=at, window_name="MONDAY", enabled_by_scheduler="TRUE")
    old = row(RsrcPlanHistory, name="OLD", start_time=NOON - timedelta(hours=9), end_time=at)
    now = snapshot(instance(), active_plan(), *NESTED, old, change)
    reading = analyse(None, now)
    assert len(plan_switches(now)) == 2
    moment = Moment(reading, find=lambda: (None, now))
    ((place, words),) = chart_data(moment, "used", "CPUs used", None).marks
    assert words.endswith("NIGHT (MONDAY)")
    assert 0 < place < 60


def test_shared_results_are_computed_once_for_each_moment() -> None:
    asked: list[Moment] = []

    @once
    def number(moment: Moment) -> int:
        asked.append(moment)
        return len(asked)

    first, second = Moment(busy()), Moment(busy())
    assert [number(first), number(first), number(second), number(first)] == [1, 1, 2, 1]
    assert asked == [first, second]
