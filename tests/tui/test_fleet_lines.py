"""Lines of the fleet's screen: first line, state, what is wrong, details of one database; by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.fleet import ConnectionState, KeyFigures, Member
from presman.figures.drawing.lines import length, plain
from presman.figures.fleet_figures import FLEET
from presman.tui.fleet_app import (
    FIRST_TICKS,
    SHORT_TICK,
    TICK,
    FleetApp,
    FleetView,
    _row_text,
    about_in_short,
    about_lines,
    can_go_back,
    escape,
    facts,
    first_line,
    fleet_alerts,
    fleet_state,
    in_trouble,
    read,
    set_filter,
)

FIGURES = KeyFigures("PROD", "DAY", 6.0, 2.0, 24.0, 12, 221.0, 64, 256, 0, "good", "")
LIVE = Member("east", ConnectionState.LIVE, FIGURES, 1.0)


def member(name: str, connection: ConnectionState, **facts: Any) -> Member:
    return Member(name, connection, **facts)


def hurt(name: str, severity: str, alerts: int = 1, **more: Any) -> Member:
    return replace(
        LIVE, name=name, key_figures=replace(FIGURES, severity=severity, alerts=alerts, worst="it waits"), **more
    )


LOST = member("west", ConnectionState.LOST, reason="no route", retry_in=41.0, since=61.0)


def test_the_first_line_counts_the_states_and_the_alerts() -> None:
    runs = facts("all", [LIVE, hurt("b", "bad", 3), LOST, hurt("c", "warn", 2)], 2.5)
    assert [text for text, _ in runs] == [
        " all", "  4 databases", "  ● 3 live", "  ✕ 1 lost", "  ▲ 5 alerts in 2", "  every 2.5s",
    ]  # fmt: skip
    assert [text for text, _ in facts("one", [LIVE], 5.0)] == [" one", "  1 database", "  ● 1 live", "  every 5s"]
    assert "  ▲ 1 alert in 1" in [text for text, _ in facts("one", [hurt("a", "bad")], 5.0)]


def test_databases_are_not_counted_as_alerts() -> None:
    """A database has one line for all its alerts; the trouble of a lost one also counts."""
    several = [LIVE, hurt("b", "bad", 3), LOST, hurt("c", "note", 0), hurt("d", "warn", 2)]
    assert in_trouble(several) == "trouble in 3"
    assert in_trouble([LIVE, hurt("b", "bad", 3)]) == ""


def test_facts_without_room_are_dropped_from_the_end() -> None:
    """Of 21 + 10 cells of facts the interval's 10 go where the state with a blank on each side leaves fewer."""
    state = ("● LIVE", "good")
    assert sum(len(text) for text, _ in facts("one", [LIVE], 5.0)) == 4 + 12 + 10 + 10
    lines = {width: plain(first_line("one", [LIVE], 5.0, state, width)) for width in (44, 43, 34, 33, 12, 5)}
    assert lines[44] == " one  1 database  ● 1 live  every 5s" + " ● LIVE "
    assert lines[43] == " one  1 database  ● 1 live" + " " * 10 + "● LIVE "
    assert lines[34] == " one  1 database  ● 1 live ● LIVE "
    assert lines[33] == " one  1 database" + " " * 10 + "● LIVE "
    assert lines[12] == " one ● LIVE "
    assert lines[5] == " one ● LIVE "
    assert length(first_line("one", [LIVE], 5.0, state, 80)) == 80


@pytest.mark.parametrize(
    ("members", "trouble", "paused", "expected"),
    [
        ([LIVE, LOST], "", None, "● LIVE"),
        ([member("a", ConnectionState.LATE)], "", None, "● LIVE"),
        ([LOST], "", None, "✕ NO DATA"),
        ([member("a", ConnectionState.LATE, reason="no view answers")], "", None, "✕ NO DATA"),
        ([], "", None, "✕ NO DATA"),
        ([member("a", ConnectionState.STARTING)], "", None, "… STARTING"),
        ([member("a", ConnectionState.STARTING), LOST], "", None, "✕ NO DATA"),
        ([LIVE], "", 61.0, "‖ PAUSED 1:01"),
        ([LIVE], "gone", 61.0, "✕ STORE LOST"),
    ],
)
def test_a_fleet_has_a_state(members: list[Member], trouble: str, paused: float | None, expected: str) -> None:
    assert fleet_state(members, trouble, paused=paused)[0] == expected


