"""Findings of `presman doctor TARGET`: readable views, missing grants, and the assumptions of presman."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from presman.analysis.facts.plan_book import OTHER_GROUPS, PlanBook
from presman.analysis.instances import database_kind
from presman.base.formats import count, counted
from presman.base.release import Release, named
from presman.base.sums import median
from presman.base.text import one_line
from presman.config.target import Target
from presman.rows.group_rows import ConsumerGroupDefinition, PlanDirective, RsrcPlan
from presman.rows.instance_rows import SEED, Database, Instance, Pdb, SystemEvent
from presman.rows.queries import Cadence, Query, Scope, bind_names, field_types, load
from presman.rows.query_files import OLDEST
from presman.rows.session_rows import SessionInfo
from presman.rows.session_state import QUIESCE_STATES
from presman.rows.snapshot import Section
from presman.sources import Request, Source

_RECORDS = (SessionInfo, ConsumerGroupDefinition, RsrcPlan, PlanDirective)

SYS_GROUP = "SYS_GROUP"

CURE = (
    "put presman's user into a group that comes before the others (DBMS_RESOURCE_MANAGER.SET_CONSUMER_GROUP_MAPPING), "
    "so that it can poll when the database is busiest"
)


def own_group(source: Source, release: Release, inst_id: int, sid: int) -> Iterator[str]:
    """Yield the session's consumer group, then a line for each thing that the plan may do to it, and what helps.

    Raises SourceError if the connection is lost.
    """
    answer = source.read([Request(load(release)[record]) for record in _RECORDS])
    found = dict(zip(_RECORDS, answer.sections, strict=True))
    info = next((row for row in found[SessionInfo].rows if (row.inst_id, row.sid) == (inst_id, sid)), None)
    if info is None:
        yield "not known: V$RSRC_SESSION_INFO does not show presman's session"
        return
    names = {row.consumer_group_id: row.consumer_group for row in found[ConsumerGroupDefinition].rows}
    group = info.current_consumer_group or names.get(info.current_consumer_group_id, "")
    plans = [row for row in found[RsrcPlan].rows if row.inst_id == inst_id]
    plans.sort(key=lambda row: row.is_top_plan != "TRUE")
    plan = next((row for row in plans if row.con_id == info.con_id), plans[0] if len(plans) == 1 else None)
    if not group or plan is None:
        yield f"{group or 'none'}, under no plan that can be read"
        return
    yield f"{group} under {plan.name}"
    hazards = list(_hazards(group, plan, found))
    yield from (f"warning: {hazard}" for hazard in hazards)
    if hazards:
        yield CURE


def _hazards(group: str, plan: RsrcPlan, found: Mapping[type[Any], Section]) -> Iterator[str]:
    directives = PlanBook.read((), found[PlanDirective].rows).shares(plan.name).directives
    row = directives.get((0, group)) or directives.get((0, OTHER_GROUPS))
    if row is None:
        return
    if plan.cpu_managed == "ON" and group != SYS_GROUP:
        levels = [(level, getattr(row, f"mgmt_p{level}")) for level in range(1, 9)]
        given = ", ".join(f"{part} at level {level}" for level, part in levels if part)
        yield f"when CPU is short it may be throttled: the plan gives its group {given or 'no share'}"
    if row.utilization_limit is not None and row.utilization_limit < 100:
        yield f"its group never gets more than {row.utilization_limit} % of the CPU"
    if row.active_sess_pool_p1 is not None:
        yield f"its group may have {counted(row.active_sess_pool_p1, 'active session')} at once: it may be queued"
    if row.switch_group:
        yield f"long calls are switched: {row.switch_group}"
    if row.max_idle_time is not None:
        yield f"sessions idle for {row.max_idle_time} s are ended: poll more often than that"


CALLS = 5
"""Number of round trips to measure."""

TOLERANCE = timedelta(seconds=2)


def doctor(target: Target, *, scope: Scope = Scope.CLUSTER, packs: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the findings as they come, one line each. Raises SourceError if `target` cannot be opened or is lost."""
    source = target.make_source()
    source.scope = scope
    yield _line("target", f"{source.name} ({source.kind})")
    begun = time.perf_counter()
    try:
        release = source.open()
        yield _line("connected", f"in {_milliseconds(time.perf_counter() - begun)}")
        source.advance()
        lacking = yield from _facts(source, release, target)
        yield _line("packs", f"allowed: {', '.join(packs)}" if packs else "none allowed: no view of a pack is read")
        yield from _latency(source, partial(datetime.now, UTC))
        yield from (_line("note", note) for note in source.read(()).notes)
        yield from _query_lines(source, release, packs, lacking)
    finally:
        source.close()


