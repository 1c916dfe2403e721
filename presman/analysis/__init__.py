"""Turns two snapshots into a reading. Pure functions: no I/O, no clock, nothing but the standard library and XML."""

from __future__ import annotations

from presman.analysis.assemble import analyse
from presman.analysis.waits import percent_under

__all__ = ["analyse", "percent_under"]
