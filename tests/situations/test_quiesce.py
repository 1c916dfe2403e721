"""A quiesced database: sessions wait for the event of a session pool, but it is not a full pool."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.alerts.not_known import not_known
from presman.analysis.groups.verdicts import conformance, in_words
from presman.analysis.readings.reading import Reading
from presman.analysis.totals import totals
from presman.analysis.trends.database_events import EventWatch
from presman.figures.drawing.lines import plain
from presman.output.json_document import document
from presman.output.narration import summary
from presman.output.plugin_check import perfdata
from presman.output.why_answer import AskedStatement, ReasonHistory, as_json, as_text
from presman.polling.seen_before import SeenBefore
from presman.rows.instance_rows import Instance
from presman.rows.queries import null_row
from presman.rows.session_rows import Session
from presman.rows.session_state import QUIESCE_WAIT
from presman.rows.snapshot import Quiescer, Section
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from presman.tui.pages.row_details import group
from tests.analysis.test_simulated import Clock, play
from tests.recording.recorded import polled
from tests.scenarios import without
from tests.situations.spooled import reading

HELD = 322
"""Sessions that a published incident had waiting."""
SESSIONS = "\n".join(
    [
        "SID | USERNAME | STATUS | EVENT | STATE | WAIT_TIME_MICRO | RESOURCE_CONSUMER_GROUP",
        *(
            f"{100 + number} | APP | ACTIVE | resmgr:become active | WAITING | {1000000 * number} | OTHER_GROUPS"
            for number in range(1, HELD + 1)
        ),
        "71 | APP | ACTIVE | db file sequential read | WAITED SHORT TIME | 12 | OTHER_GROUPS",
    ]
)
BY_SYS = "\n12 | SYS | ACTIVE | wait for possible quiesce finish | WAITING | 400000000 | SYS_GROUP"
GROUPS = f"NAME | ACTIVE_SESSIONS | QUEUE_LENGTH\nSYS_GROUP | 1 | 0\nOTHER_GROUPS | 1 | {HELD}"


def instance(state: str) -> str:
    return f"INSTANCE_NAME | VERSION | STATUS | ACTIVE_STATE\nORDERS | 19.22.0.0.0 | OPEN | {state}"


def plan(name: str) -> str:
    return f"NAME | IS_TOP_PLAN | CPU_MANAGED\n{name} | TRUE | ON"


def quiesced(folder: Path, **views: str) -> Reading:
    """Return the reading, after checks that nothing names a session pool."""
    found = reading(folder, {f"V${name}": table for name, table in views.items()})
    assert not [each for each in by_rules(found) if each.key == "session_pool"]
    assert [row.pool for row in found.groups] == [None] * len(found.groups)
    assert not [state.word for row in found.groups for state in row.states if state.word == "session_pool"]
    assert not totals(found).pool_queued
    assert found.quiesce is not None
    assert totals(found).held == found.quiesce.waiting
    written = json.loads(json.dumps(document(found), default=str))
    assert all(row["pool"] is None for row in written["groups"])
    return found


@pytest.mark.parametrize(
    ("active_state", "in_force", "finishing", "text"),
    [
        (
            "QUIESCING",
            "INTERNAL_QUIESCE",
            BY_SYS,
            "The database is being quiesced (by SYS 1:12, who waits for `wait for possible quiesce finish`); "
            "322 sessions wait, the first for 5:22: ALTER SYSTEM UNQUIESCE lets them in",
        ),
        (
            "QUIESCED",
            "INTERNAL_QUIESCE",
            "",
            "The database is quiesced; 322 sessions wait, the first for 5:22: ALTER SYSTEM UNQUIESCE lets them in",
        ),
        (
            "QUIESCED",
            "DAY",  # the plan of a container, say, or one that was read a moment before
            "",
            "The database is quiesced; 322 sessions wait, the first for 5:22: ALTER SYSTEM UNQUIESCE lets them in",
        ),
        (
            "",
            "INTERNAL_QUIESCE",
            "",
            "The database is quiesced, or being quiesced (plan INTERNAL_QUIESCE); 322 sessions wait, the first for "
            "5:22: ALTER SYSTEM UNQUIESCE lets them in",
        ),
        (
            "NORMAL",  # read before it began
            "DAY",
            BY_SYS,
            "The database is being quiesced (by SYS 1:12, who waits for `wait for possible quiesce finish`); "
            "322 sessions wait, the first for 5:22: ALTER SYSTEM UNQUIESCE lets them in",
        ),
    ],
)
def test_a_quiesced_database_is_an_alert_and_no_pool_is(
    tmp_path: Path, active_state: str, in_force: str, finishing: str, text: str
) -> None:
    found = quiesced(
        tmp_path,
        INSTANCE=instance(active_state),
        RSRC_PLAN=plan(in_force),
        SESSION=SESSIONS + finishing,
        RSRC_CONSUMER_GROUP=GROUPS,
    )
    (alert,) = [each for each in by_rules(found) if each.state in {"bad", "warn"}]
    assert (alert.key, alert.state, alert.amount) == ("quiesced", "bad", None)
    assert alert.text == text
    step = to_do(found)
    assert step is not None
    assert step.commands == ()
    lead = "ask SYS 1:12 whether" if finishing else "find out who quiesced the database and whether"
    assert step.text == f"{lead} it may end: ALTER SYSTEM UNQUIESCE, by SYS or SYSTEM, lets 322 sessions in"


def test_groups_held_by_a_quiesce_are_not_called_well(tmp_path: Path) -> None:
    """The plan was met and OTHER_GROUPS not throttled, or wanted no CPU, while 322 of its sessions hung."""
    views = {"INSTANCE": instance("QUIESCED"), "RSRC_PLAN": plan("INTERNAL_QUIESCE"), "SESSION": SESSIONS + BY_SYS}
    found = quiesced(tmp_path, **views, RSRC_CONSUMER_GROUP=GROUPS)
    (kept,) = conformance(found)
    assert kept.score is None
    assert kept.sentence.startswith("Not judged: 322 sessions wait until the quiesce of the database ends")
    states = {row.name: row.state.text for row in found.groups}
    assert states["OTHER_GROUPS"] == "322 held, database quiesced"
    assert "held" not in states["SYS_GROUP"]
    (others,) = [row for row in found.groups if row.name == "OTHER_GROUPS"]
    assert "322 sessions wait until the quiesce" in in_words(found, others)
    known = others._replace(used=1.0, waiting=0.0, doubt="")
    assert (known.wanted, known.throttled_percent) == (None, None), "held sessions want CPU, and no view counts that"
    assert "quiesced 322 sessions held" in " ".join(" ".join(map(plain, group(others, found))).split())
    assert "quiesce_held=322" in perfdata(found, ())
    assert summary(totals(found), "1 alert", "") == "0 statements queued; 322 sessions held by the quiesce; 1 alert"


def test_why_a_session_hangs_names_the_quiesce(tmp_path: Path) -> None:
    found = quiesced(tmp_path, INSTANCE=instance("QUIESCING"), SESSION=SESSIONS + BY_SYS)
    held, other = AskedStatement.of("422"), AskedStatement.of("71")
    first, second = as_text(found, held, ReasonHistory()).splitlines()
    assert first.endswith("of APP in OTHER_GROUPS has waited for 5 min 22 s: the database is quiesced (quiesced)")
    assert second.strip() == next(each.text for each in by_rules(found) if each.key == "quiesced")
    answer = json.loads(as_json(found, held, ReasonHistory()))
    assert (answer["state"], answer["reason"]) == ("held", "quiesced")
    unseen = "cannot tell whether session 71 is queued or runs in parallel: GV$PX_SESSION is not there\n"
    assert as_text(found, other, ReasonHistory()) == unseen
    assert json.loads(as_json(found, other, ReasonHistory()))["state"] == "unknown"


@pytest.mark.parametrize(
    ("state", "wait", "text"),
    [
        ("QUIESCING", "WAITING", "quiesces the database: it has waited for 6 min 40 s until all calls"),
        ("QUIESCED", "WAITED KNOWN TIME", "was seen to quiesce the database, but no longer"),
    ],
)
def test_why_names_the_session_that_quiesces_and_what_ends_it(tmp_path: Path, state: str, wait: str, text: str) -> None:
    """The session was only called neither queued nor running."""
    found = quiesced(tmp_path, INSTANCE=instance(state), SESSION=SESSIONS + BY_SYS.replace("WAITING", wait))
    first, second = as_text(found, AskedStatement.of("12"), ReasonHistory()).splitlines()
    assert first.startswith(f"session 1:12 of SYS in SYS_GROUP {text}")
    assert second.endswith("ALTER SYSTEM UNQUIESCE lets them in")
    assert json.loads(as_json(found, AskedStatement.of("12"), ReasonHistory()))["state"] == "quiescing"


def test_without_access_to_v_session_no_waiting_sessions_are_counted(tmp_path: Path) -> None:
    found = quiesced(tmp_path, INSTANCE=instance("QUIESCED"))
    (alert,) = [each for each in by_rules(found) if each.key == "quiesced"]
    assert alert.text == "The database is quiesced: ALTER SYSTEM UNQUIESCE lets other users in"


def test_v_session_alone_shows_a_quiesce_while_a_session_waits_for_it(tmp_path: Path) -> None:
    found = quiesced(tmp_path, SESSION=SESSIONS + BY_SYS)
    assert found.quiesce is not None
    assert (found.quiesce.state, found.quiesce.waiting, found.quiesce.longest) == ("QUIESCING", HELD, float(HELD))


def test_a_session_that_once_quiesced_does_not_do_so_now(tmp_path: Path) -> None:
    """Once the database is let in again, V$SESSION shows the last wait of SYS, and a full pool is a full pool."""
    was = BY_SYS.replace("| WAITING |", "| WAITED KNOWN TIME |")
    found = reading(tmp_path, {"V$INSTANCE": instance("NORMAL"), "V$SESSION": SESSIONS + was})
    assert found.quiesce is None
    assert [each.key for each in by_rules(found)] == ["session_pool"]


def test_a_session_whose_wait_ended_is_not_said_to_wait(tmp_path: Path) -> None:
    was = BY_SYS.replace("| WAITING |", "| WAITED KNOWN TIME |")
    found = quiesced(tmp_path, INSTANCE=instance("QUIESCED"), SESSION=SESSIONS + was).quiesce
    assert found is not None
    assert (found.state, found.by, found.was_by) == ("QUIESCED", (), ("SYS 1:12",))


def test_the_session_that_quiesced_is_named_while_the_quiesce_lasts() -> None:
    """Once all calls had ended no view named SYS, DO advised to find out who it was, and there was no event."""
    found = list(polled("quiesce", 6, step=60.0))
    quiesces = [reading.quiesce for _, reading in found if reading.quiesce is not None]
    assert [each.state for each in quiesces][-1] == "QUIESCED"
    assert {each.by or each.was_by for each in quiesces} == {("SYS 1:311",)}
    assert quiesces[-1].by == ()
    last = found[-1][1]
    step = to_do(last)
    assert step is not None
    assert step.text.startswith("ask SYS 1:311 whether it may end")
    assert "quiesced (by SYS 1:311, who was seen to wait for" in next(each.text for each in by_rules(last))
    watch = EventWatch()
    events = [event.text for snapshot, reading in found for event in watch.add(reading, snapshot)]
    assert events.count("the database is quiesced: all calls under way have ended") == 1


def test_the_session_that_quiesced_is_forgotten_when_it_is_over() -> None:
    seen, at = SeenBefore(), datetime(2026, 11, 22, tzinfo=UTC)
    session = null_row(Session)._replace(inst_id=1, sid=12, username="SYS", event=QUIESCE_WAIT, state="WAITING")
    there = null_row(Instance)
    seen.note_sessions([session], [], [there._replace(active_state="NORMAL")])
    idle = session._replace(event="SQL*Net message from client")
    seen.note_sessions([idle], [], [there._replace(active_state="QUIESCED")])
    assert seen.sections(at) == {Quiescer: Section((Quiescer(1, 12, "SYS"),), at)}
    seen.note_sessions([], [], [there._replace(active_state="NORMAL")])
    assert seen.sections(at) == {}


def test_sessions_that_may_be_held_are_not_called_well_without_v_session(tmp_path: Path) -> None:
    """`OTHER_GROUPS: it hardly waits` and `The plan is met` were shown for 35 sessions that waited."""
    file = without(tmp_path, "quiesce", "V$SESSION", at=-600)
    clock = Clock()
    found = list(play(SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)), clock, 2, 1.0))[1]
    rows = {row.name: row for row in found.cluster_groups()}
    others, (plan_kept,) = rows["OTHER_GROUPS"], conformance(found)
    assert in_words(found, others).endswith("how long it waits for CPU is not known.")
    assert (others.wanted, others.state.text) == (None, "not judged")
    assert plan_kept.sentence.startswith("Not judged: no view shows which sessions wait until the quiesce")
    assert plan_kept.score is None
    assert "(how long OTHER_GROUPS waits is not known)" in " ".join(not_known(found))
    assert rows["SYS_GROUP"].waiting == 0, "those of SYS are let in"


IDLER = """
[[script]]                      # keeps its servers, and somebody whose call was under way waits for them
at = "-6m"
group = "APP"
dop = 4
sets = 2
seconds = 2
hold = "12h"
sid = 501
user = "IDLER"
sql = "select /*+ parallel(4) */ 1 from dual"

[[script]]
at = "-100s"
group = "APP"
dop = 4
sets = 2
seconds = 20
sid = 502
user = "LATER"
sql = "select /*+ parallel(4) */ 2 from dual"
"""


def test_the_quiesce_comes_before_a_holder_of_servers(tmp_path: Path) -> None:
    """DO advised to end IDLER, for a warning, while 35 sessions waited for the quiesce."""
    path = tmp_path / "quiesce.toml"
    text = (FOLDER / "quiesce.toml").read_text("utf-8") + IDLER
    few = "[capacity]\nparallel_servers_target = 16\nparallel_max_servers = 32"
    path.write_text(text.replace("[capacity]", few), "utf-8")
    clock = Clock()
    *_, found = play(SimulatorSource(path, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)), clock, 2, 5.0)
    assert found.quiesce is not None
    step = to_do(found)
    assert step is not None
    assert "UNQUIESCE" in step.text, step.text
    before = to_do(replace(found, quiesce=None, groups=tuple(each._replace(held=0) for each in found.groups)))
    assert before is not None
    assert before.step is Step.END, before.text
