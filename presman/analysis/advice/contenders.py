"""Ways to let the head of a queue start, and the other queues that compete for the servers.

Sums show, as far as they can, which running statements count against the limit of their group and against the target.

Rules: the plan decides which group's head is next; a single queue for all groups serves the longest wait first. So a
start is predicted only if the servers named are enough, once free, for the head and for all that other queues could
take before it. Statements of another group can take no more than its own limit leaves them.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from msgspec import Struct

from presman.analysis.advice.ending import NEARLY_DONE, step_left, work_left
from presman.analysis.advice.freeing import alike, freeing, is_blocker, spare
from presman.analysis.advice.step import Proof
from presman.analysis.parallel.counted_servers import Counted
from presman.analysis.readings.forecast_readings import EndingEffect, is_proven
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    SAME_WAIT,
    NotKnown,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    Shortage,
    group_title,
    is_known,
)
from presman.base.formats import counted, duration, in_about, listed
from presman.rows.commands import Command, CommandKind


class Candidate(Struct, frozen=True):
    """A running statement whose end helps a head.

    `frees` is the number of servers that it certainly frees under every limit that binds, `perhaps` the number that it
    may free. They differ if it is not known whether the queue counts it (it may have bypassed the queue). `lost` is the
    work that its end throws away in server seconds, 0 for an idle holder, None if its running time is not known.
    `ends_in` is the number of seconds after which it should end by itself, None unless that is soon. `refused` is why
    it never gets a command, "" if it may. `objection` is why DO does not name it to be ended, "" if nothing speaks
    against it. `commands` end it; only an answer has them (:mod:`presman.analysis.advice.answers`), with `proven` for
    the proofs of its effect. For other candidates `why_not` says why there are none. `effect` is the effect of its end
    on the whole queue, None if not forecast.
    """

    statement: RunningStatement
    frees: int
    perhaps: int
    enough: bool
    lost: float | None
    commands: tuple[Command, ...] = ()
    ends_in: float | None = None
    refused: str = ""
    objection: str = ""
    effect: EndingEffect | None = None
    why_not: str = ""
    proven: tuple[Proof, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether a text can name it, because it can be ended or will end by itself."""
        return bool(self.commands) or self.ends_in is not None

    @property
    def verb(self) -> str:
        """The verb of its first command, "" without one: then the DBA waits for it."""
        return _VERBS.get(self.commands[0].kind, "") if self.commands else ""


STARTS_NOW = "DEQUEUE_PARALLEL_STATEMENT"
"""The procedure of DBMS_RESOURCE_MANAGER that starts a queued statement at once, past its limits."""

_VERBS = {CommandKind.CANCEL: "cancel", CommandKind.KILL: "end"}


def _times_out_soon(each: QueuedStatement) -> bool:
    return each.timeout_left is not None and each.timeout_left <= NEARLY_DONE


def _starts_at_timeout(head: QueueHead) -> bool:
    """Whether a head may soon start at its timeout. Then it takes servers even beyond its own limits."""
    return _times_out_soon(head.statement) and head.statement.timeout_action != "CANCEL"


def last_of(ends: Sequence[RunningStatement]) -> str:
    """Return the words on the last of some statements, and on those whose end the head needs before."""
    *before, last = ends
    others = before[0].who if len(before) == 1 else counted(len(before), "other")
    return f"{last.who} (after {others})" if before else last.who


def _may_end(ends: Sequence[RunningStatement]) -> str:
    """Return the sentence that the last of some statements may end by itself, "" for none."""
    if not ends:
        return ""
    step = ends[-1].operation.partition(" of ")[0]
    return f"{last_of(ends)} may end by itself {in_about(ends[-1].remaining)}, when its {step} is done"


