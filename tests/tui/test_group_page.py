"""The page of a group: its session pool, and counts that are read once."""

from __future__ import annotations

from msgspec.structs import replace

from presman.analysis.readings.group_readings import ActiveSessionPool, Verdict
from presman.figures.drawing.lines import plain
from presman.figures.group_figures import cpu_bar
from presman.tui.pages.row_details import group as page
from tests.tui.readings import busy, group, running


def page_text(row: object) -> str:
    reading = replace(busy(), running=(running(526, elapsed=None),))
    return "\n".join(" ".join(plain(line).split()) for line in page(row, reading))  # type: ignore[arg-type]


def test_the_session_pool_shows_its_queue_and_timeout() -> None:
    pool = ActiveSessionPool(4, 14, 575.0, 600)
    row = group("BATCH", pool=pool, active_sessions=4)
    assert "session pool 4 of 4 allowed active; waiting: 14, the first for 9:35, timeout 10:00" in page_text(row)
    free = row._replace(pool=pool._replace(queued=0, longest=None))
    assert "session pool 4 of 4 allowed active\n" in page_text(free)
    endless = row._replace(pool=pool._replace(timeout=None, longest=None, allowed=None))
    assert "session pool 4 active, the limit is not known; waiting: 14, without a timeout" in page_text(endless)
    assert "session pool" not in page_text(group("BATCH"))


def test_a_limit_of_cpu_is_not_in_force_while_no_plan_manages_cpu() -> None:
    managed = group("BATCH", used=3.0, limit=4.0, verdict=Verdict.CAPPED)
    unmanaged = managed._replace(verdict=Verdict.NOT_MANAGED, waiting=None)
    assert "limit 4.0 CPUs (UTILIZATION_LIMIT)" in page_text(managed)
    assert "limit 4.0 CPUs (UTILIZATION_LIMIT, not in force while CPU is not managed)" in page_text(unmanaged)
    bars = cpu_bar(managed), cpu_bar(unmanaged)
    assert [bar and bar.limit for bar in bars] == [4.0, None]


def test_singulars_and_unknown_values_have_words() -> None:
    text = page_text(group("BATCH", px_active=1, px_servers=1))
    assert "now 1 statement on 1 server, 0 queued" in text
    assert "running for an unknown time" in text
