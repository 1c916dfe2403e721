"""Golden files of the demo: a change of the simulation or its views must be intended.

A line of a golden file is a view at an instant: the number of rows, and for each column a checksum of its values.
`PRESMAN_UPDATE_GOLDEN=1` writes them again: read which views and columns have changed, and say why in the commit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator.views import VIEWS
from tests.sources.simulator.conftest import Played

GOLDEN = Path(__file__).parent / "golden"
INSTANTS = (3, 100)


def lines(played: Played) -> Iterator[str]:
    for instant in INSTANTS:
        simulation = played.to(instant).source.simulation
        for name, view in sorted(VIEWS.items()):
            rows = list(view.rows(simulation))
            if rows:
                sums = (f"{column}:{summed(values)}" for column, *values in zip(view.columns, *rows, strict=True))
                yield f"{instant} s {name} {len(rows)} rows {' '.join(sums)}\n"


def summed(values: list[Any]) -> str:
    """Return a checksum of four digits, with fractions rounded to seven digits."""
    text = "|".join(f"{value:.6e}" if isinstance(value, float) else str(value) for value in values)
    return f"{crc32(text.encode()) & 0xFFFF:04x}"


@pytest.mark.parametrize("scenario", ["changes", "mixed", "pdb", "quiesce", "rac", "storm", "tenants", "throttled"])
def test_views_are_unchanged(scenario: str, tmp_path: Path) -> None:
    """From a minute before its start on, so that the start of everything is included."""
    text = (FOLDER / f"{scenario}.toml").read_text()
    path = tmp_path / f"{scenario}.toml"
    path.write_text(re.sub(r'^warmup = "\d+m"$', 'warmup = "1m"', text, flags=re.MULTILINE))
    found = "".join(lines(Played(path)))
    golden = GOLDEN / f"{scenario}.txt"
    if os.environ.get("PRESMAN_UPDATE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()