class Unblock(Struct, frozen=True):
    """Ways to let one head start. The first `needed` of `candidates` are enough together; 0 if no such set is known.

    `commands` act on the waiting statement itself. `sentence` describes it all in words. `soon` is the number of
    seconds after which all needed statements should have ended by themselves, None if they should not. `blocked` are
    the statements that hold servers the head could use and wait for another session themselves. None of them is a
    candidate; the session that they wait for comes first, and `needed` is then 0. `by_itself` are the statements whose
    own end lets the head start, as estimated from the time they have left, the last to end at the end; () if not known.
    `by_step` are those whose end may let it start earliest, if they end with their current step, in the same order.
    `rivals` are the groups that want the same servers and may get them first, with as many servers as are free now.
    `turns` are the queues that take turns for the servers whatever is free, including the head's own; () without
    others. `order` says which of them is first, as far as presman knows. `unsure` says that another statement of its
    own queue may be first and want more, or that a limit is known for the last full minute only, "" if not. `itself` is
    a statement of the head's own session that holds servers which the head is short of: the session is queued behind
    itself. `unknown` is why the holders of servers are not known, "" if they are. `rivals_too_large` are the rivals
    that may be served first and want more than becomes free, so that no statement would start. `effect` is the effect
    on the whole queue if all needed statements end, None if not forecast. `idle` are the largest idle holders that
    nothing speaks against ending, whether they help this head or not. `starts_within` is the seconds within which its
    forecast has it start, in 8 cases of 10, None unless that is soon. `too_few` says that the servers of the blocked
    statements and of their blockers are not enough to start it, "" if they may be.
    """

    head: QueueHead
    candidates: tuple[Candidate, ...]
    needed: int
    commands: tuple[Command, ...]
    sentence: str
    soon: float | None = None
    blocked: tuple[RunningStatement, ...] = ()
    by_itself: tuple[RunningStatement, ...] = ()
    by_step: tuple[RunningStatement, ...] = ()
    rivals: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    order: str = ""
    unsure: str = ""
    itself: RunningStatement | None = None
    unknown: str = ""
    rivals_too_large: tuple[str, ...] = ()
    effect: EndingEffect | None = None
    idle: tuple[RunningStatement, ...] = ()
    starts_within: float | None = None
    too_few: str = ""
    doubt: NotKnown | None = None
    """The unknown fact that decides whether the head starts: no session is named then, and no start predicted."""

    @property
    def shows_only_sentence(self) -> bool:
        """Whether the sentence alone is shown: there is no statement to wait for or to end."""
        if self.only_waits and self.soon is None:
            return True
        is_unsure = bool(self.unknown) or self.doubt is not None
        return is_unsure or not any(each.is_named for each in self.candidates) or self.itself is not None

    @property
    def only_waits(self) -> bool:
        """Whether waiting is enough: the head should soon leave the queue, or all needed statements should soon end."""
        return self.soon is not None or bool(self.leaves_soon and not any(each.commands for each in self.candidates))

    @property
    def outdated(self) -> str:
        """The view that did not answer at this poll, so that it is not known which end helps; "" if all answered."""
        return next((each.statement.outdated for each in self.candidates), "")

    @property
    def checks_blocker_first(self) -> bool:
        """Whether a blocking session must be checked before any statement is ended or waited for."""
        return bool(self.blocked) and self.soon is None

    @property
    def refused(self) -> Candidate | None:
        """The candidate that cannot be ended and that alone would be enough, or is the only one."""
        fixed = next((each for each in self.candidates if each.refused and each.ends_in is None), None)
        return fixed if fixed is not None and (fixed.enough or not self.needed) else None

    @property
    def wait(self) -> float | None:
        """The seconds after which the head should start by itself; None if other statements may come before it."""
        if self.leaves_soon:
            return self.starts_within
        return None if self.rivals or self.unsure else self.soon

    @property
    def times_out(self) -> str:
        """The sentence that the head soon reaches its queue timeout, so that ending a session is no help; "" if not."""
        first = self.head.statement
        unless = f", unless you start it now ({STARTS_NOW})" if self.can_start_now else ""
        words = f"reaches its queue timeout in {duration(first.timeout_left)}: then {first.at_timeout}{unless}"
        return words if _times_out_soon(first) else ""

    @property
    def can_start_now(self) -> bool:
        """Whether the head soon reaches its queue timeout, and a command can start it before that ends it."""
        ends_soon = _times_out_soon(self.head.statement) and self.head.statement.timeout_action != "RUN"
        return ends_soon and any(each.kind is CommandKind.DEQUEUE for each in self.commands)

    @property
    def leaves_soon(self) -> str:
        """The sentence that the head leaves the queue soon, at its timeout or by its forecast, without a command.

        "" if not, or if the text about statements that should end by themselves already says it (a forecast covers
        all).
        """
        if self.times_out:
            return self.times_out
        if self.starts_within is None or (self.soon is not None and not self.rivals and not self.unsure):
            return ""
        within = in_about(self.starts_within).replace("in about", "within")
        return f"should start by itself {within}, by its forecast"

    @property
    def may_end(self) -> str:
        """The sentence that statements may end soon because their current steps are nearly done.

        They are enough, or the needed ones that work. "" without such statements, or if the needed ones should end by
        themselves anyway.
        """
        return _may_end(self._first_to_end(NEARLY_DONE))

    @property
    def may_end_later(self) -> str:
        """The same sentence even if that is not soon: a DBA should know it before ending a session."""
        return _may_end(self.may_end_first)

    @property
    def may_end_first(self) -> tuple[RunningStatement, ...]:
        """The statements that :attr:`may_end_later` is about, in the order of their ends."""
        return self._first_to_end(inf)

    def _first_to_end(self, within: float) -> tuple[RunningStatement, ...]:
        if self.soon is not None:
            return ()
        if self.by_step and work_left(self.by_step[-1], within) is not None:
            return self.by_step
        needed = (each.statement for each in self.candidates[: self.needed] if each.ends_in is None)
        chosen = [each for each in needed if each.idle is None]
        nearly = all(step_left(each, within) is not None for each in chosen)
        return tuple(sorted(chosen, key=lambda each: each.remaining or 0.0)) if nearly else ()

    @property
    def idle_beside(self) -> tuple[RunningStatement, ...]:
        """The idle holders that must end, too, before the head can start after the end that `may_end` describes."""
        ends = self._first_to_end(NEARLY_DONE)
        if not ends or ends == self.by_step:
            return ()
        needed = (each for each in self.candidates[: self.needed] if each.ends_in is None)
        return tuple(each.statement for each in needed if each.statement.idle is not None)

    @property
    def ways(self) -> tuple[tuple[RunningStatement, ...], ...]:
        """The sets of statements whose ends are forecast for the whole queue: each idle one, then `possible`.

        Whether an idle holder is enough for a head changes with every server that is taken or freed; the effect of its
        end on the queue does not.
        """
        alone = tuple((each,) for each in self.idle)
        return (*alone, *(each for each in self.possible if each not in alone))

    @property
    def possible(self) -> tuple[tuple[RunningStatement, ...], ...]:
        """The sets whose ends free the servers a head lacks: the needed ones together, or each that is enough."""
        return self._ways([each for each in self.candidates if each.ends_in is None and not each.refused])

    @property
    def answers(self) -> tuple[tuple[RunningStatement, ...], ...]:
        """The sets of `possible` that are offered because their ends are proven to help."""
        return self._ways([each for each in self.candidates if each.commands])

    def _ways(self, ended: Sequence[Candidate]) -> tuple[tuple[RunningStatement, ...], ...]:
        if self.needed > 1:
            needed = tuple(each.statement for each in self.candidates[: self.needed] if each in ended)
            return (needed,) if needed else ()
        return tuple((each.statement,) for each in ended if each.enough or is_proven(each.effect))

    @property
    def blockers(self) -> tuple[Candidate, ...]:
        """The candidates that others wait for and that hold servers themselves."""
        return tuple(each for each in self.candidates if is_blocker(each.statement, self.blocked))


