"""What the keys that export and record do and say, in their order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.tui.keys import take_keys


class App:
    """An app of which is known what was asked of it."""

    def __init__(self, *, latest: Any = None, is_on: bool = False, well: bool = True) -> None:
        self.done: list[Any] = []
        self.monitor = SimpleNamespace(latest=latest, name="prod")
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

    def run_worker(self, work: Any, group: str) -> None:
        work.close()
        self.done.append(group)


READING = SimpleNamespace(kind="oracle")


@pytest.mark.parametrize(("well", "how"), [(True, ("information", 8)), (False, ("error", 10))])
def test_a_measure_is_exported_from_now_on_or_no_more(well: bool, how: tuple[str, int]) -> None:
    app: Any = App(latest=READING, well=well)
    take_keys.export(app)
    said = ("toggled prod measure of grid", {"severity": how[0], "timeout": how[1]})
    assert app.done == ["enough", said, "lines"]
    nothing: Any = App()
    take_keys.export(nothing)
    assert nothing.done == []


def test_a_recording_begins_with_what_the_charts_show_and_says_how_it_is_looked_at_when_it_ends() -> None:
    app: Any = App(latest=READING)
    take_keys.record(app)
    assert app.done == [("begun", "prod", "oracle"), "lines", "record"]
    ending: Any = App(latest=READING, is_on=True)
    take_keys.record(ending)
    assert ending.done == ["closed", ("Recording ended: presman replay a.presman", {"timeout": 8}), "lines"]
    nothing: Any = App()
    take_keys.record(nothing)
    assert nothing.done == []
