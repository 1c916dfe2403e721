"""The message in place of the body, the colours of a map, whether a shell could resume presman."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.figures.drawing.lines import plain
from presman.tabs.choices import Link, LinkState
from presman.tui import driver
from presman.tui.driver import TerminalDriver
from presman.tui.monitor_screen import MonitorScreen
from presman.tui.widgets.heatmap import HeatMap


def message(link: Link, *, reading: object = None, width: int = 80) -> list[str]:
    screen: Any = SimpleNamespace(app=SimpleNamespace(size=SimpleNamespace(width=width, height=24)))
    monitor: Any = SimpleNamespace(reading=reading, link=link)
    return [plain(line) for line in MonitorScreen._message_of(screen, monitor, "quits")]


def test_a_database_never_reached_has_a_reason_and_advice() -> None:
    lost = Link(LinkState.LOST, "ORA-12541: no listener", retry_at=9.0)
    assert message(lost) == ["", "  ✕ No data", "  ORA-12541: no listener", "  Press F5 to try again now. q quits."]
    refused = Link(LinkState.LOST, "ORA-01017")
    assert message(refused)[3:] == ["  presman does not retry by itself: press F5. q quits."]
    typed = Link(LinkState.LOST, "ORA-01017", wants_password=True)
    assert message(typed)[3].startswith("  For another password start presman again. F5 tries this one again;")
    in_file = Link(LinkState.LOST, "ORA-01017", retry_at=9.0, wants_password=True)
    assert message(in_file)[3].startswith("  Correct the password in config.ini: presman reads it again.")
    assert message(lost, reading=object()) == [], "the last reading stays on the screen"
    assert message(Link(LinkState.CONNECTING)) == []
    assert max(map(len, message(Link(LinkState.LOST, "word " * 40), width=60))) <= 60


@pytest.mark.parametrize(
    ("no_color", "ansi", "system", "mode"),
    [(True, False, "truecolor", "mono"), (False, True, "truecolor", "16"), (False, False, "truecolor", "truecolor"),
     (False, False, "256", "256"), (False, False, "standard", "16"), (False, False, None, "16")],
)  # fmt: skip
def test_a_map_has_as_many_colours_as_the_terminal(no_color: bool, ansi: bool, system: str | None, mode: str) -> None:
    app = SimpleNamespace(
        no_color=no_color, current_theme=SimpleNamespace(ansi=ansi), console=SimpleNamespace(color_system=system)
    )
    assert HeatMap._mode(SimpleNamespace(app=app)) == mode  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "group", "session", "above", "stops"),
    [
        (50, 50, 10, 10, True),  # a job of the shell
        (50, 40, 10, 10, True),  # begun by a script that is one
        (50, 50, 50, 10, False),  # it leads the session
        (50, 10, 10, 10, False),
        (50, 50, 10, 11, False),  # a user outside of the session began it
    ],
)
def test_presman_stops_only_under_a_shell(
    own: int, group: int, session: int, above: int, stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sessions = {0: session, 7: above}
    fakes = {
        "getpid": lambda: own, "getpgrp": lambda: group, "getppid": lambda: 7, "getsid": sessions.__getitem__,
        "killpg": lambda group, _: done.append(f"group {group}"), "kill": lambda pid, _: done.append(f"process {pid}"),
    }  # fmt: skip
    monkeypatch.setattr(driver, "os", SimpleNamespace(**fakes))
    terminal: Any = SimpleNamespace(suspend_application_mode=lambda: done.append("put back"))
    assert TerminalDriver.go_to_shell(terminal) is stops
    assert done == (["put back", "group 0", "process 50"] if stops else [])
