"""The detail of each poll depends on the shown tables and written files."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.rows.queries import DetailLevel
from tests.tui.drive import acted, stage
from tests.tui.test_live import Play, playing


@acted
async def test_tabs_that_show_idle_sessions_or_histograms_have_them_read() -> None:
    async with playing("mixed") as (acting, polls):
        await polls(1)
        seen = {}
        for key in "1357241":
            await acting.keys(key)
            seen[key] = acting.feed.detail_level
        assert seen == {
            "1": DetailLevel.NARROW,
            "2": DetailLevel.NARROW,
            "3": DetailLevel.IDLE_SESSIONS,
            "4": DetailLevel.NARROW,
            "5": DetailLevel.IDLE_SESSIONS,
            "7": DetailLevel.HISTOGRAMS,
        }


@acted
async def test_histograms_are_read_while_their_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing("mixed") as (acting, polls):
        await acting.keys("7")
        await polls(1)
        await acting.keys("e", "1")
        assert acting.feed.detail_level is DetailLevel.HISTOGRAMS
        await acting.keys("e")
        assert acting.feed.detail_level is DetailLevel.NARROW


@acted
async def test_the_tab_names_unlisted_sessions() -> None:
    play = Play("mixed")
    play.poller.detail_level = DetailLevel.NARROW
    async with stage(size=(200, 50)) as acting:
        from presman.analysis.assemble import analyse

        reading = analyse(None, play.poll())
        await acting.show(reading)
        screen = await acting.press("5")
        idle_note = "idle sessions, read once a minute and while this tab is open"
        assert f"not listed: {reading.unlisted} {idle_note}" in screen
        await acting.show(replace(reading, unlisted=None, number=reading.number + 1))
        assert f"not listed: {idle_note}" in acting.screen
        play.poller.detail_level = DetailLevel.WHOLE
        await acting.show(analyse(None, play.poll()))
        assert "not listed" not in acting.screen
    play.poller.close()
