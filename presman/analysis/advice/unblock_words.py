"""Words about the ways to let the head of a queue start."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.advice.candidate import Candidate, Unblock
from presman.analysis.advice.contenders import want_the_same
from presman.analysis.readings.statement_readings import Cause, QueueHead, RunningStatement
from presman.base.formats import counted, in_about


def nobody_named(head: QueueHead) -> str:
    """Say why no running statement is named."""
    if head.cause is Cause.NEVER_FITS:
        return "it is too large for its limit: ending others may not help; a lower DOP or another group does"
    if head.cause is Cause.UNEXPLAINED:
        return "the servers it wants are free: no running statement is known to hold it up"
    if head.cause in {Cause.UNKNOWN, Cause.SYSTEM, Cause.GROUP}:
        return "how many servers it lacks is not known, so no session is named"
    return "it waits for its turn in the queue, not for servers"


def sentence(found: Unblock, doubtful: int) -> str:
    """Say what lets a head start; `doubtful` statements may be monitors' and are not named."""
    if found.unknown:
        return f"who holds servers is not known: {found.unknown}"
    if found.blocked and found.soon is None:
        return _blocked_first(found.blocked)
    fixed = found.refused
    more = f"; {refused_holder(fixed)}" if fixed is not None and found.needed and found.soon is None else ""
    words = f"{_what_helps(found, doubtful)}{more}"
    return f"{queues_behind_itself(found.itself)}; without it {words}" if found.itself is not None else words


def queues_behind_itself(own: RunningStatement) -> str:
    """Say that the session that is queued holds servers itself: its end would end the statement that waits, too."""
    held = counted(own.servers, "server")
    cure = "close it, or raise the limit"
    return f"{own.who} is queued behind itself: its open cursor keeps {held} ({cure})"


def _blocked_first(blocked: Sequence[RunningStatement]) -> str:
    """Say whom to look at before anybody is ended."""
    most = max(blocked, key=lambda each: each.servers)
    held = counted(sum(each.servers for each in blocked), "server")
    return (
        f"look at {most.blocker} first: {held} are held by "
        f"{'a session that waits for it' if len(blocked) == 1 else 'sessions that wait for others'}"
    )


def _what_helps(found: Unblock, doubtful: int) -> str:
    """Say whose ends free enough."""
    if not found.candidates:
        if doubtful:
            return f"{_statements(doubtful)} may be monitors' GV$ queries and are not named; no other would help"
        return "no running statement holds servers that it could use"
    if not found.needed:
        refused = [each for each in found.candidates if each.refused and each.ends_in is None]
        if len(refused) == len(found.candidates):
            return "; ".join(dict.fromkeys(refused_holder(each) for each in refused))
        return "ending all of these may not free enough"
    return _chosen(found, found.candidates[: found.needed])


def refused_holder(candidate: Candidate) -> str:
    """Say who holds servers and cannot be ended, and why."""
    each = candidate.statement
    held = counted(each.servers, "server")
    if each.kind is not None and each.kind.is_background:
        done = f", {100 * each.progress:.0f} % done" if each.progress is not None else ""
        return f"{candidate.refused}{done}; it holds {held}"
    return f"{each.who} holds {held}: {candidate.refused}"


def _chosen(found: Unblock, chosen: Sequence[Candidate]) -> str:
    same = f"; {want_the_same(found.rivals)}" if found.rivals else ""
    # That what wants more than its limit starts once nothing else runs was seen, and is promised nowhere.
    perhaps = found.head.cause is Cause.NEVER_FITS
    lets = "with which it may start, though it is too large for the target" if perhaps else "that let it start"
    waits = [each.ends_in for each in chosen if each.ends_in is not None]
    total = sum(each.statement.servers for each in chosen)
    if len(waits) == len(chosen):
        starts = "may start" if found.rivals or perhaps else "should start by itself"
        return f"wait: it {starts} {in_about(max(waits))}, with {counted(total, 'server')} freed then{same}"
    after = f"after {_statements(len(waits))} that should end {in_about(max(waits))}, " if waits else ""
    to_end = chosen[len(waits) :]
    if len(to_end) == 1:
        kind = "idle holder" if to_end[0].statement.idle is not None else "statement"
        held = counted(to_end[0].statement.servers, "server")
        return f"{after}ending one {kind} frees the {held} {lets}{same}"
    freed = sum(each.statement.servers for each in to_end)
    together = f"ending {_statements(len(to_end))} together"
    return f"{after}{together} frees the {counted(freed, 'server')} {lets}{same}"


def _statements(number: int) -> str:
    return counted(number, "statement")
