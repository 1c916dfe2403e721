"""The time limit of a poll: late views keep their old rows and age, and are read less and less often."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from presman.polling.cadence import budget_of
from presman.polling.poller import Poller
from presman.rows.group_rows import PlanDirective
from presman.rows.instance_rows import Instance
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section
from presman.sources import Request
from tests.sources.fakes import START, FakeSource, row

ONE = row(Session, inst_id=1, sid=1)


def silent(*records: type) -> object:
    def answer(request: Request) -> Section | None:
        if request.query.record not in records:
            return None
        return Section(problem=Problem("", "no answer within 3 s", request.query.view, late=True))

    return answer


def poller(source: FakeSource, *, keep_late: bool = True) -> Poller:
    made = Poller(source, clock=lambda: 0.0, keep_late=keep_late)
    made.open()
    return made


@pytest.mark.parametrize(
    ("refresh", "chosen", "seconds"),
    [(0.5, None, 5.0), (2.0, None, 6.0), (5.0, None, 15.0), (10.0, None, 30.0), (60.0, None, 30.0), (2.0, 1.5, 1.5)],
)
def test_three_intervals_from_5_to_30_seconds(refresh: float, chosen: float | None, seconds: float) -> None:
    assert budget_of(refresh, chosen) == seconds


def test_late_views_keep_their_rows_and_age() -> None:
    source = FakeSource(rows={Session: (ONE,)})
    polling = poller(source)
    polling.poll()
    source.answers = silent(Session)  # type: ignore[assignment]
    snapshot = polling.poll()
    section = snapshot.section(Session)
    assert section.rows == (ONE,)
    assert section.at == START + timedelta(seconds=2)
    assert snapshot.at - START == timedelta(seconds=4)
    assert section.problem is not None
    assert section.problem.late
    source.answers = lambda _request: None
    source.now += timedelta(seconds=5)
    assert polling.poll().section(Session).problem is None


def test_it_is_asked_again_after_5_10_20_40_and_60_seconds() -> None:
    source = FakeSource(rows={Session: (ONE,)}, step=1.0)
    polling = poller(source)
    polling.poll()
    source.answers = silent(Session)  # type: ignore[assignment]
    asked = []
    for second in range(1, 260):
        reads = len(source.reads)
        polling.poll()
        if any(Session in source.asked(read) for read in range(reads, len(source.reads))):
            asked.append(second)
    assert [after - before for before, after in pairwise(asked)] == [5, 10, 20, 40, 60, 60, 60]


def test_a_view_that_answers_again_is_read_at_every_poll() -> None:
    source = FakeSource(rows={Session: (ONE,)}, step=5.0)
    polling = poller(source)
    source.answers = silent(Session)  # type: ignore[assignment]
    polling.poll()
    source.answers = lambda _request: None
    for _ in range(3):
        reads = len(source.reads)
        assert polling.poll().section(Session).problem is None
        assert any(Session in source.asked(read) for read in range(reads, len(source.reads)))


def test_rows_read_once_a_minute_are_old_from_the_first_timeout_on() -> None:
    directive = row(PlanDirective, plan="DAY")
    source = FakeSource(rows={PlanDirective: (directive,)}, step=30.0)
    polling = poller(source)
    polling.poll()
    source.answers = silent(PlanDirective)  # type: ignore[assignment]
    late = [polling.poll().section(PlanDirective).problem is not None for _ in range(5)]
    assert late == [False, True, True, True, True], "read each minute: an overdue row is not current"
    assert polling.poll().rows(PlanDirective) == (directive,)


def test_files_get_nothing_old() -> None:
    source = FakeSource(rows={Session: (ONE,)})
    polling = poller(source, keep_late=False)
    polling.poll()
    source.answers = silent(Session)  # type: ignore[assignment]
    section = polling.poll().section(Session)
    assert (section.rows, section.at) == ((), None)
    assert section.problem is not None


def test_rows_of_before_a_restart_are_not_kept() -> None:
    source = FakeSource(rows={Session: (ONE,)})
    polling = poller(source)
    polling.poll()
    source.answers = silent(Session)  # type: ignore[assignment]
    source.now -= timedelta(hours=1)  # another database, or the same from a backup
    assert polling.poll().rows(Session) == ()


def test_both_reads_of_a_poll_share_its_budget() -> None:
    now = [0.0]
    given: list[float | None] = []

    class Slow(FakeSource):
        def read(self, requests, within=None):  # type: ignore[no-untyped-def]
            given.append(within)
            now[0] += 4.0
            return super().read(requests, within)

    source = Slow(rows={Instance: (row(Instance, inst_id=1, parallel="YES"),)})
    polling = Poller(source, clock=lambda: now[0])
    polling.open()
    polling.budget = 6.0
    polling.poll()
    assert given == [6.0, 2.0]
