"""A recipe of a source: what makes one, as a value that another process can be given."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from presman.sources import Source


class SourceRecipe(Struct, frozen=True):
    """Class `name` of `module`, made with `arguments`. Nothing is imported before it is followed."""

    module: str
    name: str
    arguments: Mapping[str, Any]

    def __call__(self) -> Source:
        """Make the source, not yet open."""
        source: Source = getattr(import_module(self.module), self.name)(**self.arguments)
        return source
