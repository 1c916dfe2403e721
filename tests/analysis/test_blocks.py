"""The queue of blocks against a plain list."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.latency.latency_history import TOGETHER, Blocks


@given(st.integers(0, 3 * TOGETHER + 5), st.integers(0, 4 * TOGETHER), st.integers(0, 4 * TOGETHER), st.randoms())
def test_it_is_a_queue(count: int, drops: int, number: int, random: Random) -> None:
    """Appended and dropped in any order, it gives what a list would."""
    blocks, expected, dropped = Blocks(), [], 0
    appended = 0
    for _ in range(count + drops):
        if appended < count and (not expected or random.random() < 0.7):
            block = b"%d " % appended * (appended % 5)
            blocks.append(block)
            expected.append(block)
            appended += 1
        elif expected and dropped < drops:
            blocks.drop()
            del expected[0]
            dropped += 1
    assert (len(blocks), blocks.dropped) == (len(expected), dropped)
    assert list(blocks.since(0)) == expected
    assert list(blocks.since(number)) == expected[max(0, number - dropped) :]


def test_nothing_to_drop() -> None:
    with pytest.raises(IndexError):
        Blocks().drop()


def test_blocks_that_resemble_each_other_get_small() -> None:
    blocks = Blocks()
    for number in range(10 * TOGETHER):
        blocks.append(b"db file sequential read %d" % number * 8)
    assert blocks.size < sum(map(len, blocks.since(0))) / 5
