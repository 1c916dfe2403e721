"""Sanitising of text: nothing invisible or dangerous passes, everything else does."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from presman.base.text import LONGEST, LONGEST_STATEMENT, all_clean, clean, clean_lines, one_line


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b[31mred", "␛[31mred"),
        ("\x9b31m", "�31m"),
        ("a\x00b\x7f", "a␀b␡"),
        ("abc\u202edef", "abc�def"),
        ("zero\u200bwidth\ufeff", "zero�width�"),
        ("line\nbreak\ttab\r\n", "line break tab  "),
        ("par\u2029agraph", "par agraph"),
        ("non\u00a0breaking", "non breaking"),
        ("lone \ud800 surrogate", "lone � surrogate"),
        ("SYS\u3164\u1160\u115f\uffa0", "SYS����"),
        ("braille\u2800blank", "braille�blank"),
        ("variant\ufe0f\U000e0101", "variant��"),
        ("zalgo" + "\u0335" * 50 + "x", "zalgo" + "\u0335" * 3 + "x"),
        ("e\u0301a\u0489\u0489\u0489\u0489", "e\u0301a\u0489\u0489\u0489"),
    ],
)
def test_dangerous_characters_become_visible(hostile: str, harmless: str) -> None:
    assert clean(hostile) == harmless


@given(st.text(alphabet=st.characters()))
def test_nothing_invisible_survives(text: str) -> None:
    for character in clean(text):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(alphabet=st.characters()))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.lists(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("a \n\r\x1b\u0301\u0489\u3164")))))
@example(["\u0301\u0301", "\u0301\u0301"])
@example(["a" + "\u0301" * 4])
@example(["e\u0301\n"])
@example(["x" * (LONGEST + 1)])
def test_texts_that_look_clean_are_left_unchanged(texts: list[str]) -> None:
    assert not all_clean(texts) or [clean(each) for each in texts] == texts
    assert not all_clean(texts, 50) or [clean_lines(each, 50) for each in texts] == texts
    assert all_clean([clean(each) for each in texts])
    assert all_clean([clean_lines(each) for each in texts], LONGEST_STATEMENT)


@given(st.text(alphabet="abcÄßé漢字 0123[]/@=-"))
def test_harmless_text_is_untouched(text: str) -> None:
    assert clean(text) == text


def test_long_texts_are_cut_and_say_so() -> None:
    assert len(clean("x" * 100_000)) == LONGEST
    assert clean("x" * 100_000).endswith("…")


def test_a_statement_on_one_line_may_be_longer_than_a_name() -> None:
    text = "select " + "x" * 2 * LONGEST
    assert clean_lines(text) == text


def test_long_statements_are_cut_and_say_so() -> None:
    kept = "s" * LONGEST_STATEMENT
    assert clean_lines(kept) == kept
    assert clean_lines(kept + "s") == f"{kept}\n… cut here: it has more than 100,000 characters"
    assert clean_lines("abc", 2) == "ab\n… cut here: it has more than 2 characters"


def test_lines_survive_where_they_are_wanted() -> None:
    assert clean_lines("select 1\r\nfrom\x1b dual\r") == "select 1\nfrom␛ dual\n"


@pytest.mark.parametrize(("width", "shown"), [(20, "select a from b"), (8, "select …"), (1, "…")])
def test_one_line_folds_and_cuts(width: int, shown: str) -> None:
    assert one_line("select  a\n from b", width) == shown
