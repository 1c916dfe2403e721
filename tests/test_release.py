"""Releases as they are written."""

from __future__ import annotations

import pytest

from presman.base.release import Release


@pytest.mark.parametrize(
    ("release", "text"),
    [
        (Release(11, 2), "11.2"),
        (Release(12), "12.0"),
        (Release(17), "17.0"),
        (Release(18), "18"),
        (Release(19, 22), "19.22"),
        (Release(23, 26), "23.26"),
    ],
)
def test_from_18_on_a_release_is_one_number_unless_it_has_an_update(release: Release, text: str) -> None:
    assert str(release) == text
    assert Release.parse(text) == release
