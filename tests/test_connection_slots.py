"""Connection slots of a web server: which connection gets one, and which must make room."""

from __future__ import annotations

from presman.base.listeners import GRACE, ROTATION, ConnectionSlots, Standing


def filled(most: int, of_one: int, *addresses: str) -> ConnectionSlots[int]:
    """Return slots with connections 0, 1, … that came a second apart, at 0, 1, …"""
    slots: ConnectionSlots[int] = ConnectionSlots(most, of_one)
    for number, address in enumerate(addresses):
        assert slots.take(number, address, float(number)) == (True, None)
    return slots


def test_the_oldest_that_has_not_asked_makes_room() -> None:
    slots = filled(3, 3, "a", "a", "a")
    slots.set_standing(0, Standing.ASKED, 3.0)
    assert slots.take(9, "a", 10.0) == (True, 1)
    assert slots.take(8, "a", 10.0) == (True, 2)
    assert slots.take(7, "a", 10.0) == (True, 0), "what came just now is spared while there is another"
    assert slots.take(6, "a", 10.0) == (True, 9)


def test_a_safe_connection_stays_and_does_not_count_for_its_address() -> None:
    slots = filled(4, 2, "a", "a")
    for number in (0, 1):
        slots.set_standing(number, Standing.SAFE, 2.0)
    assert slots.take(2, "a", 10.0) == (True, None)
    assert slots.take(3, "a", 10.0) == (True, None)
    for number in (2, 3):
        slots.set_standing(number, Standing.SAFE, 10.0)
    assert slots.take(4, "a", 99.0) == (False, None), "no connection may be closed"
    slots.leave(0)
    assert slots.take(4, "b", 99.0) == (True, None)


def test_an_address_does_not_take_slots_of_another() -> None:
    slots = filled(4, 3, "b", "a", "a", "a")
    assert slots.take(4, "a", 10.0) == (True, 1), "as many as one may have: one of its own"
    assert slots.take(5, "c", 10.0) == (True, 2), "full: one of the address that has most, though b's is older"


def test_a_connection_that_has_just_asked_is_answered_first() -> None:
    slots = filled(2, 2, "a", "a")
    for number in (0, 1):
        slots.set_standing(number, Standing.ASKED, 5.0)
    assert slots.take(2, "a", 5.0 + GRACE / 2) == (False, None)
    assert slots.take(2, "a", 5.0 + GRACE) == (True, 0)


def test_an_address_with_one_connection_keeps_it_in_a_flood() -> None:
    """The server may take more than a second to read its request, and later connections are younger."""
    slots = filled(6, 3, "owner", *"aabb")
    for number in range(100, 400):
        found, gone = slots.take(number, "ab"[number % 2], 20.0)
        assert (found, gone != 0) == (True, True)
    slots.set_standing(0, Standing.ASKED, 20.0)
    assert slots.take(500, "c", 20.0)[1] not in {0, None}


def test_sparing_new_ones_a_flood_replaces_one_connection_at_a_time() -> None:
    slots: ConnectionSlots[int] = ConnectionSlots(6, 3, spares_new=True)
    for number in range(3):
        assert slots.take(number, "a", 0.0) == (True, None)
    assert slots.take(3, "a", GRACE / 2) == (False, None), "all have only just come"
    assert slots.take(3, "a", GRACE) == (True, 0)
    assert slots.take(4, "a", GRACE) == (False, None), "the next one has to wait, though two are old"
    assert slots.take(4, "a", GRACE + ROTATION) == (True, 1)


def test_sparing_new_ones_a_new_address_gets_a_slot_of_the_largest() -> None:
    slots: ConnectionSlots[int] = ConnectionSlots(4, 3, spares_new=True)
    for number, address in enumerate("aabb"):
        slots.take(number, address, 0.0)
    assert slots.take(9, "c", 0.0) == (True, 0)
    assert slots.take(8, "c", 0.0) == (False, None), "b has one more, which c would then have"


def test_a_safe_connection_is_refused_only_for_other_safe_ones() -> None:
    slots: ConnectionSlots[int] = ConnectionSlots(3, 1, spares_new=True)
    for number, address in enumerate("abc"):
        slots.take(number, address, 0.0)
        slots.set_standing(number, Standing.ASKED, 0.0)
    assert [slots.take(10 + number, "a", 0.0, Standing.SAFE) for number in range(4)] == [
        (True, 0),
        (True, 1),
        (True, 2),
        (False, None),
    ]
