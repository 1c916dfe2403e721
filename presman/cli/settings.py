"""Settings of this run by precedence: option, then the target's section, then [presman], then default."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from os import environ
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import fields

from presman.analysis.alerts.alert_settings import AlertSettings
from presman.analysis.goals import Goal
from presman.base.errors import nearest
from presman.base.secret import PASSWORD, Secret, of_environment
from presman.base.text import clean
from presman.cli import console
from presman.cli.command_line import COMMANDS
from presman.cli.exit_codes import Failure
from presman.cli.limits import bound_memory
from presman.config import config_file
from presman.config.config_file import DEFAULTS, Config, Settings
from presman.config.target import Target, TargetError
from presman.config.target_text import parse_target
from presman.rows.queries import Scope

if TYPE_CHECKING:
    from presman.config.credentials import Renewal
    from presman.output.alert_notifier import AlertNotifier
    from presman.recording.recording_source import RecordingSource
    from presman.services.live import LiveTarget, Notifier

_NAMES = {item.name: item.name for item in fields(Settings)} | {
    "connection": "connection_string",
    "measure": "option",
    "refresh": "refresh_rate",
    "goals": "goal",
}
"""The names of settings in config.ini."""


Ask = Callable[[str], str]
"""A function that takes a prompt and returns a password."""


class Resolved(Struct, frozen=True):
    """A target with all settings decided: seconds between polls, scope, colours, measure, packs.

    `budget` are the seconds that a poll may take, None for one that depends on the interval; `bell` rings at new
    alerts; `alerts` are its thresholds in config.ini, `on_alert` its command, `goals` its goals of service; `renewal`
    finds a changed password if config.ini, or a command in it, gives the password.
    """

    target: Target
    refresh: float
    scope: Scope
    theme: str | None
    measure: str | None
    packs: tuple[str, ...]
    budget: float | None = None
    bell: bool = False
    alerts: AlertSettings = ()
    on_alert: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    renewal: Renewal | None = None

    def recording(self) -> RecordingSource:
        """Return the source of a recording, not yet opened, with the goals of config.ini. Raises TargetError."""
        source = self.target.recording()
        source.goals = self.goals
        return source

    def live(self, interval: float | None = None, notifier: Notifier | None = None) -> LiveTarget:
        """Return the target for a poller, polled every `interval` seconds or at its own refresh."""
        from presman.services.live import LiveTarget

        target = self.target
        return LiveTarget(
            name=target.name,
            make_source=target.make_source,
            interval=interval or self.refresh,
            scope=self.scope,
            packs=self.packs,
            budget=self.budget,
            notifier=notifier,
            renewed=self.renewal,
            kind=target.kind,
        )

    def notifier(self, *, first_is_news: bool = False) -> AlertNotifier | None:
        """Return the judge of its alerts, which runs `on_alert`; None if config.ini has neither alerts nor goals."""
        if not (self.alerts or self.on_alert or self.goals):  # saves the time of the import
            return None
        from presman.output.alert_notifier import notifier_of

        return notifier_of(self.target.name, self.alerts, self.on_alert, self.goals, first_is_news=first_is_news)


def load(options: Namespace) -> Config:
    """Read config.ini and report its warnings. Raises ConfigError."""
    config = config_file.load_config(options.config)
    for warning in config.warnings:
        console.note(f"warning: {warning}", "setting", "warning")
    return config


def default_target(config: Config) -> str | None:
    """Return the target of a bare `presman`: [presman], or the only section; None without any.

    Raises Failure if there are several to choose from.
    """
    if DEFAULTS in config.targets:
        return DEFAULTS
    if len(config.targets) > 1:
        raise Failure(f"which target? {config.path} has {', '.join(config.targets)}: name one")
    return config.targets[0] if config.targets else None


def resolve(
    text: str | None, config: Config, options: Namespace, *, ask: bool = True, prompt: Ask | None = None
) -> Resolved:
    """Return the target with its settings. Raises TargetError; Failure without a target.

    Without `ask` the password is looked up when the target is opened, and the user is not asked for it; `prompt` asks
    for it instead of the terminal.
    """
    text = text or default_target(config)
    if text is None:
        raise Failure("no TARGET, and config.ini names none: try demo, user@host/service or spool:FOLDER")
    target = _target(text, config, options)
    target = with_password(target, prompt) if ask else target
    if target.connect is not None:
        bound_memory()
    for warning in target.warnings:
        console.note(f"warning: {warning}", "setting", "warning")
    settings = target.settings
    known = {"diagnostics": ("diagnostics",), "tuning": ("diagnostics", "tuning")}
    packs = known.get(options.packs or settings.packs or "", ())
    refresh = options.refresh or settings.refresh or config_file.DEFAULT_REFRESH
    scope = Scope(options.scope) if options.scope else settings.scope or Scope.CLUSTER
    bell = bool(getattr(options, "bell", False) or settings.bell)
    return Resolved(
        target,
        refresh,
        scope,
        theme=options.theme or settings.theme,
        measure=settings.measure,
        packs=packs,
        budget=options.poll_timeout or settings.poll_timeout,
        bell=bell,
        alerts=settings.alerts or (),
        on_alert=_command(settings, config),
        goals=settings.goals or (),
        renewal=_renewal(text, target, config, options),
    )


def _target(text: str, config: Config, options: Namespace) -> Target:
    target = _parsed(text, config).within(options.at, options.start, options.end)
    return target if options.thick is None else target.with_thick(options.thick or None)


def _renewal(text: str, target: Target, config: Config, options: Namespace) -> Renewal | None:
    """Return the renewal of a password by config.ini; None unless config.ini, or a command in it, gave the password."""
    path, section = config.path, config.sections.get(text)
    is_given = target.settings.password is not None or target.settings.password_command is not None
    if section is None:
        is_given = is_given and not config_file.has_password(Secret(text))
    else:
        is_given = is_given or config_file.has_password(section.connection)
    if target.connect is None or path is None or not is_given:
        return None
    from presman.config.credentials import Renewal

    return Renewal(lambda: _target(text, config_file.read_config(path), options), target.connect.password)


def _command(settings: Settings, config: Config) -> tuple[str, ...]:
    """Return the command to run at alerts; none, with a warning, if others may write the file it is in."""
    if settings.on_alert and (why := config_file.untrusted(config)):
        console.note(f"warning: on_alert is not run: {why}", "setting", "warning")
        return ()
    return settings.on_alert or ()


def _parsed(text: str, config: Config) -> Target:
    try:
        return parse_target(text, config)
    except TargetError as error:
        command = nearest(text, COMMANDS, 0.7)
        if command and text not in config.sections and not any(mark in text for mark in ":/@"):
            raise Failure(f"no command or target {text!r}, did you mean `presman {command}`?") from error
        raise


def with_password(target: Target, ask: Ask | None = None) -> Target:
    """Find the missing password of a user: in the keyring, or by asking if there is a terminal."""
    if not target.needs_password:
        return target
    from presman.config.credentials import with_password as found

    return found(target, ask or terminal_prompt())


def terminal_prompt() -> Ask | None:
    """Return the prompt at the terminal, None without a terminal."""
    from getpass import getpass

    return partial(getpass, stream=sys.stderr) if sys.stdin and sys.stdin.isatty() and sys.stderr.isatty() else None


def sample() -> str:
    """Return the commented config.ini that comes with presman."""
    package = Path(__file__).parents[1]
    for path in (package / "config.ini", package.parent / "config.ini"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise Failure("the sample config.ini is missing from this installation")


def describe(config: Config, options: Namespace) -> str:
    """Return every setting with its origin, secrets masked."""
    named = "--config" if options.config else "PRESMAN_CONFIG" if environ.get("PRESMAN_CONFIG") else ""
    found_by = named or ("the first found" if config.path else "not found")
    lines = [f"config.ini  {config.path or 'none'}  ({found_by})"]
    if config.path is None:
        lines.append(f"looked for  {', '.join(str(path) for path in config_file.locations())}")
    lines.append(f"targets     {', '.join(config.targets) or 'none'}")
    text = options.target or (DEFAULTS if DEFAULTS in config.sections else next(iter(config.targets), DEFAULTS))
    section = config.sections.get(text, Settings())
    label = _parsed(text, config).name if options.target else text
    lines += ["", f"settings of {label}:"]
    for name, option in _NAMES.items():
        value, origin = _origin(name, label, section, config, options)
        if name == "connection" and value is not None:  # its address, without secrets
            try:
                target = parse_target(text, config)
                value = target.connect.name if target.connect else target.name
            except TargetError as error:
                value = f"not usable: {error}"
        if name == "https_proxy" and isinstance(value, str) and "@" in value:
            value = f"***@{value.rpartition('@')[2]}"
        if value is not None:
            lines.append(f"  {option:<17}  {_shown(value):<28}  {origin}".rstrip())
    return "".join(f"{clean(line)}\n" for line in lines)


def _origin(name: str, label: str, section: Settings, config: Config, options: Namespace) -> tuple[object, str]:
    defaults = {"refresh": config_file.DEFAULT_REFRESH, "scope": Scope.CLUSTER, "measure": "cpu", "packs": "none"}
    option = getattr(options, name, None) if name in {"refresh", "scope", "theme", "poll_timeout"} else None
    if option is not None:
        return option, f"--{name.replace('_', '-')}"
    if (value := getattr(section, name)) is not None:
        return value, f"[{label}]"
    if (inherited := getattr(section.over(config.defaults), name)) is not None:
        return inherited, f"[{DEFAULTS}]"
    if name == "password" and (secret := of_environment(PASSWORD)):
        return secret, PASSWORD
    return defaults.get(name), "default"


def _shown(value: object) -> str:
    match value:
        case float():
            return f"{value:g}"
        case Scope():
            return value.value
        case (Goal(), *_):
            return "; ".join(map(str, value))
        case (str(), *_):
            return join(map(str, value))
        case tuple():
            return f"{len(value)} settings (presman alerts shows them)"
    return str(value)
