"""Precedence of settings: options, then the section, then [presman], then defaults."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from presman.analysis.goals import Goal
from presman.base.secret import Secret
from presman.cli.exit_codes import Failure
from presman.cli.settings import _renewal, _shown, default_target, describe, resolve, terminal_prompt
from presman.config.config_file import Config, Settings
from presman.config.target import TargetError
from presman.config.target_text import parse_target
from presman.rows.queries import Scope


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRESMAN_PASSWORD", raising=False)
    monkeypatch.delenv("PRESMAN_CONFIG", raising=False)
    monkeypatch.delenv("TNS_ADMIN", raising=False)
    monkeypatch.setattr("presman.cli.settings.bound_memory", lambda: None)


def options(**more: Any) -> Namespace:
    plain = dict.fromkeys(
        ("packs", "refresh", "scope", "theme", "poll_timeout", "at", "start", "end", "thick", "config", "target")
    )
    return Namespace(**(plain | more))


def config(path: Path | None = None, **sections: Settings) -> Config:
    return Config(path, sections)


DEMO = Settings(connection=Secret("demo:storm"))


def test_a_bare_presman_takes_its_own_section_or_the_only_one() -> None:
    assert default_target(config()) is None
    assert default_target(config(a=DEMO)) == "a"
    assert default_target(config(a=DEMO, b=Settings(theme="nord"))) == "a"
    assert default_target(config(a=DEMO, presman=DEMO)) == "presman"
    with pytest.raises(Failure, match="which target"):
        default_target(config(a=DEMO, b=DEMO))
    with pytest.raises(Failure, match="no TARGET"):
        resolve(None, config(), options())


def test_without_any_setting_the_defaults_hold() -> None:
    found = resolve("demo:storm", config(), options())
    assert (found.refresh, found.scope, found.theme, found.measure) == (2.0, Scope.CLUSTER, None, None)
    assert (found.packs, found.budget, found.bell, found.alerts, found.on_alert, found.goals, found.renewal) == (
        (), None, False, (), (), (), None,
    )  # fmt: skip


def test_options_override_the_section() -> None:
    own = Settings(
        connection=Secret("demo:storm"), refresh=7.0, scope=Scope.INSTANCE, theme="nord", packs="tuning",
        poll_timeout=3.0, bell=True, measure="queue", goals=(Goal("ETL", 0.5, 9.0),),
    )  # fmt: skip
    found = resolve("a", config(a=own), options())
    assert (found.refresh, found.scope, found.theme, found.measure) == (7.0, Scope.INSTANCE, "nord", "queue")
    assert (found.packs, found.budget, found.bell) == (("diagnostics", "tuning"), 3.0, True)
    assert found.goals == (Goal("ETL", 0.5, 9.0),)
    given = options(packs="diagnostics", refresh=1.0, scope="cluster", theme="dracula", poll_timeout=9.0)
    found = resolve("a", config(a=own), given)
    assert (found.refresh, found.scope, found.theme, found.budget) == (1.0, Scope.CLUSTER, "dracula", 9.0)
    assert found.packs == ("diagnostics",)
    assert resolve("a", config(a=own), options(packs="none")).packs == ()
    assert resolve("demo:storm", config(), options(bell=True)).bell
    assert resolve("a", config(a=own), options()).live(5.0).interval == 5.0
    assert resolve("a", config(a=own), options()).live().interval == 7.0


def test_presman_asks_for_an_unknown_password_at_a_terminal() -> None:
    def ask(prompt: str) -> str:
        return "tiger"

    target = resolve("anna@db/prod", config(), options(), prompt=ask).target
    assert target.connect is not None
    assert target.connect.password == Secret("tiger")
    later = resolve("anna@db/prod", config(), options(), ask=False, prompt=ask).target
    assert later.needs_password
    thick = resolve("anna/x@db/prod", config(), options(thick="/opt/ic")).target.connect
    assert thick is not None
    assert (thick.thick, thick.lib_dir) == (True, "/opt/ic")
    bare = resolve("anna/x@db/prod", config(), options(thick="")).target.connect
    assert bare is not None
    assert (bare.thick, bare.lib_dir) == (True, None)


def test_a_word_like_a_command_is_suggested() -> None:
    with pytest.raises(Failure, match="did you mean `presman doctor`"):
        resolve("docter", config(), options())
    with pytest.raises(TargetError):
        resolve("docter/x", config(), options())


@pytest.mark.parametrize(
    ("text", "section", "renews"),
    [
        ("anna/t@db/x", None, False),  # typed by the user
        ("a", Settings(connection=Secret("anna/t@db/x")), True),
        ("a", Settings(connection=Secret("db/x"), user="anna", password=Secret("t")), True),
        ("a", Settings(connection=Secret("anna@db/x")), False),
        ("a", Settings(connection=Secret("demo:storm")), False),
    ],
)
def test_a_password_is_renewed_only_from_config_ini(
    text: str, section: Settings | None, renews: bool, tmp_path: Path
) -> None:
    for path in (tmp_path / "c.ini", None):
        known = config(path, **({"a": section} if section else {}))
        found = _renewal(text, parse_target(text, known), known, options())
        assert (found is not None) == (renews and path is not None)


def test_the_origin_of_each_setting_is_shown() -> None:
    known = config(
        presman=Settings(theme="nord", poll_timeout=2.5),
        a=Settings(
            connection=Secret("anna/t@db/x"), refresh=7.0, goals=(Goal("ETL", 0.5, 9.0),), on_alert=("x", "a b")
        ),
    )
    text = describe(known, options(target="a", scope="instance"))
    lines = {line.split()[0]: line.split(None, 1)[1].split("  ") for line in text.splitlines() if line.startswith("  ")}
    found = {name: (parts[0].strip(), parts[-1].strip()) for name, parts in lines.items()}
    assert found["connection_string"] == ("anna@db/x", "[a]")
    assert found["refresh_rate"][0] == "7"
    assert found["scope"] == ("instance", "--scope")
    assert found["theme"] == ("nord", "[presman]")
    assert found["poll_timeout"] == ("2.5", "[presman]")
    assert found["goal"][0] == "50 % of ETL start within 9 s"
    assert found["on_alert"][0] == "x 'a b'"
    assert found["option"] == ("cpu", "default")
    assert found["packs"] == ("none", "default")
    assert "t@" not in text.replace("@db", "")
    assert text.startswith("config.ini  none  (not found)\nlooked for  ")
    assert "targets     a\n" in text
    assert _shown(Scope.CLUSTER) == "cluster"
    assert _shown(()) == "0 settings (presman alerts shows them)"


def test_without_a_terminal_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def __init__(self, there: bool) -> None:
            self.there = there

        def isatty(self) -> bool:
            return self.there

    for one, other, asks in ((True, True, True), (True, False, False), (False, True, False)):
        monkeypatch.setattr("sys.stdin", Stream(one))
        monkeypatch.setattr("sys.stderr", Stream(other))
        assert (terminal_prompt() is not None) is asks
    monkeypatch.setattr("sys.stdin", None)
    assert terminal_prompt() is None
