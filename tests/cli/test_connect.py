from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from benchmarks.terminal import Screen
from presman.base.release import Release
from presman.base.secret import Secret
from presman.cli import exit_codes
from presman.cli.connect_command import PasswordStorage, store_password
from presman.config import credentials
from presman.config.config_file import Config, Settings, read_config
from presman.config.connect_answers import Answers, lacks_service, wallet_trouble, wants_tls, with_address
from presman.config.target_text import parse_target
from presman.config.tns_names import entries
from presman.sources import SourceError
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ADDRESS, PASSWORD, USER, ConnectSettings, explained, failures
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import Run, command, environment
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Mute, Ora, Stage
from tests.oracle_server.simulated import simulated_server
from tests.scenarios import with_short_past

FILE = "# mine\n[presman]\nrefresh_rate = 7\n\n[prod]\ntheme = nord  \n# stays\n"


@pytest.fixture(scope="module")
def server() -> Iterator[OracleServer]:
    source = SimulatorSource(with_short_past("quiet"), release=Release(19), clock=lambda: 0.0)
    source.open()
    with simulated_server(source, Release(19), accounts={"PRESMAN": "t1ger"}) as running:
        running.services = frozenset({"prod.example.com"})
        yield running


class Dialogue:
    """`presman connect` on a terminal, and its whole output."""

    def __init__(self, folder: Path, *words: str) -> None:
        given = environment(HOME=str(folder), XDG_CONFIG_HOME=str(folder), TNS_ADMIN=str(folder))
        given |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        self.screen = Screen(["sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command(*words)], **given)
        self.shown = b""

    def answer(self, question: str, typed: str) -> None:
        self.screen.wait_for(question.encode())
        self.shown += self.screen.last
        self.screen.forget()
        self.screen.press(typed.encode())

    def end(self, again: str = "") -> int | None:
        """Wait for the end. Python misses a Ctrl-C between its last look for signals and its read: press it again."""
        if again:
            with suppress(TimeoutError):
                self.screen.wait_for_end(5)
            if self.screen.status is None:
                self.screen.press(again.encode())
        self.screen.wait_for_end()
        self.shown += self.screen.last
        return self.screen.status


def test_a_dialogue_ends_with_a_section(server: OracleServer, tmp_path: Path) -> None:
    (tmp_path / "tnsnames.ora").write_text(
        f"Prod =\n (DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={server.port}))\n"
        " (CONNECT_DATA=(SERVICE_NAME=prod.example.com)))\n"
    )
    path = tmp_path / "config.ini"
    path.write_text(FILE)
    path.chmod(0o644)
    on = Dialogue(tmp_path, "connect", "prod", "--config", str(path))
    try:
        on.answer("tnsnames.ora): ", f"127.0.0.1:{server.port}\n")
        on.answer("Service", "nope\n")
        on.answer("User", "presman\n")
        on.answer("(not shown)", "wr0ng\n")
        on.answer("Which [a]", "a\n")
        on.answer("tnsnames.ora) [127", "1\n")
        on.answer("Which [p]", "p\n")
        on.answer("(not shown)", "t1ger\n")
        on.answer("Which [n]", "c\n")
        on.answer("Command", "echo another\n")
        on.answer("Which [n]", "f\n")
        on.answer("[y/N]", "y\n")
        on.answer("[Y/n]", "\n")
        assert on.end() == 0
    finally:
        on.screen.close()
    shown = on.shown.decode()
    for text in (
        "`lsnrctl services`",
        "user or password is wrong",
        "Nothing is missing",
        "password = ***",
        "not the password",
    ):
        assert text in shown
    assert "t1ger" not in shown
    assert "wr0ng" not in shown
    new = f"connection_string = presman@Prod\npassword = t1ger\nconfig_dir = {tmp_path}\n"
    assert path.read_text() == FILE.replace("theme", new + "theme")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("key", "code"), [("\x03", exit_codes.INTERRUPTED), ("\x04", exit_codes.INTERRUPTED)])
def test_leaving_the_dialogue_changes_nothing(key: str, code: int, tmp_path: Path) -> None:
    on = Dialogue(tmp_path, "connect")
    try:
        on.answer("tnsnames.ora): ", "a@db.example.com:1521/prod\n")
        on.answer("User", "\n")
        on.answer("(not shown)", key)
        assert on.end(again=key) == code
    finally:
        on.screen.close()
    assert b"nothing was written" in on.shown
    assert b"Traceback" not in on.shown
    assert list(tmp_path.iterdir()) == []


def test_presman_without_arguments_offers_connect(tmp_path: Path) -> None:
    on = Dialogue(tmp_path)
    try:
        on.answer("Which [d]", "c\n")
        on.answer("tnsnames.ora): ", "\x04")
        assert on.end() == exit_codes.INTERRUPTED
    finally:
        on.screen.close()


def test_connect_without_a_terminal_is_refused_in_one_line(inside: Run) -> None:
    done = inside("connect")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (exit_codes.USAGE, 1, "")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1017, "user or password is wrong"),
        (28000, "locked"),
        (28001, "expired"),
        (28040, "no password verifier in common"),
        (1045, "lacks CREATE SESSION"),
        (1033, "not open"),
    ],
)
def test_errors_of_a_database_are_explained(server: OracleServer, code: int, words: str) -> None:
    server.faults.add(Stage.LOGIN, Ora(code), skip=3)
    answers = Answers(f"127.0.0.1:{server.port}/prod.example.com", "presman", Secret("t1ger"))
    with pytest.raises(SourceError) as caught:
        answers.target(Config()).make_source().open()
    found = explained(caught.value.code, str(caught.value))
    assert found is not None
    assert words in found.meaning


