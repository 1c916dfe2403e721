"""The line DO: on every tab, as long as there is room, with the key that copies its command."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.advice.step import Step, ToDo
from presman.analysis.advice.to_do import to_do
from presman.figures.drawing.lines import plain
from presman.tui.feed import Lost
from presman.tui.widgets.frame_lines import do_line
from tests.thorough import some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy, quiet
from tests.tui.test_live import playing

END = "end MARTIN 1:526 (idle 22:10, keeps 32 servers): then the head of BATCH may start; ETL wants the same servers"
KILL = "ALTER SYSTEM KILL SESSION '526,60805,@1';"


def notice(acting: Stage) -> str:
    """Return the text of the newest notice."""
    return list(acting.app._notifications)[-1].message


@pytest.mark.parametrize("size", some([(80, 24)], [(200, 50)]))
@acted
async def test_the_do_line_is_on_every_tab_and_c_copies_its_command(size: tuple[int, int]) -> None:
    async with stage(busy(), size=size) as acting:
        wide = f"{END}; also ETL starved, 0.6 of 2.4 CPUs"
        expected = f" DO  {wide if size[0] == 200 else 'end MARTIN 1:526: BATCH may start'}   C copies the command"
        for key in "1234567":
            lines = (await acting.press(key)).splitlines()
            assert lines[2] == expected
            assert "1 Overview" in lines[3]
        screen = await acting.press("C")
        assert "Copied, not run" in screen
        assert acting.app.clipboard == KILL
        words = " ".join(screen.replace("▌", " ").split())
        assert "It affects MARTIN" in words
        assert words.endswith("With IMMEDIATE, all that it holds is released at once."), (
            "the notice is whole at each size"
        )


@acted
async def test_without_alerts_there_is_no_do_line() -> None:
    async with stage(quiet()) as acting:
        assert "1 Overview" in acting.screen.splitlines()[2]
        assert " DO " not in acting.screen
        assert "DO has no command now; c lists those of the row." in await acting.press("C")
        await acting.show(busy(2))
        assert acting.screen.splitlines()[2].startswith(" DO ")
        await acting.show(replace(quiet(), number=3))
        assert "1 Overview" in acting.screen.splitlines()[2]


@acted
async def test_no_command_is_offered_for_old_data() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        paused = (await acting.press("space")).splitlines()
        assert paused[2].startswith(" DO  end MARTIN 1:526")
        assert "copies" not in paused[2]
        assert "DO has no command now; c lists those of the row." in await acting.press("C")
        await acting.keys("4", "c", "1")
        assert "no command is offered: the view is paused" in notice(acting)
        assert "c 1 copies ①" not in acting.screen
        assert "C copies the command" in await acting.press("space")
        acting.app.post_message(Lost("ORA-03113: end-of-file on communication channel", 4.0))
        await acting.settle()
        assert "C copies the command" not in acting.screen
        await acting.keys("c", "1")
        assert "no command is offered: the connection is lost" in notice(acting)
        assert acting.app.clipboard == ""


@acted
async def test_a_command_from_late_data_is_shown_with_its_age() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        acting.clock.now += 12.0
        for keys in (("C",), ("4", "c", "1")):
            await acting.keys(*keys)
            assert "Its data is 0:12 old" in notice(acting)
            assert acting.app.clipboard == KILL


def test_the_key_leads_to_the_tab_with_blocked_sessions() -> None:
    held = replace(busy().running[0], blocker="1:88")
    found = to_do(replace(busy(), groups=(), running=(held,)))
    assert found is not None
    assert found.step is Step.LOOK
    assert plain(do_line(found, 120)).endswith("   9 shows more")


def test_the_last_clause_is_dropped_only_if_it_does_not_fit() -> None:
    gone = "find out why instance 2 (LOSTDB2) is gone"
    found = ToDo(Step.LOOK, f"{gone}, and so on{' and on' * 20}", f"{gone}; start it if nobody stopped it", "events")
    hint = plain(do_line(found, 80)).removeprefix(f" DO  {gone}")
    assert hint.endswith("shows more")
    assert plain(do_line(found, 120)) == f" DO  {gone}; start it if nobody stopped it{hint}"


def test_the_longest_text_that_fits_with_the_key_of_its_tab() -> None:
    found = ToDo(Step.LOOK, "look at the sessions that work in BATCH", "look at BATCH", "latency")
    assert plain(do_line(found, 80)) == " DO  look at the sessions that work in BATCH   7 shows more"
    assert plain(do_line(found, 40)) == " DO  look at BATCH   7 shows more"
    assert plain(do_line(found, 30)) == " DO  look at BATCH"
    assert plain(do_line(found, 80, "latency")) == " DO  look at the sessions that work in BATCH"


def test_a_step_from_old_data_is_labelled_so() -> None:
    found = ToDo(Step.WAIT, "wait: the head may start in about 0:18", "wait", "")
    assert plain(do_line(found, 80, was_so=True)) == " DO  when last seen: wait: the head may start in about 0:18"
    assert plain(do_line(found, 30, was_so=True)) == " DO  when last seen: wait"


def test_the_reason_is_dropped_before_a_sentence_is_cut() -> None:
    found = ToDo(Step.WAIT, "x" * 200, "wait: MARTIN 1:3880 keeps 16 servers; ETL may be served first", "parallel")
    assert plain(do_line(found, 90)) == f" DO  {found.short}   4 shows more"
    assert plain(do_line(found, 60)) == " DO  wait: MARTIN 1:3880 keeps 16 servers   4 shows more"
    assert plain(do_line(found, 45)) == " DO  wait: MARTIN 1:3880 keeps 16 servers"


def test_the_step_stays_if_its_reason_has_no_room() -> None:
    """For a container slowed down by its I/O limit the line had only the reason, not the advice to wait."""
    found = ToDo(Step.WAIT, "x" * 200, "MAX_MBPS slows down SALES; wait: RPT 1:837 may end by itself", "parallel")
    assert plain(do_line(found, 80)) == f" DO  {found.short}   4 shows more"
    assert plain(do_line(found, 60)) == " DO  wait: RPT 1:837 may end by itself   4 shows more"
    alone = found._replace(short="wait, or decide: RPT keeps 16; it is not enough", between=("wait: it is not enough",))
    assert plain(do_line(alone, 45)) == " DO  wait: it is not enough   4 shows more"


@acted
async def test_a_statement_larger_than_the_target_gets_one_advice() -> None:
    """The advice was to lower its DOP until 0:30 were left, then to wait."""
    async with playing("queueing", (120, 35)) as (acting, polls):
        await polls(5)
        assert "DO  wait: QUERIES may start in about 0:34   4 shows more" in acting.screen
        await polls(5)
        assert "DO  wait: QUERIES may start in about 0:24   4 shows more" in acting.screen


def test_the_step_for_the_queue_follows_another_step_if_it_fits() -> None:
    plan, queue = "set a plan that divides CPU", "for the queue, wait: BATCH may start in about 0:18"
    found = ToDo(Step.CHANGE, f"{plan}: {'why ' * 40}; {queue}", plan, "plan", beside=queue)
    assert plain(do_line(found, 120)) == f" DO  {plan}; {queue}   6 shows more"
    assert plain(do_line(found, 80)) == f" DO  {plan}   6 shows more"
