"""Figures of a period of a recording, compared with values calculated from its polls by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isnan
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Evidence, Reading
from presman.recording.fleet_rows import read_past
from presman.recording.playback_values import PlaybackPart
from presman.recording.reader import Recording
from presman.recording.store import Store
from presman.recording.time_bins import PollGap, gaps, group_bins, sampled, time_bins, usual_interval, width_of, worst
from presman.recording.window_lines import ever_queued, poll_lines
from presman.rows.snapshot import Snapshot
from tests.analysis.make import counters
from tests.recording.recorded import polled, record

QUEUES = {5: 1, 10: 4, 15: 2, 86_400: 0, 86_405: 3, 86_500: 2}
"""Seconds since the first poll, and how many statements were queued: on two days, and so in two files."""


def recorded(folder: Path) -> datetime:
    """Write this recording; return its begin."""
    *_, (snapshot, reading) = polled("storm", 2)
    start = snapshot.at
    days: dict[str, list[tuple[Snapshot, Reading]]] = {}
    for number, (seconds, queued) in enumerate(QUEUES.items(), 1):
        at = start + timedelta(seconds=seconds)
        queue = reading.queue[:queued]
        moment = replace(snapshot, at=at, number=number), replace(reading, at=at, queue=queue)
        days.setdefault(f"{at:%Y-%m-%d}", []).append(moment)
    for day, moments in days.items():
        record(folder / f"presman-{day}.presman", moments)
    return start


def test_the_worst_moment_the_gaps_and_the_bins_of_two_days(tmp_path: Path) -> None:
    start = recorded(tmp_path)

    def at(seconds: float) -> datetime:
        return start + timedelta(seconds=seconds)

    with Recording(str(tmp_path)) as recording:
        playback = recording.playback()
        whole = at(0), at(90_000)
        assert worst(playback, *whole, "queued") == at(10)
        assert worst(playback, at(12), at(90_000), "queued") == at(86_405), (
            "the worst moment of the second day has more than 2"
        )
        assert worst(playback, at(86_400), at(86_401), "queued") is None, "no statement was queued"
        assert usual_interval(playback, *whole) == 5.0
        assert gaps(playback, *whole) == [PollGap(at(15), at(86_400)), PollGap(at(86_405), at(86_500))]
        assert gaps(playback, *whole)[1].seconds == 95.0
        bins = time_bins(playback, *whole, 1000)
        assert [(each.start, each.end, each.polls, each.queued, each.busy) for each in bins] == [
            (at(5), at(15), 3, 4, 3),
            (at(86_400), at(86_500), 3, 3, 2),
        ]


def test_an_unknown_queue_is_not_recorded_as_empty(tmp_path: Path) -> None:
    *_, (snapshot, reading) = polled("storm", 2)
    lacking = (Evidence("queue", ("V$SESSION",), "no grant"),)
    unknown = replace(reading, at=snapshot.at + timedelta(seconds=5), queue=(), heads=(), basis=lacking, groups=())
    file = tmp_path / "a.presman"
    record(file, [(snapshot, reading), (replace(snapshot, at=unknown.at, number=snapshot.number + 1), unknown)])
    with Recording(str(file)) as recording:
        playback = recording.playback()
        whole = snapshot.at, unknown.at
        known, not_known = time_bins(playback, *whole, 1)
        assert (known.queued, not_known.queued, not_known.busy) == (len(reading.queue), None, 0)
        assert [each.queued for each in playback.strip(2)] == [len(reading.queue), None]
        assert isnan(poll_lines(playback, *whole).values["queued"][-1])
        assert worst(playback, *whole, "queued") == snapshot.at
    store = Store(str(file), writing=False)
    with store.reading() as connection:
        assert [each.queued for each in next(iter(read_past(connection).values()))] == [len(reading.queue), None]
    store.close()


@pytest.mark.parametrize(
    ("polls", "bins", "width"),
    [(0, 100, 1), (100, 100, 1), (101, 100, 2), (1600, 100, 16), (1601, 100, 32), (3200, 100, 32), (3201, 100, 64)],
)
def test_a_bin_takes_a_few_polls_or_whole_spans_of_32(polls: int, bins: int, width: int) -> None:
    assert width_of(polls, bins) == width


@pytest.mark.parametrize(
    ("first", "last", "step"),
    [(0, 31, 1), (31, 32, 1), (32, 2000 * 32 + 31, 1), (0, 2000 * 32, 2)],  # 1, 2, 2,000 and 2,001 spans
)
def test_some_spans_of_a_long_window_are_read(first: int, last: int, step: int) -> None:
    assert sampled(PlaybackPart(None, 1, first, last)).step == step  # type: ignore[arg-type]


@pytest.mark.parametrize("scenario", ["pdb", "mixed"])
def test_groups_have_the_means_of_the_polls_of_a_bin(scenario: str, tmp_path: Path) -> None:
    moments = list(polled(scenario, 5))
    record(tmp_path / "a.presman", moments)
    found: list[list[Reading]] = []
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        whole = moments[0][0].at, moments[-1][0].at
        bins = time_bins(playback, *whole, 2)
        groups = group_bins(playback, bins, *whole, 2)
    left = [reading for _, reading in moments]
    for each in bins:
        found.append(left[: each.polls])
        left = left[each.polls :]
    assert not left
    assert len(found) == 3
    bins_of = {(each.key, each.con_id, each.group): each for each in groups}
    for each, readings in zip(bins, found, strict=True):
        rows = [row for reading in readings for row in reading.cluster_groups()]
        for con_id, name in {(row.con_id, row.name) for row in rows}:
            own = [row for row in rows if (row.con_id, row.name) == (con_id, name)]
            bin_ = bins_of[each.key, con_id, name]
            known = [row.used for row in own if row.used is not None]
            assert bin_.used == (pytest.approx(sum(known) / len(known), abs=1e-5) if known else None)
            assert bin_.servers == pytest.approx(sum(row.px_servers or 0 for row in own) / each.polls)
            assert bin_.queued == pytest.approx(sum(row.px_queued or 0 for row in own) / each.polls)


def test_waits_for_cpu_are_means_over_the_polls_that_count_them(tmp_path: Path) -> None:
    """At the last two of five polls no plan manages CPU."""
    moments = list(polled("throttled", 5))
    unmanaged = [
        (snapshot, replace(reading, groups=tuple(row._replace(waiting=None) for row in reading.groups)))
        for snapshot, reading in moments[3:]
    ]
    record(tmp_path / "a.presman", [*moments[:3], *unmanaged])
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        whole = moments[0][0].at, moments[-1][0].at
        (found,) = bins = time_bins(playback, *whole, 10)
        groups = {each.group: each.waiting for each in group_bins(playback, bins, *whole, 10)}
        throttled = [each.throttled for each in playback.strip(5)]
    waits = [sum(row.waiting or 0.0 for row in reading.cluster_groups()) for _, reading in moments[1:3]]
    assert (found.known, found.counted) == (20.0, 10.0), "the first poll has no rates"
    assert found.waited == pytest.approx(sum(waits) / 2, abs=1e-4)
    assert sum(filter(None, groups.values())) == pytest.approx(sum(waits) / 2, abs=1e-4)
    assert [each is None for each in throttled] == [True, False, False, True, True]


def test_when_most_cpu_was_waited_for(tmp_path: Path) -> None:
    moments = list(polled("throttled", 6))
    record(tmp_path / "a.presman", moments)
    waited = {reading.at: sum(row.waiting or 0.0 for row in reading.cluster_groups()) for _, reading in moments}
    with Recording(str(tmp_path / "a.presman")) as recording:
        found = worst(recording.playback(), moments[0][0].at, moments[-1][0].at, "waited_cpus")
    assert found == max(waited, key=waited.__getitem__)


def test_a_mean_over_polls_weighs_each_by_its_time(tmp_path: Path) -> None:
    """A poll after a gap of 95 s with 5 CPUs used counts 19 times as much as one of 5 s with 1 CPU used."""
    *_, (snapshot, reading) = polled("storm", 2)
    moments = []
    for number, (seconds, interval, used) in enumerate([(5, 5.0, 1.0), (100, 95.0, 5.0)], 1):
        at = snapshot.at + timedelta(seconds=seconds)
        first = reading.cluster_groups()[0]
        groups = tuple(each._replace(used=used * (each is first)) for each in reading.groups)
        found = replace(reading, at=at, interval=interval, groups=groups)
        moments.append((replace(snapshot, at=at, number=number), found))
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        whole = playback.at(0), playback.at(1)
        (found,) = bins = time_bins(playback, *whole, 10)
        assert (found.known, found.used) == (100.0, 4.8)
        assert sum(each.used or 0.0 for each in group_bins(playback, bins, *whole, 10)) == 4.8


def test_statements_queued_between_polls_are_the_growth_of_counters(tmp_path: Path) -> None:
    *_, (snapshot, reading) = polled("storm", 2)
    moments = []
    for number, counts in enumerate([(3, 9), (5, 4)], 1):  # the counter of the second group restarted
        at = snapshot.at + timedelta(seconds=3000 * number)
        first, second, *_ = reading.cluster_groups()
        queued = dict(zip((first.name, second.name), counts, strict=True))
        groups = tuple(each._replace(counters=counters(pqs_queued=queued.get(each.name, 0))) for each in reading.groups)
        moments.append((replace(snapshot, at=at, number=number), replace(reading, at=at, groups=groups)))
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        assert ever_queued(playback, playback.at(0), playback.at(1)) == 2
