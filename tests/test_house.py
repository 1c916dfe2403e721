"""House rules that a tool can check: names that stand for one thing, sizes of classes, docstrings."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import settings

import presman

ROOT = Path(presman.__file__).parent

MOST_METHODS = 20

NO_NOUN = {
    "what",
    "how",
    "which",
    "why",
    "when",
    "who",
    "where",
    "is",
    "are",
    "all",
    "every",
    "turns",
    "reads",
    "finds",
}

TEXTUALS = {"Vertical", "Horizontal", "Container"}
"""Textual's own names, for its own classes with other lines."""

BY_ROOM = {"database.py", "settings.py", "polling.py", "parallel_panel.py"}
"""File names that mean one thing in each of two rooms."""


@cache
def modules() -> dict[Path, str]:
    """Return the text of each module, read when it is asked for and not when this file is, which every worker does."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}


def named(path: Path) -> str:
    """Return the path as people say it."""
    return str(path.relative_to(ROOT))


def test_a_module_docstring_begins_with_a_noun() -> None:
    texts = {named(path): text for path, text in modules().items()}
    assert [name for name, text in texts.items() if not re.match(r'r?"""\S', text)] == []
    first = {name: re.split(r"\s", text.partition('"""')[2])[0] for name, text in texts.items()}
    assert {name: word for name, word in first.items() if word.rstrip(":,").lower() in NO_NOUN} == {}


def test_a_class_name_stands_for_one_thing() -> None:
    found = (re.findall(r"^ *class ([A-Za-z]\w*)", text, re.MULTILINE) for text in modules().values())
    names = Counter(chain.from_iterable(found))
    assert {name: number for name, number in names.items() if number > 1 and name not in TEXTUALS} == {}


def test_a_file_name_stands_for_one_thing() -> None:
    names = Counter(path.name for path in modules() if path.name != "__init__.py")
    assert {name for name, number in names.items() if number > 1} <= BY_ROOM


@pytest.mark.parametrize("room", ["tui", "actions", "tabs"])
def test_no_class_of_the_screen_has_too_many_methods(room: str) -> None:
    trees = [ast.parse(text) for path, text in modules().items() if path.relative_to(ROOT).parts[0] == room]
    sizes = {
        node.name: sum(isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) for each in node.body)
        for node in chain.from_iterable(map(ast.walk, trees))
        if isinstance(node, ast.ClassDef)
    }
    assert {name: size for name, size in sizes.items() if size > MOST_METHODS} == {}


def test_no_thread_is_asked_whether_it_is_alive() -> None:
    """Two callers at a time, or a handler and the code it interrupts, disturb each other: use an event."""
    assert [named(path) for path, text in modules().items() if re.search(r"\.is_alive\(", text)] == []


def test_random_examples_are_the_same_in_each_run() -> None:
    assert settings.default is not None
    assert settings.default.derandomize is not bool(os.environ.get("PRESMAN_FRESH"))
