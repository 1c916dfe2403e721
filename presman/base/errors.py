"""Errors that a user can mend: a file, an option or a name that presman cannot use, a limit that is too low."""


class InputError(Exception):
    """What was given cannot be used; the text is one line that says where and why."""


class LimitError(Exception):
    """The machine allows less than it takes; the text is one line that names the limit."""
