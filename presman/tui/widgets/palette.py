"""The colours: one Rich style per name, made from the theme.

Colour never says anything alone, so the monochrome filter of NO_COLOR and 16-colour terminals lose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip
from textual.theme import Theme

from presman.base.colours import CLASS_STYLES, GROUP_STYLES, HUES, OTHERS
from presman.figures.drawing.lines import Line

AREAS = (*GROUP_STYLES, OTHERS)
"""Styles of groups on charts. Where two of them meet in a cell its style is ``group1 on group2``."""

_CLASSES = (*CLASS_STYLES.values(), OTHERS)

_STATES = {
    True: {"good": "#9aff9a", "warn": "#ffbf2f", "bad": "#eb3238"},
    False: {"good": "#176351", "warn": "#925500", "bad": "#6f0e00"},
}
"""Good, doubtful and bad on dark and on light ground, far apart for everybody; themes that are chosen have theirs."""

DEFAULT_THEMES = ("textual-dark", "textual-light")

_ANSI = {
    "good": "green", "note": "cyan", "warn": "yellow", "bad": "red", "title": "bright_cyan", "used": "green",
    "waiting": "yellow", "mark": "default", "key": "cyan", "dim": "default", "head": "cyan",
} | {name: hue.ansi for name, hue in HUES.items()}  # fmt: skip
_BOLD = frozenset({"bad", "title", "key", "head", "mark"})


class Palette:
    """Styles by name; a name with `cursor` or `panel` behind it stands on that background."""

    def __init__(self, styles: Mapping[str, Style]) -> None:
        self._styles = styles

    def strip(self, line: Line, width: int, ground: str = "") -> Strip:
        """Return a line as a strip; every segment has a style. `ground` is "", "panel" or "cursor"."""
        styles = self._styles
        if ground == "cursor":
            style = styles["cursor"]
            return Strip([Segment("".join(text for text, _ in line), style)], width)
        prefix = f"{ground}:" if ground else ""
        return Strip([Segment(text, styles[prefix + name]) for text, name in line], width)

    def __getitem__(self, name: str) -> Style:
        return self._styles[name]


_MADE: dict[str, Palette] = {}


def palette_of(theme: Theme) -> Palette:
    """Return the palette of a theme; each is made once."""
    if theme.name not in _MADE:
        _MADE[theme.name] = Palette(_ansi_styles() if theme.ansi else _theme_styles(theme))
    return _MADE[theme.name]


def _theme_styles(theme: Theme) -> dict[str, Style]:
    colors = theme.to_color_system().generate()
    background, panel = Color.parse(colors["background"]), Color.parse(colors["panel"])
    text = Color.parse(colors["foreground"])
    names = {
        "": text, "dim": background.blend(text, 0.66), "good": Color.parse(colors["text-success"]),
        "note": Color.parse(colors["text-primary"]), "warn": Color.parse(colors["text-warning"]),
        "bad": Color.parse(colors["text-error"]), "title": Color.parse(colors["text-accent"]),
        "head": background.blend(text, 0.8), "used": Color.parse(colors["text-primary"]),
        "mark": text, "key": Color.parse(colors["text-accent"]),
    }  # fmt: skip
    if theme.name in DEFAULT_THEMES:
        names |= {name: Color.parse(color) for name, color in _STATES[theme.dark].items()}
    names["waiting"] = names["warn"]
    names |= {name: Color.parse(hue.dark if theme.dark else hue.light) for name, hue in HUES.items()}
    styles: dict[str, Style] = {}
    for prefix, ground in (("", background), ("panel:", panel)):
        for name, color in names.items():
            readable = _readable(color, ground)
            styles[prefix + name] = Style(color=readable.rich_color, bgcolor=ground.rich_color, bold=name in _BOLD)
    areas = {name: styles[name].color for name in HUES}
    marks = {name: _readable(text, names[name]).rich_color for name in HUES}
    styles |= _meeting({name: color for name, color in areas.items() if color}, marks)
    primary = Color.parse(colors["primary"])
    ink = primary.get_contrast_text(1)
    styles["cursor"] = Style(color=ink.rich_color, bgcolor=_readable(primary, ink).rich_color, bold=True)
    return styles


def _readable(color: Color, ground: Color) -> Color:
    """Return the colour, moved away from the background until it can be read (contrast of 4.5)."""
    away = ground.get_contrast_text(1)
    for step in range(10):
        candidate = color.blend(away, step / 10)
        if contrast(candidate, ground) >= 4.5:
            return candidate
    return away


def contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (color.r / 255, color.g / 255, color.b / 255)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _ansi_styles() -> dict[str, Style]:
    default = RichColor.default()
    styles: dict[str, Style] = {"cursor": Style(color=default, bgcolor=default, reverse=True, bold=True)}
    for prefix in ("", "panel:"):
        styles[prefix] = Style(color=default, bgcolor=default)
        for name, color in _ANSI.items():
            styles[prefix + name] = Style(color=color, bgcolor="default", bold=name in _BOLD)
    areas = {name: RichColor.parse(_ANSI[name]) for name in HUES}
    return styles | _meeting(areas, dict.fromkeys(HUES, default))


def _meeting(areas: Mapping[str, RichColor], marks: Mapping[str, RichColor]) -> dict[str, Style]:
    """Return the styles of cells in which an area meets another, or a line crosses it."""
    made = {}
    for ground, color in areas.items():
        made[f"mark on {ground}"] = Style(color=marks[ground], bgcolor=color, bold=True)
    for family in (AREAS, _CLASSES):
        made |= {f"{name} on {low}": Style(color=areas[name], bgcolor=areas[low]) for name in family for low in family}
    return made
