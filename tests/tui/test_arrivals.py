"""What is painted when a reading arrives: all of it, the lines alone while the view is frozen, or a first look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.tui.frame_app import FrameApp


def arrived(
    *, whole: bool = True, frozen: bool = False, cost: float | None = 0.1, problem: str = "", news: bool = False
) -> list[str]:
    done: list[str] = []

    def note(name: str) -> Any:
        return lambda *_, **__: done.append(name)

    monitor = SimpleNamespace(
        cost=cost, is_frozen=frozen, link=None, foresight=None, preview=note("preview"), arrive=note("arrive")
    )
    app: Any = SimpleNamespace(
        monitor=monitor, repaint=note("all"), paint_lines=note("lines"), following=None, bell=note("bell"),
        moments=SimpleNamespace(arrive=note("moments")), news=SimpleNamespace(is_any=lambda *_: news),
        poll_recording=SimpleNamespace(write=note("kept")), recording=SimpleNamespace(write=lambda _: problem),
        read_enough=note("enough"), notify=note("told"), set_timer=note("timer"), bind_tab_keys=None, settle=None,
        panels=SimpleNamespace(mount_ahead=None, forget_unseen=None),
        set_interval=note("each"),
    )  # fmt: skip
    event: Any = SimpleNamespace(whole=whole, reading=None, snapshot=None, age=0.0, foresight=None)
    FrameApp.on_arrived(app, event)
    return done


@pytest.mark.parametrize(
    ("how", "done"),
    [
        ({}, ["arrive", "moments", "all", "kept"]),
        ({"frozen": True}, ["arrive", "moments", "lines", "kept"]),
        ({"whole": False}, ["preview", "all"]),
        ({"cost": None}, ["arrive", "moments", "all", "kept", "timer", "timer", "timer", "each"]),
        ({"problem": "full"}, ["arrive", "moments", "all", "kept", "enough", "lines", "told", "bell"]),
        ({"news": True}, ["arrive", "moments", "all", "bell", "kept"]),
    ],
)
def test_what_is_done_with_a_reading(how: dict[str, Any], done: list[str]) -> None:
    assert arrived(**how) == done
