"""`presman connect`, question by question, without a terminal or a database."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from presman.base.secret import Secret
from presman.cli import connect_command
from presman.cli.connect_command import (
    PasswordStorage,
    _ask_what_next,
    _filled,
    _name_trouble,
    _offer,
    _section,
    _with_service,
    _with_wallet,
    ask_address,
    ask_choice,
    ask_line,
    ask_password_storage,
    ask_user,
    ask_yes,
)
from presman.config.config_file import Config, Settings
from presman.config.connect_answers import Answers
from presman.sources import SourceError

Typed = Callable[..., list[str]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Let these lines be typed; return a list that collects the output."""
    monkeypatch.delenv("TNS_ADMIN", raising=False)

    def type_in(*lines: str) -> list[str]:
        shown: list[str] = []
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr(connect_command.console, "show", shown.append)
        monkeypatch.setattr(connect_command.console, "width", lambda: None)
        return shown

    return type_in


def test_an_empty_line_means_the_default(typed: Typed) -> None:
    shown = typed("", " a b ", "")
    assert [ask_line("Port", "1521"), ask_line("Port", "1521"), ask_line("Port")] == ["1521", "a b", ""]
    assert shown == ["Port [1521]: ", "Port [1521]: ", "Port: "]
    with pytest.raises(EOFError):
        ask_line("Port")


def test_a_choice_is_asked_until_it_is_valid(typed: Typed) -> None:
    shown = typed("x", "B", "")
    assert ask_choice("What?", {"a": "one", "b": "two"}, "a") == "b"
    assert shown[0] == "What?\n  a  one\n  b  two\n"
    assert "Type one of: a, b\n" in shown
    assert ask_choice("What?", {"a": "one"}, "a") == "a"


@pytest.mark.parametrize(
    ("lines", "usual", "answer"),
    [
        (("",), True, True),
        (("",), False, False),
        (("YES",), False, True),
        (("n",), True, False),
        (("maybe", "y"), False, True),
    ],
)
def test_yes_is_yes(lines: tuple[str, ...], usual: bool, answer: bool, typed: Typed) -> None:
    shown = typed(*lines)
    assert ask_yes("Write?", usual=usual) is answer
    assert shown[0] == ("Write? [Y/n]: " if usual else "Write? [y/N]: ")
    assert ("Type y or n.\n" in shown) == (len(lines) > 1)


@pytest.mark.parametrize(
    ("dsn", "lines", "found"),
    [
        ("db", ("", "x"), "db:1521/x"),
        ("db", ("0", "65536", "65535", "x"), "db:65535/x"),
        ("db:1522", ("", "pdb1.example.com"), "db:1522/pdb1.example.com"),
    ],
)
def test_a_host_gets_a_port_and_a_service(dsn: str, lines: tuple[str, ...], found: str, typed: Typed) -> None:
    typed(*lines)
    assert _with_service(Answers(dsn)).dsn == found


def folder(tmp_path: Path, name: str, many: int) -> Path:
    path = tmp_path / name
    path.mkdir()
    (path / "tnsnames.ora").write_text("".join(f"A{n:02} = (X)\n" for n in range(1, many + 1)))
    return path


def test_an_alias_is_chosen_by_number_with_its_folder(tmp_path: Path, typed: Typed) -> None:
    names = folder(tmp_path, "net", 22)
    shown = typed(str(names), "a 1", "20")
    found = ask_address(Answers(""), Config())
    assert (found.dsn, found.config_dir) == ("A20", str(names))
    assert "  20  A20\n" in shown
    assert "      and 2 more\n" in shown
    assert "  21  A21\n" not in shown
    assert "an address has no spaces\n" in shown
    for number in ("0", "21"):  # any other number is a host, and its port is asked for
        typed(number, "1522", "x")
        assert ask_address(Answers("", config_dir=str(names)), Config()).dsn == f"{number}:1522/x"
    typed("a05")
    config = Config(sections={"presman": Settings(config_dir=str(names))})
    assert ask_address(Answers(""), config) == Answers("A05"), "the alias of config.ini is found anyway"
    few = folder(tmp_path, "few", 20)
    shown = typed()
    _offer(str(few), {f"A{n}": "" for n in range(20)})
    assert "more" not in "".join(shown)
    _offer(str(few), {})


