"""The line of tabs and the line of keys. A click does what the key does."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from textual.events import Click
from textual.message import Message

from presman.figures.drawing.lines import Run, cells, merge
from presman.tabs import tab_names
from presman.tui.widgets.line_api import LineView


class Labelled(NamedTuple):
    """A key as the bottom line offers it: as people call it, its label, and the action that a click runs."""

    shown: str
    label: str
    action: str


@dataclass(eq=False)
class Clicked(Message):
    """Something on one of the lines was clicked: the name of its action."""

    action: str


class _ClickLine(LineView):
    """A line whose stretches are actions."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._targets: list[tuple[int, int, str]] = []

    def on_click(self, event: Click) -> None:
        """Tell which action was clicked."""
        for start, end, action in self._targets:
            if start <= event.x < end:
                self.post_message(Clicked(action))


class TabLine(_ClickLine):
    """The tabs with their digits; the one on show is marked by brackets, not only by colour."""

    def show(self, tab: str, note: str = "", hidden: Collection[str] = ()) -> None:
        """Mark one tab; `note` stands at the right, tabs `hidden` have nothing to show here."""
        self.redraw = partial(self.show, tab, note, hidden)
        runs: list[Run] = [(" ", "")]
        self._targets = []
        used = 1
        room = (self.size.width or self.app.size.width) - (cells(note) + 1 if note else 0)
        for text, name in tab_texts(tab, hidden, room):
            self._targets.append((used, used + len(text), f"key('tab_{name}')"))
            close = name != tab and text[1:2].strip()  # the key stands against the title: colours tell them apart
            runs += [(text[0], "key"), (text[1:], "dim")] if close else [(text, "title" if name == tab else "dim")]
            runs.append((" ", ""))
            used += len(text) + 1
        blanks = self.size.width - used - cells(note) - 1
        if note and blanks > 0:
            runs += [(" " * blanks, ""), (note, "warn")]
        self.show_lines([merge(runs)])


def tab_texts(tab: str, hidden: Collection[str], width: int) -> list[tuple[str, str]]:
    """Return (text, name) of the tabs: closer together where the line is short, then the others without the blank
    behind their keys, then without their titles."""
    names = [each for each in tab_names() if each.name not in hidden]
    for form in (" {0} {1} ", "{0} {1}", "{0}{1}", "{0}"):
        texts = []
        for key, name, title, _ in names:
            texts.append((f"[{key} {title}]" if name == tab else form.format(key, title), name))
        if sum(len(text) + 1 for text, _ in texts) + 1 <= width:
            break
    return texts


class KeysLine(_ClickLine):
    """The keys that do something here."""

    ground = "panel"

    def show(self, actions: Sequence[Labelled]) -> None:
        """Show as many of these actions as fit."""
        self.redraw = partial(self.show, actions)
        width = self.size.width or self.app.size.width
        runs: list[Run] = [(" ", "")]
        self._targets = []
        used = 1
        for action in actions:
            size = cells(action.shown) + 1 + cells(action.label) + 2
            if used + size > width:
                break
            self._targets.append((used, used + size - 2, action.action))
            runs += [(action.shown, "key"), (f" {action.label}  ", "")]
            used += size
        self.show_lines([merge(runs)])
