from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.config.config_file import ConfigError, read_config
from presman.config.connect_answers import OWNED, _parsed, with_section, write_section

FILE = """\
# of mine
[presman]
refresh_rate = 5

[prod]
; the old one
connection_string = old@host/prod
password = x
   continued
# keep me
theme = nord

[other]
dsn = a@b/c
"""


def test_a_new_section_is_appended() -> None:
    assert with_section(FILE, "new", {"dsn": "a@b/d"}) == FILE + "\n[new]\ndsn = a@b/d\n"
    assert with_section("", "new", {"dsn": "a@b/d"}) == "[new]\ndsn = a@b/d\n"
    assert with_section("[a]\r\ndsn = x", "b", {"dsn": "y"}) == "[a]\r\ndsn = x\r\n\r\n[b]\r\ndsn = y\r\n"


def test_only_the_connection_of_an_existing_section_changes() -> None:
    found = with_section(FILE, "prod", {"connection_string": "new@host/prod"})
    assert found == FILE.replace(
        "; the old one\nconnection_string = old@host/prod\npassword = x\n   continued\n",
        "connection_string = new@host/prod\n; the old one\n",
    )


def test_changes_of_another_section_are_refused() -> None:
    for text in ("  [prod]\n  dsn = y\n", "[a]\nb\n"):
        with pytest.raises(ValueError, match=r"no longer"):
            with_section(text, "prod", {"dsn": "new"})
    with pytest.raises(ValueError, match="cannot be written"):
        with_section(FILE, "prod", {"password": " blank"})


LINES = st.sampled_from(
    ["[a]", "[b]", " [a]", "# c", "; d", "", "dsn = x", "theme = t", "user=u", "  more", "PASSWORD : p"]
)


@given(st.lists(LINES, max_size=14), st.sampled_from("abcd"))
def test_any_file_keeps_its_other_options(lines: list[str], name: str) -> None:
    text = "\n".join(lines)
    try:
        before = _parsed(text)
        after = _parsed(with_section(text, name, {"dsn": "new@x/y"}))
    except ValueError:
        return
    own = {option: value for option, value in before.pop(name, {}).items() if option not in OWNED}
    assert after.pop(name) == own | {"dsn": "new@x/y"}
    assert after == before


@pytest.mark.parametrize(
    ("there", "secret", "mode"), [(None, False, 0o600), (0o644, False, 0o644), (0o644, True, 0o600)]
)
def test_the_mode_of_the_written_file(there: int | None, secret: bool, mode: int, tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.ini"
    if there is not None:
        path.parent.mkdir()
        path.write_text(FILE)
        path.chmod(there)
    write_section(path, "x", {"connection_string": "a@b/c"}, secret=secret)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert list(path.parent.iterdir()) == [path]
    assert "x" in read_config(path).targets


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.ini", tmp_path / "config.ini"
    real.write_text(FILE)
    link.symlink_to(real)
    write_section(link, "x", {"dsn": "a@b/c"}, secret=False)
    assert link.is_symlink()
    assert "x" in read_config(real).targets


def test_a_file_that_cannot_be_changed_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "config.ini"
    path.write_text("[a]\nnonsense without a value [\n")
    with pytest.raises(ConfigError, match="it is as it was"):
        write_section(path, "x", {"dsn": "a@b/c"}, secret=False)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "[a]\nnonsense without a value [\n"
