"""Poller: runs the due queries on a source and makes a Snapshot of the answers.

A poll is at most four reads. The first runs the queries that are known to be due. The others follow from its answers:
sessions that others name but that are not listed, then the texts and plans of statements now on show, and queries that
turn out to be due by the source's clock. If the list of sessions is among these, the fourth is the first lookup.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from presman.base.release import Release
from presman.polling.cadence import EVERYTHING, LastAnswer, PollNeeds, is_due
from presman.polling.lookups import BusyTexts, CursorKey, Lookup, Lookups, TextsLookup, behind_page, statements_on_show
from presman.polling.named_sessions import BECOME, NamedSessions, SessionListing, named, requests, together
from presman.polling.seen_before import SeenBefore
from presman.rows import group_rows, session_rows
from presman.rows.cursor_rows import SqlText
from presman.rows.group_rows import RsrcPlan, RsrcPlanHistory
from presman.rows.instance_rows import SEED, Database, EventHistogram, Instance, Parameter, Pdb, SystemEvent
from presman.rows.queries import RECORDS as FOCUSED
from presman.rows.queries import Cadence, DetailLevel, Focus, Query, load
from presman.rows.session_rows import NamedSession, PxSession, Session, SessionCount, SessionInfo, SessionLongops
from presman.rows.session_state import ServerProcesses, is_queued
from presman.rows.snapshot import Section, Snapshot
from presman.sources import Answer, Request, Source, WholePolls

LATER = frozenset(
    {
        *(EventHistogram, SystemEvent, session_rows.StatisticName, SessionLongops, SessionCount),
        *(group_rows.GroupMetric, group_rows.GroupMetricHistory),
        *(group_rows.GroupMapping, group_rows.ConsumerGroupDefinition),
    }
)
"""Records that the very first snapshot lacks, because reading them takes half a second or several round trips."""


OF_QUEUES: Mapping[type[Any], timedelta] = MappingProxyType(
    {
        **dict.fromkeys((SessionLongops, group_rows.PlanDirective, group_rows.CdbPlanDirective), timedelta()),
        **dict.fromkeys((group_rows.ContainerPlanDirective, Parameter), timedelta(seconds=10)),
    }
)
"""Records that are read once a minute, but after these pauses while a statement is queued.