def contenders(
    head: QueueHead, freed: Sequence[RunningStatement], reading: Reading, counts: Counted
) -> tuple[str, ...]:
    """Return the groups that could take the servers before `head` once `freed` have ended; () if all find enough."""
    freed = [each for each in freed if counts.of_statement(each, everybody=True)]
    others = {}
    for other in _others(head, freed, reading, counts):
        taken = _could_take(other, _before(head, other, reading), freed)
        if taken > 0:
            others[group_title(other)] = taken
    # The target of the system is shared by all rivals, the limit of the container only by those inside it.
    near = {group_title(each) for each in reading.heads if each.con_id == head.con_id}
    within = {name: taken for name, taken in others.items() if name in near}
    found: set[str] = set()
    for names, left in ((others, _left_of_all(head, freed)), (within, _left_of_container(head, freed))):
        if left is not None and sum(names.values()) > left:
            found |= set(names)
    return tuple(sorted(found))


def take_turns(
    head: QueueHead, freed: Sequence[RunningStatement], reading: Reading, counts: Counted
) -> tuple[str, ...]:
    """Return the queues that may take the servers `head` lacks before it does, including its own; () without others.

    Unlike :func:`contenders`, it does not depend on how many servers are free at this instant, because each start and
    end changes that. For the same reason a queue that is empty now but was not in the last full minute counts, too, for
    the servers of idle holders; otherwise DO would say to end them and withdraw that within seconds. A queue that its
    own limit holds back takes no servers that others free, so it does not count, unless that limit counts one of
    `freed`, or a statement that may end before a DBA has decided about an idle holder.
    """
    by_target = any(each.everybody for each in head.shortages)
    container = any(not each.everybody and not each.group for each in head.shortages)

    def is_rival(con_id: int, group: str) -> bool:
        return (con_id, group) != (head.con_id, head.group) and (by_target or (container and con_id == head.con_id))

    keeps_on = any(each.idle is not None for each in freed)
    soon = (each for each in reading.running if keeps_on and work_left(each, NEARLY_DONE) is not None)
    ended = [*freed, *soon]
    rivals = (each for each in _others(head, ended, reading, counts) if is_rival(each.con_id, each.group))
    others = [group_title(each) for each in rivals if _before(head, each, reading)]
    now = {(each.con_id, each.group) for each in reading.heads}
    others += [
        row.title
        for row in reading.cluster_groups()
        if keeps_on
        and (row.px_queued_minute or 0.0) > 0.0
        and (row.con_id, row.name) not in now
        and is_rival(row.con_id, row.name)
        and not (head.one_queue and row.con_id == head.con_id)
        and not (row.is_full and _are_kept([Shortage(1, con_id=row.con_id, group=row.name)], ended, counts))
    ]
    return tuple(sorted({group_title(head), *others})) if others else ()


