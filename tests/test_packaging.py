"""Packages: their parts exist, and the wheel has presman and nothing else."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def test_the_wheel_is_presman_alone() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["presman"]
    given = [*wheel["force-include"], wheel["hooks"]["custom"]["path"]]
    assert [name for name in given if not (ROOT / name).exists()] == []


def test_the_wheel_has_what_shells_and_man_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interface = ModuleType("interface")
    interface.BuildHookInterface = type("Hook", (), {"root": str(tmp_path)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    hook = runpy.run_path(str(ROOT / "packaging/shell_files.py"))["ShellFiles"]()
    data: dict[str, dict[str, str]] = {"force_include": {}, "shared_data": {}}
    hook.initialize("editable", data)
    assert data == {"force_include": {}, "shared_data": {}}, "a checkout is not written into"
    hook.initialize("standard", data)
    for name, place in (("presman.1", "share/man/man1/presman.1"), ("_presman", "share/zsh/site-functions/_presman")):
        file = tmp_path / "build/shell" / name
        assert "completions" in file.read_text("utf-8")
        assert (data["force_include"][str(file)], data["shared_data"][str(file)]) == (f"presman/shell/{name}", place)
    assert len(data["shared_data"]) == 4


def test_files_of_the_packages_exist() -> None:
    text = (ROOT / "packaging/nfpm.yaml").read_text("utf-8")
    sources = [name for name in re.findall(r"src: (\S+)", text) if not name.startswith("build/")]
    assert len(sources) >= 3
    assert [name for name in sources if not list(ROOT.glob(name))] == []


def test_the_container_has_every_source_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    wanted = {*wheel["packages"], *wheel["force-include"], *project["project"]["license-files"], "pyproject.toml"}
    wanted |= {project["project"]["readme"], "docs", "packaging"}  # of which the hook makes what shells read
    text = (ROOT / "packaging/Containerfile").read_text("utf-8")
    copied = {word for line in re.findall(r"^COPY (?!--)(.+) /src", text, re.MULTILINE) for word in line.split()}
    assert copied == wanted


def test_uv_lock_knows_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
    locked = next(each["metadata"] for each in packages if each["name"] == "presman")
    extras = project["project"]["optional-dependencies"]
    assert locked["provides-extras"] == sorted(extras)
    asked = [*project["project"]["dependencies"], *(each for some in extras.values() for each in some)]
    assert _requirements(locked["requires-dist"]) == {_requirement(each) for each in asked}
    groups = {name: {_requirement(each) for each in some} for name, some in project["dependency-groups"].items()}
    assert {name: _requirements(some) for name, some in locked["requires-dev"].items()} == groups


def _requirements(listed: list[dict[str, str]]) -> set[tuple[str, frozenset[str]]]:
    return {(each["name"], frozenset(each.get("specifier", "").split(","))) for each in listed}


def _requirement(text: str) -> tuple[str, frozenset[str]]:
    name, bounds = re.match(r"([\w-]+)(?:\[\w+\])?([^;]*)", text).groups()  # type: ignore[union-attr]
    return name.replace("_", "-"), frozenset(bounds.strip().split(","))


def test_the_release_runs_existing_make_targets() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    workflow = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    asked = {word for line in re.findall(r"run: make (.+)", workflow) for word in line.split()}
    assert asked == {"check", "pyz", "packages", "sbom"}
    assert asked <= targets


def test_the_single_file_names_the_python_it_needs(tmp_path: Path) -> None:
    text = (ROOT / "packaging/preamble.py").read_text("utf-8")
    for made_for, message in (((3, 1), "made for Python 3.1 and run with"), (sys.version_info[:2], "")):
        file = tmp_path / "preamble.py"
        file.write_text(text.replace("MADE_FOR = (0, 0)", f"MADE_FOR = {tuple(made_for)}"), "utf-8")
        if message:
            with pytest.raises(SystemExit, match=message):
                runpy.run_path(str(file))
        else:
            runpy.run_path(str(file))
