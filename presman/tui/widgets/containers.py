"""Textual's containers, whose own lines are all alike here: no border, nothing but background.

Textual makes, cuts and keeps a line of blanks for every line of every container that is on show, one behind the other.
Here one is made, and shown as often as it takes: a megabyte less.
"""

from __future__ import annotations

from textual import containers
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


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
