"""The book is complete: every page is listed and has a title and a description, and every link works."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from docs.book import assemble, loaded_from_elsewhere
from docs.contents import DOCS, ROOT, place_of, places, source, title_and_description
from docs.markdown import anchor, headings, links
from tests.docs.pages import named, pages, text_of

README_LINES = 150


def test_every_page_has_its_place_in_the_contents() -> None:
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    missing = {place for place in places() if not source(place).exists()}
    assert missing == set(), "in docs/contents.py, and there is no such page"
    assert written - set(places()) == set(), "a page that is not in docs/contents.py"
    assert [place for place, times in Counter(places()).items() if times > 1] == []


def test_every_page_has_a_title_and_a_description_for_search_engines() -> None:
    found = {place: title_and_description(place) for place in places()}
    assert {place for place, (title, about) in found.items() if not title or not about} == set()
    assert {place for place, (title, _) in found.items() if not 10 <= len(title) <= 62} == set(), "cut in results"
    assert {place for place, (title, _) in found.items() if "presman" in title} == set(), "the book appends it"
    assert {place for place, (_, about) in found.items() if not 60 <= len(about) <= 165} == set(), "cut in results"
    for which in (0, 1):
        times = Counter(each[which] for each in found.values())
        assert [text for text, number in times.items() if number > 1] == [], "used twice"
    assert [place for place, each in found.items() if '"' in "".join(each) or "\\" in "".join(each)] == []


def test_a_page_has_one_heading_above_all_others() -> None:
    for path, text in pages().items():
        assert text.count("\n# ") + text.startswith("# ") >= 1, named(path)


def test_a_list_continues_after_a_blank_line() -> None:
    """After a paragraph inside an item: GitHub needs no blank line, the book does."""
    swallowed = re.compile(r"\n\n {4}[^\s`].*\n(?:\d+\.|[-*]) ")
    assert [named(path) for path, text in pages().items() if swallowed.search(text)] == []


def test_every_link_leads_to_a_page_and_a_heading_that_are_there() -> None:
    found = {path: Counter(map(anchor, headings(text))) for path, text in pages().items()}
    for path, text in pages().items():
        for target in links(text):
            if target.startswith("https://"):
                continue
            file, mark, where = target.partition("#")
            leads = (path.parent / file).resolve() if file else path
            assert leads.exists(), f"{named(path)}: {target}"
            if mark:
                assert found[leads][where] == 1, f"{named(path)}: {target}"


def test_a_page_of_the_book_leads_to_pages_of_the_book() -> None:
    for place in places():
        path = source(place)
        for target in links(pages()[path]):
            file = target.partition("#")[0]
            leads = (path.parent / file).resolve()
            if file and "://" not in file:
                assert leads.suffix == ".svg" or place_of(leads), f"{named(path)}: {target} is not in the book"


def test_every_link_still_works_in_the_single_page(tmp_path: Path) -> None:
    assemble(tmp_path)
    folder = tmp_path / "pages"
    for page in folder.rglob("*.md"):
        for target in links(page.read_text(encoding="utf-8")):
            file = target.partition("#")[0]
            assert not file or "://" in file or (page.parent / file).exists(), f"{page.relative_to(folder)}: {target}"
    settings = (tmp_path / "zensical.toml").read_text(encoding="utf-8")
    assert all(f'"{place}"' in settings for place in places())
    assert loaded_from_elsewhere(folder) == [], "pictures bring no fonts from elsewhere"


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ('<script src="https://cdn.example.com/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example.com/css">', True),
        ("<style>@import url(https://fonts.example.com/css)</style>", True),
        ('<img src="https://example.com/badge.svg">', True),
        ('<a href="https://example.com">a link</a> <img src="screenshots/top.svg">', False),
        ("<code>&lt;script src=https://example.com&gt;</code>", False),
    ],
)
def test_external_resources_are_found(tmp_path: Path, text: str, loads: bool) -> None:
    (tmp_path / "page.html").write_text(text)
    assert loaded_from_elsewhere(tmp_path) == (["page.html"] if loads else [])


def test_readme_is_short_and_begins_with_the_two_commands() -> None:
    lines = text_of("README.md").splitlines()
    assert len(lines) <= README_LINES
    assert lines[3].startswith("make demo ")
    assert lines[4].startswith("make test ")


def test_names_of_rules_do_not_break_in_the_middle() -> None:
    """The theme breaks code anywhere; a table that is too wide is scrolled."""
    rule = re.search(r"\.md-typeset code \{([^}]*)\}", (DOCS / "theme" / "book.css").read_text("utf-8"))
    assert rule is not None
    assert "word-break: normal" in rule[1]
    assert "anywhere" not in rule[1]


def test_every_picture_is_shown_somewhere() -> None:
    shown = {Path(target).name for text in pages().values() for target in links(text) if target.endswith(".svg")}
    assert {path.name for path in (ROOT / "screenshots").glob("*.svg")} - shown == set()
