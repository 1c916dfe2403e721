"""How the Parallel tab divides its lines, and what it leaves out where there is little room."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from presman.analysis.advice.unblock import unblock
from presman.figures.drawing.lines import length, plain
from presman.tabs.parallel import by_class, in_one_line, summary
from presman.tui.panels.parallel_panel import Contents, divide, most_for_why, story, why_lines
from presman.tui.widgets.table_frame import HEADER_LINES
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, queued

STORM = Contents(why=5, queued=200, running=100, groups=6, summary=2)


def rows(lines: int) -> int:
    return max(0, lines - HEADER_LINES)


@pytest.mark.parametrize(("terminal", "queue", "running"), [(50, 10, 5), (45, 6, 4), (30, 8, 5), (24, 5, 3)])
def test_what_a_storm_shows(terminal: int, queue: int, running: int) -> None:
    height = terminal - 4  # header, tabs, keys
    found = divide(height, STORM)
    assert (rows(found.queue), rows(found.running)) >= (queue, running)
    assert found.used == height
    assert (found.pools > 0) != (found.summary > 0)
    assert (found.pools > 0) == (found.over_time > 0) == (terminal >= 45)


def test_nothing_is_given_out_that_is_not_there() -> None:
    sizes = (0, 1, 5, 40)
    for height, why, *amounts in itertools.product((11, 20, 26, 41, 46), (1, 6), sizes, sizes, (0, 6, 24)):
        wanted = Contents(why, *amounts, 2)
        found = divide(height, wanted)
        assert found.used <= height
        assert found.why == why
        assert min(found) >= 0
        assert rows(found.pools) <= wanted.groups
        assert rows(found.queue) < wanted.queued + 4
        assert rows(found.running) < wanted.running + 4


def test_in_a_flat_terminal_the_queue_has_all_of_it_or_what_runs() -> None:
    """80x10 leaves five lines between the lines of every tab."""
    assert divide(5, STORM) == (0, 5, 0, 0, 0, 0, 0)
    assert divide(5, Contents(2, 0, 3, 6, 2)) == (0, 0, 5, 0, 0, 0, 0)
    assert divide(5, Contents(2, 0, 0, 6, 2)) == (0, 5, 0, 0, 0, 0, 0)


def test_a_few_statements_more_do_not_move_the_parts() -> None:
    assert divide(26, Contents(4, 5, 3, 6, 2)) == divide(26, Contents(4, 8, 4, 6, 2))


def test_the_least_important_goes_first() -> None:
    tiny = divide(12, STORM)
    assert (tiny.summary, tiny.running) == (0, 0)
    assert rows(tiny.queue) == 4


def test_the_first_head_is_told_whole_and_those_without_room_are_named() -> None:
    told = story(busy(), unblock(busy()), (), ())
    lines = [plain(line) for line in why_lines(told, 78, most_for_why(20))]
    assert lines[0].startswith(" WHY  BATCH: head 7xq3h001jskd0 wants 32 servers")
    assert "c 1 copies ①" in " ".join(lines)
    assert lines[-1] == "  … 1 more queue waits: ETL (move to one of their rows to see why)"
    assert "ETL: head" in " ".join(plain(line) for line in why_lines(told, 78))
    assert all(length(line) <= 78 for line in why_lines(told, 78))


def test_the_queue_under_the_cursor_comes_first() -> None:
    told = story(busy(), unblock(busy()), (), (), (0, "ETL"))
    assert plain(why_lines(told, 150)[0]).startswith(" WHY  ETL:")


def test_what_ends_several_waits_is_written_out_once() -> None:
    first = busy().heads[1]
    second = replace(first, group="OTHER", statement=queued(1, "OTHER"))
    reading = replace(busy(), heads=(first, second))
    lines = [plain(line) for line in why_lines(story(reading, unblock(reading), (), ()), 190)]
    assert sum("①" in line for line in lines) == 1
    assert lines[-1].endswith("TO START IT  as for ETL")


def test_who_holds_the_servers_in_two_lines() -> None:
    wide, narrow = (" ".join(plain(line).strip() for line in summary(busy(), width)) for width in (150, 78))
    assert wide == (
        "SERVERS  OTHER_GROUPS 78 · BATCH 64 of 64, 12 queued · ETL 64 of 128, 2 queued · REPORTS 8 of 128 · "
        "others 8 · FULL: one queue per consumer group"
    )
    assert narrow.endswith("others 8")


def test_a_line_that_is_too_long_ends_with_a_whole_fact() -> None:
    line = (("in use ", "dim"), ("248", ""), ("  max 480", "dim"))
    assert plain(in_one_line(line, 19)) == "in use 248  max 480"
    assert plain(in_one_line(line, 18)) == "in use 248"
    assert plain(in_one_line(line, 3)) == "in use "


def test_downgrades_by_class() -> None:
    prefix = "Parallel operations"
    counted = {f"{prefix} downgraded to serial": 2, f"{prefix} downgraded 50 to 75 pct": 3}
    counted |= {f"{prefix} not downgraded": 99, f"{prefix} downgraded 1 to 25 pct": 0}
    assert by_class(counted) == "last hour: 50 to 75 pct 3, to serial 2"
    assert by_class({f"{prefix} not downgraded": 99}) == ""


@acted
async def test_at_every_size_why_what_ends_it_and_six_rows_of_the_queue() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        await acting.keys("4")
        for size, least in (((80, 24), 4), ((120, 30), 6), ((160, 45), 6), ((200, 50), 6)):
            await acting.resize(*size)
            screen = acting.screen
            assert "WHY  BATCH: head" in screen
            assert "c 1 copies ①" in screen
            rows_shown = sum(" RPT " in line or "7xq3h" in line for line in screen.split("Queued  14")[1].splitlines())
            assert rows_shown >= least
            assert "more ↓" in screen or rows_shown >= 14
            assert "BATCH" in screen.splitlines()[-3] or "Servers by consumer group" in screen


@acted
async def test_moving_to_another_queue_tells_why_that_one_waits() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        first = await acting.press("4")
        assert "WHY  BATCH" in first
        assert "WHY  ETL" in await acting.press(*["down"] * 13)
        await acting.keys("c", "1")
        assert acting.app.clipboard.startswith("ALTER SYSTEM KILL SESSION '526,")
