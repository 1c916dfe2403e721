"""The help page of the fleet's screen."""

from __future__ import annotations

from collections.abc import Sequence

from presman.figures.drawing.lines import Line
from presman.figures.fleet_figures import FLEET
from presman.tabs.parts import Key
from presman.tui.pages.help_page import help_page
from presman.tui.widgets.grid import Grid

STATES = (
    ("● LIVE", "good", "at most two intervals old"),
    ("◌ LATE", "warn", "older: the database does not answer, or its recorder does not write"),
    ("✕ LOST", "bad", "no connection, tried again after 1 to 60 seconds; in a store: its recorder is gone or lost it"),
    ("✕ REFUSED", "warn", "not tried again by itself, because a wrong password locks accounts: Enter, then F5 tries"),
    ("… STARTING", "note", "nothing was read yet"),
    ("■ STOPPED", "note", "its recorder was stopped, or the data is at its end"),
)

NOTES = (
    "Databases are sorted worst first: lost, with a critical alert (✕), refused, with a warning (▲) or late, then the "
    "others by name. The cursor stays on the worst until you move it, then on its database.",
)


def help_lines(keys: Sequence[Key]) -> list[Line]:
    """Return the page."""
    bindings = [binding for binding in Grid.BINDINGS if not isinstance(binding, tuple) and binding.action != "open"]
    in_table = [(binding.key_display or binding.key, binding.description) for binding in bindings]
    return help_page("Fleet", keys, in_table, [FLEET], NOTES, STATES)
