"""Targets of a fleet: sections of config.ini, by name or by a glob, and any others that are named."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from presman.base.errors import InputError
from presman.base.formats import counted
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.settings import Resolved, resolve
from presman.config.config_file import DEFAULTS, Config
from presman.config.offline_targets import is_recording
from presman.config.target import Target, TargetError
from presman.output.attention import attention_of, glance_of
from presman.services.live import LiveTarget

if TYPE_CHECKING:
    from presman.config.credentials import Renewal
    from presman.sources import Source

WATCHED = frozenset({"oracle", "simulator"})
"""Kinds of targets that go on. A spool or a recording has its end: there is nothing to watch beside others."""


def chosen(words: Sequence[str], config: Config) -> list[str]:
    """Return the targets that words name: sections, globs of sections, other targets; all sections without any.

    Sections that do not say what to connect to are among them, so that they are told of and not missed. Raises Failure.
    """
    found: list[str] = []
    sections = [name for name in config.sections if name != DEFAULTS or name in config.targets]
    for word in words:
        matching = [name for name in sections if fnmatchcase(name, word)]
        if not matching and is_pattern(word):
            known = ", ".join(sections) or "none"
            raise Failure(f"no section of {config.path or 'config.ini'} matches {word!r}; there are: {known}")
        found += matching or [word]
    if not (found or sections):
        where = config.path or "config.ini"
        raise Failure(f"{where} names no database: `presman connect` writes it; or name TARGETs: presman fleet demo")
    return list(dict.fromkeys(found or sections))


def store_of(words: Sequence[str], config: Config, options: Namespace) -> Target | None:
    """Return the central store that the first word names: a URL, a recording, a section that is one; None for none."""
    if not words:
        return None
    word = words[0]
    is_place = "://" in word or is_recording(word) or Path(word).is_dir()
    if word not in config.sections and not is_place:
        return None
    plain = word not in config.sections and not is_recording(word)
    try:
        found = resolve(f"recording:{word}" if plain else word, config, options, ask=False).target
    except (InputError, Failure):
        if word not in config.sections:
            raise
        return None  # what is wrong with a section stands in its row
    return found if found.tape is not None else None


def is_pattern(word: str) -> bool:
    """Tell whether a word is meant to match names."""
    return any(sign in word for sign in "*?[") and not any(sign in word for sign in ":@/")


class FleetTargets:
    """What becomes of the names: `watched` in their order, and how each is opened on the screens of the monitor."""

    def __init__(self, names: Sequence[str], config: Config, options: Namespace, *, named: bool) -> None:
        self._config = config
        self._options = options
        self.resolved: dict[str, Resolved] = {}
        self.watched: list[LiveTarget] = []
        left_out = []
        for name in names:
            try:
                found = self._resolve(name)
            except (InputError, Failure) as error:
                if name not in config.sections:
                    raise
                text = str(error).removeprefix(f"{config.path}, [{name}]: ")
                self.watched.append(LiveTarget(name, partial(_refuse, text)))
                continue
            if found.target.kind in WATCHED:
                self._add(name, found)
            elif named:
                raise Failure(f"{name} is a {found.target.kind}, not a live database: there is nothing to watch")
            else:
                left_out.append(name)
        if left_out:
            console.say(f"left out, because they are not live databases: {', '.join(left_out)}")

    def _resolve(self, name: str) -> Resolved:
        return resolve(name, self._config, self._options, ask=False)

    def _add(self, name: str, found: Resolved) -> None:
        shown = found.target.name
        if shown in self.resolved:
            raise Failure(f"{name}: {shown} is named twice")
        self.resolved[shown] = found
        glance = self._options.format is not None
        attention = (
            glance_of(found.alerts)
            if glance
            else attention_of(shown, found.alerts, found.on_alert, first_is_news=False)
        )
        make = partial(_with_password, found.target, found.renewal)
        self.watched.append(found.live(attention=attention)._replace(make_source=make))


def _refuse(text: str) -> Source:
    raise InputError(text)


def _with_password(target: Target, renewal: Renewal | None) -> Source:
    """Make the source, in the thread that will use it: a command or a keyring that hangs holds up no other."""
    from presman.config.credentials import with_password

    found = with_password(target)
    if found.needs_password:
        where = "config.ini, password_command, the keyring or $PRESMAN_PASSWORD"
        raise TargetError(f"no password of {found.connect.user if found.connect else found.name} in {where}")
    if renewal is not None and found.connect is not None:
        renewal.tried = found.connect.password
    return found.make_source()


def described(names: Sequence[str], words: Sequence[str], config: Config) -> str:
    """Return what a fleet is called: where its databases come from."""
    if words and not any(name in config.sections for name in names):
        return counted(len(names), "target")
    return " ".join([str(config.path), *words])
