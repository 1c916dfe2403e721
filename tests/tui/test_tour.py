"""The tour of the demo: each step ends when it was followed, and a finished tour is not shown again."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.tui import tour
from presman.tui.tour import STEPS, Tour, tour_lines, was_ended
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is noted that the tour was ended."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


async def begun(acting: Stage) -> str:
    Tour().attach(acting.app)
    await acting.show(busy(2))
    return acting.screen


@acted
async def test_each_step_of_the_tour_ends_when_done(kept: Path) -> None:
    async with stage(busy(), size=(120, 35)) as acting:
        assert "Tour 1/5" in await begun(acting)
        assert "Tour 1/5" in await acting.press("6"), "not what it asked for"
        assert "Tour 2/5" in await acting.press("4")
        assert "Tour 2/5" in await acting.press("question_mark"), "a page, but about no row"
        await acting.keys("q")
        assert "Tour 3/5" in await acting.press("enter")
        assert "Tour 4/5" in await acting.press("q", "2")
        assert "Tour 5/5" in await acting.press("space"), "a pause will do where there is no past yet"
        assert not was_ended()
        assert "Tour" not in await acting.press("question_mark")
        assert was_ended()
        assert list(kept.rglob("tour"))


@acted
async def test_a_key_ends_the_tour_even_if_no_file_can_be_written(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: str) -> Path:
        raise OSError("read-only")

    monkeypatch.setattr(tour.private_files, "keep_file", refuse)
    async with stage(busy(), size=(80, 24)) as acting:
        assert "x ends the tour" in await begun(acting)
        assert "Tour" not in await acting.press("x")
        assert "Tour" not in await acting.press("4")


@acted
async def test_the_tour_does_not_cover_the_too_small_message(kept: Path) -> None:
    assert kept
    async with stage(busy(), size=(40, 10)) as acting:
        screen = await begun(acting)
        assert "presman needs 60 x 8" in screen
        assert "Tour" not in screen


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("place", range(len(STEPS)))
def test_every_step_of_the_tour_is_shown_in_full(place: int, width: int) -> None:
    lines = ["".join(text for text, _ in line) for line in tour_lines(place, width)]
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).split())
    assert " ".join(f"{STEPS[place].see} {STEPS[place].press} x ends the tour".split()) in words
