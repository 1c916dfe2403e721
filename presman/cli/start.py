"""Start of presman: the monitor on a terminal, a few readings without a terminal, advice without a configuration."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from presman.base import terminal_guard
from presman.base.errors import InputError, did_you_mean
from presman.base.formats import counted
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure, ending_at_once
from presman.cli.settings import Resolved, resolve
from presman.config.config_file import Config
from presman.config.target import SCENARIOS, scenarios
from presman.sources import Source, SourceRecipe

if TYPE_CHECKING:
    from presman.config.credentials import Renewal
    from presman.output.alert_notifier import AlertNotifier
    from presman.polling.poll_events import Event
    from presman.polling.sampler import Sampler
    from presman.recording.recording_source import RecordingSource
    from presman.services.live import EarlySampler
    from presman.sources.subprocess_source import ProcessSource
    from presman.tui.app import MonitorEnd
    from presman.tui.feed import ActionGateway, MakeFeed

GETTING_STARTED = """\
presman watches Oracle Database Resource Manager. Nothing is configured yet:

  presman demo                          a simulated database, nothing needed
  presman connect                       asks for a database, writes config.ini
  presman doctor user@dbhost/service    what presman can see there
  presman user@dbhost:1521/service      your database, without a file
  presman config --sample > config.ini  a commented file to write by hand
  presman --help                        all commands
"""
OFFERED = {
    "d": "the demo",
    "c": "connect to a database",
    "o": "doctor: what presman can see in a database",
    "q": "nothing",
}


def welcome(config: Config, options: Namespace) -> int:
    """Explain how to start and, on a terminal, offer to do it: this is `presman` before anything is configured."""
    console.show(GETTING_STARTED)
    if not console.is_terminal():
        return exit_codes.OK
    from presman.cli import connect_command as connect

    try:
        chosen = connect.ask_choice("\nWhat now?", OFFERED, "d")
        target = connect.ask_line("Database, as user@dbhost:1521/service") if chosen == "o" else ""
    except EOFError:
        console.show("\n")
        return exit_codes.OK
    if chosen == "d":
        return watch("demo", config, options)
    if chosen == "c":
        options.section = None
        connect.run(options)
    elif chosen == "o" and target:
        from presman.cli.setup_command import doctor_run as doctor

        options.target, options.assumptions = target, False
        doctor(options)
    return exit_codes.OK


def watch(text: str, config: Config, options: Namespace) -> int:
    """Open the monitor on a target, then on any the user switches to. Without a terminal, print some readings."""
    resolved = resolve(text, config, options)
    if not console.is_terminal():
        return _readings(resolved, options.polls)
    if resolved.theme:
        check_theme(resolved.theme)
    try:
        outcome = _show(resolved, config, options)
        while outcome.target:
            notice = ""
            try:
                resolved = resolve(outcome.target, config, options)
            except (InputError, Failure) as error:  # the previous screen is better than none
                notice = f"Not switched: {error}"
            outcome = _show(resolved, config, options, notice)
    finally:
        terminal_guard.report_end()
    return outcome.code


def _show(resolved: Resolved, config: Config, options: Namespace, notice: str = "") -> MonitorEnd:
    """Show the monitor on one target."""
    if resolved.target.recorded is not None:
        return _replay(resolved, options)
    gateway = acting() if options.allow_actions else None
    with ending_at_once():
        head_start = _head_start(resolved, gateway)  # before the screen's imports
        notifier = resolved.notifier()
        from presman.tui.app import run_monitor

    try:
        return run_monitor(
            _feed(resolved, gateway, head_start, notifier),
            name=resolved.target.name,
            refresh=resolved.refresh,
            theme=resolved.theme,
            packs=resolved.packs,
            gateway=gateway,
            ascii_only=console.wants_ascii(),
            fixed=fixed(resolved, options),
            targets=config.targets,
            bell=resolved.bell,
            notice=notice,
            tour=_wants_tour(resolved, options),
        )
    finally:
        if head_start is not None:
            head_start.end()
        if notifier is not None:
            notifier.close()


def fixed(resolved: Resolved, options: Namespace) -> list[str]:
    """Return the settings that override those saved by keys: options, and the target's refresh interval."""
    given = {"theme": options.theme, "refresh": options.refresh or resolved.target.settings.refresh}
    return [name for name, value in given.items() if value]


