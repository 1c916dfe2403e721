"""Keys for drilling down: the scope of a row, its page, unfolding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presman.figures.figure import Table
from presman.tabs import title
from presman.tabs.choices import DRILL_DOWN, DrillScope, breadcrumb
from presman.tabs.parts import Key
from presman.tui.keyed_app import AppKey, has_rows, has_tables, no_tables

if TYPE_CHECKING:
    from presman.tabs.drill_down import Statement
    from presman.tui.frame_app import FrameApp
    from presman.tui.widgets.grid import Grid


FOLDING = ("parallel", "sessions", DRILL_DOWN)
"""The panels with rows that fold."""


async def enter(app: FrameApp, row: Any, grid: Grid) -> None:
    """Open the list of a row's group, event, instance or PDB, or the page of a session or statement."""
    from presman.tabs.drill_down import has_cursor_page, scope_of, statement_of, within

    scope = scope_of(row)
    if has_cursor_page(row):
        open_statement(app, statement_of(row))
    elif scope is None:
        open_page(app, row, grid.table)
    else:
        await drill_into(app, (*app.monitor.choices.scopes, within(app.monitor.choices.scopes, scope)))


def open_statement(app: FrameApp, statement: Statement | None) -> None:
    """Open the page of a statement, running or not."""
    from presman.tabs.drill_down import with_cursor
    from presman.tui.pages.content import cursor_of
    from presman.tui.pages.detail_lines import focus_of

    monitor = app.monitor
    if statement is None or monitor.reading is None:
        return
    found = with_cursor(statement, monitor.reading, monitor.timeline.watch.sql_texts)
    content = cursor_of(found, lambda: monitor.timeline.watch, app.size.width - 6, recorded=monitor.choices.recorded)
    app.reader.open(content, focus_of(found), where(app, found.sql_id), found)


async def list_sessions(app: FrameApp) -> None:
    """Leave the page of a statement for the list of its sessions."""
    from presman.tabs.drill_down import within
    from presman.tui.pages.content import scope_of_statement

    statement, scopes = app.reader.row, app.monitor.choices.scopes
    app.reader.close()
    await drill_into(app, (*scopes, within(scopes, scope_of_statement(statement))))


def shows_statement(app: FrameApp) -> bool:
    """Return whether the page of a statement is open."""
    from presman.tabs.drill_down import Statement

    return app.reader.is_open and isinstance(app.reader.row, Statement)


async def drill_into(app: FrameApp, scopes: tuple[DrillScope, ...]) -> None:
    """Show the list of the last scope, or the tab itself if there is none."""
    monitor = app.monitor
    deeper = len(scopes) > len(monitor.choices.scopes)
    if deeper:  # a filter of another list does not apply to this one
        monitor.choose(filters={**monitor.choices.filters, DRILL_DOWN: ""})
    await app.panels.drill_into(scopes)
    app.read_enough()
    app.reader.request_details(None)
    app.repaint()
    if deeper:
        app.panels.focus_first()
    else:
        app.panels.focus_again()


def open_page(app: FrameApp, row: Any, table: Table[Any]) -> None:
    """Open the page of a row."""
    from presman.analysis.collapsed_rows import CollapsedStatements
    from presman.analysis.session_list import Blocking
    from presman.figures.session_figures import SESSIONS
    from presman.tabs.drill_down import has_cursor_page, name_of, statement_of
    from presman.tui.pages.content import details_of
    from presman.tui.pages.detail_lines import focus_of

    row = row.same[0] if isinstance(row, CollapsedStatements) else row
    if has_cursor_page(row):
        open_statement(app, statement_of(row))
        return
    if isinstance(row, Blocking) and row.session is not None:
        row, table = row.session, SESSIONS
    content = details_of(row, table, app.monitor.timeline.watch, app.size.width - 6)
    app.reader.open(content, focus_of(row), where(app, name_of(row)), row)


def where(app: FrameApp, page: str = "") -> str:
    """Return the breadcrumb of what is on screen."""
    choices, reading = app.monitor.choices, app.monitor.reading
    several = reading is not None and len(reading.header.instances) > 1
    return breadcrumb(title(choices.tab), choices.scopes, page, several=several)


def no_row(app: FrameApp) -> None:
    """Notify the user which table has no row, and how to get to one that has."""
    grid, others = app.panels.grid, [each for each in app.panels.present.grids() if each.row is not None]
    where = f"{grid.table.title} has no row" if grid is not None else "There is no row here"
    app.notify(f"{where}{f': Tab goes to {others[0].table.title}' if others else ''}.")


def describe(app: FrameApp) -> None:
    """Open the page of the row under the cursor, of any kind."""
    grid = app.panels.grid
    if grid is None or grid.row is None:
        no_row(app)
    else:
        open_page(app, grid.row, grid.table)


def unfold(app: FrameApp) -> None:
    """Give folded rows rows of their own, or fold them again."""
    app.monitor.choose(unfolded=not app.monitor.choices.unfolded)
    app.repaint()


def no_rows(app: FrameApp) -> str:
    """Return why no key for tables is available."""
    return (app.panels.present.why_no_rows or "There is no table here.") if has_tables(app) else no_tables(app)


def can_unfold(app: FrameApp) -> bool:
    """Return whether tables with rows that fold are on screen."""
    return has_rows(app) and app.monitor.choices.panel in FOLDING and not app.panels.present.why_no_rows


def why_not_unfold(app: FrameApp) -> str:
    """Return why nothing can be unfolded."""
    here = app.monitor.choices.panel in FOLDING
    return no_rows(app) if here else "Nothing is folded here: only Parallel, Sessions and their lists fold rows."


DESCRIBE = AppKey(
    Key("describe", "d", "d", "about", "All about the row under the cursor, on one page; groups and events too."),
    describe, has_rows, no_rows,
)  # fmt: skip
UNFOLD = AppKey(
    Key("unfold", "u", "u", "unfold", "Show each parallel server and each identical queued statement on its own row, "
        "or fold them: servers into their coordinator's row, statements into the row of the first."),
    unfold, can_unfold, why_not_unfold,
    relabel=lambda app: "fold" if app.monitor.choices.unfolded else "unfold",
)  # fmt: skip
