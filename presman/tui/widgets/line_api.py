"""Widgets that render single lines on request, not all at once, and cache them while they stay the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest
from typing import ClassVar, Self

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual import containers
from textual.color import Color
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from presman.base.colours import CLASS_STYLES, GROUP_STYLES, HUES, OTHERS
from presman.figures.drawing.lines import Line, ascii_only, changes, fit, pad, plain, wrap
from presman.tui.textual_internals import PatientScreen, forget_regions


class AsciiFilter(LineFilter):
    """Replaces signs by similar ASCII ones, cell for cell, in all widgets."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual passes it
        """Return the segments in ASCII."""
        return [Segment(ascii_only(text), style, control) for text, style, control in segments]


def give_lines(widget: Widget, lines: int) -> None:
    """Set the height of a widget; 0 hides it."""
    widget.display = lines > 0
    if lines > 0:
        widget.styles.height = lines


class PlainBackground(Widget):
    """A widget that shows only its background and its children.

    It must be the last base class: Textual takes the styles from the first.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget, all of them the same strip, bypassing Textual's style cache."""
        ground = self.visual_style.background
        assert ground is not None
        line = Strip.blank(crop.width, Style(bgcolor=ground.rich_color))
        for each in self.app.get_line_filters():
            line = line.apply_filter(each, ground)
        return [line] * crop.height


class Container(containers.Container, PlainBackground):
    """A plain container."""


class Horizontal(containers.Horizontal, PlainBackground):
    """Children side by side."""


class Vertical(containers.Vertical, PlainBackground):
    """Children one below the other."""


