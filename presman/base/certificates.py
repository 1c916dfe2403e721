"""Certificates of the web server, read again when their files change, so that renewing one needs no restart."""

import ssl
from pathlib import Path

from msgspec import Struct

from presman.base.errors import InputError


class CertificateError(InputError):
    """A certificate or key cannot be used; the text is one line."""


class CertificateFiles(Struct, frozen=True):
    """Paths of the chain, its key (None: in the same file), and the CA for client certificates (None: not required)."""

    chain: Path
    key: Path | None = None
    clients: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        """The files that are set."""
        return tuple(each for each in (self.chain, self.key, self.clients) if each is not None)


class Certificates:
    """The TLS context built from certificate files. Raises CertificateError."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._read = self._stamps()
        self._context = _context(files)

    def context(self) -> ssl.SSLContext:
        """Return the context, a new one if the files have changed and can be used."""
        stamps = self._stamps()
        if stamps != self._read:
            try:
                self._context = _context(self._files)
            except CertificateError:
                return self._context  # half written, perhaps: the next connection tries again
            self._read = stamps
        return self._context

    def _stamps(self) -> tuple[int, ...]:
        try:
            return tuple(path.stat().st_mtime_ns for path in self._files.all)
        except OSError:
            return ()


def _context(files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for path in files.all:
        try:
            path.open("rb").close()
        except OSError as error:
            raise CertificateError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        # `str` returns an empty password; without a function OpenSSL would ask for one in the terminal.
        context.load_cert_chain(files.chain, files.key, password=str)
    except (ssl.SSLError, ValueError) as error:
        raise CertificateError(f"{files.chain}: no certificate with its key: {_reason(error)}") from None
    if files.clients is not None:
        try:
            context.load_verify_locations(files.clients)
        except (ssl.SSLError, ValueError) as error:
            raise CertificateError(f"{files.clients}: no certificates: {_reason(error)}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _reason(error: Exception) -> str:
    """Return OpenSSL's reason in words; it gives none for a file that is not PEM at all."""
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else "it cannot be read as PEM"
