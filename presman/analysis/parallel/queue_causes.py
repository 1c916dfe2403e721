"""Causes why queued statements wait: for a head a sentence with the figures, for each statement a fixed reason."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.parallel.server_pools import ServerBudget, ServerLimit
from presman.analysis.readings.statement_readings import (
    LIMITS,
    Cause,
    Executing,
    NotKnown,
    QueuedStatement,
    QueueHead,
    QueueReason,
    Servers,
    Shortage,
    WantsSource,
    is_known,
)
from presman.base.formats import ago, as_of, counted, listed

_COUNTS = {1: "one set", 2: "two sets", 3: "three sets", 4: "four sets"}


class QueueState(NamedTuple):
    """The facts that decide whether a head can start; the system's budget and the limits are in servers.

    `ahead` counts statements of other groups that a single FIFO queue serves first. `rivals` are the other groups that
    have a head, among which the plan chooses. `containers` are the other containers that have a head: the CDB plan
    chooses among containers first. `inst_ids` are the instances on which its servers may run, empty for all.
    `passed_over` is when the head had room before and was not started, "" if it had none. `not_known` has the unknown
    facts: queued statements that are not listed, limits of its group or container whose servers are not known, and why
    the head did not start when it once had room. `outdated` is a view that did not answer at this poll, so that free
    servers are not known; "" if all answered. `part` says why the servers of other instances are not in view, "" if
    they are.
    """

    system: ServerBudget
    limits: tuple[ServerLimit, ...] = ()
    ahead: int = 0
    rivals: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    inst_ids: tuple[int, ...] = ()
    passed_over: str = ""
    not_known: tuple[NotKnown, ...] = ()
    outdated: str = ""
    part: str = ""

    def has_room(self, wants: Servers | None) -> bool:
        """Whether the servers counted leave enough free for `wants`, and no limit is unknown."""
        free = self.free
        return is_known(wants) and free is not None and wants.high <= free and not self.not_known

    @property
    def free(self) -> int | None:
        """Servers left below the target, every limit and in the pools; None if neither target nor limit is known."""
        tightest = self.tightest
        below = [each for each in (self.system.free, tightest and tightest.free) if each is not None]
        return int(min(*below, self.system.left)) if below else None

    @property
    def tightest(self) -> ServerLimit | None:
        """The limit with the least budget."""
        return min(self.limits, key=lambda limit: limit.free, default=None)

    def limit_named(self, cause: Cause) -> ServerLimit | None:
        """Return the limit that a cause names, the tightest one for a cause that names none."""
        of_group = {Cause.GROUP: True, Cause.CONTAINER: False}.get(cause)
        return next((each for each in self.limits if bool(each.group) is of_group), self.tightest)


def explain(wants: Servers | None, dop: int | None, state: QueueState) -> tuple[Cause, int | None, str]:
    """Return the cause, the servers short (None if not known exactly) and the sentence.

    A statement starts when it fits below the target and below its limits. A limit that binds is the cause even if
    the target also binds, because only servers of its own group help then. For the same reason the group's limit comes
    before the container's. A limit is no cause if it is not known what it counts: it only may bind. On 12.1 a statement
    that wants more than the whole target started once nothing else ran; for the limit of a group no such case is known.
    """
    # Without its DOP nothing can be compared. If it is too large for its limit, the free servers do not matter.
    if wants is None or wants.source is WantsSource.MEAN:
        each = f"{counted(wants.low, 'server')} each in the last minute" if wants else ""
        mean = f" (those queued in its group wanted {each})" if each else ""
        return Cause.UNKNOWN, None, "; ".join([f"wants servers for a DOP that is not known{mean}", *_figures(state)])
    if never := _never(wants, state):
        too_large = f"{_want(wants, dop)}, {never}"
        return Cause.NEVER_FITS, None, "; ".join([too_large, *map(str, _old_limits(wants, state))])
    free = state.free
    if free is None:
        return Cause.UNKNOWN, None, f"{_want(wants, dop)}; {NotKnown('how many are in use or allowed', state.part)}"
    if wants.high <= free:
        of_pool = " of PARALLEL_MAX_SERVERS" if free == state.system.left and state.system.maximum is not None else ""
        return _fitting(f"{_want(wants, dop)} and {free}{of_pool} are free{state.system.where}", state)
    if state.ahead:
        behind = f"one queue for all groups, {_statements_ahead(state)} ahead of it"
        return Cause.BEHIND, None, "; ".join([_want(wants, dop), behind, *_figures(state)])
    return _short_of_servers(wants, dop, state)


def _short_of_servers(wants: Servers, dop: int | None, state: QueueState) -> tuple[Cause, int | None, str]:
    """Explain a head for which the target or a limit leaves too few servers, or may do so."""
    # The limit of the group comes before that of the container: it names the cause.
    system = state.system
    binding = sorted((each for each in state.limits if wants.high > each.free), key=lambda limit: not limit.group)
    uncounted = [str(each) for each in binding if each.uncounted]
    known = [each for each in binding if not each.uncounted and not each.is_contradicted]
    by_system = system.free is not None and wants.high > system.free
    if not known and not by_system:
        return Cause.UNKNOWN, None, "; ".join([_want(wants, dop), *uncounted, *map(str, state.not_known)])
    figures = [*map(str, known), *([system.used] if by_system else [])]
    # The servers that a limit leaves are known only if the limit itself is current.
    left = {LIMITS[not each.group]: each.free for each in known if each.limit_age is None}
    left |= {LIMITS[2]: system.free} if system.free is not None and by_system else {}
    not_known = [*uncounted, *map(str, state.not_known)]
    sentence = "; ".join([_want(wants, dop), *figures, *([_short(wants, left)] if left else []), *not_known])
    # A range of servers wanted, or a limit that is not known, gives no exact number.
    short = wants.high - min(left.values()) if left and wants.low == wants.high and not not_known else None
    cause = Cause.SYSTEM if not known else Cause.GROUP if known[0].group else Cause.CONTAINER
    return cause, short, sentence


def not_known(wants: Servers | None, cause: Cause, state: QueueState) -> NotKnown | None:
    """Return a fact that is not known and decides whether a head starts, None if all such facts are known."""
    if cause is Cause.BEHIND:
        return None
    if wants is None or wants.source is WantsSource.MEAN:
        return NotKnown("the DOP of the head")
    if cause is Cause.NEVER_FITS:
        return next(_old_limits(wants, state), None)
    if cause is Cause.UNKNOWN and state.free is None:
        return NotKnown("how many servers are in use or allowed", state.part)
    if cause is Cause.UNKNOWN and state.outdated:
        return NotKnown("how many servers are free now", state.outdated)
    counts = (each.not_known for each in state.limits if wants.high > each.free and cause is Cause.UNKNOWN)
    return next(iter([*filter(None, counts), *state.not_known]), None)


def pool_too_small(wants: Servers | None, state: QueueState) -> NotKnown | None:
    """Return the unknown fact whether a head starts with too few servers in the pools, None if they have enough.

    A statement that finds fewer servers than it wants is downgraded, or runs serially. No document says whether one
    that is queued starts then. Servers freed below the target or a limit become free in the pools, too.
    """
    left = state.system.left
    if not is_known(wants):
        return None
    short = max((each.short for each in _shortages(wants, state)), default=0)
    if left + short >= wants.high:
        return None
    if state.system.maximum is None:
        return NotKnown("how many servers of PARALLEL_MAX_SERVERS are left", state.system.shows_maximum)
    why = f"{left} of the {state.system.maximum} of PARALLEL_MAX_SERVERS{state.system.where} are left"
    return NotKnown("whether it starts with fewer servers than it wants", why)


def _old_limits(wants: Servers, state: QueueState) -> Iterator[NotKnown]:
    """Yield the limits that are too small for a statement and may have changed since they were read."""
    if any(wants.low > limit.allowed for limit in state.limits):
        yield from (each for each in state.not_known if each.age is not None)


def shortages(wants: Servers | None, cause: Cause, state: QueueState) -> tuple[Shortage, ...]:
    """Return the servers to be freed under each limit that binds; empty if that is not known or would not help.

    A statement that wants more than the whole target started once nothing was in use, so it needs all servers in use to
    be freed. For a limit with an unknown count, the amount is the one that is certainly enough.
    """
    if wants is None or cause not in {Cause.SYSTEM, Cause.GROUP, Cause.CONTAINER, Cause.NEVER_FITS}:
        return ()
    return _shortages(wants, state)


def _shortages(wants: Servers, state: QueueState) -> tuple[Shortage, ...]:
    system, found = state.system, list[Shortage]()
    # No case is known in which a statement started that wants more than its limit: no end is known to help.
    if any(wants.low > limit.allowed for limit in state.limits):
        return ()
    if system.target is not None and system.in_use is not None:
        whole = wants.low > system.target
        short = system.in_use if whole else wants.high - system.target + system.in_use
        found.append(Shortage(min(short, system.in_use), everybody=True, inst_ids=state.inst_ids))
    for limit in (each for each in state.limits if not each.is_contradicted):
        short = min(wants.high - limit.free, limit.held)
        found.append(Shortage(short, con_id=limit.con_id, group=limit.group, is_certain=not limit.uncounted))
    return tuple(shortage for shortage in found if shortage.short > 0)


def _fitting(start: str, state: QueueState) -> tuple[Cause, int | None, str]:
    """Explain a head that fits: the order of the queue holds it back, or the views were read at different instants."""
    if state.ahead:
        return Cause.BEHIND, 0, f"{start}; one queue for all groups, {_statements_ahead(state)} ahead of it"
    if state.not_known or state.outdated:
        older = ago(state.system.age) if state.system.age else "by older figures"
        unclear = f"{older}; {state.outdated} did not answer"
        if state.not_known:
            unclear = f"as far as is known; {'; '.join(map(str, state.not_known))}"
        return Cause.UNKNOWN, None, f"{start} {unclear}, so presman cannot say whether it starts"
    if state.passed_over:
        other = "a limit that presman cannot see may apply (of its container, a service or another instance)"
        why = f"the server counts do not explain why it waits; {other}"
        return Cause.UNEXPLAINED, None, f"{start}, {state.passed_over}: {why}"
    chooses = f"the plan chooses between it and {', '.join(state.rivals)}" if state.rivals else ""
    if state.containers:
        first = f"the CDB plan chooses between its container and {', '.join(state.containers)}"
        chooses = f"{first}, then {chooses}" if chooses else first
    return Cause.NOT_CHOSEN, 0, f"{start}; {chooses or 'nothing that presman sees holds it back'}"


def _statements_ahead(state: QueueState) -> str:
    return f"{counted(state.ahead, 'statement')} of other groups"


def _never(wants: Servers, state: QueueState) -> str:
    """Return the limit that is too small for the statement even when nothing is in use, "" if none is."""
    for limit in state.limits:
        if wants.low > limit.allowed and not limit.is_contradicted:
            held, most = as_of(f"{limit.held} held", limit.age), f"that {limit.owner} is allowed"
            return f"more than the {limit.allowed} {as_of(most, limit.limit_age)}{limit.part}, {held}"
    system = state.system
    if system.target is not None and wants.low > system.target:
        rest = ", none are in use and it is still queued" if system.in_use == 0 else ""
        if system.in_use:
            rest = f", {as_of(f'{system.in_use} in use', system.age)}: it may start only when none are"
        return f"more than the target's {system.target}{system.where}{rest}"
    return ""


def _want(wants: Servers, dop: int | None) -> str:
    by = "" if wants.source is WantsSource.DEGREE else f" by {wants.source.value}"
    if wants.low != wants.high:
        sets, twice = ("one set", ", counted once or twice") if by else ("one or two sets", "")
        return f"wants {wants.low} to {wants.high} servers (DOP {dop}, {sets}{by}{twice})"
    if not dop or wants.low % dop:
        return f"wants {counted(wants.low, 'server')}{by}"
    many = wants.low // dop
    return f"wants {counted(wants.low, 'server')} (DOP {dop}, {_COUNTS.get(many, f'{many} sets')}{by})"


def _figures(state: QueueState) -> list[str]:
    tightest = state.tightest
    used = [state.system.used] if state.system.free is not None else []
    return used + ([str(tightest)] if tightest else [])


def _short(wants: Servers, binding: Mapping[str, int]) -> str:
    """Return how many servers are missing under each of the limits that bind, named as in :attr:`QueueHead.why`."""
    if len(binding) == 1:
        (left,) = binding.values()
        return f"short by {_least_of(wants, left)}{counted(wants.high - left, 'server')}"
    lacking = [f"{_least_of(wants, left)}{wants.high - left} ({name})" for name, left in binding.items()]
    return f"short by {listed(lacking)}"


def _least_of(wants: Servers, free: int) -> str:
    """Return the lower end of the range of missing servers, "" if the number is exact."""
    least = wants.low - free
    return "" if wants.low == wants.high else f"{least} to " if least > 0 else "up to "


_REASONS = {
    Cause.NEVER_FITS: QueueReason.NEVER_FITS,
    Cause.SYSTEM: QueueReason.TARGET,
    Cause.GROUP: QueueReason.GROUP_LIMIT,
    Cause.CONTAINER: QueueReason.CONTAINER_LIMIT,
    Cause.BEHIND: QueueReason.OTHER_QUEUE,
    Cause.NOT_CHOSEN: QueueReason.ORDER_OF_PLAN,
}


def with_queue_reasons(
    queue: Iterable[QueuedStatement], heads: Sequence[QueueHead], *, quiesced: bool
) -> tuple[tuple[QueuedStatement, ...], tuple[QueueHead, ...]]:
    """Return the queue and its heads with the reason of each statement: statements behind a head wait for that head."""
    first = {(head.con_id, head.group): (head, head_reason(head, heads, quiesced=quiesced)) for head in heads}
    by_statement: dict[Executing, QueuedStatement] = {}
    for each in queue:
        head, reason = first.get((each.con_id, each.group), (None, QueueReason.UNKNOWN))
        if head is None or not each.waits_like(head.statement):
            reason = QueueReason.BEHIND_IN_QUEUE
        by_statement[each.executing()] = replace(each, reason=reason)
    found = tuple(replace(head, statement=by_statement[head.statement.executing()]) for head in heads)
    return tuple(by_statement.values()), found


def head_reason(head: QueueHead, heads: Sequence[QueueHead], *, quiesced: bool) -> QueueReason:
    """Return why the head of a queue waits.

    A head that has room waits for the order of the plan only if there is another head to choose. If none of the counts
    explains the wait and the database is quiesced, the quiesce is the reason.
    """
    found = _REASONS.get(head.cause, QueueReason.UNKNOWN)
    if found is QueueReason.ORDER_OF_PLAN and len(heads) < 2:
        found = QueueReason.UNKNOWN
    if quiesced and found in {QueueReason.UNKNOWN, QueueReason.ORDER_OF_PLAN}:
        return QueueReason.QUIESCED
    return found
