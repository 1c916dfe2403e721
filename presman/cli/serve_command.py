"""`presman serve TARGET`: the monitor in a browser, with a separate process for each page."""

import argparse
import json
import os
import secrets
import socket
import sys
from argparse import Namespace
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from presman.base.errors import InputError
from presman.base.formats import counted
from presman.base.listeners import is_loopback
from presman.base.secret import PASSWORD, Secret, of_environment
from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, add_certificate, add_listen, certificates_of, command, option, positive
from presman.cli.settings import default_target, load, resolve, terminal_prompt
from presman.cli.start import check_theme
from presman.services.serve.access import Access, Launch, Serving

SHORTEST_TOKEN = 16
"""Characters that a token of the user must have, so that it cannot be guessed."""

PASSED_ON = ("config", "refresh", "poll_timeout", "scope", "thick", "packs", "theme", "at", "start", "end")
"""Options that are passed on to the monitors. No other option is, and none of these allows actions."""

BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from presman.cli.served_monitor import main; sys.exit(main())"
"""The command that starts a monitor: it imports presman from the same path as this process, also from a single file."""

TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_COLOR_SYSTEM": "truecolor"}
"""The environment that describes the browser's terminal, whatever terminal presman was started from."""


@command(
    "The monitor in a browser, on this machine only unless --listen says otherwise. Each page is a separate\n"
    "monitor with its own database session and the login that presman was started with. Viewers cannot act,\n"
    "write a file where presman runs, or go to another target. Needs the extra web: pip install 'presman[web]'.",
    """\
  presman serve prod
  presman serve prod --listen 0.0.0.0:8443 --certificate tls.crt --key tls.key
  presman serve prod --public https://dba.example.com/prod/ --token-file token
  ssh -t -L 8000:localhost:8000 dbhost presman serve prod""",
    "refresh scope packs theme at start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman serve`."""
    option(parser, "target TARGET", "what to watch (default: the one in config.ini)", nargs="?")
    add_listen(parser, "address for browsers (default 127.0.0.1:8000: this machine only)", "127.0.0.1:8000")
    words = (
        "ask for a token, or not (default: ask if other machines can connect); --no-token is for a reverse proxy on "
        "this machine that authenticates its users"
    )
    option(parser, "--token", words, action=argparse.BooleanOptionalAction)
    option(parser, "--token-file FILE", "the token, on its first line (default: a random one)")
    add_certificate(parser)
    option(parser, "--public URL", "its URL for browsers, behind a reverse proxy or by another name")
    option(parser, "--viewers N", "pages open at the same time (default 4)", type=positive, default=4)


def run(options: Namespace) -> int:
    """Serve until stopped. Raises Failure, InputError."""
    try:
        import_module("textual_serve")
    except ImportError:
        raise Failure("presman serve needs textual_serve: pip install 'presman[web]'") from None
    from presman.services.listener import listening_sockets
    from presman.services.serve import viewer_site

    if options.token is False and options.token_file:
        raise Failure("--token-file and --no-token contradict each other")
    certificates = certificates_of(options)
    token = _token_of_file(Path(options.token_file)) if options.token_file else None
    public = _public(options.public) if options.public else ""
    name, launch = _launch(options)
    host, port = options.listen
    with ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(each) for each in listening_sockets(host, port)]
        port, only_loopback = sockets[0].getsockname()[1], all(is_loopback(each.getsockname()[0]) for each in sockets)
        token = token or _new_token(options, only_loopback=only_loopback)
        others = () if only_loopback else (host.lower(), socket.gethostname().lower(), socket.getfqdn().lower())
        names, secure = frozenset({"localhost", *others}), certificates is not None
        access = Access(token, names, only_loopback, public, secure, f"presman_{port}")
        serving = Serving(name, launch, access, options.viewers, console.note)
        return 128 + viewer_site.run(serving, sockets, certificates, partial(_announce, serving, host, port, options))


def _launch(options: Namespace) -> tuple[str, Launch]:
    """Return the target's name and the command that starts its monitors; ask for the password once for all of them."""
    config = load(options)
    typed: list[str] = []
    prompt = terminal_prompt()

    def ask(text: str) -> str:
        typed.append(prompt(text) if prompt else "")
        return typed[-1]

    resolved = resolve(options.target, config, options, prompt=ask if prompt else None)
    if resolved.theme:
        check_theme(resolved.theme)
    if resolved.on_alert:
        console.note("presman serve does not run on_alert: presman check and the monitor do")
    chosen = {name: getattr(options, name) for name in PASSED_ON} | {"target": options.target or default_target(config)}
    orders = {"options": chosen, "password": typed[-1] if typed else None}
    if resolved.target.kind == "oracle" and (found := of_environment(PASSWORD)):  # only databases need it
        orders[PASSWORD] = found.reveal()
    line = json.dumps(orders)
    # -P: a file in the working directory must not be imported in place of a module.
    command = (sys.executable, "-P", "-c", BEGIN, *sys.path)
    return resolved.target.name, Launch(command, Secret(line), {**os.environ, **TERMINAL})


def _token_of_file(path: Path) -> Secret:
    """Return the first line of a file as the token. Raises InputError."""
    try:
        with path.open(encoding="utf-8") as file:
            # A limit, whatever file was named.
            token = file.readline(1000).strip()
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, UnicodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    if len(token) < SHORTEST_TOKEN or not token.isprintable():
        raise InputError(f"{path}: its first line is not a token of at least {SHORTEST_TOKEN} characters")
    if mode & 0o007:
        console.note(f"warning: every user of this machine may read {path}: chmod 600 {path}")
    return Secret(token)


def _public(text: str) -> str:
    """Return a URL in the form that browsers use. Raises Failure."""
    try:
        parts = urlsplit(text)
        port = parts.port
        is_usable = parts.scheme in {"http", "https"} and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        is_usable = False
    if not is_usable or not parts.hostname:
        raise Failure(f"--public {text!r} is not a URL such as https://dba.example.com/prod/")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path if parts.path.endswith("/") else f"{parts.path}/"
    return f"{parts.scheme}://{name}{f':{port}' if port else ''}{path}"


def _new_token(options: Namespace, *, only_loopback: bool) -> Secret | None:
    """Return a random token, None if none is needed. Raises Failure."""
    if options.token is False and not only_loopback:
        raise Failure("--no-token goes with loopback: elsewhere anyone could open the monitor")
    wanted = options.token if options.token is not None else bool(options.public) or not only_loopback
    return Secret(secrets.token_urlsafe(24)) if wanted else None


def _announce(serving: Serving, host: str, port: int, options: Namespace) -> None:
    """Report the URL for browsers, and who else can open it."""
    from presman.services.listener import host_and_port

    access = serving.access
    host = socket.gethostname() if host in {"0.0.0.0", "::"} else host
    url = access.public or f"{'https' if access.secure else 'http'}://{host_and_port(host, port)}/"
    console.note(f"serving {serving.target} to at most {counted(serving.viewers, 'viewer')}; Ctrl-C ends it")
    if not access.only_loopback:
        console.note("warning: other machines reach it; anyone with the token sees what presman sees")
        if not access.secure:
            console.note("warning: the line is not encrypted: --certificate, or a reverse proxy in front of loopback")
    elif access.token is None:
        console.note("anyone logged in to this machine can open it, too: --token asks for a token")
    # The user has the token of --token-file, which may be valid for longer than this run.
    tail = f"?token={access.token.reveal()}" if access.token is not None and not options.token_file else ""
    console.note(f"open {url}{tail}")
