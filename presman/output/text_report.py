"""A Reading as text without a screen: for pipes, logs, mails and simple terminals."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.alerts.not_known import not_known
from presman.analysis.groups.container_io import io_limited, io_sentence
from presman.analysis.groups.containers import pdbs
from presman.analysis.groups.verdicts import conformance, in_words
from presman.analysis.plans.lint import LintCoverage
from presman.analysis.plans.lint_rules import Finding, Severity
from presman.analysis.plans.plan_view import plan_name
from presman.analysis.readings.reading import CLUSTER, Header, Reading
from presman.analysis.trends import Watch
from presman.analysis.trends.database_events import before_first
from presman.base.formats import ABSENT, as_of, count, counted, duration, number
from presman.base.release import named
from presman.figures.figure import Table, late_note
from presman.figures.group_figures import OVERVIEW
from presman.figures.histogram_figures import OUTLIERS, redo_text
from presman.figures.statement_figures import QUEUE, forecast_record, why_no_forecast
from presman.output.cells import instant, table
from presman.tabs import tab, tab_names
from presman.tabs.alerts import clear_now, unmentioned
from presman.tabs.choices import Choices
from presman.tabs.parts import Moment, Pair, Rows, servers_scale

_SIGNS = {"█": "used", "▒": "waiting", "│": "entitled", "┊": "limit", "▶": "over the edge"}
"""The meaning of the parts of a bar; its full width is all of a resource."""


def brief(reading: Reading, width: int | None = None) -> str:
    """Return one reading in a few lines: header, alerts and the groups. Ends in a newline."""
    moment = Moment(reading)
    return _join([*_head(reading, width), "", *_table(OVERVIEW, moment.groups(), width, least=servers_scale(moment))])


def full(reading: Reading, width: int | None = None, snapshots: Pair | None = None, watch: Watch | None = None) -> str:
    """Return one reading with the tables of all tabs. Ends in a newline.

    Without the `snapshots` that it was made from, what is computed from them is left out. `watch` has what was seen
    before it, if anything.
    """
    lines = _head(reading, width)
    if snapshots is not None:
        lines += ["", *_verdicts(reading, snapshots, width)]
    for part, every, moment in _tables(reading, snapshots, watch or Watch()):
        rows = _first(part, every)
        unavailable = "" if every or part.in_text == 0 else part.unavailable(moment)
        if rows or part.news or unavailable:
            cut = f" of {len(every)}" if 0 < len(rows) < len(every) else ""
            how_many = "" if unavailable else f" ({len(rows)}{cut})"
            old = f"  {late}" if rows and (late := late_note(part.table, reading)) else ""
            lines += ["", *_wrapped(f"-- {part.table.title}{how_many}{old}", width)]
            made = _table(part.table, rows, width, unavailable, part.least(moment))
            # The record of the forecasts is of use only where their column had room.
            has_forecast = part.table is QUEUE and any(QUEUE.column("starts_in_s").head in line for line in made[:1])
            record = (forecast_record(reading, since=True) or why_no_forecast(reading)) if has_forecast else ""
            lines += [*made, *(_wrapped(record, width) if has_forecast else ())]
    for found in reading.outliers:
        lines += ["", *_wrapped(f"-- {found.view} ({len(found.rows)})", width)]
        lines += [piece for why in found.doubts for piece in _wrapped(f"! latencies not plausible: {why}", width)]
        lines += _table(OUTLIERS, found.rows, width)
    return _join(lines)


def findings(reading: Reading, found: Sequence[Finding], coverage: LintCoverage, width: int | None = None) -> str:
    """Return the findings about the plans, one paragraph each, and what they rest on. Ends in a newline."""
    lines = _wrapped(f"{reading.header.database or reading.target}  plan {plan_name(reading)}", width)
    for each in found:
        where = " ".join(part for part in (each.plan, each.subject) if part)
        lines += ["", *_wrapped(f"{each.severity.value}: {where}: {each.text}", width)]
        lines += _wrapped(f"  {each.rule}  ({each.source})", width)
    many = Counter(each.severity for each in found)
    counts = ", ".join(counted(many[severity], severity.value) for severity in Severity if many[severity])
    notes = [f"note: {note}" for note in reading.notes]
    last = f"{counts}.{coverage.limits}" if counts and coverage.limits else counts or coverage.clear
    return _join([*lines, "", *(piece for line in (*notes, last) for piece in _wrapped(line, width))])


def _verdicts(reading: Reading, snapshots: Pair, width: int | None) -> list[str]:
    """Return how well the plan is kept, and the verdict on each group in words."""
    lines = [f"instance {each.inst_id}: {each.sentence}" for each in conformance(reading) if each.sentence]
    lines += [f"{row.title}: {in_words(reading, row)}" for row in reading.cluster_groups()]
    for pdb in io_limited(pdbs(reading, *snapshots)):
        where = f" on instance {pdb.inst_id}" if pdb.inst_id != CLUSTER else ""
        lines.append(f"{pdb.name} I/O{where}: {io_sentence(pdb)}")
    return [piece for line in lines for piece in _wrapped(line, width)]


def _tables(reading: Reading, snapshots: Pair | None, watch: Watch) -> Iterator[tuple[Rows, Sequence[Any], Moment]]:
    """Yield the tables of all tabs with their rows and their moment.

    The first tab sums up the cluster, the others do not. Without snapshots, tables that need them have no rows.
    """
    events = () if snapshots is None else tuple(before_first(reading, snapshots[1]))
    for name in tab_names():
        if name.containers and not reading.header.cdb:
            continue
        choices = Choices(by_instance=name != tab_names()[0], plain=True)
        moment = Moment(reading, choices, watch=watch, events=events, find=lambda: snapshots)
        shown = tab(name.name)
        for part in (*shown.rows(), *shown.for_text):
            yield part, part.rows(moment), moment


def _first(part: Rows, rows: Sequence[Any]) -> Sequence[Any]:
    """Return the rows that a text shows: all, or the first few in the table's usual order."""
    key = part.table.column(part.table.order).sort if part.table.order else None
    if part.in_text is None:
        return rows
    return (sorted(rows, key=lambda row: key(row) or 0, reverse=True) if key else rows)[: part.in_text]


