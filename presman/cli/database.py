"""`presman doctor` and `presman grants`: what has to do with databases themselves."""

from __future__ import annotations

from argparse import Namespace

from presman.base.release import SUPPORTED, Release
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.settings import load, resolve


def doctor(options: Namespace) -> int:
    """Run `presman doctor TARGET`."""
    from presman.config.setup.assumptions import check
    from presman.config.setup.doctor import doctor as examine

    resolved = resolve(options.target, load(options), options)
    if options.assumptions:
        for line in check(resolved.target, scope=resolved.scope):
            console.show(line + "\n")
        return exit_codes.OK
    for line in examine(resolved.target, scope=resolved.scope, packs=resolved.packs):
        console.show(line + "\n")
    return exit_codes.OK


def grants(options: Namespace) -> int:
    """Run `presman grants`."""
    from presman.config.setup.grants import AccountKind, grants_script

    account = AccountKind(options.account or ("pdb" if options.pdb else "local"))
    if options.pdb and account is not AccountKind.PDB:
        raise Failure("--pdb goes with --account pdb")
    try:
        console.put(grants_script(release_of(options.release), account, user=options.user or "", pdb=options.pdb or ""))
    except ValueError as error:
        raise Failure(str(error)) from None
    return exit_codes.OK


def release_of(text: str | None) -> Release:
    """Return the release that an option names, 19 without one. Raises Failure."""
    try:
        release = Release.parse(text) if text else Release(19)
    except ValueError:
        raise Failure(f"--release {text} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise Failure(f"--release {text} is older than {SUPPORTED[0]}, the oldest presman reads")
    return release