class LineApiWidget(Widget):
    """A widget that implements `render_line` and refreshes only the parts that changed.

    It must be the last base class: Textual takes the styles from the first.
    """

    bare: ClassVar[bool] = True
    """Whether its lines fill it: the style sheet adds no padding, border, tint or hatching."""

    _palette: Palette | None = None
    _kept: dict[int, tuple[tuple[object, ...], Strip]] | None = None

    @property
    def palette(self) -> Palette:
        """The styles of the theme, looked up once for all lines painted together."""
        if self._palette is None:
            self._palette = palette_of(self.app.current_theme)
        return self._palette

    @property
    def letters_only(self) -> bool:
        """Whether letters replace colours and blocks."""
        return self.app.no_color or any(isinstance(each, AsciiFilter) for each in self.app.get_line_filters())

    def strip(self, y: int, line: Line, width: int, ground: str = "") -> Strip:
        """Return a line of `width` cells as a strip: the same as last time if nothing about it changed."""
        if self._kept is None:
            self._kept = {}
        palette = self.palette
        content = line, width, ground, palette
        before = self._kept.get(y)
        if before is not None and before[0] == content:
            return before[1]
        made = palette.strip(line, width, ground)
        self._kept[y] = content, made
        return made

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget, bypassing Textual's style cache if it would add nothing."""
        # The theme may have changed since the last painting.
        self._palette = None
        if not self._is_plain():
            return super().render_lines(crop)
        width, ground = self.size.width, self.palette[""]
        lines = [self.render_line(y) for y in crop.line_range]
        strips = [line if line.cell_length == width else line.adjust_cell_length(width, ground) for line in lines]
        return strips if crop.column_span == (0, width) else [strip.crop(*crop.column_span) for strip in strips]

    def _is_plain(self) -> bool:
        """Return whether lines are shown unfiltered: not dimmed, and in the theme's own colours."""
        filters = self.app.get_line_filters()
        return self.bare and self.opacity == 1.0 and all(isinstance(each, ANSIToTruecolor) for each in filters)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Repaint these regions, or the whole widget if there are none."""
        forget_regions(self)
        is_partial = bool(regions) and repaint and not layout and not recompose and self.is_mounted
        if is_partial and isinstance(self.screen, PatientScreen) and self.screen.repaint(self, regions):
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def forget(self) -> None:
        """Clear the cache of painted lines."""
        self._kept = None
        self.refresh()


# ---- The colours: one Rich style per name, made from the theme.

AREAS = (*GROUP_STYLES, OTHERS)
"""Styles of groups on charts. A cell in which two of them meet has the style ``group1 on group2``."""

_CLASSES = (*CLASS_STYLES.values(), OTHERS)

_STATES = {
    True: {"good": "#9aff9a", "warn": "#ffbf2f", "bad": "#eb3238"},
    False: {"good": "#176351", "warn": "#925500", "bad": "#6f0e00"},
}
"""Good, doubtful and bad on dark and light backgrounds, distinct for the colour-blind; chosen themes use their own."""

DEFAULT_THEMES = ("textual-dark", "textual-light")

_ANSI = {
    "good": "green", "note": "cyan", "warn": "yellow", "bad": "red", "title": "bright_cyan", "used": "green",
    "waiting": "yellow", "mark": "default", "key": "cyan", "dim": "default", "head": "cyan",
} | {name: hue.ansi for name, hue in HUES.items()}  # fmt: skip
_BOLD = frozenset({"bad", "title", "key", "head", "mark"})


class Palette:
    """Styles by name; a name with the suffix `cursor` or `panel` has that background."""

    def __init__(self, styles: Mapping[str, Style]) -> None:
        self.styles = styles

    def strip(self, line: Line, width: int, ground: str = "") -> Strip:
        """Return a line as a strip; every segment has a style. `ground` is "", "panel" or "cursor"."""
        styles = self.styles
        if ground == "cursor":
            return Strip([Segment(plain(line), styles["cursor"])], width)
        prefix = f"{ground}:" if ground else ""
        # A segment is a named tuple, whose own constructor takes three times as long.
        return Strip([tuple.__new__(Segment, (text, styles[prefix + name], None)) for text, name in line], width)

    def __getitem__(self, name: str) -> Style:
        return self.styles[name]


_PALETTES: dict[str, Palette] = {}


def palette_of(theme: Theme) -> Palette:
    """Return the palette of a theme, cached."""
    if theme.name not in _PALETTES:
        _PALETTES[theme.name] = Palette(_ansi_styles() if theme.ansi else _theme_styles(theme))
    return _PALETTES[theme.name]


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
    """Return the colour, moved away from the background until it is readable (contrast 4.5)."""
    away = ground.get_contrast_text(1)
    for step in range(10):
        candidate = color.blend(away, step / 10)
        # WCAG 2 asks for 4.5 for normal text (level AA).
        if contrast(candidate, ground) >= 4.5:
            return candidate
    return away


def contrast(one: Color, other: Color) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    shares = (color.r / 255, color.g / 255, color.b / 255)
    # The relative luminance of WCAG 2: sRGB is made linear, then weighted by how bright the eye sees each colour.
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in shares]
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
    """Return the styles of cells in which two areas meet, or a line crosses an area."""
    made = {}
    for ground, color in areas.items():
        made[f"mark on {ground}"] = Style(color=marks[ground], bgcolor=color, bold=True)
    for family in (AREAS, _CLASSES):
        made |= {f"{name} on {low}": Style(color=areas[name], bgcolor=areas[low]) for name in family for low in family}
    return made


# ---- A fixed block of lines: the base of header, alerts, tabs, keys and charts.


class LineView(LineApiWidget):
    """Shows lines, and sends only the parts that changed."""

    ground = ""
    """The background: "" or "panel"."""
    redraw: Callable[[], None] = staticmethod(lambda: None)
    """Makes the lines of the last data again, for views whose lines depend on the size."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()
        self._shown: list[Line] = []
        self._shown_width = 0

    def on_resize(self) -> None:
        """Draw in the new size."""
        self.redraw()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; those beyond the height are cut."""
        before, self._lines = self._lines, tuple(lines)
        if before == self._lines:
            return
        width, height = self.size
        # Nothing was painted in this size, so there is nothing to compare with.
        if not self._shown or self._shown_width != width or len(self._shown) != height:
            self._shown = []
            self.refresh()
            return
        regions = []
        for y, (old, new) in enumerate(islice(zip_longest(before, self._lines), height)):
            if old != new:
                line = self._padded(y, width)
                regions += [Region(x, y, span, 1) for x, span in changes(self._shown[y], line, width)]
                self._shown[y] = line
        if regions:
            self.refresh(*regions)

    def fit_lines(self, lines: Sequence[Line], step: int = 1) -> None:
        """Show these lines at the height they need, rounded up to `step` so that the widgets below seldom move."""
        self.styles.height = max(1, -(-len(lines) // step) * step)
        self.show_lines(lines)

    def _padded(self, y: int, width: int) -> Line:
        return pad(self._lines[y] if y < len(self._lines) else (), width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget. Its size, which is expensive to get, is read once for all of them."""
        width, height = self.size
        if self._shown_width != width or len(self._shown) != height:
            self._shown_width = width
            self._shown = [self._padded(line, width) for line in range(height)]
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        width = self._shown_width
        line = self._shown[y] if y < len(self._shown) else pad((), width)
        return self.strip(y, line, width, self.ground)

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        self._shown = []
        super().notify_style_update()