def test_a_wallet_is_a_folder_that_the_driver_can_read(
    tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ewallet.pem").touch()
    secrets = [" x", "pw"]
    monkeypatch.setattr(connect_command, "ask_secret", lambda _: Secret(secrets.pop(0)))
    shown = typed("/none", str(tmp_path))
    found = _with_wallet(Answers("tcps://h/x"))
    assert (found.wallet_location, found.wallet_password) == (str(tmp_path), Secret("pw"))
    assert any(each.startswith("no such folder") for each in shown)
    typed("")
    assert _with_wallet(Answers("tcps://h/x")).wallet_location == ""
    typed("-")
    assert _with_wallet(Answers("tcps://h/x", wallet_location="/old")).wallet_location == ""
    secrets.append("")
    shown = typed("")
    found = _with_wallet(Answers("tcps://h/x", config_dir=str(tmp_path)))
    assert (found.wallet_location, found.wallet_password) == (str(tmp_path), None)
    assert f"[{tmp_path}]" in shown[0]


def test_the_user_may_be_empty(typed: Typed) -> None:
    typed("anna", "-", "")
    assert ask_user(Answers("d")).user == "anna"
    assert ask_user(Answers("d", "anna", Secret("x"))) == Answers("d")
    assert ask_user(Answers("d", "eva")).user == "eva"


def test_the_places_to_store_the_password(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers("d", "anna", Secret("pw"))
    assert ask_password_storage(Answers("d")) == PasswordStorage()
    monkeypatch.setattr(connect_command, "has_keyring", lambda: False)
    shown = typed("f", "", "k", "n", "c", "echo other", "c", "echo pw")
    assert ask_password_storage(answers) == PasswordStorage(in_file="pw")
    assert shown[0].startswith("There is no keyring here")
    assert ask_password_storage(answers) == PasswordStorage(), "nowhere is the default"
    assert ask_password_storage(answers) == PasswordStorage(), "there is none"
    assert ask_password_storage(answers) == PasswordStorage(command="echo pw")
    assert "Its first line is not the password that was typed.\n\n" in shown
    shown = typed("f", "n")
    assert ask_password_storage(Answers("d", "anna", Secret("pw "))) == PasswordStorage()
    assert "Type one of: c, n\n" in shown, "config.ini cannot express this password"
    monkeypatch.setattr(connect_command, "has_keyring", lambda: True)
    typed("")
    assert ask_password_storage(answers) == PasswordStorage(in_keyring=True)


@pytest.mark.parametrize(
    ("code", "usual"), [("ORA-01017", "p"), ("ORA-28000", "t"), ("ORA-12541", "a"), ("ORA-99999", "t")]
)
def test_after_a_failure_the_default_is_the_likely_cause(code: str, usual: str, typed: Typed) -> None:
    shown = typed("")
    found = _ask_what_next(SourceError(f"{code}: no", code=code))
    assert f"Which [{found}]: " in shown
    if code in {"ORA-01017", "ORA-99999"}:
        assert found == usual
    assert ("presman has no advice on this error.\n" in shown) == (code == "ORA-99999")


def test_an_existing_section_is_replaced_only_on_request(typed: Typed) -> None:
    config = Config(sections={"prod": Settings(connection=Secret("d")), "old": Settings()})
    shown = typed("a b", "", "prod", "", "prod", "y", "doctor", "new")
    assert _section(Answers("db/sales"), config, None) == "sales"
    assert "a section's name has letters, digits, _ . and - only\n" in shown
    assert _section(Answers("db/sales"), config, None) == "prod"
    assert "[prod] exists and has a connection; its other settings and comments would stay.\n" in shown
    assert _section(Answers("db/sales"), config, None) == "new"
    shown = typed("y")
    assert _section(Answers("db/sales"), config, "old") == "old"
    assert "[old] exists and has no database yet; its other settings and comments would stay.\n" in shown
    assert _name_trouble("doctor").endswith("take another name")
    assert _name_trouble("prod.x-1_b") == ""


@pytest.mark.parametrize(("width", "longest"), [(40, 40), (300, 100), (None, 100)])
def test_a_paragraph_is_as_wide_as_the_terminal_up_to_a_hundred_cells(
    width: int | None, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second cell is a blank, and the mark takes four cells of the first line."""
    monkeypatch.setattr(connect_command.console, "width", lambda: width)
    lines = _filled("x " * 300, "  - ").splitlines()
    assert (lines[0][:5], lines[1][:5]) == ("  - x", "    x")
    assert max(map(len, lines)) == longest - 1
