"""What the user can do: said once, for bindings, keys line, help and command palette."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding

TABS = (("1", "overview", "Overview"), ("2", "cpu", "CPU"), ("3", "io", "I/O"), ("4", "parallel", "Parallel"),
        ("5", "sessions", "Sessions"), ("6", "plan", "Plan"), ("7", "latency", "Latency"),
        ("8", "pdbs", "PDBs"))  # fmt: skip
"""Key, name and title of each tab."""


TITLES = {name: title for _, name, title in TABS}


class Action(NamedTuple):
    """One thing to do. `needs` tells when it does something: see `MonitorApp.offered`.

    `keys` as Textual names them ("" where Textual itself binds it), `shown` as people do; `label` is one or two
    words, `help` a sentence.
    """

    name: str
    keys: str
    shown: str
    label: str
    help: str
    needs: str = ""

    @property
    def binding(self) -> Binding:
        """The action as a binding of the app."""
        return Binding(self.keys, self.name, self.label, show=False)


ACTIONS: tuple[Action, ...] = (
    Action("help", "question_mark,f1", "?", "help", "Keys, and every column of this tab: its view and its formula."),
    *(Action(f"tab('{name}')", key, key, title, f"Show the tab {title}.", "cdb" if name == "pdbs" else "elsewhere")
      for key, name, title in TABS),
    Action("details", "enter", "Enter", "details", "All about the row under the cursor, on one page.", "row"),
    Action("escape", "escape", "Esc", "back", "Back to the table, to the same row; clears a filter.", "page"),
    Action("leave", "q", "q", "back / quit", "Back to the table, to the same row; at the top, quit.", ""),
    Action("pause", "space", "Space", "pause", "Freeze the view; polling and history go on.", "data"),
    Action("step(-1)", "left", "←", "back in time", "Step one poll back in time.", "past"),
    Action("step(1)", "right", "→", "forward", "Step one poll forward in time.", "behind"),
    Action("step(-15)", "shift+left", "⇧←", "15 back", "Step 15 polls back in time.", "past"),
    Action("step(15)", "shift+right", "⇧→", "15 forward", "Step 15 polls forward in time.", "behind"),
    Action("live", "end", "End", "live", "Back to the newest poll; ends a pause too.", "frozen"),
    Action("filter", "slash", "/", "filter", "Show only rows that contain a text; with ! before it, those that do not. "
           "Enter keeps it, an empty one shows all.", "table"),
    Action("sort", "s", "s", "sort", "Sort by the next column (or click its head).", "table"),
    Action("reverse", "S", "S", "reverse", "Sort the other way round.", "table"),
    Action("instances", "i", "i", "instances", "One row per instance, or the sums over the cluster.", "rac"),
    Action("window", "w", "w", "window", "How much time the charts show: 15, 60 or 5 minutes.", "chart"),
    Action("maps", "m", "m", "maps", "On Latency: give the heat maps the whole tab, or take it back.", "latency"),
    Action("span", "b", "b", "buckets of", "On Latency: buckets of the window, since startup, or now.", "latency"),
    Action("outliers", "o", "o", "outliers",
           "On Latency: ask for the I/O outliers (V$IO_OUTLIER, V$LGWRIO_OUTLIER), once.", "latency"),
    Action("gantt", "g", "g", "Gantt", "Statements over time in place of the tables of the tab Parallel, and back.",
           "gantt"),
    Action("plan", "v", "v", "next plan", "Show another plan in the tab Plan, and what it would change.", "plan"),
    Action("refresh(1)", "plus,equals_sign", "+", "slower", "Poll less often.", ""),
    Action("refresh(-1)", "minus", "-", "faster", "Poll more often.", ""),
    Action("poll_now", "f5", "F5", "poll now", "Poll at once, or try at once to connect again.", "lost"),
    Action("copy", "c", "c", "copy", "Copy the page or the row: to the clipboard (OSC 52) and to a file. On the tab "
           "Parallel: the command that would let the queue's head start, or end the running statement.", "data"),
    Action("act", "a", "a", "act", "With --allow-actions: start, switch, cancel or kill what the row is about, after a "
           "question.", "act"),
    Action("export", "e", "e", "CSV", "Append this view's measure to a CSV file at each poll; again to end.", "data"),
    Action("theme", "t", "t", "theme", "Next theme; all of them are in the command palette.", ""),
    Action("command_palette", "", "^P", "palette", "Find a command by its name.", ""),
    Action("next_table", "", "Tab", "next table", "Go to the next table of the tab.", "tables"),
    Action("quit", "", "^Q", "quit", "Quit.", ""),
)  # fmt: skip

KEYS_LINE = ("help", "leave", "poll_now", "details", "pause", "live", "step(-1)", "step(1)", "filter", "sort",
             "reverse", "instances", "maps", "span", "outliers", "copy", "act", "gantt", "plan", "export", "window",
             "refresh(1)", "refresh(-1)", "theme",
             "command_palette")  # fmt: skip
"""What the bottom line offers, the most needed first."""

BY_NAME = {action.name: action for action in ACTIONS}
