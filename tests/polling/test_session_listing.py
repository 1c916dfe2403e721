"""Full listings of sessions: each minute, whenever they are needed, and less often after a late answer."""

from __future__ import annotations

from datetime import timedelta

from presman.polling.named_sessions import SessionListing
from presman.rows.queries import DetailLevel
from tests.analysis.make import NOON


def asked(listing: SessionListing, seconds: float, wanted: DetailLevel = DetailLevel.NARROW) -> DetailLevel:
    return listing.detail_level(wanted, NOON + timedelta(seconds=seconds), is_whole=False)


def test_all_are_listed_a_minute_after_they_were() -> None:
    listing = SessionListing()
    assert listing.detail_level(DetailLevel.NARROW, NOON, is_whole=True) is DetailLevel.WHOLE
    listing.note(DetailLevel.WHOLE, NOON, late=False)
    assert [asked(listing, seconds) for seconds in (0, 59, 60)] == [
        DetailLevel.NARROW, DetailLevel.NARROW, DetailLevel.IDLE_SESSIONS
    ]  # fmt: skip
    assert asked(listing, 60, DetailLevel.HISTOGRAMS) is DetailLevel.WHOLE
    listing.note(DetailLevel.NARROW, NOON + timedelta(seconds=59), late=False)
    assert asked(listing, 60) is DetailLevel.IDLE_SESSIONS, "an answer without them is no listing"
    listing.note(DetailLevel.IDLE_SESSIONS, NOON + timedelta(seconds=60), late=False)
    assert asked(listing, 119) is DetailLevel.NARROW
    assert asked(SessionListing(wants_idle=False), 60) is DetailLevel.NARROW


def test_the_first_poll_begins_the_minute_and_a_new_connection_another() -> None:
    listing = SessionListing()
    assert [asked(listing, seconds) for seconds in (100, 159, 160)][-2:] == [
        DetailLevel.NARROW,
        DetailLevel.IDLE_SESSIONS,
    ]
    listing.begin_epoch()
    assert asked(listing, 300) is DetailLevel.NARROW
    assert asked(SessionListing(wants_idle=False), 999) is DetailLevel.NARROW


def test_whether_the_last_answer_lists_the_idle_ones() -> None:
    listing = SessionListing()
    assert listing.lists_idle
    listing.note(DetailLevel.NARROW, NOON, late=False)
    assert not listing.lists_idle
    listing.note(DetailLevel.IDLE_SESSIONS, NOON, late=True)
    assert not listing.lists_idle, "a late answer lists nothing new"
    assert asked(listing, 1, DetailLevel.WHOLE) is DetailLevel.HISTOGRAMS, "and is not asked again at once"
    listing.note(DetailLevel.IDLE_SESSIONS, NOON, late=False)
    assert listing.lists_idle
    assert asked(listing, 1, DetailLevel.WHOLE) is DetailLevel.WHOLE
