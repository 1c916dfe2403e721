"""The pages for readers: README.md and those of the book, read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from docs.contents import ROOT, places, source
from docs.markdown import Block, blocks


@cache
def pages() -> dict[Path, str]:
    """Return the text of each page, by its file."""
    paths = (ROOT / "README.md", *(source(place) for place in places()))
    return {path: path.read_text(encoding="utf-8") for path in paths if path.exists()}


def text_of(name: str) -> str:
    """Return the text of a page in docs/, or of README.md."""
    return pages()[ROOT / name]


def named(path: Path) -> str:
    """Return a path as people say it."""
    return str(path.relative_to(ROOT))


@cache
def examples() -> tuple[tuple[str, Block], ...]:
    """Return every block of code with the page that it stands on."""
    return tuple((named(path), block) for path, text in pages().items() for block in blocks(text))
