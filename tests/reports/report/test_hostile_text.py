"""Hostile text in every column: pages show it as text, never as markup; `make test-real` tests this in Chromium."""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import pytest

from presman.base import markup
from presman.services.serve.viewer_site import monitor_page
from tests.reports.report.planted import (
    EVERY,
    HARMLESS,
    RAN,
    PlantedPage,
    attack,
    pages_of_round,
    pages_of_tables,
    rounds,
)
from tests.thorough import some

BAIT = "http://127.0.0.1:9/"


class Parts(HTMLParser):
    """Collects the elements of a page and its text."""

    def __init__(self, page: PlantedPage) -> None:
        super().__init__()
        self.parts: set[str] = set()
        self.text = ""
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts |= {tag, *(f"{tag} {name}" for name, _ in attrs)}

    def handle_comment(self, data: str) -> None:
        self.parts.add("a comment")

    def unknown_decl(self, data: str) -> None:
        self.parts.add("a declaration")

    def handle_data(self, data: str) -> None:
        self.text += data


def held(hostile: Iterable[PlantedPage], harmless: Iterable[PlantedPage]) -> list[str]:
    """Return pages with elements that they lack with harmless texts; check that all contain the texts."""
    found = []
    for one, other in zip(hostile, harmless, strict=True):
        parts = Parts(one)
        assert f'<svg onload="{RAN}=1' in parts.text, f"{one.name}: the text is missing"
        if not parts.parts <= Parts(other).parts:
            found.append(one.name)
    return found


def test_hostile_tables_add_no_parts_to_pages(tmp_path: Path) -> None:
    assert not held(pages_of_tables(attack(BAIT), tmp_path), pages_of_tables(HARMLESS, tmp_path))


@pytest.mark.parametrize("number", some([EVERY], [each for each in rounds() if each != EVERY]))
def test_hostile_views_add_no_parts_to_pages(number: int, tmp_path: Path) -> None:
    pages = list(pages_of_round(number, attack(BAIT), tmp_path))
    assert len(pages) >= 7 if number == EVERY else len(pages) == 2
    assert not held(pages, pages_of_round(number, HARMLESS, tmp_path))


def test_unescaped_texts_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "escape", lambda text, quote: text)
    for each in islice(pages_of_round(EVERY, attack(BAIT), tmp_path), 3):
        assert Parts(each).parts >= {"script", "img onerror", "iframe srcdoc", "a href"}, each.name


def test_the_page_of_the_browser_shows_any_name_of_a_target_as_text() -> None:
    hostile, harmless = (Parts(PlantedPage("", monitor_page(text))) for text in (attack(BAIT), HARMLESS))
    assert hostile.parts == harmless.parts
    assert f'<svg onload="{RAN}=1' in hostile.text
