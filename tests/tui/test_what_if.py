"""The what-if panel by keys: limits, the queue now and then, the script, advice, at three sizes and in a replay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from textual.css.stylesheet import Stylesheet

from presman.base.formats import clock
from presman.figures.drawing.lines import Line, plain
from presman.tui.feed import Lost
from presman.tui.what_if_screen import LiveAdvice, WhatIfScreen, _changes
from presman.tui.widgets.frame_lines import KeysLine
from tests import parsed_styles
from tests.recording.recorded import polled, record
from tests.thorough import some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy
from tests.tui.replays import replaying, waited
from tests.tui.test_live import playing

POLLS = 22
"""After so many of them the queue of `storm` has forecasts."""


@pytest.fixture(autouse=True)
def few_courses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel shows what few courses of the queue give as it shows what many give."""
    monkeypatch.setattr("presman.reports.whatif_queue.ONE_LOOK", 0)


def panel(acting: Stage) -> WhatIfScreen:
    """Return the panel on top of the screen."""
    assert isinstance(acting.app.screen, WhatIfScreen)
    return acting.app.screen


def page(acting: Stage) -> list[Line]:
    """Return the lines of the script as its first frame shows them."""
    return panel(acting)._queue._script._wrapped


def answered(acting: Stage) -> Callable[[], bool]:
    """Return a condition: the shown answer is the one asked for."""

    def is_answered() -> bool:
        on_show = panel(acting)
        answer = on_show._queue.answer
        return answer is not None and not on_show._is_busy and on_show._queue.is_about(on_show._changes.choice)

    return is_answered


@pytest.mark.parametrize("size", some([(120, 35)], [(80, 24), (200, 50)]))
@acted
async def test_two_keys_change_the_limit_by_which_the_head_waits(size: tuple[int, int], tmp_path: Path) -> None:
    async with playing("storm", size=size) as (acting, polls):
        await polls(POLLS)
        before = await acting.press("4")
        reading = acting.app.monitor.reading
        assert reading is not None
        assert reading.queue
        await acting.keys("W")
        await waited(acting, answered(acting))
        screen = acting.screen
        assert " What if  nothing is changed in the database" in screen
        assert "Sooner in" not in screen, "nothing is changed yet"
        row = panel(acting)._limits.row
        assert row is not None
        assert row.knob[1] is None or row.title == reading.queue[0].group
        assert row is panel(acting)._limits.rows.shown[0], "it is first"
        assert "↑," not in screen, "and nothing is scrolled away above it"
        keys = screen.splitlines()[-1]
        assert keys.endswith(" Del undo"), "all keys are named"
        assert "The last of the " in screen
        await acting.keys("right")
        await waited(acting, answered(acting))
        screen = acting.screen
        assert f"{row.now + row.step}{row.unit}" in screen
        assert "Sooner in" in screen
        assert "More servers at once share the same CPUs" in screen
        script = await acting.press("s")
        assert "SET DEFINE OFF" in script
        assert size[1] != 35 or "\n\n\n" not in script.strip(), "limits have the lines that the script leaves free"
        await acting.keys("c")
        assert acting.app.clipboard.startswith("-- Makes the changes.")
        assert (tmp_path / "state" / "presman" / "copied.txt").read_text().startswith("-- Makes the changes.")
        assert "Copied, not run" in "".join(str(each.message) for each in acting.app._notifications)
        await acting.pilot.click(KeysLine, offset=(keys.index("script") - 1, 0))
        await acting.keys("backspace")
        assert "SET DEFINE OFF" not in acting.screen, "the key was clicked"
        await waited(acting, answered(acting))
        assert panel(acting)._changes.values == {}
        await acting.keys("c")
        assert "there is no script" in "".join(str(each.message) for each in acting.app._notifications)
        acting.app.clear_notifications()
        await acting.keys("q")
        assert await acting.press() == before


@acted
async def test_a_tab_opened_later_has_the_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stylesheet, "_parse_rules", parsed_styles.by_each)
    async with playing("storm", size=(80, 24)) as (acting, polls):
        await polls(2)
        await acting.keys("W")
        await acting.keys("escape")
        await acting.keys("6")
        panel = acting.app.panels.present
        assert (panel.name, panel.content_region.x, panel.size.width) == ("plan", 1, 78)


