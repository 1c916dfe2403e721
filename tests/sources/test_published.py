"""Published outputs of a 12.1.0.2 database, from the files to the reading (tests/data/README.md)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from presman.analysis.alerts.queue_alerts import head_sentence
from presman.analysis.assemble import analyse
from presman.analysis.latency.histograms import since_startup
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.config.target_text import parse_target
from presman.polling.poller import Poller
from presman.rows.snapshot import Snapshot
from presman.sources import Exhausted

DATA = Path(__file__).parents[1] / "data"


def readings(folder: Path) -> list[Reading]:
    poller = Poller(parse_target(f"spool:{folder}").make_source())
    assert poller.open() == Release(12, 1)
    found: list[Reading] = []
    previous: Snapshot | None = None
    try:
        while True:
            snapshot = poller.poll()
            assert not snapshot.problems()
            found.append(analyse(previous, snapshot))
            previous = snapshot
    except Exhausted:
        return found
    finally:
        poller.close()


def test_twelve_ways_run_and_the_next_one_queues() -> None:
    first, _ = readings(DATA / "queueing_12102")
    (running,) = first.running
    assert (running.sql_id, running.sid, running.serial) == ("9md3ukhghgj58", 526, 60805)
    assert (running.servers, running.degree, running.requested, running.downgraded) == (12, 12, 12, 0.0)
    (queued,) = first.queue
    assert (queued.position, queued.event, queued.sid, queued.sql_id) == (1, "resmgr:pq queued", 0, "")
    (head,) = first.heads
    assert head_sentence(head) == "unknown group: head (no SQL_ID) wants servers for a DOP that is not known"


def test_then_thirty_six_ways_run() -> None:
    _, second = readings(DATA / "queueing_12102")
    (running,) = second.running
    assert (running.sql_id, running.sid, running.serial) == ("4dz3dapm4uy8q", 525, 17778)
    assert (running.servers, running.degree, running.requested, running.downgraded) == (36, 36, 36, 0.0)
    assert second.queue == ()
    roles = {(session.sid, session.serial): session.px_role for session in second.sessions}
    assert roles[526, 12648] != roles[525, 17778]
    assert roles[526, 12648] == roles[395, 10504]


def test_why_the_degree_is_48(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    shutil.copytree(DATA / "other_xml_12102", folder)
    (folder / "v$session.csv").write_text("SID,SQL_ID,SQL_CHILD_NUMBER,EVENT\n1,0000000000000,0,resmgr:pq queued\n")
    (reading,) = readings(folder)
    dop = reading.queue[0].dop
    assert (dop.degree, dop.reason, dop.cpu_degree, dop.io_degree) == (48, "degree limit", 51, 40)


@pytest.mark.parametrize(
    ("folder", "percent"), [("event_histogram_10min", "99.5627"), ("event_histogram_3h", "99.5051")]
)
def test_log_writes_under_a_millisecond(folder: str, percent: str) -> None:
    (reading,) = readings(DATA / folder)
    (histogram,) = reading.histograms
    assert histogram.event == "log file parallel write"
    (threshold, *_) = since_startup(histogram, None).thresholds
    assert f"{threshold.under:.4f}" == percent
