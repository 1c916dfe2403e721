"""The fleet on a terminal: many databases, one line each. It ends with the database that is to be opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from presman.analysis.readings.fleet_readings import Member
from presman.tui.fleet import fleet_keys
from presman.tui.fleet.fleet_frame import FleetFrame
from presman.tui.fleet.fleet_view import FleetView
from presman.tui.terminal_app import run_until_ended
from presman.tui.widgets.tab_line import Clicked, Labelled

if TYPE_CHECKING:
    from presman.services.fleet.live_fleet import Fleet
    from presman.tui.widgets.filter_line import FilterLine


class FleetApp(FleetFrame):
    """The fleet with its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [each.binding for each in fleet_keys.FLEET_KEYS if each.key.keys]

    def keys_here(self) -> list[Labelled]:
        """Return the keys that do something here, the most needed first."""
        return fleet_keys.offered(self)

    async def run_action(self, *arguments: Any, **named: Any) -> bool:
        """Do what a key or a click asks for; a fault in that is told, and the screen lives on."""
        try:
            done = await super().run_action(*arguments, **named)
            self.note_view()
        except Exception as error:
            self.complain(error)
            return True
        return done

    async def action_key(self, name: str) -> None:
        """Do what a key does, or say why it does nothing."""
        key = fleet_keys.BY_NAME[name]
        if not key.when(self):
            self.tell(str(key.why_not))
            return
        done = key.run(self)
        if isawaitable(done):
            await done
        self.frame.paint_keys(self.keys_here())

    # ---- what widgets ask for

    def on_clicked(self, event: Clicked) -> None:
        """Do what was clicked on the line of keys."""
        self.call_later(self.run_action, event.action)

    def on_filter_line_typed(self, event: FilterLine.Typed) -> None:
        """Filter by what is typed."""
        self.filter(event.needle, done=event.done)
        if event.done:
            self.note_view()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual passes it
        """Offer every action by name, and every theme."""
        for each in fleet_keys.FLEET_KEYS:
            if each.key.name != "palette" and each.when(self):
                run = partial(self.call_later, self.run_action, each.action)
                yield SystemCommand(f"{each.labelled(self).label} ({each.key.shown})", each.key.help, run)
        yield SystemCommand("themes", "Choose one of all themes.", self.action_change_theme)


class FleetEnd(NamedTuple):
    """How the screen ended: its exit code, and the database to open, None to quit."""

    code: int
    chosen: Member | None


def run_fleet(
    fleet: Fleet, view: FleetView, begin: Callable[[], None], *, ascii_only: bool = False, notice: str = ""
) -> FleetEnd:
    """Show a fleet until the user quits or opens one of its databases. `begin` is called after the first frame."""
    app = FleetApp(fleet, view, begin, notice=notice)
    if ascii_only:
        app.keep_to_ascii()
    asyncio.run(run_until_ended(app))
    return FleetEnd(app.return_code or 0, app.chosen)
