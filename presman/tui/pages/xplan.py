"""An execution plan as text, in the layout that DBMS_XPLAN has made everyone used to."""

from collections.abc import Callable, Sequence

from presman.analysis.readings.session_readings import PlanStep
from presman.base.text import one_line

_Part = tuple[str, Callable[[PlanStep], str], bool]
"""Head, text, and whether it is aligned to the right."""


def _scaled(value: int | None) -> str:
    """Return a number as DBMS_XPLAN shortens it: 40M, 6250K."""
    if value is None:
        return ""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "K")):
        if value >= 10 * size:
            return f"{value // size}{unit}"
    return str(value)


def _time(seconds: int | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _id(step: PlanStep) -> str:
    return f"{'*' if step.access or step.filter else ' '}{step.id:>3}"


_PARTS: tuple[_Part, ...] = (
    ("Id", _id, True),
    ("Operation", lambda step: " " * min(step.depth, 60) + step.operation, False),
    ("Name", lambda step: step.name, False),
    ("Rows", lambda step: _scaled(step.rows), True),
    ("Bytes", lambda step: _scaled(step.bytes), True),
    ("Cost", lambda step: _scaled(step.cost), True),
    ("Time", lambda step: _time(step.seconds), False),
    ("Pstart", lambda step: step.partitions[0], True),
    ("Pstop", lambda step: step.partitions[1], True),
    ("TQ", lambda step: step.queue, True),
    ("IN-OUT", lambda step: step.in_out, False),
    ("PQ Distrib", lambda step: step.distribution, False),
)
_ALWAYS = frozenset({"Id", "Operation", "Name"})
_FIRST_TO_GO = ("Bytes", "Pstart", "Pstop", "Time", "Rows", "Cost", "PQ Distrib", "IN-OUT", "TQ", "Name")
"""What is left out where there is no room, in this order."""

_LONGEST = 2000


def xplan(plan: Sequence[PlanStep], plan_hash: int | None = None, width: int | None = None) -> list[str]:
    """Return the lines of a plan: the table, then the predicates. Columns without any value are left out.

    So are, where a `width` is given, those that there is no room for.
    """
    if not plan:
        return []
    columns = {}
    for head, text, right in _PARTS:
        cells = [text(step) for step in plan]
        if head in _ALWAYS or any(cell.strip() for cell in cells):
            widest = max(len(head), *map(len, cells))
            columns[head] = [cell.rjust(widest) if right else cell.ljust(widest) for cell in (head, *cells)]
    for head in _FIRST_TO_GO:
        if width is not None and sum(len(cells[0]) + 3 for cells in columns.values()) + 1 > width:
            columns.pop(head, None)
    rows = ["| " + " | ".join(cells) + " |" for cells in zip(*columns.values(), strict=True)]
    rule = "-" * len(rows[0])
    lines = [] if plan_hash is None else [f"Plan hash value: {plan_hash}", ""]
    return [*lines, rule, rows[0], rule, *rows[1:], rule, *_predicates(plan)]


def _predicates(plan: Sequence[PlanStep]) -> list[str]:
    found = []
    for step in plan:
        for kind, text in (("access", step.access), ("filter", step.filter)):
            if text:
                found.append(f"{step.id:>4} - {kind}({one_line(text, _LONGEST)})")
    return ["", "Predicate Information (identified by operation id):", *found] if found else []
