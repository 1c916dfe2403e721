"""Answers to `presman connect`: names of sections, incomplete addresses, the section written; by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.base.secret import Secret
from presman.config.config_file import Config, ConfigError, Settings
from presman.config.connect_answers import (
    LARGEST,
    Answers,
    aliases,
    lacks_service,
    wallet_trouble,
    wants_tls,
    with_address,
    with_section,
    writable,
    write_section,
)


@pytest.mark.parametrize(
    ("dsn", "name"),
    [
        ("db:1521/Prod.example.com", "prod"),
        ("db/sales_rw:dedicated", "sales_rw"),
        ("tcps://db/adb-high?wallet_location=/w/x", "x"),
        ("tcps://db/adb-high?retry_count=3", "adb-high"),
        ("PROD", "prod"),
        ("(DESCRIPTION=(ADDRESS=(HOST=h)))", "database"),
        ("db/", "database"),
    ],
)
def test_a_section_is_called_after_the_service(dsn: str, name: str) -> None:
    assert Answers(dsn).name() == name


def test_only_sys_logs_in_with_a_privilege() -> None:
    assert [Answers("d", user).mode for user in ("SYS", "sys", "system", "")] == ["sysdba", "sysdba", "", ""]


def test_a_section_has_only_the_answers() -> None:
    assert Answers("db/x", "anna").values() == {"connection_string": "anna@db/x"}
    given = Answers("db/x", "sys", Secret("p"), "/c", "/w", Secret("w"), True, "/l")
    assert given.values(command="pass show x") == {
        "connection_string": "sys@db/x", "mode": "sysdba", "password_command": "pass show x", "config_dir": "/c",
        "wallet_location": "/w", "wallet_password": "w", "thick": "yes", "lib_dir": "/l",
    }  # fmt: skip
    assert given.values(password="p")["password"] == "p"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", True), ("a b", True), (" a", False), ("a ", False), ("a\nb", False), ("a\rb", False), ("a\x07", False)],
)
def test_values_that_a_line_of_config_ini_can_hold(text: str, expected: bool) -> None:
    assert writable(text) is expected


def test_a_user_before_the_address_replaces_the_known_one() -> None:
    anna = Answers("", "anna")
    assert with_address(anna, "db:1521/x", {}) == Answers("db:1521/x", "anna")
    assert with_address(anna, "@db/x", {}) == Answers("db/x", "anna")
    assert with_address(anna, "eva@db/x", {}) == Answers("db/x", "eva")
    descriptor = "(DESCRIPTION = (ADDRESS=(HOST=me@h)))"
    assert with_address(anna, descriptor, {}) == Answers(descriptor, "anna")
    assert with_address(anna, "demo:1521/x", {}).dsn == "demo:1521/x", "a host of that name"
    with pytest.raises(ValueError, match="to watch it: presman demo:storm"):
        with_address(anna, "demo:storm", {})
    for typed in ("a\x07b", "eva@d b/x"):
        with pytest.raises(ValueError, match="an address has no spaces"):
            with_address(anna, typed, {})


@pytest.mark.parametrize(
    ("dsn", "lacks"),
    [("db", True), ("db:1521", True), ("//db:1521", True), ("tcps://db", True), ("tcps://db/x", False),
     ("db/x", False), ("PROD", False), ("(X)", False)],
)  # fmt: skip
def test_a_host_alone_has_no_service(dsn: str, lacks: bool) -> None:
    assert lacks_service(dsn, {"PROD": "(X)"}) is lacks


def test_tls_is_detected_by_the_protocol() -> None:
    for text, tls in (("tcps://h/x", True), ("TCPS://h/x", True), ("(a(protocol = TCPS)", True), ("h/tcps", False)):
        assert wants_tls(Answers(text), {}) is tls


def test_a_wallet_of_the_thick_driver_is_not_inspected(tmp_path: Path) -> None:
    assert wallet_trouble(str(tmp_path), thick=True) == ""
    assert wallet_trouble(str(tmp_path / "x"), thick=True).startswith("no such folder: ")


def test_aliases_come_from_the_folder_config_ini_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tnsnames.ora").write_text(f"{name} = (X)\n")
    a, b, c = (str(tmp_path / name) for name in "abc")
    monkeypatch.setenv("TNS_ADMIN", c)
    config = Config(sections={"presman": Settings(config_dir=b)})
    assert aliases(config, a) == (a, {"a": "(X)"})
    assert aliases(config) == (b, {"b": "(X)"})
    assert aliases(Config()) == (c, {"c": "(X)"})
    monkeypatch.delenv("TNS_ADMIN")
    assert aliases(Config()) == ("", {})


def test_a_new_section_has_one_line_before_it() -> None:
    assert with_section("[a]\nuser = x\n\n", "b", {"dsn": "y"}) == "[a]\nuser = x\n\n[b]\ndsn = y\n"
    assert with_section("[b]", "b", {"dsn": "y"}) == "[b]\ndsn = y\n"
    assert with_section("\ufeff[b]\nuser = x\n[c]\n", "b", {"dsn": "y"}) == "\ufeff[b]\ndsn = y\n[c]\n"


def test_an_invalid_or_unwritable_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config.ini"
    write_section(path, "a", {"dsn": "x"}, secret=False)
    assert path.read_text() == "[a]\ndsn = x\n"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.chmod(0o664)
    write_section(path, "a", {"dsn": "y"}, secret=False)
    assert path.stat().st_mode & 0o777 == 0o664
    write_section(path, "a", {"dsn": "z"}, secret=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["config.ini"]
    path.write_text("#" * (LARGEST + 1))
    with pytest.raises(ConfigError, match=r"that is not a config\.ini"):
        write_section(path, "a", {"dsn": "x"}, secret=False)
    path.write_text("#" * LARGEST)
    write_section(path, "a", {"dsn": "x"}, secret=False)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is as it was"):
        write_section(path, "a", {"dsn": "x"}, secret=False)
    assert path.read_bytes() == b"\xff"


def test_a_file_of_another_user_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.ini"
    path.touch()
    owner = path.stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    with pytest.raises(ConfigError, match="it belongs to another user"):
        write_section(path, "a", {"dsn": "x"}, secret=False)