_INDENT = 3
_NOT_ALL = "   …"
_FRAME = 3
"""Minimum number of lines above and below every tab."""


class Sentences(LineView):
    """Sentences, wrapped again when the width changes. Their height changes in steps, so that what is below stays."""

    def __init__(self, *, id: str, step: int = 1) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._step = step
        self._shown_sentences: tuple[Sequence[Line], Sequence[Line]] = (), ()

    def lines_in(self, width: int) -> int:
        """Return how many lines the sentences take at a width."""
        return max(1, len(self._wrapped(width)))

    def show(self, sentences: Sequence[Line], shorter: Sequence[Line] = ()) -> None:
        """Show these sentences, or `shorter` ones if there is no room for all."""
        self._shown_sentences = sentences, shorter
        self.redraw = partial(self.show, sentences, shorter)
        lines = self._wrapped(self.size.width or self.app.size.width)
        is_all = not (lines and plain(lines[-1]).startswith(_NOT_ALL))
        self.fit_lines(lines, self._step if is_all else 1)  # no blank lines below texts that lack room

    def _wrapped(self, width: int) -> list[Line]:
        highest = self.styles.max_height
        most = None if highest is None else int(highest.resolve(self.app.size, self.app.size))
        if most is not None:  # the smallest screens have even less room, and lines beyond the edge are not counted
            most = min(most, max(1, (self.app.size.height - _FRAME) // 3))
        return whole_sentences(*self._shown_sentences, width, most)


def whole_sentences(sentences: Sequence[Line], shorter: Sequence[Line], width: int, most: int | None) -> list[Line]:
    """Wrap sentences to at most `most` lines. Sentences that do not fit are counted, and none is cut in the middle.

    If there are `shorter` ones, each on one line, they replace those that do not fit, the last ones first.
    """
    blocks = [wrap(line, width, _INDENT) for line in sentences]
    if most is None or sum(map(len, blocks)) <= most:
        return [part for block in blocks for part in block]
    if shorter:
        blocks = _as_many_whole(blocks, [_in_one_line(line, width) for line in shorter], most)
    found: list[Line] = []
    for index, block in enumerate(blocks):
        left = len(blocks) - index
        # A line is kept for the count of the others, unless this sentence is the last.
        if len(found) + len(block) + (left > 1) > most:
            cut, left = (block[: most - 1], left - 1) if not found else ([], left)
            return [*found, *cut, ((f"{_NOT_ALL} +{left} more" if left else _NOT_ALL, "dim"),)]
        found += block
    return found


def _as_many_whole(blocks: Sequence[list[Line]], shorter: Sequence[list[Line]], most: int) -> list[list[Line]]:
    """Return each sentence whole or shorter: whole if it takes one line, and the first others while all fit `most`."""
    spare, found = most - len(blocks), []
    for block, short in zip(blocks, shorter, strict=True):
        spare -= len(block) - 1
        found.append(block if len(block) == 1 or spare >= 0 else short)
    return found


def _in_one_line(line: Line, width: int) -> list[Line]:
    text = plain(line)
    return [line if len(text) <= width else ((fit(text, width), line[-1][1]),)]
