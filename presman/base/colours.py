"""Colours of consumer groups and wait classes on every screen, chart, table and page, defined only here.

A colour has the name of its style ("group3", "class1", "others"), and values for dark and light backgrounds, for
pages and for terminals with sixteen colours.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

ColourKey = tuple[int, str]
"""CON_ID and name of a consumer group."""


class Hue(NamedTuple):
    """A colour on dark and on light backgrounds, on a page, and its name among the sixteen of a terminal."""

    dark: str
    light: str
    page: str
    ansi: str


GROUP_HUES = (
    Hue("#4297ff", "#154cc1", "#0072b2", "blue"),
    Hue("#ffe0ad", "#8a4300", "#e69f00", "yellow"),
    Hue("#80f4ff", "#002c3d", "#56b4e9", "cyan"),
    Hue("#f28c8c", "#501b1b", "#d55e00", "red"),
    Hue("#e5adff", "#6600f5", "#7a5195", "bright_magenta"),
    Hue("#a89d00", "#3d3900", "#8c7a00", "bright_yellow"),
    Hue("#ff52cb", "#971181", "#cc79a7", "magenta"),
    Hue("#70e170", "#156535", "#009e73", "green"),
)
"""Eight colours that everyone can distinguish, colour-blind people included; neighbours differ most."""

OTHERS = "others"
"""The style of everything without a colour of its own."""

_CLASS_HUES = {
    "on CPU": Hue("#2fc92f", "#064506", "#00a000", "green"),
    "Scheduler": Hue("#b9f5a5", "#496e00", "#8fdc8f", "bright_green"),
    "User I/O": Hue("#5f8dff", "#1237b0", "#004ae7", "blue"),
    "System I/O": Hue("#86d3ff", "#0a5c96", "#4db8ff", "bright_blue"),
    "Concurrency": Hue("#c8574c", "#6e0c06", "#8b1a00", "red"),
    "Application": Hue("#ff5548", "#b01a0c", "#e02800", "bright_red"),
    "Commit": Hue("#ff9a3d", "#8a4600", "#f08000", "bright_yellow"),
    "Configuration": Hue("#a97c48", "#57390c", "#7a5a1e", "yellow"),
    "Administrative": Hue("#979d62", "#474d38", "#717354", "cyan"),
    "Network": Hue("#cdbd8a", "#6b5a14", "#9f9371", "bright_cyan"),
    "Cluster": Hue("#e9e4d6", "#3f3b33", "#c9c2af", "white"),
    "Queueing": Hue("#b59bd0", "#5b3d78", "#a58bb8", "bright_white"),
    "Other": Hue("#ff8fc7", "#97205f", "#f06eaa", "magenta"),
}
"""The colours that charts of active sessions have long used for the wait classes."""

GROUP_STYLES = tuple(f"group{n}" for n in range(1, len(GROUP_HUES) + 1))

CLASS_STYLES: Mapping[str, str] = MappingProxyType({name: f"class{n}" for n, name in enumerate(_CLASS_HUES, 1)})
"""The style of each wait class, and of being on CPU."""

HUES: Mapping[str, Hue] = MappingProxyType(
    dict(zip(GROUP_STYLES, GROUP_HUES, strict=True))
    | {style: _CLASS_HUES[name] for name, style in CLASS_STYLES.items()}
    | {OTHERS: Hue("#8b9099", "#555960", "#8a8f98", "bright_black")}
)
"""All colours by style."""

_ORACLES = frozenset({
    "SYS_GROUP", "OTHER_GROUPS", "_ORACLE_BACKGROUND_GROUP_", "DEFAULT_CONSUMER_GROUP", "LOW_GROUP",
    "AUTO_TASK_CONSUMER_GROUP",
})  # fmt: skip


class GroupColours:
    """The colours of the consumer groups of a database. A group keeps its colour once it has one.

    The name of a group decides its colour; if another group has that already, it gets the next free one. Groups made
    by users choose before those that Oracle brings. A group that comes when none is left gets none.
    """

    def __init__(self, groups: Iterable[ColourKey] = ()) -> None:
        self._styles: dict[ColourKey, str] = {}
        self._by_name: dict[str, str] = {}
        self.add(groups)

    def add(self, groups: Iterable[ColourKey]) -> None:
        """Give a colour to each group that has none yet."""
        new = set(groups) - self._styles.keys()
        taken = set(self._styles.values())
        is_oracles = {key: key[1] in _ORACLES or key[1].startswith("ORA$") for key in new}
        for key in sorted(new, key=lambda each: (is_oracles[each], each[1], each[0])):
            name = key[1]
            first = crc32(name.encode()) % len(GROUP_STYLES)
            wanted = (*GROUP_STYLES[first:], *GROUP_STYLES[:first])
            self._styles[key] = next((style for style in wanted if style not in taken), "")
            taken.add(self._styles[key])
            # Several containers may have groups of that name: then the name alone does not give the colour.
            self._by_name[name] = "" if name in self._by_name else self._styles[key]

    def style(self, name: str, con_id: int | None = None) -> str:
        """Return the style of a group, "" if it has none. Without `con_id` its name must be unique."""
        if con_id is not None and (con_id, name) in self._styles:
            return self._styles[con_id, name]
        return self._by_name.get(name, "")
