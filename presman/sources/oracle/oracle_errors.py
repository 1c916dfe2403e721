"""Errors of Oracle and the driver, converted to the problem of a section or the loss of the source."""

import errno
import re
from typing import Any

import oracledb

from presman.base.release import Release
from presman.base.running_out import ran_out
from presman.base.text import clean, one_line
from presman.rows.queries import Query, Scope, grant_of_view
from presman.rows.snapshot import Problem
from presman.sources import LoginRefusal, SourceError
from presman.sources.oracle.settings import explained, failures

LONGEST = 300
"""Characters of an error's text that are kept."""

LOCKED = frozenset({"ORA-28000"})
PASSWORDS = frozenset({"ORA-01017", "ORA-28001"})
"""Codes of a login that is refused because its password is wrong, or has expired."""

WITHOUT_USER = frozenset({"ORA-01017", "DPY-4001", "ORA-01005", "DPY-3001"})
"""Codes of a failed login without a user name, if nothing else identifies the user."""

NO_USER_NAMED = (
    "no user was named: that needs a wallet with a certificate for a user, over tcps://"
    " (python-oracledb 26 or later), or --thick"
)

_CODE = re.compile(r"\b(ORA|DPY|DPI|TNS)-(\d{4,5})\b")
_POINTER = re.compile(r"\.? See https?://\S+ for help")
_ATTEMPT = re.compile(r" \(CONNECTION_ID=[^)]*\)")
"""The part of a message that differs in each attempt, without further information."""
_SIMILAR = re.compile(r"Similar to (ORA-\d{5})")


def code_of(error: Any) -> str:
    """Return the most specific code: Oracle's if the driver's text contains one, else the driver's."""
    text = text_of(error)
    if similar := _SIMILAR.search(text):
        return similar[1]
    # Oracle's own code says most; of the driver's, one after which a retry cannot help.
    return min(
        _codes(text),
        key=lambda code: 0 if code.startswith("ORA") else 1 + (code not in failures().hopeless_codes),
        default="",
    )


def _codes(text: str) -> list[str]:
    """Return the codes in a text, in order."""
    return [found[0] for found in _CODE.finditer(text)]


def text_of(error: Any) -> str:
    """Return the error's text, cleaned, without the driver's link to its help pages and its connection id."""
    detail = error.args[0] if isinstance(error, oracledb.Error) and error.args else error
    if isinstance(error, OSError) and error.strerror:  # without the error number that Python puts before it
        limit = ran_out(error) if error.errno != errno.EAGAIN else ""  # on a socket it is no limit of processes
        detail = limit or error.strerror
    lines = str(getattr(detail, "message", detail)).splitlines()
    message = " ".join(line for line in lines if not line.startswith("Help: "))
    return one_line(clean(_ATTEMPT.sub("", _POINTER.sub("", message)) or type(error).__name__), LONGEST)


def is_lost(error: Any) -> bool:
    """Return whether `error` means that the connection is lost."""
    return not failures().lost.isdisjoint(_codes(text_of(error)))


def has_timed_out(error: Any) -> bool:
    """Return whether `error` is the driver's own timeout."""
    return not failures().timed_out.isdisjoint(_codes(text_of(error)))


def source_error(error: Any, message: str = "", why: str = "") -> SourceError:
    """Return the SourceError for a lost connection; `message` replaces the error's text, `why` is appended to it."""
    code, text = code_of(error), text_of(error)
    codes = {code, *_codes(text)}
    refusal = LoginRefusal.LOCKED if codes & LOCKED else LoginRefusal.PASSWORD if codes & PASSWORDS else None
    text = f"{message or text} - {why}" if why else message or text
    return SourceError(text, code=code, retry=not codes & failures().hopeless_codes, refusal=refusal)


def login_error(error: Any, user: str | None, address: str = "", *, begun: bool = False) -> SourceError:
    """Return the SourceError for a failed login, with an explanation; `user` is None if none was named.

    `address` is given if the error does not name it; `begun` is set if something had answered before the timeout.
    """
    message = f"{address}: {text_of(error)}" if address else text_of(error)
    message += ", though the login had begun" if begun else ""
    if user is None and {code_of(error), *_codes(message)} & WITHOUT_USER:
        return source_error(error, message, NO_USER_NAMED)
    found = explained(code_of(error), message)
    return source_error(error, message, found.line if found else "")


def problem(error: Any, query: Query, scope: Scope, user: str, release: Release) -> Problem:
    """Return the problem of a failed `query`, with its cure; `user` may be ``proxy[user]``."""
    code, text = code_of(error), text_of(error)
    cure = ""
    if code in {"ORA-00942", "ORA-01031", "ORA-41900"}:
        inner = re.search(r"\[(.+)\]", user)
        name = (inner[1] if inner else user).upper() or "the user"
        cure = grant_of_view(query.grant_in(scope), name, release)
    elif code in {"ORA-12801", "ORA-12850", "ORA-12805"}:
        cure = "read this instance only: --scope instance"
    return Problem(code, text.removeprefix(f"{code}: "), query.view_in(scope), cure)
