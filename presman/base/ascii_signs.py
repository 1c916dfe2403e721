"""Signs of screens and texts in ASCII, cell for cell: for terminals and locales that have nothing else."""

from __future__ import annotations

_LIKE = {
    "▁▂▃▄▅▆▇█": "_.-=+*%#",
    "▏▎▍▌▋▊▉": "    ###",
    "░▒▓": ".:%",
    "│┃╷╎┊┆": "||':!:",
    "─━┬┴├┤┼┌┐└┘╭╮╰╯": "--+++++++++++++",
    "▔▀▐": "-##",
    "●○◌▲▼✕▬■◼◇·": "*oo^vx=##o.",
    "▶◀▸◂→←↑↓⇧‖›": "><><><^v^=>",
    "①②③④⑤⑥⑦⑧⑨": "123456789",
    "…µ–—×≥≤≠": "~u--x><!",
}
_SIGNS = str.maketrans("".join(_LIKE), "".join(_LIKE.values()))


def ascii_only(text: str) -> str:
    """Return `text` in ASCII, cell for cell: known signs by their likeness, the rest as ``?``.

    >>> ascii_only("██▒ ✕ starved 512µs")
    '##: x starved 512us'
    """
    if text.isascii():
        return text
    found = text.translate(_SIGNS)
    if found.isascii():
        return found
    from rich.cells import cell_len  # wide characters take two cells

    return "".join(sign if sign.isascii() else "?" * cell_len(sign) for sign in found)
