"""Alerts: what is wrong, worst first, each in one sentence. Words from the Reading; nothing is computed here."""

from __future__ import annotations

from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.sight_readings import Basis
from presman.analysis.readings.statement_readings import Cause, QueueHead, group_title
from presman.base.formats import duration, number
from presman.base.text import one_line
from presman.drawing.lines import Line
from presman.tabs.alert import Alert
from presman.tabs.link import Link, LinkState
from presman.tabs.shortage_alerts import shortages

IDLE = "○"
"""The glyph of idle holders."""


def alerts(reading: Reading | None, link: Link) -> tuple[Alert, ...]:
    """Return everything that is wrong: the worst, idle holders, then the others, worst first.

    Where nothing is wrong, first what is known not to be there.
    """
    lost = [Alert("bad", "✕", f"No connection: {link.text}", link.text)] if link.state is LinkState.LOST else []
    if reading is None:
        return tuple(lost)
    known = wrong(reading)
    found = lost + known + ([] if lost or known else _all_clear(reading)) + _not_known(reading)
    found += [_trouble(trouble.view or trouble.query, trouble.text, trouble.cure) for trouble in reading.troubles]
    found += [Alert("note", "·", one_line(note, 400), one_line(note, 80)) for note in reading.notes]
    rank = {"bad": 0, "warn": 1, "good": 2, "note": 3}
    ranked = sorted(found, key=lambda alert: rank.get(alert.state, 4))
    idle = [alert for alert in ranked if alert.glyph == IDLE]  # what can be done at once comes behind the worst only
    others = [alert for alert in ranked if alert.glyph != IDLE]
    return (*others[:1], *idle, *others[1:])


def sight(reading: Reading) -> tuple[str, ...]:
    """Return what is known not to be there and what is not known, with the views, as sentences."""
    clear = [] if wrong(reading) else _all_clear(reading)
    return tuple(alert.text for alert in clear + _not_known(reading))


def no_queue(reading: Reading) -> Line:
    """Return the line for an empty queue: by which view it is empty, or why nothing is known of it."""
    basis = next((each for each in reading.basis if each.what == "queue"), None)
    if basis is None or basis.lacking:
        return ((f" ? Whether a statement is queued is not known{_because(basis)}.", "note"),)
    return ((f" ● Nothing is queued (by {', '.join(basis.views)}).", "good"),)


def unseen_queue(reading: Reading) -> str:
    """Return why no statement of the queue can be seen, "" where they can."""
    basis = next((each for each in reading.basis if each.what == "queue"), None)
    return f"Not known{_because(basis)}." if basis is None or basis.lacking else ""


def _because(basis: Basis | None) -> str:
    return f": {basis.lacking}" if basis is not None else ""


def wrong(reading: Reading) -> list[Alert]:
    """Return what is wrong with the database, in no order."""
    longest_first = sorted(reading.heads, key=lambda head: -(head.statement.waited or 0.0))
    heads = [_head(head, reading) for head in longest_first]
    groups = [_group(group) for group in reading.cluster_groups() if group.verdict in _GROUP_VERDICTS]
    return heads + groups + shortages(reading) + _idle(reading) + _blocked(reading) + _downgraded(reading)


def _all_clear(reading: Reading) -> list[Alert]:
    """Say what is known not to be there, and by which views; nothing is said of what they did not tell."""
    known = [each for each in reading.basis if not each.lacking]
    if reading.queue:
        known = [each for each in known if each.what != "queue"]
    if not known:
        return []
    where = f" in {reading.header.container}" if reading.header.container else ""
    whole = f"Nothing is wrong{where}: " if len(known) == len(reading.basis) else ""
    absent = ", ".join(f"no {each.what}" for each in known)
    views = ", ".join(dict.fromkeys(view for each in known for view in each.views))
    short = whole + (absent if whole else absent.capitalize() + where)
    return [Alert("good", "●", f"{short} (by {views}).", short)]


def _not_known(reading: Reading) -> list[Alert]:
    """Say of what nothing is known, and why."""
    told = [f"a {each.what} ({each.lacking})" for each in reading.basis if each.lacking]
    short = f"not known: {', '.join(f'a {each.what}' for each in reading.basis if each.lacking)}"
    return [Alert("note", "?", f"Whether there is {', or '.join(told)} is not known.", short)] if told else []


