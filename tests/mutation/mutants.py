"""Mutants: the product's code with one small change, such as a programmer's slip."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip

TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
"""A comparison is tried with its boundary moved (SWAPPED), and reversed (TURNED)."""

LONGEST = 90
"""Most characters of code in a key."""

COUNTED = 10
"""Numbers up to this one are changed by 1, greater ones are doubled: 4,097 bytes for 4,096 make no difference."""

NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """One change: the file, the function, the line, the bytes that are replaced, and their replacement."""

    path: str
    where: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """The change without its line, which edits above it move."""
        before, after = (text if len(text) <= LONGEST else text[:LONGEST] + "…" for text in (self.before, self.after))
        return f"{self.path}::{self.where} | {before} → {after}"

    def named(self, files: Sequence[str]) -> bool:
        """Whether one of `files` names it, as FILE or FILE:LINE."""
        return self.path in files or f"{self.path}:{self.line}" in files

    def source(self, text: bytes) -> bytes:
        """Return the file with the change."""
        return text[: self.start] + self.after.encode() + text[self.end :]


def chosen(mutants: list[Mutant], number: int, seed: int) -> list[Mutant]:
    """Return `number` mutants at random. Each is drawn by its own hash, so that an edit of the code changes few."""
    seen: Counter[str] = Counter()
    lots = []
    for mutant in sorted(mutants):
        seen[mutant.key] += 1
        lots.append((hashlib.sha256(f"{seed} {seen[mutant.key]} {mutant.key}".encode()).digest(), mutant))
    return [mutant for _, mutant in sorted(lots)[:number]]


def mutants_of(path: str, text: bytes) -> list[Mutant]:
    """Return every mutant of a file."""
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return offsets[node.lineno - 1] + node.col_offset, offsets[end_line - 1] + end_column

    found = []
    for where, node, after in _changes(ast.parse(text), ""):
        start, end = place(node)
        before = " ".join(text[start:end].decode().split())
        found.append(Mutant(path, where, node.lineno, start, end, before, after))
    return found


def _changes(node: ast.AST, where: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield the changes at and below a node: the function, the node that is replaced, the text that replaces it."""
    if isinstance(node, ast.JoinedStr | ast.AnnAssign) and not (isinstance(node, ast.AnnAssign) and node.value):
        return  # f-strings, whose parts have no positions before Python 3.12, and annotations
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # zip's `strict` checks what is always true
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        where = f"{where}.{node.name}".strip(".")
    yield from ((where, own, text) for own, text in _own_changes(node))
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases", "keywords"} and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child, where)


def _own_changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    match node:
        case ast.Compare(ops=[operator], left=left, comparators=[right]):
            for swapped in filter(None, (SWAPPED[type(operator)], TURNED.get(type(operator)))):
                yield node, _text(ast.Compare(left, [swapped()], [right]))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPPED and not _is_text(left):
            yield node, _text(ast.BinOp(left, SWAPPED[type(operator)](), right))
        case ast.BoolOp(op=operator, values=values):
            yield node, _text(ast.BoolOp(SWAPPED[type(operator)](), values))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, _text(operand)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield from _turned([test])
        case ast.comprehension(ifs=tests):
            yield from _turned(tests)
        case ast.Constant(value=bool() | int() | float() as value):
            yield node, repr(not value if isinstance(value, bool) else _slipped(value))
        case ast.Call(func=ast.Name(id=name) as function) if name in NAMES:
            yield function, NAMES[name]
        case ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
            yield node, "return None"


def _turned(tests: list[ast.expr]) -> Iterator[tuple[ast.expr, str]]:
    """Yield conditions negated, except comparisons, `not` and constants, which are changed elsewhere."""
    for test in tests:
        if not isinstance(test, ast.Compare | ast.UnaryOp | ast.Constant):
            yield test, f"(not {_text(test)})"


def _slipped(value: float) -> float:
    """Return a small number plus 1, and a larger one doubled."""
    return value + 1 if abs(value) <= COUNTED else 2 * value


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def product(root: Path, left_out: tuple[str, ...]) -> dict[str, list[Mutant]]:
    """Return the mutants of each room."""
    rooms: dict[str, list[Mutant]] = {}
    for path in sorted(root.glob("presman/*/**/*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(left_out):
            rooms.setdefault(name.split("/")[1], []).extend(mutants_of(name, path.read_bytes()))
    return rooms
