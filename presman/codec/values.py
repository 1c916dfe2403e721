"""Single values of any kind a record may have, with what they are: for what no column kind fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from presman.codec.packing import DamagedError, Packer, Unpacker
from presman.records.snapshot import Problem

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND

_NONE, _INT, _FLOAT, _TEXT, _INSTANT, _TRUE, _FALSE = range(7)


def microseconds(at: datetime) -> int:
    """Return the microseconds since 1970 of an aware instant."""
    return (at - EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Return the instant in UTC. Raises DamagedError for one that no calendar has."""
    if not _EARLIEST <= microseconds <= _LATEST:
        raise DamagedError("an instant that no calendar has")
    return EPOCH + timedelta(microseconds=microseconds)


def pack_value(value: Any, packer: Packer) -> None:
    """Write a value and its kind. Raises TypeError for one that no record has."""
    if value is None or value is True or value is False:
        packer.count({None: _NONE, True: _TRUE, False: _FALSE}[value])
    elif isinstance(value, int):
        packer.count(_INT)
        packer.signed(value)
    elif isinstance(value, float):
        packer.count(_FLOAT)
        packer.double(value)
    elif isinstance(value, str):
        packer.count(_TEXT)
        packer.text(value)
    elif isinstance(value, datetime):
        packer.count(_INSTANT)
        packer.signed(microseconds(value))
    else:
        raise TypeError(f"a record holds no {type(value).__name__}")


def unpack_value(unpacker: Unpacker) -> Any:
    """Read a value. Raises DamagedError."""
    kind = unpacker.count()
    if kind == _INT:
        return unpacker.signed()
    if kind == _FLOAT:
        return unpacker.double()
    if kind == _TEXT:
        return unpacker.text()
    if kind == _INSTANT:
        return instant(unpacker.signed())
    if kind in {_NONE, _TRUE, _FALSE}:
        return {_NONE: None, _TRUE: True, _FALSE: False}[kind]
    raise DamagedError(f"a value of kind {kind}")


def pack_problem(problem: Problem, packer: Packer) -> None:
    """Write why a section could not be filled."""
    for part in (problem.code, problem.text, problem.view, problem.cure):
        packer.text(part)
    packer.count(problem.late)


def unpack_problem(unpacker: Unpacker) -> Problem:
    """Read why a section could not be filled. Raises DamagedError."""
    code, text, view, cure = (unpacker.text() for _ in range(4))
    return Problem(code, text, view, cure, late=bool(unpacker.count(1)))
