"""Keys of an app and their actions, common to the monitor and the fleet's screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from inspect import isawaitable
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from textual.app import SystemCommand
from textual.binding import Binding
from textual.events import Key as KeyPress
from textual.screen import Screen
from textual.widget import Widget

from presman.tabs.parts import Key
from presman.tui import textual_internals
from presman.tui.saved_view import ViewSaver
from presman.tui.terminal_app import TerminalApp
from presman.tui.widgets.frame_lines import Clicked, Labelled
from presman.tui.widgets.grid import Grid

Run = Callable[[Any], "Awaitable[None] | None"]
When = Callable[[Any], bool]
"""The action of a key on its app, and the condition under which it is available."""


TIDY = 15.0
"""Seconds between two runs of the garbage collector once all lasting objects exist."""

_SPELLED = {"enter": "Enter", "backspace": "Backspace"}
"""Keys whose signs in Textual have no ASCII form."""

NO_DATA = "Nothing has been read yet."
PAGE_IS_OPEN = "A page is open: q goes back to the tables."


def always(_app: object) -> bool:
    """Return True."""
    return True


def has_data(app: KeyedApp) -> bool:
    """Return whether there is data to show."""
    return app.has_data


def has_tables(app: KeyedApp) -> bool:
    """Return whether tables are shown, not a page."""
    return app.has_data and not app.is_page_open


def no_tables(app: KeyedApp) -> str:
    """Return why no table is shown."""
    return PAGE_IS_OPEN if app.is_page_open else NO_DATA


def has_rows(app: KeyedApp) -> bool:
    """Return whether a table is on screen, neither a page nor a chart in place of the tables."""
    return has_tables(app) and app.grid is not None


class AppKey(Struct, frozen=True, dict=True):
    """A key of an app. `when` returns whether it is available now; `why_not` is shown if not.

    `relabel` returns the current label if that changes.
    """

    key: Key
    run: Run
    when: When = always
    why_not: str | Callable[[Any], str] = ""
    relabel: Callable[[Any], str] | None = None

    def worded(self, words: str, label: str = "", **changes: Any) -> AppKey:
        """Return the key with another help text, and optionally another label and other fields."""
        return replace(self, key=self.key._replace(help=words, label=label or self.key.label), **changes)

    @cached_property
    def action(self) -> str:
        """The action in Textual's notation."""
        return f"key('{self.key.name}')"

    @property
    def binding(self) -> Binding:
        """The key as a binding of the app."""
        return Binding(self.key.keys, self.action, self.key.label, show=False)

    def labelled(self, app: Any) -> Labelled:
        """Return the key as an entry of the bottom line."""
        label = self.relabel(app) if self.relabel else self.key.label
        return Labelled(self.key.shown, label, self.action)


class KeyedApp(TerminalApp):
    """An app with keys, a command palette of them, and a view that is saved after each key that changes it."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012 - Textual declares it so
    is_served: ClassVar[bool] = False
    """Whether the user is in a browser: then presman writes no files on its host and shows no other target."""

    view_saver: ViewSaver | None = None
    """Saves the view that the user has set; None saves nothing."""

    own_keys: Mapping[str, AppKey] = MappingProxyType({})
    """Keys of this app alone, by name."""

    notice = ""
    """A notice to show at the start; it has priority over one on the saved view."""

    begun = True
    """Whether the first frame has been painted: before it no key is available."""

    where_key_works: Callable[[str], str] = staticmethod(lambda _keys: "")
    """Returns where a key works that does not work here, "" for other keys."""

    # ---- what each app defines

    @property
    def has_data(self) -> bool:
        """Whether there is data to show."""
        return True

    @property
    def is_page_open(self) -> bool:
        """Whether a page is shown in place of the tables."""
        return False

    @property
    def grid(self) -> Grid | None:
        """The table that keys apply to, None if there is none."""
        return None

    def all_keys(self) -> Sequence[AppKey]:
        """Return the keys of the app, in the order of help and palette."""
        return ()

    def keys_here(self) -> list[Labelled]:
        """Return the available keys, the most useful first."""
        return []

    def note_view(self) -> None:
        """Save the current view if it has changed."""

    def repaint(self) -> None:
        """Draw everything from the state."""

    def on_resize(self) -> None:
        """Show a message if the terminal is too small."""
        if self.begun:
            self.call_after_refresh(self.repaint)

    def show_notice(self) -> None:
        """Show the notice of the start, else the problem with the saved view."""
        if notice := self.notice or (self.view_saver.trouble if self.view_saver is not None else ""):
            self.notify(notice, severity="warning", timeout=12)

    def settle(self) -> None:
        """Exempt all objects created so far from garbage collection, because they last."""
        textual_internals.settle_garbage()
        self.set_interval(TIDY, textual_internals.tidy_garbage)

    @property
    def needle(self) -> str:
        """The filter of the page, else of the tables."""
        return ""

    @property
    def typed_in(self) -> list[Widget]:
        """The open input lines: a filter, a name, a time."""
        return [line for line in self.query("InputLine") if line.display]

    # ---- running actions

    async def attempt(self, doing: Awaitable[object]) -> None:
        """Await `doing`; report an error in it, and keep the screen running."""
        try:
            await doing
        except Exception as error:
            self.report_error(error)

    async def run_action(self, *arguments: Any, **named: Any) -> bool:
        """Run the action of a key or a click; report an error in it, and keep the screen running."""
        try:
            done = await super().run_action(*arguments, **named)
            self.note_view()
        except Exception as error:
            self.report_error(error)
            return True
        return done

    async def action_key(self, name: str) -> None:
        """Run the action of a key, or notify the user why it is not available."""
        key = self.own_keys.get(name) or next(each for each in self.all_keys() if each.key.name == name)
        if not key.when(self):
            why_not = key.why_not if isinstance(key.why_not, str) else key.why_not(self)
            if why_not:
                self.notify(why_not)
            return
        done = key.run(self)
        if isawaitable(done):
            await done

    def on_key(self, event: KeyPress) -> None:
        """Notify the user of an unknown key, or where it works, so that it does not seem to be lost."""
        if not self.begun or self.is_leaving or event.key in self.active_bindings:
            return
        others = "Esc goes back" if self.typed_in or len(self.screen_stack) > 1 else "? lists the keys"
        shown = _SPELLED.get(event.key) or self.get_key_display(Binding(event.key, ""))
        self.notify(self.where_key_works(event.key) or f"{shown} is not a key here: {others}.")

    def on_clicked(self, event: Clicked) -> None:
        """Run the action that was clicked on the line of tabs or of keys."""
        self._run(event.action)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual passes it
        """Offer every action by name, and every theme."""
        for each in self.all_keys():
            if each.key.name != "palette" and each.when(self):
                label = f"{each.labelled(self).label} ({each.key.shown})"
                yield SystemCommand(label, each.key.help, partial(self._run, each.action))
        yield from self.more_commands()
        yield SystemCommand("themes", "Choose one of all themes.", self.action_change_theme)

    def more_commands(self) -> Iterable[SystemCommand]:
        """Return the other commands of the palette."""
        return ()

    def _run(self, action: str) -> None:
        self.call_later(self.run_action, action)
