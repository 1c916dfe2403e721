"""View of the simulator: a name, columns, and a function from the simulation to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from presman.sources.simulator.simulation import Simulation

Row = tuple[Any, ...]


def always(simulation: Simulation) -> object:
    """Stamp of a view that changes with time."""
    return simulation.now


def with_plans(simulation: Simulation) -> object:
    """Stamp of a view that changes when a plan is activated."""
    return simulation.plans.version


def never(_: Simulation) -> object:
    """Stamp of a view that stays as it is."""
    return 0


class View(Struct, frozen=True):
    """One view. `columns` begin with INST_ID if it is `global_`, i.e. exists as V$ and GV$.

    `stamp` tells when its rows may have changed: as long as it returns the same, they have not.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Simulation], Iterable[Row]]
    stamp: Callable[[Simulation], object] = always

    @property
    def global_(self) -> bool:
        """Whether each row belongs to an instance."""
        return self.name.startswith("V$")


def columns(text: str) -> tuple[str, ...]:
    """Split a list of column names written as words."""
    return tuple(text.split())


def when(simulation: Simulation, seconds: float | None) -> str | None:
    """Return an instant of the simulation as the DATE text of the embedded database, in UTC."""
    return None if seconds is None else _date(simulation.origin, int(seconds // 1))


@lru_cache(maxsize=1024)
def _date(origin: datetime, seconds: int) -> str:
    moment = origin + timedelta(seconds=seconds)
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")
