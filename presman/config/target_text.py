"""Texts of targets: what a TARGET on the command line means.

It is a section of config.ini, a connect string, `demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`,
`spool:FOLDER[?zone=…&release=…]` or a recording: `FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`,
`recording:URL`, `postgresql+psycopg://…`.
"""

import os
import re
from contextlib import suppress
from dataclasses import replace

from presman.base.errors import closest, nearest
from presman.base.private_files import exists, expanded, is_file, is_folder
from presman.base.secret import PASSWORD, Secret, of_environment
from presman.base.text import clean
from presman.config import target as targets
from presman.config.config_file import NAME, Config, Settings, has_password, others_may_change
from presman.config.target import Target, TargetError
from presman.config.tns_names import entries
from presman.sources.oracle.settings import ConnectSettings

FORMS = (
    "user@host[:port]/service, user@ALIAS, @ALIAS, a section of config.ini, demo:SCENARIO, spool:FOLDER, FILE.presman"
    " or recording:FOLDER"
)
"""How a target may be written."""


def oracle_target(text: str, settings: Settings, config: Config) -> Target:
    """Return the target of a connect string. Raises TargetError if it is not one."""
    credentials, at, dsn = text.rpartition("@")  # the last one: a password may contain others
    if text.startswith("(") and not credentials.endswith(")"):
        credentials, at, dsn = "", "", text
    user, slash, password = credentials.partition("/")
    if not dsn:
        raise TargetError(f"not a connect string: write {FORMS}")
    if why := _why_no_moment(credentials, dsn):
        raise TargetError(why)
    is_address = at or any(mark in text for mark in "/:(")
    known = () if is_address else entries(settings.config_dir or os.environ.get("TNS_ADMIN"))
    if not is_address and text.lower() not in map(str.lower, known):
        raise TargetError(_why_no_target(text, config))
    secret = Secret(password) if slash and password else settings.password
    if secret is None and settings.password_command is None:
        secret = of_environment(PASSWORD)
    how = ConnectSettings.__struct_fields__[3:]
    given = {name: value for name in how if (value := getattr(settings, name)) is not None}
    connect = ConnectSettings(dsn, (user or settings.user) or None, secret, **given)
    return targets.connected(connect.name, connect, settings)


def _why_no_path(text: str) -> str:
    """Return why a path is no target, "" if there is no such path."""
    path = expanded(text)
    if is_folder(path):
        return f"no target {text!r}: a folder of recordings is recording:{text}, one of CSV files spool:{text}"
    if is_file(path):
        return f"no target {text!r}: a file of another name than *.presman is recording:{text}, if it is a recording"
    return f"no target {text!r}: it is not a regular file" if exists(path) else ""


def _why_no_moment(before: str, dsn: str) -> str:
    """Return why what is a FILE@TIME is no target, "" if it is none. `before` may contain a password."""
    from presman.recording.time_words import is_time

    if "/" in dsn or not is_time(dsn):
        return ""
    is_missing = before.endswith(".presman") and not exists(expanded(before))
    missing = f"no such recording: {before}; " if is_missing else ""
    return f"{missing}{dsn!r} is a time, not a database: write FILE.presman --at {dsn!r}"


def _why_no_target(text: str, config: Config) -> str:
    if why := _why_no_path(text):
        return why
    section = nearest(text, config.targets)
    scenario = closest(text.removeprefix("demo:"), targets.scenarios())
    meant = section or (scenario and f"demo:{scenario}") or targets.nearest_recording(expanded(text))
    if meant:
        return f"no target {text!r}, did you mean {meant!r}?"
    if NAME.fullmatch(text):
        neither = "neither a section of config.ini nor a file"
        return f"no target {text!r}: {neither}; `presman connect {text}` adds a section"
    return f"no target {text!r}: neither a section of config.ini nor user@host/service, demo:SCENARIO, spool:FOLDER"


_BARE = re.compile(r"[^:/(@]*/(?!/)[^@]*")
"""host/service without a user, or user/password without a host: it is ambiguous."""


def parse_target(text: str, config: Config | None = None) -> Target:
    """Return the target that `text` names. Raises TargetError, with the nearest name if there is one.

    A password in `text` works but yields a warning: every user of the machine can see command lines.
    """
    config = config or Config()
    text = text.strip()
    if (settings := config.sections.get(text)) is not None:
        target = _section(text, settings.over(config.defaults), config)
        return replace(target, name=clean(target.name))
    if not targets.is_recording(text):
        _refuse_password(text)
    target = _literal(text, config.defaults, config)
    target = replace(target, name=clean(target.name))
    if target.recorded is None and has_password(Secret(text)):
        warning = "a password on the command line can be seen by others: use config.ini, a wallet or the prompt"
        return replace(target, warnings=(*target.warnings, warning))
    return target


def _refuse_password(text: str, within: str = "") -> None:
    if _BARE.fullmatch(text):
        with suppress(OSError):  # its text would have the whole path
            if why := _why_no_path(text):
                raise TargetError(f"{within}{why}")
        what = "a TARGET with / and without @ may be a password, so it is not used and not shown"
        raise TargetError(f"{within}{what}: write {FORMS}")


def _section(name: str, settings: Settings, config: Config) -> Target:
    within = f"{config.path}, [{name}]: "
    if settings.connection is None:
        raise TargetError(f"{within}it has no connection_string")
    if settings.password_command and config.path and others_may_change(config.path):
        raise TargetError(f"{within}password_command is not run, others may change the file: chmod go-w {config.path}")
    if settings.user is None and not targets.is_recording(settings.connection.reveal()):
        _refuse_password(settings.connection.reveal(), within)
    target = _literal(settings.connection.reveal(), settings, config, within)
    if target.connect is None:
        return replace(target, name=target.name if name == "presman" else name)
    return targets.connected(name, target.connect, settings, target.warnings)


def _literal(text: str, settings: Settings, config: Config, within: str = "") -> Target:
    scheme, colon, rest = text.partition(":")
    try:
        if scheme.lower() == "demo" and (colon or not rest):
            return targets.demo_target(rest or targets.DEMO, settings)
        if scheme.lower() == "spool" and colon:
            return targets.spool_target(rest, settings)
        if targets.is_recording(text):
            return targets.recording_target(rest if scheme.lower() == "recording" else text, settings)
        return oracle_target(text, settings, config)
    except TargetError as error:
        raise TargetError(f"{within}{error}") from None
