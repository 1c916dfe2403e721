"""Hostile text: no markup, no escape sequence, no crash, on any screen, page or toast."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields, replace

from presman.analysis.readings.reading import Reading
from presman.base.text import clean
from presman.tui.feed import Failed, Lost
from tests.thorough import some
from tests.tui.drive import Stage, acted, stage
from tests.tui.readings import busy

HOSTILE = [
    "[/b] [red]x[/red] [@click=app.quit]click[/] \\[",
    clean("\x1b]0;owned\x07 \x1b[2J \x9b31m \x00 \u202eevil\u202c \u200b"),
    clean("漢字テスト 🦀🦀 e\u0301\u0301 ﷽"),
    "$variable {0} %s %(x)s &lt; <b>",
    "x" * 5000,
    "",
    " ",
]
FORBIDDEN = {chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), *range(0x202A, 0x202F), 0x200B)}


def poisoned(value: Any, text: str) -> Any:
    """Return the same with every text replaced."""
    if isinstance(value, str):
        return text
    if isinstance(value, Struct):
        return replace(value, **{each.name: poisoned(getattr(value, each.name), text) for each in fields(value)})
    if hasattr(value, "_make"):
        return value._make(poisoned(each, text) for each in value)
    if isinstance(value, tuple):
        return tuple(poisoned(each, text) for each in value)
    return value


def safe(acting: Stage) -> None:
    strips = acting.app.screen._compositor.render_strips()
    for strip in strips:
        assert strip.cell_length == acting.app.size.width, "a line is as wide as the screen"
        for segment in strip:
            assert not FORBIDDEN & set(segment.text)
            assert segment.style is None or not segment.style.meta.get("@click")


@pytest.mark.parametrize(
    ("size", "number"),
    some(
        [((120, 35), 0)],
        [*(((200, 50), number) for number in range(1, 7)), *(((80, 24), number) for number in range(7))],
    ),
    ids=str,
)
@acted
async def test_every_screen_and_page(size: tuple[int, int], number: int) -> None:
    reading: Reading = poisoned(busy(), HOSTILE[number])
    async with stage(reading, size=size) as acting:
        for tab in "1234567":
            await acting.keys(tab)
            safe(acting)
            await acting.keys("enter")
            safe(acting)
            await acting.keys("c")
            safe(acting)
            await acting.keys("escape", "tab", "enter")
            safe(acting)
            await acting.keys("escape")
        assert acting.app.is_running


@pytest.mark.parametrize("text", some(HOSTILE[:2], HOSTILE[2:4]))
@acted
async def test_toasts_messages_and_filter(text: str) -> None:
    async with stage(size=(100, 30)) as acting:
        acting.app.post_message(Lost(text, 3.0))
        await acting.settle()
        safe(acting)
        await acting.show(busy())
        acting.app.post_message(Failed(ValueError(text)))
        acting.app.notify(text, markup=False)
        await acting.settle()
        safe(acting)
        await acting.keys("slash")
        acting.app.query_one("#filter").value = text  # type: ignore[attr-defined]
        await acting.settle()
        safe(acting)
        await acting.keys("enter", "e")
        safe(acting)
        assert acting.app.is_running


@acted
async def test_expired_notices_are_removed() -> None:
    """Textual keeps the holder of each notice, with a task: a hundred after a few minutes of keys."""
    async with stage(busy()) as acting:
        for number in range(5):
            acting.app.notify(f"notice {number}")
            await acting.settle()
        await acting.settle()
        assert len(acting.app.screen.query("ToastHolder")) == 1
        assert "notice 4" in acting.screen


@acted
async def test_markup_is_shown_unchanged() -> None:
    statement = replace(busy().queue[0], sql_text=HOSTILE[0])
    async with stage(replace(busy(), queue=(statement,)), size=(200, 50)) as acting:
        assert "[@click=app.quit]click[/]" in await acting.press("4", "enter")


@acted
async def test_a_reading_that_cannot_be_shown_does_not_end_the_app() -> None:
    async with stage(busy(), size=(200, 50)) as acting:
        broken = replace(busy(2), sessions=(None,))  # type: ignore[arg-type]
        await acting.keys("5")
        await acting.show(broken)
        assert "a fault in presman" in acting.screen
        assert acting.app.is_running
        await acting.show(busy(3))
        assert "INTERACTIVE" in await acting.press("1")


@acted
async def test_a_fault_ends_with_one_line_and_no_values(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "tiger-the-password"

    def faulty() -> None:
        password = secret
        raise ZeroDivisionError(len(password))

    async def scene() -> None:
        async with stage(busy()) as acting:
            acting.app.call_later(faulty)
            await acting.pilot.pause()

    with pytest.raises(ZeroDivisionError):
        await scene()
    output = capsys.readouterr()
    assert secret not in output.err + output.out
    assert "ZeroDivisionError" in output.err
