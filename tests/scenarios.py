"""The scenarios of the demo with a short past: most of the time that a test of theirs takes is the hour before."""

from __future__ import annotations

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
    if THOROUGH:
        return scenario
    text = (FOLDER / f"{scenario}.toml").read_text(encoding="utf-8")
    path = Path(_folder.name) / f"{scenario}.toml"
    path.write_text(re.sub(r'^warmup = "\d+m"$', 'warmup = "10m"', text, flags=re.MULTILINE), encoding="utf-8")
    return str(path)
