"""Target of an Oracle database: a connect string, `user@host[:port]/service` or a TNS alias."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from presman.base.errors import InputError
from presman.base.private_files import expanded
from presman.base.secret import PASSWORD, Secret, of_environment
from presman.base.suggest import closest, nearest
from presman.config.config_file import NAME, Config, Settings
from presman.config.target import Target, TargetError, connected
from presman.sources.oracle.settings import ConnectSettings

FORMS = (
    "user@host[:port]/service, user@ALIAS, @ALIAS, a section of config.ini, demo:SCENARIO, spool:FOLDER, FILE.presman"
    " or recording:FOLDER"
)
"""How a target may be written."""


def oracle_target(text: str, settings: Settings, config: Config) -> Target:
    """Return the target of a connect string. Raises TargetError for what is none."""
    credentials, at, dsn = text.rpartition("@")
    if text.startswith("(") and not credentials.endswith(")"):
        credentials, at, dsn = "", "", text
    user, slash, password = credentials.partition("/")
    if not dsn:
        raise TargetError(f"not a connect string: write {FORMS}")
    if not at and not _is_address(text, settings):
        raise TargetError(_unknown(text, config))
    secret = Secret(password) if slash and password else settings.password
    if secret is None and settings.password_command is None:
        secret = of_environment(PASSWORD)
    given = {
        name: value
        for name in (
            "mode",
            "wallet_location",
            "wallet_password",
            "config_dir",
            "thick",
            "lib_dir",
            "https_proxy",
            "https_proxy_port",
            "call_timeout",
            "packs",
        )
        if (value := getattr(settings, name)) is not None
    }
    connect = ConnectSettings(dsn, (user or settings.user) or None, secret, **given)
    return connected(connect.name, connect, settings)


def _is_address(text: str, settings: Settings) -> bool:
    return any(mark in text for mark in "/:(") or text.lower() in _aliases(settings)


def _aliases(settings: Settings) -> set[str]:
    """Return the TNS aliases of tnsnames.ora, in lower case."""
    return {alias.lower() for alias in entries(settings.config_dir or os.environ.get("TNS_ADMIN"))}


def _unknown(text: str, config: Config) -> str:
    from presman.config.offline_targets import scenarios

    if expanded(text).is_dir():
        return f"no target {text!r}: a folder of recordings is recording:{text}, one of CSV files spool:{text}"
    section = nearest(text, config.targets)
    scenario = closest(text.removeprefix("demo:"), scenarios())
    if section or scenario:
        return f"no target {text!r}, did you mean {section or f'demo:{scenario}'!r}?"
    if NAME.fullmatch(text):
        return f"no [{text}] yet: presman connect {text}"
    return f"no target {text!r}: neither a section of config.ini nor user@host/service, demo:SCENARIO, spool:FOLDER"


# ---- tnsnames.ora: which aliases it has, and what each stands for.

LARGEST = 4_000_000
"""Characters of a file that are read."""

_ENTRY = re.compile(r"^([A-Za-z][\w.,\- ]*?)\s*=", re.MULTILINE)


def entries(folder: str | None) -> Mapping[str, str]:
    """Return the aliases of a folder's tnsnames.ora, as they are written, each with its descriptor.

    Without a folder or a file that can be read there are none. Files that IFILE includes are read, too.
    """
    if not folder:
        return {}
    found: dict[str, str] = {}
    with suppress(InputError):
        _read(expanded(folder) / "tnsnames.ora", found, included=False)
    return found


def _read(path: Path, found: dict[str, str], *, included: bool) -> None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
    except OSError:
        return
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    heads = list(_ENTRY.finditer(text))
    for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(text)], strict=True):
        value = text[head.end() : end].strip()
        if head[1].upper() == "IFILE":
            if not included:
                _read(path.parent / value.strip("'\""), found, included=True)
            continue
        for alias in filter(None, (each.strip() for each in head[1].split(","))):
            found.setdefault(alias, value)
