"""Writer of grants.sql: the smallest set of privileges that presman needs, from the headers of queries/."""

import re
from collections.abc import Sequence
from enum import Enum

from presman.base.release import Release
from presman.rows.queries import READ_SINCE, Query, Scope, grant_of_view, load

_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$#]*")


class AccountKind(Enum):
    """Kind of user to create: in a database without containers, common to all containers, in a pluggable database."""

    LOCAL = "local"
    COMMON = "common"
    PDB = "pdb"


def quoted(name: str) -> str:
    """Return a user or container name as SQL accepts it. Raises ValueError if it is not a valid name."""
    if not name or '"' in name or "\n" in name or len(name.encode()) > 128:
        raise ValueError(f"{name!r} cannot be the name of a user or container")
    return name.upper() if _PLAIN_NAME.fullmatch(name) else f'"{name}"'


def grants_script(release: Release, account: AccountKind = AccountKind.LOCAL, *, user: str = "", pdb: str = "") -> str:
    """Return a script for SQL*Plus or SQLcl that creates a user who can read what presman reads, and nothing more.

    `user` defaults to PRESMAN, or to C##PRESMAN for a common user. Raises ValueError for an invalid name, and for
    containers in a release that does not have them.
    """
    if account is not AccountKind.LOCAL and release < Release(12, 1):
        raise ValueError(f"release {release} has no pluggable databases")
    name = quoted(user or ("C##PRESMAN" if account is AccountKind.COMMON else "PRESMAN"))
    queries = [query for query in load(release).values() if query.pack == "none"]
    lines = [*_head(release, account, name, pdb), *_grants(queries, name, release)]
    if account is AccountKind.COMMON:
        lines += ["", "-- Lets the views show the rows of every container."]
        lines.append(f"ALTER USER {name} SET CONTAINER_DATA = ALL CONTAINER = CURRENT;")
    return "\n".join([*lines, ""])


def _head(release: Release, account: AccountKind, name: str, pdb: str) -> Sequence[str]:
    where = {
        AccountKind.LOCAL: "a database without containers",
        AccountKind.COMMON: "the root container, for all pluggable databases",
        AccountKind.PDB: "one pluggable database",
    }[account]
    scope = " CONTAINER = ALL" if account is AccountKind.COMMON else ""
    lines = [
        f"-- grants.sql: what presman needs in {where}, Oracle Database {release} and later.",
        "-- Run it as SYSDBA with SQL*Plus or SQLcl. It creates a user who can log in and read the views below.",
        "-- No view of the Diagnostics or Tuning pack is among them.",
        *(["-- 12.1.0.1 knows no READ: write SELECT there."] if release == READ_SINCE else []),
        "",
        "ACCEPT presman_password CHAR PROMPT 'Password for the new user: ' HIDE",
        "",
    ]
    if account is AccountKind.PDB:
        lines += [f"ALTER SESSION SET CONTAINER = {quoted(pdb) if pdb else '&pluggable_database'};", ""]
    user = f'CREATE USER {name} IDENTIFIED BY "&presman_password"{scope};'
    return [*lines, user, f"GRANT CREATE SESSION TO {name};", ""]


def _grants(queries: Sequence[Query], name: str, release: Release) -> list[str]:
    lines: list[str] = []
    granted: set[str] = set()
    for query in queries:
        wanted = [grant for grant in dict.fromkeys(map(query.grant_in, Scope)) if grant not in granted]
        granted.update(wanted)
        if wanted:
            lines.append(f"-- {query.answers}")
            lines += [f"{grant_of_view(grant, name, release)};" for grant in wanted]
    return lines
