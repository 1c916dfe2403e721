"""No verdict over the whole database is good while a part is unknown, such as an instance that just came back."""

from __future__ import annotations

import pytest

from presman.analysis.alerts.alert_rules import all_clear, basis_not_known
from presman.analysis.groups.container_io import worst_io
from presman.analysis.groups.entitlement import worst
from presman.analysis.readings.container_readings import IoVerdict
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.figures.drawing.lines import plain
from presman.output.text_report import full
from presman.tabs.parts import Moment
from presman.tabs.top import about
from tests.recording.recorded import polled


def changes_at(second: float) -> Reading:
    """Return what the demo `changes`, polled every ten seconds, means then; its instance 2 is away from 300 to 390."""
    return next(reading for _, reading in polled("changes", 17, step=10.0, since=280.0) if _second(reading) == second)


def _second(reading: Reading) -> float:
    return 60.0 * reading.at.minute + reading.at.second


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ((Verdict.IDLE, Verdict.UNKNOWN), Verdict.UNKNOWN),
        ((Verdict.NOT_THROTTLED, Verdict.UNKNOWN), Verdict.UNKNOWN),
        ((Verdict.CONTENDED, Verdict.UNKNOWN), Verdict.CONTENDED),
        ((Verdict.UNKNOWN, Verdict.STARVED), Verdict.STARVED),
        ((Verdict.IDLE, Verdict.NOT_THROTTLED), Verdict.NOT_THROTTLED),
        ((), Verdict.UNKNOWN),
    ],
)
def test_an_alert_needs_one_instance_and_an_all_clear_all_of_them(
    verdicts: tuple[Verdict, ...], found: Verdict
) -> None:
    assert worst(verdicts) is found


def test_a_container_is_under_its_limit_only_if_it_is_so_on_all_instances() -> None:
    assert worst_io([IoVerdict.UNDER, IoVerdict.UNKNOWN]) is IoVerdict.UNKNOWN
    assert worst_io([IoVerdict.NEAR, IoVerdict.UNKNOWN]) is IoVerdict.NEAR


def test_no_group_is_called_well_when_an_instance_returns() -> None:
    back = changes_at(390.0)
    text = " ".join(alert.text for alert in all_clear(back))
    assert text == "No queue now (by GV$SESSION)."
    assert [alert.short for alert in basis_not_known(back)] == ["not known: a starved group, a downgrade"]
    assert {row.verdict for row in back.cluster_groups() if row.used is None} == {Verdict.UNKNOWN}


def test_three_of_many_groups_without_a_delta_are_named() -> None:
    (alert,) = basis_not_known(changes_at(390.0))
    assert "(no delta of SYS_GROUP, REPORTS, SHOP and 1 more yet)" in alert.text


def test_the_host_of_an_instance_that_is_back_is_not_known_in_percent() -> None:
    first, *_ = about(Moment(changes_at(390.0)))
    assert "- of 16 CPUs (instance 2)" in plain(first)


def test_the_age_is_that_of_the_youngest_instance_and_says_whose() -> None:
    before, away, later = changes_at(290.0), changes_at(350.0), changes_at(450.0)
    assert (before.header.youngest, away.header.youngest, later.header.youngest) == ("", "", " (instance 2)")
    assert before.header.uptime == later.header.uptime_of(1) - 160.0  # type: ignore[operator]
    assert later.header.uptime == later.header.uptime_of(2) == 60.0
    assert "up 1:00 (instance 2)" in full(later)


def test_waits_since_startup_are_over_the_time_of_their_own_instance() -> None:
    from presman.analysis.latency.histograms import summaries

    seconds = {each.startup.inst_id: each.startup.seconds for each in summaries(changes_at(450.0))}
    assert seconds[2] == 60.0
    assert (seconds[1] or 0.0) > 86_400.0
