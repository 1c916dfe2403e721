"""Tests do not touch the state and configuration of the user who runs them."""

from __future__ import annotations

from pathlib import Path

from presman.actions.gateway import default_log
from presman.base import terminal_guard
from presman.base.private_files import state_folder
from presman.config.config_file import locations


def test_nothing_is_kept_or_looked_for_at_home() -> None:
    home = Path.home()
    for path in (state_folder(), default_log(), terminal_guard.log_path(), locations()[1]):
        assert path.is_absolute()
        assert not path.is_relative_to(home / ".local")
        assert not path.is_relative_to(home / ".config")
