"""First answer of a server, made by hand: when it is complete, and when the driver must not see it."""

from __future__ import annotations

import pytest

from presman.sources.oracle.packets import AT_RUN_TIME, COMPILED, LONGEST, UnfitAnswer, is_whole


def answer(
    compiled: int = COMPILED, at_run_time: int = AT_RUN_TIME, *, elements: int = 2, described: int = 300
) -> bytes:
    """Return a banner, the elements of the character set, a description, and two arrays after their lengths."""
    return b"".join((
        b"\x01\x06\x00Oracle\x00", b"\x69\x03\x01", elements.to_bytes(2, "little"), bytes(5 * elements),
        described.to_bytes(2, "big"), bytes(described), bytes([compiled]), b"\x07" * compiled, bytes([at_run_time]),
        b"\x07" * at_run_time,
    ))  # fmt: skip


@pytest.mark.parametrize("elements", [0, 1, 300])
@pytest.mark.parametrize("described", [11, 12, 300])
def test_an_answer_is_whole_with_its_last_byte(elements: int, described: int) -> None:
    whole = answer(elements=elements, described=described)
    assert is_whole(whole)
    assert is_whole(whole + b"more")
    for length in (1, 3, 9, 12, 13, 14, len(whole) // 2, len(whole) - AT_RUN_TIME - 1, len(whole) - 1):
        assert not is_whole(whole[:length])


@pytest.mark.parametrize(
    ("compiled", "at_run_time", "fits"),
    [(41, 7, True), (40, 7, False), (41, 6, False), (253, 253, True), (254, 7, False), (255, 7, False), (0, 7, False),
     (41, 0, False), (41, 254, False)],
)  # fmt: skip
def test_arrays_are_as_long_as_the_driver_looks_and_come_in_one_part(
    compiled: int, at_run_time: int, fits: bool
) -> None:
    if fits:
        assert is_whole(answer(compiled, at_run_time))
    else:
        with pytest.raises(UnfitAnswer):
            is_whole(answer(compiled, at_run_time))


@pytest.mark.parametrize("described", [0, 1, 10])
def test_a_description_is_as_long_as_the_driver_wants_it(described: int) -> None:
    """An empty description would crash the driver."""
    with pytest.raises(UnfitAnswer):
        is_whole(answer(described=described))


def test_an_answer_begins_as_it_must_and_is_not_too_long() -> None:
    assert is_whole(answer() + bytes(LONGEST - len(answer())))
    for unfit in (b"", b"\x02" + answer()[1:], answer() + bytes(LONGEST + 1 - len(answer()))):
        with pytest.raises(UnfitAnswer):
            is_whole(unfit)
