"""Texts that do not fit are counted, shortened or replaced by shorter words, never cut in a word."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from textual.geometry import Size

from presman.analysis.alerts.queue_alerts import heads
from presman.analysis.readings.reading import Alert
from presman.figures.drawing.lines import Line, plain
from presman.tabs import tab_names
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link, LinkState
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import always
from presman.tui.keys import all_keys
from presman.tui.keys.table_keys import NEXT_TABLE
from presman.tui.monitor_screen import MonitorScreen
from presman.tui.widgets.frame_lines import Clicked, KeysLine, Labelled, TabLine, alert_line, tab_texts
from presman.tui.widgets.line_api import whole_sentences
from presman.tui.widgets.page import narrowed
from tests.thorough import some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy
from tests.tui.test_live import playing

LIVE = Link(LinkState.LIVE)
FOUND = tuple(Alert("warn", "▲", f"{name} waits for a long time", f"{name} waits") for name in ("AAAA", "BBBB", "CCCC"))


def on_the_line(found: tuple[Alert, ...], width: int, *, listed: bool = False) -> str:
    return " ".join(plain(alert_line(found, width, listed=listed)).split())


def test_alerts_that_do_not_fit_are_counted() -> None:
    """Each short one takes 12 cells, 3 blanks between them, and the count at most 19: the same one on all tabs."""
    assert on_the_line(FOUND, 60) == "▲ AAAA waits ▲ BBBB waits 3 alerts, press 1"
    assert on_the_line(FOUND, 40) == "▲ AAAA waits 3 alerts, press 1"
    assert on_the_line(FOUND, 40, listed=True) == "▲ AAAA waits ▲ BBBB waits 3 alerts"
    assert on_the_line(FOUND, 24, listed=True) == "▲ AAAA waits 3 alerts"
    assert on_the_line(FOUND, 60, listed=True) == "▲ AAAA waits ▲ BBBB waits ▲ CCCC waits 3 alerts"


def test_a_later_alert_is_shortened_before_it_is_counted() -> None:
    holder = Alert(
        "warn", "○", "1 idle holder keeps 16 servers: RPT", "1 idle holder keeps 16", others=("1 idle holder",)
    )
    assert on_the_line((FOUND[0], holder), 55) == "▲ AAAA waits ○ 1 idle holder 2 alerts, press 1"
    assert on_the_line((FOUND[0], holder), 60) == "▲ AAAA waits ○ 1 idle holder keeps 16 2 alerts, press 1"
    assert on_the_line((FOUND[0], holder), 45) == "▲ AAAA waits 2 alerts, press 1"


def test_a_longer_line_keeps_the_length_and_wait_of_the_queue() -> None:
    """Alone it has room for its sentence, which once took the place of how many wait and how long."""
    head = next(each for each in busy().heads if not each.is_critical)
    (alert,) = [each for each in heads(busy()) if each.short.startswith(f"{head.group}: ")]
    waits = alert.short.removesuffix(head.why).split(", ")
    for width in (120, 200, 300):
        line = on_the_line((alert,), width)
        assert all(part.strip(" ,") in line for part in waits), line
    assert head.sentence in line


def test_notes_are_not_counted_as_alerts() -> None:
    """ "Nothing is wrong", and "2 alerts" beside it, stood on one line of the demo `changes`."""
    well, note = Alert("good", "●", "Nothing is wrong.", "Nothing is wrong"), Alert("note", "·", "A note.", "a note")
    assert on_the_line((well, note), 60).endswith("1 note, press 1")
    assert on_the_line((well, note, note), 60).endswith("2 notes, press 1")
    assert on_the_line((*FOUND, note), 60).endswith("3 alerts, press 1")
    assert on_the_line((*FOUND, note), 60, listed=True).endswith("3 alerts"), "once it was the notes as well"
    assert on_the_line((well, note, note), 60, listed=True).endswith("2 notes")
    assert on_the_line((well,), 60) == "● Nothing is wrong."


def test_a_long_alert_loses_the_count_of_notes_then_its_last_clauses() -> None:
    short = "BATCH: 27 queued, head 4:10, short by 32 (group limit) and 24 (target)"
    between = (
        "BATCH: 27 queued, short by 32 (group limit) and 24 (target)",
        "BATCH: short by 32 (group limit) and 24 (target)",
    )
    bad = Alert("bad", "✕", f"{short}, and more", short, others=between)
    note = Alert("note", "·", "A note.", "a note")
    two = (bad, *FOUND[:1])
    assert on_the_line(two, 92) == f"✕ {short} 2 alerts, press 1"
    assert on_the_line(two, 91) == f"✕ {between[0]} 2 alerts, press 1"
    assert on_the_line(two, 80) == f"✕ {between[1]} 2 alerts, press 1", "both that it lacks, or neither"
    assert on_the_line(two, 60) == "✕ BATCH: 27 queued, head 4:10 2 alerts, press 1"
    assert on_the_line((bad, note), 92) == f"✕ {short} 1 note, press 1"
    assert on_the_line((bad, note), 80) == f"✕ {short}"
    absent = "Nothing is wrong now: no queue, starved group or downgrade"
    assert on_the_line((Alert("good", "●", absent, absent),), 59) == "● Nothing is wrong now", (
        "not a part of its reasons"
    )


def test_one_alert_is_shown_in_full_if_it_fits() -> None:
    assert on_the_line(FOUND[:1], 40) == "▲ AAAA waits for a long time"
    assert on_the_line(FOUND[:1], 24) == "▲ AAAA waits"


def test_the_worst_comes_first_then_idle_holders() -> None:
    found = [alert.short for alert in alerts(busy(), LIVE)]
    assert found[:4] == [
        "ETL starved, 0.6 of 2.4 CPUs",
        "1 idle holder keeps 32 servers",
        "BATCH: 12 queued, head 3:41, short by 32 (group limit)",
        "ETL: 2 queued, head 0:33, short by 14 (target)",
    ]
    waited = replace(busy(), heads=tuple(reversed(busy().heads)))
    assert [alert.short for alert in alerts(waited, LIVE)] == found, "the longest wait is worst"


def lines(*texts: str) -> list[Line]:
    return [((text, ""),) for text in texts]


LONG = lines("aaaa aaaa aaaa aaaa", "bbbb bbbb bbbb bbbb", "cccc cccc")
SHORT = lines("aaaa", "bbbb", "cccc")
WHOLE = ["aaaa aaaa", "   aaaa", "   aaaa", "bbbb bbbb", "   bbbb", "   bbbb", "cccc cccc"]


@pytest.mark.parametrize(
    ("most", "shorter", "shown"),
    [
        (None, (), WHOLE),
        (7, SHORT, WHOLE),
        (6, (), [*WHOLE[:3], "   … +2 more"]),
        (3, (), [*WHOLE[:2], "   … +2 more"]),
        (6, SHORT, [*WHOLE[:3], "bbbb", "cccc cccc"]),
        (5, SHORT, [*WHOLE[:3], "bbbb", "cccc cccc"]),
        (4, SHORT, ["aaaa", "bbbb", "cccc cccc"]),
        (3, SHORT, ["aaaa", "bbbb", "cccc cccc"]),
        (2, SHORT, ["aaaa", "   … +2 more"]),
    ],
)
def test_sentences_are_whole_or_counted(most: int | None, shorter: list[Line], shown: list[str]) -> None:
    assert [plain(line).rstrip() for line in whole_sentences(LONG, shorter, 10, most)] == shown


@acted
async def test_at_80x24_the_first_tab_has_every_alert() -> None:
    async with playing("storm", (80, 24)) as (acting, polls):
        await polls(20)
        screen, found = acting.screen, acting.app.monitor.alerts
        assert 2 < len(found) < 6
        for alert in found:
            assert f"{alert.glyph} {alert.short}" in screen or f"{alert.glyph} {alert.text[:40]}" in screen
        count = f"{sum(alert.state in {'bad', 'warn'} for alert in found)} alerts"
        assert screen.splitlines()[1].endswith(f" {count}")
        assert f" {count}, press 1" in (await acting.press("4")).splitlines()[1], "the same on another tab"
        alerts_alone = sum(alert.state != "note" for alert in found)
        assert f"{alerts_alone} alerts, press 1" in await acting.press("2")


@pytest.mark.parametrize(("scenario", "left"), [("throttled", 0), ("storm", 0), ("pdb", 2)])
@acted
async def test_at_60x15_every_alert_is_shown_or_counted(scenario: str, left: int) -> None:
    async with playing(scenario, (60, 15), whole=True, seed=None) as (acting, polls):
        await polls(6)
        below = acting.screen.split(" Group ")[1]
        shown = [alert for alert in acting.app.monitor.alerts if f"  {alert.glyph} {alert.short[:40]}" in below or
                f"  {alert.glyph} {alert.text[:40]}" in below]  # fmt: skip
        assert len(shown) == len(acting.app.monitor.alerts) - left
        assert (f"… +{left} more" in below) is bool(left)
        assert " state" in acting.screen


@acted
async def test_alerts_without_room_are_counted() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        assert len(acting.app.monitor.alerts) == 7
        assert "✕ ETL starved" in acting.screen
        assert "○ 1 idle holder keeps 32 servers" in acting.screen
        assert "   … +3 more" in acting.screen


@acted
async def test_a_page_has_most_of_a_terminal_of_ten_lines() -> None:
    async with stage(busy(), size=(80, 10)) as acting:
        before = acting.screen.splitlines()
        lines = (await acting.press("d")).splitlines()
        assert "Overview ›" in lines[2]
        assert lines[:2] == before[:2], "the lines of facts and alerts"
        assert (await acting.press("escape")).splitlines()[2:4] == before[2:4], "the lines of DO and tabs"
        await acting.resize(80, 24)
        assert (await acting.press("d")).splitlines()[2].startswith(" DO ")


@pytest.mark.parametrize("size", [(80, 10), (300, 12)], ids=str)
@acted
async def test_a_low_terminal_shows_alerts_do_and_one_table(size: tuple[int, int]) -> None:
    async with playing("storm", size) as (acting, polls):
        await polls(20)
        for each in tab_names():
            if each.containers:
                continue
            await acting.keys(each.key)
            acting.app.clear_notifications()  # the notice that the first tab is shown already
            await acting.settle()
            screen = acting.screen.splitlines()
            grids = acting.app.panels.present.grids()
            assert len(grids) == 1, each.name
            assert grids[0].size.height == size[1] - 5, "but for facts, alerts, DO, tabs and keys"
            assert "● LIVE" in screen[0]
            assert "BATCH: 27 queued" in screen[1]
            assert screen[2].startswith(" DO  ")
            assert f"[{each.key} {each.title}]" in screen[3]
            assert screen[4].startswith(f" {grids[0].table.title}")
            assert "? help" in screen[-1]
        await acting.keys("1")
        await acting.resize(120, 30)
        assert len(acting.app.panels.present.grids()) > 1


@pytest.mark.parametrize("width", [60, 72, 80, 100, 160])
def test_every_tab_is_on_the_line_of_tabs_at_every_width(width: int) -> None:
    for each in tab_names():
        texts = tab_texts(each.name, (), width)
        assert sum(len(text) + 1 for text, _ in texts) + 1 <= width
        assert [name for _, name in texts] == [other.name for other in tab_names()]
        assert (f"[{each.key} {each.title}]", each.name) in texts
        assert width < 80 or all(other.title in text for other, (text, _) in zip(tab_names(), texts, strict=True))


def test_every_conditional_key_can_give_its_reason() -> None:
    silent = [key.key.name for key in all_keys.APP_KEYS if key.when is not always and not key.why_not]
    assert silent == [NEXT_TABLE.key.name], "Tab is Textual's, and goes round"


@acted
async def test_keys_without_effect_have_a_notice_and_notices_do_not_pile_up() -> None:
    async with stage(replace(busy(), queue=(), heads=(), running=()), size=(120, 30)) as acting:
        assert "No page is open" in await acting.press("escape")
        await acting.keys("4")
        screen = await acting.press("enter")
        assert "Queued has no row: Tab goes to Servers by consumer group." in screen
        assert "No page is open" not in screen, "one notice at a time"
        await acting.keys("i", "end", "a")
        assert len(acting.app._notifications) == 1


@pytest.mark.parametrize("size", some([(60, 8)], [(80, 24), (120, 35)]))
@acted
async def test_a_notice_covers_nothing_but_the_keys(size: tuple[int, int]) -> None:
    async with stage(busy(), size=size) as acting:
        app, (width, height) = acting.app, size
        before = acting.screen.splitlines()
        for words in (1, 40, 200):
            app.notify("word " * words)
            await acting.settle()
            (toast,) = app.screen.query("Toast")
            keys = app.screen.query_one("#keys").region
            assert (toast.region.width, toast.region.bottom) == (width, height)
            assert toast.region.height < height / 2
            assert keys.y == toast.region.y, "only the keys are covered"
            assert app.screen.query_one("#body").region.bottom == keys.y
        app.notify("There is only one instance.")
        await acting.settle()
        assert acting.screen.splitlines()[:-1] == before[:-1]
        assert "There is only one instance." in acting.screen.splitlines()[-1]
        app.clear_notifications()
        await acting.settle()
        assert acting.screen.splitlines() == before


@pytest.mark.parametrize("size", some([(60, 15)], [(80, 24)]))
@pytest.mark.parametrize(("scenario", "row"), [("storm", "(group limit) 48/64"), ("pdb", "MAX_MBPS 32/36")])
@acted
async def test_state_queue_and_servers_are_the_last_to_go(size: tuple[int, int], scenario: str, row: str) -> None:
    """The first row is complete: state of the group, queue, servers of its limit."""
    async with playing(scenario, size) as (acting, polls):
        await polls(30)
        lines = acting.screen.splitlines()
        head = next(place for place, line in enumerate(lines) if " Group " in line)
        assert " state " in lines[head]
        assert "PX servers" in lines[head]
        assert re.search(rf"[▲✕] \d+ queued \d:\d\d .*{re.escape(row)}\b", lines[head + 1])
        assert ("PDB" in lines[head]) is (scenario == "pdb")
        assert "…" not in lines[head - 1] or "more ↓" in lines[head - 1], "the legend is whole or away"


@acted
async def test_at_60x15_the_parallel_tab_has_reason_remedy_and_queue() -> None:
    async with playing("storm", (60, 15)) as (acting, polls):
        await polls(30)
        screen = await acting.press("4")
        assert re.search(r" WHY  BATCH: short by \d+ \((target|group limit)\)( and \d+ \(target\))?\n", screen)
        assert " TO START IT  " in screen
        assert "   … 1 more queue waits: ETL\n" in screen
        assert len(re.findall(r"^ BATCH +\d:\d\d \w{13}", screen, re.MULTILINE)) >= 2


@acted
async def test_a_container_held_by_its_io_limit_is_not_called_unthrottled() -> None:
    async with playing("pdb", (120, 35)) as (acting, polls):
        await polls(20)
        screen = await acting.press("8")
        assert "TEST I/O: In the last full minute MAX_IOPS throttled it" in screen
        assert re.search(r" TEST +.* ▲ I/O held by MAX_IOPS ", screen)
        assert "not throttled" not in screen


@acted
async def test_at_80_columns_the_tab_cpu_has_states_whole() -> None:
    async with playing("storm", (80, 24)) as (acting, polls):
        await polls(2)
        assert "▲ 27 queued 2:05 (group limit)" in await acting.press("2")
        assert " entitled" in acting.screen


def line_of(kind: type[KeysLine | TabLine], width: int, *shown: Any) -> tuple[str, Any, list[str]]:
    """Return the text of a line of that width, the line, and the list of actions that clicks ask for."""
    found: list[Line] = []
    asked: list[Clicked] = []
    line: Any = SimpleNamespace(size=SimpleNamespace(width=width), show=len, show_lines=found.extend,
                                post_message=lambda message: asked.append(message.action))  # fmt: skip
    kind.show(line, *shown)
    return plain(found[0]).rstrip(), line, asked  # type: ignore[return-value]


KEYS = (Labelled("?", "help", "key('help')"), Labelled("q", "quit", "key('leave')"), Labelled("↑", "up", "up"))


def test_keys_are_offered_as_room_allows_and_can_be_clicked() -> None:
    """A blank, then 8, 8 and 6 cells with the two blanks behind each: 23."""
    assert [line_of(KeysLine, width, KEYS)[0] for width in (23, 22, 17, 16, 8)] == [
        " ? help  q quit  ↑ up", " ? help  q quit", " ? help  q quit", " ? help", "",
    ]  # fmt: skip
    _, line, asked = line_of(KeysLine, 23, KEYS)
    for x in (0, 1, 6, 7, 8, 9, 14, 15, 17, 20, 21):
        KeysLine.on_click(line, SimpleNamespace(x=x))  # type: ignore[arg-type]
    assert asked == ["key('help')"] * 2 + ["key('leave')"] * 2 + ["up"] * 2


def test_a_filter_is_shown_right_of_the_tabs_and_tabs_can_be_clicked() -> None:
    containers = ("pdbs",)
    whole = line_of(TabLine, 160, "cpu", "filter: etl", containers)[0]
    assert whole.startswith("  1 Overview  [2 CPU]  3 I/O ")
    assert whole.endswith(" filter: etl")
    assert len(whole) == 159
    bare = line_of(TabLine, 160, "cpu", "", containers)[0]
    assert bare == whole.removesuffix("filter: etl").rstrip()
    close = line_of(TabLine, len(bare) + 1, "cpu", "filter: etl", containers)[0]
    assert close.endswith("filter: etl"), "the tabs stand closer together"
    _, line, asked = line_of(TabLine, 160, "cpu", "", containers)
    for x in (0, 1, 12, 13, 14, 20, 21):
        TabLine.on_click(line, SimpleNamespace(x=x))  # type: ignore[arg-type]
    assert asked == ["key('tab_overview')"] * 2 + ["key('tab_cpu')"] * 2


@pytest.mark.parametrize(
    ("size", "layout"),
    [
        ((60, 14), "-narrow -flat"), ((99, 15), "-narrow -short"), ((100, 27), "-medium -short"),
        ((159, 28), "-medium -middle"), ((160, 41), "-wide -middle"), ((300, 42), "-wide -tall"),
    ],
)  # fmt: skip
def test_each_size_has_its_layout(size: tuple[int, int], layout: str) -> None:
    taken: list[str] = []
    screen: Any = SimpleNamespace(add_class=taken.append)
    MonitorScreen.fit(screen, Size(*size), FrameApp.HORIZONTAL_BREAKPOINTS, FrameApp.VERTICAL_BREAKPOINTS)
    assert " ".join(taken) == layout


def test_a_searched_page_keeps_its_title_and_headings_of_matches() -> None:
    page: list[Line] = [
        (("Help", "title"),), (), (("Columns", "title"),), (("yields/s: yields", ""),), (("use: CPU", ""),), (),
        (("Keys", "title"),), (("q quits", ""),), (("? asks for YIELDS", ""),),
    ]  # fmt: skip

    def found(needle: str) -> list[str]:
        return [plain(line) for line in narrowed(page, needle)]

    assert found("yields") == [
        "Help   filter: yields", "", "Columns", "yields/s: yields", "", "Keys", "? asks for YIELDS",
    ]  # fmt: skip
    assert found("!yields") == ["Help   filter: !yields", "", "Columns", "use: CPU", "", "Keys", "q quits"]
    assert found("quits")[1:] == ["", "Keys", "q quits"]
    assert found("zzz") == ["Help   filter: zzz", "", "Nothing matches."]
    assert narrowed(page, "") is page
    assert narrowed([], "x") == []
