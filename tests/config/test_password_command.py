from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import psutil
import pytest

from presman.base import user_command
from presman.base.secret import Secret
from presman.config.config_file import ConfigError, PasswordCommand, read_config
from presman.config.credentials import PasswordCommandError, password_of, with_password
from presman.config.target import TargetError
from presman.config.target_text import parse_target
from tests.patience import until


def command(*words: str) -> PasswordCommand:
    return PasswordCommand.parse(shlex.join(words))


def test_the_first_line_is_the_password_and_no_shell_reads_the_words(tmp_path: Path) -> None:
    assert password_of(command("printf", "ti ger \\r\\nmore\\n")) == Secret("ti ger ")
    assert password_of(command("echo", "$HOME; `id`")) == Secret("$HOME; `id`")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sh -c 'echo t1ger; echo t1ger >&2; exit 3'", "sh ended with code 3"),
        ("sh -c 'echo t1ger; kill -9 $$'", "sh was ended by signal 9"),
        ("/no/such/t1ger-vault x", "No such file or directory"),
        ("true t1ger", "true printed no password on its first line"),
        ("printf '\\nt1ger'", "printf printed no password on its first line"),
        ("printf 't1ger\\377'", "what printf printed is not UTF-8"),
    ],
)
def test_a_failure_does_not_repeat_the_output(text: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PasswordCommandError) as caught:
        password_of(PasswordCommand.parse(text))
    assert expected in str(caught.value)
    assert "t1ger" not in str(caught.value).replace("t1ger-vault", "")
    assert "t1ger" not in "".join(capfd.readouterr())


AFTER_ITS_TIME = "sh -c 'exec >&-; exec sleep 0.9'"


@pytest.mark.parametrize(
    "text", ["sleep 60", "sh -c 'sleep 60 & echo x'", "sh -c 'exec >&-; exec sleep 60'", AFTER_ITS_TIME]
)
def test_a_password_command_has_a_timeout(text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(PasswordCommandError, match=r"did not end within 0.1 s"):
        password_of(PasswordCommand.parse(text), timeout=0.1)
    assert time.monotonic() - begun < 30


def test_a_password_command_has_no_input() -> None:
    assert password_of(command(sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))")) == Secret("''")


def test_a_section_sets_the_command_and_its_words_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "another")
    path = tmp_path / "config.ini"
    path.write_text(
        "[presman]\npassword_command = false\n[prod]\ndsn = a@b/c\npassword_command = echo 'ti ger'\n[x]\ndsn = a@b/x\n"
    )
    path.chmod(0o600)
    config = read_config(path)
    found = with_password(parse_target("prod", config))
    assert found.connect is not None
    assert found.connect.password == Secret("ti ger")
    assert "ger" not in repr(config.sections["prod"]) + str(config.sections["prod"].password_command)
    other = parse_target("x", config).connect
    assert other is not None
    assert other.password == Secret("another")  # user and address are not inherited


def test_no_command_of_a_file_writable_by_others_is_run(tmp_path: Path) -> None:
    path = tmp_path / "config.ini"
    path.write_text("[prod]\ndsn = a@b/c\npassword_command = touch pwned\n")
    path.chmod(0o664)
    with pytest.raises(TargetError, match="chmod go-w"):
        parse_target("prod", read_config(path))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("password_command = pass 'x", "line 2: [prod] password_command: a quote that does not end"),
        ("password = x\npassword_command = y", "line 3: [prod] password_command: password already sets this"),
    ],
)
def test_mistakes_name_the_place(lines: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "config.ini"
    path.write_text(f"[prod]\n{lines}\n")
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert expected in str(caught.value)


@pytest.mark.parametrize("has_terminal", [True, False])
def test_a_password_command_is_ended_with_its_child_processes(
    has_terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presman.base.user_command._has_terminal", lambda: has_terminal)
    pid = tmp_path / "pid"
    with pytest.raises(PasswordCommandError, match="did not end"):
        password_of(command("sh", "-c", f"sleep 60 & echo $! > {pid}; wait"), timeout=0.2)
    until(lambda: not is_running(int(pid.read_text())), "the end of all that it started")


def test_a_password_command_ends_with_presman() -> None:
    process = user_command.start(["sleep", "60"])
    user_command.end_all()
    assert process.wait() == -9


def is_running(number: int) -> bool:
    return psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE
