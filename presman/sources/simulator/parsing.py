"""SQL statements: text and SQL_ID, the DOP at parse time and its reason, the plan and its OTHER_XML."""

import re
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from presman.base.release import Release

try:  # `hashlib` loads OpenSSL, which takes most of a megabyte
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:  # a Python without `_md5`
    from hashlib import md5

_ALPHABET = "0123456789abcdfghjkmnpqrstuvwxyz"
"""The digits of a SQL_ID: base 32 without e, i, l and o."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Escapes for XML; the standard library's function would import its HTTP modules."""

_IO_SHARE = 0.8
"""Derived I/O DOP as a fraction of the derived CPU DOP, as in published listings (40 of 51)."""


@cache
def sql_id_of(text: str) -> str:
    """Return the SQL_ID of a text: the last 64 bits of the MD5 hash of the text and a zero byte, in base 32."""
    digest = md5(text.encode() + b"\0", usedforsecurity=False).digest()
    high, low = (int.from_bytes(digest[start : start + 4], "little") for start in (8, 12))
    number = high << 32 | low
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(60, -1, -5))


_Step = tuple[str, str | None, str | None, str | None, str | None]


class PlanOperation(NamedTuple):
    """One line of an execution plan."""

    id: int
    parent: int | None
    depth: int
    operation: str
    options: str | None
    object_name: str | None
    object_node: str | None
    distribution: str | None


_WRITTEN = 0.3
"""MB that a writing statement writes per MB read."""

_VERBS = frozenset({"SELECT", "INSERT", "MERGE", "UPDATE", "DELETE"})

_TABLE = re.compile(r"\b(?:from|using|update)\s+(?:\w+\.)?([a-z]\w*)", re.IGNORECASE)
"""Matches the name of the first table that a statement reads."""


