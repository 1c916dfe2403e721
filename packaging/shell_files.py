"""Hatch build hook that makes the completions and the manual page from presman's own options for the wheel.

A checkout (`pip install --editable`) has none of these files: there `presman completions` makes its output itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {
    "presman.1": "share/man/man1/presman.1",
    "presman.bash": "share/bash-completion/completions/presman",
    "_presman": "share/zsh/site-functions/_presman",
    "presman.fish": "share/fish/vendor_completions.d/presman.fish",
}
"""Where each is looked for below the folder that presman is installed into."""


class ShellFiles(BuildHookInterface):
    """Makes the files in build/shell; the wheel includes them for `presman completions`, for shells and for man."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to the build."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from docs.completions import shell_files

        folder = Path(self.root, "build", "shell")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in shell_files().items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            build_data["force_include"][str(path)] = f"presman/shell/{name}"
            build_data["shared_data"][str(path)] = PLACES[name]
