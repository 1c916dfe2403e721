"""`presman bundle` of a recording: the period, the messages, and when nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presman.cli import exit_codes
from tests.cli.run import Run
from tests.recording.recorded import polled, record


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A recording of fifteen polls, five seconds apart."""
    place = tmp_path_factory.mktemp("bundle") / "a.presman"
    record(place, list(polled("queueing", 15)))
    return place


@pytest.mark.parametrize(
    ("more", "polls"),
    [
        ((), 15),
        (("--minutes", "1"), 13),  # those of 0, 5, ... 60 seconds before the last
        (("--from", "first", "--minutes", "1"), 15),
        (("--from=-20s",), 5),
    ],
)
def test_the_last_minutes_or_the_chosen_window_are_copied(
    recording: Path, more: tuple[str, ...], polls: int, tmp_path: Path, inside: Run
) -> None:
    path = tmp_path / "b.presman"
    done = inside("bundle", str(recording), "-o", str(path), *more)
    message = f"{polls} poll{'s' * (polls > 1)} in {path}: it has no SQL text, bind, user, machine or program\n"
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(message)
    assert path.exists()


def test_an_existing_file_is_not_overwritten(recording: Path, tmp_path: Path, inside: Run) -> None:
    path = tmp_path / "b.presman"
    path.write_text("mine")
    done = inside("bundle", str(recording), "-o", str(path))
    assert done.returncode == exit_codes.OUTPUT
    assert "exists: choose another name with -o" in done.stderr
    assert path.read_text() == "mine"


def test_a_bundle_without_a_name_is_named_after_its_time(recording: Path, tmp_path: Path, inside: Run) -> None:
    done = inside("bundle", str(recording), "--minutes", "0.01")
    assert done.returncode == 0
    assert "1 poll in presman-bundle-" in done.stderr
    assert len(list(tmp_path.glob("presman-bundle-*.presman"))) == 1
