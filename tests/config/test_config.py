from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path
from unittest import mock

import pytest

from presman.base.secret import Secret
from presman.config.config_file import Config, ConfigError, Settings, load_config, read_config
from presman.rows.queries import Scope

SAMPLE = Path(__file__).parents[2] / "config.ini"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place without any config.ini around."""
    folder = tmp_path / "nowhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PRESMAN_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    return folder


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "written.ini"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(written(folder, text))
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "")


def test_the_sample_is_valid() -> None:
    config = read_config(SAMPLE)
    assert config.targets == ("presman",)
    assert (config.defaults.measure, config.defaults.refresh, config.defaults.scope) == ("cpu", 2.0, Scope.CLUSTER)
    assert config.warnings == ()


def test_a_file_of_2015(nowhere: Path) -> None:
    text = "[presman]\nconnection_string=scott/ti%ger;x@host/svc\noption=emphasis\nrefresh_rate=3\n"
    config = read_config(written(nowhere, text))
    assert config.defaults.connection == Secret("scott/ti%ger;x@host/svc")
    assert (config.defaults.measure, config.defaults.refresh) == ("emphasis", 3.0)


def test_every_option(nowhere: Path) -> None:
    text = """
[one]
dsn = host/svc
user = anna
password = pass word
measure = Queue
refresh_rate = 0.5
scope = instance
theme = nord
packs = tuning
mode = SYSDBA
wallet_location = /w
wallet_password = wp
config_dir = /c
thick = yes
lib_dir = /l
https_proxy = proxy
https_proxy_port = 8080
call_timeout = 20
"""
    settings = read_config(written(nowhere, text)).sections["one"]
    assert settings == Settings(
        connection=Secret("host/svc"),
        user="anna",
        password=Secret("pass word"),
        measure="queue",
        refresh=0.5,
        scope=Scope.INSTANCE,
        theme="nord",
        packs="tuning",
        mode="sysdba",
        wallet_location="/w",
        wallet_password=Secret("wp"),
        config_dir="/c",
        thick=True,
        lib_dir="/l",
        https_proxy="proxy",
        https_proxy_port=8080,
        call_timeout=20.0,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\noption = paralel\n", "line 2: [a] option: unknown measure 'paralel', did you mean 'parallel'?"),
        ("\n[a]\nrefresh_rte = 2\n", "line 3: [a] refresh_rte: unknown option, did you mean 'refresh_rate'?"),
        ("[a]\nurl = demo:quiet\n", "line 2: [a] url: unknown option, did you mean 'connection_string'?"),
        ("[a]\nrefresh_rate = 0.4\n", "line 2: [a] refresh_rate: 0.4 is below the minimum of 0.5 seconds"),
        ("[a]\nrefresh_rate = soon\n", "line 2: [a] refresh_rate: 'soon' is not a duration"),
        ("[a]\nrefresh_rate = nan\n", "line 2: [a] refresh_rate: 'nan' is not a duration"),
        ("[a]\nscope = clustr\n", "line 2: [a] scope: unknown value 'clustr', did you mean 'cluster'?"),
        ("[a]\nmode = sysdb\n", "line 2: [a] mode: unknown value 'sysdb', did you mean 'sysdba'?"),
        ("[a]\nthick = maybe\n", "line 2: [a] thick: 'maybe' is not yes or no"),
        ("[a]\nhttps_proxy_port = 0\n", "line 2: [a] https_proxy_port: '0' is not a port (1 to 65535)"),
        ("option = cpu\n", "line 1: an option before the first [section]"),
        ("[a]\n\nscott/tiger@host\n", "line 3: neither [section] nor NAME = VALUE"),
        ("[a]\nuser = x\nUSER = y\n", "line 3: [a] user appears twice"),
        ("[a]\nuser = x\n[a]\n", "line 3: section [a] appears twice"),
        ("[a]\npassword tiger:x\n", "line 2: [a] password: a = is missing behind it"),
        ("[a]\npassword tiger=x\npassword tiger=x\n", "line 3: [a] password appears twice"),
        ("[a]\npasword tiger=x\n", "line 2: [a] pasword: unknown option, did you mean 'password'?"),
        ("[a\nuser = x\n", "line 1: a ] is missing at the end of [section]"),
        (
            "[a]\ndsn = x/tiger@y\nconnection_string = z\n",
            "line 3: [a] connection_string: another option already sets this",
        ),
        ("[a]\nuser = x\n[b]\nuser = x\noption = z\n", "line 5: [b] option: unknown measure 'z', known: "),
    ],
)
def test_mistakes_are_one_line_with_their_place(nowhere: Path, text: str, message: str) -> None:
    found = refusal(nowhere, text)
    assert found.startswith(f"written.ini, {message}")
    assert "tiger" not in found


def test_files_that_cannot_be_read(nowhere: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*missing.ini: No such file"):
        load_config(nowhere / "missing.ini")
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere: Is a directory"):
        load_config(nowhere)
    os.mkfifo(pipe := nowhere / "pipe.ini")
    with mock.patch("presman.base.private_files.PIPE_SECONDS", 0.01), pytest.raises(ConfigError, match="nothing came"):
        load_config(pipe)
    binary = nowhere / "binary.ini"
    binary.write_bytes(b"[a]\nuser = \xff\n")
    with pytest.raises(ConfigError, match=r"binary.ini: not UTF-8 text \(byte 11\)"):
        load_config(binary)


def test_the_places_searched_for_config_ini(nowhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config() == Config()
    home = tmp_path / "xdg" / "presman"
    home.mkdir(parents=True)
    (home / "config.ini").write_text("[home]\ndsn = a/b\n")
    assert load_config().targets == ("home",)
    (nowhere / "config.ini").write_text("[here]\ndsn = a/b\n")
    assert load_config().targets == ("here",)
    monkeypatch.setenv("PRESMAN_CONFIG", str(home / "config.ini"))
    assert load_config().targets == ("home",)
    assert load_config(nowhere / "config.ini").targets == ("here",)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("[a]\npassword = x\n", True),
        ("[a]\nwallet_password = x\n", True),
        ("[a]\nconnection_string = anna/x@host\n", True),
        ("[a]\nconnection_string = anna@host/service\n", False),
        ("[a]\nconnection_string = spool:/data/x@y\n", False),
    ],
)
def test_passwords_that_others_can_read(nowhere: Path, text: str, warned: bool) -> None:
    path = written(nowhere, text, 0o644)
    warnings = read_config(path).warnings
    assert warnings == ((f"{path} holds a password and others may read it: chmod 600 {path}",) if warned else ())
    path.chmod(0o600)
    assert read_config(path).warnings == ()


@pytest.mark.parametrize(
    ("name", "connection", "warned"),
    [
        ("demo:storm", "a@b", True), ("DEMO", "demo:rac", True), ("spool:x", "a@b", True), ("old.presman", "a@b", True),
        ("demo:storm", "demo:storm", False), ("demos", "a@b", False), ("spool", "a@b", False),
    ],
)  # fmt: skip
def test_a_section_that_hides_a_target(nowhere: Path, name: str, connection: str, warned: bool) -> None:
    path = written(nowhere, f"[{name}]\nconnection_string = {connection}\n")
    line = f"{path}: section [{name}] hides the TARGET {name}: give it another name"
    assert read_config(path).warnings == ((line,) if warned else ())


def test_other_sections_inherit_defaults_but_no_login(nowhere: Path) -> None:
    text = "[presman]\ndsn = a/b\nuser = u\npassword = p\noption = queue\nthick = yes\n[x]\nthick = no\n"
    config = read_config(written(nowhere, text))
    settings = config.sections["x"].over(config.defaults)
    assert settings == Settings(measure="queue", thick=False)


def test_secrets_do_not_show(nowhere: Path) -> None:
    config = read_config(written(nowhere, "[a]\ndsn = anna/tiger@host\npassword = tiger\n"))
    assert "tiger" not in repr(config)
    assert "tiger" not in f"{config.sections['a'].password} {config.sections['a'].password!r}"
    with pytest.raises(TypeError):
        pickle.dumps(Secret("tiger"))
    try:
        raise ValueError(Secret("tiger"))
    except ValueError:
        assert "tiger" not in traceback.format_exc().replace('Secret("tiger")', "")
