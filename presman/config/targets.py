"""Targets: what a TARGET on the command line means.

A target is a section of config.ini, a connect string, `demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`,
`spool:FOLDER[?zone=…&release=…]` or a recording: `FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`,
`recording:URL`, `postgresql+psycopg://…`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from presman.base.secret import Secret
from presman.base.text import clean
from presman.config.config_file import Config, Settings, has_password, others_may_change
from presman.config.offline_targets import is_recording, recording_target
from presman.config.oracle_target import FORMS, oracle_target
from presman.config.target import Target, TargetError, connected

_BARE = re.compile(r"[^:/(@]*/(?!/)[^@]*")
"""host/service without a user, or user/password without a host: nobody can tell which."""


def parse_target(text: str, config: Config | None = None) -> Target:
    """Return the target that `text` names. Raises TargetError with the nearest name where there is one.

    A password in `text` works and yields a warning: command lines are seen by everyone on the machine.
    """
    config = config or Config()
    text = text.strip()
    settings = config.sections.get(text)
    if settings is not None:
        target = _section(text, settings.over(config.defaults), config)
        return replace(target, name=clean(target.name))
    if not is_recording(text):
        _refuse_password(text)
    target = _literal(text, config.defaults, config)
    target = replace(target, name=clean(target.name))
    if target.tape is None and has_password(Secret(text)):
        warning = "a password on the command line can be seen by others: use config.ini, a wallet or the prompt"
        return replace(target, warnings=(*target.warnings, warning))
    return target


def _refuse_password(text: str, within: str = "") -> None:
    if _BARE.fullmatch(text):
        what = "a TARGET with / and without @ may be a password, so it is not used and not shown"
        raise TargetError(f"{within}{what}: write {FORMS}")


def _section(name: str, settings: Settings, config: Config) -> Target:
    within = f"{config.path}, [{name}]: "
    if settings.connection is None:
        raise TargetError(f"{within}it has no connection_string")
    if settings.password_command and config.path and others_may_change(config.path):
        raise TargetError(f"{within}password_command is not run, others may change the file: chmod go-w {config.path}")
    if settings.user is None and not is_recording(settings.connection.reveal()):
        _refuse_password(settings.connection.reveal(), within)
    target = _literal(settings.connection.reveal(), settings, config, within)
    if target.connect is None:
        return replace(target, name=target.name if name == "presman" else name)
    return connected(name, target.connect, settings, target.warnings)


def _literal(text: str, settings: Settings, config: Config, within: str = "") -> Target:
    scheme, colon, rest = text.partition(":")
    try:
        if scheme.lower() == "demo" and (colon or not rest):
            from presman.config.offline_targets import DEMO, demo_target

            return demo_target(rest or DEMO, settings)
        if scheme.lower() == "spool" and colon:
            from presman.config.offline_targets import spool_target

            return spool_target(rest, settings)
        if is_recording(text):
            return recording_target(rest if scheme.lower() == "recording" else text, settings)
        return oracle_target(text, settings, config)
    except TargetError as error:
        raise TargetError(f"{within}{error}") from None