def too_large(
    head: QueueHead, rivals: Sequence[str], freed: Sequence[RunningStatement], reading: Reading, counts: Counted
) -> tuple[str, ...]:
    """Return the rivals whose head may want more than there is once `freed` have ended.

    If the plan serves such a rival first, it keeps waiting and `head` waits behind it: then no statement starts.
    """
    freed = [each for each in freed if counts.of_statement(each, everybody=True)]
    left = _left_of_all(head, freed)
    # The servers left are counted with the head served; the rival would be served in place of it.
    room = None if left is None or head.wants is None else left + head.wants.high
    heads = {group_title(each): each for each in reading.heads}
    return tuple(name for name in rivals if room is None or _wanted(heads[name]) > room)


def _others(
    head: QueueHead, freed: Sequence[RunningStatement], reading: Reading, counts: Counted
) -> Iterator[QueueHead]:
    """Yield the other heads that could use the servers of `freed`: they may run on a common instance."""
    here = {inst_id for each in head.shortages for inst_id in each.inst_ids}
    for other in reading.heads:
        there = {inst_id for each in other.shortages for inst_id in each.inst_ids}
        is_elsewhere = bool(here and there) and here.isdisjoint(there)
        is_own = (other.con_id, other.group) == (head.con_id, head.group)
        if is_own or is_elsewhere:
            continue
        if _starts_at_timeout(other) or not _are_kept(own_limits(other, reading), freed, counts):
            yield other


def own_limits(other: QueueHead, reading: Reading) -> list[Shortage]:
    """Return the shortages of a queue under the limits of its group and container, whichever statement is first."""
    own = (each for each in other.shortages if each.is_certain and not each.everybody)
    return [each for each in own if each.short > spare(other, reading)]