def _head_start(resolved: Resolved, gateway: ActionGateway | None) -> EarlySampler | None:
    """Begin to read the database in a separate process; return None if there is nothing to wait for or no process."""
    from presman.polling.cadence import budget_of
    from presman.tui.first_look import PreviewReader

    first_look = PreviewReader(resolved.scope, resolved.packs, budget_of(resolved.refresh, resolved.budget))
    if (source := resolved.target.in_subprocess(first_look)) is None:
        return None
    from presman.services.live import EarlySampler, sampler_of

    renewed = partial(_with_new_password, source, renewal) if (renewal := resolved.renewal) is not None else None

    def make_sampler(on_event: Callable[[Event], None]) -> Sampler:
        target = resolved.live()._replace(make_source=lambda: source, renewed=renewed)
        sampler = sampler_of(target, on_event, carry_out=None if gateway is None else gateway.carry_out)
        sampler.preview = partial(source.preview, first_look.budget)
        return sampler

    return EarlySampler(make_sampler, source.end)


def _with_new_password(source: ProcessSource, renewal: Renewal) -> ProcessSource | None:
    """Return the source with the password that config.ini has by now, None while that is the one that was refused."""
    target = renewal.target()
    if target is None or not isinstance(target.factory, SourceRecipe):
        return None
    source.end()
    source.recipe = target.factory
    return source


def _feed(
    resolved: Resolved, gateway: ActionGateway | None, head_start: EarlySampler | None, notifier: AlertNotifier | None
) -> MakeFeed:
    """Return the function that makes the screen's feed: of the sampler with a head start, or of a new sampler."""
    from presman.tui.app import feed_of, sampler_feed

    if (begun := head_start) is not None:
        return feed_of(lambda listener: (begun.sampler, partial(begun.attach, listener)), notifier)

    def make_source() -> Source:
        terminal_guard.start()
        return resolved.target.make_source()

    target = resolved.live(notifier=notifier)._replace(make_source=make_source)
    return sampler_feed(target, gateway.carry_out if gateway is not None else None)


def _wants_tour(resolved: Resolved, options: Namespace) -> bool:
    """Return whether the monitor begins with the tour: on the demo until it was finished once, or by --tour."""
    wanted = options.tour
    if wanted is not None or resolved.target.kind != "simulator":
        return bool(wanted)
    from presman.tui.tour import was_ended

    return not was_ended()


def _replay(resolved: Resolved, options: Namespace) -> MonitorEnd:
    """Show a recording on the screens of the monitor."""
    with ending_at_once():
        from presman.tui.replay_app import run_replay

    target, begin = resolved.target.beginning_at()
    played = replace(resolved, target=target)

    def make_source() -> RecordingSource:
        terminal_guard.start()
        return played.recording()

    ascii_only, settings = console.wants_ascii(), fixed(resolved, options)
    return run_replay(
        make_source, name=target.name, theme=resolved.theme, ascii_only=ascii_only, begin=begin, fixed=settings
    )


def acting() -> ActionGateway:
    """Return the gateway to actions. The package of actions is imported only here."""
    from presman.actions.gateway import Gateway

    return Gateway()


def check_theme(name: str) -> None:
    """Raise Failure if there is no such theme."""
    from textual.theme import BUILTIN_THEMES

    if name not in BUILTIN_THEMES:
        raise Failure(f"no theme {name!r}, {did_you_mean(name, sorted(BUILTIN_THEMES))}")


def _readings(resolved: Resolved, polls: int) -> int:
    from presman.analysis.alerts.judge import Judge
    from presman.cli.polling import Polling
    from presman.output.text_report import brief

    judge = Judge(resolved.alerts)
    recorded = resolved.target.recorded
    newest = polls if recorded is not None and recorded.at else None  # polls of a recording up to --at
    for number, came in enumerate(Polling(resolved).measured(polls=polls, newest=newest)):
        if not number:  # if no poll succeeds, the error is the only line
            console.note(f"{console.why_no_screen()}: {counted(polls, 'reading')} as text")
        console.show("\n" * bool(number) + brief(judge.judge(came.reading), console.width()))
    return exit_codes.OK


def scenario_list() -> str:
    """Return the scenarios that come with presman, one per line with its title."""
    import tomllib

    width, lines = max(map(len, scenarios()), default=0), ""
    for name in scenarios():
        title = tomllib.loads((SCENARIOS / f"{name}.toml").read_text("utf-8")).get("title", "")
        lines += f"demo:{name:<{width}}  {title}".rstrip() + "\n"
    return lines
