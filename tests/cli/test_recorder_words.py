"""Messages of a recorder: held back at first, then line by line, and one line about all databases."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from presman.base.log_event import LogEvent
from presman.cli import exit_codes, record_command
from presman.cli.exit_codes import Terminated
from presman.cli.record_command import HeldMessages, ProgressLine, _code, _record


def event(text: str) -> LogEvent:
    return LogEvent("x", text)


def database(
    written: int = 0,
    *,
    trouble: str = "",
    refused: str = "",
    waiting: int = 0,
    name: str = "prod",
    given_up: int = 0,
) -> Any:
    return SimpleNamespace(
        target=SimpleNamespace(name=name), written=written, waiting=waiting, refused=refused, given_up=given_up,
        reachability=SimpleNamespace(trouble=trouble), polled_at=written or None, fault=None,
    )  # fmt: skip


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found = [100.0]
    monkeypatch.setattr(record_command.time, "monotonic", lambda: found[0])
    return found


@pytest.mark.parametrize(
    ("databases", "seconds", "printed"),
    [
        ([database()], 5.0, False),
        ([database()], 5.1, True),
        ([database(), database(1)], 0.0, True),
        ([database(trouble="no route")], 0.0, True),  # it will try again
        ([database(trouble="no", refused="no")], 0.0, False),
    ],
)
def test_first_messages_wait_for_a_write_or_a_retry(
    databases: list[Any], seconds: float, printed: bool, now: list[float]
) -> None:
    messages: list[str] = []
    beginning = HeldMessages(lambda each: messages.append(each.message))
    beginning.started = event("started")
    beginning.report(event("one"))
    now[0] += seconds
    beginning.update(SimpleNamespace(databases=databases))  # type: ignore[arg-type]
    assert messages == (["started", "one"] if printed else [])
    beginning.end()
    beginning.end()
    beginning.report(event("two"))
    assert messages == ["started", "one", "two"]


def test_without_a_first_line_only_held_messages_are_printed(now: list[float]) -> None:
    messages: list[str] = []
    beginning = HeldMessages(lambda each: messages.append(each.message))
    beginning.report(event("one"))
    beginning.end()
    assert messages == ["one"]


@pytest.mark.parametrize(("waiting", "given_up"), [(0, 0), (1, 0), (0, 1)])
def test_a_signal_ends_with_its_code_unless_polls_were_lost(
    waiting: int, given_up: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_command, "reporting", lambda *_: nullcontext())

    def run(*_: Any) -> bool:
        raise Terminated

    one = database(1, waiting=waiting, given_up=given_up)
    recorder: Any = SimpleNamespace(databases=[one], run=run, location=SimpleNamespace(name="x"))
    beginning = HeldMessages(lambda _: None)
    if waiting or given_up:
        is_over = _record(recorder, None, beginning, ProgressLine())
        assert _code(recorder, beginning, is_over=is_over) == exit_codes.OUTPUT
    else:
        with pytest.raises(Terminated):
            _record(recorder, None, beginning, ProgressLine())


class Terminal:
    """A terminal as standard error, which keeps its output."""

    def __init__(self, *, there: bool = True) -> None:
        self.there, self.text = there, ""

    def isatty(self) -> bool:
        return self.there

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def shown(monkeypatch: pytest.MonkeyPatch, *databases: Any, wide: int | None = None, there: bool = True) -> str:
    screen = Terminal(there=there)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(record_command.console, "width", lambda: wide)
    line = ProgressLine(may_show=there)
    line._begun -= 90.0
    line.show(SimpleNamespace(databases=databases))  # type: ignore[arg-type]
    return screen.text


def test_one_line_covers_all_databases(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    several = database(1, waiting=1), database(1200, waiting=2, trouble="x", name="b")
    assert shown(monkeypatch, *several) == "2 min   prod: 1 poll   b: 1,200 polls, 2 waiting, lost"
    never = database(0, trouble="x")
    assert shown(monkeypatch, never) == "2 min   prod: 0 polls, not connected", "it cannot be lost"
    assert shown(monkeypatch, *several, wide=30) == "2 min   prod: 1 poll   b: 1,2"
    assert shown(monkeypatch, *several, wide=9) == "2 min   prod: 1 poll"
    assert len(shown(monkeypatch, *[database(1)] * 30)) == 79
    assert shown(monkeypatch, *several, there=False) == ""


def test_the_line_is_removed_before_other_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, messages = Terminal(), list[str]()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(record_command.console, "report", lambda each: messages.append(f"{screen.text}|{each.message}"))
    line = ProgressLine()
    line.report(event("first"))
    assert messages == ["|first"]
    line.show(SimpleNamespace(databases=[]))  # type: ignore[arg-type]
    screen.text = ""
    line.report(event("second"))
    line.report(event("third"))
    assert messages[1:] == ["\r\x1b[K|second", "\r\x1b[K|third"]
    monkeypatch.setattr(sys, "stderr", None)
    ProgressLine().show(SimpleNamespace(databases=[]))  # type: ignore[arg-type]
