"""State files: copied text for terminals that do not take it, and the log of a crash."""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path


def state_folder() -> Path:
    """Return presman's folder for what it keeps between runs ($XDG_STATE_HOME/presman)."""
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home.startswith("/") else Path.home() / ".local" / "state") / "presman"


def keep(name: str, text: str) -> Path:
    """Write a file that only the user can read, and return its path. Raises OSError."""
    folder = state_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / name
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def keep_crash(error: BaseException) -> Path | None:
    """Write where an error came from, without the values of variables; None if that fails too."""
    told = "".join(traceback.format_exception(error))
    try:
        return keep("crash.log", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n{told}")
    except OSError:
        return None
