"""Raw values: what several figures say of a row, read at once, because there are hundreds of rows in a poll."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from presman.recording.measure_tables import KeptFigure

Values = tuple[Any, ...]


class RawValues:
    """Reads some figures of a row, and makes of them what is kept."""

    def __init__(self, figures: Sequence[KeptFigure]) -> None:
        paths = [each.figure.path for each in figures]
        by_head: dict[str, list[str]] = {}
        for path in filter(None, paths):
            head, _, rest = path.rpartition(".")
            by_head.setdefault(head, []).append(rest)
        self._plain = _getter(by_head.pop("", []))
        self._parts = [(attrgetter(head), _getter(names), (None,) * len(names)) for head, names in by_head.items()]
        # The order in which they are read: plain attributes, attributes of a part, what a function works out.
        heads = ["", *by_head]
        ranks = [heads.index(path.rpartition(".")[0]) if path else len(heads) for path in paths]
        order = sorted(range(len(figures)), key=ranks.__getitem__)
        self._functions = [figures[place].figure.value for place in order if not paths[place]]
        self._keep = [(each.keep, order.index(place)) for place, each in enumerate(figures)]

    def read(self, row: Any) -> Values:
        """Return the values in an order of their own; where a part of the row is None, all of it is."""
        found = self._plain(row)
        for head, names, blank in self._parts:
            part = head(row)
            found += blank if part is None else names(part)
        return (*found, *[value(row) for value in self._functions]) if self._functions else found

    def kept(self, raw: Values) -> list[Any]:
        """Return what is kept of values that were read, in the order of the figures."""
        return [keep(raw[place]) for keep, place in self._keep]


def _getter(names: Sequence[str]) -> Callable[[Any], Values]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda row: tuple(getattr(row, name) for name in names)
