"""Words about the ways to let the head of a queue start."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.advice.candidate import Candidate
from presman.analysis.advice.contenders import want_the_same
from presman.analysis.readings.statement_readings import Cause, QueueHead, RunningStatement
from presman.base.formats import counted, in_about


def nobody_named(head: QueueHead) -> str:
    """Say why no running statement is named."""
    if head.cause is Cause.NEVER_FITS:
        return "it wants more than it may ever have: nobody's end is known to help; a lower DOP or another group does"
    if head.cause in {Cause.UNKNOWN, Cause.SYSTEM, Cause.GROUP}:
        return "how many servers it is short of is not known, so nobody is named"
    return "it is not short of servers: the order of the queue holds it, not a running statement"


def blocked_first(blocked: Sequence[RunningStatement]) -> str:
    """Say whom to look at before anybody is ended."""
    most = max(blocked, key=lambda each: each.servers)
    held = counted(sum(each.servers for each in blocked), "server")
    return f"look at {most.blocker} first: {held} are held by who waits for {'it' if len(blocked) == 1 else 'others'}"


def what_helps(found: Sequence[Candidate], needed: int, doubtful: int, rivals: Sequence[str]) -> str:
    """Say what of all that was found lets the head start; `doubtful` statements may be monitors' and are not named."""
    if not found:
        if doubtful:
            return f"{_statements(doubtful)} may be monitors' GV$ queries and are not named; no other could be of use"
        return "no running statement holds servers that it could use"
    if not needed:
        return "not even all of these together are known to free enough"
    chosen = found[:needed]
    same = f"; {want_the_same(rivals)}" if rivals else ""
    waits = [each.ends_in for each in chosen if each.ends_in is not None]
    total = sum(each.statement.servers for each in chosen)
    if len(waits) == needed:
        starts = "may start" if rivals else "should start by itself"
        return f"wait: it {starts} {in_about(max(waits))}, with {counted(total, 'server')} freed then{same}"
    after = f"after {_statements(len(waits))} that should end {in_about(max(waits))}, " if waits else ""
    to_end = chosen[len(waits) :]
    if len(to_end) == 1:
        kind = "idle holder" if to_end[0].statement.idle is not None else "statement"
        held = counted(to_end[0].statement.servers, "server")
        return f"{after}the end of one {kind} frees the {held} that let it start{same}"
    freed = sum(each.statement.servers for each in to_end)
    together = f"the end of {_statements(len(to_end))} together"
    return f"{after}{together} frees the {counted(freed, 'server')} that let it start{same}"


def _statements(number: int) -> str:
    return counted(number, "statement")
