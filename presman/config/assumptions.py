"""The assumptions: what presman takes as so though no document says all of it, and how a database confirms each.

Each has a SELECT that anyone may run, and a way to read its answer; `presman doctor --assumptions TARGET` does both.
Some take more than a SELECT: then it is said what to try. Where a document says a part, it is named; what a document
says in full is no assumption and not here. docs/proof.md lists them, written from here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from presman.base.formats import count
from presman.base.release import Release
from presman.base.text import one_line
from presman.config.target import Target
from presman.rows.queries import Cadence, Query, Scope
from presman.rows.query_files import OLDEST
from presman.rows.snapshot import Section
from presman.sources import Request, Source

_MOST = 6
"""The most rows of an answer that are shown."""

_WIDTH = 400


class Observation(NamedTuple):
    """A row of a check's answer: what it is about, a figure, and one to hold it against."""

    name: str
    value: float | None
    against: float | None


class Assumption(Struct, frozen=True, forbid_unknown_fields=True):
    """`taken` is what presman takes as so, and what hangs on it; `confirmed` when it is.

    `sql` selects observations, from release `since` on; without it `confirmed` says what to try by hand. `document` is
    which manual says what, and what it leaves open; "" where none was found.

    How the answer is read: `only` these names may be there; figures lie `between` so many times what they are held
    against (1 where there is nothing), or are a small `multiple` of it, as servers are of a degree; else one looks.
    """

    key: str
    taken: str
    confirmed: str
    sql: str = ""
    only: tuple[str, ...] | None = None
    between: tuple[float, float] | None = None
    multiple: bool = False
    since: Release = OLDEST
    document: str = ""

    def query(self) -> Query:
        """Return the check as a query. It has no file: it is asked by nobody but `doctor`."""
        view = self.sql.partition("FROM ")[2].split()[0].upper().replace("V$", "V_$")
        return Query(
            self.key, Observation, self.taken, Cadence.DEMAND, view, "none", self.since, self.sql, Path(self.key)
        )

    def judge(self, rows: Sequence[Observation]) -> str:
        """Read an answer of at least one row; return a sentence that begins with holds, does NOT hold, or look."""
        if self.only is None and self.between is None and not self.multiple:
            return f"look: {_rows_in_words(rows)}"
        others = [row for row in rows if not self._fits(row)]
        also = "also " if self.only is not None else ""
        return f"does NOT hold: {also}{_rows_in_words(others)}" if others else f"holds: {_rows_in_words(rows)}"

    def _fits(self, row: Observation) -> bool:
        if self.only is not None:
            return row.name in self.only
        if self.between is not None:
            low, high = (times * (1.0 if row.against is None else row.against) for times in self.between)
            return row.value is None or low <= row.value <= high
        return bool(row.value and row.against and row.value / row.against in {1, 2, 3, 4})


ASSUMPTIONS = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, tuple[Assumption, ...]]
)["assumption"]


def _rows_in_words(rows: Sequence[Observation]) -> str:
    """Return some rows in words.

    >>> _rows_in_words([Observation("BATCH", 16, 8), Observation("ETL", 4, None), Observation("RUNNING", None, None)])
    'BATCH 16 (8), ETL 4, RUNNING'
    """
    parts = [
        (row.name or "(empty)") + ("" if row.value is None else f" {_number(row.value)}")
        + ("" if row.against is None else f" ({_number(row.against)})")
        for row in rows[:_MOST]
    ]  # fmt: skip
    more = f" and {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return one_line(", ".join(parts) + more, _WIDTH)


def _number(value: float) -> str:
    return count(round(value)) if value == round(value) else f"{value:.2f}"


def check(target: Target, *, scope: Scope = Scope.CLUSTER) -> Iterator[str]:
    """Yield what the database says of each assumption, as lines. Raises SourceError if `target` cannot be read."""
    source = target.make_source()
    source.scope = scope
    try:
        release = source.open()
        source.advance()
        yield f"{source.name}: what presman assumes, and what this database shows of it. Only SELECTs are sent."
        for each in ASSUMPTIONS:
            yield from ("", f"{each.key}: {each.taken}")
            yield f"  confirmed if: {each.confirmed}"
            if each.document:
                yield f"  document: {each.document}"
            if each.sql:
                yield f"  {each.query().sql(scope)}"
                yield f"  → {_answer(each, source, release)}"
    finally:
        source.close()


def _answer(each: Assumption, source: Source, release: Release) -> str:
    if release < each.since:
        return f"not asked: {each.since} or later has it"
    section = source.read([Request(each.query())]).sections[0]
    return unseen(section) or each.judge(section.rows)


def unseen(section: Section) -> str:
    """Return why an answer tells nothing, "" if it does: no rows are no confirmation."""
    if section.problem:
        return f"not known: {section.problem}"
    if section.absent & {"name", "value"}:
        return "not known: the view, or a column of it, is not there"
    return "" if section.rows else "not seen: there is no such row now"
