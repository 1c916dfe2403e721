"""View of a fleet as the user set it: lasts while databases are opened and left, and is kept between runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from presman.tui import kept_view
from presman.tui.kept_view import KeptView

_TABLE = "fleet"


@dataclass
class FleetView:
    """What is set: sorting, columns, filter, signs, colours, seconds between polls; where the cursor stands.

    None or "" is as it is by itself. `cursor` is the name of a database, `row` the row at the top of the screen.
    """

    name: str
    sort_key: str = ""
    descending: bool = False
    columns: tuple[str, ...] = ()
    filter: str = ""
    theme: str | None = None
    ascii_only: bool | None = None
    interval: float | None = None
    cursor: str | None = None
    row: int = 0
    trouble: str = ""
    _kept: KeptView = field(default_factory=KeptView)

    @classmethod
    def load(cls, name: str) -> FleetView:
        """Return the view that is kept for a fleet of that name; `trouble` says why a file there was not used."""
        kept, trouble = kept_view.load(f"fleet {name}")
        sort_key, descending = kept.sorts.get(_TABLE, ("", False))
        return cls(
            name, sort_key, descending, tuple(kept.columns.get(_TABLE, ())), kept.filters.get(_TABLE, ""),
            kept.theme, kept.ascii_only, kept.refresh, trouble=trouble, _kept=kept,
        )  # fmt: skip

    def save(self) -> None:
        """Keep what is set, if it differs from what is kept. Raises OSError."""
        view = KeptView(
            self.theme, self.interval, None, None, None, self.ascii_only,
            {_TABLE: self.filter} if self.filter else {},
            {_TABLE: (self.sort_key, self.descending)} if self.sort_key or self.descending else {},
            {_TABLE: self.columns} if self.columns else {},
        )  # fmt: skip
        if view != self._kept:
            kept_view.save(f"fleet {self.name}", view)
            self._kept = view
