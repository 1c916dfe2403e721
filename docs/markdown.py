"""Markdown in the project's form: pages with a front matter, tables, headings and their anchors, links.

Both GitHub and the book show it, so it uses only what both support.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

_FENCED = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)(?P=fence) *$", re.M | re.S
)
_CODE = re.compile(rf"{_FENCED.pattern}|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.M | re.S)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^()\s]+)(?=\))")
_FRONT = re.compile(r"\A---\n(?P<front>.*?)\n---\n", re.S)
_HEADING = re.compile(r"^(?P<marks>#{1,6}) (?P<text>.+?) *$", re.M)


class Block(NamedTuple):
    """A block of code: its language ("" if none is named) and its lines."""

    language: str
    text: str


def page(title: str, description: str, heading: str, *parts: str) -> str:
    """Return a generated page: front matter, heading, parts."""
    front = with_front_matter(title, description)
    return "\n\n".join([front, f"# {heading}", *parts]) + "\n"


def with_front_matter(title: str, description: str) -> str:
    """Return the front matter of a page."""
    return f'---\ntitle: "{title}"\ndescription: "{description}"\n---'


def rows(heads: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def front_matter(text: str) -> dict[str, str]:
    """Return the front matter of a page: its `title` and `description`, by name."""
    found = _FRONT.match(text)
    lines = found["front"].splitlines() if found else []
    return {name.strip(): value.strip().strip('"') for name, _, value in (line.partition(":") for line in lines)}


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of code."""
    for found in _FENCED.finditer(text):
        indent = len(found["indent"])
        yield Block(found["language"], "".join(line[indent:] for line in found["text"].splitlines(keepends=True)))


def spans(text: str) -> Iterator[str]:
    """Yield the code inside sentences."""
    for found in _CODE.finditer(text):
        if found["ticks"]:
            yield found[0].strip("`").strip()


def headings(text: str) -> Iterator[str]:
    """Yield the headings, without those in code."""
    for found in _HEADING.finditer(_FENCED.sub("", text)):
        yield found["text"]


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and the book form it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links(text: str) -> list[str]:
    """Return the targets of the links and pictures."""
    found: list[str] = []
    relinked(text, lambda target: found.append(target) or target)
    return found


def relinked(text: str, change: Callable[[str], str]) -> str:
    """Return a text with the target of each link and picture changed; code stays as it is."""
    parts, place = [], 0
    for code in _CODE.finditer(text):
        parts += [_changed(text[place : code.start()], change), code[0]]
        place = code.end()
    return "".join([*parts, _changed(text[place:], change)])


def _changed(text: str, change: Callable[[str], str]) -> str:
    return _LINK.sub(lambda found: change(found["target"]), text)
