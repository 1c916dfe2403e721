"""Survey of trace files, one after the other; of each only its figures are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from presman.base.text import clean
from presman.trace.pieces import pieces, without_statements
from presman.trace.sampling import Trail
from presman.trace.tally import EventTallies, Summary
from presman.trace.trace_files import TraceError, TraceFile
from presman.trace.trace_parser import TraceParser, WaitColumns
from presman.trace.wait_counts import EventSelection

_MOST_EVENTS = 3_000
"""Oracle knows some two thousand."""
_MOST_SLOTS = 30_000


class FileFigures(Struct):
    """What one file said."""

    name: str
    summaries: list[Summary] = field(default_factory=list)
    idle: int = 0
    """Waits left out because their event is idle."""
    damaged: int = 0
    """Waits skipped because of an impossible elapsed time."""
    understood: int = 0
    """Lines of waits that were read, whatever their event."""
    unread: int = 0
    """Lines that begin as a wait and were not understood."""
    example: str = ""
    """The first of them."""
    ticks: int = 1
    """Microseconds of one tick in the file; 10,000 before 9i."""
    error: str | None = None
    """Why reading ended early."""


class Survey:
    """Adds up files. `trails` (of each event, for scatters) are kept only on request.

    `heard` is called with every batch of waits, `moved` with file name, bytes done, bytes in all and bytes unpacked.
    Without `heard` and trails the order of waits does not matter, and they are only counted.
    """

    def __init__(
        self,
        selection: EventSelection,
        *,
        keep_trails: bool = False,
        heard: Callable[[WaitColumns], None] | None = None,
        moved: Callable[[str, int, int, int], None] = lambda *_: None,
    ) -> None:
        self.files: list[FileFigures] = []
        self.interrupted = False
        self.total = EventTallies()
        self.trails: dict[str, Trail] = {}
        self._selection = selection
        self._keep_trails = keep_trails
        self._heard = heard
        self._moved = moved

    def add(self, trace: TraceFile) -> FileFigures:
        """Read a whole file. One that ends before its time counts as far as it goes, with `error` set.

        So does one that the user interrupts, with `interrupted` set.
        """
        parser = TraceParser(self._selection, unit=trace.unit)
        figures = FileFigures(clean(trace.name), ticks=trace.unit)
        ledger = EventTallies()
        try:
            self._read(trace, parser, ledger)
        except TraceError as error:
            figures.error = str(error)
        except KeyboardInterrupt:
            self.interrupted = True
            figures.error = "interrupted; what was read so far counts"
        figures.idle, figures.damaged = parser.idle, parser.damaged
        figures.understood, figures.unread, figures.example = parser.understood, parser.unread, parser.example
        figures.summaries = [tally.summary(event, figures.name) for event, tally in ledger.tallies.items()]
        self.total.merge(ledger)
        self.files.append(figures)
        return figures

    @property
    def is_unread(self) -> bool:
        """Whether there are lines of waits and none of them was understood."""
        return any(file.unread for file in self.files) and not any(file.understood for file in self.files)

    def totals(self) -> list[Summary]:
        """Return the figures of each event in all files, the event that took most time first."""
        summaries = [tally.summary(event, None) for event, tally in self.total.tallies.items()]
        return sorted(summaries, key=lambda summary: (-summary.total, summary.event))

    def _read(self, trace: TraceFile, parser: TraceParser, ledger: EventTallies) -> None:
        read = 0

        def counted() -> Iterator[bytes]:
            nonlocal read
            for block in trace.blocks():
                read += len(block)
                yield block

        consume = self._in_order if self._keep_trails or self._heard else TraceParser.count
        try:
            for piece in map(without_statements, pieces(counted())):
                consume(parser, piece, ledger)
                if len(ledger.tallies) > _MOST_EVENTS:
                    raise TraceError(f"more than {_MOST_EVENTS:,} different events: this file is damaged")
                self._moved(trace.name, trace.position, trace.size, read)
        finally:
            parser.settle(ledger)

    def _in_order(self, parser: TraceParser, piece: bytes, ledger: EventTallies) -> None:
        waits = parser.waits(piece)
        ledger.add(*waits)
        if self._heard:
            self._heard(waits)
        if self._keep_trails:
            self._follow(waits)

    def _follow(self, waits: WaitColumns) -> None:
        times: dict[str, list[int]] = {}
        for event, time in zip(waits.events, waits.elapsed, strict=True):
            times.setdefault(event, []).append(time)
        for event, series in times.items():
            self.trails.setdefault(event, Trail()).add(series)
        slots = sum(map(len, self.trails.values()))
        while slots > max(_MOST_SLOTS, 2 * len(self.trails)):
            largest = max(self.trails.values(), key=len)
            slots -= len(largest)
            largest.thin()
            slots += len(largest)
