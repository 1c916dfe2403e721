"""Page of the JSON document, from its records: every object, its fields, their types and meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from docs.markdown import anchor, page, rows
from presman.analysis.advice.step import Proof
from presman.analysis.latency.histograms import events, summaries
from presman.analysis.parallel.usual import compare
from presman.analysis.readings.reading import Reading
from presman.output.cells import word
from presman.output.json_document import Assessment, names
from presman.tabs import tab, tab_names

ROOT = "the document"
WORKED_OUT = {"latency": summaries, "latency_events": events, "usual": compare}
"""The parts of the document that are not a reading's own fields, by the functions that compute them."""
BY_HAND = frozenset({"alerts", "to_do", "unblock"})
"""The parts that are put together in words: a table of the page explains them."""


def json_page() -> str:
    """Return the page of JSON."""
    parts = [
        "`presman once TARGET --format json` prints one object with every figure of the screens; [JSON](../json.md) "
        "has the most useful ones, and `.alerts[]`, `.to_do` and `.unblock[]`. Below is every object with its fields, "
        "as the records in presman declare them. Any of them may be `null`: not known.",
    ]
    for path, kind in objects().items():
        parts += [
            f"## {path if path == ROOT else f'`{path}`'}",
            _words(path, kind),
            rows(("field", "JSON", "what it is"), _fields(path, kind)),
        ]
    parts += [
        "## `commands[].proven[]`",
        "What is proven of the end of a session that is offered, in `.to_do`, `.unblock[]` and `presman why`. No "
        "command stands without one of these words. `dba_decides` stands alone where a command starts a queued "
        "statement before its turn or cancels it.",
        rows(("word", "what it says"), ((f"`{word(each)}`", each.value) for each in Proof)),
    ]
    return page(
        "JSON fields: groups, queue, alerts, latency, plan",
        "Every object and field of presman's JSON document, with its type, the Oracle view behind it and its formula.",
        "JSON fields",
        *parts,
    )


@cache
def objects() -> Mapping[str, type[Any]]:
    """Return each kind of object by its first path in the document."""
    found: dict[str, type[Any]] = {ROOT: Reading}
    waiting = [(f".{name}", hint) for name, hint in _hints(Reading).items()]
    waiting += [(f".{name}", get_type_hints(worker)["return"]) for name, worker in WORKED_OUT.items()]
    waiting += [(".assessment", Assessment)]
    while waiting:
        path, hint = waiting.pop(0)
        path, kind = _innermost(path, hint)
        if path[1:].removesuffix("[]") in BY_HAND or not _is_record(kind) or kind in found.values():
            continue
        found[path] = kind
        waiting += [(f"{path}.{name}", each) for name, each in _hints(kind).items()]
    return found


def _innermost(path: str, hint: Any) -> tuple[str, Any]:
    """Return the path and the kind of the elements of lists, without null."""
    inner = [each for each in get_args(hint) if each not in (NoneType, Ellipsis)]
    origin = get_origin(hint)
    if inner and origin in (Union, UnionType):
        return _innermost(path, inner[0])
    if inner and isinstance(origin, type) and issubclass(origin, Sequence):
        return _innermost(f"{path}[]", inner[0])
    return path, hint


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, Struct) or hasattr(kind, "_fields"))


@cache
def _hints(kind: type[Any]) -> Mapping[str, Any]:
    """Return the types of a record's fields, then of its properties, in the order of the document."""
    declared = get_type_hints(kind)
    return {
        name: declared[name] if name in declared else get_type_hints(getattr(kind, name).fget).get("return", Any)
        for name in names(kind)
    }


def _fields(path: str, kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    for name, hint in _hints(kind).items():
        if path != ROOT or name not in BY_HAND:
            yield f"`{name}`", _type(hint), _help(path, kind, name)
    if path == ROOT:
        yield from ((f"`{name}`", _type(get_type_hints(worker)["return"]), "") for name, worker in WORKED_OUT.items())
        yield "`assessment`", _type(Assessment), ""


def _help(path: str, kind: type[Any], name: str) -> str:
    """Return the meaning of a field: from its column, else its property, else its record."""
    own = " ".join(each for each in _sentences(kind) if f"`{name}`" in each)
    return _helps(path).get(name, "") or _property(kind, name) or own


def _property(kind: type[Any], name: str) -> str:
    member = vars(kind).get(name)
    return _plain(member.__doc__ or "") if isinstance(member, property) else ""


@cache
def _helps(path: str) -> Mapping[str, str]:
    """Return the help of the screens' columns for the fields of an object."""
    shown = [part.table for name in tab_names() for part in (*tab(name.name).rows(), *tab(name.name).for_text)]
    found: dict[str, str] = {}
    for each in (table for table in shown if table.json):
        for figure in sorted(each.columns, key=lambda figure: figure.bar is not None):
            where, _, field = f".{each.json}[].{figure.path}".rpartition(".")
            if figure.path and where == path:
                found.setdefault(field, figure.help)
    return found


def _type(hint: Any) -> str:
    """Return the JSON name of a type, with a link if it is an object of the document."""
    path, kind = _innermost("", hint)
    found = _name(kind)
    return f"array of {found}" if path else found


def _name(kind: Any) -> str:
    if _is_record(kind):
        place = next((place for place, each in objects().items() if each is kind), "")
        return f"[object](#{anchor(place)})" if place else "object"
    if get_origin(kind) is Literal:
        return "word"
    kind = get_origin(kind) or kind
    if not isinstance(kind, type):
        return "value"
    if issubclass(kind, Mapping):
        return "object"
    known = {bool: "true or false", int: "number", float: "number", datetime: "instant", str: "string"}
    return "word" if issubclass(kind, Enum) else known.get(kind, "value")


def _words(path: str, kind: type[Any]) -> str:
    """Return a record's own description, without the sentences that explain single fields."""
    alone = {f"`{name}`" for name in _hints(kind) if name not in _helps(path) and not _property(kind, name)}
    return " ".join(each for each in _sentences(kind) if not any(name in each for name in alone)) or "Its fields:"


@cache
def _sentences(kind: type[Any]) -> tuple[str, ...]:
    found = re.split(r"(?<=[.;]) (?=`)|(?<=\.) (?=[A-Z])", _plain(kind.__doc__ or ""))
    return tuple(re.sub(";$", ".", each) for each in found)


def _plain(text: str) -> str:
    """Return a docstring as a paragraph."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", " ".join(text.split())).replace("``", "`")
    return re.sub(r"\bNone\b", "null", text)
