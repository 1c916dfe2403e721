"""Errors of a store's database: lost for a while, damaged, or wrong."""

from __future__ import annotations

from typing import Any

import pytest

from presman.recording import store_errors
from presman.recording.store_errors import DamagedStoreError, ForeignSchemaError, RecordingError, StoreLostError


def trouble(error: Exception, *, writing: bool = False, kind: str = "sqlite", is_lost: bool = False) -> tuple[Any, str]:
    found = store_errors.trouble("a.presman", error, is_file=kind == "sqlite", writing=writing, is_lost=is_lost)
    return type(found), str(found)


@pytest.mark.parametrize(
    ("message", "writing", "kind", "expected"),
    [
        ("database or disk is full", True, StoreLostError, "a.presman: no room left on its disk"),
        ("Database is LOCKED", True, StoreLostError, "a.presman: another process keeps it locked"),
        ("interrupted", False, RecordingError, "a.presman is damaged: reading it takes longer than a recording of"),
        ("no such table: polls", False, DamagedStoreError, "a.presman is damaged: no such table: polls"),
        ("no such table: polls", True, RecordingError, "a.presman: no such table: polls"),
        ("database disk image is malformed", True, DamagedStoreError, "a.presman is damaged: database disk image"),
        ("syntax error", False, RecordingError, "a.presman: syntax error"),
    ],
)
def test_messages_of_sqlite_are_explained(message: str, writing: bool, kind: type[Exception], expected: str) -> None:
    found, text = trouble(ValueError(message), writing=writing)
    assert found is kind
    assert text.startswith(expected)


def test_another_database_and_another_schema_are_named() -> None:
    assert trouble(ValueError("no such table"), kind="postgresql") == (RecordingError, "a.presman: no such table")
    assert trouble(ValueError("it is gone"), kind="postgresql", is_lost=True) == (
        StoreLostError,
        "a.presman: it is gone",
    )
    assert trouble(ForeignSchemaError("no such thing")) == (RecordingError, "a.presman: no such thing")
    assert trouble(ValueError("odd"), is_lost=True) == (StoreLostError, "a.presman: odd")
