"""Survey of trace files, one after the other; only the figures of each are kept."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field

from presman.base.text import clean
from presman.trace.tally import EventTallies, Summary, Trail
from presman.trace.trace_files import TraceError, TraceFile
from presman.trace.trace_parser import LONGEST_WAIT, START, EventSelection, FileFigures, TraceParser, WaitColumns

# ---- Pieces of a trace, never cut within a wait or a statement; the texts of statements are left out


LONGEST_STATEMENT = 65_536
"""Bytes of a statement with its header; the end of a longer one is not searched for."""

_OPEN = b"PARSING IN CURSOR #"
_CLOSE = b"\nEND OF STMT"


def pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Regroup blocks that are cut anywhere, so that no piece ends within a wait or the text of a statement.

    At most LONGEST_WAIT or LONGEST_STATEMENT bytes are held back. If reading fails, complete lines still count.
    """
    held = b""
    try:
        for block in blocks:
            text = held + block
            cut = _cut(text)
            if cut:
                yield text[:cut]
            held = text[cut:]
    except TraceError:
        yield held[: held.rfind(b"\n") + 1]
        raise
    yield held


def _cut(text: bytes) -> int:
    """Return the position of the last wait or open statement in `text`, complete or just beginning.

    The byte before a wait stays with it: it distinguishes a wait from a quotation.
    """
    opened, done = text.rfind(_OPEN, max(0, len(text) - LONGEST_STATEMENT)), 0
    if opened >= 0:
        closed = text.find(_CLOSE, opened)
        if closed < 0:
            return max(0, opened - 1)
        done = closed + len(_CLOSE)
    window = max(done, len(text) - LONGEST_WAIT)
    start = text.rfind(START, window)
    while start > window and 0x20 <= text[start - 1] <= 0x7E:
        start = text.rfind(START, window, start)
    if start >= 0:
        return max(done, start - 1)
    # The block may end within the first words of a statement or a wait: as many bytes are held back.
    cut = max(done, len(text) - len(_OPEN))
    return cut + text.startswith(START, cut)


def without_statements(piece: bytes) -> bytes:
    """Return `piece` without the texts of SQL statements: a wait within one of them is only a quotation.

    A statement without an end is not removed.
    """
    parts, start, closed = [], 0, -1
    opened = piece.find(_OPEN)
    while opened >= 0:
        if closed < opened and (closed := piece.find(_CLOSE, opened)) < 0:
            break
        another = piece.find(_OPEN, opened + 1)
        if closed - opened < LONGEST_STATEMENT and not 0 <= another < closed:
            parts.append(piece[start:opened])
            start = closed
        opened = another
    return b"".join((*parts, piece[start:])) if parts else piece


# ---- Survey of trace files, one after the other; only the figures of each are kept


_MOST_EVENTS = 3_000
"""Different events above which a file counts as damaged; Oracle has about two thousand."""
_MOST_SLOTS = 30_000
"""Slots of the trails of all events together."""


@dataclass(eq=False)
class Survey:
    """Sums up files. `trails` (one for each event, for scatters) are kept only on request.

    `on_waits` is called with every batch of waits, `moved` with file name, bytes read, size and bytes decompressed.
    Without `on_waits` and trails the order of waits does not matter, and they are only counted.
    """

    selection: EventSelection
    _: KW_ONLY
    keep_trails: bool = False
    on_waits: Callable[[WaitColumns], None] | None = None
    moved: Callable[[str, int, int, int], None] = lambda *_: None
    files: list[FileFigures] = field(init=False, default_factory=list)
    interrupted: bool = field(init=False, default=False)
    total: EventTallies = field(init=False, default_factory=EventTallies)
    trails: dict[str, Trail] = field(init=False, default_factory=dict)

    def add(self, trace: TraceFile) -> FileFigures:
        """Read a whole file. A truncated one counts up to its end, with `error` set.

        So does one that the user interrupts, with `interrupted` set.
        """
        figures = FileFigures(clean(trace.name), ticks=trace.unit)
        parser, ledger = TraceParser(self.selection, figures), EventTallies()
        try:
            self._read(trace, parser, ledger)
        except TraceError as error:
            figures.error = str(error)
        except KeyboardInterrupt:
            self.interrupted = True
            figures.error = "interrupted; what was read so far counts"
        figures.summaries = [tally.summary(event, figures.name) for event, tally in ledger.tallies.items()]
        self.total.merge(ledger)
        self.files.append(figures)
        return figures

    @property
    def is_unread(self) -> bool:
        """Whether there are wait lines but none of them was understood."""
        return any(file.unread for file in self.files) and not any(file.understood for file in self.files)

    def totals(self) -> list[Summary]:
        """Return the figures of each event over all files, the event with the most time first."""
        summaries = [tally.summary(event, None) for event, tally in self.total.tallies.items()]
        return sorted(summaries, key=lambda summary: (-summary.total, summary.event))

    def _read(self, trace: TraceFile, parser: TraceParser, ledger: EventTallies) -> None:
        read = 0

        def counted() -> Iterator[bytes]:
            nonlocal read
            for block in trace.blocks():
                read += len(block)
                yield block

        consume = self._in_order if self.keep_trails or self.on_waits else TraceParser.count
        try:
            for piece in map(without_statements, pieces(counted())):
                consume(parser, piece, ledger)
                if len(ledger.tallies) > _MOST_EVENTS:
                    raise TraceError(f"more than {_MOST_EVENTS:,} different events: this file is damaged")
                self.moved(trace.name, trace.position, trace.size, read)
        finally:
            parser.settle(ledger)

    def _in_order(self, parser: TraceParser, piece: bytes, ledger: EventTallies) -> None:
        waits = parser.waits(piece)
        ledger.add(*waits)
        if self.on_waits:
            self.on_waits(waits)
        if self.keep_trails:
            self._follow(waits)

    def _follow(self, waits: WaitColumns) -> None:
        times: dict[str, list[int]] = {}
        for event, time in zip(waits.events, waits.elapsed, strict=True):
            times.setdefault(event, []).append(time)
        for event, series in times.items():
            self.trails.setdefault(event, Trail()).add(series)
        slots = sum(map(len, self.trails.values()))
        while slots > max(_MOST_SLOTS, 2 * len(self.trails)):  # with thousands of events, two slots each must do
            largest = max(self.trails.values(), key=len)
            slots -= len(largest)
            largest.thin()
            slots += len(largest)
