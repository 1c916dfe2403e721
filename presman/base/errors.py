"""Errors that a user can mend: a file, an option or a name that presman was given and cannot use."""


class InputError(Exception):
    """What was given cannot be used; the text is one line that says where and why."""
