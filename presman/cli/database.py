"""`presman doctor`, `presman grants` and `presman demo --listen`: what has to do with databases themselves."""

from __future__ import annotations

import threading
from argparse import Namespace
from typing import TYPE_CHECKING

from presman.cli import codes, talk
from presman.cli.codes import Failure
from presman.cli.settings import Resolved, load, resolve
from presman.release import SUPPORTED, Release

if TYPE_CHECKING:
    from presman.config import Config
    from presman.oracle_server import OracleServer
    from presman.sources.simulator import SimulatorSource


def doctor(options: Namespace) -> int:
    """Run `presman doctor TARGET`."""
    from presman.doctor import doctor as examine

    resolved = resolve(options.target, load(options), options)
    for line in examine(resolved.target, scope=resolved.scope, packs=resolved.packs):
        talk.show(line + "\n")
    return codes.OK


def grants(options: Namespace) -> int:
    """Run `presman grants`."""
    from presman.grants import Account, grants_script

    account = Account(options.account or ("pdb" if options.pdb else "local"))
    if options.pdb and account is not Account.PDB:
        raise Failure("--pdb goes with --account pdb")
    try:
        talk.put(grants_script(release_of(options.release), account, user=options.user or "", pdb=options.pdb or ""))
    except ValueError as error:
        raise Failure(str(error)) from None
    return codes.OK


def release_of(text: str | None) -> Release:
    """Return the release that an option names, 19 without one. Raises Failure."""
    try:
        release = Release.parse(text) if text else Release(19)
    except ValueError:
        raise Failure(f"--release {text} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise Failure(f"--release {text} is older than {SUPPORTED[0]}, the oldest presman reads")
    return release


def listen(text: str, config: Config, options: Namespace) -> int:
    """Serve a simulated database to thin Oracle clients on this machine until interrupted."""
    resolved = resolve(text, config, options)
    source, server = simulated(resolved, options.listen)
    try:
        server.start()
    except OSError as error:
        source.close()
        raise Failure(f"cannot listen on port {options.listen}: {error.strerror or error}", codes.SOURCE) from None
    try:
        talk.show(
            f"{source.name}: the simulated views of Oracle {server.profile.version_text} for thin clients, read only.\n"
            f"This is presman's simulator, not an Oracle database. It can be reached from this machine alone.\n\n"
            f"  user presman, password presman, {server.dsn}\n"
            f"  presman presman/presman@{server.dsn}\n\n"
            f"Ctrl-C ends it.\n"
        )
        threading.Event().wait()
    finally:
        server.stop()
        source.close()
        counters = server.counters
        talk.say(
            f"{counters.logins} logins, {counters.calls['execute']} statements, {counters.round_trips} round trips"
        )
    return codes.OK


def simulated(resolved: Resolved, port: int) -> tuple[SimulatorSource, OracleServer]:
    """Return an open simulator and the server, not started, that shows it. Raises SourceError."""
    from presman.oracle_server.simulated import simulated_server
    from presman.sources.simulator import SimulatorSource

    source = resolved.target.make_source()
    if not isinstance(source, SimulatorSource):
        raise Failure("--listen shows a simulated database only")
    return source, simulated_server(source, source.open(), port=port)