def _line(name: str, text: str) -> str:
    return f"{name:<11} {text}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _facts(source: Source, release: Release, target: Target) -> Generator[str, None, dict[str, str]]:
    """Report the kind of database; return in words the kinds that it certainly is not, by the value of `only:`."""
    from presman.sources.oracle.oracle_source import OracleSource

    about = source.about() if isinstance(source, OracleSource) else None
    if about is not None:
        yield _line("driver", about.driver)
        yield _line("session", f"SID {about.sid} on instance {about.instance}, user {about.user or '?'}")
    queries = load(release)
    # 11.2 has no V$PDBS.
    asked = [record for record in (Instance, Database, Pdb, SystemEvent) if record in queries]
    answer = source.read([Request(queries[record]) for record in asked])
    found = dict(zip(asked, answer.sections, strict=True))
    yield _line("release", _release(release, found[Instance]))
    yield from _kind_of_database(found)
    cloud = about.cloud_service if about else ""
    pdbs = found[Pdb].rows if Pdb in found else ()
    words = database_kind(found[Database].rows, found[Instance].rows, pdbs, found[SystemEvent].rows, cloud)
    yield _line("kind", ", ".join(words) or "not known")
    if about is not None and any(row.cdb == "YES" for row in found[Database].rows):
        yield _line("container", about.container)
    if about is not None:
        lines = own_group(source, release, about.instance, about.sid)
        yield from (_line("" if index else "group", text) for index, text in enumerate(lines))
    where = "GV$: every instance" if source.scope is Scope.CLUSTER else "V$: this instance only"
    yield _line("scope", f"{source.scope.value} ({where})")
    if target.connect is not None:
        yield _line("timeout", f"{target.connect.call_timeout:g} s for each query")
    return _lacking(found[Database], found[Instance], pdbs)


def _lacking(database: Section, instances: Section, pdbs: Sequence[Pdb]) -> dict[str, str]:
    """Return the kinds that the database certainly is not. Unknown ones stay possible, so that missing grants show."""
    lacking = {}
    containers = any(row.cdb == "YES" for row in database.rows) or any(row.con_id > 2 for row in pdbs)
    if not containers and not (database.problem and not pdbs):
        lacking["cdb"] = "a container database"
    if "cdb" in lacking or (pdbs and not any(row.con_id == SEED for row in pdbs)):
        lacking["root"] = "the root of a container database"
    if instances.rows and not any(row.parallel == "YES" for row in instances.rows):
        lacking["cluster"] = "a cluster"
    return lacking


def _release(release: Release, instances: Section) -> str:
    versions = sorted({named(row.version) for row in instances.rows})
    return f"{', '.join(versions) or release} (queries for {release})"


def _kind_of_database(found: Mapping[type[Any], Section]) -> Iterator[str]:
    for row in found[Database].rows:
        kind = "container database" if row.cdb == "YES" else "no containers"
        yield _line("database", f"{row.db_unique_name or row.name}, {row.database_role}, {row.open_mode}, {kind}")
    if instances := found[Instance].rows:
        names = ", ".join(f"{row.instance_name} on {row.host_name}" for row in instances)
        cluster = "RAC" if any(row.parallel == "YES" for row in instances) else "single instance"
        yield _line("instances", f"{len(instances)} ({cluster}): {names}")
    for row in instances:
        if row.active_state in QUIESCE_STATES:
            state = f"{row.instance_name} is {row.active_state}: only SYS and SYSTEM get in"
            yield _line("quiesced", f"{state} until ALTER SYSTEM UNQUIESCE")
    if Pdb in found and found[Pdb].rows:
        yield _line("pdbs", ", ".join(open_modes(found[Pdb].rows)))