@acted
async def test_a_change_is_in_the_script_at_once_and_clears_old_figures() -> None:
    async with playing("storm", size=(120, 35)) as (acting, polls):
        await acting.keys("4")
        await polls(POLLS)
        await acting.keys("W")
        await waited(acting, answered(acting))
        await acting.keys("right")
        await waited(acting, answered(acting))
        answer = panel(acting)._queue.answer
        assert answer is not None
        courses = f" of {answer.starts[0].courses} "
        assert courses in f"{acting.screen} ".replace("\n", " ")
        with mock.patch("presman.tui.what_if_screen.in_background"):
            screen = await acting.press("right")
            assert "The change is being calculated …" in screen
            assert courses not in screen, "the figures are not of the old change"
            assert "what if:" not in screen
            assert "The last of the " in screen, "the forecast without a change stays"
            assert " old" not in screen
            await polls(8)
            panel(acting)._ask()
            assert " s old" in await acting.press(), "the age of the shown figures"
            script = await acting.press("s", "c")
            (value,) = (each.value for each in panel(acting)._changes.choice)
            assert f"{value}" in script
            assert "there is no script" not in script
            assert f"{value}" in acting.app.clipboard
            panel(acting)._asked = (acting.app.monitor.reading, panel(acting)._changes.choice)  # it asks no more
            panel(acting).on_failed(mock.Mock())
            assert "being calculated" not in await acting.press("s"), "nothing is calculated now"
        panel(acting)._asked = (None, None)
        panel(acting)._ask()
        await waited(acting, answered(acting))
        acting.app.clear_notifications()
        assert "what if: " in await acting.press()
        assert "being calculated" not in acting.screen


@acted
async def test_the_panel_follows_polls_and_keeps_changes() -> None:
    async with playing("storm", size=(120, 35)) as (acting, polls):
        await polls(POLLS)
        await acting.keys("W", "W")
        await waited(acting, answered(acting))
        await acting.keys("9", "9", "9")
        assert "is from 1 to" in "".join(str(each.message) for each in acting.app._notifications)
        await waited(acting, answered(acting))
        first = panel(acting)._queue.answer
        await polls(1)
        panel(acting)._ask()
        await waited(acting, lambda: panel(acting)._queue.answer is not first and answered(acting)())
        answer = panel(acting)._queue.answer
        assert answer is not None
        assert answer.reading is acting.app.monitor.reading
        assert [each.value for each in answer.choice] == [99]


@pytest.mark.parametrize(("size", "limits"), some([((80, 24), 13)], [((120, 35), 24), ((200, 50), 25)]))
@acted
async def test_no_limit_is_hidden_and_no_sentence_cut_if_there_is_room(size: tuple[int, int], limits: int) -> None:
    """The queue had 14 free lines below it while "… 7 more ↓" stood above, and the reason ended in "…"."""
    async with playing("storm", size=size) as (acting, polls):
        await polls(3)
        await acting.keys("W")
        await waited(acting, answered(acting))
        screen = await acting.press()
        assert "a forecast needs 5 statements that have ended, and presman has seen" in " ".join(screen.split())
        shown = sum(
            line.startswith(
                tuple(f" {name} " for name in ("BATCH", "REPORTS", "ETL", "all", "SYS_GROUP", "OTHER_GROUPS"))
            )
            for line in screen.splitlines()
        )
        assert shown >= limits
        assert ("more ↓" in screen) is (size[1] < 50)
        await acting.keys("right")
        await waited(acting, answered(acting))
        assert "Under the changes the head of " in acting.screen, "what is known without a forecast"
        script = await acting.press("s")
        assert "SET DEFINE OFF" in script


