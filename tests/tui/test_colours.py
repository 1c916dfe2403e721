"""Colours that everybody can read and distinguish, in every theme."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from presman.tui.widgets.line_api import AREAS, DEFAULT_THEMES, Palette, contrast, palette_of

THEMES = [theme for theme in BUILTIN_THEMES.values() if not theme.ansi]
STATES = ("good", "warn", "bad")

SIGHT = {
    "all cones": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""What is left of linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1)."""

Rgb = tuple[int, int, int]


def seen(color: Rgb, sight: str) -> tuple[float, float, float]:
    """Return L*, a* and b* of a colour (CIE 1976, D65) as it is seen."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in color)]
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear, strict=True)))) for row in SIGHT[sight]
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(one: Rgb, other: Rgb, sight: str) -> float:
    """Return how far apart two colours look (CIE 1976: 2.3 can just be noticed)."""
    return sum((a - b) ** 2 for a, b in zip(seen(one, sight), seen(other, sight), strict=True)) ** 0.5


def ink(palette: Palette, name: str) -> Rgb:
    color = palette[name].color
    assert color is not None
    red, green, blue = color.get_truecolor()
    return red, green, blue


def test_the_distance_is_that_of_the_standard() -> None:
    """White and black are 100 apart; pure red is L* 53.24, a* 80.09, b* 67.20."""
    assert apart((255, 255, 255), (0, 0, 0), "all cones") == pytest.approx(100, abs=0.1)
    assert seen((255, 0, 0), "all cones") == pytest.approx((53.24, 80.09, 67.20), abs=0.3)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: str(theme.name))
def test_every_text_can_be_read(theme: Theme) -> None:
    """A contrast of 4.5 is what WCAG 2 asks of text (AA)."""
    styles = {name: style for name, style in palette_of(theme).styles.items() if " on " not in name}
    low = {
        name: round(found, 2)
        for name, style in styles.items()
        if style.color and style.bgcolor
        and (found := contrast(Color(*style.color.get_truecolor()), Color(*style.bgcolor.get_truecolor()))) < 4.5
    }  # fmt: skip
    assert {"cursor", "dim", "panel:dim", "bad", "panel:warn"} <= styles.keys()
    assert low == {}


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", DEFAULT_THEMES)
def test_states_and_adjacent_colours_differ_for_colour_blind_users(name: str, sight: str) -> None:
    palette = palette_of(BUILTIN_THEMES[name])
    pairs = [*combinations(STATES, 2), *(("", state) for state in STATES), *pairwise(AREAS), ("used", "waiting")]
    close = {
        pair: round(found, 1)
        for pair in pairs
        if (found := apart(ink(palette, pair[0]), ink(palette, pair[1]), sight)) < 20
    }
    assert close == {}