Whether the end of a session lets a statement start depends on the limits in force now. A CDB_ view is read in every
container, which is no small statement. A container's own PARALLEL_SERVERS_TARGET is a parameter.
"""


class OnDemandRequest(Struct, frozen=True):
    """A request for a query that does not run by itself: its binds, and whether it runs at every poll from now on."""

    binds: Mapping[str, Any]
    lasting: bool


class LastAnswers(dict[type[Any], LastAnswer]):
    """The last answer to each query, by record, and what its rows show about the database."""

    def rows(self, record: type[Any]) -> tuple[Any, ...]:
        """Return the rows of the last answer, none if the query has not run."""
        asked = self.get(record)
        return asked.section.rows if asked else ()

    def rests(self, record: type[Any], now: datetime | None) -> bool:
        """Return whether a failed query must not be retried yet."""
        asked = self.get(record)
        return asked is not None and asked.rests(now)

    def is_older(self, record: type[Any], pause: timedelta | None, now: datetime | None) -> bool:
        """Return whether the last answer came `pause` ago or earlier (None: whenever), and a failed query may run."""
        asked = self.get(record)
        if asked is None or asked.rests(now):
            return asked is None
        return not pause or (now is not None and now - asked.at >= pause)

    def of_poll(self, poll: int, record: type[Any]) -> LastAnswer | None:
        """Return the answer that a query gave in `poll`, None if it did not run in it."""
        asked = self.get(record)
        return asked if asked is not None and asked.poll == poll else None

    def has_rows_of(self, poll: int, record: type[Any]) -> bool:
        """Return whether a query was answered in `poll`, with rows."""
        asked = self.of_poll(poll, record)
        return asked is not None and not asked.late and bool(asked.section.rows)

    def forget(self, records: Iterable[type[Any]], but: int) -> None:
        """Make the queries of these records due, except those answered in poll `but`."""
        for record in records:
            if record in self and self[record].poll != but:
                del self[record]

    def has_queue(self) -> bool:
        """Return whether a statement was queued: then the progress of running ones is read at each poll."""
        return any(is_queued(row.event, row.state) for row in self.rows(Session))

    def rolls_back(self) -> bool:
        """Return whether a background process coordinates parallel servers, as SMON does to roll a transaction back."""
        processes = {(row.inst_id, row.sid) for row in self.rows(Session) if row.type == session_rows.BACKGROUND}
        return bool(processes) and any((row.qcinst_id, row.qcsid) in processes for row in self.rows(PxSession))

    def has_containers(self) -> bool:
        """Return whether this is known to be a container database; not known before the first read of an epoch."""
        return any(row.cdb == "YES" for row in self.rows(Database)) or any(row.con_id > 2 for row in self.rows(Pdb))

    def is_cluster(self) -> bool:
        """Return whether this may be a cluster: it may be one, too, where V$INSTANCE was read but has no rows."""
        asked = self.get(Instance)
        rows = self.rows(Instance)
        return asked is not None and (len(rows) != 1 or any(row.parallel == "YES" for row in rows))

    def servers(self) -> ServerProcesses:
        """Return which parallel servers work for GV$ queries."""
        rows = self.rows
        return ServerProcesses.of(rows(Instance), rows(session_rows.PxProcess), rows(Session), self.is_cluster())

    def plans(self) -> tuple[Any, ...]:
        """Return the open plan windows and the active plans of every instance: a change means that a plan changed."""
        windows = [(row.inst_id, row.con_id, row.sequence) for row in self.rows(RsrcPlanHistory) if not row.end_time]
        return (*sorted(windows), *sorted([(row.inst_id, row.con_id, row.name) for row in self.rows(RsrcPlan)]))

    def targets(self) -> list[tuple[int, int, int]]:
        """Return PARALLEL_SERVERS_TARGET as V$RSRC_PLAN shows it, by instance and container."""
        return sorted((row.inst_id, row.con_id, row.parallel_servers_total) for row in self.rows(RsrcPlan))


def is_live(source: Source) -> bool:
    """Return whether the source queries a database, so that each read has a cost."""
    return source.kind == "oracle"


class Poller:
    """Polls one source. Not thread safe: one thread opens, polls and closes.

    `packs` are the licensed packs whose views may be read; `clock` measures seconds. `budget` is the seconds that a
    poll may take (None: no limit). A query that times out keeps its last rows, or, without `keep_late`, has none.
    `detail_level` says which views that are usually read once a minute each poll reads; it may be set any time.
    """

    def __init__(
        self,
        source: Source,
        *,
        packs: Collection[str] = (),
        keep_late: bool = True,
        needs: PollNeeds = EVERYTHING,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.source = source
        self._needs = needs
        self.budget: float | None = None
        self.detail_level = DetailLevel.WHOLE
        self._detail_level = DetailLevel.WHOLE
        self._listing = SessionListing(wants_idle=needs.idle_sessions)
        self._keep_late = keep_late
        self._begun = 0.0
        self._packs = frozenset(packs) | {"none"}
        self._clock = clock
        self._number = 0
        self._epoch = -1
        self.release: Release | None = None
        """The database's release, None before `open`."""
        self._queries: Mapping[type[Any], Query] = MappingProxyType({})
        self._asked = LastAnswers()
        self._seen_before = SeenBefore()
        self._databases: tuple[str, ...] = ()
        self._is_live = is_live(source)
        self._last: tuple[datetime, float] | None = None
        self._requests: dict[type[Any], OnDemandRequest] = {}
        self._focus: Focus | None = None
        self._focused: Focus | None = None
        self._begin_epoch()

    def request(self, record: type[Any], binds: Mapping[str, Any] | None = None, *, lasting: bool = False) -> None:
        """Run a query of cadence `demand` at the next poll, or at each from now on (`lasting`).

        A later request for the same record replaces an earlier one. May be called from another thread.
        """
        self._requests[record] = OnDemandRequest(dict(binds or {}), lasting)

    def forget_requests(self) -> None:
        """Stop running queries of cadence `demand`, and forget their answers."""
        self._requests.clear()
        for record, query in self._queries.items():
            if query.cadence is Cadence.DEMAND:
                self._asked.pop(record, None)

    def focus(self, focus: Focus | None) -> None:
        """Query one session and its cursor at each poll, until another focus or None replaces it.

        May be called from another thread.
        """
        self._focus = focus

    def _request_focus(self) -> None:
        """Turn the focus into requests; forget the answers to an earlier focus."""
        focus = self._focus
        if focus is not self._focused:
            self._focused = focus
            for record in FOCUSED:
                self._requests.pop(record, None)
                if record in self._queries and self._queries[record].cadence is Cadence.DEMAND:
                    self._asked.pop(record, None)
        if focus is not None:
            for record, binds in focus.questions(self._asked.rows(session_rows.StatisticName)).items():
                self.request(record, binds, lasting=True)

    def open(self) -> Release:
        """Open the source and begin a new epoch. Raises SourceError."""
        self.release = self.source.open()
        queries = load(self.release)
        self._queries = {record: query for record, query in queries.items() if query.pack in self._packs}
        self._begin_epoch()
        return self.release

    def close(self) -> None:
        """Close the source; it may be opened again."""
        self.source.close()

    def poll(self, on_first_look: Callable[[Snapshot], object] | None = None) -> Snapshot:
        """Run the due queries. Raises Exhausted at a finite source's end and SourceError if the source is lost.

        `on_first_look` is called with a partial snapshot at the first poll of a database, before the rest (LATER) is
        read: the first screen does not need it.
        """
        if self.release is None:
            raise RuntimeError("a poller is opened before it polls")
        self._begun = self._clock()
        self.source.advance()
        if isinstance(self.source, WholePolls):
            return self.source.snapshot()
        if self.source.scope is not self._scope:
            self._begin_epoch()
        self._number += 1
        plans, targets = self._asked.plans(), self._asked.targets()
        self._request_focus()
        expected = self._expected_now()
        is_whole = self.source.kind == "spool"
        self._detail_level = self._listing.detail_level(self.detail_level, expected, is_whole=is_whole)
        due = self._due(expected)
        hurried = on_first_look is not None and not self._asked and self._is_live
        if hurried:
            due = [query for query in due if query.record not in LATER]
        requested = [self._queries[record] for record in tuple(self._requests) if record in self._queries]
        due += [each for each in requested if each not in due and not self._asked.rests(each.record, expected)]
        first = self._ask(due, texts=self._busy_texts(expected) if expected and self._is_live else None)
        measured = self._clock()
        if self._last and first.at < self._last[0]:  # the source's clock went back
            self._begin_epoch(keep=self._number)
        elif plans and plans != self._asked.plans():  # under another plan, directives and groups are others, too
            rare = {Cadence.ONCE, Cadence.MINUTE}
            self._asked.forget((each for each in self._queries if self._queries[each].cadence in rare), self._number)
        elif targets and targets != self._asked.targets():  # ALTER SYSTEM may have changed other parameters with it
            self._asked.forget((Parameter,), self._number)
        self._last = (first.at, measured)
        self._remember(first.at)
        between = self._look_up_named(first.at)
        rows = self._asked.rows
        on_show = statements_on_show(rows(Session), rows(PxSession), self._asked.servers())
        shown = behind_page(on_show[: self._needs.statements], self._focused)
        if self._needs.texts:
            self._busy.add(rows(Session), first.at)
        if on_first_look is not None and hurried:
            on_first_look(self._snapshot(first, shown, first.round_trips + between))
        return self._snapshot(first, shown, first.round_trips + between + self._follow_up(shown, first.at))

    def _snapshot(self, first: Answer, shown: Sequence[CursorKey], round_trips: int) -> Snapshot:
        """Return a snapshot of all answers so far; `first` is the first answer of this poll."""
        assert self.release is not None
        sections = {record: asked.section for record, asked in self._asked.items()}
        sections |= self._lookups.sections(shown, self._busy.ranked)
        sections |= self._seen_before.sections(first.at)
        return Snapshot(
            target=self.source.name,
            kind=self.source.kind,
            release=self.release,
            scope=self._scope,
            at=first.at,
            number=self._number,
            epoch=self._epoch,
            seconds=self._clock() - self._begun,
            round_trips=round_trips,
            sections=MappingProxyType(sections),
            cloud_service=first.cloud_service,
            notes=first.notes,
            statements_to_come=self._lookups.to_come(shown, self._queries),
            lists_idle=self._listing.lists_idle,
        )

    def _remember(self, now: datetime) -> None:
        """Note the instances in scope, and the facts about sessions that later polls need.

        Each is noted only if its view answered in this poll.
        """
        if asked := self._asked.of_poll(self._number, Session):
            self._listing.note(self._detail_level, now, late=bool(asked.late))
            if asked.section.problem is None:
                infos, instances = self._asked.rows(SessionInfo), self._asked.rows(Instance)
                self._seen_before.note_sessions(asked.section.rows, infos, instances, self._asked.rows(PxSession))
        if (listing := self._asked.get(Session)) and listing.late and self._asked.has_rows_of(self._number, PxSession):
            self._seen_before.note_servers(self._asked.rows(PxSession))
        self._databases = tuple(row.db_unique_name for row in self._asked.rows(Database)) or self._databases
        self._seen_before.begin(now, (self._scope, *self._databases))
        targets = {inst_id: target for inst_id, _, target in reversed(self._asked.targets())}  # the root's is first
        if self._asked.has_rows_of(self._number, RsrcPlan):
            self._seen_before.note_plans(targets, now)
        if self._asked.has_rows_of(self._number, Instance):
            self._seen_before.note_instances(self._asked.rows(Instance), now, targets)

    def _look_up_named(self, now: datetime) -> int:
        """Look up the sessions that are named by others but not listed, and add them to the sections of all sessions.

        If all user sessions are listed, only background processes can be missing. Returns the number of round trips.
        """
        listing = self._asked.of_poll(self._number, Session)
        if listing is None or listing.late or self._asked.rests(NamedSession, now):
            return 0
        focus, listed = self._focused, self._asked.rows(Session)
        keys = named(listed, self._asked.rows(PxSession))
        keys |= {(focus.inst_id, focus.sid)} if focus and focus.sid else set()
        wanted = self._named.wanted(keys, listed, now)
        asked = [request for record in BECOME for request in requests(self._queries[record], wanted)]
        if not asked:
            return 0
        answer = self._read(asked)
        for record, become in BECOME.items():
            pairs = zip(asked, answer.sections, strict=True)
            sections = [section for request, section in pairs if request.query.record is record]
            if (failed := next((section for section in sections if section.problem), None)) is not None:
                self._learn(self._queries[record], failed, answer.at)
                continue
            self._asked.pop(record, None)
            if become in self._asked:
                before = self._asked[become]
                self._asked[become] = replace(before, section=together(before.section, sections, wanted, become))
        if NamedSession not in self._asked:
            self._named.learn(wanted, self._asked.rows(Session), now)
        return answer.round_trips

    def _busy_texts(self, now: datetime, asked: Sequence[Lookup] = ()) -> TextsLookup | None:
        """Return the request for the texts of the busiest statements, None if it is not due."""
        if not self._needs.texts or SqlText not in self._queries or not self._busy.is_due(now):
            return None
        asked_alone = {lookup.statement for lookup in asked}
        wanted = [each for each in self._lookups.texts_due(self._busy.ranked, now) if each not in asked_alone]
        return self._busy.lookup(wanted, self._queries[SqlText], now) if wanted else None

    def _begin_epoch(self, keep: int = 0) -> None:
        """Forget all answers but those of poll `keep`: counters of different epochs must not be compared."""
        self._epoch += 1
        self._scope = self.source.scope
        kept = {record: asked for record, asked in self._asked.items() if asked.poll == keep and not asked.late}
        self._asked = LastAnswers(kept)
        # A source that is not a database is free to query, so everything is looked up at once.
        self._lookups = Lookups(needs=self._needs) if self._is_live else Lookups(None, self._needs)
        self._busy = BusyTexts(at_once=not self._is_live)
        self._named = NamedSessions()
        self._last = None
        self._listing.begin_epoch()

    def _expected_now(self) -> datetime | None:
        """Return what the source's clock should show now if it runs like ours; None before the first answer."""
        if self._last is None:
            return None
        at, measured = self._last
        return at + timedelta(seconds=max(0.0, self._clock() - measured))

    def _due(self, now: datetime | None) -> list[Query]:
        """Return the queries that are due at `now` (None: not known) and have not run in this poll yet."""
        asked, level, number = self._asked.get, self._detail_level, self._number
        still = {record: query for record, query in self._queries.items() if not self._asked.of_poll(number, record)}
        due = [query for record, query in still.items() if is_due(query, asked(record), now, level)]
        sooner: dict[type[Any], Callable[[], bool]] = {session_rows.FastStartTransaction: self._asked.rolls_back}
        sooner |= dict.fromkeys(OF_QUEUES, self._asked.has_queue)
        for record, is_wanted in sooner.items():
            query = still.get(record)
            if query and query not in due and self._asked.is_older(record, OF_QUEUES.get(record), now) and is_wanted():
                due.append(query)
        answers = {"": True, "cdb": self._asked.has_containers(), "cluster": self._asked.is_cluster()}
        # Only the root sees the seed in V$PDBS.
        answers["root"] = answers["cdb"] and any(row.con_id == SEED for row in self._asked.rows(Pdb))
        slow = (sessions := asked(Session)) is not None and sessions.late
        due = [query for query in due if answers[query.only] and not (slow and query.record is SessionCount)]
        # V$SESSION is the first view to be slow where there are many sessions: the count goes last, so that it delays
        # no other query.
        return sorted(due, key=lambda query: query.record is SessionCount)

    def _follow_up(self, shown: Sequence[CursorKey], now: datetime) -> int:
        """Run the queries and lookups that the first answer made necessary; return the number of round trips."""
        listed = self._asked.of_poll(self._number, Session)
        late = self._due(now)
        lookups = self._lookups.wanted(shown, self._queries, now)
        texts = None if self._is_live else self._busy_texts(now, lookups)  # a database is asked in the first read
        if not late and not lookups and not texts:
            return 0
        answer = self._ask(late, lookups, texts)
        self._lookups.learn(lookups, answer.sections[len(late) : len(late) + len(lookups)], now)
        if self._asked.of_poll(self._number, Session) is listed:
            return answer.round_trips
        self._remember(now)  # the list of sessions was due only by the source's clock
        return answer.round_trips + self._look_up_named(now)

    def _ask(
        self, queries: Sequence[Query], lookups: Sequence[Lookup] = (), texts: TextsLookup | None = None
    ) -> Answer:
        kept = {query.record: self._requests.get(query.record) for query in queries}
        wanted = [
            Request(query, request.binds if (request := kept[query.record]) else _binds(query, self._detail_level))
            for query in queries
        ]
        several = [texts.request] if texts is not None else []
        answer = self._read(wanted + [lookup.request for lookup in lookups] + several)
        if texts is not None:
            self._busy.answered(answer.sections[-1])
            self._lookups.learn_texts(texts, answer.sections[-1], answer.at)
        for record, request in kept.items():
            # Keep a request that was made during this read.
            if request and not request.lasting and self._requests.get(record) is request:
                del self._requests[record]
        for query, section in zip(queries, answer.sections, strict=False):
            self._learn(query, section, answer.at)
        return answer

    def _read(self, asked: Sequence[Request]) -> Answer:
        left = None if self.budget is None else max(0.0, self._begun + self.budget - self._clock())
        answer = self.source.read(asked, left)
        self._begun -= answer.spent
        return answer

    def _learn(self, query: Query, section: Section, at: datetime) -> None:
        """Store the answer `section`; after a timeout the earlier rows stay.

        Once V$SESSION answers again, its idle sessions are counted again, too. Rows that did not change stay the same
        objects: results of the analysis stay valid (:class:`presman.analysis.caches.RowCache`).
        """
        before = self._asked.get(query.record)
        if query.record is Session and before is not None and before.late and section.problem is None:
            self._asked.pop(SessionCount, None)
        if before is not None and before.section.rows == section.rows:
            section = replace(section, rows=before.section.rows)
        if section.problem is None or not section.problem.late:  # the view answered, even if with an error
            answer = LastAnswer(at, self._number, section if section.at else replace(section, at=at))
        elif before is None or not self._keep_late or (before.section.problem and not before.late):
            # It did not answer in time, and there are no earlier rows to keep.
            answer = LastAnswer(at, self._number, replace(section, at=None), 1 + (before.late if before else 0))
        else:
            answer = LastAnswer(at, self._number, replace(before.section, problem=section.problem), 1 + before.late)
        self._asked[query.record] = answer


def _binds(query: Query, detail_level: DetailLevel) -> Mapping[str, Any]:
    listed = query.record in BECOME.values()
    return {"with_idle": int(DetailLevel.IDLE_SESSIONS in detail_level)} if listed else {}
