"""State files: copied text for terminals that do not take it, and the log of a crash."""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from presman.base.private_files import open_private, state_folder


def keep(name: str, text: str) -> Path:
    """Write a file that only the user can read, and return its path. Raises OSError."""
    path = state_folder() / name
    with os.fdopen(open_private(path, os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def keep_crash(error: BaseException) -> Path | None:
    """Write where an error came from, without the values of variables; None if that fails too."""
    told = "".join(traceback.format_exception(error))
    try:
        return keep("crash.log", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n{told}")
    except OSError:
        return None