@pytest.mark.parametrize(
    ("stage", "about", "reason", "advice"),
    [
        (Stage.CONNECT, "", ": no answer within 0.5 s", "If other clients hang, too"),
        (
            Stage.LOGIN,
            "",
            "the listener answered, but the database did not complete the login in time",
            "UNQUIESCE",
        ),
        (
            Stage.STATEMENT,
            "sys_context",
            "the listener answered, but the database did not complete the login in time",
            "session pool",
        ),
    ],
)
def test_a_hanging_login_gives_possible_causes(
    server: OracleServer, stage: Stage, about: str, reason: str, advice: str
) -> None:
    server.faults.clear()
    server.faults.add(stage, Mute(), about)
    settings = ConnectSettings(f"127.0.0.1:{server.port}/prod.example.com", "presman", Secret("t1ger"))
    source = OracleSource(settings, connect_timeout=0.5)
    with pytest.raises(SourceError) as caught:
        source.open()
    server.faults.clear()
    text = str(caught.value)
    assert text.startswith(f"127.0.0.1:{server.port}: no answer within ")
    assert reason in text
    assert ("quiesced" in text) == (stage is not Stage.CONNECT)
    found = explained(caught.value.code, text)
    assert found is not None
    assert advice in " ".join(found.advice)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (Answers("127.0.0.1:1/x", "a", Secret("b")), "nothing listens on this port"),
        (Answers("no.such.host.invalid/x", "a", Secret("b")), "could not be found"),
        (Answers("NO_ALIAS", "a", Secret("b")), "not in tnsnames.ora"),
    ],
)
def test_network_errors_are_explained(answers: Answers, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        answers.target(Config()).make_source().open()
    found = explained(caught.value.code, str(caught.value))
    assert found is not None
    assert words in found.meaning


@pytest.mark.parametrize("asked", ["once", "check", "doctor", "lint"])
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("a@127.0.0.1:1/x", "nothing listens on this port. Is the listener up, and on this port?"),
        ("a@NO_ALIAS", "the alias is not in tnsnames.ora"),
    ],
)
def test_every_command_explains_as_connect_does(
    inside: Run, monkeypatch: pytest.MonkeyPatch, asked: str, target: str, expected: str
) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "b")
    done = inside(asked, target)
    assert done.returncode == exit_codes.SOURCE
    assert expected in done.stdout + done.stderr


def test_a_missing_wallet_is_explained(server: OracleServer) -> None:
    answers = Answers(f"tcps://127.0.0.1:{server.port}/x", "a", Secret("b"), wallet_location="/nonexistent")
    with pytest.raises(SourceError) as caught:
        answers.target(Config()).make_source().open()
    found = explained(caught.value.code, str(caught.value))
    assert found is not None
    assert "wallet could not be read" in found.meaning


