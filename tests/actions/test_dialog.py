"""The dialog shows the exact statement and sends it only after a typed y."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from presman.actions.gateway import ActionDialog, Gateway, available_actions, default_log
from presman.actions.remarks import remarks
from presman.analysis.readings.reading import UnavailableView
from presman.rows.commands import CommandKind
from presman.tui.feed import Acted
from tests.thorough import some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy, cluster, queued, running, session


async def open_dialog(acting: Stage) -> str:
    acting.app.gateway = Gateway()
    return await acting.press("4", "a")


@acted
async def test_the_dialog_offers_shows_and_asks() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        screen = await open_dialog(acting)
        assert isinstance(acting.app.screen, ActionDialog)
        assert "1  start it now" in screen
        assert "ALTER SYSTEM CANCEL SQL '501, 7, @1, 7xq3h001jskd0'" in screen
        shown = await acting.press("1")
        assert "BEGIN DBMS_RESOURCE_MANAGER.DEQUEUE_PARALLEL_STATEMENT(" in shown
        assert ":sid = 501" in shown
        assert acting.feed.requests == []
        await acting.keys("y", "enter")
        (command,) = acting.feed.requests
        assert command.kind is CommandKind.DEQUEUE
        assert not isinstance(acting.app.screen, ActionDialog)
        notices = "".join(str(each.message) for each in acting.app._notifications)
        assert "within 10 s or not at all" in notices
        (line,) = default_log().read_text("utf-8").splitlines()[-1:]
        assert json.loads(line)["outcome"] == "confirmed"


@pytest.mark.parametrize("size", some([(60, 8)], [(80, 24), (60, 15)]))
@acted
async def test_every_command_of_a_long_menu_is_visible(size: tuple[int, int]) -> None:
    async with stage(busy(), size=size) as acting:
        seen = await open_dialog(acting)
        commands = available_actions(busy().queue[0], busy())
        assert len(commands) >= 6
        for _ in range(60):
            seen += await acting.press("down")
        for number, each in enumerate(commands, start=1):
            assert f"{number}  {each.kind.value}" in seen
        assert "There is no command 9 here." in await acting.press("9")
        shown = await acting.press("6")
        assert "This will be sent:" in shown or "Type y and Enter" in shown
        assert "y and Enter send it" in shown, "the input line is on the screen"


def test_each_command_has_a_digit_even_with_many_groups() -> None:
    reading = busy()
    (waiting, *_), (one, *_) = reading.queue, reading.cluster_groups()
    groups = tuple(one._replace(name=f"G{number}", in_plan=True, con_id=waiting.con_id) for number in range(20))
    offered = available_actions(waiting, replace(reading, groups=groups))
    assert [str(number) for number, _ in enumerate(offered, start=1)] == list("123456789")


REFUSALS = (
    ("escape",),
    ("1", "escape"),
    ("1", "enter"),
    ("1", "n", "enter"),
    ("1", "Y", "enter"),
    ("1", "y", "e", "enter"),
    ("9", "escape"),
)


@acted
async def test_anything_but_y_sends_nothing() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        for keys in REFUSALS:
            await open_dialog(acting)
            await acting.keys(*keys)
            assert acting.feed.requests == [], keys
            assert not isinstance(acting.app.screen, ActionDialog)


@acted
async def test_keys_of_the_monitor_do_nothing_in_the_dialog() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        await open_dialog(acting)
        await acting.keys("q", "5", "c", "space")
        assert isinstance(acting.app.screen, ActionDialog)
        assert acting.app.monitor.choices.tab == "parallel"
        await acting.show(busy(2))
        assert isinstance(acting.app.screen, ActionDialog)


@acted
async def test_the_outcome_is_shown() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        await open_dialog(acting)
        await acting.keys("2", "y", "enter")
        (command,) = acting.feed.requests
        acting.app.post_message(Acted(command, False, "not sent: it waited", tried=False))
        await acting.settle()
        assert "not sent: it waited" in default_log().read_text("utf-8").splitlines()[-1], "an attempt like any other"
        acting.app.post_message(Acted(command, False, "not sent: session 501,7 on instance 1 is no longer there"))
        await acting.settle()
        assert "no longer there" in " ".join(acting.screen.split())


@acted
async def test_no_action_is_possible_in_the_past() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        acting.app.gateway = Gateway()
        await acting.keys("4")
        acting.app.monitor.choose(behind=3)
        await acting.keys("a")
        assert not isinstance(acting.app.screen, ActionDialog)


@acted
async def test_a_switch_on_a_cluster_names_its_instance() -> None:
    async with stage(cluster(), size=(160, 45)) as acting:
        assert "switch its group to REPORTS (works from instance 1 only)" in await open_dialog(acting)
    async with stage(busy(), size=(140, 40)) as acting:
        assert "(works from instance" not in await open_dialog(acting)


def test_remarks_name_blockers_and_sessions_about_to_end() -> None:
    blocked = running(526, blocker="1:88")
    reading = replace(busy(), running=(blocked,), sessions=(session(88, user="MARTIN", status="INACTIVE"),))
    assert remarks(blocked, reading) == ("It is blocked by MARTIN 1:88, inactive: look at that session first.",)
    ending = running(526, remaining=20.0, progress=0.9, operation="Table Scan", is_last=True)
    assert remarks(ending, replace(reading, running=(ending,))) == ("It should end by itself in about 0:20.",)
    assert remarks(running(526), replace(reading, running=(running(526),))) == ()


@acted
async def test_a_double_confirmation_is_sent_once() -> None:
    async with stage(busy(), size=(140, 40)) as acting:
        await open_dialog(acting)
        await acting.keys("1", "y")
        dialog = acting.app.screen
        line = dialog.query_one(Input)
        for _ in range(3):
            line.post_message(Input.Submitted(line, "y"))
        await acting.settle()
        assert len(acting.feed.requests) == 1


@acted
async def test_the_dialog_warns_if_do_names_another_session() -> None:
    """Nobody should kill a waiting session in place of a holder; the notice of C covers no command."""
    async with stage(busy(), size=(80, 24)) as acting:
        await acting.keys("C")
        screen = " ".join((await open_dialog(acting)).replace("│", " ").split())
        for words in ("and holds no servers: ending it frees none.", "DO names MARTIN 1:526, not this one."):
            assert words in screen
        assert "Esc leaves. Nothing is sent yet." in screen
        assert all(each.kind.value in screen for each in acting.app.screen._commands)
        asked = " ".join((await acting.press("3")).replace("│", " ").split())
        assert "ending it frees none." in asked
        assert "DO names MARTIN 1:526, not this one." in asked


@acted
async def test_the_dialog_shows_changes_since_it_was_opened() -> None:
    waits = busy()
    first = waits.queue[0]
    runs = running(first.sid, serial=first.serial, sql_id=first.sql_id)
    async with stage(waits, size=(140, 40)) as acting:
        for press in ((), ("2",)):
            await open_dialog(acting)
            await acting.keys(*press)
            assert "Meanwhile" not in acting.screen
            await acting.show(replace(waits, queue=waits.queue[1:], running=(runs,)))
            assert "Meanwhile it has left the queue, and it holds servers now: nothing would be sent." in acting.screen
            await acting.show(waits)
            assert "Meanwhile" not in acting.screen
            await acting.keys("escape")
            await acting.show(waits)


def test_changes_are_shown_only_if_the_views_answered() -> None:
    row = queued()
    session_of = {"inst_id": row.inst_id, "serial": row.serial}
    waits = replace(busy(), queue=(row,), running=())
    both = replace(waits, running=(running(row.sid, **session_of),))
    gone = replace(waits, queue=())
    unseen = replace(gone, unseen=(*gone.unseen, UnavailableView("GV$SESSION", "ORA-00942")))
    assert "holds 32 servers with another statement" in " ".join(remarks(row, both))
    assert "and it holds no servers now" in " ".join(remarks(row, gone, waits))
    assert "it is queued with another statement" in " ".join(remarks(row, waits, gone))
    assert not any("Meanwhile" in each for each in remarks(row, unseen, waits))
    assert not any("Meanwhile" in each for each in remarks(row, waits, waits))
