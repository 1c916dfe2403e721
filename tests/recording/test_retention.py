"""Retention in a folder: whole days are removed, the oldest first, never the newest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from presman.recording.retention import NO_LIMITS, RecordingLocation, RetentionLimits, how_many, trim
from presman.recording.store_errors import RecordingError
from tests.recording.recorded import polled, record

NOW = datetime(2026, 3, 13, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def days(folder: Path) -> RecordingLocation:
    """Return four days of 100, 200, 300 and 400 bytes: the tenth to the thirteenth of March."""
    for number in range(4):
        (folder / f"presman-2026-03-{10 + number}.presman").write_bytes(b"x" * 100 * (number + 1))
    return RecordingLocation(f"{folder}/")


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (NO_LIMITS, [10, 11, 12, 13]),
        (RetentionLimits(age=3 * DAY), [10, 11, 12, 13]),  # the tenth has polls of the afternoon, which are not too old
        (RetentionLimits(age=2 * DAY), [11, 12, 13]),
        (RetentionLimits(age=DAY / 2), [13]),
        (RetentionLimits(age=-9 * DAY), [13]),  # the newest stays, whatever its age
        (RetentionLimits(size=1000), [10, 11, 12, 13]),  # 100 + 200 + 300 + 400
        (RetentionLimits(size=999), [11, 12, 13]),
        (RetentionLimits(size=700), [12, 13]),  # 300 + 400
        (RetentionLimits(size=1), [13]),
        (
            RetentionLimits(age=2 * DAY, size=900),
            [11, 12, 13],
        ),  # 200 + 300 + 400: the day that is too old is not counted twice
        (RetentionLimits(age=2 * DAY, size=800), [12, 13]),
    ],
    ids=str,
)
def test_only_days_over_the_limits_are_removed(tmp_path: Path, limits: RetentionLimits, left: list[int]) -> None:
    location = days(tmp_path)
    assert trim(location, limits, NOW) == 4 - len(left)
    assert [int(path.stem[-2:]) for path in location.days()] == left


@pytest.mark.parametrize(
    ("chains", "over", "is_file", "many"),
    [
        (10, 0.35, False, 3),
        (10, 0.01, False, 1),
        (10, 1.0, False, 9),
        (1, 1.0, False, 0),
        (0, 1.0, False, 0),
        (10, 0.01, True, 1),  # five went: a short recording lost all but its newest chain
        (100, 0.5, True, 5),
        (3, 0.9, True, 2),
        (1, 0.9, True, 0),
    ],
)
def test_the_excess_is_removed_but_never_the_newest_chain(chains: int, over: float, is_file: bool, many: int) -> None:
    assert how_many(chains, over, is_file=is_file) == many


def test_only_a_removed_day_is_closed(tmp_path: Path) -> None:
    location = RecordingLocation(f"{tmp_path}/")
    stores = [location.store(NOW - number * DAY) for number in (5, 1, 0)]
    assert trim(location, RetentionLimits(age=2 * DAY), NOW) == 1
    assert location.stores() == stores[1:]
    location.close()


def test_a_day_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    location = days(tmp_path)
    (tmp_path / "presman-2026-03-01.presman").mkdir()
    with pytest.raises(RecordingError, match=r"^.+: \w+"):
        trim(location, RetentionLimits(age=2 * DAY), NOW)
    assert len(location.days()) == 5


def test_removing_a_chain_removes_everything_up_to_its_end(tmp_path: Path) -> None:
    """Events at the instant of its last poll are removed, those a microsecond later stay."""
    place = tmp_path / "a.presman"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("presman.recording.writer.CHAIN", 4)
        moments = list(polled("quiet", 12))
        record(place, moments)
    end = round(moments[3][0].at.timestamp() * 1_000_000)
    with closing(sqlite3.connect(place)) as file, file:
        file.execute("DELETE FROM events")
        file.executemany(
            "INSERT INTO events VALUES (1, ?, ?, 'x', '', '', '')",
            [(number, end + number - 2) for number in (1, 2, 3)],
        )
    location = RecordingLocation(str(place))
    location.store(NOW)
    last = moments[-1][0].at
    assert trim(location, RetentionLimits(age=last - moments[4][0].at), last) == 4
    location.close()
    with closing(sqlite3.connect(place)) as file:
        assert file.execute("SELECT at - ? FROM events", (end,)).fetchall() == [(1,)]
