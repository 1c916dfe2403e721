"""First look at a source: the early part of its first poll, analysed in the source's process, for the first frame."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct

from presman.rows.queries import DetailLevel, Scope

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.rows.snapshot import Snapshot
    from presman.sources import Source


class _Enough(Exception):  # noqa: N818 - nothing is wrong
    """The snapshot has enough for the first frame."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class PreviewReader(Struct, frozen=True):
    """Reads like the first poll, with the given packs and time limit, and returns the Reading.

    It is called in the process of the source: the monitor need not import the analysis before the first frame.
    """

    scope: Scope
    packs: Collection[str]
    budget: float

    def __call__(self, source: Source) -> Reading:
        """Return the early reading. Raises SourceError."""
        from presman.analysis.assemble import analyse

        return analyse(None, self._poll(source))

    def _poll(self, source: Source) -> Snapshot:
        from presman.polling.poller import Poller

        source.scope = self.scope
        poller = Poller(source, packs=self.packs)
        poller.detail_level, poller.budget = DetailLevel.NARROW, self.budget
        poller.open()
        try:
            # The callback gets the first part of the poll and ends it: the first frame shows no more.
            return poller.poll(_enough)
        except _Enough as enough:
            return enough.snapshot


def _enough(snapshot: Snapshot) -> NoReturn:
    raise _Enough(snapshot)