def test_an_explained_message_keeps_its_explanation() -> None:
    for found in failures().failure:
        for word in found.texts:
            assert explained("", f"{word} - {found.line}") is found
        for code in found.codes:
            assert explained(code, f"{code}: not now - {found.line}") is found
            assert explained("DPY-6005", f"DPY-6005: {code}: not now") is found


def test_other_errors_are_not_explained() -> None:
    assert explained("", "ssl: CERTIFICATE_VERIFY_FAILED in /etc/wallet") is not explained("", "bad wallet")
    assert explained("ORA-00600", "ORA-00600: internal") is None
    refused = explained("ORA-01017", "")
    assert refused is not None
    assert refused.change == PASSWORD
    codes = [code for each in failures().failure for code in each.codes]
    assert len(codes) == len(set(codes)), "each code means one thing"
    assert {each.change for each in failures().failure} == {"", ADDRESS, USER, PASSWORD}


def test_addresses_are_accepted_in_all_usual_forms() -> None:
    known = {"Prod": "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=h)))"}
    nobody = Answers("")
    assert with_address(nobody, " anna@PROD ", known) == Answers("Prod", "anna")
    assert lacks_service("db:1521", known)
    assert not lacks_service("Prod", known)
    assert wants_tls(Answers("Prod"), known)
    assert wants_tls(Answers("tcps://h/x"), known)
    assert not wants_tls(Answers("h:1521/tcps"), known)
    for typed in ("anna/t1ger@db/x", "", "anna@", "a b"):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is looked at
            with_address(nobody, typed, known)
        assert "t1ger" not in str(caught.value)


def test_the_section_has_the_tried_settings(tmp_path: Path) -> None:
    answers = Answers("adb_high", "sys", Secret("p"), str(tmp_path), str(tmp_path), Secret("w"), True, "/opt/ic")
    path = tmp_path / "c.ini"
    path.write_text("[x]\n" + "".join(f"{name} = {value}\n" for name, value in answers.values(password="p").items()))
    assert read_config(path).sections["x"] == answers.settings()
    assert read_config(path).sections["x"].mode == "sysdba"
    inherited = answers.target(Config(sections={"presman": Settings(call_timeout=3.0)})).connect
    assert inherited is not None
    assert inherited.call_timeout == 3


def test_the_keyring_stores_the_password_or_gives_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[tuple[str, str], str] = {}

    def keep(service: str, account: str, password: str) -> None:
        if account.startswith("locked"):
            raise RuntimeError("t1ger")
        kept[service, account] = password

    for priority, there in ((5, True), (0, False)):
        fake = SimpleNamespace(get_keyring=lambda: SimpleNamespace(priority=priority), set_password=keep)  # noqa: B023
        monkeypatch.setitem(sys.modules, "keyring", fake)  # type: ignore[misc]
        assert credentials.has_keyring() is there
    answers = Answers("db:1521/x", "anna", Secret("t1ger"))
    assert store_password(answers, PasswordStorage()) == ""
    assert store_password(answers, PasswordStorage(in_keyring=True)) == ""
    found = parse_target(answers.shown).connect
    assert found is not None
    assert kept == {("presman", found.name): "t1ger"}
    assert store_password(replace(answers, user="locked"), PasswordStorage(in_keyring=True)) == "RuntimeError"
    monkeypatch.setitem(sys.modules, "keyring", None)  # type: ignore[misc]
    assert not credentials.has_keyring()


def test_wallets(tmp_path: Path) -> None:
    assert "no such folder" in wallet_trouble(str(tmp_path / "no"))
    assert "no ewallet.pem" in wallet_trouble(str(tmp_path))
    (tmp_path / "cwallet.sso").touch()
    assert "--thick" in wallet_trouble(str(tmp_path))
    (tmp_path / "ewallet.pem").touch()
    assert not wallet_trouble(str(tmp_path))


def test_aliases_with_comments_and_included_files(tmp_path: Path) -> None:
    (tmp_path / "more.ora").write_text("night = (X)\nIFILE = more.ora\n")
    (tmp_path / "tnsnames.ora").write_text("# old =\nIFILE = more.ora\nPROD, prod.world =\n  (DESCRIPTION =\n (X))\n")
    assert list(entries(str(tmp_path))) == ["night", "PROD", "prod.world"]
    assert entries(str(tmp_path))["PROD"] == "(DESCRIPTION =\n (X))"
    assert entries(None) == entries("/nonexistent") == {}
