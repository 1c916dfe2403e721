"""Numbers stored in place of recurring values, compared with values calculated by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.recording import figure_writer
from presman.recording.figure_writer import MOST_CASES, CaseNumbers, TextKeeper, WordNumbers


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> CaseNumbers:
    monkeypatch.setattr(figure_writer, "next_number", lambda *_: 7)
    monkeypatch.setattr(figure_writer, "MOST_CASES", 3)
    return CaseNumbers(None, None, 1)  # type: ignore[arg-type]


def test_cases_are_forgotten_least_recently_used_first(numbers: CaseNumbers) -> None:
    assert MOST_CASES > 3
    assert [numbers.number(case) for case in "abca"] == [(7, True), (8, True), (9, True), (7, False)]
    assert numbers.number("d") == (10, True)
    assert [numbers.number(case) for case in "acd"] == [(7, False), (9, False), (10, False)]
    assert numbers.number("b") == (11, True), "it was the least recently used one"
    numbers.forget()
    assert numbers.number("a") == (12, True)


class Written:
    """A connection that records what is written through it."""

    def __init__(self, *known: tuple[str, int]) -> None:
        self.known = known

    def execute(self, _: object) -> Any:
        return SimpleNamespace(all=lambda: list(self.known))


def test_new_words_are_numbered_after_existing_ones_and_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(figure_writer, "run", lambda _, __, rows: written.append(list(rows)))
    words = WordNumbers(Written(("ETL", 4), ("WEB", 2)), 9)  # type: ignore[arg-type]
    assert [words.number(word) for word in ("WEB", None, "NEW", "ETL", "NEW", "")] == [2, None, 5, 4, 5, 6]
    words.write(None)  # type: ignore[arg-type]
    words.write(None)  # type: ignore[arg-type]
    assert written == [[(9, 5, "NEW"), (9, 6, "")], []]
    first = WordNumbers(Written(), 9)  # type: ignore[arg-type]
    assert first.number("a") == 1


def test_texts_are_written_once_in_the_order_of_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(figure_writer, "run", lambda _, __, rows: written.append(rows))
    texts = TextKeeper()
    keys = [texts.keep(text) for text in ("one", "two", "one", "th\0ree", "\udcff")]
    assert (len(set(keys)), {len(key) for key in keys}) == (4, {16})
    texts.write(5, None)  # type: ignore[arg-type]
    texts.write(6, None)  # type: ignore[arg-type]
    (rows,) = written
    assert [key for key, _, _ in rows] == sorted(set(keys))
    assert {text for _, text, _ in rows} == {"one", "two", "three", "\udcff"}
    assert {at for _, _, at in rows} == {5}
