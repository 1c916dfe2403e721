"""The cache of results computed from rows that are rarely read."""

from __future__ import annotations

from presman.analysis.caches import RowCache


def test_same_rows_are_made_something_of_once() -> None:
    calls: list[int] = []

    def size(rows: tuple[int, ...]) -> int:
        calls.append(len(rows))
        return len(rows)

    cache, rows = RowCache(), (1, 2, 3)
    assert (cache.call(size, rows), cache.call(size, rows), calls) == (3, 3, [3])
    assert cache.call(size, (1, 2)) == 2, "other rows are other rows"
    assert cache.call(size, rows) == 3, "and those before them are not kept"
    assert calls == [3, 2, 3]


def test_two_makers_do_not_meet_and_two_caches_do_not_either() -> None:
    cache, rows = RowCache(), (3, 4)
    assert (cache.call(sum, rows), cache.call(max, rows), cache.call(sum, rows)) == (7, 4, 7)
    assert RowCache().call(sum, rows) == 7
