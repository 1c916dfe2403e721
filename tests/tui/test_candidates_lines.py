"""Candidates to end for a head: which together, which alone, and the servers that all of them free."""

from __future__ import annotations

import pytest

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.unblock import unblock
from presman.figures.drawing.lines import plain
from presman.tui.pages.advice_lines import candidates_lines
from tests.analysis.test_simulated import play, started
from tests.analysis.test_unblock import DAY, found, holder, waiting


def lines(way: Unblock) -> list[str]:
    return [plain(line).strip() for line in candidates_lines(way)]


def test_sessions_to_end_together_are_named_and_those_enough_alone_marked() -> None:
    way = found(
        waiting(9, "ETL", 8), holder(1, "ETL", 8, idle=4000), holder(2, "ETL", 8, idle=3600),
        holder(3, "ETL", 32, elapsed=90), active=64, plan=DAY, held={"BATCH": 16, "ETL": 48},
    )  # fmt: skip
    assert way.needed == 2
    first, *others = lines(way)
    names = [each.statement.who for each in way.candidates[:2]]
    assert first == f"Ending {names[0]} and {names[1]} together frees the 16 servers that let it start."
    assert ["enough alone" in each for each in others if each[:1] in {"①", "②", "③"}] == [False, False, True]


def holders() -> Unblock:
    *_, last = play(*started("holders", 1), 6, 5.0)
    return unblock(last)[0]


def test_if_no_session_is_enough_the_total_freed_is_given() -> None:
    way = holders()
    assert not way.needed
    assert not any(each.commands for each in way.candidates), "blocking sessions are looked at first"
    assert lines(way)[1] == (
        "Ending all 4 that can be ended frees 24 of the 26 servers that it is short of; those that wait for another "
        "session hold 10 more."
    )


def many(statements: int, dop: int, active: int) -> Unblock:
    """Return the way of a head while so many statements hold two of 64 servers each."""
    held = [holder(sid, "ETL", 2, elapsed=90) for sid in range(1, statements + 1)]
    groups = {"BATCH": 0, "ETL": 2 * statements}
    return found(waiting(99, "BATCH", dop), *held, active=active, plan=DAY, held=groups)


def test_a_shortened_list_gives_no_total_freed() -> None:
    """It called the twelve listed ones "all 12 that can be ended"."""
    way = many(20, 30, 64)
    assert (way.needed, len(way.candidates)) == (0, 12)
    assert not any("Ending all" in each for each in lines(way))


def test_a_pair_is_named_and_a_larger_set_counted() -> None:
    """It named twelve as if they were enough."""
    way = many(30, 15, 60)
    assert (way.needed, len(way.candidates)) == (13, 13)
    assert lines(way)[0] == "Ending 13 statements together frees the 26 servers that let it start."


@pytest.mark.parametrize("loss", ["an administrator's work is lost", "it rolls back a transaction", "marked for kill"])
def test_the_loss_from_an_end_is_stated_once(loss: str) -> None:
    text = "\n".join(lines(holders()))
    assert text.count(loss) == 1
    assert "unknown amount" not in text, "a session that cannot be ended loses nothing"
