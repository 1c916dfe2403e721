"""Arrivals as a CSV file: what `presman export --measure arrivals` writes and `presman whatif` reads."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome
from presman.base.errors import InputError
from presman.base.text import clean, one_line

COLUMNS = (
    "arrived", "con_id", "consumer_group", "servers", "waited_s", "run_s", "fate", "px_servers_target",
    "px_servers_limit", "guaranteed_share", "timeout_s", "timeout_action", "first_seen", "last_seen",
)  # fmt: skip
"""The columns that are read, in the order of :class:`Arrival`; others may stand between them."""


class ArrivalsError(InputError):
    """The file cannot be read as arrivals; the text says where and why."""


def read(path: Path) -> list[Arrival]:
    """Return the arrivals of a file, by time. Raises ArrivalsError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise ArrivalsError(
                    f"{path}: no column {missing[0]!r}: is it from `presman export --measure arrivals`?"
                )
            found = list(_arrivals(path, reader))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArrivalsError(f"cannot read {path}: {error}") from error
    if not found:
        raise ArrivalsError(f"{path} has no statements")
    return sorted(found, key=lambda each: each.at)


def _arrivals(path: Path, reader: csv.DictReader[str]) -> Iterable[Arrival]:
    for row in reader:
        try:
            yield arrival(row)
        except (ValueError, TypeError, KeyError) as error:
            raise ArrivalsError(f"{path}, line {reader.line_num}: {one_line(clean(str(error)), 100)}") from error


def arrival(row: dict[str, str]) -> Arrival:
    """Return one line as an arrival. Raises ValueError, TypeError or KeyError."""
    found = Arrival(
        at=_instant(row["arrived"]),
        con_id=int(row["con_id"] or 0),
        group=clean(row["consumer_group"]),
        servers=int(row["servers"]),
        waited=float(row["waited_s"]),
        ran=_number(row["run_s"]),
        outcome=ArrivalOutcome(row["fate"]),
        target=_whole(row["px_servers_target"]),
        limit=_whole(row["px_servers_limit"]),
        weight=float(row["guaranteed_share"] or 0),
        timeout=_number(row["timeout_s"]),
        action=clean(row["timeout_action"]),
        first=_instant(row["first_seen"]),
        last=_instant(row["last_seen"]),
    )
    if found.servers < 0 or found.waited < 0 or (found.ran or 0) < 0:
        raise ValueError("a negative figure")
    return found


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    return found


def _number(text: str) -> float | None:
    return float(text) if text else None


def _whole(text: str) -> int | None:
    return int(text) if text else None
