"""The scenarios of the demo with a short history: the hour before the start takes most of a test's time."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from presman.sources.simulator.loading import FOLDER
from tests.thorough import THOROUGH

_folder = TemporaryDirectory(prefix="presman-scenarios-")


@cache
def with_short_past(scenario: str) -> str:
    """Return the scenario with ten minutes before its start, as a file; as it is if the tests are to be thorough."""
    return scenario if THOROUGH else str(_written(Path(_folder.name), scenario, ""))


def without(folder: Path, scenario: str, *views: str, at: float = 0, lasts: float = 36000) -> str:
    """Return the scenario with a short past in which some views do not answer, all if none is named, as a file."""
    named = f"views = {json.dumps(views)}\n" if views else ""
    return str(_written(folder, scenario, f"\n[[outages]]\nat = {at}\nlasts = {lasts}\n{named}"))


def _written(folder: Path, scenario: str, more: str) -> Path:
    text = (FOLDER / f"{scenario}.toml").read_text(encoding="utf-8")
    path = folder / f"{scenario}.toml"
    short = re.sub(r'^warmup = "\d+m"$', 'warmup = "10m"', text, flags=re.MULTILINE)
    path.write_text(short + more, encoding="utf-8")
    return path
