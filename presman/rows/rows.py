"""Rows: one immutable record per query, the only shapes that leave a database; the records are in the ``*_rows.py``.

The fields of a record are the select list of its query, in order and by name; the file is the record's name in
snake case (``PxSession`` is read by ``queries/px_session.sql``). ``int`` and ``str`` fields turn NULL into 0 and
"", because there NULL means nothing counted or nothing said; ``| None`` marks the columns in which NULL is a
fact of its own. Datetimes are aware, in UTC. Every text has passed :func:`presman.base.text.clean`.
Named tuples, because hundreds are made at each poll. Annotations are evaluated in those files: as texts each of the
five hundred would be compiled, and the code kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from inspect import getmembers, isclass
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from presman import rows
from presman.rows.container_rows import PdbCpuExhausted
from presman.rows.group_rows import CpuExhausted

RecordType: TypeAlias = type[tuple[Any, ...]]
"""One of the records."""

OF_AN_UPDATE: frozenset[RecordType] = frozenset({CpuExhausted, PdbCpuExhausted})
"""What only newer updates of a release have the columns for: a database that lacks them has no trouble."""


@cache
def by_query() -> Mapping[str, RecordType]:
    """Return every record by the stem of the query file that fills it (``px_session`` → PxSession)."""
    names = sorted(module.name for module in iter_modules(rows.__path__) if module.name.endswith("_rows"))
    found = [
        member
        for name in names
        for member in getmembers(import_module(f"{rows.__name__}.{name}"), isclass)
        if hasattr(member[1], "_fields")
    ]
    return MappingProxyType({_snake(name): cast(RecordType, record) for name, record in sorted(found)})


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
