"""Login over TLS, through a proxy user and with a privilege: what the driver does, and what the server sees."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.instance_rows import Instance
from presman.sources import SourceError
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from tests.oracle.bench import NOW, USUAL, Bench, fill
from tests.oracle.proxy import proxy
from tests.oracle.test_other_clients import CLIENTS, place
from tests.oracle_server import Backend, OracleServer, profile_of


def _use(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


class Authority:
    """A certificate authority for tests; `issue` writes key, certificate and its own certificate into one PEM file.

    Its certificates have the extensions that Python 3.13 and later require: the key that signed, and the key's usage.
    """

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), (x509.BasicConstraints(True, None), True))

    def _sign(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, extension: tuple[x509.ExtensionType, bool]
    ) -> x509.Certificate:
        begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(self.name).public_key(key)
        made = made.serial_number(x509.random_serial_number()).not_valid_before(begin)
        made = made.not_valid_after(begin + datetime.timedelta(days=1)).add_extension(*extension)
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        made = made.add_extension(signer, critical=False).add_extension(_use(signs=name == self.name), critical=True)
        return made.sign(self.key, hashes.SHA256())

    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, path: Path, name: str, *, address: str = "127.0.0.1", password: bytes = b"") -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        holder = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        where = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)), x509.DNSName(name)])
        certificate = self._sign(holder, key.public_key(), (where, False))
        secured = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secured)
        path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM) + self.pem())
        return path


@pytest.fixture(scope="module")
def ours() -> Authority:
    return Authority("presman test authority")


@pytest.fixture
def secured(tmp_path: Path, ours: Authority) -> Iterator[Callable[..., Bench]]:
    """Make a server that speaks TLS, and the wallet folder of its client."""
    servers: list[OracleServer] = []
    benches: list[Bench] = []

    def make(
        release: Release, *, mutual: bool = False, authority: Authority = ours, name: str = "127.0.0.1", **given: Any
    ) -> Bench:
        own = authority.issue(
            tmp_path / "server.pem", name, address="127.0.0.1" if name == "127.0.0.1" else "192.0.2.9"
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own)
        if mutual:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=ours.pem().decode())
        database = EmbeddedDatabase(release)
        fill(database)
        backend = Backend(database, now=lambda: NOW)
        servers.append(OracleServer(backend, profile_of(release), tls=context, **given).start())
        benches.append(Bench(servers[-1], release))
        return benches[-1]

    yield make
    for bench in benches:
        for source in bench.sources:
            source.close()
        bench.server.stop()
        bench.server.backend.database.close()


def wallet(folder: Path, authority: Authority, **options: bytes) -> str:
    """Make a wallet folder as the thin driver reads it: ewallet.pem."""
    folder.mkdir()
    authority.issue(folder / "ewallet.pem", "client", **options)  # type: ignore[arg-type]
    return str(folder)


@pytest.mark.parametrize("release", USUAL, ids=str)
@pytest.mark.parametrize("mutual", [False, True], ids=["tls", "mtls"])
def test_tls_with_a_wallet(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority, release: Release, mutual: bool
) -> None:
    bench = secured(release, mutual=mutual)
    place = wallet(tmp_path / "wallet", ours, password=b"opensesame")
    source = bench.opened(
        dsn=f"tcps://{bench.server.dsn}", wallet_location=place, wallet_password=Secret("opensesame"), call_timeout=5.0
    )
    assert [row.instance_name for row in bench.read(source, Instance)[0].rows] == ["orcl"]
    source.close()
    assert bench.server.counters.logins == bench.server.counters.most_sessions == 1


def refused(bench: Bench, place: str | None) -> SourceError:
    with pytest.raises(SourceError) as caught:
        bench.opened(dsn=f"tcps://{bench.server.dsn}", wallet_location=place)
    assert bench.server.counters.logins == 0
    return caught.value


def test_certificate_of_a_stranger_is_refused(secured: Callable[..., Bench], tmp_path: Path, ours: Authority) -> None:
    bench = secured(Release(19), authority=Authority("somebody else"))
    message = str(refused(bench, wallet(tmp_path / "wallet", ours)))
    assert "CERTIFICATE_VERIFY_FAILED" in message
    assert "TLS works, but no certificate here has signed the server's" in message
    assert "wallet_location" in message


def test_certificate_for_another_host_is_refused(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority
) -> None:
    bench = secured(Release(19), name="elsewhere.example.com")
    assert "name on the server certificate does not match" in str(refused(bench, wallet(tmp_path / "wallet", ours)))


def test_without_a_client_certificate_mutual_tls_is_refused(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority
) -> None:
    bench = secured(Release(19), mutual=True)
    folder = tmp_path / "wallet"
    folder.mkdir()
    (folder / "ewallet.pem").write_bytes(ours.pem())
    assert str(refused(bench, str(folder)))


def test_wrong_wallet_password(secured: Callable[..., Bench], tmp_path: Path, ours: Authority) -> None:
    """The driver continues without a key that it cannot read; a server that requires it refuses."""
    bench = secured(Release(19), mutual=True)
    place = wallet(tmp_path / "wallet", ours, password=b"opensesame")
    with pytest.raises(SourceError) as caught:
        bench.opened(dsn=f"tcps://{bench.server.dsn}", wallet_location=place, wallet_password=Secret("mellon"))
    assert "mellon" not in str(caught.value)
    assert bench.server.counters.logins == 0


def test_plain_text_to_a_tls_port(secured: Callable[..., Bench]) -> None:
    with pytest.raises(SourceError) as caught:
        secured(Release(19)).opened()
    assert caught.value.retry


class Encrypted:
    """The server's end of TLS on a socket that stays open when TLS ends."""

    def __init__(self, context: ssl.SSLContext, plain: socket.socket) -> None:
        self._plain = plain
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._do(self._tls.do_handshake)

    def _do(self, step: Callable[..., Any], *given: Any) -> Any:
        while True:
            try:
                return step(*given)
            except ssl.SSLWantReadError:
                self._plain.sendall(self._out.read())
                self._in.write(self._plain.recv(65_536))
            finally:
                self._plain.sendall(self._out.read())

    def read(self) -> bytes:
        """Read a CONNECT, and the following packet with the connect data."""
        received = b""
        while b"CONNECT_DATA" not in received:
            received += self._do(self._tls.read, 65_536)
        return received

    def write(self, data: bytes) -> None:
        self._do(self._tls.write, data)


