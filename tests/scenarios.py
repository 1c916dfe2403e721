"""Scenarios of the demo with a short history, because simulating the hour before the start takes most of a test."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from presman.sources.simulator.loading import FOLDER
from tests.thorough import THOROUGH, some

_KINDS = ("locked", "lost", "mixed", "pdb", "queueing", "quiesce", "rac", "storm", "throttled", "unclear_rac")
KINDS = some(_KINDS, sorted({path.stem for path in FOLDER.glob("*.toml")} - {*_KINDS}))
"""One scenario of each kind; in a thorough run all."""

NOT_SO = frozenset({"unclear", "unclear_rac"})
"""Scenarios whose views show for some seconds what is not so: then the simulation does not tell what is to be shown."""

_folder = TemporaryDirectory(prefix="presman-scenarios-")


@cache
def with_short_past(scenario: str) -> str:
    """Return a file with the scenario and ten minutes before its start; in a thorough run the scenario unchanged."""
    return scenario if THOROUGH else str(_written(Path(_folder.name), scenario, ""))


def without(folder: Path, scenario: str, *views: str, at: float = 0, lasts: float = 36000) -> str:
    """Return a file with the scenario, a short past and an outage: of the named views, or of all if none is named."""
    named = f"views = {json.dumps(views)}\n" if views else ""
    return str(_written(folder, scenario, f"\n[[outages]]\nat = {at}\nlasts = {lasts}\n{named}"))


def _written(folder: Path, scenario: str, more: str) -> Path:
    text = (FOLDER / f"{scenario}.toml").read_text(encoding="utf-8")
    path = folder / f"{scenario}.toml"
    short = re.sub(r'^warmup = "\d+m"$', 'warmup = "10m"', text, flags=re.MULTILINE)
    path.write_text(short + more, encoding="utf-8")
    return path
