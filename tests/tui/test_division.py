"""How the Parallel tab divides its lines, and what it omits if room is short."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.unblock import unblock
from presman.figures.drawing.lines import length, plain
from presman.figures.statement_figures import QUEUE
from presman.tabs.parallel import by_class, in_one_line, queue_rows, summary
from presman.tabs.parts import Moment
from presman.tui.panels.parallel_panel import Contents, divide, most_for_why, room_for_why, why_block, why_lines
from presman.tui.widgets.table_frame import HEADER_LINES
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, queued, quiet

STORM = Contents(why=5, queued=200, running=100, groups=6, summary=2)


def rows(lines: int) -> int:
    return max(0, lines - HEADER_LINES)


@pytest.mark.parametrize(("terminal", "queue", "running"), [(50, 10, 5), (45, 6, 4), (30, 8, 5), (24, 5, 3)])
def test_the_division_of_a_busy_screen(terminal: int, queue: int, running: int) -> None:
    height = terminal - 4  # header, tabs, keys
    found = divide(height, STORM)
    assert (rows(found.queue), rows(found.running)) >= (queue, running)
    assert found.used == height
    assert (found.pools > 0) != (found.summary > 0)
    assert (found.pools > 0) == (found.over_time > 0) == (terminal >= 45)


def test_no_more_lines_are_assigned_than_exist() -> None:
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


def test_nine_groups_are_shown_if_nothing_else_needs_lines() -> None:
    """First six groups, then three more in the lines left; the rest is for the chart over time."""
    found = divide(60, Contents(1, 0, 0, 24, 2))
    assert rows(found.pools) == 9
    assert found.used == 60


def test_in_a_low_terminal_the_queue_or_the_running_list_has_all_lines() -> None:
    """80x10 leaves five lines between the lines of every tab."""
    assert divide(5, STORM) == (0, 5, 0, 0, 0, 0, 0)
    assert divide(5, Contents(2, 0, 3, 6, 2)) == (0, 0, 5, 0, 0, 0, 0)
    assert divide(5, Contents(2, 0, 0, 6, 2)) == (0, 5, 0, 0, 0, 0, 0)


def test_a_few_statements_more_do_not_move_the_parts() -> None:
    assert divide(26, Contents(4, 5, 3, 6, 2)) == divide(26, Contents(4, 8, 4, 6, 2))


def test_the_least_important_part_is_omitted_first() -> None:
    tiny = divide(12, STORM)
    assert (tiny.summary, tiny.running) == (0, 0)
    assert rows(tiny.queue) == 4


def test_the_first_head_is_shown_in_full_and_omitted_ones_named() -> None:
    block = why_block(busy(), unblock(busy()), (), ())
    lines = [plain(line) for line in why_lines(block, 78, most_for_why(20))]
    assert lines[0].startswith(" WHY  BATCH: head 7xq3h001jskd0 wants 32 servers")
    assert "c 1 copies ①" in " ".join(lines)
    assert [len(line) - len(line.lstrip()) for line in lines[:3]] == [1, 6, 6], "as far as the label is wide"
    assert lines[-1] == "  … 1 more queue waits: ETL (go to one of its rows to see why)"
    assert "ETL: head" in " ".join(plain(line) for line in why_lines(block, 78))
    assert all(length(line) <= 78 for line in why_lines(block, 78))


def test_heads_that_just_fit_are_all_shown() -> None:
    block = why_block(busy(), unblock(busy()), (), ())
    whole = why_lines(block, 78)
    assert why_lines(block, 78, len(whole)) == whole
    assert "1 more queue waits" in plain(why_lines(block, 78, len(whole) - 1)[-1])


def test_the_queue_under_the_cursor_comes_first() -> None:
    block = why_block(busy(), unblock(busy()), (), (), (0, "ETL"))
    assert plain(why_lines(block, 150)[0]).startswith(" WHY  ETL:")


def test_queues_are_ordered_by_do_then_urgency() -> None:
    """In alphabetical order BATCH came first, and the queue of the alert and of DO had no room."""
    reading = busy()
    batch, etl = reading.heads
    older = tuple(replace(each, waited=300.0) if each.group == "ETL" else each for each in reading.queue)
    etl = replace(etl, statement=replace(etl.statement, waited=300.0))
    helped = replace(reading, heads=(batch, etl), queue=older)  # DO ends MARTIN for BATCH
    waits = replace(helped, running=reading.running[1:])
    for each, groups in ((helped, ("BATCH", "ETL")), (waits, ("ETL", "BATCH"))):
        found = queue_rows(Moment(each))
        assert tuple(dict.fromkeys(row.group for row in found)) == groups
        assert [row.position for row in found[:2]] == [1, 2], "within a queue the order is that of the queue"
        assert tuple(one.head.group for one in why_block(each, unblock(each), (), ()).heads) == groups
    assert QUEUE.worst_first, "so the row under the cursor is of that queue until the cursor is moved"


def test_an_end_that_helps_several_queues_is_written_once() -> None:
    first = busy().heads[1]
    second = replace(first, group="OTHER", statement=queued(1, "OTHER"))
    reading = replace(busy(), heads=(first, second))
    lines = [plain(line) for line in why_lines(why_block(reading, unblock(reading), (), ()), 190)]
    assert sum("MARTIN" in line for line in lines) == 1
    assert lines[-1].endswith("TO START IT  as for OTHER"), "its head has waited longer, so it is the first"


def test_the_holders_of_servers_fit_two_lines() -> None:
    wide, narrow = (" ".join(plain(line).strip() for line in summary(busy(), width)) for width in (150, 78))
    assert wide == (
        "SERVERS  OTHER_GROUPS 78 · BATCH 64 of 64, 12 queued · ETL 64 of 128, 2 queued · REPORTS 8 of 128 · "
        "others 8 · FULL: one queue per consumer group"
    )
    assert narrow.endswith("others 8")
    (line,) = summary(busy(), 78, 1)
    assert plain(line) == " SERVERS  OTHER_GROUPS 78 · BATCH 64 of 64, 12 queued · …", "no fact ends in its middle"


def test_a_long_line_ends_with_a_whole_fact() -> None:
    line = (("in use ", "dim"), ("248", ""), ("  max 480", "dim"))
    assert plain(in_one_line(line, 19)) == "in use 248  max 480"
    assert plain(in_one_line(line, 18)) == "in use 248"
    assert plain(in_one_line(line, 3)) == "in use "


def test_downgrades_by_class() -> None:
    prefix = "Parallel operations"
    counted = {f"{prefix} downgraded to serial": 2, f"{prefix} downgraded 50 to 75 pct": 3}
    counted |= {f"{prefix} not downgraded": 99, f"{prefix} downgraded 1 to 25 pct": 0}
    assert by_class(counted) == "last hour: 3 by 50 to 75 %, 2 to serial"
    assert by_class({f"{prefix} not downgraded": 99}) == ""


@acted
async def test_every_size_shows_why_how_to_end_it_and_six_queue_rows() -> None:
    async with stage(busy(), size=(80, 24), tab="4") as acting:
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
async def test_moving_to_another_queue_shows_why_it_waits() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        first = await acting.press("4")
        assert "WHY  BATCH" in first
        assert "WHY  ETL" in await acting.press(*["down"] * 13)
        await acting.keys("c", "1")
        assert acting.app.clipboard == "526,60805,@1", "BATCH may get them before ETL: a session, and no command"


@pytest.mark.parametrize(
    ("height", "wanted", "found"),
    [
        # 6 lines for the queue and what runs, 6 for four groups, 9 over time and 3 between them are 35: 4 are left.
        (40, Contents(5, 3, 2, 4, 2), (5, 6, 6, 6, 0, 13, 1)),
        # 8, 6, 8 and the 5 of why are 27: of 3 left two are the other groups', one the queue's.
        (30, Contents(5, 20, 10, 8, 2), (5, 9, 6, 10, 0, 0, 0)),
        # 40 with what is over time: of 20 left two are the groups', a third of 18 what runs has, the rest the queue.
        (60, Contents(5, 20, 10, 8, 2), (5, 20, 12, 10, 0, 9, 1)),
        # The running list needs 4 more and the queue none: it gets all that is left and needed.
        (40, Contents(1, 1, 8, 0, 2), (1, 6, 10, 2, 0, 17, 1)),
        # 27 lines are just enough for six of the groups; of 26 two sum them up, and of five left the queue has four.
        (27, Contents(5, 20, 10, 8, 2), (5, 8, 6, 8, 0, 0, 0)),
        (26, Contents(5, 20, 10, 8, 2), (5, 12, 7, 0, 2, 0, 0)),
        # From 36 lines on what is over time has its 9, and the parts stand apart: here that is all there is.
        (36, Contents(5, 3, 2, 4, 2), (5, 6, 6, 6, 0, 9, 1)),
        (35, Contents(5, 3, 2, 4, 2), (5, 6, 6, 6, 0, 0, 0)),
        # Nine are queued: none of the lines that would be theirs is kept free below the one that runs.
        (20, Contents(3, 9, 1, 3, 2), (3, 9, 3, 5, 0, 0, 0)),
        (20, Contents(4, 1, 7, 4, 2), (4, 3, 7, 6, 0, 0, 0)),
        # Of ten lines left the texts of the queue need one beside the one that it has free, those of what runs seven.
        (30, Contents(5, 3, 2, 1, 2, 2, 9), (5, 7, 13, 3, 0, 0, 0)),
        (22, Contents(3, 6, 4, 0, 2), (3, 10, 6, 2, 0, 0, 0)),
        (10, Contents(6, 4, 4, 5, 3), (6, 4, 0, 0, 0, 0, 0)),
        (10, Contents(12, 4, 4, 5, 3), (10, 0, 0, 0, 0, 0, 0)),
        (15, Contents(3, 4, 4, 5, 3), (3, 6, 5, 0, 1, 0, 0)),
        (9, Contents(3, 4, 4, 5, 3), (0, 9, 0, 0, 0, 0, 0)),
    ],
)
def test_lines_are_divided_by_need(height: int, wanted: Contents, found: tuple[int, ...]) -> None:
    assert divide(height, wanted) == found


def test_room_for_the_reasons() -> None:
    assert [most_for_why(height) for height in (20, 33, 40)] == [6, 9, 12]
    assert [room_for_why(height) for height in (15, 21, 22)] == [9, 15, None]


def compared_with(now: float, hour: float | None, plan: float | None, seconds: float, *, worse: bool = True) -> Any:
    means = [None if each is None else SimpleNamespace(mean_queue=each) for each in (hour, plan)]
    newest = SimpleNamespace(mean_queue=now, seconds=seconds)
    return SimpleNamespace(worse=worse, name="BATCH", now=newest, hour=means[0], plan=means[1])


def worse(*each: Any) -> str:
    return " ".join(" ".join(map(plain, why_lines(why_block(busy(), (), each, ()), 400))).split())


def test_a_worse_queue_is_shown_with_the_usual_value() -> None:
    hour, plan = compared_with(12.0, 3.0, 2.0, 60.0), compared_with(12.0, None, 2.0, 0.0)
    assert worse(hour).endswith(
        "WORSE THAN USUAL BATCH 12.0 queued in the last minute, 3.0 on average in the last hour"
    )
    assert worse(hour, plan).endswith("; BATCH 12.0 queued now, 2.0 on average since the plan was activated")
    assert worse(compared_with(12.0, None, None, 0.0)).endswith("now, - on average since the plan was activated")
    assert "WORSE" not in worse(compared_with(1.0, 3.0, 2.0, 60.0, worse=False))


def test_without_a_head_the_block_says_whether_statements_wait() -> None:
    assert worse() == "WHY Statements are queued; why the first one waits is not known."
    assert "not known" not in " ".join(map(plain, why_lines(why_block(quiet(), (), (), ()), 400)))


def test_the_head_of_the_row_under_the_cursor_comes_first() -> None:
    heads = unblock(busy())
    ordered = why_block(busy(), heads, (), (), (0, "ETL")).heads
    assert [each.head.group for each in ordered] == ["ETL", "BATCH"]
    assert [each.head.group for each in why_block(busy(), heads, (), (), (3, "ETL")).heads] == ["BATCH", "ETL"]
    lines = [plain(line) for line in why_lines(why_block(busy(), heads, (), ()), 400)]
    assert [line[:13] for line in lines] == [" WHY  BATCH: ", " TO START IT ", " WHY  ETL: he", " TO START IT "]
    brief = [plain(line) for line in why_lines(why_block(busy(), heads, (), ()), 78, None, 3)]
    whole = [plain(line) for line in why_lines(why_block(busy(), heads, (), ()), 78, None, 9)]
    assert len(brief) < len(whole), "its arithmetic is dropped if lines are short"
