"""Optional tables: hidden without rows, but shown with the reason if their view is unavailable."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Evidence, Reading, UnavailableView
from presman.output.text_report import full
from presman.tabs import tab, tab_names
from presman.tabs.choices import Choices, DrillScope
from presman.tabs.parts import Moment
from tests.thorough import some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, quiet


def without_sessions() -> Reading:
    """Nobody granted V$SESSION: neither sessions nor a queue can be seen."""
    why = "V$SESSION: ORA-00942"
    return replace(
        quiet(), sessions=(), queue=(), unseen=(UnavailableView("GV$SESSION", why),),
        basis=(Evidence("queue", ("V$SESSION",), why),),
    )  # fmt: skip


def without_holders() -> Reading:
    return replace(busy(), running=(), unseen=(UnavailableView("GV$PX_SESSION", "GV$PX_SESSION: ORA-00942"),))


@pytest.mark.parametrize("size", some([(80, 24)], [(120, 35), (200, 50)]))
@acted
async def test_unavailable_blocked_sessions_are_reported(size: tuple[int, int]) -> None:
    async with stage(quiet(), size=size) as acting:
        assert "Blocked sessions" not in await acting.press("9"), "nobody does"
        await acting.show(without_sessions())
        line = next(line for line in acting.screen.splitlines() if "Blocked sessions" in line)
        assert "No session was active" not in acting.screen
        assert "No statement" not in acting.screen
        assert " ".join(line.split()) == "Blocked sessions Not known: V$SESSION: ORA-00942."
        await acting.show(quiet())
        assert "Blocked sessions" not in acting.screen


@acted
async def test_a_reason_without_room_is_wrapped() -> None:
    why = " and ".join(["V$SESSION has none of the columns that it is asked for"] * 3)
    async with stage(replace(quiet(), unseen=(UnavailableView("V$SESSION", why),)), size=(80, 24)) as acting:
        assert f"Not known: {why}." in " ".join((await acting.press("9")).split())


@acted
async def test_running_statements_of_a_group_are_unknown_without_holders() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        await acting.keys("enter")
        screen = acting.screen
        await acting.show(without_holders())
        assert "Not known: GV$PX_SESSION: ORA-00942." in acting.screen
        assert "Not known" not in screen


def test_unavailable_groups_are_reported_where_they_belong() -> None:
    (groups, *_) = tab("drill_down").rows()
    reading = replace(
        busy(), groups=(), unseen=(UnavailableView("V$RSRC_CONSUMER_GROUP", "V$RSRC_CONSUMER_GROUP is not there"),)
    )

    def reason(scope: DrillScope) -> str:
        return groups.unavailable(Moment(reading, Choices(scopes=(scope,))))

    assert reason(DrillScope("it", inst_id=1)) == "Not known: V$RSRC_CONSUMER_GROUP is not there."
    assert reason(DrillScope("it", group="BATCH")) == reason(DrillScope("it", sql_id="9md3ukhghgj58")) == ""


def test_each_optional_table_can_report_its_missing_view() -> None:
    """Except the statements of a window: they stay when a view is lost, and Sessions below reports it."""
    parts = [part for name in (*[each.name for each in tab_names()], "drill_down") for part in tab(name).rows()]
    views = ("SESSION", "PX_SESSION", "RSRC_CONSUMER_GROUP")
    lost = replace(without_sessions(), unseen=tuple(UnavailableView(f"V${name}", "lost") for name in views))
    moment = Moment(lost, Choices(scopes=(DrillScope("it", inst_id=1),)))
    silent = {part.table.key for part in parts if part.optional and not part.unavailable(moment)}
    assert silent == {"top_of_scope"}


def test_a_text_report_marks_each_unavailable_table() -> None:
    text = full(without_sessions())
    for title in ("Queued", "Sessions", "Blocked sessions"):
        assert f"-- {title}\nNot known: V$SESSION: ORA-00942.\n" in text, title
    assert "Blocked sessions" not in full(quiet())
