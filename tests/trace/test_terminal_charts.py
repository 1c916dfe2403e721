"""Charts of traces in a terminal: its full width, two lines left free, each kind once."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from presman.cli import trace_command
from presman.cli.trace_command import MOST_CHARTED, _charts


def test_each_kind_is_drawn_once_for_each_of_the_first_events(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(trace_command.shutil, "get_terminal_size", lambda _: os.terminal_size((90, 40)))
    monkeypatch.setattr(
        trace_command, "scatter_text",
        lambda event, _, width, height, colour: drawn.append((event, width, height, colour)) or event,
    )  # fmt: skip
    monkeypatch.setattr(trace_command, "histogram", lambda tally: tally)
    monkeypatch.setattr(trace_command, "histogram_text", lambda event, _, width: drawn.append((event, width)) or event)
    events = [f"e{number}" for number in range(MOST_CHARTED + 1)]
    survey: Any = SimpleNamespace(
        totals=lambda: [SimpleNamespace(event=event) for event in events],
        trails={event: SimpleNamespace(scatter=lambda: None) for event in events},
        total=SimpleNamespace(tallies=dict.fromkeys(events)),
    )
    assert len(list(_charts(survey, ("scatter", "histogram", "scatter")))) == 2 * MOST_CHARTED
    assert drawn[:2] == [("e0", 90, 38, False), ("e0", 90)]
