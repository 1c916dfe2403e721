"""Switch for thorough test runs, which try every case."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

THOROUGH = bool(os.environ.get("PRESMAN_THOROUGH"))


def some(ordinary: Sequence[T], rest: Sequence[T]) -> list[T]:
    """Return the cases of an ordinary run, with the rest in a thorough run."""
    return [*ordinary, *(rest if THOROUGH else ())]
