"""Size of presman's code: files and code lines of each room, for `make size`.

A code line is neither blank nor a comment nor part of a docstring. Imports count.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import presman

ROOT = Path(presman.__file__).parent


def docstrings(tree: ast.Module) -> set[int]:
    """Return the lines of all docstrings, and of the strings below constants that document them."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    texts = (node for node in statements if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
    return {line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def code_lines(text: str) -> int:
    """Return the number of code lines of a module."""
    skipped = docstrings(ast.parse(text))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in skipped for number, line in lines)


def main() -> None:
    """Print one line for each room, the largest first, and one for all."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0] if path.parent != ROOT else "."
        files[room] += 1
        lines[room] += code_lines(path.read_text(encoding="utf-8"))
    for room, count in lines.most_common():
        sys.stdout.write(f"{room:12}{files[room]:4} files{count:8,} code lines\n")
    sys.stdout.write(f"{'presman':12}{files.total():4} files{lines.total():8,} code lines\n")


if __name__ == "__main__":
    main()
