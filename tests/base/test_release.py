"""Oracle releases: which are supported, how they are read and written, and their order."""

from __future__ import annotations

import pytest

from presman.base.release import SUPPORTED, Release


def test_the_releases_that_every_query_is_proven_for() -> None:
    assert " ".join(map(str, SUPPORTED)) == "11.2 12.1 12.2 18 19 21 23 23.26"
    assert list(SUPPORTED) == sorted(SUPPORTED)


@pytest.mark.parametrize(
    ("text", "release"),
    [("19", (19, 0)), ("12.2.0.1.0", (12, 2)), ("23.26.1.0.0", (23, 26)), ("26ai", (23, 26)), ("26.0", (26, 0))],
)
def test_a_release_is_read_from_its_first_two_numbers(text: str, release: tuple[int, int]) -> None:
    assert Release.parse(text) == Release(*release)


def test_text_without_a_number_is_no_release() -> None:
    with pytest.raises(ValueError, match="not an Oracle release: 'ten'"):
        Release.parse("ten")


def test_a_release_without_a_minor_number_is_written_so_from_18_on() -> None:
    assert [str(Release(*each)) for each in ((11, 0), (17, 0), (18, 0), (18, 3))] == ["11.0", "17.0", "18", "18.3"]
