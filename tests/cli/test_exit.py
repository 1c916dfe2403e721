"""Exit of the process: no memory is collected, because the system takes it back anyway."""

from __future__ import annotations

import gc

import pytest

from presman.cli import main


def test_the_process_ends_without_garbage_collection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a recording of 600,000 blocks, collection took most of the time between a signal and the end."""
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    monkeypatch.setattr("sys.argv", ["presman", "--version"])
    assert main(["--version"]) == 0
    assert frozen == []
    assert main() == 0
    assert frozen == [True]
