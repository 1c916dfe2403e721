"""A handful of what `make torture` does for minutes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from presman.base.release import Release
from tests.oracle.bench import RELEASES
from tests.recording.taped import polled, record
from tests.thorough import some
from tests.torture.bombs import KINDS, MOST_MEGABYTES, make_bomb, read_apart
from tests.torture.cutter import How
from tests.torture.fuzz import fuzz
from tests.torture.torture import torture

CUTS = 3
SESSIONS = 6
BOMBS = 2


@pytest.mark.parametrize(("release", "client"), [(Release(12, 1), "export"), (Release(23), "tui")], ids=str)
def test_a_few_cuts(release: Release, client: str, tmp_path: Path) -> None:
    report = torture(release, client, CUTS, 2, tmp_path, lambda _text: None)
    assert report.cuts.total() == CUTS
    assert set(report.cuts) == set(How)
    assert report.logins > CUTS


EACH = [(release, heads) for release in RELEASES for heads in (True, False)]
"""Bytes are changed in the heads of packets, or behind them."""


@pytest.mark.parametrize(
    ("release", "heads"), some([(Release(23), True)], [each for each in EACH if each != (Release(23), True)])
)
def test_answers_that_make_no_sense(release: Release, heads: bool) -> None:
    found = fuzz(release, SESSIONS, 1, heads=heads)
    assert found.ended.total() == SESSIONS
    assert len(found.ended) > 1
    assert found.mebibytes < 500
    assert found.slowest < 30, "seconds: none hangs"


def test_a_few_bombs_of_each_kind(tmp_path: Path) -> None:
    record(tmp_path / "whole.presman", list(polled("quiet", 3)))
    whole, rng = (tmp_path / "whole.presman").read_bytes(), random.Random(3)
    paths = [tmp_path / f"{kind}-{number}.presman" for kind in KINDS for number in range(BOMBS)]
    for path in paths:
        make_bomb(path, whole, path.name.partition("-")[0], rng)
    outcomes, megabytes = read_apart(paths)
    assert outcomes.total() == BOMBS * len(KINDS)
    assert outcomes["told, the rest read"] >= 3 * BOMBS, "those of zstd and of counts at least"
    assert megabytes < MOST_MEGABYTES
