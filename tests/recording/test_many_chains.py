"""Too many chains of polls: only those that need little memory are read, and a message says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.recording import chain_reader
from presman.recording.reader import Recording
from tests.recording.recorded import polled, record


def test_the_rest_of_too_many_chains_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 2)
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 9)))
    monkeypatch.setattr(chain_reader, "_MOST_CHAINS", 3)
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert len(playback) == 6
        (damage,) = recording.damage_of(playback)
    assert damage.endswith("a.presman has more than 3 chains of polls: the rest is not read")
