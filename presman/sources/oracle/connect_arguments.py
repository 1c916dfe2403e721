"""Arguments of the driver's connect, made of what the user said."""

from __future__ import annotations

from typing import Any

import oracledb

from presman import __version__
from presman.sources.oracle.settings import ConnectSettings

MODES = {
    "default": oracledb.AUTH_MODE_DEFAULT,
    "sysdba": oracledb.AUTH_MODE_SYSDBA,
    "sysoper": oracledb.AUTH_MODE_SYSOPER,
    "sysbackup": oracledb.AUTH_MODE_SYSBKP,
    "sysdg": oracledb.AUTH_MODE_SYSDGD,
    "syskm": oracledb.AUTH_MODE_SYSKMT,
    "sysrac": oracledb.AUTH_MODE_SYSRAC,
}


def connect_arguments(settings: ConnectSettings, timeout: float) -> dict[str, Any]:
    """Return the arguments of `oracledb.connect`; they hold the password, so they are not to be kept.

    `user` may be ``proxy[user]``; without a user the database knows him by other means: a wallet's certificate over
    TLS, or what takes the thick driver (Kerberos, the operating system, a password kept in the wallet).
    """
    given: dict[str, Any] = {
        "dsn": settings.dsn,
        "user": settings.user,
        "password": settings.password.reveal() if settings.password else None,
        "mode": MODES[settings.mode],
        "config_dir": settings.config_dir,
        "wallet_location": settings.wallet_location,
        "wallet_password": settings.wallet_password.reveal() if settings.wallet_password else None,
        "https_proxy": settings.https_proxy,
        "https_proxy_port": settings.https_proxy_port,
    }
    arguments = {name: value for name, value in given.items() if value is not None}
    if settings.user is None:
        arguments["externalauth"] = True
    if not settings.thick:
        arguments |= {"program": "presman", "tcp_connect_timeout": timeout}
    return arguments


def label(connection: Any) -> None:
    """Say in V$SESSION whose session this is; it travels with the next call."""
    connection.module = "presman"
    connection.action = "monitor"
    connection.clientinfo = f"presman {__version__}"


def output_type(cursor: Any, column: Any) -> Any:
    """Fetch texts with bytes that are no UTF-8 replaced, and LOBs as texts."""
    kind = column.type_code
    if kind in {oracledb.DB_TYPE_VARCHAR, oracledb.DB_TYPE_CHAR}:
        size = column.internal_size or 4000
        return cursor.var(kind, size, arraysize=cursor.arraysize, encoding_errors="replace")
    if kind is oracledb.DB_TYPE_CLOB:
        return cursor.var(oracledb.DB_TYPE_LONG, arraysize=cursor.arraysize, encoding_errors="replace")
    return None
