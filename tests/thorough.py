"""Whether the tests take the time to try everything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

THOROUGH = bool(os.environ.get("PRESMAN_THOROUGH"))


def some(ordinary: Sequence[T], rest: Sequence[T]) -> list[T]:
    """Return the cases of an ordinary run, with the rest if the tests are to be thorough."""
    return [*ordinary, *(rest if THOROUGH else ())]
