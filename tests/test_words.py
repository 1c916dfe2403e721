"""Plain words: one word for one thing, a number with its noun in the right form, nothing that is read twice.

`make texts` lists every sentence.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from docs.sentences import Sentence, sentences
from presman.base.formats import counted, megabytes, microseconds, percent, spelled, throughput


@cache
def all_sentences() -> tuple[Sentence, ...]:
    return tuple(sentences())


FORBIDDEN = {
    r"ENDS IT": "TO START IT",
    r"[Ii]t would hit|\bhits\b": "affects",
    r"CPU of all there are": "of all CPUs",
    r"nobody sees|\bis drawn\b|\bare drawn\b|\bthe draws\b": "the order is random",
    r"outside the queue": "bypass the queue",
    r"alerts, all on": "alerts, press",
    r"h:mm:ss": "15 min 37 s",
    r"guaranteed to nobody|nobody's guarantee": "unallocated",
    r"by who is": "by whom, or what",
    r"\bwhose end\b|nobody's end|\bits end alone\b": "which session to end, ending it",
    r"no view tells|does not tell\b|\b(is|are|be) told\b|nobody knows": "no view shows it, is not known",
    r"\bwhoever\b(?! has the token)|\bwaits? for whom\b|\bnobody (waits|runs|was active)\b": "which session",
    r"[Nn]othing is foreseen|\bnot foreseen\b": "no forecast",
    r"(?<!CPUs )\b(is|are) waited for\b|more are waited for": "sessions wait for",
    r"[Kk]ept settings|[Ww]orked out\b": "saved settings, calculated",
    r"\(s\)": "counted()",
    r"\bslaves?\b|\bPX processes\b": "parallel servers",
    r"\bresource groups?\b|\bconsumer-group": "consumer group",
    r"\bplan rules?\b": "plan directive",
    r"\bmaster\b": "coordinator",
    r"\betc\.|\be\.g\.|\bi\.e\.": "plain words",
    r"\b[Pp]lease\b|\b[Ss]orry\b|\b[Oo]ops\b": "what is wrong and what cures it",
}
"""Phrases that readers misread or that have another word, and what to write instead."""

_NOUNS = "statements|servers|sessions|groups|polls|rows|views|instances|queues|queries|minutes|holders|others|readings"
_COUNT = re.compile(rf"\{{(?P<number>[^{{}}]*)\}} (?:{_NOUNS})\b")
_SAFE = re.compile(r"\b(number|compact|count)\(|:[.,]|instances$|PDB_GROUPS|wants\.high|SHORTEST|refresh")
"""Numbers that are decimals, or are known to be several."""


def test_there_are_sentences_to_read() -> None:
    assert len(all_sentences()) > 1500
    assert any("should start by itself" in each.text for each in all_sentences())


@pytest.mark.parametrize("phrase", FORBIDDEN)
def test_no_sentence_has_a_forbidden_phrase(phrase: str) -> None:
    found = [each for each in all_sentences() if re.search(phrase, each.text)]
    assert not found, f"say {FORBIDDEN[phrase]}"


def test_a_number_has_its_noun_in_the_right_form() -> None:
    found = [
        each
        for each in all_sentences()
        for match in _COUNT.finditer(each.text)
        if not _SAFE.search(match["number"]) and "counted(" not in match["number"]
    ]
    assert not found, "write it with counted(): 1 statement, 2 statements"


def test_no_sentence_has_a_word_twice_or_two_blanks() -> None:
    twice = re.compile(r"\b(the|a|of|to|is|in|and|for|it) \1\b")
    assert not [each for each in all_sentences() if twice.search(each.text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (counted(1, "statement"), "1 statement"),
        (counted(1200, "server"), "1,200 servers"),
        (spelled(937), "15 min 37 s"),
        (spelled(41), "41 s"),
        (spelled(0), "0 s"),
        (spelled(3725), "1 h 2 min"),
        (spelled(3605), "1 h"),
        (spelled(None), "an unknown time"),
        (throughput(1024), "1.0 GB/s"),
        (throughput(212.4), "212 MB/s"),
        (throughput(None), "-"),
        (megabytes(1024), "1,024"),
        (megabytes(12_345.6), "12,346"),
        (megabytes(0.5), "0.5"),
        (megabytes(123_456), "123k"),
        (microseconds(2**32), "1:11:34"),
        (microseconds(59e6), "59.0s"),
    ],
)
def test_numbers_in_words(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (0.01, "<1"), (0.5, "<1"), (0.51, "1"), (1.2, "1"), (99.5, "100"), (100.0, "100")],
)
def test_a_percentage_is_0_only_where_nothing_was_measured(value: float | None, text: str) -> None:
    assert percent(value) == text
