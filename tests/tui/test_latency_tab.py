"""The tab Latency: which event, its histogram, the maps, and what is read from the database."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from rich.style import Style
from textual.widget import Widget

from presman.analysis.latency.latency_history import LatencyHistory
from presman.analysis.readings.reading import Reading, UnansweredQuery
from presman.analysis.readings.wait_readings import (
    Bucket,
    EventWaits,
    Histogram,
    Outlier,
    OutlierReading,
    RedoHealth,
    WaitReading,
)
from presman.rows.group_rows import RsrcPlanHistory
from presman.tui.feed import Arrived
from presman.tui.saved_view import set_in_tables
from presman.tui.widgets.heat import GUTTER
from presman.tui.widgets.heatmap import HeatMap
from tests.analysis.make import row, snapshot
from tests.thorough import some
from tests.tui.drive import Stage, acted, body, check, stage
from tests.tui.readings import AT, busy, cluster
from tests.tui.test_live import playing

QUEUED = "resmgr:pq queued"
SYNC, READ, LATCH = "log file sync", "db file sequential read", "latch free"
SPREAD = (0, 3, 40, 90, 30, 8, 4, 2, 1)
"""Waits per bucket and poll, from 128 us on."""


def histogram(event: str, poll: int, *, slow: int = 0, inst_id: int = 1) -> Histogram:
    deltas = [n + (slow if place > 5 else 0) + (poll * 7 + place) % 3 for place, n in enumerate(SPREAD)]
    buckets = tuple(Bucket(128 << place, 50_000 + delta * poll, delta) for place, delta in enumerate(deltas))
    micros = sum(round(0.72 * bucket.upper_us * (bucket.delta or 0)) for bucket in buckets)
    startup = EventWaits(sum(bucket.count for bucket in buckets), 4_000 * sum(bucket.count for bucket in buckets))
    return Histogram(inst_id, event, buckets, 2.0, "Commit", startup, EventWaits(sum(deltas), micros))


def wait(histogram_: Histogram) -> WaitReading:
    now = histogram_.now
    assert now is not None
    mean = now.microseconds / now.waits / 1000
    return WaitReading(histogram_.inst_id, histogram_.event, "Commit", now.microseconds / 2e6, now.waits / 2, mean)


def latencies(poll: int, base: Reading | None = None) -> Reading:
    found = [histogram(SYNC, poll), histogram(READ, poll, slow=20 if 10 <= poll < 20 else 0)]
    waits = (*(wait(each) for each in found), WaitReading(1, LATCH, "Other", 0.001, 0.5, 2.0))
    redo = (RedoHealth(0, 1.24, 0.52, 84.0, 61.0, 58.1, 0.42),)
    at = AT + timedelta(seconds=2 * poll)
    return replace(base or busy(), at=at, number=poll, histograms=tuple(found), waits=waits, redo=redo, troubles=())


async def shown(acting: Stage, polls: int, base: Reading | None = None) -> str:
    await acting.show(*(latencies(poll, base) for poll in range(1, polls)))
    return acting.screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
@acted
async def test_the_tab(size: tuple[int, int]) -> None:
    async with stage(latencies(0), size=size, tab="7") as acting:
        check(f"latency-{size[0]}x{size[1]}", body(await shown(acting, 30)))


@acted
async def test_m_gives_the_maps_the_whole_tab_and_back() -> None:
    async with stage(latencies(0), size=(80, 24), tab="7") as acting:
        before = await shown(acting, 12)
        assert "Frequency" not in before
        assert "Intensity" in before
        check("latency-maps-80x24", body(await acting.press("m")))
        assert await acting.press("m") == before


def with_queue(poll: int, *others: WaitReading) -> Reading:
    """Return a reading in which most is waited for in the queue, and no such wait has ended."""
    found, queued = latencies(poll), histogram(QUEUED, poll)
    buckets = tuple(replace(bucket, delta=0) for bucket in queued.buckets)
    none = replace(queued, buckets=buckets, now=EventWaits(0, 0))
    wait_now = WaitReading(1, QUEUED, "Scheduler", 3.0, 0.0, None)
    waits = (wait_now, *(others or found.waits))
    return replace(found, histograms=(*found.histograms, none), waits=waits)


@acted
async def test_the_tab_opens_on_ended_waits_and_stays_on_their_event() -> None:
    async with stage(with_queue(0), size=(160, 45), tab="7") as acting:
        await acting.show(with_queue(1), with_queue(2))
        assert f"Latency  {READ}" in acting.screen
        sync, *_ = latencies(3).waits
        await acting.show(with_queue(3, sync, WaitReading(1, READ, "User I/O", 0.0, 0.5, 0.1)))
        assert f"Latency  {READ}" in acting.screen, "although others were waited for longer"
        assert f"Latency  {SYNC}" in await acting.press("up")
        await acting.show(with_queue(4))
        assert f"Latency  {SYNC}" in acting.screen
        assert acting.feed.requests == []
        assert "No wait for" not in acting.screen
        screen = await acting.press("home")
        assert " No wait for resmgr:pq queued has ended in the last 0:10; 3 sessions wait now." in screen
        assert "Frequency" not in screen


@acted
async def test_a_chosen_event_that_is_gone_is_named_and_comes_back() -> None:
    async with stage(latencies(0), size=(160, 45), tab="7") as acting:
        await shown(acting, 5)
        await acting.keys("slash", *"latch", "enter", "slash", "escape")
        assert f"Latency  {LATCH}" in acting.screen
        await acting.show(replace(latencies(6), waits=latencies(6).waits[:2]))
        assert f"{LATCH} is gone: no session waits for it. This is " in " ".join(acting.screen.split())
        await acting.show(latencies(7))
        assert f"Latency  {LATCH}" in acting.screen


@acted
async def test_the_order_of_events_is_saved() -> None:
    async with stage(latencies(0), size=(160, 45), tab="7") as acting:
        await shown(acting, 2)
        await acting.keys("s")
        sorts = set_in_tables(acting.app.panels.all_grids)["sorts"]
        assert sorts["latency/events"] == (acting.app.panels.grid.rows.sort_key, True)  # type: ignore[union-attr]


@acted
async def test_a_chosen_event_is_read_at_each_poll() -> None:
    async with stage(latencies(0), size=(160, 45), tab="7") as acting:
        await shown(acting, 5)
        screen = await acting.press("down", "down")
        assert "its histogram is read from the next poll on" in screen
        assert acting.feed.requests == [("watched_histogram", {"event": LATCH}, True)]
        later = latencies(6)
        watched = replace(later, histograms=(*later.histograms, histogram(LATCH, 6)))
        await acting.show(watched)
        assert "from the next poll on" not in acting.screen
        assert "p99.9 in bucket" in acting.screen
        assert len(acting.feed.requests) == 1


@acted
async def test_the_buckets_are_of_the_window_since_startup_or_now() -> None:
    async with stage(latencies(0), size=(200, 50), tab="7") as acting:
        assert "Buckets  window: 1:00 of 15 min, * estimate" in await shown(acting, 30)
        assert "Buckets  since startup: 41d" in await acting.press("b")
        assert "Buckets  now: last 2.0 s" in await acting.press("b")
        assert "Buckets  window: 1:00 of 60 min" in await acting.press("b", "w")


@acted
async def test_without_a_delta_now_says_so() -> None:
    async with stage(latencies(0), size=(200, 50), tab="7") as acting:
        first = latencies(1)
        bare = []
        for each in first.histograms:
            buckets = tuple(Bucket(bucket.upper_us, bucket.count, None) for bucket in each.buckets)
            bare.append(replace(each, seconds=None, now=None, buckets=buckets))
        await acting.show(replace(first, histograms=tuple(bare), waits=()))
        assert "no delta yet" in next(line for line in acting.screen.splitlines() if "  over  " in line)
        assert "no delta in this poll: a gap" in acting.screen or "collecting" in acting.screen


@acted
async def test_a_reading_without_any_histogram() -> None:
    async with stage(latencies(0), size=(120, 40), tab="7") as acting:
        await acting.show(replace(busy(2), waits=(), histograms=()))
        assert "No waits, and no histogram" in acting.screen


@acted
async def test_instances_apart_and_together() -> None:
    async with stage(cluster(), size=(200, 50), tab="7") as acting:
        for poll in range(4):
            found = (histogram(SYNC, poll), histogram(SYNC, poll, inst_id=2))
            waits = tuple(wait(each) for each in found)
            await acting.show(replace(latencies(poll, cluster()), histograms=found, waits=waits))
        assert acting.screen.count(f" {SYNC} ") >= 1
        assert "Events  1" in acting.screen
        assert "Events  2" in await acting.press("i")


def heat_maps(acting: Stage) -> list[HeatMap]:
    return list(acting.app.query(HeatMap))


def map_text(widget: HeatMap) -> list[str]:
    widget.render_lines(widget.size.region)
    return [widget.render_line(y).text for y in range(widget.size.height)]


@acted
async def test_a_poll_repaints_one_column_of_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(latencies(0), size=(200, 50), tab="7") as acting:
        await shown(acting, 25)
        asked: list[object] = []
        for widget in heat_maps(acting):
            monkeypatch.setattr(widget, "refresh", lambda *regions, **_: asked.append(regions))
        before = [map_text(widget) for widget in heat_maps(acting)]
        await acting.show(latencies(25))
        for widget, old in zip(heat_maps(acting), before, strict=True):
            new = map_text(widget)
            changed = {x for one, two in zip(old[1:], new[1:], strict=True)
                       for x, (a, b) in enumerate(zip(one, two, strict=True)) if a != b}  # fmt: skip
            assert changed <= {GUTTER + 50, GUTTER + 51}, "25 polls of two cells"
        assert asked
        assert {region.width for regions in asked for region in regions} == {2}  # type: ignore[attr-defined]


@acted
async def test_incremental_drawing_equals_drawing_at_once() -> None:
    async with stage(latencies(0), size=(120, 40), tab="7") as acting:
        await shown(acting, 80)
        slowly = [map_text(widget) for widget in heat_maps(acting)]
        for widget in heat_maps(acting):
            widget._lines = ()
        acting.app.repaint()
        await acting.settle()
        assert [map_text(widget) for widget in heat_maps(acting)] == slowly


@acted
async def test_clicking_a_cell_reads_it() -> None:
    async with stage(latencies(0), size=(200, 50), tab="7") as acting:
        await shown(acting, 25)
        widget = heat_maps(acting)[0]
        row = next(y for y, line in enumerate(map_text(widget)) if line.strip().startswith("<16.4ms"))
        await acting.pilot.click(widget, offset=(GUTTER + 2 * 24 + 1, row))
        await acting.settle()
        last = acting.screen.splitlines()[-2]
        assert "  8.2–16.4ms: " in last
        column = acting.app.monitor.timeline.latencies.columns(0, READ)[-1]
        assert column.seconds
        assert f"{column.counts[14] / column.seconds:,.2f} waits/s" in last


@acted
async def test_clicking_an_earlier_column_shows_its_poll() -> None:
    async with playing("storm") as (acting, polls):
        await acting.keys("7")
        await polls(4)
        widget = heat_maps(acting)[1]
        newest = len(acting.app.monitor.timeline.latencies) - 1
        await acting.pilot.click(widget, offset=(GUTTER + (newest - 2) * 4 + 1, 4))
        await acting.settle()
        assert acting.app.monitor.choices.behind == 2
        await acting.pilot.click(widget, offset=(GUTTER + newest * 4 + 1, 4))
        await acting.settle()
        assert acting.app.monitor.choices.behind == 0


@acted
async def test_up_and_down_in_a_map_read_other_buckets() -> None:
    async with stage(latencies(0), size=(200, 50), tab="7") as acting:
        await shown(acting, 25)
        heat_maps(acting)[1].focus()
        await acting.settle()
        before = acting.screen.splitlines()[-2]
        up = (await acting.press("up")).splitlines()[-2]
        assert up != before
        assert (await acting.press("down")).splitlines()[-2] == before
        await acting.keys(*["up"] * 20)
        assert "a fault" not in acting.screen


@acted
async def test_outliers_are_read_on_request_and_implausible_ones_hidden() -> None:
    async with stage(latencies(0), size=(120, 40), tab="7") as acting:
        await shown(acting, 3)
        screen = await acting.press("o")
        assert acting.feed.requests == [("io_outlier", {}, False), ("lgwrio_outlier", {}, False)]
        assert "the answer comes with the next poll" in screen
        good = Outlier("V$IO_OUTLIER", 1, "Buffer Cache Reads", 8, READ, "+DATA/x.dbf", 713, (("DISK_A", 700),))
        bad = Outlier("V$LGWRIO_OUTLIER", 1, "LGWR", 4, "log file parallel write", "+REDO/1.log", None)
        answers = (
            OutlierReading("V$IO_OUTLIER", AT, (good,), ()),
            OutlierReading("V$LGWRIO_OUTLIER", AT, (bad,), ("1 of 1 values are above an hour",)),
        )
        await acting.show(replace(latencies(4), outliers=answers))
        check("outliers", body(acting.screen))
        missing = UnansweredQuery(
            "io_outlier", "GV$IO_OUTLIER", "ORA-00942: table or view does not exist", "grant select"
        )
        await acting.show(replace(latencies(5), troubles=(missing,)))
        assert "GV$IO_OUTLIER: ORA-00942" in acting.screen
        assert "Latency" in await acting.press("q")


@acted
async def test_keys_of_the_tab_do_nothing_elsewhere() -> None:
    async with stage(latencies(0), size=(120, 40)) as acting:
        await acting.keys("1", "m", "b", "o")
        assert acting.feed.requests == []
        assert "[1 Overview]" in acting.screen
        acting.app.bind_tab_keys()
        for key, where in (("m", "m is a key of the tab Latency (7)."), ("g", "g is a key of the tab Parallel (4).")):
            assert where in await acting.press(key)


@pytest.mark.parametrize("size", some([(60, 15), (120, 35)], [(80, 24), (200, 50)]))
@acted
async def test_each_rate_of_an_event_is_shown_with_its_interval(size: tuple[int, int]) -> None:
    """At first the histograms are older than the rates of events: those of two seconds and of 16 stood side by side."""
    first = latencies(1)
    older = tuple(replace(each, seconds=16.0) for each in first.histograms)
    async with stage(latencies(0), size=size, tab="7") as acting:
        await acting.show(replace(first, histograms=older, interval=2.0))
        lines = acting.screen.splitlines()
        assert " Events  3  in the last 2.0 s" in next(line for line in lines if " Events  3" in line)
        figures = lines if size[1] > 30 else (await acting.press("b")).splitlines()
        assert " last 16.0 s" in next(line for line in figures if " over " in line)
        assert size[1] > 30 or any(line.startswith("  now 16.0 s ") for line in lines)
        assert "its histogram" not in acting.screen


def styles(widget: Widget, y: int) -> list[Style]:
    return [segment.style or Style() for segment in widget.render_line(y)]


@pytest.mark.parametrize(
    ("mode", "theme"),
    some([("truecolor", "textual-light"), ("256", None), ("16", None), ("mono", None)], [("truecolor", None)]),
)
@acted
async def test_every_colour_scale_distinguishes_the_shades(
    mode: str, theme: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeatMap, "_mode", lambda _self: mode)
    async with stage(latencies(0), size=(200, 50), theme=theme) as acting:
        await acting.keys("7")
        await acting.show(latencies(1), latencies(12))
        widget = heat_maps(acting)[0]
        text = map_text(widget)
        legend = widget.render_line(0)
        signs = [segment for segment in legend if segment.style and len(segment.text) == 1 and segment.text != " "]
        grounds = [segment.style.bgcolor for segment in legend if segment.style and segment.text == " "]
        rows = "".join(line[GUTTER:] for line in text[1 : 1 + widget._cells.rows.count])
        if mode in ("truecolor", "256"):
            assert set(rows) <= {" ", "╎"}
            assert len(set(grounds)) == (15 if mode == "truecolor" else 7)
        else:
            assert [segment.text for segment in signs] == list("···░░░▒▒▒▓▓▓███")
            assert set(rows) & set("░▒▓█")
        if mode == "mono":
            assert len({segment.style for segment in signs}) == 1


@acted
async def test_memory_of_the_maps_is_bounded() -> None:
    async with stage(latencies(0), size=(120, 40), tab="7") as acting:
        acting.app.monitor.timeline.latencies = LatencyHistory(count=20)
        await shown(acting, 50)
        history = acting.app.monitor.timeline.latencies
        assert len(history) == 20
        assert "a fault" not in acting.screen
        assert len(acting.app.panels.present._track.columns) == 20  # type: ignore[attr-defined]


@acted
async def test_without_room_the_buckets_replace_the_figures() -> None:
    async with stage(latencies(0), size=(160, 45), tab="7") as acting:
        before = await shown(acting, 12)
        assert "p99.9 in bucket" in before
        assert "% of time*" not in before
        for title in ("Buckets  window", "Buckets  since startup", "Buckets  now"):
            screen = await acting.press("b")
            assert title in screen
            assert "% of time*" in screen
            assert "p99.9 in bucket" not in screen
        assert await acting.press("b") == before


@acted
async def test_on_a_small_screen_figures_and_buckets_replace_the_maps() -> None:
    async with stage(latencies(0), size=(80, 24), tab="7") as acting:
        before = await shown(acting, 12)
        assert "  now 2.0 s   " in before
        assert "p99.9 in bucket" not in before
        screen = await acting.press("b")
        assert "p99.9 in bucket" in screen
        assert "Intensity" not in screen
        for title in ("Buckets  window", "Buckets  since startup", "Buckets  now"):
            assert title in await acting.press("b")
        assert await acting.press("b") == before
        await acting.keys("b", "b")
        await acting.resize(200, 50)
        assert "p99.9 in bucket" in acting.screen
        assert "Frequency" in acting.screen


@acted
async def test_every_figure_says_what_it_is_on_the_smallest_terminal() -> None:
    """Buckets without their span, a line that was cut within a figure, and two lines that began alike."""
    async with stage(latencies(0), size=(60, 15), tab="7") as acting:
        lines = (await shown(acting, 12)).splitlines()
        assert [line.split()[:3] for line in lines[9:11]] == [["now", "2.0", "s"], ["window", "24.0", "s"]]
        assert [line.split()[4] for line in lines[9:11]] == ["avg", "avg"]
        assert lines[13].endswith(" s waited/s")
        await acting.keys("b")
        for title in ("window: 24.0 s of 15 min", "since startup: 41d 00:00", "now: last 2.0 s"):
            assert f"Buckets  {title}, * estimate" in await acting.press("b")


@acted
async def test_a_change_of_plan_is_marked_on_the_maps() -> None:
    def at(poll: int) -> datetime:
        return AT + timedelta(seconds=2 * poll)

    def arrived(poll: int, *activated: int) -> Arrived:
        plans = [row(RsrcPlanHistory, name=f"P{each}", start_time=at(each), window_name="NIGHT") for each in activated]
        reading = latencies(poll)
        return Arrived(reading, snapshot(*plans, at=reading.at, number=poll))

    async with stage(latencies(0), size=(120, 40), tab="7") as acting:
        for poll in range(1, 12):
            acting.app.post_message(arrived(poll, -900, *([6] if poll > 7 else [])))
            await acting.settle()
        for widget in heat_maps(acting):
            *rows, _, axis = (line for line in map_text(widget) if line.strip())
            mark = axis.index("┆P6 (NIGHT)")
            assert mark == GUTTER + 4 * 6
            assert "P-900" not in axis
            marked = {line[mark] for line in rows[1:]}
            assert "┆" in marked
            assert len(marked) > 1, "buckets with waits are shown"


@acted
async def test_a_quiet_poll_leaves_the_cell_that_is_read() -> None:
    async with stage(latencies(0), size=(160, 45), tab="7") as acting:
        await acting.show(latencies(1))
        quiet = [
            replace(each, now=EventWaits(0, 0), buckets=tuple(replace(bucket, delta=0) for bucket in each.buckets))
            for each in latencies(2).histograms
        ]
        await acting.show(replace(latencies(2), histograms=tuple(quiet), waits=()))
        assert ": 0.00 waits/s, ~0.00 s waited/s" in acting.screen


@acted
async def test_the_value_of_a_cell_is_shown_in_full_at_80_columns() -> None:
    async with playing("pdb", (80, 24)) as (acting, polls):
        await polls(3)
        readout = (await acting.press("7")).splitlines()[-2]
        assert readout.endswith(" CPUs"), readout


@acted
@pytest.mark.parametrize(("base", "is_there"), [(busy(), False), (cluster(), True)])
async def test_instances_side_by_side_are_for_a_database_that_has_several(base: Reading, is_there: bool) -> None:
    """The choice is saved for all databases: one with a single instance has no column for it."""
    async with stage(size=(120, 35)) as acting:
        acting.app.monitor.choose(by_instance=True)
        await acting.show(latencies(1, base), latencies(2, base))
        for key in "1278":
            assert ("Inst" in await acting.press(key)) is is_there, key


@acted
async def test_a_map_without_room_has_no_title() -> None:
    async with playing("mixed", (60, 15)) as (acting, polls):
        await polls(3)
        screen = await acting.press("7")
        assert "Intensity has no room here: m gives it the whole tab" in screen
        assert "Intensity: " not in screen
        await acting.keys("b")
        screen = await acting.press("m")
        assert "Intensity: " in screen
        assert "Frequency: " not in screen
        assert screen.count("<") >= 6, "rows of buckets"


@acted
async def test_the_page_of_a_figure_names_its_event() -> None:
    """It was titled "Latency: waits"."""
    async with stage(latencies(1), size=(200, 50), tab="7") as acting:
        await acting.keys("tab", "down")
        assert f"{READ}: waits" in await acting.press("d")