def open_modes(rows: Sequence[Pdb]) -> Iterator[str]:
    """Yield each container with its open mode, or with its mode on each instance if they differ."""
    by_name: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        by_name.setdefault(row.name, {}).setdefault(row.open_mode, []).append(row.inst_id)
    for name, modes in by_name.items():
        where = (f"{mode} on {', '.join(map(str, on))}" if len(modes) > 1 else mode for mode, on in modes.items())
        yield f"{name} {' and '.join(where)}"


def _latency(source: Source, now: Callable[[], datetime]) -> Iterator[str]:
    """Measure the time of empty reads, and compare the clocks."""
    times, ahead, trips = [], [], 0
    for _ in range(CALLS):
        begun, clock = time.perf_counter(), now()
        answer = source.read(())
        times.append(time.perf_counter() - begun)
        # The database took its time when about half of the round trip had passed.
        ahead.append(answer.at - clock - timedelta(seconds=times[-1] / 2))
        trips += answer.round_trips
    if not trips:
        yield _line("round trip", "none: this source is inside presman")
        return
    yield _line("round trip", f"{_milliseconds(median(times))} (median of {CALLS})")
    difference = sorted(ahead)[CALLS // 2]
    side = "ahead of" if difference > timedelta(0) else "behind"
    off = f"{abs(difference).total_seconds():.0f} s {side} this machine's; presman uses the database's"
    yield _line("clock", "agrees with this machine's" if abs(difference) < TOLERANCE else off)


def _query_lines(source: Source, release: Release, packs: tuple[str, ...], lacking: Mapping[str, str]) -> Iterator[str]:
    """Run each query that can have rows in this database once, and report what it returned."""
    cures: dict[str, None] = {}
    answered, unreadable = 0, dict[str, None]()
    queries = load(release).values()
    allowed = [query for query in queries if query.pack == "none" or query.pack in packs]
    yield ""
    yield f"{'query':<26} {'view':<32} sees"
    for query in allowed:
        view = query.view_in(source.scope)
        if query.only in lacking:
            yield f"{query.name:<26} {view:<32} not run: only {lacking[query.only]} has rows"
            continue
        section = source.read([Request(query, _binds(query))]).sections[0]
        yield f"{query.name:<26} {view:<32} {_answer_words(query, section)}"
        if section.problem and section.problem.cure:
            cures[section.problem.cure] = None
        if section.problem or _is_missing(query, section):
            unreadable[view] = None
        answered += not section.problem and not section.absent
    yield ""
    yield from _advice(cures, unreadable, answered)
    yield from _packs([query for query in queries if query.pack != "none"], packs)


def _binds(query: Query) -> dict[str, Any]:
    """Return NULL binds for a query that runs on demand: it finds no rows, but it does read the view."""
    return dict.fromkeys(bind_names(query.sql())) if query.cadence is Cadence.DEMAND else {}


def _answer_words(query: Query, section: Section) -> str:
    if section.problem:
        return f"nothing: {section.problem.code} {section.problem.text}".replace("  ", " ")
    if _is_missing(query, section):
        return "nothing: not there"
    if query.cadence is Cadence.DEMAND:
        return f"may be read, {_milliseconds(section.seconds)}"
    count = len(section.rows)
    lacking = f", without {', '.join(sorted(section.absent)).upper()}" if section.absent else ""
    return f"{counted(count, 'row')}, {_milliseconds(section.seconds)}{lacking}"


def _is_missing(query: Query, section: Section) -> bool:
    """Whether the source has no data of the view at all, so that the absence of rows means nothing."""
    return section.absent >= set(field_types(query.record))


def _advice(cures: Mapping[str, None], unreadable: Mapping[str, None], answered: int) -> Iterator[str]:
    if not cures and not unreadable:
        yield f"Nothing is missing: {counted(answered, 'query was', 'queries were')} answered in full."
        return
    if unreadable:
        yield f"These could not be read: {', '.join(unreadable)}."
    if cures:
        yield "What would help:"
        yield from (f"  {cure};" if cure.startswith("GRANT ") else f"  {cure}" for cure in cures)


def _packs(queries: list[Query], packs: tuple[str, ...]) -> Iterator[str]:
    if not queries:
        yield "No query needs the Diagnostics or the Tuning pack."
    for query in queries:
        state = "allowed" if query.pack in packs else "not read"
        yield f"{query.name} needs the {query.pack.capitalize()} pack ({query.view}): {state}"


# ---- The assumptions: what presman assumes although no document says all of it, and how a database confirms each.
# Each has a SELECT that anyone may run, and a rule for its answer; `presman doctor --assumptions TARGET` applies both.
# Some need more than a SELECT: these say what to try. If a document covers a part of one, it is named; what a document
# covers in full is not an assumption and is not here. docs/proof.md lists them; that list is made from here.


_MOST = 6
"""The most rows of an answer to show."""

_WIDTH = 400


class Observation(NamedTuple):
    """A row of a check's answer: its subject, a figure, and a figure to compare it with."""

    name: str
    value: float | None
    against: float | None


class Assumption(Struct, frozen=True, forbid_unknown_fields=True):
    """An assumption: `taken` is what presman assumes, and what depends on it; `confirmed` is what would confirm it.

    `sql` selects observations, from release `since` on; without it `confirmed` says what to try by hand. `document`
    names the manual that covers a part, and what it leaves open; "" if none was found.

    How an answer is judged: `only` lists the names that may occur; `between` bounds the ratio of each figure to the one
    it is compared with (1 if there is none); `multiple` requires a small multiple of it, as servers are a multiple of
    the degree. Without any of these a person has to judge.
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
        """Return the check as a query. It has no file, because only `doctor` runs it."""
        view = self.sql.partition("FROM ")[2].split()[0].upper().replace("V$", "V_$")
        return Query(
            self.key, Observation, self.taken, Cadence.DEMAND, view, "none", self.since, self.sql, Path(self.key)
        )

    def judge(self, rows: Sequence[Observation]) -> str:
        """Judge an answer of at least one row; return a sentence that begins with holds, does NOT hold, or look."""
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
    Path(__file__).with_name("assumptions.toml").read_bytes(), type=dict[str, tuple[Assumption, ...]]
)["assumption"]


def _rows_in_words(rows: Sequence[Observation]) -> str:
    """Return the first rows in words.

    >>> _rows_in_words([Observation("BATCH", 16, 8), Observation("ETL", 4, None), Observation("RUNNING", None, None)])
    'BATCH 16 (8), ETL 4, RUNNING'
    """
    parts = [
        (row.name or "(empty)")
        + ("" if row.value is None else f" {_number(row.value)}")
        + ("" if row.against is None else f" ({_number(row.against)})")
        for row in rows[:_MOST]
    ]
    more = f" and {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return one_line(", ".join(parts) + more, _WIDTH)


def _number(value: float) -> str:
    return count(round(value)) if value == round(value) else f"{value:.2f}"


def check(target: Target, *, scope: Scope = Scope.CLUSTER) -> Iterator[str]:
    """Yield lines on what the database shows of each assumption. Raises SourceError if `target` cannot be read."""
    source = target.make_source()
    source.scope = scope
    try:
        release = source.open()
        source.advance()
        yield f"{source.name}: what presman assumes, and what this database shows. Only SELECTs are sent."
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
    return why_no_answer(section) or each.judge(section.rows)


def why_no_answer(section: Section) -> str:
    """Return why an answer shows nothing, "" if it shows something: an answer without rows confirms nothing."""
    if section.problem:
        return f"not known: {section.problem}"
    if section.absent & {"name", "value"}:
        return "not known: the view, or a column of it, is not there"
    return "" if section.rows else "not seen: there is no such row now"