def test_a_second_handshake_after_the_listeners_resend(tmp_path: Path, ours: Authority) -> None:
    """As on real TLS ports: the listener requests CONNECT again, after a second handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ours.issue(tmp_path / "server.pem", "127.0.0.1"))
    listener = socket.create_server(("127.0.0.1", 0))
    connects: list[bytes] = []

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            first = Encrypted(context, client)
            connects.append(first.read())
            first.write(bytes.fromhex("00080000 0b080000"))  # resend, after a new handshake
            second = Encrypted(context, client)
            connects.append(second.read())
            text = b"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR=12514))"
            head = bytes.fromhex("0000 04000000 2200 00")
            second.write((len(text) + 12).to_bytes(2, "big") + head + bytes([len(text)]) + text)

    thread = threading.Thread(target=serve)
    thread.start()
    settings = ConnectSettings(
        f"tcps://127.0.0.1:{listener.getsockname()[1]}/x",
        "presman",
        Secret("presman"),
        wallet_location=wallet(tmp_path / "wallet", ours),
    )
    with pytest.raises(SourceError) as caught:
        OracleSource(settings, connect_timeout=5).open()
    thread.join(60)
    listener.close()
    assert caught.value.code == "ORA-12514"
    assert [text[4] for text in connects] == [1, 1], "a CONNECT each time"


# -- through a proxy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", USUAL, ids=str)
def test_through_an_https_proxy(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority, release: Release
) -> None:
    bench = secured(release)
    given = {"dsn": f"tcps://{bench.server.dsn}", "wallet_location": wallet(tmp_path / "wallet", ours)}
    with proxy() as between:
        source = bench.opened(https_proxy="127.0.0.1", https_proxy_port=between.port, call_timeout=5.0, **given)
        assert [row.instance_name for row in bench.read(source, Instance)[0].rows] == ["orcl"]
        source.close()
    assert [line.split()[:2] for line in between.asked] == [["CONNECT", f"127.0.0.1:{bench.server.port}"]]
    assert between.passed > bench.server.counters.bytes_in + bench.server.counters.bytes_out


def test_a_proxy_that_refuses(secured: Callable[..., Bench], tmp_path: Path, ours: Authority) -> None:
    bench = secured(Release(19))
    given = {"dsn": f"tcps://{bench.server.dsn}", "wallet_location": wallet(tmp_path / "wallet", ours)}
    with proxy(refuses=True) as between, pytest.raises(SourceError, match="407") as caught:
        bench.opened(https_proxy="127.0.0.1", https_proxy_port=between.port, **given)
    assert caught.value.retry
    assert bench.server.counters.connections == 0


def test_a_proxy_needs_tls(bench19: Bench) -> None:
    with proxy() as between, pytest.raises(SourceError, match="tcps://") as caught:
        bench19.opened(https_proxy="127.0.0.1", https_proxy_port=between.port)
    assert (caught.value.code, caught.value.retry, between.asked) == ("DPY-2029", False, [])


# -- users and privileges ---------------------------------------------------------------------------------------------


def test_a_proxy_user_logs_in_for_another(bench: Bench) -> None:
    bench.opened(user="presman[app_owner]")
    assert (bench.server.counters.last_login.user, bench.server.counters.last_login.proxied) == ("PRESMAN", "APP_OWNER")


@pytest.mark.parametrize(
    ("mode", "seen"), [("default", ""), ("sysdba", "SYSDBA"), ("sysoper", "SYSOPER"), ("sysdg", "SYSDG")]
)
def test_the_server_sees_the_privilege(bench: Bench, mode: str, seen: str) -> None:
    bench.opened(mode=mode)
    assert bench.server.counters.last_login.privilege == seen


@pytest.mark.parametrize("release", USUAL, ids=str)
def test_a_certificate_in_place_of_a_password(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority, release: Release
) -> None:
    bench = secured(release, mutual=True, accounts={}, certificates={"client": "WATCHER"})
    place = wallet(tmp_path / "wallet", ours)
    source = bench.opened(
        dsn=f"tcps://{bench.server.dsn}", wallet_location=place, user=None, password=None, call_timeout=5.0
    )
    assert [row.instance_name for row in bench.read(source, Instance)[0].rows] == ["orcl"]
    source.close()
    counters = bench.server.counters
    assert (counters.last_login.user, counters.calls["network services"]) == ("WATCHER", 1)


@pytest.mark.parametrize("release", USUAL, ids=str)
def test_jdbc_with_a_certificate(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority, release: Release
) -> None:
    """Another driver negotiates network services with this server, too."""
    archive, java = place("PRESMAN_JDBC"), shutil.which("java")
    if not archive.is_file() or java is None:
        pytest.skip("no jdbc client: CONTRIBUTING.md says how to get one")
    bench = secured(release, mutual=True, accounts={}, certificates={"client": "WATCHER"})
    pem = Path(wallet(tmp_path / "wallet", ours), "ewallet.pem").read_bytes()
    key, (own, *others) = serialization.load_pem_private_key(pem, None), x509.load_pem_x509_certificates(pem)
    secret = serialization.BestAvailableEncryption(b"opensesame")
    keys, trusted = tmp_path / "keys.p12", tmp_path / "trusted.p12"
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    keys.write_bytes(pkcs12.serialize_key_and_certificates(b"client", key, own, others, secret))
    trusted.write_bytes(
        pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(ours.certificate, b"authority")], secret)
    )
    program = str(CLIENTS / "Certificate.java")
    command = [java, "-cp", str(archive), program, str(bench.server.port), str(keys), str(trusted), "opensesame"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "orcl\n"), done.stderr
    assert bench.server.counters.last_login.user == "WATCHER"


@pytest.mark.parametrize("release", USUAL, ids=str)
@pytest.mark.parametrize("certificates", [{}, {"somebody": "WATCHER"}], ids=["none", "another"])
def test_a_certificate_without_a_user(
    secured: Callable[..., Bench], tmp_path: Path, ours: Authority, release: Release, certificates: dict[str, str]
) -> None:
    bench = secured(release, mutual=True, accounts={}, certificates=certificates)
    place = wallet(tmp_path / "wallet", ours)
    with pytest.raises(SourceError, match=r"ORA-01017.* no user was named") as caught:
        bench.opened(
            dsn=f"tcps://{bench.server.dsn}", wallet_location=place, user=None, password=None, call_timeout=5.0
        )
    assert not caught.value.retry
    assert (bench.server.counters.logins, bench.server.counters.sessions) == (0, 0)


def test_a_login_without_a_user_and_without_a_certificate(bench19: Bench) -> None:
    with pytest.raises(SourceError, match="no user was named: that needs a wallet") as caught:
        bench19.opened(user=None, password=None)
    assert not caught.value.retry


# -- forms of the address ---------------------------------------------------------------------------------------------


def test_alias_and_descriptor(bench19: Bench, tmp_path: Path) -> None:
    address = f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={bench19.server.port}))"
    descriptor = f"(DESCRIPTION={address}(CONNECT_DATA=(SERVICE_NAME=presman)))"
    (tmp_path / "tnsnames.ora").write_text(f"PROD =\n  {descriptor}\n")
    for given in ({"dsn": descriptor}, {"dsn": "prod", "config_dir": str(tmp_path)}):
        source = bench19.opened(**given)
        assert len(bench19.read(source, Instance)[0].rows) == 1
        source.close()


def test_second_address_when_the_first_is_down(bench19: Bench) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = closed.getsockname()[1], bench19.server.port
        addresses = "".join(f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port}))" for port in ports)
        dsn = f"(DESCRIPTION=(ADDRESS_LIST={addresses})(CONNECT_DATA=(SERVICE_NAME=presman)))"
        assert len(bench19.read(bench19.opened(dsn=dsn), Instance)[0].rows) == 1