@dataclass(slots=True)
class Cursor:
    """A child cursor: one text parsed to one DOP. `asked` is the requested DOP before any limit.

    Its plan has `trees` data flow trees of `sets` server sets each, which run one after the other.

    The counters are those of V$SQL, with times in seconds.
    """

    sql_id: str
    child: int
    text: str
    user: str
    asked: int
    dop: int
    sets: int
    reason: str
    automatic: bool
    loaded: float
    trees: int = 1
    plan_hash: int = 0
    executions: int = 0
    px_executions: int = 0
    elapsed: float = 0.0
    cpu: float = 0.0
    mb: float = 0.0
    _xml: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Compute the hash value of the plan."""
        self.plan_hash = zlib.crc32(f"{self.sql_id}/{self.sets * self.trees if self.dop > 1 else 0}".encode())

    @property
    def writes(self) -> bool:
        """Whether it is DML or DDL."""
        return self.text.lstrip().lower().startswith(("insert", "merge", "create", "update", "delete"))

    @property
    def writing(self) -> float:
        """The MB it writes per MB read."""
        return _WRITTEN if self.writes else 0.0

    @property
    def table(self) -> str:
        """The table that it reads: the first one in its text, without the schema."""
        found = _TABLE.search(self.text)
        return found[1].upper() if found else "SALES"

    def other_xml(self, release: Release) -> str:
        """Return the OTHER_XML document of the plan."""
        if not self._xml:
            facts = ((kind, value.translate(_ESCAPES)) for kind, value in self._facts(release))
            items = "".join(f'<info type="{kind}">{value}</info>' for kind, value in facts)
            self._xml = f"<other_xml>{items}</other_xml>"
        return self._xml

    def _facts(self, release: Release) -> list[tuple[str, str]]:
        facts: list[tuple[str, str]] = []
        if self.automatic:
            by_io = max(1, round(self.asked * _IO_SHARE))
            facts += [("derived_cpu_dop", str(self.asked)), ("derived_io_dop", str(by_io))]
        if self.reason:
            facts.append(("dop_reason", self.reason))
        if self.automatic or self.dop > 1:
            facts.append(("dop", str(self.dop)))
        if release >= Release(12, 1):
            facts += [("px_in_memory_imc", "no"), ("px_in_memory", "no")]
        facts += [("db_version", str(release)), ("parse_schema", f'"{self.user}"')]
        facts += [("plan_hash_full", str(self.plan_hash ^ 0x5A5A5A5A)), ("plan_hash", str(self.plan_hash))]
        return facts

    def lines(self) -> list[PlanOperation]:
        """Return the lines of its plan, from line 0."""
        verb = self.text.split(None, 1)[0].upper()
        verb = "CREATE TABLE" if verb == "CREATE" else verb if verb in _VERBS else "SELECT"
        plan = [PlanOperation(0, None, 0, f"{verb} STATEMENT", None, None, None, None)]
        if self.dop == 1:
            return [*plan, PlanOperation(1, 0, 1, "TABLE ACCESS", "FULL", self.table, None, None)]
        if self.trees > 1:
            plan.append(PlanOperation(1, 0, 1, "TEMP TABLE TRANSFORMATION", None, None, None, None))
        parent = plan[-1]
        for tree in range(1, self.trees + 1):
            above = parent
            for step in _tree(tree, self.sets, self.table):
                above = PlanOperation(len(plan), above.id, above.depth + 1, *step)
                plan.append(above)
        return plan


def _tree(number: int, sets: int, table: str) -> list[_Step]:
    """Return the operations of one data flow tree; each is the only child of the previous one."""

    def queue(operation: int) -> tuple[str, str]:
        return f":TQ{number}{operation:04}", f":Q{number}{operation:03}"

    (last, node), (first, scan) = queue(sets - 1), queue(0)
    steps: list[_Step] = [("PX COORDINATOR", None, None, None, None)]
    steps.append(("PX SEND", "QC (RANDOM)", last, node, "QC (RANDOM)"))
    if sets > 1:
        steps += [
            ("HASH", "GROUP BY", None, node, None),
            ("PX RECEIVE", None, None, node, None),
            ("PX SEND", "HASH", first, scan, "HASH"),
        ]
    return [*steps, ("PX BLOCK", "ITERATOR", None, scan, None), ("TABLE ACCESS", "FULL", table, scan, None)]


class Parsed(NamedTuple):
    """The result of parsing: the DOP, its reason, and whether automatic DOP determined it."""

    dop: int
    reason: str
    automatic: bool


def parse(asked: int, reason: str, policy: str, degree_limit: int, group_limit: int | None) -> Parsed:
    """Return the DOP of a statement that requests `asked`.

    Automatic DOP applies the limits of the parameter and the group at parse time. A degree from a hint, the session or
    a table is reduced to the group's limit only when the statement starts, which shows as a downgrade.
    """
    if reason != "auto":
        return Parsed(asked, reason, False)
    if policy == "MANUAL":
        return Parsed(1, "", False)
    ceiling = degree_limit if group_limit is None else min(degree_limit, group_limit)
    if asked <= 1:
        return Parsed(1, "parallel threshold", True)
    if asked > ceiling:
        return Parsed(max(1, ceiling), "degree limit", True)
    return Parsed(asked, "", True)


class Library:
    """The shared pool: every cursor by SQL_ID and child number."""

    def __init__(self) -> None:
        self.cursors: dict[tuple[str, int], Cursor] = {}
        self._children: dict[tuple[object, ...], Cursor] = {}

    def cursor(
        self, text: str, user: str, asked: int, sets: int, parsed: Parsed, now: float, sql_id: str = "", trees: int = 1
    ) -> Cursor:
        """Return the child cursor for `text` with this result of parsing; create it if it is new."""
        sql_id = sql_id or sql_id_of(text)
        key = (sql_id, user, asked, sets, trees, parsed)
        if key not in self._children:
            child = sum(1 for known, _ in self.cursors if known == sql_id)
            made = Cursor(
                sql_id, child, text, user, asked, parsed.dop, sets, parsed.reason, parsed.automatic, now, trees
            )
            self._children[key] = self.cursors[sql_id, child] = made
        return self._children[key]