_GROUP_VERDICTS = frozenset({Verdict.STARVED, Verdict.ZERO_SHARE, Verdict.CAPPED})


def head_sentence(head: QueueHead) -> str:
    """Return why a queue waits, with the group and the statement it is about."""
    who = head.statement.sql_id or head.statement.user or "(no SQL_ID)"
    return f"{_group_of(head)}: head {who} {head.sentence}"


def _group_of(head: QueueHead) -> str:
    return group_title(head) if head.group else "unknown group"


def _head(head: QueueHead, reading: Reading) -> Alert:
    queued = sum((each.con_id, each.group) == (head.con_id, head.group) for each in reading.queue)
    never = head.cause is Cause.NEVER_FITS
    short = f"{_group_of(head)}: {queued} queued, head {duration(head.statement.waited)}, {head.cause.value}"
    return Alert("bad" if never else "warn", "✕" if never else "▲", head_sentence(head), short)


def _group(group: GroupReading) -> Alert:
    bad = group.verdict is not Verdict.CAPPED
    wants = f"; wants {number(group.wanted)}" if group.wanted is not None else ""
    if group.limited_by:
        cpus = f"{number(group.limit_used)} of {number(group.limit_allowed)} CPUs"
        short = f"{group.title}: {group.limited_by} at its limit, {cpus}"
        wants = f"; the group uses {number(group.used)}{wants}"
    else:
        most = group.limit if not bad else group.entitled
        of = "" if group.verdict is Verdict.ZERO_SHARE else f" of {number(most)}"
        cpus = f"{number(group.used)}{of} CPUs"
        short = f"{group.title} {group.verdict.value}, {cpus}"
    return Alert("bad" if bad else "note", "✕" if bad else "▬", f"CPU: {short}{wants}", short)


def _idle(reading: Reading) -> list[Alert]:
    idle = [statement for statement in reading.running if statement.idle is not None]
    if not idle:
        return []
    held = sum(statement.servers for statement in idle)
    who = ", ".join(f"{s.user} {s.inst_id}:{s.sid},{s.serial} ({s.servers}, idle {duration(s.idle)})" for s in idle[:3])
    short = f"{len(idle)} idle holder{'s' if len(idle) > 1 else ''} keep{'' if len(idle) > 1 else 's'} {held} servers"
    return [Alert("warn", IDLE, f"{short}: {who}{' …' if len(idle) > 3 else ''}", short)]


def _blocked(reading: Reading) -> list[Alert]:
    """Tell who holds servers while he waits for another session."""
    blocked = [statement for statement in reading.running if statement.blocker]
    if not blocked:
        return []
    held = sum(statement.servers for statement in blocked)
    who = ", ".join(
        f"{s.user} {s.inst_id}:{s.sid},{s.serial} ({s.servers}) waits for {_whom(s.blocker, reading)}"
        for s in blocked[:3]
    )
    short = f"{held} servers held by who is blocked"
    return [Alert("warn", "▲", f"{short}: {who}{' …' if len(blocked) > 3 else ''}", short)]


def _whom(blocker: str, reading: Reading) -> str:
    """Return a session in words, as far as it can be seen."""
    found = next((each for each in reading.sessions if f"{each.inst_id}:{each.sid}" == blocker), None)
    if found is None:
        return blocker
    idle = f", idle {duration(found.last_call)}" if found.status == "INACTIVE" else ""
    return f"{found.user} {blocker}{idle}"


def _downgraded(reading: Reading) -> list[Alert]:
    running = [statement for statement in reading.running if statement.downgraded > 0]
    if not running:
        return []
    who = ", ".join(f"{s.sql_id} {s.degree}/{s.requested}" for s in running[:3])
    short = f"{len(running)} running downgraded"
    return [Alert("warn", "▼", f"{short}: {who}{' …' if len(running) > 3 else ''}", short)]


def _trouble(view: str, text: str, cure: str) -> Alert:
    told = f"{view}: {text}" if view not in text else text
    return Alert("note", "!", one_line(f"{told}{' – ' + cure if cure else ''}", 400), one_line(told, 60))
