"""All-clear: what is known not to be there, by which views, and of what nothing is known."""

from typing import cast

from presman.analysis.alerts.alert_rules import FULL, by_rules
from presman.analysis.readings.reading import Alert, Reading, Severity
from presman.base.formats import counted, number, spelled

_CLEARED_BY = {
    "queue_waits": "queue",
    "cpu_starved": "starved group",
    "cpu_zero_share": "starved group",
    "downgraded": "downgrade",
    "downgrades": "downgrade",
}
"""What there is where a rule speaks, though a threshold may have made its alert a note."""


_MUCH = 0.1
"""The part of the CPUs from which on it counts that as much is waited for."""


def all_clear(reading: Reading) -> list[Alert]:
    """Say what is known not to be there, for which time and by which views; nothing of what they did not tell."""
    alerted = {_CLEARED_BY[alert.key] for alert in by_rules(reading) if alert.key in _CLEARED_BY}
    alerted |= {"queue"} if reading.queue else set()
    known = [each for each in reading.basis if not each.lacking and each.what not in alerted]
    if not known:
        return []
    where = f" in {reading.header.container}" if reading.header.container else ""
    whole = len(known) == len(reading.basis)
    views_read = tuple(dict.fromkeys(view for each in known for view in each.views))
    views = ", ".join(views_read)
    absent = ", ".join("no queue now" if each.what == "queue" else f"no {each.what}" for each in known)
    if reading.interval and any(each.what != "queue" for each in known):  # the others need two polls
        absent += f" in {spelled(max(1.0, reading.interval))}"
    names = [each.what for each in known]
    busy = _busy(reading)
    if busy:  # the plan may be met, and everybody be slow
        text, short = f"{busy}; {f'{where.lstrip()}: ' * bool(where)}{absent}", busy
    elif whole:
        short = f"Nothing is wrong now{where}: no {', '.join(names[:-1])} or {names[-1]}"
        text = f"Nothing is wrong{where}: {absent}"
    else:
        text, short = absent.capitalize() + where, ", ".join(f"no {name}" for name in names).capitalize() + where
    brief = f"Nothing is wrong now{where}" if whole and not busy else short
    between = (f"{brief} (by {views})", f"{short} (by {counted(len(views_read), 'view')})")
    state, glyph = ("note", "▬") if busy else ("good", "●")
    return [Alert(cast(Severity, state), glyph, f"{text} (by {views}).", short, between=between)]


def _busy(reading: Reading) -> str:
    """Return that all CPUs of an instance are in use while groups wait for some, "" where there are any to spare."""
    full, wanted = [], 0.0
    for each in reading.header.instances:
        rows = [row for row in reading.instance_groups(each.inst_id) if not row.doubt]
        used, waiting = sum(row.used or 0.0 for row in rows), sum(row.waiting or 0.0 for row in rows)
        if each.num_cpus and used >= FULL * each.num_cpus and waiting >= _MUCH * each.num_cpus:
            full.append(each)
            wanted += waiting
    if not full:
        return ""
    where = f" of instance {' and '.join(str(each.inst_id) for each in full)}"
    cpus = number(sum(each.num_cpus for each in full), 0)
    here = where if len(reading.header.instances) > 1 else ""
    return f"All {cpus} CPUs{here} are in use, {number(wanted)} more are waited for"


def not_known(reading: Reading) -> list[Alert]:
    """Say of what nothing is known, and why."""
    unknown = [f"a {each.what} ({each.lacking})" for each in reading.basis if each.lacking]
    short = f"not known: {', '.join(f'a {each.what}' for each in reading.basis if each.lacking)}"
    return [Alert("note", "?", f"Whether there is {', or '.join(unknown)} is not known.", short)] if unknown else []
