"""Painting after a reading arrives: all of it, only the lines while the view is frozen, or a preview."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.tabs.choices import Link, LinkState
from presman.tui.frame_app import FrameApp
from tests.tui.readings import busy, queued


def arrived(
    *,
    whole: bool = True,
    frozen: bool = False,
    cost: float | None = 0.1,
    problem: str = "",
    news: bool = False,
    acts: bool = False,
    extra: bool = False,
    first: bool = False,
    lost: bool = False,
) -> list[str]:
    done: list[str] = []

    def note(name: str) -> Any:
        return lambda *_, **__: done.append(name)

    gateway = SimpleNamespace(arrive=note("asked")) if acts else None

    def arrive(*_: object, is_extra: bool) -> bool:
        done.append("arrive")
        return not is_extra or first

    link = Link(LinkState.LOST if lost else LinkState.LIVE)
    monitor = SimpleNamespace(
        cost=cost, is_frozen=frozen, link=link, forecast_basis=None, preview=note("preview"), arrive=arrive
    )
    changes = [SimpleNamespace(change="ended"), *([SimpleNamespace(change="began")] if news else [])]
    app: Any = SimpleNamespace(
        monitor=monitor, repaint=note("all"), paint_lines=note("lines"), following=None, bell=note("bell"),
        moments=SimpleNamespace(arrive=note("moments")), news=SimpleNamespace(of=lambda *_: changes),
        poll_recording=SimpleNamespace(write=note("kept")), recording=SimpleNamespace(write=lambda _: problem),
        read_enough=note("enough"), notify=note("notice"), set_timer=note("timer"), bind_tab_keys=None, settle=None,
        panels=SimpleNamespace(mount_ahead=None, forget_hidden=None),
        set_interval=note("each"), gateway=gateway,
    )  # fmt: skip
    event: Any = SimpleNamespace(
        whole=whole, reading=SimpleNamespace(alerts=()), snapshot=None, age=0.0, forecast_basis=None, is_extra=extra
    )
    FrameApp.on_arrived(app, event)
    return done


@pytest.mark.parametrize(
    ("how", "done"),
    [
        ({}, ["arrive", "moments", "all", "kept"]),
        ({"frozen": True}, ["arrive", "moments", "lines", "kept"]),
        ({"frozen": True, "lost": True}, ["arrive", "moments", "all", "kept"]),
        ({"whole": False}, ["preview", "all"]),
        ({"cost": None}, ["arrive", "moments", "all", "kept", "timer", "timer", "timer", "each"]),
        ({"problem": "full"}, ["arrive", "moments", "all", "kept", "enough", "lines", "notice", "bell"]),
        ({"news": True}, ["arrive", "moments", "all", "bell", "kept"]),
        ({"acts": True}, ["arrive", "moments", "all", "asked", "kept"]),
        ({"extra": True}, ["arrive", "all"]),
        ({"extra": True, "frozen": True}, ["arrive", "lines"]),
        ({"extra": True, "first": True}, ["arrive", "moments", "all", "kept"]),
    ],
)
def test_each_effect_of_a_new_reading(how: dict[str, Any], done: list[str]) -> None:
    assert arrived(**how) == done


class Followed:
    """A followed statement: `news` is its notice, `row` is None once it has ended."""

    def __init__(self, news: str, row: object, grid: object = None) -> None:
        self.row, self._news, self._grid = row, news, grid

    def take(self, _reading: object) -> str:
        return self._news

    def select(self, grids: object) -> object:
        assert grids == ["its tables"]
        return self._grid


@pytest.mark.parametrize(
    ("news", "is_over", "frozen", "page", "done"),
    [
        ("", False, False, False, ["selected"]),
        ("it has started", False, False, False, ["it has started", "bell", "selected", "focus"]),
        ("it is over", True, False, False, ["it is over", "bell", "followed no more"]),
        ("it has started", False, True, False, ["it has started", "bell"]),
        ("it has started", False, False, True, ["it has started", "bell"]),
    ],
)
def test_each_effect_on_a_followed_statement(
    news: str, is_over: bool, frozen: bool, page: bool, done: list[str]
) -> None:
    """The cursor does not move while the view is back in time or a page is open."""
    found: list[str] = []

    class Tables:
        def grids(self) -> list[str]:
            found.append("selected")
            return ["its tables"]

    app: Any = SimpleNamespace(
        notify=lambda text, **_: found.append(text), bell=lambda: found.append("bell"), following="somebody",
        monitor=SimpleNamespace(is_frozen=frozen), reader=SimpleNamespace(is_open=page),
        panels=SimpleNamespace(present=Tables()),
    )  # fmt: skip
    grid = SimpleNamespace(focus=lambda: found.append("focus"))
    followed: Any = Followed(news, None if is_over else queued(), grid)
    FrameApp._follow(app, followed, busy())
    if app.following is None:
        found.append("followed no more")
    assert found == done


@pytest.mark.parametrize(
    ("done", "tried", "severity", "noted"),
    [(True, True, "information", []), (False, True, "error", []), (False, False, "error", ["ended"])],
)
def test_the_outcome_of_a_command_is_shown_and_an_untried_one_is_logged(
    done: bool, tried: bool, severity: str, noted: list[str]
) -> None:
    notices: list[object] = []
    notes: list[str] = []
    app: Any = SimpleNamespace(
        gateway=SimpleNamespace(note=lambda _name, _command, text: notes.append(text)),
        monitor=SimpleNamespace(name="DWPROD"),
        notify=lambda text, severity, timeout: notices.append((text, severity)),
    )
    command = SimpleNamespace(kind=SimpleNamespace(value="end the session"), text="ALTER SYSTEM KILL")
    event: Any = SimpleNamespace(command=command, done=done, tried=tried, text="ended")
    FrameApp.on_acted(app, event)
    assert notices == [("end the session: ended\nALTER SYSTEM KILL", severity)]
    assert notes == noted
    app.gateway = None
    FrameApp.on_acted(app, event)
    assert (len(notices), notes) == (2, noted)
