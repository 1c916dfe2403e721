"""Console of a command: its width, and whether screens can run."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from presman.actions.gateway import Gateway
from presman.cli import console
from presman.cli.start import acting


@pytest.mark.parametrize(
    ("columns", "terminal", "wide"),
    [("72", 100, 72), ("0", 100, 100), ("x", 100, 100), ("", 100, 100), ("", 0, None), ("", None, None)],
)
def test_text_has_the_width_of_columns_or_of_the_terminal(
    columns: str, terminal: int | None, wide: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def size(_: int) -> os.terminal_size:
        if terminal is None:
            raise OSError("no terminal")
        return os.terminal_size((terminal, 24))

    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", size)
    monkeypatch.setattr("sys.stdout", SimpleNamespace(fileno=lambda: 1))
    assert console.width() == wide


@pytest.mark.parametrize(
    ("there", "term", "can", "why"),
    [
        ((True, True, True), "xterm", True, "no terminal"),
        ((True, True, True), "dumb", False, "no terminal"),
        ((False, True, True), "xterm", False, "standard input is not a terminal"),
        ((True, False, True), "xterm", False, "standard output is not a terminal"),
        ((True, None, True), "xterm", False, "standard output is not a terminal"),
        ((True, True, False), "xterm", True, "no terminal"),
        ((True, True, None), "xterm", True, "no terminal"),
        ((False, False, True), "xterm", False, "no terminal"),
    ],
)
def test_a_screen_takes_input_and_output_that_are_terminals(
    there: tuple[bool | None, ...], term: str, can: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, is_there in zip(("stdin", "stdout", "stderr"), there, strict=True):
        stream = None if is_there is None else SimpleNamespace(isatty=lambda is_there=is_there: is_there)
        monkeypatch.setattr(f"sys.{name}", stream)
    monkeypatch.setenv("TERM", term)
    assert (console.is_terminal(), console.why_no_screen()) == (can, why)


def test_acting_gives_a_gateway() -> None:
    assert isinstance(acting(), Gateway)
