"""The app as the terminal knows it: which driver reads keys, and how it ends if something is wrong."""

from __future__ import annotations

from rich.text import Text
from textual.app import App
from textual.driver import Driver

from presman.base.text import clean
from presman.tui import state_files
from presman.tui.textual_internals import key_parser, note_fault


class TerminalApp(App[None]):
    """An app that costs nothing while nobody touches it, and does not spill variables when it dies."""

    def get_driver_class(self) -> type[Driver]:
        """Return what reads keys: on Unix our own, which sleeps until one comes."""
        chosen = super().get_driver_class()
        if chosen.__module__ != "textual.drivers.linux_driver" or key_parser() is None:
            return chosen
        from presman.tui.driver import TerminalDriver

        return TerminalDriver

    def _handle_exception(self, error: Exception) -> None:
        """End with one line and a log without the values of variables, which may hold what nobody should read."""
        note_fault(self, error)
        path = state_files.keep_crash(error)
        where = f" Where it came from: {path}" if path else ""
        self.panic(Text(f"presman: a fault in presman: {clean(f'{type(error).__name__}: {error}')[:300]}.{where}"))
