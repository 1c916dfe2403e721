"""Every scenario's first screen says, after some ten seconds, what is wrong, how bad it is, and what to do.

The sentence of a scenario is what somebody on call should be able to say then; its words are looked for on the tab
Overview, at both sizes, in lines that say that and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from presman.config.target import scenarios
from tests.tui.drive import acted
from tests.tui.test_live import playing

SMALL = (80, 24)


class Sentence(NamedTuple):
    """The meaning of a scenario, and words to be found on screens of both sizes, on the wide and on the small one."""

    meaning: str
    both: tuple[str, ...]
    wide: tuple[str, ...] = ()
    small: tuple[str, ...] = ()
    polls: int = 6


SENTENCES = {
    "adb": Sentence(
        "Ten of twelve reports run, which is as many as MEDIUM may run at once; two wait for one of them to end.",
        ("plan DWCS_PLAN", "2 queued", "(group limit)", "PX servers 80/96", "wait: BI 1:"),
        (" Autonomous ", "MEDIUM holds 80 of 80 allowed (84 % of 96)"),
    ),
    "changes": Sentence(
        "A report queues at the limit of its group, a quarter of the servers by day; nobody is idle: wait.",
        ("plan DAY_PLAN", "PX servers 48/192", "1 queued 1:16 (group limit)", "wait: RPT 2:2105 may end by itself in"),
        ("REPORTS holds 48 of 48 allowed (25 % of 192)",),
    ),
    "holders": Sentence(
        "A report waits; who holds servers is SMON, RMAN, SYS, a killed one, and a load that waits for MARTIN's lock.",
        ("REPORTS: 1 queued", "look at MARTIN 1:88, idle", "ETL 1:205 waits for it"),
        ("3 idle holders keep 16 servers", "10 servers blocked"),
    ),
    "locked": Sentence(
        "REPORTS queue because a load holds 32 servers and waits for idle MARTIN, so look at him; the plan is not why.",
        ("REPORTS: 11 queued", "look at MARTIN 1:88, idle", "ETL 1:412 waits for it", "32 servers blocked"),
        ("and holds 32 servers", "plan switched"),
        ("32 servers held by blocked", "plan switched"),
    ),
    "locked_rac": Sentence(
        "REPORTS queue because a load holds 32 servers on both instances and waits for idle MARTIN of the other one.",
        ("REPORTS: 9 queued", "look at MARTIN 2:96, idle", "LOADER 1:310 waits for it", "32 servers blocked"),
        ("and holds 32 servers",),
        ("32 servers held by blocked",),
    ),
    "lost": Sentence(
        "Instance 2 is gone with what it ran, and half of the servers; REPORTS queue for what is left: find out why.",
        (
            "instance 2 (LOSTDB2) is gone",
            "find out why instance 2 (LOSTDB2) is gone",
            "8 queued 7:52",
            "PX servers 20/32",
        ),
        ("20 servers still held on other instances for its statements", "REPORTS holds 12 of 16 allowed (50 % of 32)"),
        ("REPORTS: 8 queued",),
    ),
    "mixed": Sentence(
        "REPORTS queue at the limit of their group, for RPT sits idle on 32 servers: end him.",
        ("REPORTS: 2 queued", "group limit", "end RPT 1:2908", "1 idle holder keeps 32 servers", "holds 32 of 48"),
        ("then the head of REPORTS can start",),
        ("REPORTS can start",),
    ),
    "noplan": Sentence(
        "All CPUs are used and no plan divides them, so nobody can tell who is throttled; 2 are queued.",
        ("CPU off", "8.0 of 8.0 CPUs used, no plan divides them", "CPU not managed", "2 queued", "set a plan that"),
    ),
    "pdb": Sentence(
        "Limits hold all three: SALES and TEST in I/O, HR in CPU; reports of SALES queue at theirs, and one waits.",
        (
            *("REPORTING (SALES): 23 queued", "MAX_MBPS", "wait: RPT 1:"),
            *("HR (UTILIZATION_LIMIT) at its limit", "6.4 CPUs", "MAX_IOPS"),
        ),
        ("200 MB/s (MAX_MBPS)", "80 of 80 IOPS", "wait: RPT 1:"),
        ("SALES: I/O throttled", "TEST: I/O throttled"),
    ),
    "queueing": Sentence(
        "A statement wants 36 servers or more of a target of 24: it may start once nothing else runs, no promise.",
        (
            "wants 36 to 72 servers",
            "more than the target's 24",
            "QUERIES may start",
            "too large",
            "start only when none are",
        ),
        small=("too large for the target",),
        polls=11,
    ),
    "quiesce": Sentence(
        "SYS quiesces the database, which is no session pool: ask, and ALTER SYSTEM UNQUIESCE lets 42 sessions in.",
        ("✕ the database is being quiesced by SYS 1:311; 42 sessions wait", "ask SYS 1:311", "lets 42 sessions in"),
        ("whether it may end: ALTER SYSTEM UNQUIESCE, by SYS or SYSTEM", "wait for possible quiesce finish"),
        ("ALTER SYSTEM UNQUIESCE lets",),
    ),
    "quiet": Sentence(
        "Nothing is wrong.",
        ("● Nothing is wrong", "● not throttled"),
    ),
    "rac": Sentence(
        "ANALYSIS queues at half of the cluster's servers, though most are free.",
        (
            "PX servers 32/128",
            "holds 32 of 64 allowed (50 % of 128)",
            "short by 16",
            "wait: ANA 2:452 may end by itself in about",
        ),
        ("2 queued 1:1", "the head of ANALYSIS"),
        ("ANALYSIS: 2 queued",),
    ),
    "storm": Sentence(
        "43 wait: BATCH at its own limit, ETL and REPORTS at the target; an idle holder keeps what two wait for.",
        (
            *("BATCH: 27 queued", "group limit", "2 queued 2:2", "14 queued 1:5", "(target)", "1 idle holder keeps 16"),
            "MARTIN 1:2659",
        ),
        ("decide whether to end MARTIN 1:2659 (idle 8:52): it keeps 16 servers that queues take turns for",),
        (
            "wait, or decide whether to end MARTIN 1:2659: it keeps 16 servers",
            "(group limit) and 8 (target)  ",
        ),
    ),
    "tenants": Sentence(
        "The plan is met, but both want more CPU than there is: GOLD gets less than its CPU_MIN_COUNT, of which more "
        "is promised than there is.",
        (
            "GOLD gets 3.1 of the 4 CPUs of its CPU_MIN_COUNT",
            "add CPUs, or decide whose CPU_MIN_COUNT to lower",
            "▲ below CPU_MIN_COUNT",
            "GOLD",
            "BRONZE",
        ),
    ),
    "throttled": Sentence(
        "WEB takes all CPU and the plan leaves BATCH and CAPPED nothing: change it; 14 wait for BATCH's session pool.",
        (
            *("BATCH gets only what others leave", "CAPPED gets only what others leave", "wants 9.0"),
            *("14 wait for the session pool", "give BATCH 5 % ", "on level 1, of the 90 % of WEB"),
        ),
        ("have failed, the next fails in 0:", "5 % are 0.4 CPUs", "gives no CPU"),
    ),
    "unclear": Sentence(
        "QUERIES lacks 4 of the 16 servers that it wants before its timeout; AUDIT should end in seconds.",
        ("✕ 1 queued times out within 5:00", "2 idle holders keep 24 servers"),
        ("the head of QUERIES should start by itself in about 0:04, when AUDIT 1:303 ends",),
        ("QUERIES should start in about 0:04",),
        polls=2,
    ),
    "unclear_rac": Sentence(
        "No session is to be ended for REPORTS: instance 2 does not show who else is queued.",
        ("REPORTS: 1 queued", "1 idle holder keeps 16 servers", "which statements are queued is not known"),
        ("so no session to end is named for the head of REPORTS",),
        polls=2,
    ),
}


def test_no_scenario_is_without_a_sentence() -> None:
    assert sorted(SENTENCES) == sorted(scenarios())


@pytest.mark.parametrize("scenario", SENTENCES)
@acted
async def test_the_first_screen_shows_the_expected_words(scenario: str) -> None:
    sentence = SENTENCES[scenario]
    async with playing(scenario, whole=True, seed=None) as (acting, polls):
        await polls(sentence.polls)
        wide = acting.screen
        await acting.resize(*SMALL)
        small = acting.screen
    for screen, words in ((wide, sentence.wide), (small, sentence.small)):
        missing = [each for each in (*sentence.both, *words) if each not in screen]
        assert not missing, f"{sentence.meaning}\n{screen}"
        assert "limit" in next(line for line in screen.splitlines() if "of all CPUs" in line), "the legend is whole"
    assert not [line for line in small.splitlines() if line.endswith("…")], small


@acted
async def test_in_a_storm_the_idle_holder_is_listed_first() -> None:
    async with playing("storm", (120, 35), whole=True, seed=None) as (acting, polls):
        for poll in (4, 8):
            await polls(4)
            screen = acting.screen
            lines = screen.splitlines()
            assert any("1 idle holder keeps 16 servers: MARTIN 1:2659,47355 (16, idle " in line for line in lines), poll
            assert " DO " not in lines[2] or "MARTIN 1:2659" in lines[2], poll
            assert "short by" in screen, "with the arithmetic"
        lines = (await acting.press("4")).splitlines()
        head = next(place for place, line in enumerate(lines) if line.startswith(" SQL_ID        Group"))
        assert "○ idle holder 8:56" in lines[head + 1]