def test_problems_are_listed_by_database_worst_first() -> None:
    late = member("late", ConnectionState.LATE, age=30.0)
    refused = member("no", ConnectionState.REFUSED, reason="ORA-01017", outlook="not tried again")
    found = fleet_alerts([LIVE, hurt("warned", "warn"), late, refused, hurt("bad", "bad"), LOST], "")
    assert [(each.state, each.glyph, each.text) for each in found] == [
        ("bad", "✕", "west: retry in 41s: no route"),
        ("bad", "✕", "bad: it waits"),
        ("warn", "✕", "no: ORA-01017; not tried again"),
        ("warn", "▲", "warned: it waits"),
        ("warn", "▲", "late: no answer for 0:30"),
    ]
    (store,) = fleet_alerts([LIVE], "the store is gone")
    assert (store.state, store.text) == ("bad", "the store is gone")
    assert [each.text for each in fleet_alerts([LIVE], "")] == ["Nothing is wrong in any database that answers."]
    assert fleet_alerts([member("a", ConnectionState.STARTING)], "") == []
    assert [each.short for each in fleet_alerts([member("x", ConnectionState.LOST)], "")] == ["x: LOST"]


def about(member: Member | None, to_do: str = "") -> list[str]:
    return [plain(line) for line in about_lines(member, to_do)]


def test_all_about_the_database_under_the_cursor() -> None:
    """6 of the 8 CPUs that were wanted were had: 25 % had to wait."""
    figures = "plan DAY  CPU 6.0 used, 2.0 waited for, of 24  throttled 25 %  12 queued, head 3:41  PX servers 64/256"
    assert about(LIVE) == [f" east  ● LIVE  PROD  {figures}"]
    assert about(replace(LIVE, name="prod_east", since=61.0)) == [f" prod_east  ● LIVE for 1:01  {figures}"]
    assert about(None) == []
    idle = replace(LIVE, key_figures=replace(FIGURES, plan="", used=None, queued=0))
    assert about(idle) == [" east  ● LIVE  PROD  plan none  PX servers 64/256"]
    assert about(hurt("b", "bad"), "end it")[1:] == [" it waits", " DO  end it"]
    assert about(LOST) == [" west  ✕ LOST for 1:01", " retry in 41s: no route"]
    assert about(replace(LOST, age=90.0))[0] == " west  ✕ LOST for 1:01  last data 1:30 ago"


def test_a_reason_has_the_colour_of_the_alert_or_of_the_state() -> None:
    assert about_lines(hurt("b", "warn"), "")[1][0][1] == "warn"
    assert about_lines(LOST, "")[1][0][1] == "bad"
    late = replace(hurt("b", "bad"), connection=ConnectionState.LATE, age=5.0)
    assert about_lines(late, "")[1][0][1] == "warn"
    assert [plain(line) for line in about_in_short(hurt("b", "bad"), "end it")] == [
        " b  ● LIVE",
        " it waits",
        " DO  end it",
    ]


@pytest.mark.parametrize("row", [0, 5])
def test_a_fleet_keeps_its_position_on_return(row: int) -> None:
    done: list[Any] = []
    frame: Any = SimpleNamespace(
        _begin_fleet=lambda: done.append("begun"), view=SimpleNamespace(row=row),
        show_notice=lambda: done.append("notice"),
        grid=SimpleNamespace(scroll_to=lambda y, animate: done.append((y, animate))), _tick=1, settle=2,
        set_timer=lambda seconds, act: done.append(act),
    )  # fmt: skip
    FleetApp._begin(frame)
    assert done == ["begun", *([(5, False)] if row else []), "notice", 1, 2]


