"""Whole screens as text: read the golden files as a DBA would."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.filter import Monochrome

from presman.recording.time_words import spelled_instant
from presman.tui.feed import Arrived, Ended, Lost
from tests.thorough import some
from tests.tui.drive import acted, body, check, frame, stage
from tests.tui.readings import busy, cluster, quiet

TABS = {"1": "overview", "2": "cpu", "3": "io", "4": "parallel", "5": "sessions"}
SIZES = [(80, 24), (120, 30), (200, 50)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@acted
async def test_tabs(size: tuple[int, int]) -> None:
    async with stage(busy(), size=size) as acting:
        for key, name in TABS.items():
            check(f"{name}-{size[0]}x{size[1]}", body(await acting.press(*key.removeprefix("1"))))


@acted
async def test_the_frame_around_every_tab() -> None:
    """The one golden file that a new tab changes."""
    found = []
    for size in SIZES:
        async with stage(busy(), size=size) as acting:
            found += [frame(acting.screen), *[frame(await acting.press(key)) for key in ("4", "question_mark")]]
            keys, _, _ = acting.app.reader.text.partition("\n\nKeys")[2].partition("\n\nStates")
    check("frame", "\n".join([*found, keys]) + "\n")


@pytest.mark.parametrize("key", ["1", "4"])
@acted
async def test_cluster_and_its_instances(key: str) -> None:
    async with stage(cluster(), size=(160, 45)) as acting:
        together = await acting.press(*key.removeprefix("1"))  # the key of the shown first tab would show a notice
        apart = await acting.press("i")
        check(f"rac-{TABS[key]}-instances", body(apart))
        assert "Inst" not in together.split("Group", 1)[0]
        assert apart.count("INTERACTIVE") > together.count("INTERACTIVE")
        assert await acting.press("i") == together


@acted
async def test_a_quiet_database() -> None:
    async with stage(quiet(), size=(120, 30)) as acting:
        check("quiet-overview", body(acting.screen))
        check("quiet-parallel", body(await acting.press("4")))


@acted
async def test_before_the_first_poll_the_frame_is_shown() -> None:
    async with stage(size=(120, 30)) as acting:
        assert acting.feed.started
        assert "… CONNECTING" in acting.screen
        assert "[1 Overview]" in acting.screen
        assert "Nothing is wrong" not in acting.screen


@acted
async def test_the_screen_without_data_has_a_reason_and_advice() -> None:
    async with stage(size=(120, 30)) as acting:
        acting.app.post_message(Lost("ORA-01017: invalid username/password; logon denied", None))
        await acting.settle()
        check("no-data", body(acting.screen))
        assert "✕ REFUSED 0:00" in acting.screen
        await acting.keys("f5")
        assert acting.feed.requests == ["poll"]
        acting.app.post_message(Lost("ORA-01017: logon denied", 594.0, wants_password=True))
        await acting.settle()
        assert "✕ REFUSED 0:00, config.ini is read in 9:54" in acting.screen, "as the fleet says"
        assert "Correct the password in config.ini" in acting.screen


@acted
async def test_the_reason_for_no_data_is_shown_in_full() -> None:
    async with stage(size=(80, 24)) as acting:
        words = "no password of monitor in config.ini, password_command, the keyring or $PRESMAN_PASSWORD"
        acting.app.post_message(Lost(words, None))
        await acting.settle()
        assert words in " ".join(acting.screen.split())


@acted
async def test_lost_and_back() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        acting.clock.now += 2
        acting.app.post_message(Lost("ORA-03113: end-of-file on communication channel", 4.0))
        await acting.settle()
        acting.clock.now += 12
        acting.app._tick()
        await acting.settle()
        screen = acting.screen
        assert "✕ LOST 0:12, trying now" in screen
        assert "age 0:14" in screen
        assert "ORA-03113" in screen
        assert "INTERACTIVE" in screen, "the last data stays"
        await acting.show(busy(2))
        assert "● LIVE" in acting.screen
        assert "ORA-03113" not in acting.screen


@acted
async def test_end_of_a_finite_source() -> None:
    async with stage(busy()) as acting:
        acting.app.post_message(Ended())
        await acting.settle()
        assert "■ END 2026-11-20" in acting.screen


@acted
async def test_the_samples_of_a_spool_are_never_called_live() -> None:
    """A stranger took a folder of last week for the database of now: it was read a second ago."""
    async with stage(size=(120, 35)) as acting:
        sample = replace(busy(), kind="spool")
        for shown in (Arrived(sample, whole=False), Arrived(sample), Arrived(replace(busy(2), kind="spool"))):
            acting.app.post_message(shown)
            await acting.settle()
            assert f"▶ {spelled_instant(acting.app.monitor.reading.at)}" in acting.screen
            assert "spooled" in acting.screen
            assert not {"LIVE", "age", "now"} & set(acting.screen.split())


@acted
async def test_too_small_says_so_and_recovers() -> None:
    async with stage(busy(), size=(80, 24)) as acting:
        before = acting.screen
        await acting.resize(50, 12)
        assert "terminal too small" in acting.screen
        assert "60 x 8" in acting.screen
        assert "50 x 12" in acting.screen
        await acting.resize(80, 24)
        assert acting.screen == before


@acted
async def test_resize_equals_a_fresh_start() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        wide = await acting.press("4")
        await acting.resize(80, 24)
        narrow = acting.screen
        await acting.resize(200, 50)
        assert acting.screen == wide
    async with stage(busy(), size=(80, 24)) as acting:
        assert await acting.press("4") == narrow
        assert "Statements" in await acting.press("g")
        await acting.keys("g")
        await acting.resize(200, 50)
        assert acting.screen == wide


@pytest.mark.parametrize("theme", some(["textual-light", "ansi-dark"], ["ansi-light", "solarized-light"]))
@acted
async def test_themes_change_colours_and_no_words(theme: str) -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        plain = acting.screen
    async with stage(busy(), size=(120, 30), theme=theme) as acting:
        assert acting.screen == plain


@acted
async def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage(busy(), size=(200, 50)) as acting:
        assert any(isinstance(each, Monochrome) for each in acting.app._filters)
        assert "● LIVE" in await acting.press("4")
        assert "✕ starved" in await acting.press("1")


@acted
async def test_every_state_of_a_group_has_a_word() -> None:
    from presman.analysis.readings.group_readings import Verdict

    async with stage(busy(), size=(200, 50)) as acting:
        base = busy().groups[0]
        rows = tuple(base._replace(name=f"G{n}", verdict=verdict) for n, verdict in enumerate(Verdict))
        await acting.show(replace(busy(2), groups=rows))
        for verdict in Verdict:
            assert verdict.value in acting.screen
