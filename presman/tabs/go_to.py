"""Go to: finds the tab, group, instance, session, SQL_ID or target that a text names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from presman.analysis.readings.reading import CLUSTER, Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.base.errors import did_you_mean
from presman.tabs import tab_names
from presman.tabs.choices import DrillScope
from presman.tabs.drill_down import scope_of

_SESSION = re.compile(r"(?:(?P<inst>\d+):)?(?P<sid>\d+)(?:,(?P<serial>\d+))?")
_SOME = 4
"""Most SQL_IDs listed if a text matches several."""

_SQL_ID = re.compile(r"[0-9a-z]{1,13}")


class Destination(NamedTuple):
    """The destination of a name: a tab, a scope, a session or a target; `trouble` says why there is none."""

    tab: str = ""
    scope: DrillScope | None = None
    session: SessionReading | None = None
    target: str = ""
    trouble: str = ""


def names(reading: Reading | None, hidden: Sequence[str], targets: Sequence[str]) -> dict[str, Destination]:
    """Return the destinations by name: tabs, the groups and instances of a reading, targets."""
    found = {each.title: Destination(tab=each.name) for each in tab_names() if each.name not in hidden}
    if reading is not None:
        for group in reading.cluster_groups():
            found.setdefault(group.title, Destination(scope=scope_of(group)))
            found.setdefault(group.name, Destination(scope=scope_of(group)))
        for instance in reading.header.instances if len(reading.header.instances) > 1 else ():
            found[f"instance {instance.inst_id}"] = found[instance.name] = Destination(scope=scope_of(instance))
        for group in reading.cluster_groups():
            if group.container:
                found.setdefault(group.container, Destination(scope=DrillScope(group.container, con_id=group.con_id)))
    # Names of the database have priority over targets of config.ini that are called the same.
    return {**{name: Destination(target=name) for name in targets}, **found}


def goal(text: str, reading: Reading | None, hidden: Sequence[str], targets: Sequence[str]) -> Destination:
    """Return the destination of a text. Tab keys and names come first; an unambiguous beginning of a name is enough."""
    wanted = text.strip()
    known = names(reading, hidden, targets)
    for each in tab_names():
        if each.key == wanted and each.name not in hidden:
            return Destination(tab=each.name)
    if (found := _named(wanted, known, reading)) is not None:
        return found
    what = "no tab, group, instance, session (1:503), SQL_ID on show, or target of config.ini"
    return Destination(trouble=f"{wanted or 'Nothing'}: {what}; {did_you_mean(wanted, known)}.")


def _named(wanted: str, known: Mapping[str, Destination], reading: Reading | None) -> Destination | None:
    """Return the destination of a name or of the beginning of one, None if there is none."""
    exact = [name for name in known if name.lower() == wanted.lower()]
    begun = exact or [name for name in known if wanted and name.lower().startswith(wanted.lower())]
    goals = {known[name]: name for name in begun}
    if len(goals) == 1:
        return next(iter(goals))
    # A session or SQL_ID that is exactly this comes before the question which of several names is meant.
    if reading is not None and (found := next(_of_reading(wanted, reading), None)) is not None:
        return found
    if goals:
        return Destination(trouble=f"{wanted} may be {' or '.join(sorted(goals.values()))}.")
    if reading is not None and (begun := _sql_ids(wanted.lower(), reading)):
        if len(begun) == 1:
            return Destination(scope=DrillScope(begun[0], sql_id=begun[0]))
        more = f" or {len(begun) - _SOME} more" if len(begun) > _SOME else ""
        return Destination(trouble=f"{wanted} may be {' or '.join(begun[:_SOME])}{more}.")
    return None


def _of_reading(wanted: str, reading: Reading) -> Iterator[Destination]:
    """Yield the destinations among the sessions and statements of a reading."""
    if match := _SESSION.fullmatch(wanted):
        inst_id, sid, serial = match.groups()
        found = [row for row in reading.sessions if sid == str(row.sid) and serial in {None, str(row.serial)}]
        found = [row for row in found if inst_id in {None, str(CLUSTER), str(row.inst_id)}]
        if len(found) > 1:
            candidates = " or ".join(f"{row.inst_id}:{row.sid}" for row in found)
            yield Destination(trouble=f"{wanted} may be {candidates}.")
        elif found:
            yield Destination(session=found[0])
    if (sql_id := wanted.lower()) in _sql_ids(sql_id, reading):
        yield Destination(scope=DrillScope(sql_id, sql_id=sql_id))


def _sql_ids(beginning: str, reading: Reading) -> list[str]:
    """Return the SQL_IDs of a reading with this beginning, in order."""
    if not _SQL_ID.fullmatch(beginning):
        return []
    rows = (row for rows in (reading.queue, reading.running, reading.sessions) for row in rows)
    return sorted({row.sql_id for row in rows if row.sql_id.startswith(beginning)})
