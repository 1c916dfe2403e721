"""The colours of heat maps: in true colour, of 256 and of 16 colours, and without any."""

from __future__ import annotations

from collections.abc import Sequence

from rich.color import Color as RichColor
from rich.style import Style
from textual.theme import Theme

from presman.tui.widgets.heat import GAP, LEVELS, MARK, RAMP, Quantity, glyph
from presman.tui.widgets.palette import palette_of

_STOPS = {
    (Quantity.FREQUENCY, True): ((16, 32, 72), (22, 80, 146), (40, 140, 212), (122, 202, 242), (234, 248, 255)),
    (Quantity.INTENSITY, True): ((64, 18, 20), (142, 32, 20), (214, 82, 20), (250, 162, 44), (255, 242, 166)),
    (Quantity.FREQUENCY, False): ((214, 230, 245), (158, 202, 225), (66, 146, 198), (8, 81, 156), (6, 38, 92)),
    (Quantity.INTENSITY, False): ((254, 230, 206), (253, 190, 133), (245, 130, 50), (200, 70, 4), (112, 34, 4)),
}
"""Shades on dark and on light ground, from the faintest to the strongest: of true colour."""

_CUBE = {
    (Quantity.FREQUENCY, True): ((0, 0, 95), (0, 0, 175), (0, 95, 215), (0, 135, 255), (95, 175, 255),
                                 (135, 215, 255), (215, 255, 255)),
    (Quantity.INTENSITY, True): ((95, 0, 0), (135, 0, 0), (175, 0, 0), (215, 95, 0), (255, 135, 0), (255, 175, 0),
                                 (255, 255, 135)),
    (Quantity.FREQUENCY, False): ((215, 255, 255), (175, 215, 255), (135, 175, 255), (95, 135, 255), (0, 95, 215),
                                  (0, 0, 175), (0, 0, 95)),
    (Quantity.INTENSITY, False): ((255, 255, 215), (255, 215, 135), (255, 175, 0), (255, 135, 0), (215, 95, 0),
                                  (175, 0, 0), (95, 0, 0)),
}  # fmt: skip
"""The same in colours that 256-colour terminals have exactly."""

ANSI = {
    Quantity.FREQUENCY: ("blue", "bright_blue", "cyan", "bright_cyan", "default"),
    Quantity.INTENSITY: ("red", "bright_red", "yellow", "bright_yellow", "default"),
}
"""The same in the sixteen colours, one for each sign of the ramp."""

Rgb = tuple[int, int, int]


def shades(quantity: Quantity, *, dark: bool, exact: bool) -> tuple[Rgb, ...]:
    """Return the colours of levels 1 to 15; `exact` for terminals of 256 colours."""
    if exact:
        cube = _CUBE[quantity, dark]
        return tuple(cube[index * len(cube) // LEVELS] for index in range(LEVELS))
    stops = _STOPS[quantity, dark]
    return tuple(_between(stops, index / (LEVELS - 1)) for index in range(LEVELS))


def _between(stops: Sequence[Rgb], part: float) -> Rgb:
    place = part * (len(stops) - 1)
    index = min(len(stops) - 2, int(place))
    rest = place - index
    red, green, blue = (
        round(low + rest * (high - low)) for low, high in zip(stops[index], stops[index + 1], strict=True)
    )
    return red, green, blue


def paints(quantity: Quantity, theme: Theme, mode: str) -> tuple[list[Style], list[str]]:
    """Return style and sign of every level, 0 to MARK, for a `mode`: truecolor, 256, 16 or mono.

    A blank on coloured ground, or a sign where colours cannot tell.
    """
    palette = palette_of(theme)
    base, dim = palette[""], palette["dim"]
    colored = mode in ("truecolor", "256")
    if colored:
        made = [
            Style(bgcolor=RichColor.from_rgb(*color))
            for color in shades(quantity, dark=theme.dark, exact=mode == "256")
        ]
    elif mode == "16":
        names = ANSI[quantity]
        made = [Style(color=names[index * len(RAMP) // LEVELS], bgcolor=base.bgcolor) for index in range(LEVELS)]
    else:
        made = [base] * LEVELS
    signs = [" " if colored and shade < GAP else glyph(shade) for shade in range(MARK + 1)]
    return [base, *made, dim, base, palette["mark"]], signs
