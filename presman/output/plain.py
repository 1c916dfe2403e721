"""A Reading as text without a screen: for pipes, logs, mails and terminals that can do nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from presman import tables
from presman.analysis.assessment import Assessment
from presman.analysis.io_limits import explain
from presman.analysis.latency import Latency, summaries
from presman.analysis.lint_case import Finding, Severity
from presman.analysis.pdbs import io_limited
from presman.analysis.reading import CLUSTER, Header, Reading, ServerPool
from presman.analysis.waiting import OutlierReading
from presman.columns import Table
from presman.formats import ABSENT, count, duration, number
from presman.output.cells import instant
from presman.output.grid import table
from presman.output.measures import groups
from presman.tables.histogram import OUTLIERS, redo_text
from presman.tables.latency import HISTOGRAMS
from presman.tables.pdbs import PDBS
from presman.tables.plan import FINDINGS, MAPPINGS, PLAN, WINDOWS
from presman.tables.waiters import CPU_WAITERS

_BUSIEST = 10
"""How many waits and sessions are shown."""

_ALWAYS = (tables.OVERVIEW, tables.QUEUE, tables.RUNNING, FINDINGS)
"""Tables whose emptiness is news."""

_SIGNS = {"█": "used", "▒": "waiting", "│": "entitled", "┊": "limit", "▶": "over the edge"}
"""What the parts of a bar mean; its full width is all there is."""

_ASCII = str.maketrans(
    {
        "█": "#",
        "▒": ":",
        "░": ".",
        "│": "|",
        "┊": "!",
        "▶": ">",
        "◂": "<",
        "●": "*",
        "○": "o",
        "▲": "^",
        "▼": "v",
        "✕": "x",
        "▬": "=",
        "·": ".",
        "…": "~",
        "µ": "u",
        "–": "-",
        "—": "-",
        "×": "x",
        "≥": ">",
        "≤": "<",
        "→": ">",
    }
)


def ascii_only(text: str) -> str:
    """Return `text` in ASCII, cell for cell: known signs by their likeness, the rest as ``?``.

    >>> ascii_only("██▒ ✕ starved 512µs")
    '##: x starved 512us'
    """
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def brief(reading: Reading, width: int | None = None) -> str:
    """Return one reading in a few lines: header, alerts and the groups. Ends in a newline."""
    return _join([*_head(reading, width), "", *_table(tables.OVERVIEW, reading.cluster_groups(), width)])


def full(reading: Reading, width: int | None = None, assessment: Assessment | None = None) -> str:
    """Return one reading with all its tables, and those of its assessment. Ends in a newline."""
    lines = _head(reading, width)
    if assessment is not None:
        lines += ["", *_verdicts(assessment, width)]
    apart = groups(reading)
    parts: list[tuple[Table[Any], Sequence[Any]]] = [
        (tables.OVERVIEW, reading.cluster_groups()),
        (tables.CPU, apart),
        (tables.IO, apart),
        (tables.PARALLEL_GROUPS, apart),
        (tables.SERVERS, reading.header.instances),
        (tables.QUEUE, reading.queue),
        (tables.RUNNING, reading.running),
        (tables.WAITS, _busiest(tables.WAITS, reading.waits)),
        (HISTOGRAMS, _latencies(reading)),
        (tables.DOWNGRADES, reading.downgrades),
        (tables.SESSIONS, reading.sessions),
        *(_assessed(assessment) if assessment is not None else ()),
    ]
    for shown, rows in parts:
        if not rows and shown not in _ALWAYS:
            continue
        lines += ["", *_wrapped(f"-- {shown.title} ({len(rows)})", width), *_table(shown, rows, width)]
    for found in reading.outliers:
        lines += ["", *_outliers(found, width)]
    return _join(lines)


def _outliers(found: OutlierReading, width: int | None) -> list[str]:
    """Return what a view of I/O outliers says, and why its latencies are not believed."""
    lines = _wrapped(f"-- {found.view} ({len(found.rows)})", width)
    lines += [piece for why in found.doubts for piece in _wrapped(f"! latencies not believed: {why}", width)]
    return [*lines, *_table(OUTLIERS, found.rows, width)]


def findings(reading: Reading, found: Sequence[Finding], width: int | None = None) -> str:
    """Return the findings about the plans, one paragraph each. Ends in a newline."""
    lines = _wrapped(f"{reading.header.database or reading.target}  plan {reading.header.plan or 'none'}", width)
    for each in found:
        where = " ".join(part for part in (each.plan, each.subject) if part)
        lines += ["", *_wrapped(f"{each.severity.value}: {where}: {each.text}", width)]
        lines += _wrapped(f"  {each.rule}  ({each.source})", width)
    counts = ", ".join(
        f"{many} {severity.value}{'s' if many != 1 else ''}"
        for severity in Severity
        if (many := sum(each.severity is severity for each in found))
    )
    return _join([*lines, "", counts or "no finding"])


def _verdicts(assessment: Assessment, width: int | None) -> list[str]:
    """Return how well the plan is kept, and the verdict on each group in words."""
    lines = [f"instance {each.inst_id}: {each.sentence}" for each in assessment.conformance if each.sentence]
    single = len({each.con_id for each in assessment.verdicts}) < 2
    lines += [
        f"{each.group}{'' if single else f' (container {each.con_id})'}: {each.text}"
        for each in assessment.verdicts
        if each.inst_id == CLUSTER
    ]
    for row in io_limited(assessment.pdbs):
        where = f" on instance {row.inst_id}" if row.inst_id != CLUSTER else ""
        lines.append(f"{row.name} I/O{where}: {explain(row)}")
    return [piece for line in lines for piece in _wrapped(line, width)]


def _assessed(assessment: Assessment) -> Sequence[tuple[Table[Any], Sequence[Any]]]:
    return (
        (PDBS, assessment.pdbs),
        (CPU_WAITERS, assessment.cpu_waiters),
        (PLAN, assessment.plan.lines),
        *((PLAN, each.lines) for each in assessment.other_plans),
        (FINDINGS, assessment.findings),
        (WINDOWS, assessment.plan.windows),
        (MAPPINGS, assessment.plan.mappings),
    )


def _busiest(shown: Table[Any], rows: Sequence[Any]) -> Sequence[Any]:
    key = shown.column(shown.order).sort if shown.order else None
    return sorted(rows, key=lambda row: key(row) or 0, reverse=True)[:_BUSIEST] if key else rows[:_BUSIEST]


def _latencies(reading: Reading) -> Sequence[Latency]:
    """Return what each histogram says of the last interval, where there is one, and of the time since startup."""
    return [each for found in summaries(reading) for each in (found.now, found.startup) if each is not None]


def _table(shown: Table[Any], rows: Sequence[Any], width: int | None) -> list[str]:
    """Return a table, or the sentence for none, and what the bars in it mean."""
    if not rows:
        return _wrapped(shown.empty, width)
    lines = table(shown.columns, rows, width)
    signs = {sign for line in lines[1:] for sign in line}
    meant = [f"{sign} {word}" for sign, word in _SIGNS.items() if sign in signs]
    return [*lines, *_wrapped("  ".join(meant), width)] if "█" in signs else lines


def _join(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _head(reading: Reading, width: int | None) -> list[str]:
    header = reading.header
    since = ABSENT if reading.interval is None else f"{reading.interval:.1f}s"
    lines = [
        f"{header.database or reading.target} {header.version}  {instant(reading.at)}  poll {reading.number}, "
        f"{since} since the one before, took {1000 * reading.poll_seconds:.0f} ms",
        _plan(header) + f"  {servers(header.servers)}",
    ]
    lines += [
        f"redo writes{f' of instance {each.inst_id}' if each.inst_id else ''}: {redo_text(each)}"
        for each in reading.redo
    ]
    lines += [f"! queue of {head.group}: {head.sentence}" for head in reading.heads]
    lines += [
        f"! {trouble.view or trouble.query}: {trouble.text} {trouble.cure}".rstrip() for trouble in reading.troubles
    ]
    lines += [f"note: {note}" for note in reading.notes]
    return [piece for line in lines for piece in _wrapped(line, width)]


def _plan(header: Header) -> str:
    mixed = " (instances differ)" if header.mixed_plans else ""
    return (
        f"plan {header.plan or 'none'}{mixed}  CPU {header.cpu_managed or ABSENT} of {number(header.num_cpus, 0)}  "
        f"caging {header.caging or ABSENT}  PX {header.px_managed or ABSENT}  up {duration(header.uptime)}"
    )


def servers(pool: ServerPool) -> str:
    """Return the gauge of parallel servers in words.

    >>> servers(ServerPool(0, 12, 4, 12, 128, 320))
    'servers 12 in use of target 128, max 320'
    """
    return f"servers {pool.in_use} in use of target {count(pool.target)}, max {count(pool.maximum)}"


def _wrapped(line: str, width: int | None) -> list[str]:
    """Return a sentence in lines of at most `width`; a word that is longer is broken."""
    if width is None or len(line) <= width:
        return [line]
    from textwrap import wrap

    return wrap(line, max(width, 8), subsequent_indent="  ") or [""]