@acted
async def test_without_an_answer_the_panel_gives_its_basis_and_age() -> None:
    async with playing("storm", size=(120, 35)) as (acting, polls):
        await acting.keys("4")
        await polls(POLLS)
        await acting.keys("W")
        await waited(acting, answered(acting))
        reading = acting.app.monitor.reading
        assert reading is not None
        rests = f"The database does not answer: limits and queue are those of {clock(reading.at)}."

        async def look(seconds: float) -> str:
            acting.clock.now += seconds
            panel(acting)._ask()
            await acting.settle()
            return acting.screen

        assert rests not in await look(4.0)
        screen = await look(21.0)
        assert rests in screen
        assert "25 s old" in screen
        acting.app.post_message(Lost("the database or network closed the connection", 2.0))
        await acting.settle()
        await acting.keys("right")  # a change is computed from the last reading and labelled so
        await waited(acting, answered(acting))
        screen = await look(5.0)
        assert rests in screen
        assert "30 s old" in screen
        assert "Sooner in" in screen
        await polls(1)
        panel(acting)._ask()
        await waited(acting, answered(acting))
        assert "does not answer" not in acting.screen
        assert " s old" not in acting.screen


@acted
async def test_without_a_queue_the_panel_still_has_the_script() -> None:
    async with playing("quiet", size=(80, 24)) as (acting, polls):
        await polls(2)
        await acting.keys("W")
        await waited(acting, answered(acting))
        assert "Nothing is queued now." in acting.screen
        await acting.keys("right")
        await waited(acting, answered(acting))
        assert any("Written by presman, which does not run it. Read" in plain(line) for line in page(acting)), (
            "wrapped to the screen"
        )
        assert "SET DEFINE OFF" in await acting.press("s")
        await acting.keys("a")
        assert "No advice yet: presman has seen no parallel statement." in acting.screen


@acted
async def test_the_panel_needs_the_newest_poll() -> None:
    async with stage(size=(120, 35)) as acting:
        await acting.keys("W")
        assert "Nothing has been read yet." in "".join(str(each.message) for each in acting.app._notifications)
    async with stage(busy(), size=(120, 35)) as acting:
        await acting.keys("space", "W")
        assert "What if needs the newest poll" in "".join(str(each.message) for each in acting.app._notifications)


@acted
async def test_w_takes_the_group_of_the_row_or_page() -> None:
    async with playing("mixed", size=(120, 35)) as (acting, polls):
        await polls(3)
        for keys in (("2", "down", "enter"), ("2", "down", "d")):
            await acting.keys(*keys)
            grid = acting.app.panels.of("cpu").grids()
            name = (
                acting.app.reader.row.name if acting.app.reader.is_open else acting.app.monitor.choices.scopes[-1].group
            )
            assert grid is not None
            await acting.keys("W")
            await waited(acting, answered(acting))
            assert panel(acting)._limits.row.title == name  # type: ignore[union-attr]
            await acting.keys("q", "q")


@acted
async def test_the_search_for_advice_shows_its_progress() -> None:
    async with playing("storm", size=(120, 35)) as (acting, polls):
        await polls(POLLS)
        await acting.keys("W")
        await waited(acting, answered(acting))
        with mock.patch("presman.reports.advise_report.least", return_value=1000):
            await acting.keys("a")
            await waited(acting, lambda: "Too early for advice on 90 % of" in acting.screen)
        assert "it needs 1,000 statements, and " in " ".join(acting.screen.split())
        panel(acting)._say("40 choices tried so far")
        await acting.settle()
        assert "40 choices tried so far" in acting.screen
        assert panel(acting)._advice.goals == (), "it can be asked again"


