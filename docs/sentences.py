"""Every sentence that presman can print: the texts in its code, with the inserted values in braces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1] / "presman"

_STYLES = re.compile(r"\{\s*(?:[a-z-]+: [^;]+;\s*)+\}")
"""Style sheets, which are not sentences."""

_SENTENCE = re.compile(r"[a-z] [a-z]|\} [a-z]|[a-z] \{")


class Sentence(NamedTuple):
    """A text and its location in the code."""

    place: str
    text: str


def sentences() -> Iterator[Sentence]:
    """Yield the texts of at least two words, except docstrings and style sheets."""
    for path in sorted(ROOT.rglob("*.py")):
        if "simulator" not in path.parts and path.name != "trace_parser.py":  # Oracle's own names of waits
            yield from _of(path)


def _of(path: Path) -> Iterator[Sentence]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    silent: set[int] = set()
    for node in nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list):
            silent |= {id(each.value) for each in body if isinstance(each, ast.Expr)}
        if isinstance(node, ast.JoinedStr):
            silent |= {id(each) for each in ast.walk(node) if each is not node}
    for node in nodes:
        if id(node) in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(_part(each) for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _SENTENCE.search(text) and not _STYLES.search(text):
            yield Sentence(f"{path.relative_to(ROOT)}:{node.lineno}", text)


def _part(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else f"{{{ast.unparse(node.value)}}}"  # type: ignore[attr-defined]


if __name__ == "__main__":
    for each in sentences():
        print(f"{each.place}: {' '.join(each.text.split())}")  # noqa: T201 - what it is run for
