"""Values that recordings and the codec share: instants as whole microseconds, and the error of damaged bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND


class DamagedError(ValueError):
    """Bytes that no recorder wrote; the text says in a few words what is wrong with them."""


def microseconds(at: datetime) -> int:
    """Return the microseconds since 1970 of an aware instant."""
    return (at - EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Return the instant in UTC. Raises DamagedError for one that no calendar has."""
    if not _EARLIEST <= microseconds <= _LATEST:
        raise DamagedError("a time that does not exist")
    return EPOCH + timedelta(microseconds=microseconds)
