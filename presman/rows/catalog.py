"""Catalog: which view has which column since which release. `catalog.csv` is taken from Oracle's documents."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from sys import intern
from typing import NamedTuple

from presman.base.release import Release

OLDEST = Release(11, 2)

CATALOG = Path(__file__).with_name("catalog.csv")


class SqlColumn(NamedTuple):
    """One column of the catalog."""

    view: str
    name: str
    datatype: str
    since: Release


@cache
def catalog() -> Mapping[str, Mapping[str, SqlColumn]]:
    """Return the catalog: view (``V$SESSION``, ``DBA_RSRC_PLANS``) → column → facts."""
    views: dict[str, dict[str, SqlColumn]] = {}
    release = cache(Release.parse)
    with CATALOG.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        next(lines)
        for view, name, datatype, since, *_ in lines:
            # Twelve hundred rows use some sixty views and fifty types: one string each.
            fact = SqlColumn(intern(view), name, intern(datatype), release(since))
            views.setdefault(fact.view, {})[fact.name] = fact
    return views


@cache
def since_of(view: str) -> Release:
    """Return the release that had `view` (V$, GV$ or DBA_ name) first: the oldest one for a view that nobody lists."""
    columns = catalog().get(view.removeprefix("G"), {})
    return min((column.since for column in columns.values()), default=OLDEST)
