"""Servers that an idle holder keeps while queues take turns: which queues want them, and which heads its end starts."""

from collections.abc import Sequence
from typing import NamedTuple

from presman.analysis.advice.contenders import first_may_want_more
from presman.analysis.advice.ending import NEARLY_DONE, idle_to_end, pause
from presman.analysis.advice.freeing import covers, freeing, is_blocker, spare, why_useless
from presman.analysis.parallel.counted_servers import Counted, why_not_counted
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, RunningStatement, group_title
from presman.base.formats import counted, listed


class KeptServers(NamedTuple):
    """The queues taking turns that want the servers of an idle holder, as names and in words.

    `doubt` says that the limit of its own group does not, or may not, count it; "" if its group does not wait for that
    limit. `starts` says which heads its end alone starts now: none, with the servers that they lack; one of them, if it
    is enough for each; or those for which it is enough. It is "" if not known. `pauses` says that it may be between two
    fetches, "" if it has been idle for too long.
    """

    queues: list[str]
    words: str
    doubt: str
    starts: str
    pauses: str


def kept_in_words(each: RunningStatement) -> str:
    """Return in words the servers that an idle holder keeps.

    If it worked a moment ago, the words say that it went idle, because DO may have predicted its end.
    """
    servers = counted(each.servers, "server")
    if has_just_stopped(each):
        return f"{each.who} went idle {each.idle_time} ago but still keeps {servers}"
    return f"{each.who} (idle {each.idle_time}) keeps {servers}"


def has_just_stopped(each: RunningStatement) -> bool:
    """Whether an idle holder worked a moment ago, so that presman may have predicted its end."""
    return each.idle is not None and each.idle_known and each.seen_ago is None and each.idle < NEARLY_DONE


def kept_servers(each: RunningStatement, turns: Sequence[str], reading: Reading) -> KeptServers:
    """Return the queues that want the servers of an idle holder, without those that cannot use them.

    Its own queue is left out if the limit that holds its group back does not certainly count these servers; so is a
    queue whose head finds all that it wants free.
    """
    own, doubt = group_title(each), _doubt(each, reading)
    has_room = (group_title(head) for head in reading.heads if head.cause in {Cause.NOT_CHOSEN, Cause.UNEXPLAINED})
    useless = {*why_useless(each, reading), *([own] if doubt else []), *has_room}
    queues = [name for name in turns if name not in useless]
    words = f"{kept_in_words(each)} that {queues_want(queues, reading)}{doubt}"
    certain = not doubt and queues == list(turns)
    starts = starts_no_head(each, queues, reading) or _starts_some(each, queues, reading, certain=certain)
    return KeptServers(queues, words, doubt, starts, pause(each).partition(", so ")[2])


def _doubt(each: RunningStatement, reading: Reading) -> str:
    group = (each.con_id, each.group)
    holds = any((limit.con_id, limit.group) == group for head in reading.heads for limit in head.shortages)
    if not holds or not why_not_counted(each, reading):
        return ""
    does = "may" if Counted.of(reading).of_statement(each, everybody=False) is None else "does"
    return f" ({group_title(each)}'s limit {does} not count them)"


def kept_for_others(names: Sequence[str], head: QueueHead, reading: Reading) -> str:
    """Return the words on an idle holder whose servers only queues other than the head's can use; "" without one."""
    for each in idle_to_end(reading):
        queues = kept_servers(each, names, reading).queues
        if queues and group_title(head) not in queues:
            return f"; {kept_in_words(each)} that {queues_want(queues, reading)}"
    return ""


def queues_want(names: Sequence[str], reading: Reading, them: str = "") -> str:
    """Return the words that these queues want the servers of an idle holder, or did within the last minute or two."""
    now = [name for name in names if name in {group_title(each) for each in reading.heads}]
    if not now:
        return f"{listed(names)} wanted{them} a minute ago"
    before = [name for name in names if name not in now]
    did = f", and {listed(before)} did a minute ago" if before else ""
    return f"{listed(now)} want{'s' * (len(now) == 1)}{them}{did}"


def starts_no_head(each: RunningStatement, names: Sequence[str], reading: Reading) -> str:
    """Return the servers that the heads of these queues lack if the end of `each` alone starts none, "" otherwise."""
    heads = [head for head in reading.heads if group_title(head) in names and head.not_known is None]
    short = {group_title(head): still_short([each], head, reading) for head in heads}
    if not short or not all(short.values()):
        return ""
    return f"{listed([_lacks(name, servers) for name, servers in short.items()])}, so ending it alone is not enough now"


def too_few(blocked: Sequence[RunningStatement], head: QueueHead, reading: Reading) -> str:
    """Return the servers a head lacks if those of blocked statements and blockers are too few, "" otherwise."""
    held = [each for each in reading.running if each in blocked or is_blocker(each, blocked)]
    short = still_short(held, head, reading) if held and head.not_known is None else 0
    return f"; {_lacks(group_title(head), short)}, so that alone is not enough now" if short else ""


def _lacks(name: str, servers: int) -> str:
    return f"{name} is short by {servers}"


def _starts_some(each: RunningStatement, names: Sequence[str], reading: Reading, *, certain: bool) -> str:
    """Return the heads of these queues for which the end of `each` alone is enough, "" if that is not known.

    One of them certainly starts if it is enough for each and no other queue takes turns with them (`certain`).
    """
    heads = [head for head in reading.heads if group_title(head) in names]
    is_open = all(head.one_queue is False for head in heads) and len(heads) == len(names) > 1
    if not is_open or any(head.not_known for head in heads):
        return ""
    enough = [group_title(head) for head in heads if _is_enough(each, head, reading)]
    short = [(group_title(head), still_short([each], head, reading)) for head in heads]
    lacking = [_lacks(name, servers) for name, servers in short if servers]
    if enough == [group_title(head) for head in heads]:
        if not certain:
            return "ending it is enough for one of them"
        return "ending it starts at least one of their heads, and the plan decides which"
    if not enough or len(enough) + len(lacking) < len(heads):
        return ""
    return f"ending it is enough for {listed(enough)}, but {listed(lacking)}; the plan decides which is first"


def _is_enough(each: RunningStatement, head: QueueHead, reading: Reading) -> bool:
    freed = freeing(each, head.shortages, Counted.of(reading))
    is_covered = freed is not None and covers([freed], [shortage.short for shortage in head.shortages])
    return is_covered and not first_may_want_more(head, reading)


def still_short(ended: Sequence[RunningStatement], head: QueueHead, reading: Reading) -> int:
    """Return the servers a head lacks under its worst shortage once `ended` have ended; 0 if it may start then."""
    counts = Counted.of(reading)
    found = [freed for each in ended if (freed := freeing(each, head.shortages, counts))]
    # The most that may become free, and the least that it wants: only servers that are certainly missing count.
    most = [sum(freed.high[n] for freed in found) for n in range(len(head.shortages))]
    pairs = zip(head.shortages, most, strict=True)
    left, short = max(((shortage.short - high, shortage.short) for shortage, high in pairs), default=(0, 0))
    return short if left > spare(head, reading) else 0