@acted
async def test_a_recording_gives_advice_and_a_choice_is_tried_in_the_panel(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    record(place, list(polled("mixed", 30, step=30.0)))
    quick = (
        mock.patch("presman.tui.what_if_screen._MOST_TRIED", 6),
        mock.patch("presman.reports.advise_report.least", return_value=2),
    )
    with quick[0], quick[1]:
        async with replaying(place, (120, 35)) as acting:
            app = acting.app
            until = partial(waited, acting)
            await until(lambda: app.monitor.reading is not None and app.span is not None)
            await acting.keys("end")
            await until(lambda: app.monitor.reading.at == app.span[1])  # type: ignore[union-attr,index]
            await acting.keys("W")
            await until(answered(acting))
            await acting.keys("a")
            assert "Advice on 90 % of" in acting.screen
            await until(lambda: panel(acting)._choices.display)
            screen = acting.screen
            assert "Enter tries it" in screen
            assert "choices tried; replayed, a wait is off by" in " ".join(screen.split())
            found, seen = panel(acting)._advice.found, set()
            assert found is not None
            for choice in found.advice.choices:  # the first is under the cursor
                assert panel(acting)._choices.row is choice
                seen.add(" ".join(acting.screen.split()).partition("; replayed, a wait")[0][-160:])
                await acting.keys("down")
            assert len(seen) == len(found.advice.choices), "each choice has its own text"
            await acting.keys("home")
            await acting.keys("enter")
            await until(answered(acting))
            found = panel(acting)._advice.found
            assert found is not None
            assert panel(acting)._changes.choice == found.choices[0]
            assert "Sooner in" in acting.screen
            await acting.keys("c")
            notices = "".join(str(each.message) for each in app._notifications)
            assert "It comes from a recording" in notices
            await acting.keys("a")
            assert panel(acting)._choices.display
            await acting.keys("q")
            assert not panel(acting)._choices.display
            await acting.keys("q")
            assert not isinstance(app.screen, WhatIfScreen)


def test_the_search_ends_when_its_panel_closes() -> None:
    advice = LiveAdvice(lambda _: None)
    advice.is_over = True
    with pytest.raises(KeyboardInterrupt):
        advice._report(1, mock.Mock(waits=(1.0,)))


def test_the_search_reports_every_twenty_choices() -> None:
    notices: list[str] = []
    advice = LiveAdvice(notices.append)
    goal = mock.MagicMock(percentile="95 %")
    goal.__str__.return_value = "95 % of ETL within 1:00"  # type: ignore[attr-defined]
    advice.goals = (goal,)
    for replayed, wait in ((19, 61.0), (20, 61.0), (21, 61.0), (40, 1e9)):
        advice._report(replayed, mock.Mock(waits=(wait,)))
    assert notices == [
        "Advice on 95 % of ETL within 1:00: 20 choices tried, 95 % at best 1:01; a ends the search",
        "Advice on 95 % of ETL within 1:00: 40 choices tried, 95 % at best timed out; a ends the search",
    ]


@pytest.mark.parametrize(
    ("poll", "choice", "is_busy", "silence", "kept", "does"),
    [
        ("old", "a", False, "", True, []),
        ("old", "a", True, "", True, []),
        ("old", "b", False, "", True, ["asked b"]),
        ("old", "b", True, "", True, []),  # one question at a time: it is asked when that is answered
        ("new", "a", True, "", True, ["shown"]),  # the shown answer grows old
        ("new", "a", False, "", True, ["asked a"]),
        ("new", "a", False, "", False, []),  # the poll is not kept any more
        ("", "a", False, "", True, []),
        ("old", "a", False, "no answer", True, ["shown"]),
    ],
)
def test_one_question_at_a_time_about_the_newest_poll(
    poll: str, choice: str, is_busy: bool, silence: str, kept: bool, does: list[str]
) -> None:
    """The choice `a` was asked about of the poll `old`."""
    done: list[str] = []
    reading = poll or None
    moment = SimpleNamespace(reading=reading, snapshots="a pair" if kept else None) if reading else None
    monitor = SimpleNamespace(reading=reading, moment=lambda: moment, forecast_basis=None)
    panel: Any = SimpleNamespace(
        _monitor=monitor, _changes=SimpleNamespace(choice=choice), _asked=("old", "a"), _is_busy=is_busy,
        _queue=SimpleNamespace(silence=silence), _show=lambda: done.append("shown"), _take=None, _answers=None,
    )  # fmt: skip
    with mock.patch("presman.tui.what_if_screen.in_background") as asked:
        WhatIfScreen._ask(panel)
    done += [f"asked {panel._asked[1]}"] * asked.call_count
    assert done == does
    assert panel._is_busy == (is_busy or bool(asked.call_count))


@pytest.mark.parametrize(
    ("changes", "expected"), [((), "as it is"), (("a target of 96", "BATCH 50 %"), "a target of 96; BATCH 50 %")]
)
def test_a_choice_is_described_by_its_changes(changes: tuple[str, ...], expected: str) -> None:
    assert _changes(SimpleNamespace(changes=changes)) == expected  # type: ignore[arg-type]
