"""`presman metrics`: databases polled without a screen; Prometheus scrapes the figures, or a collector gets them."""

from __future__ import annotations

import re
from argparse import Namespace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from presman.base.listeners import is_loopback
from presman.base.run_status import DatabaseStatus, reporting
from presman.base.secret import METRICS_PASSWORD, of_environment
from presman.base.text import clean
from presman.cli import console, event_log, exit_codes
from presman.cli import parser as cli
from presman.cli.exit_codes import Failure
from presman.cli.interruption import TURN, rest
from presman.cli.limits import give_back_memory, make_room
from presman.cli.settings import load, resolve
from presman.config.config_file import Config, others_may_change
from presman.config.target import Target

if TYPE_CHECKING:
    from presman.services.live import LiveTarget
    from presman.services.metrics.metric_page import Exporter, ObservedDatabase
    from presman.services.metrics.otlp_push import OtlpPush
    from presman.services.metrics.web_server import Credentials

INTERVAL = 5.0
"""Seconds between polls: Prometheus scrapes less often than a user reads a screen."""

ENDLESS = frozenset({"oracle", "simulator"})
"""Kinds of sources that do not end: a source that ends has no current figures."""


LISTEN = "127.0.0.1:9730"
"""The address that `presman metrics` listens on: reachable from this machine alone."""


@cli.command(
    "Poll databases and serve their figures at /metrics for Prometheus and other readers of OpenMetrics;\n"
    "/-/healthy says whether presman works. A scrape returns the last poll and sends no query. config.ini says\n"
    "who may scrape: metrics_user, and metrics_password or metrics_password_command. In the checkout\n"
    "contrib/grafana/presman.json is a dashboard for Grafana, and contrib/prometheus/ has rules.",
    """\
  presman metrics prod test
  presman metrics prod test --listen 0.0.0.0:9730 --certificate tls.crt --key tls.key
  presman metrics prod --otlp http://collector:4318""",
    "refresh scope packs",
)
def arguments(parser: cli.Parser) -> None:
    """Add the options of `presman metrics`."""
    cli.option(parser, "targets TARGET", "what to watch (default: the one in config.ini)", nargs="*")
    words = f"address to listen on (default {LISTEN}); for other machines only with a certificate and a user"
    cli.add_listen(parser, words, LISTEN)
    cli.option(parser, "--interval S", "seconds between polls (default: --refresh, or 5)", type=cli.seconds)
    cli.add_certificate(parser)
    cli.option(parser, "--client-ca FILE", "accept only clients with a certificate from these authorities")
    cli.option(parser, "--insecure", "listen for other machines without a user, or without a certificate")
    cli.option(parser, "--otlp URL", "push to this collector, too (OTLP over HTTP)")
    cli.option(parser, "--push-interval S", "seconds between pushes (default 60)", type=cli.some_seconds, default=60.0)
    cli.add_log_options(parser)


def run(options: Namespace) -> None:
    """Poll and answer scrapes until stopped. Raises Failure, also if no database can be polled, and InputError."""
    event_log.begin(options)
    from presman.services.metrics.metric_page import Exporter, Exposition
    from presman.services.metrics.web_server import WebApp, WebServer

    give_back_memory()
    config = load(options)
    certificates, credentials = cli.certificates_of(options), credentials_of(config)
    refuse_strangers(options, credentials)
    exporter = Exporter(targets(options, config), console.report)
    push = _push(options, exporter)
    app = WebApp(Exposition(exporter.databases), lambda: exporter.is_healthy, credentials)
    host, port = options.listen
    server = WebServer(app, host, port, certificates, partial(console.note, event="not_accepted", level="warning"))
    names = ", ".join(each.target.name for each in exporter.databases)
    page = f"{server.url}/metrics"
    try:
        with reporting("metrics", page, lambda: list(map(_status, exporter.databases)), console.report):
            server.start()
            console.note(f"metrics of {names} at {page}; Ctrl-C ends it", "started")
            if push is not None:
                push.start()
            exporter.start()
            while not (out := exporter.run_out()):
                rest(TURN)
        raise Failure(f"nothing is left to watch: {out}", exit_codes.SOURCE)
    finally:
        exporter.stop()
        server.stop()
        if push is not None:
            push.stop()