def test_the_fleet_is_painted_at_once_then_each_second_until_its_end() -> None:
    timers: list[float] = []
    painted: list[int] = []
    frame: Any = SimpleNamespace(
        _ticks=FIRST_TICKS - 3, _tick=None, is_leaving=False, set_timer=lambda seconds, _: timers.append(seconds),
        repaint=lambda: painted.append(frame._ticks),
    )  # fmt: skip
    for _ in range(3):
        FleetApp._tick(frame)
    assert timers == [SHORT_TICK, SHORT_TICK, TICK]
    assert painted == [FIRST_TICKS - 2, FIRST_TICKS - 1, FIRST_TICKS]
    frame.is_leaving = True
    FleetApp._tick(frame)
    assert len(painted) == 3


@pytest.mark.parametrize("lines", [None, []])
def test_a_page_opens_without_a_filter_and_repaints(lines: list[Any] | None) -> None:
    done: list[Any] = []
    page = SimpleNamespace(set_filter=done.append)
    frame: Any = SimpleNamespace(
        frame=SimpleNamespace(page=page, read=done.append), repaint=lambda: done.append("painted"), is_help_open=None
    )
    read(frame, lines)
    assert (done, frame.is_help_open) == (["", lines, "painted"], lines is not None)


@pytest.mark.parametrize(
    ("page", "needle", "does"),
    [(True, "", ["table"]), (True, "yield", ["whole"]), (False, "", ["whole"]), (False, "prod", ["whole"])],
)
def test_esc_closes_the_help_or_ends_a_filter(
    page: bool, needle: str, does: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def filtered(_app: Any, text: str, *, done: bool) -> None:
        assert (text, done) == ("", True)
        found.append("whole")

    app: Any = SimpleNamespace(is_page_open=page, frame=SimpleNamespace(page=SimpleNamespace(needle=needle)))
    monkeypatch.setattr("presman.tui.fleet_app.set_filter", filtered)
    monkeypatch.setattr("presman.tui.fleet_app.read", lambda _, lines: found.append("page" if lines else "table"))
    escape(app)
    assert found == does


@pytest.mark.parametrize(
    ("page", "filtered", "typed", "back"),
    [(False, "", [], False), (True, "", [], True), (False, "x", [], True), (False, "", ["line"], True)],
)
def test_help_filter_and_input_line_can_be_left(page: bool, filtered: str, typed: list[str], back: bool) -> None:
    app: Any = SimpleNamespace(is_page_open=page, view=SimpleNamespace(filter=filtered), typed_in=typed)
    assert can_go_back(app) is back


@pytest.mark.parametrize("page", [True, False])
@pytest.mark.parametrize("over", [True, False])
def test_typed_text_filters_the_help_or_the_table(page: bool, over: bool) -> None:
    done: list[str] = []
    line = SimpleNamespace(display=True)

    def part(name: str) -> Any:
        return SimpleNamespace(
            set_filter=lambda needle: done.append(f"{name}: {needle}"), focus=lambda: done.append(f"to the {name}")
        )

    frame: Any = SimpleNamespace(
        is_page_open=page, frame=SimpleNamespace(page=part("help")), grid=part("table"), view=FleetView("before"),
        query=lambda _: [line], repaint=lambda: done.append("painted"),
    )  # fmt: skip
    set_filter(frame, "prod", done=over)
    name = "help" if page else "table"
    assert done == [f"{name}: prod", *([f"to the {name}"] if over else []), "painted"]
    assert frame.view.filter == ("before" if page else "prod"), "that of the help is not kept"
    assert line.display is not over


def test_a_copied_row_has_every_text_figure() -> None:
    lines = _row_text(FLEET, LIVE).splitlines()
    assert lines[:2] == ["Database: east", "state: ● LIVE"]
    heads = [line.partition(": ")[0] for line in lines]
    assert heads == [
        figure.head for figure in FLEET.columns if figure.key not in {"cpu_past", "queue_past", "used_cpus"}
    ]


def test_databases_are_sorted_by_the_worst_alert_then_by_number() -> None:
    sort = FLEET.column("alerts").sort
    assert sort is not None
    many, bad, few = hurt("many", "warn", 9), hurt("bad", "bad", 1), hurt("few", "warn", 2)
    rows = sorted([LIVE, few, many, bad], key=sort, reverse=True)
    assert [row.name for row in rows] == ["bad", "many", "few", "east"]
    assert sort(LOST) is None, "nothing is known of a lost database: it is last in both orders"
