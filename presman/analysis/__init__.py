"""Turns two snapshots into a reading. Pure functions: no I/O, no clock, nothing but the standard library and XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from presman.analysis.assemble import analyse
    from presman.analysis.waits import percent_under

__all__ = ["analyse", "percent_under"]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only then: the screen needs the shape of a reading long before the analysis."""
    if name == "analyse":
        from presman.analysis.assemble import analyse

        return analyse
    if name == "percent_under":
        from presman.analysis.waits import percent_under

        return percent_under
    raise AttributeError(name)
