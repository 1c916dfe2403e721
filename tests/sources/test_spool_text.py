"""Encoding of a spooled file, detected from its bytes."""

from __future__ import annotations

import pytest

from presman.sources.spool.spool_file import _marked, decoded

TEXT = "INST_ID,NAME\r\n1,ETL\r\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_zeros_between_the_letters_are_two_bytes_a_letter(encoding: str) -> None:
    assert _marked(TEXT.encode(encoding)) == encoding
    assert decoded(TEXT.encode(encoding)).text == TEXT
    mixed = (TEXT + "語" * 3).encode(encoding)
    assert _marked(mixed) == encoding


@pytest.mark.parametrize("data", [TEXT.encode(), bytes(100), b"\0" * 9 + b"abc" * 9, b"a\0\0b" * 20])
def test_single_zero_bytes_are_not_utf_16(data: bytes) -> None:
    """As many zeros at even as at odd places, or zeros beside fewer than half of the letters."""
    assert _marked(data) == ""


def test_a_mark_shows_the_byte_order() -> None:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert _marked(mark + TEXT.encode(encoding)) == "utf-16"
        assert decoded(mark + TEXT.encode(encoding)).text == TEXT
