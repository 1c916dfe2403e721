from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.terminal import Screen
from docs.completions import shell_files
from presman.cli import completions_command, exit_codes
from presman.cli.command_line import COMMANDS
from presman.cli.completions_command import FILES, MARK
from presman.config.target import SCENARIOS
from tests.cli.run import Run, environment

ASKED = {
    "presman onc": "once",
    "presman pr": "prod",
    "presman demo:st": "demo:storm",
    "presman once demo:st": "demo:storm",
    "presman once te": "test.db",
    "presman --sco": "--scope",
    "presman --config other.ini once al": "alone",
    "presman --config=other.ini once al": "alone",
    "presman --refresh 5 once --format j": "json",
    "presman once --format=j": "--format=json",
    "presman export prod --measure par": "parallel",
    "presman export --column throttled_p": "throttled_percent",
    "presman -m emph": "emphasis",
    "presman demo sto": "storm",
    "presman whatif arr": "arrivals.csv",
    "presman whatif arrivals.csv --limit BA": "BATCH=",
    "presman whatif arrivals.csv --limit=BA": "--limit=BATCH=",
    "presman whatif arrivals.csv --level OTH": "OTHER_GROUPS=",
    "presman trace arrivals.csv oth": "other.ini",
    "presman lint --fail-on warn": "warning",
    "presman grants --account comm": "common",
    "presman connect pro": "prod",
    "presman completions z": "zsh",
    "presman once spool:spo": "spool:spools",
    "presman once inc": "incident.presman",
    "presman inc": "incident.presman",
    "presman once prod nothing": "",
    "presman once a": "",
}
"""Typed words, and the one word that completes each."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.ini").write_text(
        "[presman]\ntheme = nord\n[prod]\nconnection_string = a@b/c\n[a$(touch pwned)]\ndsn = x\n[test.db]\nDSN : y\n"
    )
    (tmp_path / "other.ini").write_text("[alone]\ndsn = x\n")
    (tmp_path / "arrivals.csv").write_text("time,consumer_group\nx,BATCH\ny,ETL\nz,$(touch pwned)\n")
    (tmp_path / "spools").mkdir()
    (tmp_path / "incident.presman").touch()
    (tmp_path / "incident.txt").touch()
    return tmp_path


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a package."""
    folder = tmp_path_factory.mktemp("shells")
    for name, text in shell_files().items():
        (folder / name).write_text(text, "utf-8")
    return folder


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not here")


