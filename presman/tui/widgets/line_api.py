"""Widgets that make each line when it is asked for, instead of all at once, and keep it while it stays the same."""

from __future__ import annotations

from typing import ClassVar, Self

from rich.segment import Segment
from textual import containers
from textual.color import Color
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from presman.base.text import ascii_only
from presman.figures.drawing.lines import Line
from presman.tui.textual_internals import forget_regions
from presman.tui.widgets.palette import Palette, palette_of


class AsciiFilter(LineFilter):
    """Replaces signs by their likeness, each in its cell, in whatever widget they are."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual passes it
        """Return the segments in ASCII."""
        return [Segment(ascii_only(text), style, control) for text, style, control in segments]


class PlainBackground(Widget):
    """A widget that shows nothing but its background, and its children.

    It is named last among the bases: Textual takes its styles from the first.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget: the same one each time."""
        return super().render_lines(Region(0, 0, crop.width, 1)) * crop.height


class Container(containers.Container, PlainBackground):
    """Takes what is put into it."""


class Horizontal(containers.Horizontal, PlainBackground):
    """Children side by side."""


class Vertical(containers.Vertical, PlainBackground):
    """Children one below the other."""


class LineApiWidget(Widget):
    """A widget that has `render_line`, and says itself which parts of it changed.

    Beside another base it is named last: Textual takes its styles from the first.
    """

    bare: ClassVar[bool] = True
    """Whether its lines fill it: no padding, border, tint or hatching of the style sheet is to be added."""

    _palette: Palette | None = None
    _kept: dict[int, tuple[tuple[object, ...], Strip]] | None = None

    @property
    def palette(self) -> Palette:
        """The styles of the theme, looked up once for all lines that are painted together."""
        if self._palette is None:
            self._palette = palette_of(self.app.current_theme)
        return self._palette

    @property
    def letters_only(self) -> bool:
        """Whether what colours or blocks would tell is to be told by letters."""
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
        """Return some lines of the widget; without the detour over Textual's style cache where it adds nothing."""
        self._palette = None
        if not self._is_plain():
            return super().render_lines(crop)
        width, ground = self.size.width, self.palette[""]
        strips = [self.render_line(y).adjust_cell_length(width, ground) for y in crop.line_range]
        return strips if crop.column_span == (0, width) else [strip.crop(*crop.column_span) for strip in strips]

    def _is_plain(self) -> bool:
        """Tell whether the lines are shown as they are: not greyed, nor in other colours than the theme's."""
        filters = self.app.get_line_filters()
        return self.bare and self.opacity == 1.0 and all(isinstance(each, ANSIToTruecolor) for each in filters)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Have these parts painted anew; all of it without one."""
        forget_regions(self)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def forget(self) -> None:
        """Let go of the lines that were painted."""
        self._kept = None
        self.refresh()