def _status(database: ObservedDatabase) -> DatabaseStatus:
    """Return the status of a database of the exporter, for `presman status`."""
    state, link = database.state(), database.reachability
    last = None if state.last_poll is None else datetime.fromtimestamp(state.last_poll, UTC)
    return DatabaseStatus(state.label, state.interval, state.polls, last, trouble=link.trouble, next_try=link.next_try)


def targets(options: Namespace, config: Config) -> list[LiveTarget]:
    """Return the databases to watch, each with a unique label. Raises Failure."""
    from presman.output.alert_notifier import AlertNotifier

    found = []
    server = False
    for name in options.targets or [None]:
        resolved = resolve(name, config, options)
        target = resolved.target
        if target.kind not in ENDLESS:
            raise Failure(f"{target.name} is not a live database: metrics need one")
        server |= target.connect is not None
        notifier = AlertNotifier(resolved.alerts, goals=resolved.goals)
        live = resolved.live(options.interval or options.refresh or INTERVAL, notifier)
        found.append(live._replace(name=label_of(target)))
    labels = [each.name for each in found]
    if twice := next((label for label in labels if labels.count(label) > 1), ""):
        raise Failure(f"{twice} appears twice: give each a section of config.ini with its own name")
    make_room(len(found), server=server)
    return found


def label_of(target: Target) -> str:
    """Return the label of a target on the page: the name of its section, else its address without the user."""
    connect = target.connect
    if connect is None or target.name != connect.name:
        return target.name
    where = connect.name.rpartition("@")[2]
    if not where.startswith("("):
        return where
    service = re.search(r"(?i)\(\s*(?:service_name|sid)\s*=\s*([^)\s]+)\s*\)", where)
    return clean(f"{connect.address}/{service[1]}" if service else connect.address)


def credentials_of(config: Config) -> Credentials | None:
    """Return the credentials for a scrape, None if anyone may scrape. Raises Failure."""
    from presman.services.metrics.web_server import Credentials

    defaults = config.defaults
    password = defaults.metrics_password
    if defaults.metrics_password_command is not None:
        # A user who may write the file could make presman run any command.
        if config.path and others_may_change(config.path):
            raise Failure(f"metrics_password_command is not run, others may change {config.path}: chmod go-w")
        from presman.config.credentials import PasswordCommandError, password_of

        try:
            password = password_of(defaults.metrics_password_command)
        except PasswordCommandError as error:
            raise Failure(f"metrics_{error}") from None
    if password is None:
        password = of_environment(METRICS_PASSWORD)
    if defaults.metrics_user is None and password is None:
        return None
    if defaults.metrics_user is None or password is None:
        given, lacks = "metrics_user", f"a password (or {METRICS_PASSWORD})"
        if password:
            given, lacks = "a password", "metrics_user"
        raise Failure(f"{config.path or 'config.ini'}: there is {given} for metrics, but not {lacks}")
    if ":" in defaults.metrics_user:
        raise Failure(f"{config.path}: metrics_user has a colon, which no browser and no Prometheus can send")
    return Credentials(defaults.metrics_user, password)


def refuse_strangers(options: Namespace, credentials: Credentials | None) -> None:
    """Raise Failure if anyone could read the figures, or a password on the network, unless --insecure allows it."""
    host = options.listen[0]
    if options.insecure or is_loopback(host):
        return
    cure = f"--listen 127.0.0.1:{options.listen[1]}, or --insecure"
    if credentials is None and not options.client_ca:
        raise Failure(f"anyone could read the metrics at {host}: metrics_user in config.ini, --client-ca, {cure}")
    if not options.certificate:
        raise Failure(f"the password would go to {host} unencrypted: --certificate and --key, {cure}")


def _push(options: Namespace, exporter: Exporter) -> OtlpPush | None:
    """Return the push to a collector, None without --otlp. Raises EndpointError, Failure."""
    if not options.otlp:
        return None
    try:
        from presman.services.metrics.otlp_push import OtlpPush, endpoint_of
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("presman"):  # an error in presman itself
            raise
        raise Failure(f"no {error.name}: pip install 'presman[otlp]'") from None
    return OtlpPush(exporter.databases, endpoint_of(options.otlp), options.push_interval, console.report)