def asked(argv: list[str], text: str, folder: Path) -> dict[str, str]:
    """Return a shell's answers from lines `typed<TAB>answers`."""
    done = subprocess.run(
        [*argv, text], cwd=folder, env=environment(HOME=str(folder), XDG_CONFIG_HOME=str(folder)), capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    assert not done.stderr
    assert not (folder / "pwned").exists()
    return dict(line.split("\t") for line in done.stdout.splitlines())


BASH = """
source '$shells/presman.bash'
COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
complete -p presman >/dev/null
while IFS= read -r COMP_LINE; do
    COMP_POINT=${#COMP_LINE}; COMPREPLY=(); _presman
    printf '%s\\t%s\\n' "$COMP_LINE" "${COMPREPLY[*]}"
done <<'END'
"""


def behind_break(word: str) -> str:
    """Return readline's word: the text behind the last colon or equals sign."""
    head = word.removesuffix("=")
    return word[max(head.rfind(":"), head.rfind("=")) + 1 :]


def test_bash(folder: Path, shells: Path) -> None:
    found = asked(["bash", "--norc", "-c"], BASH.replace("$shells", str(shells)) + "\n".join(ASKED) + "\nEND\n", folder)
    assert found == {typed: behind_break(word) for typed, word in ASKED.items()}


def test_bash_offers_commands_sections_recordings_and_scenarios(folder: Path, shells: Path) -> None:
    bash = BASH.replace("$shells", str(shells))
    found = asked(["bash", "--norc", "-c"], bash + "presman \nEND\n", folder)["presman "].split()
    assert set(found) == {
        *COMMANDS,
        "prod",
        "test.db",
        "demo",
        "incident.presman",
        *(f"demo:{path.stem}" for path in SCENARIOS.glob("*.toml")),
    }


def test_bash_at_the_keyboard(folder: Path, shells: Path) -> None:
    """Readline itself cuts words at colons and equals signs."""
    screen = Screen(["bash", "--norc", "-i"], **environment(HOME=str(folder), XDG_CONFIG_HOME=str(folder), PS1="> "))
    try:
        screen.press(f"cd {folder}; source {shells}/presman.bash; echo re''ady\n".encode())
        screen.wait_for(b"ready")
        for typed, whole in ((b"demo:st", b"demo:storm "), (b"once --format=j", b"once --format=json ")):
            screen.forget()
            screen.press(b"presman " + typed + b"\t")
            screen.wait_for(whole.removeprefix(typed))
            screen.press(b"\x15")
    finally:
        screen.close()


@needs("fish")
def test_fish(folder: Path, shells: Path) -> None:
    exact = {typed: word for typed, word in ASKED.items() if word}  # for others fish offers similar words
    lines = " ".join(f"'{typed}'" for typed in exact)
    text = f"""
source '{shells}/presman.fish'
for typed in {lines}
    printf '%s\\t%s\\n' $typed (complete -C $typed | string split -f1 \\t | string trim -r -c / | string join ' ')
end
"""
    assert asked(["fish", "--no-config", "-c"], text, folder) == exact


@needs("zsh")
def test_zsh(folder: Path, shells: Path) -> None:
    screen = Screen(["zsh", "-f", "-i"], **environment(HOME=str(folder), XDG_CONFIG_HOME=str(folder)))
    try:
        begin = (
            f'cd {folder}; fpath=({shells} $fpath); autoload -Uz compinit; compinit -u -D; presman() {{ print "<$*>" }}'
        )
        screen.press(f"{begin}; unsetopt beep nomatch; echo re''ady\n".encode())
        screen.wait_for(b"ready")
        for typed, word in ASKED.items():
            if not word or word.endswith("="):
                continue
            screen.quiet(0.02)
            screen.forget()
            screen.press(typed.encode() + b"\t\n")
            words = typed.removeprefix("presman").split(" ")[1:-1]
            screen.wait_for(f"<{' '.join([*words, word])}".encode())
    finally:
        screen.close()
    assert not (folder / "pwned").exists()


def test_they_are_printed(inside: Run) -> None:
    made = shell_files()
    assert set(made) == set(FILES.values())
    for name, file in FILES.items():
        assert inside("completions", name).stdout == made[file]
    done = inside("completions")
    assert (done.returncode, done.stderr.count("\n")) == (exit_codes.USAGE, 1)
    assert all(MARK in text.lower() for text in made.values())


def test_completions_of_a_package_are_printed_unchanged(
    inside: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completions_command, "SHELLS", tmp_path)
    (tmp_path / "presman.fish").write_text("made when the package was\n")
    assert inside("completions", "fish").stdout == "made when the package was\n"
    monkeypatch.setitem(sys.modules, "docs.completions", None)  # as without a package and without a checkout
    done = inside("completions", "zsh")
    assert (done.returncode, done.stderr.count("\n")) == (exit_codes.USAGE, 1)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_they_are_put_in_place(shell: str, inside: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for _ in range(2 if shell == "bash" else 1):
        assert inside("completions", "--install").returncode == 0
    written = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert written == sorted(["presman.1", "presman" if shell == "bash" else FILES[shell]])


def test_a_file_of_another_program_is_left_alone(inside: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    there = tmp_path / "zsh" / "site-functions" / "_presman"
    there.parent.mkdir(parents=True)
    there.write_text("mine\n")
    done = inside("completions", "zsh", "--install")
    assert (done.returncode, done.stderr.count("\n")) == (exit_codes.OUTPUT, 1)
    assert there.read_text() == "mine\n"
    assert not (tmp_path / "man").exists()


def test_man_reads_the_manual_page(shells: Path) -> None:
    if not shutil.which("man"):
        pytest.skip("man is not here")
    done = subprocess.run(
        ["man", "--warnings", "-l", str(shells / FILES["man"])],
        env=os.environ | {"MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not done.stderr
    assert all(f"presman {name}" in done.stdout for name in COMMANDS)


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("bash", "New shells complete presman where bash-completion is loaded; without it: source /a/b"),
        ("zsh", "In ~/.zshrc, before compinit: fpath=(/a $fpath)"),
        ("fish", "New shells complete presman."),
        ("man", "man presman finds it where ~/.local/bin is in PATH; else: man -l /a/b"),
    ],
)
def test_remaining_steps_are_printed(shell: str, expected: str) -> None:
    assert completions_command._advice(shell, Path("/a/b")) == f"{expected}\n"


@pytest.mark.parametrize(
    ("shell", "data", "config", "path"),
    [
        ("bash", "/d", "", "/d/bash-completion/completions/presman"),
        ("bash", "", "", "/home/me/.local/share/bash-completion/completions/presman"),
        ("zsh", "/d", "", "/d/zsh/site-functions/_presman"),
        ("fish", "/d", "/c", "/c/fish/completions/presman.fish"),
        ("fish", "/d", "relative", "/home/me/.config/fish/completions/presman.fish"),
        ("man", "/d", "/c", "/d/man/man1/presman.1"),
    ],
)
def test_files_are_installed_where_shells_look_for_them(
    shell: str, data: str, config: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("XDG_DATA_HOME", data), ("XDG_CONFIG_HOME", config), ("HOME", "/home/me")):
        monkeypatch.setenv(name, value)
    assert str(completions_command.path_of(shell)) == path