def _are_kept(own: Iterable[Shortage], freed: Sequence[RunningStatement], counts: Counted) -> bool:
    """Whether one of its own limits still holds a queue back once `freed` have ended: it counts none of these."""
    return not all(any(freeing(one, [each], counts) for one in freed) for each in own)


def _before(head: QueueHead, other: QueueHead, reading: Reading) -> list[QueuedStatement]:
    """Return the statements of another head's queue that may start before `head`."""
    queue = [each for each in reading.queue if (each.con_id, each.group) == (other.con_id, other.group)]
    queue = queue or [other.statement]
    if head.one_queue and other.con_id == head.con_id:
        # One queue serves all groups: only statements that have waited longer, or about as long, may come before.
        waited = head.statement.waited or 0.0
        return [each for each in queue if each.waited is None or each.waited > waited - SAME_WAIT]
    return queue


def _could_take(other: QueueHead, queue: Sequence[QueuedStatement], freed: Iterable[RunningStatement]) -> float:
    """Return the servers that a queue could take, at most those that its own limit leaves; 0 if its head has no room.

    A head that starts at its timeout needs no room.
    """
    at_timeout = _wanted(other) if _starts_at_timeout(other) else 0
    if not queue:
        return at_timeout
    first = other.wants
    wanted = sum(map(_wanted, queue))
    if other.allowed is None:
        return wanted
    whole = other.con_id > 2  # a pluggable database: the limit may be that of its container
    usable = (each for each in freed if each.con_id == other.con_id and (whole or each.group == other.group))
    # As long as its head has no room, no statement behind it starts either.
    room = other.allowed - (other.held or 0) + sum(each.servers for each in usable)
    needs = first.low if is_known(first) else 0
    return max(at_timeout, min(wanted, room) if room > 0 and room >= needs else 0)


def _left_of_all(head: QueueHead, freed: Iterable[RunningStatement]) -> float | None:
    """Return the servers left below the system's target once `head` has its servers, None without a target."""
    if head.target is None or head.wants is None or head.in_use is None:
        return None
    inst_ids = {inst_id for each in head.shortages for inst_id in each.inst_ids}
    return head.target - head.in_use + sum(each.held_on(inst_ids) for each in freed) - head.wants.high


def _left_of_container(head: QueueHead, freed: Iterable[RunningStatement]) -> float | None:
    """Return the servers left below the container's limit once `head` has its own, None if that limit does not bind."""
    short = next((each.short for each in head.shortages if not each.everybody and not each.group), None)
    if short is None:
        return None
    return sum(each.servers for each in freed if each.con_id == head.con_id) - short


def who_is_first(head: QueueHead, turns: Sequence[str], reading: Reading) -> str:
    """Return a sentence on which of the queues in `turns` is served first, as far as presman knows."""
    if head.one_queue is False:
        return "the plan decides which is first, and no view shows it"
    others = [name for name in turns if name != group_title(head)]
    near = {group_title(each) for each in reading.heads if each.con_id == head.con_id}
    if head.one_queue and near.issuperset(others):
        return f"{listed(others)} waited longer and {'come' if len(others) > 1 else 'comes'} first"
    return "which is first is not known"


def first_may_want_more(head: QueueHead, reading: Reading) -> str:
    """Return the sentence that a statement which may be first wants more than the head; "" if none does."""
    other = max(alike(head, reading), key=_wanted, default=None)
    if head.wants is None or other is None or (most := _wanted(other)) <= head.wants.high:
        return ""
    as_long = " that waited as long" * other.waits_like(head.statement)
    wants = f"wants {counted(int(most), 'server')}" if most < inf else "may want more"
    return f"another{as_long} {wants}, and which is first is not known"


def _wanted(each: QueuedStatement | QueueHead) -> float:
    """Return the largest number of servers that a queued statement may want."""
    return each.wants.high if is_known(each.wants) else inf


def want_the_same(names: Sequence[str]) -> str:
    """Return the words that these queues want the same servers, "" for none."""
    return f"{listed(names)} {'want' if len(names) > 1 else 'wants'} the same servers" if names else ""
