"""All-clear: what is known not to be there, by which views, and of what nothing is known."""

from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.readings.reading import Alert, Reading
from presman.base.formats import counted, listed, spelled

_CLEARED_BY = {
    "queue_waits": "queue",
    "cpu_starved": "starved group",
    "cpu_zero_share": "starved group",
    "downgraded": "downgrade",
    "downgrades": "downgrade",
}
"""What there is where a rule speaks, though a threshold may have made its alert a note."""


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
    if whole:
        short = f"Nothing is wrong now{where}: no {listed(names, 'or')}"
        text = f"Nothing is wrong{where}: {absent}"
    else:
        text, short = absent.capitalize() + where, ", ".join(f"no {name}" for name in names).capitalize() + where
    brief = f"Nothing is wrong now{where}" if whole else short
    between = (f"{brief} (by {views})", f"{short} (by {counted(len(views_read), 'view')})")
    return [Alert("good", "●", f"{text} (by {views}).", short, between=between)]


def not_known(reading: Reading) -> list[Alert]:
    """Say of what nothing is known, and why."""
    unknown = [f"a {each.what} ({each.lacking})" for each in reading.basis if each.lacking]
    short = f"not known: {', '.join(f'a {each.what}' for each in reading.basis if each.lacking)}"
    return [Alert("note", "?", f"Whether there is {', or '.join(unknown)} is not known.", short)] if unknown else []
