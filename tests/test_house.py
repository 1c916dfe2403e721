"""House rules that a tool can check: names that stand for one thing, sizes of classes, docstrings."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
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
"""File names that say one thing in each of two rooms."""


@cache
def modules() -> dict[Path, ast.Module]:
    """Return each module, read: not when this file is, which every worker does."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


@cache
def nodes() -> list[tuple[Path, ast.ClassDef | ast.Call]]:
    """Return every class and every call with the module that it stands in, of one walk through all of them."""
    every = ((path, node) for path, tree in modules().items() for node in ast.walk(tree))
    return [(path, node) for path, node in every if isinstance(node, (ast.ClassDef, ast.Call))]


def classes() -> list[tuple[Path, ast.ClassDef]]:
    """Return every class with the module that it stands in."""
    return [(path, node) for path, node in nodes() if isinstance(node, ast.ClassDef)]


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Let go of what was read when these tests are over: it is a tenth of a worker's memory."""
    yield
    modules.cache_clear()
    nodes.cache_clear()


def named(path: Path) -> str:
    """Return the path as people say it."""
    return str(path.relative_to(ROOT))


def test_a_module_begins_with_what_it_is() -> None:
    said = {named(path): (ast.get_docstring(tree) or "").splitlines()[:1] for path, tree in modules().items()}
    assert [name for name, lines in said.items() if not lines] == []
    assert {name: line for name, (line,) in said.items() if line.split()[0].rstrip(":,").lower() in NO_NOUN} == {}


def test_a_class_name_stands_for_one_thing() -> None:
    names = Counter(node.name for _, node in classes() if not node.name.startswith("_"))
    assert {name: number for name, number in names.items() if number > 1 and name not in TEXTUALS} == {}


def test_a_file_name_stands_for_one_thing() -> None:
    names = Counter(path.name for path in modules() if path.name != "__init__.py")
    assert {name for name, number in names.items() if number > 1} <= BY_ROOM


@pytest.mark.parametrize("room", ["tui", "actions", "tabs"])
def test_no_class_of_the_screen_is_a_god(room: str) -> None:
    sizes = {
        node.name: sum(isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) for each in node.body)
        for path, node in classes()
        if path.relative_to(ROOT).parts[0] == room
    }
    assert {name: size for name, size in sizes.items() if size > MOST_METHODS} == {}


def test_no_thread_is_asked_whether_it_lives() -> None:
    """Two who ask at a time, or a handler and whom it interrupts, get in each other's way: an event tells it."""
    calls = ((path, node.func) for path, node in nodes() if isinstance(node, ast.Call))
    asked = [
        (path.name, each.lineno) for path, each in calls if isinstance(each, ast.Attribute) and each.attr == "is_alive"
    ]
    assert asked == []


def test_random_examples_are_the_same_in_each_run() -> None:
    assert settings.default is not None
    assert settings.default.derandomize is not bool(os.environ.get("PRESMAN_FRESH"))
