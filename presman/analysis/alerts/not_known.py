"""Unknowns of a reading, each cause once: the one list of `check`, `once`, `alerts`, fleets and the screen."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from presman.analysis.alerts.alert_rules import is_plan_unknown
from presman.analysis.alerts.rule_book import views_of
from presman.analysis.readings.reading import NO_ANSWER, Reading
from presman.analysis.totals import totals
from presman.base.formats import listed

_WORDS: Mapping[str, str] = {
    "instances": "whether an instance is gone or was started",
    "quiesce": "whether the database is quiesced",
    "timeouts": "whether a queued statement times out soon",
    "holders": "whether a session that holds parallel servers is idle or blocked",
    "degrees": "whether a statement runs with fewer servers than it asked for",
    "pools": "whether sessions wait for a session pool",
    "CPU": "whether all CPUs are in use without a plan",
    "host": "whether other processes use the CPUs of the host",
    "servers": "whether all parallel servers are in use",
}
"""Foundations of rules besides `Reading.basis`, in words."""

_PART_OF: Mapping[str, str] = {"timeouts": "queue", "degrees": "downgrade"}
"""Foundations that are not named if something of `Reading.basis` is already named as not known for the same reason."""


def unavailable(reading: Reading) -> set[str]:
    """Return the foundations of rules (`rests_on`) that a database does not show."""
    now, header = totals(reading), reading.header
    is_plan_known = not any(is_plan_unknown(each, reading) for each in header.instances)
    known = {
        "instances": not (reading.part or reading.why_unavailable("V$INSTANCE")),
        "timeouts": not reading.why_unknown("queue") and not any(each.no_timeout for each in reading.queue),
        "holders": now.idle_held is not None,
        "degrees": now.downgraded is not None,
        "downgrade": now.downgrades is not None,
        "pools": now.pool_queued is not None,
        "CPU": now.used is not None and bool(now.cpus) and is_plan_known,
        "host": now.used is not None and all(each.host_busy is not None for each in header.instances),
        "servers": header.servers.in_use is not None and header.servers.maximum is not None,
        "quiesce": reading.quiesce is not None or not reading.why_unavailable("V$INSTANCE"),
    }
    lacking = {each.what for each in reading.basis if each.lacking and each.what not in known}
    return lacking | {name for name, is_known in known.items() if not is_known}


def not_known(reading: Reading) -> tuple[str, ...]:
    """Return the unknown facts, in words with the reason; a view that explains several things is named once."""
    if reading.is_silent():
        return (f"whether anything is wrong ({NO_ANSWER})",)
    unknown = defaultdict[str, list[str]](list)
    for why, words in (*reading.not_known(), *of_rules(reading)):
        unknown[why].append(words)
    found = [f"{listed(words)} ({why})" for why, words in unknown.items()]
    late = [each.view for each in reading.late if not any(each.view in text for text in found)]
    return (*found, *([f"{', '.join(late)}: no answer in time"] if late else []))


def of_rules(reading: Reading) -> Iterator[tuple[str, str]]:
    """Yield in words why a view did not answer, and the problems that rules cannot find for that reason."""
    missing = {each.view.removeprefix("G"): each.why for each in reading.unseen}
    away = unavailable(reading)
    for name, words in _WORDS.items():
        queue = reading.queue if name == "timeouts" else ()
        whys = [each.no_timeout for each in queue if each.no_timeout]
        whys += [missing[view] for view in views_of(name) if view in missing]
        if name in away and whys and reading.why_unknown(_PART_OF.get(name, "")) not in whys:
            yield whys[0], words
