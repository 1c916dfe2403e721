"""Sources of a password that the connect string, config.ini and the environment do not name: keyring, prompt."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from presman.base.secret import Secret
from presman.config.targets import Target

SERVICE = "presman"
"""Under which keyrings keep presman's passwords, by ``user@address``: `keyring set presman scott@db/pdb`."""


def of_keyring(account: str) -> Secret | None:
    """Return the password that the desktop's keyring has for `account`; None without one, or without a keyring."""
    try:
        import keyring
    except ImportError:
        return None
    with suppress(Exception):  # a locked or broken keyring is no reason to stop: there is still the prompt
        password = keyring.get_password(SERVICE, account)
        return Secret(password) if password else None
    return None


def with_password(target: Target, ask: Callable[[str], str] | None = None) -> Target:
    """Return `target` with a password if it lacks one: from the keyring, else from `ask`, which is given a prompt."""
    if not target.needs_password or target.connect is None:
        return target
    found = of_keyring(target.connect.name)
    if found is None and ask is not None:
        found = Secret(ask(f"Password for {target.name}: "))
    return target.with_password(found) if found else target
