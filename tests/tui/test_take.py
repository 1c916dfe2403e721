"""The keys that export and record: their effects and notices, in order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.recording.time_words import spelled_instant
from presman.tabs.choices import Link, LinkState
from presman.tui.keyed_app import NO_DATA
from presman.tui.keys import take_keys
from tests.tui.readings import AT, busy

THEN = spelled_instant(AT)


class App:
    """An app that notes what it is asked to do."""

    def __init__(self, *, latest: Any = None, is_on: bool = False, well: bool = True) -> None:
        self.done: list[Any] = []
        timeline = SimpleNamespace(reading=lambda _: None)
        self.monitor = SimpleNamespace(latest=latest, name="prod", timeline=timeline)
        self.panels = SimpleNamespace(grid="grid", present=SimpleNamespace(measure=lambda grid: f"measure of {grid}"))
        self.recording = SimpleNamespace(toggle=lambda *about: (f"toggled {about[0]} {about[1]}", well))
        self.poll_recording = SimpleNamespace(
            is_on=is_on, path="a.presman", close=lambda: self.done.append("closed"),
            begin=lambda name, kind: self.done.append(("begun", name, kind)),
        )  # fmt: skip

    def notify(self, message: str, **how: Any) -> None:
        self.done.append((message, how))

    def paint_lines(self) -> None:
        self.done.append("lines")

    def read_enough(self) -> None:
        self.done.append("enough")

    def attempt(self, doing: Any) -> Any:
        return doing

    def run_worker(self, work: Any, group: str) -> None:
        work.close()
        self.done.append(group)


READING = SimpleNamespace(kind="oracle")


@pytest.mark.parametrize(("well", "how"), [(True, ("information", 8)), (False, ("error", 10))])
def test_e_starts_and_stops_an_export(well: bool, how: tuple[str, int]) -> None:
    app: Any = App(latest=READING, well=well)
    take_keys.export(app)
    notice = ("toggled prod measure of grid", {"severity": how[0], "timeout": how[1]})
    assert app.done == ["enough", notice, "lines"]
    nothing: Any = App()
    take_keys.export(nothing)
    assert nothing.done == []


def test_a_recording_begins_with_the_charted_polls_and_ends_with_a_hint() -> None:
    app: Any = App(latest=READING)
    take_keys.record(app)
    assert app.done == [("begun", "prod", "oracle"), "lines", "record"]
    ending: Any = App(latest=READING, is_on=True)
    take_keys.record(ending)
    assert ending.done == ["closed", ("Recording ended: presman replay a.presman", {"timeout": 8}), "lines"]
    nothing: Any = App()
    take_keys.record(nothing)
    assert nothing.done == []


def one(**facts: Any) -> Any:
    """An app that watches a database, with a gateway to actions and no page open."""
    given: dict[str, Any] = {
        "served": False, "gateway": "a gateway", "has_data": True, "behind": 0, "page": False, "row": None,
        "state": LinkState.LIVE,
    }  # fmt: skip
    given |= facts
    monitor = SimpleNamespace(
        choices=SimpleNamespace(behind=given["behind"]), link=SimpleNamespace(state=given["state"])
    )
    reader = SimpleNamespace(is_open=given["page"], row=given["row"])
    return SimpleNamespace(
        is_served=given["served"], gateway=given["gateway"], has_data=given["has_data"], monitor=monitor, reader=reader
    )


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({}, ""),
        ({"served": True}, "Actions are not possible in a browser."),
        ({"gateway": None}, "Actions need --allow-actions: presman was started without it."),
        ({"has_data": False}, NO_DATA),
        ({"behind": 1}, "Actions need the newest poll: press End."),
        ({"page": True}, "This page is not about a session or statement: q goes back to the tables."),
        ({"page": True, "row": "a session"}, ""),
        ({"row": None}, ""),
    ],
)
def test_why_actions_are_not_available(facts: dict[str, Any], why: str) -> None:
    assert take_keys.why_not_act(one(**facts)) == why


def test_files_are_written_only_with_data_and_on_the_users_machine() -> None:
    assert take_keys.may_record(one())
    for facts in ({"served": True}, {"has_data": False}, {"state": LinkState.REPLAY}):
        assert not take_keys.may_record(one(**facts)), facts
    assert take_keys.why_not_record(one()) == "There is nothing to record here."
    assert take_keys.why_not_record(one(served=True)) == "A recording would be written where presman runs."
    assert take_keys.why_not_report(one()) == NO_DATA
    assert take_keys.why_not_report(one(served=True)) == "A report would be written where presman runs."


@pytest.mark.parametrize(
    ("replayed", "state", "age", "expected"),
    [
        (None, LinkState.LIVE, 4.0, ""),
        (None, LinkState.LIVE, 4.1, "\nIts data is 0:04 old: check again before you run it."),
        (object(), LinkState.REPLAY, 0.0, f"\nIt comes from a recording, as of {THEN}: check again before you run it."),
        (None, LinkState.SPOOL, 0.0, f"\nIt comes from a spool, as of {THEN}: check again before you run it."),
        (None, LinkState.ENDED, 9.0, f"\nIt comes from a spool, as of {THEN}: check again before you run it."),
    ],
)
def test_a_command_is_copied_with_the_age_of_its_data(
    replayed: object, state: LinkState, age: float, expected: str
) -> None:
    """With a poll every two seconds data may be four seconds old."""
    monitor = SimpleNamespace(
        reading=busy(), clock=lambda: 100.0, link=Link(state, fresh=100.0 - age),
        choices=SimpleNamespace(refresh=2.0),
    )  # fmt: skip
    app: Any = SimpleNamespace(replayed=replayed, monitor=monitor)
    assert take_keys._age_remark(app) == expected


@pytest.mark.parametrize(
    ("text", "served", "expected"),
    [
        ("ALTER SYSTEM KILL SESSION '1,2';", False,
         "Copied, not run: ALTER SYSTEM KILL SESSION '1,2';\n(also in /home/copied.txt)\nIt is a KILL command: "
         "it ends a session when you run it.\nIt affects RPT."),
        ("ALTER SYSTEM SET x = 1;", True,
         "Copied, not run: ALTER SYSTEM SET x = 1;\n(to the browser's clipboard)\nIt affects RPT."),
    ],
)  # fmt: skip
def test_the_notice_of_a_copied_command(
    text: str, served: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_keys, "_age_remark", lambda _: "")
    monkeypatch.setattr(take_keys.private_files, "keep_file", lambda name, _: f"/home/{name}")
    notices: list[str] = []
    copied: list[str] = []
    app: Any = SimpleNamespace(
        is_served=served, copy_to_clipboard=copied.append, notify=lambda text, timeout: notices.append(text)
    )
    take_keys._take_command(app, text, "It affects RPT.")
    assert (notices, copied) == ([expected], [text])


def test_a_text_is_copied_even_if_no_file_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(take_keys.private_files, "keep_file", full)
    notices: list[str] = []
    app: Any = SimpleNamespace(is_served=False, copy_to_clipboard=lambda _: None, notify=notices.append)
    take_keys.copy_text(app, "Group: BATCH\nState: queued")
    take_keys.copy_text(app, "")
    assert notices == [
        "Copied: Group: BATCH …, 26 characters, not kept in a file: No space left on device",
        "There is no row here to copy.",
    ]  # fmt: skip
