"""Runs of presman as a process of its own, which does not read the checkout's config.ini."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
QUEUEING = f"spool:{DATA / 'queueing_12102'}"

Run = Callable[..., subprocess.CompletedProcess[str]]
"""A function that runs presman in this process."""


def environment(**more: str) -> dict[str, str]:
    """A plain environment: no configuration, no colours, UTF-8."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRESMAN", "LC_", "TNS"))}
    kept |= {"XDG_CONFIG_HOME": "/nonexistent", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    for name in ("COLUMNS", "LINES", "PYTHONDONTWRITEBYTECODE"):
        kept.pop(name, None)
    return kept | more


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "presman", *arguments]


def presman(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, stdout: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run presman to its end and return its output; a traceback fails the test."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(**(env or {})),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
    )
    assert "Traceback" not in (done.stdout or "") + done.stderr
    return done
