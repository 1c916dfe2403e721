"""Operations downgraded to serial: they have no servers, so only V$SYSSTAT shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.judge import Judge
from presman.analysis.readings.reading import Reading
from presman.analysis.totals import totals
from presman.config.alert_lines import read_alerts
from presman.output.plugin_check import PluginState, perfdata, result
from presman.tabs.alerts import availability_notes
from tests.situations.spooled import RELEASE_19, reading

SERIAL, HALF, NOT = (
    f"Parallel operations {each}" for each in ("downgraded to serial", "downgraded 25 to 50 pct", "not downgraded")
)
CALM = {
    **RELEASE_19,
    "V$SESSION": "SID | STATUS | EVENT | STATE\n11 | ACTIVE | db file sequential read | WAITING",
    "V$PX_SESSION": "SID | QCSID | DEGREE | REQ_DEGREE\n",
}


def counted(*polls: dict[str, int], inst_ids: tuple[int, ...] = (1,)) -> str:
    """The statistics of polls 20 s apart."""
    rows = [
        f"{inst_id} | {name} | {value} | 2026-03-14 10:00:{20 * place:02}"
        for place, poll in enumerate(polls)
        for inst_id in inst_ids
        for name, value in poll.items()
    ]
    return "\n".join(["INST_ID | NAME | VALUE | SAMPLE_TIME", *rows])


def serial(folder: Path) -> Reading:
    """In 20 s: two to serial, one by half, nine as asked."""
    return reading(
        folder, {**CALM, "GV$SYSSTAT": counted({SERIAL: 40, HALF: 7, NOT: 100}, {SERIAL: 42, HALF: 8, NOT: 109})}
    )


def test_downgrades_to_serial_are_an_alert_of_their_own(tmp_path: Path) -> None:
    found = serial(tmp_path)
    assert found.running == ()
    (alert,) = [each for each in wrong(found) if each.state != "note"]
    assert (alert.key, alert.state) == ("downgrades", "warn")
    # Three in 20 s need not be nine in a minute.
    assert alert.text == (
        "3 operations downgraded since the last poll, 20 s before: 2 to serial, 1 by 25 to 50 % (V$SYSSTAT)"
    )
    assert alert.amount == 3
    two_minutes = replace(found, interval=120.0)
    assert [each.amount for each in wrong(two_minutes) if each.key == "downgrades"] == [1.5]
    assert not any("no downgrade" in each for each in availability_notes(found))
    assert result(found, (), ()).state is PluginState.WARNING
    assert "downgrades=3;;;0" in perfdata(found, ())


@pytest.mark.parametrize(
    ("line", "state"), [("warning=4", "note"), ("warning=2 critical=3", "bad"), ("warning=3", "warn")]
)
def test_a_threshold_decides(tmp_path: Path, line: str, state: str) -> None:
    judged = Judge(read_alerts(f"downgrades {line}")).judge(serial(tmp_path))
    assert [each.state for each in wrong(judged) if each.key == "downgrades"] == [state]


@pytest.mark.parametrize(
    ("statistics", "why"),
    [
        (counted({SERIAL: 40, HALF: 7, NOT: 100}), "it takes two polls"),
        (counted({SERIAL: 40}, {SERIAL: 3}), "it takes two polls"),  # counters of another start
        (counted({NOT: 100}, {NOT: 109}), "GV$SYSSTAT does not count them"),
        ("NAME\nParallel operations downgraded to serial", "GV$SYSSTAT lacks VALUE"),
        (None, "GV$SYSSTAT is not there"),
    ],
)
def test_no_downgrade_is_not_known(tmp_path: Path, statistics: str | None, why: str) -> None:
    views = {**CALM, **({} if statistics is None else {"GV$SYSSTAT": statistics})}
    found = reading(tmp_path, views)
    assert f"a downgrade ({why})" in " ".join(availability_notes(found))
    assert not any(each.key == "downgrades" for each in wrong(found))
    assert totals(found).downgrades is None
    assert "downgrades=U" in perfdata(found, ())
    assert f"whether there is a downgrade ({why})" in result(found, (), ()).line


def test_one_instance_without_counts_is_no_evidence_for_the_other(tmp_path: Path) -> None:
    instances = "INST_ID | VERSION | STATUS\n1 | 19.22.0.0.0 | OPEN\n2 | 19.22.0.0.0 | OPEN"
    polls = {SERIAL: 40}, {SERIAL: 40}
    for inst_ids, text in (
        ((1,), "a downgrade (GV$SYSSTAT does not count them)"),
        ((1, 2), "No queue now, no downgrade"),
    ):
        sessions = "INST_ID | SID | STATUS | EVENT | STATE\n" + "\n".join(
            f"{inst_id} | 11 | ACTIVE | db file sequential read | WAITING" for inst_id in (1, 2)
        )
        views = {
            **CALM,
            "GV$INSTANCE": instances,
            "GV$SESSION": sessions,
            "GV$SYSSTAT": counted(*polls, inst_ids=inst_ids),
        }
        del views["V$INSTANCE"], views["V$SESSION"]
        found = reading(tmp_path, views)
        assert text in " ".join(availability_notes(found))
        assert (totals(found).downgrades is None) is (inst_ids == (1,))
