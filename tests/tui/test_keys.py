"""What the keys do."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.tabs import tab_names
from presman.tui.widgets.grid import Grid
from tests.tui.drive import Stage, acted, body, check, stage
from tests.tui.readings import busy, queued, sessions

TABS = "12345"


@acted
async def test_pause_freezes_the_view_and_counts() -> None:
    async with stage(busy(), tab="4") as acting:
        frozen = (await acting.press("space")).splitlines()
        assert "‖ PAUSED 0:00" in frozen[0]
        await acting.show(replace(busy(2), queue=(), heads=()))
        assert acting.screen.splitlines()[2:] == frozen[2:]
        acting.clock.now += 42
        acting.app._tick()
        await acting.settle()
        assert "‖ PAUSED 0:42" in acting.screen
        assert "Nothing is queued (by GV$SESSION)." in await acting.press("space")
        assert "◌ LATE 0:42" in acting.screen


@acted
async def test_filter_narrows_while_typed_and_says_so() -> None:
    async with stage(busy(), size=(120, 30), tab="4") as acting:
        await acting.keys("slash")
        screen = await acting.press(*"etl")
        assert "1c8z0001etl2m" in screen
        assert "7xq3h001jskd0" not in screen.split("Queued", 1)[1]
        assert "Queued  2 of 14  filter: etl" in screen
        kept = await acting.press("enter")
        assert "filter: etl" in kept
        await acting.show(busy(2))
        assert "Queued  2 of 14" in acting.screen
        assert "filter" not in (await acting.press("1")).splitlines()[3], "a filter belongs to its tab"
        assert "Queued  2 of 14" in await acting.press("4")
        assert "Queued  14" in await acting.press("escape")


@acted
async def test_filter_inverse_and_no_match() -> None:
    async with stage(busy(), size=(120, 30), tab="4") as acting:
        await acting.keys("slash")
        assert "Queued  12 of 14  filter: !etl" in await acting.press(*"!etl", "enter")
        await acting.keys("slash")
        assert "Nothing matches the filter !etl zz" not in await acting.press(*" zz", "enter")
        await acting.keys("escape", "slash")
        assert "Nothing matches the filter nowhere" in await acting.press(*"nowhere", "enter")


@acted
async def test_sort_by_every_column() -> None:
    async with stage(replace(busy(), sessions=sessions(30)), size=(200, 50)) as acting:
        for tab in TABS:
            await acting.press(tab)
            await sorted_by_each(acting)


async def sorted_by_each(acting: Stage) -> None:
    """Sort the table that has the focus by each of its columns in turn."""
    grid = acting.app.panels.grid
    assert grid is not None
    seen = set()
    for _ in grid.drawing.sortable():
        await acting.keys("s")
        seen.add(grid.rows.sort_key)
        assert not grid.rows.sort_key or is_sorted(grid)
    assert seen == set(grid.drawing.sortable())
    screen = await acting.press("s", "S")
    assert "▲" in screen or "▼" in screen
    assert is_sorted(grid)


def is_sorted(grid: Grid) -> bool:
    column = grid.table.column(grid.rows.sort_key)
    keys = [column.sort(row) for row in grid.rows.shown if column.sort(row) is not None]
    return keys == sorted(keys, reverse=grid.rows.descending)


@acted
async def test_sorting_by_a_number_begins_with_the_largest_by_a_name_with_a() -> None:
    async with stage(busy(), size=(120, 30), tab="2") as acting:
        grid = acting.app.panels.grid
        for key, names in (
            ("used_cpus", ["INTERACTIVE", "REPORTS", "BATCH", "ETL", "OTHER_GROUPS", "SYS_GROUP"]),
            ("consumer_group", ["BATCH", "ETL", "INTERACTIVE", "OTHER_GROUPS", "REPORTS", "SYS_GROUP"]),
        ):
            while grid.rows.sort_key != key:
                await acting.keys("s")
            assert [row.name for row in grid.rows.shown] == names, "10.4, 6.0, 2.9, 0.6, 0.3 and 0.0 CPUs"
            await acting.keys("S")
            assert [row.name for row in grid.rows.shown] == names[::-1]


@acted
async def test_the_heading_of_a_column_has_a_tooltip() -> None:
    async with stage(busy(), size=(120, 30), tab="2") as acting:
        grid = acting.app.panels.grid
        left, top = grid.region.x, grid.region.y
        place = acting.screen.splitlines()[top + 1].index("state")
        await acting.pilot.hover(None, offset=(place, top + 1))
        assert str(grid.tooltip) == f"state: {grid.table.column('state').help}"
        await acting.pilot.hover(None, offset=(left + 1, top + 1))
        assert str(grid.tooltip) == f"Group: {grid.table.column('consumer_group').help}"
        await acting.pilot.hover(None, offset=(left + 1, top + 2))
        assert grid.tooltip is None, "a row has no tooltip"


@acted
async def test_cursor_stays_on_its_row() -> None:
    async with stage(busy(), tab="4") as acting:
        await acting.keys("down", "down", "down")
        grid = acting.app.panels.grid
        assert grid is not None
        assert grid.row.sql_id == "7xq3h004jskd0"
        fewer = replace(busy(2), queue=busy().queue[2:])
        await acting.show(fewer)
        assert grid.row.sql_id == "7xq3h004jskd0"
        await acting.keys("s", "S")
        assert grid.row.sql_id == "7xq3h004jskd0"
        await acting.show(replace(fewer, queue=()))
        assert grid.row is None
        await acting.show(busy(3))
        assert grid.row is not None


def title_of(key: str) -> str:
    return next(name.title for name in tab_names() if name.key == key)


@acted
async def test_details_and_back_to_the_same_row() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        for tab in TABS:
            await acting.keys(tab)
            await there_and_back(acting, tab)


async def there_and_back(acting: Stage, tab: str) -> None:
    """Open the page of the second row in two ways, and leave it in two ways."""
    before = await acting.press("down")
    grid = acting.app.panels.grid
    assert grid is not None
    row = grid.table.identity(grid.row)
    for key, back in (("enter", "q"), ("d", "escape")):
        assert f"{title_of(tab)} › " in await acting.press(key)
        assert await acting.press(back) == before
    assert grid.has_focus
    assert grid.table.identity(grid.row) == row


@acted
async def test_details_of_queued_and_running() -> None:
    async with stage(busy(), size=(120, 60), tab="4") as acting:
        check("details-queued", body(await acting.press("enter")))
        await acting.keys("q", "tab")
        check("details-idle-holder", body(await acting.press("enter")))
        await acting.keys("q", "2", "down")
        check("details-group", body(await acting.press("d")))


@acted
async def test_details_follow_a_statement_that_ends() -> None:
    async with stage(busy(), size=(120, 40), tab="4") as acting:
        await acting.keys("enter")
        await acting.show(replace(busy(2), queue=busy().queue[1:]))
        assert "no longer there" in acting.screen
        again = replace(queued(1), waited=300.0)
        await acting.show(replace(busy(3), queue=(again,)))
        assert "no longer there" not in acting.screen
        assert "for 5 min:" in acting.screen


@acted
async def test_help_golden() -> None:
    async with stage(busy(), size=(120, 60)) as acting:
        await acting.keys("question_mark")
        columns, _, _ = acting.app.reader.text.partition("\n\nKeys")
        check("help-overview", columns.strip() + "\n")
        assert await acting.press("q") != ""
        assert not acting.app.reader.is_open


@acted
async def test_the_help_begins_with_the_columns_and_is_searched() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        screen = (await acting.press("2", "question_mark")).splitlines()
        assert "/ searches" in screen[4]
        assert screen[6].strip() == "Table CPU by consumer group"
        assert screen[7].split()[0] == "Inst", "the first column, on a cluster"
        found = (await acting.press("slash", *"yield", "enter")).splitlines()
        assert "filter: yield" in found[4]
        assert found[6].strip() == "Table CPU by consumer group"
        lines = [line for line in acting.app.reader.text.splitlines()[1:] if line and not line.startswith("Table")]
        assert lines
        assert all("yield" in line.lower() for line in lines)
        await acting.keys("slash", *"longest", "enter")
        assert "   tab 7 Latency\n" in acting.app.reader.text, "columns of other tabs, too"
        assert "Nothing matches." in await acting.press("slash", *"zzz", "enter")
        assert "\nStates\n" in (await acting.press("escape") and acting.app.reader.text), "the whole page again"
        assert "[2 CPU]" in await acting.press("escape")
        assert not acting.app.reader.is_open
        assert "filter" not in acting.screen.splitlines()[3], "the table has its own"
        await acting.keys("question_mark", "slash", *"yield", "enter", "q", "question_mark")
        assert acting.app.reader.needle == "", "the next page is whole"
        tabs = [line for line in acting.app.reader.text.splitlines() if "Show a tab" in line]
        assert len(tabs) == 1
        assert "2 CPU" in tabs[0]


@acted
async def test_refresh_interval() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        assert "every 3s" in await acting.press("plus")
        assert "every 1s" in await acting.press("minus", "minus")
        assert acting.feed.requests == [3.0, 2.0, 1.0]


@acted
async def test_the_keys_line_offers_only_useful_keys() -> None:
    async with stage(size=(200, 50)) as acting:
        assert "pause" not in acting.screen.splitlines()[-1]
        await acting.show(busy())
        line = acting.screen.splitlines()[-1]
        assert "Space pause" in line
        assert "instances" not in line, "there is one"
        assert "back in time" not in line, "there is no past yet"
        page = await acting.press("enter")
        assert "q back" in page.splitlines()[-1]
        assert "sort" in page.splitlines()[-1], "a list of sessions and statements"
        page = await acting.press("d")
        assert "sort" not in page.splitlines()[-1]


@acted
async def test_copy_goes_to_clipboard_and_file(tmp_path: Path) -> None:
    async with stage(busy(), size=(200, 50), tab="4") as acting:
        await acting.keys("enter", "c", "p")
        assert "Why it waits" in acting.app.clipboard
        kept = tmp_path / "state" / "presman" / "copied.txt"
        assert kept.read_text() == acting.app.clipboard + "\n"
        assert kept.stat().st_mode & 0o077 == 0
        assert "copied.txt" in acting.screen
        await acting.keys("q", "5", "c", "r")
        assert "Session: 1:" in acting.app.clipboard


@acted
async def test_export_appends_each_poll_until_ended(tmp_path: Path) -> None:
    async with stage(busy(), size=(200, 50), folder=tmp_path) as acting:
        screen = await acting.press("e")
        assert "▸ CSV cpu" in screen
        (path,) = tmp_path.glob("*.csv")
        assert path.name in " ".join(screen.split())
        await acting.keys("space")
        await acting.show(busy(2), busy(3))
        await acting.keys("e")
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        assert len({row["time"] for row in rows}) == 3, "polls go on while the view is frozen"
        assert "▸ CSV" not in acting.screen
        await acting.keys("4", "e")
        assert any("queue" in each.name for each in tmp_path.glob("*.csv"))


@acted
async def test_a_failed_export_is_reported(tmp_path: Path) -> None:
    async with stage(busy(), size=(200, 50), folder=tmp_path / "missing") as acting:
        screen = await acting.press("e")
        assert "missing" in screen
        assert "▸ CSV" not in screen
        assert "● LIVE" in screen


@acted
async def test_a_full_disk_is_reported_and_the_screen_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(busy(), size=(200, 50), folder=tmp_path) as acting:
        await acting.keys("e")

        def full(_reading: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(acting.app.recording._file, "write", full)
        await acting.show(busy(2))
        assert "No space left on device" in acting.screen
        assert "▸ CSV" not in acting.screen
        await acting.show(busy(3))
        assert "● LIVE" in acting.screen


@acted
async def test_palette_offers_the_actions() -> None:
    async with stage(busy()) as acting:
        offered = {command.title for command in acting.app.get_system_commands(acting.app.screen)}
        assert "pause (Space)" in offered
        assert "filter (/)" in offered
        assert not any("instances" in title for title in offered)
        assert "Search" in await acting.press("ctrl+p")


@acted
async def test_the_palette_goes_to_the_next_table() -> None:
    async with stage(busy(), size=(120, 30), tab="4") as acting:
        seen = []
        for _ in range(2):
            offered = {each.title: each.callback for each in acting.app.get_system_commands(acting.app.screen)}
            offered["next table (Tab)"]()
            await acting.settle()
            seen.append(acting.app.focused.id)
        assert seen == ["grid-running", "grid-queue"]


@acted
async def test_a_page_is_scrolled_by_lines_and_by_screenfuls() -> None:
    async with stage(busy(), size=(80, 24), tab="2") as acting:
        await acting.keys("question_mark")
        region = acting.app.focused.region

        def page() -> list[str]:
            return [line[:70].rstrip() for line in acting.screen.splitlines()[region.y : region.bottom]]

        whole, height = page(), region.height
        for key, top in (
            ("down", 1), ("j", 2), ("k", 1), ("pagedown", height), ("up", height - 1), ("pageup", 0), ("k", 0),
        ):  # fmt: skip
            await acting.keys(key)
            assert page()[: height - top] == whole[top:], key
        await acting.keys("pagedown", "pagedown")
        assert page() != whole
        await acting.keys("home")
        assert page() == whole


@acted
async def test_theme_key() -> None:
    async with stage(busy(), theme="textual-dark") as acting:
        await acting.keys("t")
        assert acting.app.theme == "textual-light"


@acted
async def test_mouse_tabs_and_heads() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        await acting.pilot.click("#tabs", offset=(acting.screen.splitlines()[3].index("4 Parallel"), 0))
        await acting.settle()
        assert "[4 Parallel]" in acting.screen
        grid = acting.app.query_one("#grid-queue", Grid)
        await acting.pilot.click("#grid-queue", offset=(5, 1))
        assert grid.rows.sort_key == "consumer_group"
        await acting.pilot.click("#grid-queue", offset=(5, 3))
        assert grid.has_focus


@acted
async def test_q_at_the_top_quits_and_stops_the_feed() -> None:
    await quits("q")


@acted
async def test_ctrl_c_quits_too() -> None:
    await quits("ctrl+c")


async def quits(key: str) -> None:
    async with stage(busy()) as acting:
        await acting.pilot.press(key)
        await acting.pilot.pause()
        await acting.pilot.pause()
    assert acting.feed.requests[-1] == "stop"
    assert acting.app.return_code == 0


@acted
async def test_the_header_says_which_packs_are_allowed() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        assert "packs" not in acting.screen.splitlines()[0]
        acting.app.monitor.choose(packs=("diagnostics", "tuning"))
        acting.app.repaint()
        await acting.settle()
        assert "packs diagnostics + tuning" in acting.screen.splitlines()[0]


@acted
async def test_two_clicks_at_once_close_a_list_once() -> None:
    async with stage(busy()) as acting:
        await acting.keys("ctrl+p")
        palette = acting.app.screen
        palette.dismiss()
        palette.dismiss()
        await acting.settle()
        assert "Overview" in await acting.press("1")


@pytest.mark.parametrize(
    ("key", "text"), [("plus", "A poll every 3 s."), ("f5", "Asked for a poll now."), ("w", "Charts show 60 minutes.")]
)
@acted
async def test_a_key_with_an_invisible_effect_has_a_notice(key: str, text: str) -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        assert text in await acting.press(key)


@acted
async def test_a_notice_with_a_file_name_covers_one_line() -> None:
    name = "/var/lib/presman/presman-dwprod-report-20261126-033955.html"
    async with stage(busy(), size=(80, 24)) as acting:
        before = acting.screen.splitlines()
        acting.app.notify(f"Report: {name}")
        await acting.settle()
        after = acting.screen.splitlines()
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    assert any(name in line for line in after)


@acted
async def test_a_notice_does_not_cover_the_input_line() -> None:
    async with stage(busy(), size=(80, 24), tab="4") as acting:
        await acting.keys("colon")
        acting.app.notify("a notice\n" * 3, timeout=12)  # one that the next key does not take away
        lines = (await acting.press(*"somewhere")).splitlines()
        (typed,) = (line for line in lines if "somewhere" in line)
        assert "a notice" in "".join(lines)
        assert typed == lines[-2]
        assert typed.replace("somewhere", "").strip() == ""