def _table(
    shown: Table[Any],
    rows: Sequence[Any],
    width: int | None,
    unavailable: str = "",
    least: Mapping[str, float] | None = None,
) -> list[str]:
    """Return a table with the meaning of its bars, or the sentence for an empty table."""
    if not rows:
        return _wrapped(unavailable or shown.empty, width)
    lines = table(shown.columns, rows, width, least)
    signs = {sign for line in lines[1:] for sign in line}
    meant = [f"{sign} {word}" for sign, word in _SIGNS.items() if sign in signs]
    return [*lines, *_wrapped("  ".join(meant), width)] if "█" in signs else lines


def _join(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _head(reading: Reading, width: int | None) -> list[str]:
    header = reading.header
    since = ABSENT if reading.interval is None else f"{reading.interval:.1f}s"
    lines = [
        f"{header.database or reading.target} {named(header.version)}  {instant(reading.at)}  poll {reading.number}, "
        f"{since} since the one before, took {1000 * reading.poll_seconds:.0f} ms",
        _plan(header, plan_name(reading)) + f"  {servers(reading)}",
    ]
    redo = ((f" of instance {each.inst_id}" if each.inst_id else "", redo_text(each)) for each in reading.redo)
    lines += [f"redo writes{where}: {text}" for where, text in redo]
    lines += [f"{alert.glyph} {alert.text}" for alert in worst_first(wrong(reading))]
    lines += step.lines if (step := to_do(reading)) is not None else ()
    unknown = not_known(reading)
    lines += [f"! {trouble}" for trouble in unmentioned(reading, unknown)]
    lines += [f"note: {note}" for note in (*(alert.text for alert in clear_now(reading)), *reading.notes)]
    lines += [f"not known: {each}" for each in unknown]
    return [piece for line in lines for piece in _wrapped(line, width)]


def _plan(header: Header, name: str) -> str:
    mixed = " (instances differ)" if header.mixed_plans else ""
    cpus = number(header.num_cpus, 0)
    managed, caging, px = (each or ABSENT for each in (header.cpu_managed, header.caging, header.px_managed))
    up = f"up {duration(header.uptime)}{header.youngest}"
    return f"plan {name}{mixed}  CPU {managed} of {cpus}  caging {caging}  PX {px}  {up}"


def servers(reading: Reading) -> str:
    """Return the gauge of parallel servers in words."""
    header, pool = reading.header, reading.header.servers
    in_use = as_of(f"{count(pool.in_use)} in use", reading.age_of("V$PX_PROCESS_SYSSTAT"))
    most = as_of(count(pool.maximum), reading.age_of("V$SYSTEM_PARAMETER"))
    return f"servers {in_use} of target {header.target_used}, max {most}"


def _wrapped(line: str, width: int | None) -> list[str]:
    """Return a sentence in lines of at most `width`; a longer word is broken."""
    if width is None or len(line) <= width:
        return [line]
    from textwrap import wrap

    return wrap(line, max(width, 8), subsequent_indent="  ") or [""]
