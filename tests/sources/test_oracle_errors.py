"""Errors of Oracle and the driver: code, whether to try again, and the explanation."""

from __future__ import annotations

import errno
from types import SimpleNamespace

import oracledb
import pytest

from presman.base.release import Release
from presman.rows.queries import Scope, load
from presman.rows.session_rows import Session
from presman.sources import LoginRefusal
from presman.sources.oracle.oracle_errors import (
    LONGEST,
    NO_USER_NAMED,
    code_of,
    has_timed_out,
    is_lost,
    login_error,
    problem,
    source_error,
    text_of,
)

WRONG = "ORA-01017: invalid credential or not authorized; logon denied"


def driver(text: str) -> oracledb.DatabaseError:
    return oracledb.DatabaseError(SimpleNamespace(message=text))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (WRONG, "ORA-01017"),
        ("DPY-6005: cannot connect. ORA-12541: no listener", "ORA-12541"),
        ("DPY-6000: refused. Similar to ORA-12514. DPY-4011: closed", "ORA-12514"),
        ("DPY-6005: cannot connect. DPY-4021: bad wallet", "DPY-4021"),
        ("DPY-6005: cannot connect", "DPY-6005"),
        ("nothing of the kind, SORA-12345", ""),
    ],
)
def test_the_code_is_the_one_that_says_most(text: str, code: str) -> None:
    assert code_of(driver(text)) == code


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            driver("DPY-4011: closed\nHelp: https://x.example/dpy-4011\nORA-03113: end"),
            "DPY-4011: closed ORA-03113: end",
        ),
        (driver("DPY-4011: closed. See https://x.example/y for help"), "DPY-4011: closed"),
        (driver("ORA-12541: none (CONNECTION_ID=abc==)"), "ORA-12541: none"),
        (OSError(errno.ECONNREFUSED, "Connection refused"), "Connection refused"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "Resource temporarily unavailable"),
        (OSError("odd"), "odd"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_the_text_has_no_useless_parts(error: Exception, text: str) -> None:
    assert text_of(error) == text


def test_a_text_is_no_longer_than_a_line_has_room() -> None:
    assert len(text_of(driver("x" * 2 * LONGEST))) == LONGEST


@pytest.mark.parametrize(
    ("text", "lost", "late"),
    [
        ("DPY-4011: closed", True, False),
        ("DPY-6005: cannot connect. ORA-03113: end of file", True, False),
        ("ORA-00028: your session has been killed", True, False),
        ("DPY-4024: call timeout", False, True),
        ("ORA-00942: no table", False, False),
    ],
)
def test_errors_that_mean_a_lost_connection(text: str, lost: bool, late: bool) -> None:
    assert (is_lost(driver(text)), has_timed_out(driver(text))) == (lost, late)


@pytest.mark.parametrize(
    ("text", "retry", "refusal"),
    [
        (WRONG, False, LoginRefusal.PASSWORD),
        ("ORA-28001: expired", False, LoginRefusal.PASSWORD),
        ("ORA-28000: locked", False, LoginRefusal.LOCKED),
        ("DPY-6000: refused. ORA-28000: locked", False, LoginRefusal.LOCKED),
        ("ORA-12541: no listener", True, None),
        ("DPY-4000: no alias", False, None),
        ("DPY-4027: no configuration directory specified", False, None),
        ("DPY-4018: invalid connect descriptor", False, None),
    ],
)
def test_a_login_is_retried_if_that_can_help(text: str, retry: bool, refusal: LoginRefusal | None) -> None:
    found = source_error(driver(text))
    assert (found.retry, found.refusal, str(found)) == (retry, refusal, text)
    assert str(source_error(driver(text), "message", "cure")) == "message - cure"


def test_a_login_without_a_user_names_what_it_needs() -> None:
    assert str(login_error(driver(WRONG), None)) == f"{WRONG} - {NO_USER_NAMED}"
    assert str(login_error(driver("DPY-6000: x DPY-3001: y"), None, "db1:1521")).endswith(NO_USER_NAMED)
    for user, text in (("presman", WRONG), (None, "ORA-12541: no listener")):
        assert NO_USER_NAMED not in str(login_error(driver(text), user))


def test_a_failed_login_names_its_address_and_its_stage() -> None:
    assert str(login_error(driver("odd"), "presman", "db1:1521", begun=True)).startswith(
        "db1:1521: odd, though the login had begun"
    )
    assert str(login_error(driver("odd"), "presman")) == "odd"
    assert login_error(driver(WRONG), "presman").code == "ORA-01017"


@pytest.mark.parametrize(
    ("text", "user", "cure"),
    [
        ("ORA-00942: table or view does not exist", "presman", "GRANT READ ON SYS.GV_$SESSION TO PRESMAN"),
        ("ORA-01031: insufficient privileges", "app[presman]", "GRANT READ ON SYS.GV_$SESSION TO PRESMAN"),
        ("ORA-12850: Could not allocate slaves", "presman", "read this instance only: --scope instance"),
        ("ORA-01555: snapshot too old", "presman", ""),
    ],
)
def test_a_failed_query_names_its_cure(text: str, user: str, cure: str) -> None:
    query = load(Release(19))[Session]
    found = problem(driver(text), query, Scope.CLUSTER, user, Release(19))
    assert (found.code, found.text) == tuple(text.split(": "))
    assert found.view == "GV$SESSION"
    assert found.cure == cure
