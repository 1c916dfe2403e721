"""Terminals that can do less: sixteen colours, no Unicode, the Linux console."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from unittest import mock

import pytest
from rich.style import Style

import presman
from presman.analysis.fleet import ConnectionState
from presman.analysis.plans.lint_rules import Severity
from presman.analysis.readings.container_readings import IoVerdict
from presman.analysis.readings.group_readings import Verdict
from presman.cli import console
from presman.figures.drawing.lines import ascii_only
from presman.tabs import tab_names
from presman.tui.app import MonitorApp
from presman.tui.widgets.line_api import palette_of
from tests.thorough import THOROUGH, some
from tests.tui.drive import acted, stage
from tests.tui.readings import busy
from tests.tui.test_live import playing


def theme_of(**arguments: str) -> str:
    return MonitorApp(lambda *_: mock.Mock(), name="x", **arguments).theme  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("term", "colorterm", "theme"),
    [
        ("xterm", "", "ansi-dark"),
        ("linux", "", "ansi-dark"),
        ("screen", "", "ansi-dark"),
        ("xterm-256color", "", "textual-dark"),
        ("xterm", "truecolor", "textual-dark"),
    ],
)
def test_sixteen_colours_get_a_theme_of_sixteen(
    term: str, colorterm: str, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the colours of another theme such a terminal makes the nearest, and most are nearest to white."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colorterm)
    assert theme_of() == theme
    assert theme_of(theme="nord") == "nord", "unless a theme is chosen"


@acted
async def test_all_that_is_painted_in_sixteen_colours_is_of_the_sixteen() -> None:
    async with stage(busy(), size=(160, 45)) as acting:
        for key in "1234567":
            await acting.keys(key)
            for strip in acting.app.screen._compositor.render_strips():
                for style in (segment.style or Style() for segment in strip):
                    for color in (style.color, style.bgcolor):
                        assert color is None or ((color.number or 0) < 16 and color.triplet is None)
    palette = palette_of(acting.app.current_theme)
    assert len({palette[name].color for name in ("good", "note", "warn", "bad")}) == 4


@pytest.mark.parametrize("scenario", some(["pdb"], ["storm", "throttled"]))
@acted
async def test_without_unicode_every_sign_has_a_substitute(scenario: str) -> None:
    async with playing(scenario, (160, 45)) as (acting, polls):
        await polls(40 if THOROUGH else 6)
        for name in tab_names() if THOROUGH else tab_names()[::3]:
            whole = await acting.press(name.key)
            with mock.patch.object(acting.app, "_ascii", None):
                acting.app.keep_to_ascii()
                await acting.resize(161, 45)  # painted anew
                await acting.resize(160, 45)
                screen = acting.screen
            assert screen.isascii()
            assert screen.count("?") == whole.count("?"), "a sign that has none is a question mark"
            assert all(strip.cell_length == 160 for strip in acting.app.screen._compositor.render_strips())
        assert await acting.press("1") != screen


@acted
async def test_without_blocks_areas_are_drawn_with_letters() -> None:
    async with playing("storm", (160, 45), whole=True) as (acting, polls):
        acting.app.keep_to_ascii()
        await polls(2)
        legend = next(line for line in acting.screen.splitlines() if "CPUs used, 15 min" in line)
        assert re.search(r"A BATCH +[\d.]+  B ETL", legend)
        assert re.search(r"\|.*AAAAAAAA", acting.screen)


def test_signs_of_the_screens_have_a_likeness() -> None:
    """Letters and characters of regular expressions are no signs; scatter charts of traces have no ASCII form."""
    root = Path(presman.__file__).parent
    rooms = ("analysis", "drawing", "figures", "tabs", "tui", "actions", "output")
    text = "".join(path.read_text(encoding="utf-8") for room in rooms for path in (root / room).rglob("*.py"))
    signs = {sign for sign in text if not sign.isascii() and not sign.isalpha()} - set("⠀⣿＝＋－＠␛␇")
    assert {sign for sign in signs if ascii_only(sign) == "?"} == set()
    assert all(len(ascii_only(sign)) == 1 for sign in signs)


def test_each_sign_of_a_state_has_one_meaning_also_in_ascii() -> None:
    """○ was a warning about an idle holder, a note, a limit that is not there; in ASCII it was ◌ (old data), too."""
    root = Path(presman.__file__).parent
    page = (root.parent / "docs" / "accessibility.md").read_text(encoding="utf-8")
    signs = re.findall(r"^\| `(.)` \| `(.)` \| ", page, re.MULTILINE)
    assert {sign: ascii_only(sign) for sign, _ in signs} == dict(signs)
    assert len({plain for _, plain in signs}) == len(signs)
    levels = {each.glyph: each.level for kind in (Verdict, IoVerdict) for each in kind}
    assert all(each.level == levels[each.glyph] for kind in (Verdict, IoVerdict) for each in kind)
    others = {each.glyph for kind in (ConnectionState, Severity) for each in kind}
    assert levels.keys() | others <= {sign for sign, _ in signs}
    idle = {str(path.relative_to(root)) for path in root.rglob("*.py") if "○" in path.read_text(encoding="utf-8")}
    assert idle == {
        "analysis/alerts/queue_alerts.py", "figures/drawing/lines.py", "figures/statement_figures.py",
        "tabs/overview.py", "tui/pages/row_details.py",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("named", "ascii_wanted"),
    [
        ({"LANG": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "de_DE.UTF-8", "TERM": "linux"}, True),
        ({"LANG": "de_DE.UTF-8", "TERM": "linux-16color"}, True),
    ],
)
def test_ascii_follows_the_locale(named: dict[str, str], ascii_wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", mock.Mock(encoding="utf-8", isatty=lambda: True))
    assert console.wants_ascii() is ascii_wanted
