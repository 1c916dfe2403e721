"""Analysis: two snapshots make a reading. Pure: no I/O, no clock, nothing but the standard library and XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from presman.analysis.assemble import analyse

__all__ = ["analyse"]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only then: the screen needs the shape of a reading long before the analysis."""
    if name == "analyse":
        from presman.analysis.assemble import analyse

        return analyse
    raise AttributeError(name)
