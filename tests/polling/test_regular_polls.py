"""Regular polls, between which rates are computed, and extra ones that come too soon for that; times by hand."""

from __future__ import annotations

from presman.polling.cadence import RegularPolls


def test_a_poll_requested_soon_after_a_regular_one_is_extra() -> None:
    polls, every = RegularPolls(), 60.0
    assert not polls.is_extra(0.0, every, asked=True), "the first is a beginning"
    assert not polls.is_extra(60.0, every, asked=False)
    assert polls.is_extra(60.1, every, asked=True)
    assert polls.is_extra(89.9, every, asked=True), "half an interval counts from the last regular poll"
    assert not polls.is_extra(90.0, every, asked=True)
    assert polls.is_extra(119.9, every, asked=True)
    assert not polls.is_extra(119.9, 59.8, asked=True), "the interval is shorter now"
    assert not polls.is_extra(120.0, every, asked=False), "at its turn, however late the one before"


def test_after_a_single_poll_there_is_no_other_to_have_rates_from() -> None:
    """They are those of a second at least, and the top line says so: it is long until there are others."""
    polls = RegularPolls()
    assert not polls.is_extra(0.0, 60.0, asked=False)
    assert polls.is_extra(0.9, 60.0, asked=True)
    assert not polls.is_extra(1.0, 60.0, asked=True)
    shorter = RegularPolls()
    assert not shorter.is_extra(0.0, 0.5, asked=False)
    assert shorter.is_extra(0.2, 0.5, asked=True)
    assert not shorter.is_extra(0.25, 0.5, asked=True)


def test_after_a_loss_it_begins_again() -> None:
    polls = RegularPolls()
    assert [polls.is_extra(at, 2.0, asked=False) for at in (0.0, 2.0)] == [False, False]
    polls.forget()
    assert not polls.is_extra(2.1, 2.0, asked=True)
    assert polls.is_extra(3.0, 2.0, asked=True)
    assert not polls.is_extra(3.1, 2.0, asked=True), "a second after the only one"
